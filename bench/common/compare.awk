# The tables of compare.sh. Input: lines "implementation collective bytes round
# microseconds overlap"; the variable `impls` is the list of implementations.
function median(list, n, values, i, j, v) {
    n = split(list, values, " ")
    for (i = 2; i <= n; i++) {
        v = values[i] + 0
        for (j = i - 1; j >= 1 && values[j] + 0 > v; j--)
            values[j + 1] = values[j]
        values[j + 1] = v
    }
    return n % 2 ? values[(n + 1) / 2] : (values[n / 2] + values[n / 2 + 1]) / 2
}
# xylem itself, not what it is compared with.
function is_own(name) { return name ~ /^(xylem$|xylem-)/ }
function is_peer(name) { return !is_own(name) && name !~ /^(waitall|blocking)$/ }
# Counts a ratio in one of the columns of the last table.
function add(row, group, ratio, bytes, key) {
    key = row " " group
    sum[key] += log(ratio); number[key]++
    if (ratio > worst[key]) { worst[key] = ratio; where[key] = bytes }
}
function show(coll, bytes, key, i, us, best, peer, line) {
    key = coll " " bytes
    best = 0
    line = sprintf("%10d", bytes)
    for (i = 1; i <= count; i++) {
        us[i] = (name[i], key) in times ? median(times[name[i], key]) : 0
        line = line (us[i] ? sprintf(" %13.2f", us[i]) : sprintf(" %13s", "-"))
        if (us[i] && is_peer(name[i]) && (!best || us[i] < best)) {
            best = us[i]
            peer = name[i]
        }
    }
    for (i = 1; i <= count; i++) {
        if (!is_own(name[i]) || !us[i]) continue
        if (name[i] != "xylem" && us[first] && name[first] == "xylem" && bytes < 65536)
            more[name[i]] = more[name[i]] " " us[i] - us[first]
        if (!best) continue
        if (i == first) line = line sprintf(" %7.2f  %s", us[i] / best, peer)
        add(coll " " name[i], bytes < 65536 ? "small" : "large", us[i] / best, bytes)
        add(coll " " name[i], "all", us[i] / best, bytes)
    }
    print line
}
# The share of a call that computing hides, per cent.
function overlap_table(coll, line, i, j, n, sizes, key) {
    if (!(coll in overlaps)) return
    line = sprintf("\n%s, overlap in per cent\n%10s", coll, coll == "barrier" ? "-" : "bytes")
    for (i = 1; i <= count; i++) line = line sprintf(" %13s", name[i])
    print line
    n = split(order[coll], sizes, " ")
    for (j = 1; j <= n; j++) {
        key = coll " " sizes[j]
        line = sprintf("%10d", sizes[j])
        for (i = 1; i <= count; i++)
            line = line ((name[i], key) in overlap \
                ? sprintf(" %13.1f", median(overlap[name[i], key])) : sprintf(" %13s", "-"))
        print line
    }
}
function table(coll, line, i, n, sizes) {
    line = sprintf("\n%s\n%10s", coll, coll == "barrier" ? "-" : "bytes")
    for (i = 1; i <= count; i++) line = line sprintf(" %13s", name[i])
    print line sprintf(" %7s  %s", "ratio", "to")
    n = split(order[coll], sizes, " ")
    for (i = 1; i <= n; i++) show(coll, sizes[i])
}
function cells(key) {
    return key in sum ? sprintf(" %8.2f %7.2f", exp(sum[key] / number[key]),
        worst[key]) : sprintf(" %8s %7s", "-", "-")
}
# One row for each of xylem in the list has the mean of all collectives.
function total(own, i, key, sum_, rows, highest) {
    for (i = 1; i <= colls; i++) {
        key = coll[i] " " own " all"
        if (!(key in sum)) continue
        sum_ += sum[key] / number[key]; rows++
        if (worst[key] > highest) highest = worst[key]
    }
    if (rows) printf "%-34s%34s %8.2f %7.2f\n", "all collectives, " own, "",
        exp(sum_ / rows), highest
}
BEGIN {
    count = split(impls, name, ",")
    for (i = count; i >= 1; i--) if (is_own(name[i])) first = i
    for (i = 1; i <= count; i++) if (name[i] == "xylem") first = i
}
{
    key = $2 " " $3
    if (!($2 in order)) coll[++colls] = $2
    if (!(key in seen)) { seen[key] = 1; order[$2] = order[$2] " " $3 }
    times[$1, key] = times[$1, key] " " $5
    if ($6 != "-") {
        overlaps[$2] = 1
        overlap[$1, key] = overlap[$1, key] " " $6
    }
}
END {
    for (i = 1; i <= colls; i++) {
        table(coll[i])
        overlap_table(coll[i])
    }
    printf "\nratios: geometric mean and worst\n"
    printf "%-34s %16s %16s %16s %10s\n", "", "below 64K", "from 64K on", "all",
        "worst at"
    for (i = 1; i <= colls; i++)
        for (n = 1; n <= count; n++) {
            if (!is_own(name[n])) continue
            row = coll[i] " " name[n]
            key = row " all"
            printf "%-34s%s%s%s %10s\n", row, cells(row " small"),
                cells(row " large"), cells(key),
                key in where ? where[key] : "-"
        }
    for (n = 1; n <= count; n++) if (is_own(name[n])) total(name[n])
    for (n = 1; n <= count; n++)
        if (name[n] in more)
            printf "%s - xylem, below 64K: median %.2f us\n", name[n],
                median(more[name[n]])
}
