#!/bin/sh
# Compiles every kernel for AMD architectures, without warnings, and looks at the machine code of the queues'
# idioms and of the platform's operations. Needs no GPU, and no ROCm but for the last step.
#
#   apt-get install --no-install-recommends clang-19 lld-19 libamdhip64-5
#   tools/check-amd.sh [target/release/rayq]
#
# CLANG names another clang; HIPRTC_ARCHS the architectures for hipRTC (empty: skip it), by default gfx90a.
set -eu
rayq=${1:-target/release/rayq}
clang=${CLANG:-clang-19}
[ -x "$rayq" ] || { echo "$0: no program $rayq: run cargo build --release, or name it" >&2; exit 2; }
command -v "$clang" >/dev/null || { echo "$0: no $clang: apt-get install clang-19 lld-19, or set CLANG" >&2; exit 2; }

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"$rayq" kernels --export "$folder"

flags="-x hip --cuda-device-only --no-gpu-bundle-output -nogpulib -nogpuinc -std=c++17 -ffp-contract=off -Wall -Wextra
    -Werror -I$folder"
listing() { # architecture, unit, result
    # Word by word on purpose.
    # shellcheck disable=SC2086
    "$clang" $flags --offload-arch="$1" -O3 -S "$2" -o "$3"
}

# The instructions of one kernel of a listing.
kernel() { sed -n "/^$2:/,/s_endpgm/p" "$1"; }

expect() { # number, pattern, architecture, kernel
    found=$(kernel "$folder/$3.s" "$4" | grep -c -E "$2" || true)
    [ "$found" = "$1" ] || { echo "$0: $3: $4 has $found instructions $2 instead of $1" >&2; exit 1; }
}

for arch in gfx90a gfx942 gfx1030 gfx1100 gfx1201; do
    case $arch in
        gfx9* | gfx10*) add=global_atomic_add_x2 swap=global_atomic_cmpswap_x2 ;;
        *) add=global_atomic_add_u64 swap=global_atomic_cmpswap_b64 ;;
    esac
    # Everything for one architecture; for the others, unless ALL is set, no instrumented builds and each queue once, with
    # full optimisation for one with waves of 32 lanes. A core each.
    level=-O3 without='_counted_|_(gwfq|gwfq_ymc|sfq|sfq_waiting|bwd|faa|unbatched)[_.]'
    case $arch in
        gfx90a) without='^$' ;;
        gfx1100) ;;
        *) level=-O1 ;;
    esac
    [ -z "${ALL:-}" ] || level=-O3 without='^$'
    units=$(ls "$folder"/units/*.cpp | grep -v -E "$without")
    # Word by word on purpose.
    # shellcheck disable=SC2086
    printf '%s\n' $units | xargs -P "$(nproc)" -I{} "$clang" $flags --offload-arch="$arch" "$level" {} -o {}.o
    listing "$arch" "$folder/units/probe.cpp" "$folder/$arch.s"
    # A ticket: one add for the wave, not one a lane, and no other atomic.
    expect 1 "$add" "$arch" probe_tickets
    expect 1 "_atomic_" "$arch" probe_tickets
    # A slot: one 64-bit compare-and-swap in global memory, not a loop of flat ones.
    expect 1 "$swap" "$arch" probe_cas
    expect 1 "_atomic_" "$arch" probe_cas
    # Orders, where tools/operations.txt has a column: it is clang 19's code.
    case $arch in
        gfx90a | gfx942 | gfx1100)
            listing "$arch" "$folder/units/operations.cpp" "$folder/operations.s"
            [ "$("$clang" -dumpversion | cut -d. -f1)" != 19 ] ||
                "$(dirname "$0")/check-operations.py" "$arch" "$folder/operations.s"
            ;;
    esac
    # Correctly rounded division ends in a fix-up.
    expect 1 "v_div_fixup_f32" "$arch" probe_arithmetic
    echo "$arch: $(echo $units | wc -w) variants with $clang; atomics and division as expected"
done

for arch in ${HIPRTC_ARCHS-gfx90a}; do
    "$rayq" kernels --compile "hip:$arch"
done
