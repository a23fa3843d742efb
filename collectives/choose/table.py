#!/usr/bin/env python3
"""Prints the rules of a table of JSON as rows of C, xyl_rules_builtin.

What is wrong with a table collectives/choose/table_file.c says; a test compares
what that reads with these rows.
"""

import json
import sys

UNITS = {"K": 10, "M": 20, "G": 30, "T": 40}
TEAMS = ["node", "nodes", "seats", "leaders", "board"]
FACTS = ["shared", "switches", "many nodes", "room", "memory", "device",
         "any order", "host", "fixed order", "same bits", "unasked",
         "side by side", "in turns"]
ARRIVALS = ["synchronised", "random", "late"]


def number(value):
    if isinstance(value, int):
        return value
    if value[-1] in UNITS:
        return int(value[:-1]) << UNITS[value[-1]]
    return int(value)


def bits(words, known):
    return sum(1 << known.index(word) for word in words)


def named(text):
    name, _, radix = text.partition(":")
    return f'"{name}"', radix


def listed(value):
    return value if isinstance(value, list) else [value]


def colls(value):
    if value == "all":
        return "(1u << XYLEM_COLL_COUNT) - 1"
    return " | ".join(f"XYL_COLL_BIT({name.upper()})" for name in listed(value))


def spread(value):
    least, most = value if isinstance(value, list) else (0, value)
    return number(least), number(most)


def pays(cases):
    for case in cases:
        yield "{%d, %s, %s}" % (
            bits(case.get("when", []), FACTS),
            case.get("node_ranks", "UINT32_MAX"),
            number(case["node_bytes"]) if "node_bytes" in case else "UINT64_MAX",
        )


def members(rule, origins):
    yield "colls", colls(rule["for"])
    yield "teams", bits(listed(rule["team"]), TEAMS) if "team" in rule else "XYL_TEAM_ANY"
    for key in "ranks", "nodes", "node_ranks":
        least, most = spread(rule[key]) if key in rule else (0, "UINT32_MAX")
        yield key, "{%s, %s}" % (least, most)
    yield "power_of_two", int("ranks_are" in rule)
    if "arrivals" in rule:
        yield "arrivals", bits(listed(rule["arrivals"]), ARRIVALS)
    for key in "bytes", "total":
        least, most = spread(rule[key]) if key in rule else (0, "UINT64_MAX")
        yield key + "_min", least
        yield key + "_max", most
    if "pays" in rule:
        yield "pays_count", len(rule["pays"])
        yield "pays", "{%s}" % ", ".join(pays(rule["pays"]))
    name, radix = named(rule["use"])
    yield "algorithm", name
    yield "radix", radix or rule.get("leaders", 0)
    if "between" in rule:
        name, radix = named(rule["between"])
        yield "between", name
        yield "between_radix", radix or 0
    if "within" in rule:
        name, radix = named(rule["within"])
        yield "within", name
        yield "within_radix", radix or 0
    if "within_segment" in rule:
        yield "within_segment_bytes", number(rule["within_segment"])
    yield "segment_bytes", number(rule.get("segment", 0))
    send, recv = rule.get("windows", (0, 0))
    yield "send_window", send
    yield "recv_window", recv
    yield "origin", json.dumps(origins.get(rule["origin"], rule["origin"]))


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        table = json.load(file)
    print('#include "collectives/choose/tuning.h"\n')
    print("static const xyl_rule_t rules[] = {")
    for rule in table["rules"]:
        row = members(rule, table["origins"])
        print("    {%s}," % ", ".join(f".{key} = {value}" for key, value in row))
    print("};\n")
    print("const xyl_rules_t xyl_rules_builtin = {")
    print('    "the built-in table", rules, sizeof rules / sizeof *rules')
    print("};\n")
    print("const xyl_limits_t xyl_limits_builtin = {")
    for name, limit in table["limits"].items():
        print(f"    .{name} = {number(limit['value'])},")
    print("};")


if __name__ == "__main__":
    main()
