#!/usr/bin/env python3
"""Compares what compilers made of the platform's operations with what tools/operations.txt says they shall.

  tools/check-operations.py FORM LISTING          exits 1 and names each kernel that differs
  tools/check-operations.py --show FORM LISTING   prints the sequences, for a new column of the table

FORM is a column of the table: ptx, sass (nvdisasm -c), gfx90a, gfx942 or gfx1100 (clang -S). LISTING is the text of
the program `operations` in that form. A sequence is every instruction that touches memory or orders it, loads of
parameters left out.
"""
import os
import re
import sys

# What belongs to a sequence, by form: a pattern whose first group is what is compared.
PTX = re.compile(r"\s(?:@\S+ )?((?:atom|red|fence|membar|bar|shfl|vote|st|ld)\.(?!param)[\w.:]+)")
SASS = re.compile(r"\*/\s+(?:@!?U?P\w+ )?((?:ATOM|RED|LDG|STG|LD\.|ST\.|MEMBAR|CCTL|FENCE)[\w.]*)")
AMD = re.compile(
    r"^\s+((?:global_|flat_|buffer_(?:inv|wb|gl)|s_waitcnt|s_wait_)[^;]*)"
)
AMD_OPERANDS = re.compile(r"\s+[vs]\[?[\d:]+\]?,?|\s+off(?:set:\d+)?\b")


def kernels(form, text):
    """(name, body) of every kernel op_NAME."""
    if form == "ptx":
        return re.findall(r"\.entry op_(\w+)\((.*?)^}", text, re.S | re.M)
    if form == "sass":
        return re.findall(r"^\.text\.op_(\w+):(.*?)(?=^//-|\Z)", text, re.S | re.M)
    return re.findall(r"^op_(\w+):(.*?)s_endpgm", text, re.S | re.M)


def sequence(form, body):
    """The instructions that count, in order, with ` ; ` between them."""
    found = []
    for line in body.splitlines():
        match = {"ptx": PTX, "sass": SASS}.get(form, AMD).search(line)
        if not match:
            continue
        word = match.group(1)
        if form == "sass":  # the same on every architecture
            word = word.replace("REDG.", "RED.").replace(".SYS", "").replace(".E.", ".")
        if form not in ("ptx", "sass"):
            word = " ".join(AMD_OPERANDS.sub(" ", word).split())
            # Counters of scalar loads are those of the parameters.
            if word in ("s_waitcnt lgkmcnt(0)", "s_wait_kmcnt 0x0"):
                continue
            word = word.replace(" lgkmcnt(0)", "")
        found.append(word)
    return " ; ".join(found)


def expected(form, path):
    """name -> sequence."""
    table, operation = {}, None
    with open(path, encoding="utf-8") as lines:
        for line in lines:
            line = line.split("#")[0].rstrip()
            if line and not line[0].isspace():
                operation = line
            elif line:
                column, _, wanted = line.strip().partition(" ")
                if form in column.split(","):
                    table[operation] = wanted.strip()
    return table


def main(arguments):
    show = arguments[0] == "--show"
    form, listing = arguments[show:]
    with open(listing, encoding="utf-8") as file:
        found = {name: sequence(form, body) for name, body in kernels(form, file.read())}
    if show:
        for name, instructions in found.items():
            print(f"{name}\n    {form:8} {instructions}")
        return 0
    wanted = expected(form, os.path.join(os.path.dirname(os.path.abspath(__file__)), "operations.txt"))
    bad = 0
    for name in sorted(found.keys() | wanted.keys()):
        have, want = found.get(name, "no such kernel"), wanted.get(name, "not in operations.txt")
        if have != want:
            bad += 1
            print(f"{listing}: op_{name}:\n  has   {have}\n  wants {want}", file=sys.stderr)
    print(f"{form}: {len(found) - bad} of {len(found)} operations as expected")
    return 1 if bad or not found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
