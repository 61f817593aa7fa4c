#!/bin/sh
# Compiles every kernel for NVIDIA architectures with NVRTC, and looks at what became of the platform's operations: PTX,
# and machine code where there is nvdisasm. Needs no GPU.
#
#   pip install nvidia-cuda-nvrtc nvidia-cuda-nvdisasm        # or any CUDA toolkit
#   tools/check-nvidia.sh [target/release/rayq]
#
# RAYQ_NVRTC names the library to use, NVDISASM the disassembler; without them, the wheels' are looked for, then the
# system's. ARCHS names other architectures: NVRTC 13 knows none before sm_75, for sm_70 it takes NVRTC 12.
set -eu
tools=$(dirname "$0")
rayq=${1:-target/release/rayq}
archs=${ARCHS-sm_90 sm_80 sm_100}
[ -x "$rayq" ] || { echo "$0: no program $rayq: run cargo build --release, or name it" >&2; exit 2; }

# wheel PATTERN: the newest such file of NVIDIA's Python wheels.
wheel() {
    python3 - "$1" <<'PYTHON' || true
import glob, os, re, sys
files = [f for p in sys.path for f in glob.glob(os.path.join(p, "nvidia", "*", sys.argv[1])) if ".alt." not in f]
print(max(files, key=lambda f: [int(n) for n in re.findall(r"\d+", os.path.basename(f))], default=""))
PYTHON
}
[ -n "${RAYQ_NVRTC:-}" ] || RAYQ_NVRTC=$(wheel 'lib/libnvrtc.so.*')
[ -n "$RAYQ_NVRTC" ] || unset RAYQ_NVRTC
[ -n "${RAYQ_NVRTC:-}" ] && export RAYQ_NVRTC && echo "NVRTC: $RAYQ_NVRTC"
[ -n "${NVDISASM:-}" ] || NVDISASM=$(wheel 'bin/nvdisasm')
[ -n "$NVDISASM" ] || NVDISASM=$(command -v nvdisasm || true)

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
targets=
for arch in $archs; do
    targets="$targets cuda:$arch"
done
# Word by word on purpose.
# shellcheck disable=SC2086
"$rayq" kernels --code "$folder" --compile $targets

# Instructions of one kernel of a PTX listing: number, pattern, architecture, unit, kernel.
expect() {
    found=$(sed -n "/\.entry $5(/,/^}/p" "$folder/$4.$3.ptx" | grep -c -E "$2" || true)
    [ "$found" = "$1" ] || { echo "$0: $3: $5 has $found instructions $2 instead of $1" >&2; exit 1; }
}
for arch in $archs; do
    "$tools/check-operations.py" ptx "$folder/operations.$arch.ptx"
    # A ticket: one add for the wave, not one a lane, and no other atomic.
    expect 1 'atom\.relaxed\.gpu\.global\.add\.u64' "$arch" probe probe_tickets
    expect 1 '(atom|red)\.' "$arch" probe probe_tickets
    expect 1 'atom\.acq_rel\.gpu\.global\.cas\.b64' "$arch" probe probe_cas
    expect 1 '(atom|red)\.' "$arch" probe probe_cas
    if [ -n "$NVDISASM" ]; then
        "$NVDISASM" -c "$folder/operations.$arch.cubin" > "$folder/operations.$arch.sass"
        "$tools/check-operations.py" sass "$folder/operations.$arch.sass"
    fi
done
[ -n "$NVDISASM" ] || echo "no nvdisasm: the machine code was not looked at"
