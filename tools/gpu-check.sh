#!/usr/bin/env bash
# Checks and measures rayq on a machine with a GPU. Needs a built `rayq`, this repository and Python 3; no Rust.
#
#   tools/gpu-check.sh RAYQ FOLDER [DEVICE]
#
# RAYQ is the program, FOLDER takes the results, DEVICE is cuda (the default), cuda:N, hip or hip:N. Leaves in FOLDER:
#
#   devices.json       what `rayq devices` sees, and clocks.txt, what nvidia-smi says of clocks before and after
#   films.csv          the film's hash for every scene, size, engine, queue, policy and tile, against the CPU's
#   memcheck.txt       compute-sanitizer's words on a small render with each engine (if it is on PATH),
#   racecheck.txt      likewise
#   bench.json .txt    engines against each other at 3840x2160, one sample a pixel, medians of 5 rounds
#   summary.txt        one line a check
#
# Exits 1 if a check fails; all of them run first.
set -uo pipefail
if [ $# -lt 2 ]; then
    sed -n '2,/^$/{/^#/!q;s/^# \{0,1\}//p}' "$0" >&2
    exit 2
fi
rayq=$(realpath "$1")
mkdir -p "$2"
out=$(realpath "$2")
device=${3:-cuda}
cd "$(dirname "$0")/.."
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
export RAYQ_CACHE_DIR=$scratch/cache
failures=0
: > "$out/summary.txt"

# verdict PASSED TEXT: notes a check's result.
verdict() {
    local word=ok
    [ "$1" = 1 ] || { word=FAILED; failures=$((failures + 1)); }
    printf '%-7s %s\n' "$word" "$2" | tee -a "$out/summary.txt"
}

# choices OPTION: the values that `rayq render` knows for an option.
choices() {
    "$rayq" render --help | python3 -c '
import re, sys
text = sys.stdin.read()
part = re.split(r"\n\s+(?:-\w, )?--", text[text.index("--" + sys.argv[1] + " "):])[0]
listed = re.search(r"\[possible values: (.*?)\]", part, re.S)
names = listed.group(1).split(",") if listed else re.findall(r"^\s+- ([\w-]+):", part, re.M)
print(" ".join(name.strip() for name in names))' "$1"
}

# film SCENE OPTION...: the hash of a film, or nothing.
film() {
    rm -f "$scratch/film.json"
    "$rayq" render "$1" --quiet --timeout 120 -o "$scratch/film.png" --stats "$scratch/film.json" "${@:2}" \
        2>> "$out/summary.txt" || return 0
    field film_hash "$scratch/film.json"
}

# field KEY FILE: a value of a JSON file; a.b looks into a.
field() {
    python3 -c '
import functools, json, sys
print(functools.reduce(lambda value, key: value[key], sys.argv[1].split("."), json.load(open(sys.argv[2]))))' "$1" "$2"
}

# One line an engine in every form.
variants() {
    local queue policy tile
    echo "--engine megakernel"
    echo "--engine compaction --compact append"
    echo "--engine compaction --compact scan"
    for queue in $(choices queue); do
        for policy in $(choices policy); do
            for tile in 64 7 160x90; do
                echo "--engine tile-queue --queue $queue --policy $policy --tile $tile"
                [ "$policy" = adaptive ] && echo "--engine tile-queue --queue $queue --tile $tile --pools yes"
            done
        done
    done
}

check_films() {
    local scene size expected found options total=0 wrong=0
    variants > "$scratch/variants"
    echo "scene,size and samples,options,hash,equals the CPU's" > "$out/films.csv"
    for scene in scenes/complex.toml scenes/cornell.toml scenes/gltf-sampler.toml; do
        for size in "1280 720 1" "333 77 3" "8191 3 2" "1 1 4"; do
            read -r width height spp <<< "$size"
            set -- "$scene" --width "$width" --height "$height" --spp "$spp"
            expected=$(film "$@" --device cpu --engine megakernel)
            echo "$scene,$size,cpu megakernel,$expected,reference" >> "$out/films.csv"
            while read -r options; do
                # Word by word on purpose.
                # shellcheck disable=SC2086
                found=$(film "$@" --device "$device" $options)
                total=$((total + 1))
                if [ -n "$found" ] && [ "$found" = "$expected" ]; then
                    echo "$scene,$size,$options,$found,yes" >> "$out/films.csv"
                else
                    wrong=$((wrong + 1))
                    echo "$scene,$size,$options,${found:-none},no" >> "$out/films.csv"
                fi
            done < "$scratch/variants"
        done
    done
    verdict $((total > 0 && wrong == 0)) "films: $((total - wrong)) of $total equal the CPU's"
}

# Whether the second run of a program finds its kernels in the cache.
check_cache() {
    local cold warm
    RAYQ_CACHE_DIR=$scratch/fresh film scenes/cornell.toml --device "$device" > /dev/null
    cold=$(field seconds.compile "$scratch/film.json")
    RAYQ_CACHE_DIR=$scratch/fresh film scenes/cornell.toml --device "$device" > /dev/null
    warm=$(field seconds.compile "$scratch/film.json")
    verdict "$(python3 -c 'import sys; print(int(float(sys.argv[1]) < 0.1))' "${warm:-9}")" \
        "kernels: $cold s to compile, $warm s from the cache (less than 0.1 s expected)"
}

# sanitize TOOL: compute-sanitizer on a small render with each engine.
sanitize() {
    local tool=$1 options clean=1
    : > "$out/$tool.txt"
    while read -r options; do
        echo "== $options" >> "$out/$tool.txt"
        # shellcheck disable=SC2086
        timeout 120 compute-sanitizer --tool "$tool" --error-exitcode 9 "$rayq" render scenes/complex.toml --quiet \
            --width 80 --height 45 --spp 2 -o "$scratch/sanitized.png" --device "$device" $options \
            >> "$out/$tool.txt" 2>&1 || clean=0
    done < <(grep -v -- '--tile 7\|--tile 160x90' "$scratch/variants")
    verdict $clean "compute-sanitizer $tool"
}

measure() {
    local queues
    queues=$(choices queue | tr ' ' ',')
    "$rayq" bench render scenes/complex.toml scenes/cornell.toml --device "$device" --width 3840 --height 2160 --spp 1 \
        --rounds 5 --queues "$queues" --quiet --json "$out/bench.json" > "$out/bench.txt" 2>> "$out/summary.txt"
    verdict $(($? == 0)) "bench: medians of 5 in bench.txt"
    cat "$out/bench.txt"
}

clocks() {
    command -v nvidia-smi > /dev/null || return 0
    nvidia-smi --query-gpu=name,driver_version,clocks.sm,clocks.max.sm,clocks.mem,temperature.gpu,power.draw \
        --format=csv >> "$out/clocks.txt"
}

rm -f "$out/clocks.txt"
clocks
"$rayq" devices --json > "$out/devices.json"
check_films
check_cache
if command -v compute-sanitizer > /dev/null; then
    sanitize memcheck
    sanitize racecheck
else
    echo "skipped compute-sanitizer: not on PATH" | tee -a "$out/summary.txt"
fi
measure
clocks
exit $((failures > 0))
