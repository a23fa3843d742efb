#!/bin/bash
# All tests, ten times as deep as tests/run.sh has them, then a job that does all
# there is for an hour and must not grow, mpi4py's own tests on the binding, ten
# million triggers under the sanitizer of threads, a million remote tasks,
# campaigns of the noise laboratory on four nodes, killed and gone on with, and
# then the commands of the README on bare Debian releases: for hours. The same
# last line, `N passed, N failed, N skipped`, where a command on a release counts
# as one.
#
#   bash tests/nightly.sh [option of tests/run.sh]...
set -uo pipefail
if [[ ${1-} == --help || ${1-} == -h ]]; then
    sed -n '2,/^[^#]/s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"
    exit 0
fi
here=$(dirname "${BASH_SOURCE[0]}")
log=$(mktemp)
trap 'rm -f "$log"' EXIT
code=0

# A command that counts as one.
once()
{
    local name=$1
    shift

    echo "--- $name"
    if "$@"; then
        echo "1 passed, 0 failed, 0 skipped" | tee -a "$log"
    else
        echo "0 passed, 1 failed, 0 skipped" | tee -a "$log"
        code=1
    fi
}

# Both ways may fail; each says so itself, and both are counted.
bash "$here/run.sh" --deep 10 "$@" | tee -a "$log"
((PIPESTATUS[0] == 0)) || code=1
bash "$here/soak/soak.sh" "$here/../build/debug" 3600 | tee -a "$log"
((PIPESTATUS[0] == 0)) || code=1
bash "$here/mpi/mpi4py.sh" | tee -a "$log"
((PIPESTATUS[0] == 0)) || code=1
CHECK_DEPTH=140 once triggers "$here/../build/tsan/tests/test_proxy"
once tasks "$here/../build/debug/launcher/xylem-run" -n 4 \
    "$here/../build/debug/tests/tasks" sweep 250000
tests=$here/../build/debug
once walks python3 "$here/proc/walks.py" "$tests/simulator/xylem-sim" \
    "$tests/bench/xylem-noise" "$tests/bench/xylem-bench" \
    "$tests/launcher/xylem-run" "$tests/bench/tune/xylem-tune" 250 \
    "$((RANDOM * 1000))"
bash "$here/cluster/suite.sh" noise "$tests/tests" "$tests/bench" | tee -a "$log"
((PIPESTATUS[0] == 0)) || code=1
bash "$here/distro/run.sh" bookworm trixie forky readme demo tests death | tee -a "$log"
case ${PIPESTATUS[0]} in
0 | 77) ;;
*) code=1 ;;
esac
awk '/^[0-9]+ passed, [0-9]+ failed, [0-9]+ skipped$/ {
         passed += $1; failed += $3; skipped += $5
     }
     END { printf "\n%d passed, %d failed, %d skipped\n", passed, failed, skipped }
' "$log"
exit $code
