#!/bin/sh
# Compiles every kernel for NVIDIA architectures with NVRTC. Needs no GPU.
#
#   pip install nvidia-cuda-nvrtc        # or any CUDA toolkit
#   tools/check-nvidia.sh [target/release/rayq]
#
# RAYQ_NVRTC names the library to use; without it, the wheel's is looked for, then the system's.
set -eu
rayq=${1:-target/release/rayq}
[ -x "$rayq" ] || { echo "$0: no program $rayq: run cargo build --release, or name it" >&2; exit 2; }

if [ -z "${RAYQ_NVRTC:-}" ]; then
    RAYQ_NVRTC=$(python3 - <<'EOF' || true
import glob, os, sys
wheels = [os.path.join(p, "nvidia", "*", "lib", "libnvrtc.so.*") for p in sys.path]
files = [f for w in wheels for f in glob.glob(w) if ".alt." not in f]
print(max(files, key=lambda f: int(f.split(".so.")[1].split(".")[0])) if files else "")
EOF
    )
fi
[ -n "$RAYQ_NVRTC" ] || unset RAYQ_NVRTC
[ -n "${RAYQ_NVRTC:-}" ] && export RAYQ_NVRTC && echo "NVRTC: $RAYQ_NVRTC"
exec "$rayq" kernels --compile cuda:sm_80 cuda:sm_90 cuda:sm_100
