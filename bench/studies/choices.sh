#!/usr/bin/env bash
# How good the library's choices are on a simulated machine: runs every
# collective with the choice, then with every algorithm that fits, some radixes
# and segments, and compares. A time is that of one call that all ranks begin
# together, until the last of them has ended it.
#
# Left out: buffers of more than 32 MiB; more than 512 segments; beyond 1,448
# ranks, algorithms that send a message from every rank to every other in some
# order, which take minutes and up to 12 GB each (--long brings them; then
# --jobs 1 is wise).
set -u
export LC_ALL=C
# shellcheck source=bench/studies/sim_script.sh
. "$(dirname "${BASH_SOURCE[0]}")/sim_script.sh"

usage()
{
    cat <<'TXT'
usage: bench/studies/choices.sh [options]

  --machine M      default cori
  --ppn P          ranks per node (default 32)
  --ranks LIST     default 1024,4096
  --colls LIST     default: all
  --sizes LIST     bytes (default 8,64,512,4096,32768,262144,2097152)
  --messages       ranks of a node share no memory: nothing goes through it
  --within PERCENT how far off the best a choice is good (default 10)
  --long           also what takes minutes
  --limit S        give up a run after that many seconds (default 30)
  --jobs N         runs at once (default: one per core)
  --bin DIR        where xylem-sim is (default build/release/simulator)
  --csv FILE       every run's time; one that has some from before is refused
TXT
}

machine=cori ppn=32 ranks=1024,4096 colls='' within=10 long='' limit=30
messages='' bin=''
sizes=8,64,512,4096,32768,262144,2097152 jobs=$(nproc) csv=''
options_parse "$@"
begin
[ -z "$csv" ] || results_begin "$csv" ranks,coll,bytes,what,name,us

[ -n "$colls" ] || colls=barrier,bcast,reduce,allreduce,gather,gatherv,$(
)scatter,scatterv,allgather,allgatherv,alltoall,alltoallv,alltoallw,$(
)reduce_scatter,reduce_scatter_block,scan,exscan

buffer_bytes_max=$((32 << 20))
pairs_max=$((1 << 21)) # of ranks, which most algorithms need not look at
segments_max=512

# ---- what is run ----

has_blocks() # collective
{
    case $1 in
    gather* | scatter* | allgather* | alltoall* | reduce_scatter*) ;;
    *) return 1 ;;
    esac
}

sizes_of() # collective, ranks
{
    local bytes blocks=1
    [ "$1" != barrier ] || { echo 0; return; }
    ! has_blocks "$1" || blocks=$2
    for bytes in ${sizes//,/ }; do
        [ $((bytes * blocks)) -gt $buffer_bytes_max ] || echo "$bytes"
    done
}

is_long() # collective, ranks, algorithm
{
    [ -z "$long" ] && [ $(($2 * $2)) -gt $pairs_max ] || return 1
    case $1/$3 in
    */ring | */neighbor_exchange | */sparbit | */pairwise | \
        */scatter_ring | allgather*/linear | alltoall*/linear) ;;
    *) return 1 ;;
    esac
}

# Whether there is such a memory, and are such levels. No simulated machine has
# GPUs.
has_levels_for() # ranks, algorithm
{
    case $2 in
    cuda_*) return 1 ;;
    node) [ -z "$messages" ] && [ "$1" -eq "$ppn" ] ;;
    han*) [ -z "$messages" ] && [ "$1" -gt "$ppn" ] ;;
    esac
}

radixes_of() # collective, name
{
    case $2 in
    kchain) echo 2 4 ;;
    kary) echo 3 4 8 ;;
    topology) echo 1 2 4 8 ;;
    han) echo 1 2 4 8 ;;
    recursive_multiplying | dissemination | bruck) echo 2 4 8 16 32 ;;
    *) echo 2 4 8 ;;
    esac
}

# Lines "NAME[:RADIX] SEGMENT", 0: none.
candidates_of() # collective, ranks, bytes
{
    local line name radix segment variant
    "$sim" --algorithm list -c "$1" | sed -n 's/^  //p' |
        while read -r line; do
            name=${line%% *}
            ! is_long "$1" "$2" "$name" && has_levels_for "$2" "$name" ||
                continue
            local variants=("$name") segments=(0)
            if [ "$name" != "${name%:K}" ]; then
                variants=()
                for radix in $(radixes_of "$1" "${name%:K}"); do
                    variants+=("${name%:K}:$radix")
                done
            fi
            [[ $line != *'takes --segment'* && $line != *' tree: '* ]] ||
                segments=(0 4096 16384 65536)
            [ "${#segments[@]}" -eq 1 ] || has_blocks "$1" || segments+=(1024)
            for variant in "${variants[@]}"; do
                for segment in "${segments[@]}"; do
                    [ "$segment" -gt 0 ] && { [ "$segment" -ge "$3" ] ||
                        [ "$3" -gt $((segment * segments_max)) ]; } ||
                        echo "$variant $segment"
                done
            done
        done
}

tasks()
{
    local np coll bytes
    for np in ${ranks//,/ }; do
        [ $((np % ppn)) -eq 0 ] || fail "$np ranks are no whole nodes of $ppn"
        for coll in ${colls//,/ }; do
            for bytes in $(sizes_of "$coll" "$np"); do
                echo "$np $coll $bytes choice 0"
                candidates_of "$coll" "$np" "$bytes" |
                    sed "s/^/$np $coll $bytes /"
            done
        done
    done
}

# ---- a run ----

# What the library says that it chose; all ranks must say the same.
chosen() # file
{
    sed -n 's/^xylem: note: select: [a-z_]* of [^:]*: //p' "$1" | sort -u | awk '
        { text = $0 }
        END {
            if (NR != 1) { print "ranks-disagree"; exit }
            segment = text
            sub(/.*segments of /, "", segment)
            sub(/ .*/, "", segment)
            radix = text ~ /radix [1-9]/ ? text : ""
            sub(/.*radix /, ":", radix)
            sub(/,.*/, "", radix)
            name = text ~ /^tree/ ? "tree" : text
            sub(/,.*/, "", name)
            cuts = name != "tree" && name != "han"
            print name radix (segment > 0 && cuts ? "/" segment : "")
        }'
}

# One line "RANKS,COLL,BYTES,WHAT,NAME,US"; "-": it took too long.
run_one() # ranks, collective, bytes, algorithm, segment
{
    local file options=() what=algorithm name=$4 us
    file=$(mktemp -p "$work")
    if [ "$4" = choice ]; then
        what=choice
    else
        options+=(--algorithm "$4")
    fi
    [ "$5" -eq 0 ] || { options+=(--segment "$5"); name+=/$5; }
    [ "$3" -eq 0 ] || options+=(-s "$3")
    [ -z "$messages" ] || options+=(--messages)
    if ! XYLEM_VERBOSE=select timeout "$limit" "$sim" -m "$machine" \
        -N $(($1 / ppn)) -p "$ppn" -c "$2" "${options[@]}" --impl xylem -i 1 \
        --warmup 0 --quiet --csv "$file" >/dev/null 2>"$file.errors"; then
        grep -v 'note: select:' "$file.errors" >&2
        us=-
    else
        us=$(max_us "$file")
    fi
    [ $what = algorithm ] || name=$(chosen "$file.errors")
    rm -f "$file" "$file.errors"
    echo "$1,$2,$3,$what,$name,$us"
}

export -f run_one chosen max_us
export work sim machine ppn limit messages

run_all() # file of tasks; adds to the times
{
    # shellcheck disable=SC2016 # expanded by the shells that run the tasks
    xargs -P "$jobs" -L 1 bash -c 'run_one "$@"' _ <"$1" >>"$work/times"
}

# A run's time is the same every time, so what was chosen is not run again; nor
# is anything beside a choice that took too long.
candidates_left() # tasks; after the choices
{
    awk -F'[ ,]' '
        NR == FNR {
            if ($4 == "choice")
                done[$1, $2, $3] = $6 == "-" ? "all" : $5
            next
        }
        $4 != "choice" {
            name = $5 > 0 ? $4 "/" $5 : $4
            chosen = done[$1, $2, $3]
            if (chosen != name && chosen != "all")
                print
        }' "$work/times" "$1"
}

tasks >"$work/tasks"
[ -s "$work/tasks" ] || fail "there is nothing to run"
echo "$(wc -l <"$work/tasks") runs or fewer" >&2
grep ' choice 0$' "$work/tasks" >"$work/choices"
run_all "$work/choices"
candidates_left "$work/tasks" >"$work/candidates"
run_all "$work/candidates"
if [ -n "$csv" ]; then
    sort -t, -k1,1n -k2,2 -k3,3n -k4,4r -k6,6n "$work/times" >>"$csv" ||
        fail "cannot write $csv"
fi

# ---- the table ----

# A choice is compared with itself, too: it may have what no candidate has.
sort -t, -k1,1n -k2,2 -k3,3n "$work/times" | awk -F, -v within="$within" '
    function row_end() {
        if (key == "")
            return
        if (choice_us == "-") {
            ratio = "-"
            left_out++
        } else {
            if (best_us == "" || choice_us < best_us) {
                best_us = choice_us
                best = choice
            }
            ratio = sprintf("%.2f", best_us > 0 ? choice_us / best_us : 1)
            cases[ranks]++
            good[ranks] += choice_us <= best_us * (1 + within / 100)
        }
        printf "%5d %-21s %8d  %-28s %12s  %-28s %12s %6s\n", ranks, coll,
               bytes, choice, choice_us, best, best_us, ratio
    }
    BEGIN {
        printf "%5s %-21s %8s  %-28s %12s  %-28s %12s %6s\n", "ranks", "coll",
               "bytes", "choice", "us", "best", "us", "ratio"
    }
    $1 "," $2 "," $3 != key {
        row_end()
        key = $1 "," $2 "," $3
        ranks = $1; coll = $2; bytes = $3
        choice = choice_us = best = best_us = ""
    }
    $4 == "choice" { choice = $5; choice_us = $6 == "-" ? "-" : $6 + 0; next }
    $6 != "-" && (best_us == "" || $6 + 0 < best_us) { best = $5; best_us = $6 + 0 }
    END {
        row_end()
        print ""
        for (ranks in cases)
            printf "%d ranks: %d of %d choices within %g %% of the best (%.0f %%)\n",
                   ranks, good[ranks], cases[ranks], within,
                   100 * good[ranks] / cases[ranks]
        if (left_out > 0)
            printf "left out: %d whose choice took too long\n", left_out
    }'
