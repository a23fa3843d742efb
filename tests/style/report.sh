#!/bin/bash
# tests/report.py counts what meson test records as it says.
# shellcheck source=tests/style/common.sh
. "$(dirname "$0")/common.sh"

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

# counts WANTED PROTOCOL RESULT OUTPUT: passed, failed and skipped of one record.
counts()
{
    local got

    mkdir -p "$folder/meson-info"
    printf '[{"name": "one", "protocol": "%s"}]' "$2" \
        >"$folder/meson-info/intro-tests.json"
    printf '{"name": "xylem:it / one", "result": "%s", "stdout": "%s"}' \
        "$3" "$4" >"$folder/log"
    got=$(python3 tests/report.py "$folder" "$folder/log" 2>/dev/null)
    [[ $got == $'it\t'${1// /$'\t'} ]] ||
        finding "tests/report.py: $2, $3, '$4' is not $1 but ${got#it?}"
}

# shows LINE OUTPUT: a line of what a failed program wrote.
shows()
{
    printf '{"name": "xylem:it / one", "result": "FAIL", "stdout": "%s"}' \
        "$2" >"$folder/log"
    python3 tests/report.py "$folder" "$folder/log" 2>&1 >/dev/null |
        grep -Fqx "    $1" || finding "tests/report.py: does not show '$1'"
}

counts '1 0 0' exitcode OK ''
counts '0 1 0' exitcode FAIL ''
counts '0 0 1' exitcode SKIP ''
counts '1 1 1' tap FAIL 'ok 1 - a\nnot ok 2 - b\nok 3 - c # SKIP d\n1..3'
counts '0 0 1' tap SKIP '1..0 # SKIP nothing to run it with'
counts '1 1 0' tap ERROR 'ok 1 - a\n1..1'
counts '0 1 0' tap TIMEOUT ''
counts '0 1 0' tap OK ''

many=$(printf 'ok - a\\n%.0s' {1..50})
shows 'not ok 51 - in the middle' "${many}not ok 51 - in the middle\\n$many"
shows '# because' "${many}not ok 51 - in the middle\\n# because\\n$many"
shows '... 40 lines left out ...' "$many$many"
finish
