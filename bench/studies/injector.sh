#!/bin/bash
# Whether noise that is preloaded into an MPI program (libxylem-noise.so) does to
# it what noise does that the program injects itself, as under xylem-noise: one
# program, Open MPI's driver, that calls a broadcast, quiet, with its own noise
# and with the same noise preloaded, in turns. On a machine that nobody else
# uses: the intervals say how far what was found can be trusted.
#
#   bash bench/studies/injector.sh [ROUNDS [RANKS [SPEC]]]   default 9 2 poisson:100Hz,1ms
#
# BUILD names the build (default build/release). Ends with 1 where intervals of
# the share of the time or of the slowdown do not overlap.
set -eu
if [[ ${1-} == --help || ${1-} == -h ]]; then
    sed -n '2,/^[^#]/s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"
    exit 0
fi
export LC_ALL=C XYLEM_CONF=none UCX_LOG_LEVEL=error
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
rounds=${1:-9} ranks=${2:-2} spec=${3:-poisson:100Hz,1ms}
bench=$(realpath "${BUILD:-build/release}/bench")
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
# As xylem-noise starts it.
export OMPI_MCA_pml=ucx OMPI_MCA_opal_common_ucx_tls=any
export OMPI_MCA_opal_common_ucx_devices=any
launch=(timeout 300 mpirun.openmpi -n "$ranks" --map-by core:oversubscribe)
((EUID != 0)) || launch+=(--allow-run-as-root)
if ((ranks <= $(nproc))); then
    launch+=(--bind-to core:overload-allowed)
else
    launch+=(--bind-to none)
fi
driver=("$bench/xylem-mpi-driver-openmpi" -c bcast --sizes 64K -i 0
    --seconds 1.5 --warmup 10)

# result ROUND HOW COMMAND...: appends microseconds per call, and the share.
result()
{
    local round=$1 how=$2
    shift 2
    "$@" >"$out/said"
    sed -n 's/^xylem-result noise .* avg_us=\([0-9.]*\) .* injected_percent=\([0-9.]*\) .*/\1 \2/p' \
        "$out/said" | sed "s/^/$round $how /" >>"$out/results"
}

for ((round = 1; round <= rounds; round++)); do
    result $round quiet "${launch[@]}" "${driver[@]}" --noise none
    result $round own "${launch[@]}" "${driver[@]}" --noise "$spec" \
        --seed $round
    result $round preload "${launch[@]}" -x NOISE_SPEC="$spec" \
        -x NOISE_SEED=$round -x NOISE_REPORT="$out/report.$round" \
        -x LD_PRELOAD="$bench/libxylem-noise.so" "${driver[@]}" --noise none
done
echo "load $(cut -d ' ' -f 1-3 /proc/loadavg), $ranks ranks, $spec"
python3 - "$out" "$rounds" <<'END'
import random
import re
import statistics
import sys

out, rounds = sys.argv[1], int(sys.argv[2])
random.seed(1)
us, share = {}, {}
for line in open(out + "/results", encoding="ascii"):
    number, how, time, percent = line.split()
    us[int(number), how] = float(time)
    share[int(number), how] = float(percent)
numbers = range(1, rounds + 1)
for number in numbers:
    with open(f"{out}/report.{number}", encoding="ascii") as report:
        said = re.findall(r"injected_percent=([\d.]+)", report.read())
    share[number, "preload"] = statistics.mean(map(float, said))


def interval(values):
    """Of the median, 95 %, by bootstrap."""
    drawn = sorted(statistics.median(random.choices(values, k=len(values)))
                   for _ in range(2000))
    return drawn[50], drawn[1949]


def show(name, values):
    low, high = interval(values)
    print(f"{name:22} {statistics.median(values):10.2f} ({low:.2f} to {high:.2f})")
    return low, high


good = True
for name, of in (("share, %", lambda n, how: share[n, how]),
                 ("slowdown", lambda n, how: us[n, how] / us[n, "quiet"])):
    own = show(name + ", own", [of(n, "own") for n in numbers])
    pre = show(name + ", preloaded", [of(n, "preload") for n in numbers])
    good = good and own[0] <= pre[1] and pre[0] <= own[1]
show("time, preloaded / own",
     [us[n, "preload"] / us[n, "own"] for n in numbers])
sys.exit(not good)
END
