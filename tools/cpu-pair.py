#!/usr/bin/env python3
"""Pairs rayq on one core with a plain C++ loop (tools/plain-loop.cpp) on the reference scenes at 1280x720.

Counts processor time, not the clock on the wall, so that a busy machine disturbs little, and takes turns. Prints
MRays/s a core, medians, and rayq's speed over the loop's within each round. CXX names another compiler.
"""
import argparse
import os
import resource
import statistics
import subprocess
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
# The loop over spheres vectorises with these; the fastest for it, without changing what it computes but in signs of 0.
FLAGS = ["-O3", "-march=native", "-std=c++17", "-fno-math-errno", "-fno-trapping-math", "-fno-signed-zeros",
         "-ffinite-math-only"]
ENGINES = {
    "megakernel": ["--engines", "megakernel"],
    "tile-queue": ["--engines", "tile-queue", "--policies", "adaptive"],
}


def rounds(text):
    number = int(text)
    if number < 1:
        raise ValueError
    return number


def arguments():
    about, details = __doc__.split("\n\n", 1)
    parser = argparse.ArgumentParser(description=about, epilog=details)
    parser.add_argument("rayq", nargs="?", default="target/release/rayq", help="the program (default: %(default)s)")
    parser.add_argument("rounds", nargs="?", type=rounds, default=5, help="1 or more (default: %(default)s)")
    given = parser.parse_args()
    if not os.access(given.rayq, os.X_OK):
        parser.error(f"{given.rayq}: no such program; build it by cargo build --release")
    return os.path.abspath(given.rayq), given.rounds


def processor_seconds(command):
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    text = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before, text


def slope(command, least, most, frames):
    """Seconds of a frame: the difference of a long and a short run, so that starting and reading do not count."""
    short, _ = processor_seconds(command(least))
    long, text = processor_seconds(command(most))
    return (long - short) / (frames(most) - frames(least)), text


def rayq(scene, options):
    command = lambda n: [RAYQ, "bench", "render", f"scenes/{scene}.toml", "--device", "cpu", "--workers", "1",
                         "--sizes", "1280x720", "--rounds", "1", "--frames", str(n), "--quiet", *options]
    # A warm-up figure and a round, n frames each.
    seconds, text = slope(command, 1, 11, lambda n: 2 * n)
    rays = next(int(line.split()[0]) for line in text.splitlines() if " rays: " in line)
    return rays / seconds / 1e6


def plain(program, scene):
    seconds, text = slope(lambda n: [program, scene, str(n)], 1, 11, lambda n: n)
    return int(text.split()[0]) / seconds / 1e6


RAYQ, ROUNDS = arguments()
os.chdir(os.path.dirname(HERE))
with tempfile.TemporaryDirectory() as folder:
    program = os.path.join(folder, "plain-loop")
    compiler = os.environ.get("CXX", "g++").split()
    subprocess.run([*compiler, *FLAGS, os.path.join(HERE, "plain-loop.cpp"), "-o", program], check=True)
    for scene in ["complex", "cornell"]:
        loop, ours = [], {engine: [] for engine in ENGINES}
        for _ in range(ROUNDS):
            loop.append(plain(program, scene))
            for engine, options in ENGINES.items():
                ours[engine].append(rayq(scene, options))
        print(f"{scene}, 1280x720, MRays/s on one core, median of {ROUNDS} (min .. max)")
        print(f"  plain loop  {statistics.median(loop):6.1f} ({min(loop):.1f} .. {max(loop):.1f})")
        for engine, rates in ours.items():
            ratio = statistics.median(r / l for r, l in zip(rates, loop))
            print(f"  {engine}  {statistics.median(rates):6.1f} ({min(rates):.1f} .. {max(rates):.1f}), "
                  f"{ratio:.2f} of the loop's")
