#!/bin/bash
# Builds xylem in several ways and runs its tests; installs what is missing
# before. The last line says `N passed, N failed, N skipped`, and the exit
# status is 1 when anything failed or nothing ran.
#
#   bash tests/run.sh [--quick] [--deep N] [--suite NAME]... [--no-deps]
#   bash tests/run.sh --coverage [--suite NAME]... [--no-deps]
#
#   --quick        only the folder build/debug
#   --deep N       for hours: N times as many cases by chance, N * 100,000 seeds,
#                  suites of threads N times, valgrind over unit-slow, too, all
#                  of proc under the sanitizers, MPI on all numbers of ranks,
#                  clang-tidy as deep as it goes; tests/nightly.sh says how deep
#   --suite NAME   only this suite, in the folders that run it
#   --no-deps      install nothing; what cannot run is skipped
#   --coverage     only the folder build/coverage: what unit, unit-slow, threads, proc
#                  and mpi execute of the library, by tests/coverage.py
#
# Folders under build/, and what runs in each:
#   debug      gcc: all suites, then `unit` again under valgrind
#   asan       clang, warnings are errors, address and undefined-behaviour
#              sanitizers: unit, unit-slow, about a third of proc
#   tsan       clang, thread sanitizer: threads
#   coverage   gcc, counters of gcov, nothing optimised, no assertions
#
# A phase writes to build/logs/; what goes wrong is shown, shortened.
set -uo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd -P)
cd "$root" || exit 1
logs=$root/build/logs
log_lines_shown_max=80
progress_seconds=10 # between two lines that say how far a phase is
# One more than there are cores, as some tests wait more than they compute.
processes=$(($(nproc) + 1))
lines_only=-gline-tables-only # all that a sanitizer's report needs

quick=no
coverage=no
deep=0
install=yes
chosen_suites=()
total_passed=0
total_failed=0
total_skipped=0
table=()

usage()
{
    sed -n '2,/^[^#]/s/^# \{0,1\}//p' tests/run.sh
}

parse_options()
{
    while (($# > 0)); do
        case $1 in
        --quick) quick=yes ;;
        --coverage) coverage=yes ;;
        --no-deps) install=no ;;
        --deep)
            [[ ${2-} =~ ^[1-9][0-9]*$ ]] ||
                { echo "--deep needs a number" >&2; exit 2; }
            deep=$2
            shift
            ;;
        --suite)
            [[ -n ${2-} ]] || { echo "--suite needs a name" >&2; exit 2; }
            chosen_suites+=("$2")
            shift
            ;;
        --help | -h) usage; exit 0 ;;
        *) echo "unknown option '$1'; see --help" >&2; exit 2 ;;
        esac
        shift
    done
}

# Adds a row to the table and to the totals.
count()
{
    local folder=$1 suite=$2 passed=$3 failed=$4 skipped=$5 note=${6-}

    table+=("$(printf '%-9s %-10s %7d %7d %8d  %s' "$folder" "$suite" \
        "$passed" "$failed" "$skipped" "$note")")
    ((total_passed += passed, total_failed += failed, total_skipped += skipped))
    return 0
}

# Prints how far a phase is, as its log says: "[12/464] ..." of ninja, or
# "12/76 xylem:unit / test_tree OK ..." of meson test.
position()
{
    tail -c 20000 "$1" | awk '
        match($0, /^\[[0-9]+\/[0-9]+\]/) {
            at = substr($0, 2, RLENGTH - 2); last = ""; bad = 0
        }
        match($0, /^ *[0-9]+\/[0-9]+ xylem:/) {
            at = $1; last = ", last " $4
        }
        END { if (at != "") { sub(/\//, " of ", at); print at last } }'
}

# Says every few seconds how far a phase is, as long as this script lives.
follow()
{
    local name=$1 begin=$SECONDS next=$progress_seconds

    while sleep 1 && kill -0 $$ 2>/dev/null; do
        ((SECONDS - begin >= next)) || continue
        printf '  %-22s %4d s  %s\n' "$name" $((SECONDS - begin)) \
            "$(position "$logs/$name.log")"
        next=$((SECONDS - begin + progress_seconds))
    done
}

# Runs a command as a named phase, with its output in the log of that name.
phase()
{
    local name=$1 begin=$SECONDS status=0 follower
    shift

    : >"$logs/$name.log"
    # It is the one that runs in the background: what does, ignores SIGINT.
    follow "$name" &
    follower=$!
    PYTHONUNBUFFERED=1 "$@" >"$logs/$name.log" 2>&1 </dev/null || status=$?
    kill "$follower" 2>/dev/null
    wait "$follower" 2>/dev/null
    printf '%-24s %4d s%s\n' "$name" $((SECONDS - begin)) \
        "$( ((status == 0)) || echo '  failed')"
    return "$status"
}

show_log()
{
    local log=$logs/$1.log

    echo "--- the end of build/logs/$1.log:"
    # The first error matters most, and parallel builds bury it.
    grep -nE -m 10 '(error|FAILED|ERROR):' "$log" | cut -c -300
    tail -n "$log_lines_shown_max" "$log" | cut -c -300
}

# What a build folder depends on beyond the files that ninja watches.
stamp_of()
{
    local compiler=$1
    shift
    printf '%s\n' "$root" "$(meson --version)" "$("$compiler" --version)" "$*"
}

# Configures build/NAME, again if it is of another version of anything. Where
# there is ccache, objects that any earlier folder had are not compiled again.
configure()
{
    local name=$1 compiler=$2 folder=$root/build/$1 stamp cxx=g++ cache=
    shift 2

    [[ $compiler == clang ]] && cxx=clang++
    ! command -v ccache >/dev/null || cache='ccache '
    stamp=$(stamp_of "$compiler" "$@")
    if [[ -f $folder/build.ninja ]]; then
        if [[ ! -f $folder/.stamp ]]; then
            CC=$cache$compiler CXX=$cache$cxx \
                meson setup --reconfigure "$folder" "$@" &&
                echo "$stamp" >"$folder/.stamp" && return 0
        elif [[ $stamp == "$(<"$folder/.stamp")" ]]; then
            ninja -C "$folder" build.ninja && return 0
        fi
        echo "build/$name does not fit any more; starting afresh"
    fi
    rm -rf "$folder"
    CC=$cache$compiler CXX=$cache$cxx meson setup "$folder" "$@" &&
        echo "$stamp" >"$folder/.stamp"
}

# Prints those of a folder's suites that are to be run.
suites_to_run()
{
    local suite chosen

    if ((${#chosen_suites[@]} == 0)); then
        printf '%s\n' "$@"
        return
    fi
    for chosen in "${chosen_suites[@]}"; do
        for suite; do
            [[ $suite == all || $suite == "$chosen" ]] || continue
            echo "$chosen"
            break
        done
    done
}

# Configures and builds; a failure counts as one failed test. With `only` set by
# the caller just what the tests of that suite need.
build_folder()
{
    local name=$1 targets=()

    if ! phase "$name-setup" configure "$@"; then
        show_log "$name-setup"
        count "$name" setup 0 1 0 "does not configure"
        return 1
    fi
    [[ -z ${only-} ]] ||
        mapfile -t targets < <(python3 tests/targets.py "build/$name" "$only")
    if ! phase "$name-build" ninja -C "$root/build/$name" \
        "${targets[@]}"; then
        show_log "$name-build"
        count "$name" build 0 1 0 "does not compile"
        return 1
    fi
}

# run_suites LABEL FOLDER SUITES OPTION...: runs the suites, "all" for all of
# them, and counts.
run_suites()
{
    local label=$1 folder=$root/build/$2 wanted=$3
    local arguments=() suites=() suite passed failed skipped json rows=0
    shift 3

    read -ra suites <<<"$wanted"
    for suite in "${suites[@]}"; do
        [[ $suite == all ]] || arguments+=(--suite "$suite")
    done
    ((deep == 0)) || arguments+=(--timeout-multiplier $((20 * deep)))
    rm -f "$folder/meson-logs/run-$label"*
    phase "$label-test" meson test -C "$folder" --no-rebuild \
        --logbase "run-$label" "$@" "${arguments[@]}"
    # A test setup appends its own name.
    for json in "$folder/meson-logs/run-$label"*.json; do
        [[ -f $json ]] || continue
        while IFS=$'\t' read -r suite passed failed skipped; do
            count "$label" "$suite" "$passed" "$failed" "$skipped"
            rows=$((rows + 1))
        done < <(python3 tests/report.py "$folder" "$json" "${suites[@]}")
    done
    ((rows > 0)) && return
    if grep -q 'No suitable tests defined' "$logs/$label-test.log"; then
        count "$label" "${suites[0]}" 0 0 0 "no such tests"
    else
        show_log "$label-test"
        count "$label" "${suites[0]}" 0 1 0 "meson test broke off"
    fi
}

# Whether an empty program runs under a sanitizer: some kernels and containers
# do not let it. Arguments: the sanitizer, a prefix for the command.
sanitizer_works()
{
    local sanitizer=$1 program=$logs/probe
    shift

    clang "-fsanitize=$sanitizer" -x c - -o "$program" \
        <<<'int main(void) { return 0; }' 2>/dev/null &&
        "$@" "$program" >/dev/null 2>&1
}

run_debug()
{
    local suites

    suites=$(suites_to_run all)
    build_folder debug gcc -Dwerror=true || return
    run_suites debug debug "${suites//$'\n'/ }" \
        --num-processes "$processes" --timeout-multiplier 4
    if ((deep > 0)) && [[ -n $(suites_to_run unit-slow) ]]; then
        run_suites seeds debug unit-slow test_seeds_1 \
            "--test-args=--first 10001 --seeds ${deep}00000"
        run_suites late debug unit-slow test_seeds_late \
            "--test-args=--first 501 --seeds ${deep}00000 --late 40"
        run_suites faults debug unit-slow test_seeds_2501 \
            "--test-args=--first 3000001 --seeds ${deep}00000 --faulty 1"
        CHECK_DEPTH=$((170 * deep)) run_suites deaths debug unit-slow \
            test_call_faults --test-args=dies
    fi
    return 0
}

run_valgrind()
{
    local suites

    suites=$(suites_to_run unit ${deep_suites[@]+"${deep_suites[@]}"})
    [[ -n $suites ]] || return 0
    if command -v valgrind >/dev/null; then
        run_suites valgrind debug "${suites//$'\n'/ }" --setup valgrind
    else
        count valgrind unit 0 0 1 "no valgrind"
    fi
}

run_asan()
{
    local suites

    suites=$(suites_to_run unit unit-slow proc)
    [[ -n $suites ]] || return 0
    if ! sanitizer_works address env ASAN_OPTIONS=detect_leaks=1; then
        if ! sanitizer_works address env ASAN_OPTIONS=detect_leaks=0; then
            count asan "${suites%%$'\n'*}" 0 0 1 "the sanitizer does not run"
            return
        fi
        echo "asan: leaks cannot be searched for on this machine"
        export ASAN_OPTIONS=detect_leaks=0
    fi
    build_folder asan clang -Dwerror=true -Dcuda=disabled \
        -Db_sanitize=address,undefined "-Dc_args=$lines_only" &&
        run_suites asan asan "${suites//$'\n'/ }" \
            --num-processes "$processes" --timeout-multiplier 8
}

run_tsan()
{
    local shell=() only

    [[ -n $(suites_to_run threads) ]] || return 0
    # Where the kernel spreads addresses too far for the sanitizer.
    if ! sanitizer_works thread; then
        shell=(setarch -R)
        if ! sanitizer_works thread "${shell[@]}"; then
            count tsan threads 0 0 1 "the sanitizer does not run"
            return
        fi
    fi
    # What else there is has been compiled by clang before.
    only=threads
    build_folder tsan clang -Dwerror=true -Dcuda=disabled \
        -Db_sanitize=thread "-Dc_args=$lines_only" &&
        run_suites tsan tsan threads --timeout-multiplier 10 \
            ${repeat[@]+"${repeat[@]}"} \
            ${shell[@]:+--wrapper "${shell[*]}"}
}

run_with_clang()
{
    if ! command -v clang >/dev/null; then
        count asan any 0 0 1 "no clang"
        return
    fi
    run_asan
    run_tsan
}

# gcc warns of what only assertions use, and of what it does not follow without
# optimising. Counters add up over runs; those of before are removed.
run_coverage()
{
    local suites

    suites=$(suites_to_run unit unit-slow threads proc mpi)
    [[ -n $suites ]] || return 0
    build_folder coverage gcc -Db_coverage=true -Db_ndebug=true \
        --buildtype debug -Dc_args=-fprofile-update=atomic || return
    find build/coverage -name '*.gcda' -delete
    run_suites coverage coverage "${suites//$'\n'/ }" --timeout-multiplier 20
    phase coverage-report python3 tests/coverage.py build/coverage ||
        count coverage report 0 1 0
    cat "$logs/coverage-report.log"
}

parse_options "$@"
mkdir -p "$logs"
# The tests set what they need; a user's settings must not change them.
# shellcheck disable=SC2086 # a list of names
unset ${!XYLEM_*} ${!CHECK_*}
export XYLEM_CONF=none
deep_suites=()
repeat=()
if ((deep > 0)); then
    deep_suites=(unit-slow)
    repeat=(--repeat "$deep")
    # tests/proc/run.sh, tests/style/tidy.sh and tests/support/check.h read them.
    export CHECK_DEPTH=$deep CHECK_SET=all CHECK_TIDY=deep
    # tests/fuzz/fuzz.sh: of each target.
    export FUZZ_SECONDS=$((60 * deep))
fi
trap 'exit 130' INT TERM

# Without them the tests on several nodes are skipped.
if [[ $install == yes && -n $(suites_to_run cluster) ]]; then
    phase deps-cluster bash tools/deps.sh cluster
fi
if [[ $install == yes ]] && ! phase deps bash tools/deps.sh build test; then
    cat "$logs/deps.log"
    count deps packages 0 1 0
elif [[ $coverage == yes ]]; then
    run_coverage
elif run_debug && [[ $quick == no ]]; then
    # What does not even compile with gcc would only fail the same way again.
    run_valgrind
    run_with_clang
fi

printf '\n%-9s %-10s %7s %7s %8s\n' folder suite passed failed skipped
printf '%s\n' "${table[@]}"
printf '\n%d passed, %d failed, %d skipped\n' "$total_passed" "$total_failed" \
    "$total_skipped"
((total_failed == 0 && total_passed > 0))
