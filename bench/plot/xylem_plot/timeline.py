"""Records of a run, in the format of Chrome's and Perfetto's viewers, as
xylem-sim --trace and XYLEM_TRACE write it."""

import json
from dataclasses import dataclass


@dataclass
class Trace:
    ranks: list  # in order
    spans: list  # (rank, what, begin, length), microseconds
    end_us: float


def rank_of(name):
    words = name.split()
    return int(words[1]) if len(words) > 1 and words[0] == "rank" and \
        words[1].isdigit() else None


def read(path):
    with open(path, encoding="utf-8") as file:
        content = json.load(file)
    events = content if isinstance(content, list) else content["traceEvents"]
    rank = {}
    for event in events:
        if event.get("ph") == "M" and event.get("name") == "thread_name":
            found = rank_of(event["args"]["name"])
            if found is not None:
                rank[event.get("pid"), event.get("tid")] = found
    spans, begun = [], {}
    for event in events:
        where = event.get("pid"), event.get("tid")
        if where not in rank:
            continue
        kind = event.get("ph")
        if kind == "X":
            spans.append((rank[where], event["name"], float(event["ts"]),
                          float(event.get("dur", 0))))
        elif kind == "B":
            begun.setdefault(where, []).append((event["name"],
                                                float(event["ts"])))
        elif kind == "E" and begun.get(where):
            name, begin = begun[where].pop()
            spans.append((rank[where], name, begin,
                          float(event["ts"]) - begin))
    begin = min((span[2] for span in spans), default=0)
    spans = [(r, what, at - begin, length) for r, what, at, length in spans]
    end = max((at + length for _, _, at, length in spans), default=1)
    return Trace(sorted(set(rank.values())), spans, end)
