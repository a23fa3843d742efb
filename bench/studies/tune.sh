#!/bin/bash
# The tuner's model against reality, as figures 5.13 and 5.17 of Luo's thesis, and
# what its four strategies cost and find, as figures 6.1 and 6.2; or the rules of
# the built-in table for several nodes. All simulated: nothing depends on how busy
# this computer is.
#
#   bash bench/studies/tune.sh [options] [FOLDER]    default build/tune
#
#   --parts LIST    figures, strategies or table (default figures,strategies)
#   --machine M     default nacl, on which the thesis measured; several for the table
#                   (default stampede2,shaheen2,tcp)
#   --nodes N       default 64; several for the table (default 2,4,8,16,32,64,128)
#   --ppn P         default 12; several for the table (default 8,32)
#   --colls LIST    default bcast,allreduce; of the table bcast,reduce,allreduce
#   --sizes LIST    of the strategies (default 4K,16K,64K,256K,1M,4M) and the table
#                   (default 2K,8K,32K,128K,512K,2M)
#   --promising     measure all plans that heuristics let pass, instead of all
#   --quick         16 nodes of 4 ranks
#   --jobs J        simulations at a time, for the table (default: the cores)
#   --seconds S     for the table (default 36000)
#
# With 64 nodes of 12 all of it takes hours, most of them for segments of 1 and 4
# KiB, which --promising leaves out of long messages; so does the table. What has
# been measured is kept in FOLDER, and not measured again. BUILD names the build
# (default build/release); in a bundle its programs are taken.
#
# The table, FOLDER/table.json, has the rules that are faster than the built-in ones by 3 %
# and more, on all machines, also between the sizes, and no slower in a row and under noise;
# FOLDER/verdicts has these ratios of each rule, FOLDER/rules.json those that failed, too.
# A person takes them into collectives/choose/table.json.
set -eu
export LC_ALL=C XYLEM_CONF=none
unset XYLEM_TUNING
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)

usage()
{
    sed -n '2,/^[^#]/s/^# \{0,1\}//p' "$here/tune.sh"
}

parts=figures,strategies machine='' nodes='' ppn='' colls='' sizes='' all=--exhaustive
jobs=$(nproc) seconds=36000
while [[ ${1:-} == -* ]]; do
    case $1 in
    --help | -h) usage; exit 0 ;;
    --quick) nodes=16 ppn=4 ;;
    --promising) all="--exhaustive --heuristics" ;;
    --parts | --machine | --nodes | --ppn | --colls | --sizes | --jobs | --seconds)
        (($# >= 2)) || exit 2
        printf -v "${1#--}" %s "$2"
        shift
        ;;
    *) usage >&2; exit 2 ;;
    esac
    shift
done
tune=$here/xylem-tune sim=$here/xylem-sim
if [[ ! -x $tune ]]; then
    cd "$here/../.."
    build=$(realpath "${BUILD:-build/release}")
    tune=$build/bench/tune/xylem-tune sim=$build/simulator/xylem-sim
fi
command -v gnuplot >/dev/null || echo "no pictures: gnuplot is not installed"
out=${1:-build/tune}
mkdir -p "$out"

has_part()
{
    [[ ,$parts, == *,$1,* ]]
}

# search COLL NAME OPTION...: a table, NAME.json, from the times that are known of
# the collective; what is measured besides becomes known.
search()
{
    local coll=$1 name=$2 known=$out/$1.times
    shift 2
    touch "$known"
    cp "$known" "$out/$name.json.times"
    "$tune" --simulate "$machine" -N "$nodes" -p "$ppn" -c "$coll" --all -q \
        --minutes 6000 -o "$out/$name.json" "$@"
    cp "$out/$name.json.times" "$known"
}

# panels FILE.csv FILE.svg: for each plan the times of its segments.
panels()
{
    awk -F, -v picture="$2" '
        NR == 1 || $7 <= 0 || $8 <= 0 { next }
        !($5 in rows) { order[++n] = $5 }
        { rows[$5] = rows[$5] "\"" ($6 >= 1048576 ? $6 / 1048576 "M" : $6 / 1024 "K") \
            "\" " $8 / 1000 " " $7 / 1000 "\n"
          most = $8 > most ? $8 : most; most = $7 > most ? $7 : most
          low = $7 < $8 ? $7 : $8
          least = least == 0 || low < least ? low : least
          title = $1 " of " $4 / 1048576 " MiB on " $2 " nodes of " $3 }
        END {
            columns = n < 5 ? n : 5; lines = int((n + columns - 1) / columns)
            printf "set terminal svg size %d,%d font \"sans,10\" background \"white\"\n", 220 * columns, 160 * lines + 40
            printf "set output \"%s\"\n", picture
            printf "set multiplot layout %d,%d title \"%s: actual (gray) and by the model (orange), ms\" noenhanced\n", \
                lines, columns, title
            print "set style data histogram\nset style fill solid 1 noborder"
            print "set border 3\nset tics nomirror\nunset key"
            printf "set logscale y\nset yrange [%g:%g]\n", least / 1500, most / 800
            print "set ytics (0.1, 1, 10, 100)"
            for (i = 1; i <= n; i++) {
                printf "set title \"%s\" noenhanced\n$d%d << EOD\n%sEOD\n", order[i], i, rows[order[i]]
                printf "plot $d%d using 2:xtic(1) lc rgb \"#8fa3b3\", \"\" using 3 lc rgb \"#f2b134\"\n", i
            }
            print "unset multiplot" }' "$1" | gnuplot
}

# The estimate and the actual time of 4 MiB by each algorithm between nodes and
# each segment, with one leader.
figure()
{
    local coll=$1 file=$out/model-$1
    # shellcheck disable=SC2086 # words
    search "$coll" "actual-$coll" --sizes 4M --plans han:1/ $all >/dev/null
    rm -f "$file.csv" # made of the times, which stay
    # shellcheck disable=SC2086
    search "$coll" "model-$coll" --sizes 4M --plans han:1/ ${all#--exhaustive} \
        --csv "$file.csv" >/dev/null
    awk -F, 'NR > 1 && $7 > 0 && $8 > 0 {
        e = $7 / $8 - 1; e = e < 0 ? -e : e; sum += e; error[++n] = e
        if (best == 0 || $8 < best) { best = $8; fastest = $5 " " $6 }
        if (model == 0 || $7 < model) { model = $7; chosen = $8; name = $5 " " $6 } }
        END {
            for (i = 2; i <= n; i++)
                for (j = i; j > 1 && error[j] < error[j - 1]; j--) {
                    t = error[j]; error[j] = error[j - 1]; error[j - 1] = t }
            printf "%s: %d plans, the error is %.1f %% on average, %.1f %% in the middle; " \
            "the model takes %s, %.3f of the best (%s)\n", "'"$coll"'", n, 100 * sum / n,
            50 * (error[int((n + 1) / 2)] + error[int(n / 2) + 1]), name, chosen / best, fastest }' "$file.csv"
    if command -v gnuplot >/dev/null; then
        panels "$file.csv" "$file.svg"
        echo "$file.svg"
    fi
}

# "BYTES US" for each size of a table: the plan that was chosen.
choices()
{
    grep -o '"us": \[\[.*\]\], "origin"' "$1" |
        grep -oE '\["?[0-9]+[KMG]?"?, [0-9.]+' | tr -d '[",' | sort -u
}

# What each strategy costs, and how far from the best its choices are. What one
# has measured the next one takes from there, at the price it had.
strategies()
{
    local coll=$1 strategy file text
    for strategy in "$all" "--exhaustive --heuristics" "" "--heuristics"; do
        file=$coll${strategy:+-}${strategy//[ -]/}
        # shellcheck disable=SC2086
        text=$(search "$coll" "$file" --sizes "$sizes" $strategy)
        [[ -n ${reference:-} ]] || reference=$file
        choices "$out/$file.json" >"$out/$file.choices"
        awk -v what="$coll ${strategy:-the model}" -v best="$out/$reference.choices" \
            -v cost="$(sed -n 's/^the search cost \([0-9.e+-]*\) s.*/\1/p' <<<"$text")" \
            -v dear="$out/$reference.cost" '
            BEGIN {
                while ((getline line < best) > 0) { split(line, w, " "); least[w[1]] = w[2] }
                if ((getline all < dear) <= 0) { all = cost; print cost >dear } }
            { r = $2 / least[$1]; n++; near += r <= 1.05; worst = r > worst ? r : worst }
            END { printf "%-34s %5.1f %% of the cost; %d of %d sizes within 5 %%, worst %.3f\n",
                what, 100 * cost / all, near, n, worst }' "$out/$file.choices"
    done
    unset reference
}

# ---- the rules for several nodes ----
#
# Searches on each team by itself, then times every plan that is among the fastest of one on
# all with as many nodes, tries the four that are the fastest on all of them in a row and
# under noise, makes rules of those that hold, and leaves what the check between the sizes
# confirms. Each of these takes its share of --seconds; what has not begun by then is left out.

# until_now PERCENT: seconds of the epoch; may_begin: whether they are to come.
until_now()
{
    echo $((began + seconds * $1 / 100))
}

may_begin()
{
    (($(date +%s) < stop))
}

# search_team MACHINE NODES PPN COLL
search_team()
{
    may_begin || return 0
    timeout $((stop - $(date +%s))) "$tune" --simulate "$1" -N "$2" -p "$3" -c "$4" \
        --sizes "$sizes" --heuristics --all -q --minutes 6000 \
        -o "$out/$1-$4-$2-$3.json" >/dev/null
}

# simulate MACHINE NODES PPN COLL BYTES OPTION...: the fields of the last line that
# xylem-sim writes, one after the other.
simulate()
{
    local csv
    csv=$(mktemp)
    "$sim" -m "$1" -N "$2" -p "$3" -c "$4" -s "$5" "${@:6}" --impl xylem -q \
        --no-wall --csv "$csv" >/dev/null 2>&1 &&
        sed 's/"[^"]*"/noise/' "$csv"
    rm -f "$csv"
}

# time_plan MACHINE COLL NODES PPN BYTES PLAN SEGMENT SEND RECV: that, and the time of
# one call.
time_plan()
{
    local options=() us
    may_begin || return 0
    (($7 == 0)) || options=(--segment "$7" --window "$8,$9")
    us=$(XYLEM_TUNING=none simulate "$1" "$3" "$4" "$2" "$5" -i 1 --warmup 0 \
        --algorithm "$6" "${options[@]}" | awk -F, 'NR == 2 { print $14 }')
    [[ -z $us ]] || echo "$* $us"
}

# known_times: the same lines, of all that searches have timed.
known_times()
{
    local file machine
    for file in "$out"/*-*-*-*.json.times; do
        machine=${file##*/}
        awk -v machine="${machine%%-*}" '!/^#/ && $5 !~ /^turns/ {
            print machine, $1, $2, $3, $4, $5, $6, $7, $8, $9 }' "$file"
    done
    [[ ! -f $out/crossed ]] || cat "$out/crossed"
}

# crosswise: what is left to time of the three fastest plans of each team.
crosswise()
{
    awk '{
        key = $2 " " $3 " " $5; cell = $1 " " $4; plan = $6 " " $7 " " $8 " " $9
        us[key, cell, plan] = $10; cells[key, cell] = 1
        if ($6 != "auto") list[key, cell] = list[key, cell] "\n" $10 " " plan
    } END {
        for (both in cells) {
            split(both, part, SUBSEP)
            n = split(list[both], line, "\n")
            for (k = 0; k < 3; k++) {
                best = 0
                for (i = 2; i <= n; i++)
                    if (line[i] != "" && (!best || line[i] + 0 < line[best] + 0)) best = i
                if (!best) break
                plan = line[best]; sub(/^[^ ]* /, "", plan); line[best] = ""
                wanted[part[1], plan] = 1
            }
        }
        for (pair in wanted) {
            split(pair, want, SUBSEP)
            for (both in cells) {
                split(both, part, SUBSEP)
                if (part[1] != want[1] || (part[1], part[2], want[2]) in us) continue
                split(part[1], what, " "); split(part[2], team, " ")
                print team[1], what[1], what[2], team[2], what[3], want[2]
            }
        } }' | sort -k3,3n -k4,4n -k5,5n
}

# fastest: "COLL NODES BYTES PLAN SEGMENT SEND RECV RATIO": the four plans that take the
# least, of the time of what the library takes, where that is 3 % less on all teams of these
# nodes and never 5 % more.
fastest()
{
    awk '{
        key = $2 " " $3 " " $5; cell = $1 " " $4; plan = $6 " " $7 " " $8 " " $9
        us[key, cell, plan] = $10; plans[key, plan] = 1
        if ($6 == "auto") { own[key, cell] = $10; cells[key] = cells[key] "\n" cell }
    } END {
        for (pair in plans) {
            split(pair, part, SUBSEP)
            sum = 0; good = part[2] !~ /^auto/
            m = split(cells[part[1]], each, "\n")
            for (i = 2; i <= m && good; i++) {
                good = (part[1], each[i], part[2]) in us
                ratio = good ? us[part[1], each[i], part[2]] / own[part[1], each[i]] : 2
                good = good && ratio <= 1.05; sum += good ? log(ratio) : 0
            }
            if (good && m >= 2 && exp(sum / (m - 1)) <= 0.97)
                printf "%s %s %.4f\n", part[1], part[2], exp(sum / (m - 1))
        } }' | sort -k1,1 -k2,2n -k3,3n -k8,8n |
        awk '{ key = $1 " " $2 " " $3 } count[key]++ < 4'
}

# try_plan MACHINE COLL NODES PPN BYTES PLAN SEGMENT SEND RECV: that, and the time of calls
# in a row and under noise.
try_plan()
{
    local options=() us
    may_begin || return 0
    (($7 == 0)) || options=(--segment "$7" --window "$8,$9")
    [[ $6 == auto ]] || options+=(--algorithm "$6")
    us=$(XYLEM_TUNING=none in_a_row "$1" "$3" "$4" "$2" "$5" "${options[@]}")
    [[ $us != *' '* ]] || echo "$* $us"
}

# in_a_row MACHINE NODES PPN COLL BYTES OPTION...: the mean of the ranks of the time of such
# calls, and under noise.
in_a_row()
{
    simulate "$@" -i "$(awk "BEGIN { n = int(5e7 / ($5 + 65536)); print (n > 800 ? 800 : n < 24 ? 24 : n) }")" \
        --noise uniform:10Hz,0-20ms | awk -F, 'NR > 1 { print $13 }' | xargs
}

# trials: the lines that try_plan wants, of all fastest plans on all of these machines.
trials()
{
    awk -v teams="$(teams | xargs)" '
        BEGIN { n = split(teams, team, " ") }
        { for (i = 1; i <= n; i += 4)
            if (team[i + 1] == $2 && team[i + 3] == $1) {
                print team[i], $1, $2, team[i + 2], $3, $4, $5, $6, $7
                print team[i], $1, $2, team[i + 2], $3, "auto", 0, 0, 0 } }' "$out/fastest" |
        sort -u -k3,3n -k4,4n -k1,9
}

# chosen: of each four the fastest that takes no longer than what the library takes in a
# row, and under noise.
chosen()
{
    awk 'FNR == NR {
        key = $2 " " $3 " " $5 " " $6 " " $7 " " $8 " " $9; cell = $1 " " $4
        row[key, cell] = $10; noise[key, cell] = $11; cells[key] = cells[key] "\n" cell
        next
    } {
        key = $1 " " $2 " " $3 " " $4 " " $5 " " $6 " " $7; own = $1 " " $2 " " $3 " auto 0 0 0"
        n = split(cells[key], each, "\n"); a = b = 0
        for (i = 2; i <= n; i++) {
            if (!((own, each[i]) in row)) { n = 0; break }
            a += log(row[key, each[i]] / row[own, each[i]])
            b += log(noise[key, each[i]] / noise[own, each[i]]) }
        if (n >= 2 && a <= 0 && b <= 0 && !(($1, $2, $3) in done)) { done[$1, $2, $3] = 1; print }
    }' "$out/tried" "$out/fastest"
}

# rules_of: a rule for each range of sizes with one plan, between the middles to its
# neighbours, of nodes and of bytes.
rules_of()
{
    # shellcheck disable=SC2086 # words
    awk -v origin="$1" -v sizes="$(numfmt --from=iec ${sizes//,/ } | xargs)" -v nodes="${nodes//,/ }" '
        function middle(a, b) { return int(sqrt(a * b)) }
        function range(list, value, last,  v, n, i, low, high) {
            n = split(list, v, " ")
            for (i = 1; i <= n; i++) if (v[i] == value) low = i
            for (i = low; i <= n; i++) if (v[i] == last) high = i
            return (low > 1 ? middle(v[low - 1], v[low]) + 1 : v[low]) ", " \
                middle(v[high], high < n ? v[high + 1] : 2 * v[high]) }
        function next_of(value,  v, n, i) {
            n = split(sizes, v, " ")
            for (i = 1; i < n; i++) if (v[i] == value) return v[i + 1]
            return -1 }
        function put(  use, a, n, i, part) {
            if (coll == "") return
            use = "\"use\": \"" plan "\""
            if (split(plan, a, "[:/]") == 3 || plan ~ /^han.*\/.*:/)
                use = "\"use\": \"han\", \"leaders\": " a[2] ", \"between\": \"" substr(plan, index(plan, "/") + 1) "\""
            if (plan ~ /=/) { # parts by name
                use = "\"use\": \"han\""
                n = split(substr(plan, index(plan, ":") + 1), a, ",")
                for (i = 1; i <= n; i++) {
                    split(a[i], part, "=")
                    use = use ", \"" part[1] "\": " (part[1] == "leaders" ? part[2] : "\"" part[2] "\"")
                }
            }
            if (segment > 0)
                use = use ", \"segment\": " segment ", \"windows\": [" send ", " recv "]"
            printf "%s{\"for\": \"%s\", \"nodes\": [%s], \"bytes\": [%s], \"pays\": [{\"when\": [\"shared\"]}], %s, \"origin\": \"%s\"}", \
                (count++ ? ",\n" : ""), coll, range(nodes, number, number), range(sizes, first, last), use, origin }
        BEGIN { print "{\"rules\": [" }
        {
            same = $1 == coll && $2 == number && $4 == plan && $5 == segment && next_of(last) == $3
            if (!same) { put(); coll = $1; number = $2; first = $3; plan = $4
                segment = $5; send = $6; recv = $7 }
            last = $3
        }
        END { put(); print "\n]}" }'
}

# check_case MACHINE NODES PPN COLL BYTES: the rule that is taken, and of one call alone
# (its last rank), of calls in a row and of those under noise (means of the ranks) the times
# without the rules and with them.
check_case()
{
    local table rule times=()
    may_begin || return 0
    for table in none "$rules"; do
        export XYLEM_TUNING=$table
        times+=("$(simulate "$@" -i 1 --warmup 0 | awk -F, 'NR == 2 { print $14 }')"
            "$(in_a_row "$@")")
    done
    rule=$(XYLEM_VERBOSE=select "$sim" -m "$1" -N "$2" -p "$3" -c "$4" -s "$5" -i 1 --warmup 0 \
        --impl xylem -q --no-wall 2>&1 |
        sed -n "s|.*select: $4 of .*(rule \([0-9]*\) of $rules.*|\1|p" | head -n 1)
    [[ -z $rule ]] || echo "$4 $2 $3 $5 $1 $rule ${times[*]}"
}

# verdicts: "RULE keep|drop ..." for each rule that has been checked.
verdicts()
{
    awk 'NF == 12 {
        n[$6]++
        for (i = 0; i < 3; i++) {
            ratio = $(10 + i) / $(7 + i); sum[$6, i] += log(ratio)
            if (ratio > worst[$6, i]) worst[$6, i] = ratio }
        where[$6] = $1 " on " $2 " nodes"
    } END {
        for (rule in n) {
            for (i = 0; i < 3; i++) mean[i] = exp(sum[rule, i] / n[rule])
            keep = mean[0] <= 0.97 && mean[1] <= 1 && mean[2] <= 1
            printf "%d %s %s: %d cases, alone %.3f (worst %.2f), in a row %.3f (%.2f), under noise %.3f (%.2f)\n", \
                rule, keep ? "keep" : "drop", where[rule], n[rule], mean[0], worst[rule, 0], \
                mean[1], worst[rule, 1], mean[2], worst[rule, 2] } }' | sort -n
}

# run_each FUNCTION: for each line of words, as many at a time as --jobs says.
run_each()
{
    # shellcheck disable=SC2016 # expanded by the shells that run them
    xargs -r -P "$jobs" -L 1 bash -c "$1"' "$@"' _
}

# between LIST: these sizes, and the middles between them.
between()
{
    # shellcheck disable=SC2086 # words
    numfmt --from=iec ${1//,/ } | awk 'NR > 1 { print int(sqrt(last * $1) / 4) * 4 } { print; last = $1 }'
}

# teams OF COLL...: a line "MACHINE NODES PPN COLL" for each team that fits, small ones first.
teams()
{
    local of n p coll
    for of in ${machines//,/ }; do
        for n in ${nodes//,/ }; do
            for p in ${ppn//,/ }; do
                [[ $of != tcp ]] || ((p <= 8)) || continue
                for coll in ${colls//,/ }; do
                    echo "$of $n $p $coll"
                done
            done
        done
    done | sort -k2,2n -k3,3n
}

table()
{
    local machines=${machine:-stampede2,shaheen2,tcp} nodes=${nodes:-2,4,8,16,32,64,128}
    local ppn=${ppn:-8,32} colls=${colls:-bcast,reduce,allreduce}
    local sizes=${sizes:-2K,8K,32K,128K,512K,2M} began rules stop
    began=$(date +%s) rules=$(realpath "$out")/rules.json
    export -f may_begin search_team simulate time_plan in_a_row try_plan check_case
    export out tune sim sizes rules stop
    stop=$(until_now 40)
    teams | run_each search_team
    stop=$(until_now 50)
    rm -f "$out/crossed"
    known_times >"$out/known"
    crosswise <"$out/known" | run_each time_plan >"$out/crossed.new"
    mv "$out/crossed.new" "$out/crossed"
    known_times | fastest >"$out/fastest"
    stop=$(until_now 75)
    trials | run_each try_plan >"$out/tried"
    chosen | tee "$out/chosen" |
        rules_of "simulated on $machines by bench/studies/tune.sh, $(date +"%b %Y")" >"$rules"
    "$tune" check "$rules" || return
    stop=$(until_now 100)
    between "$sizes" >"$out/between"
    teams | while read -r of n p coll; do
        sed "s/^/$of $n $p $coll /" "$out/between"
    done | awk -v chosen="$out/chosen" '
        BEGIN { while ((getline line < chosen) > 0) { split(line, w, " "); has[w[1], w[2]] = 1 } }
        ($4, $2) in has' | run_each check_case >"$out/checked"
    verdicts <"$out/checked" | tee "$out/verdicts"
    awk 'FNR == NR { if ($2 == "keep") keep[$1] = 1; next }
        /^\{"for"/ { if ((rule++) in keep) { sub(/,$/, ""); kept[++n] = $0 } }
        END { print "{\"rules\": ["; for (i = 1; i <= n; i++) print kept[i] (i < n ? "," : "")
            print "]}" }' "$out/verdicts" "$rules" >"$out/table.json"
    "$tune" check "$out/table.json"
}

if has_part table; then table; fi
: "${machine:=nacl}" "${nodes:=64}" "${ppn:=12}" "${colls:=bcast,allreduce}"
: "${sizes:=4K,16K,64K,256K,1M,4M}"
for coll in ${colls//,/ }; do
    if has_part figures; then figure "$coll"; fi
    if has_part strategies; then strategies "$coll"; fi
done
