"""Records of a run, in the format of Chrome's and Perfetto's viewers, as
xylem-sim --trace and XYLEM_TRACE write it."""

import json
from dataclasses import dataclass

from . import data as d


@dataclass
class Trace:
    ranks: list  # in order
    spans: list  # (rank, what, begin, length), microseconds
    operations: list  # the same; several of a rank may overlap
    end_us: float
    what: str  # in words


def rank_of(name):
    words = name.split()
    return int(words[1]) if len(words) > 1 and words[0] == "rank" and \
        words[1].isdigit() else None


def ranks_of(events):
    """(process, thread) -> rank."""
    rank = {}
    for event in events:
        if event.get("ph") == "M" and event.get("name") == "thread_name":
            found = rank_of(event["args"]["name"])
            if found is not None:
                rank[event.get("pid"), event.get("tid")] = found
    return rank


def spans_of(events, rank):
    """What one thread does: whole, or from a begin to the next end."""
    begun = {}
    for event in events:
        where = event.get("pid"), event.get("tid")
        if where not in rank:
            continue
        kind = event.get("ph")
        if kind == "X":
            yield (rank[where], event["name"], float(event["ts"]),
                   float(event.get("dur", 0)))
        elif kind == "B":
            begun.setdefault(where, []).append((event["name"],
                                                float(event["ts"])))
        elif kind == "E" and begun.get(where):
            name, begin = begun[where].pop()
            yield rank[where], name, begin, float(event["ts"]) - begin


def operations_of(events, rank):
    """From a begin to the end with the same number."""
    begun = {}
    for event in events:
        where = event.get("pid"), event.get("tid")
        if where not in rank:
            continue
        key = where, event.get("id")
        if event.get("ph") == "b":
            begun[key] = event["name"], float(event["ts"])
        elif event.get("ph") == "e" and key in begun:
            name, begin = begun.pop(key)
            yield rank[where], name, begin, float(event["ts"]) - begin


def cut(spans, first, last):
    """What of them lies between two times, from the first on."""
    out = []
    for rank, what, begin, length in spans:
        end = min(begin + length, last)
        begin = max(begin, first)
        if end > begin or (length == 0 and first <= begin <= last):
            out.append((rank, what, begin - first, max(0.0, end - begin)))
    return out


def what_of(events, ranks, operations):
    """What a record is of: what it says itself, or its operations."""
    label = next((event["args"].get("labels", "") for event in events
                  if event.get("name") == "process_labels"), "")
    label = label.replace(f" by {d.OURS_BEFORE},", f" by {d.OURS},")
    names = list(dict.fromkeys(name for _, name, _, _ in operations))
    if len(names) > 4:
        names = names[:3] + [f"{len(names) - 3} others"]
    if not names:
        return label or d.text_of_count(ranks, "rank")
    simulated = ", simulated" if label.startswith("simulated") else ""
    return f"{', '.join(names)} on {d.text_of_count(ranks, 'rank')}{simulated}"


def read(path, between_us=None):
    """All of it; between_us: (first, last) of it, as the picture counts."""
    with open(path, encoding="utf-8") as file:
        content = json.load(file)
    events = content if isinstance(content, list) else content["traceEvents"]
    rank = ranks_of(events)
    spans = list(spans_of(events, rank))
    operations = list(operations_of(events, rank))
    # Before the first operation and after the last one nobody communicates.
    shown = operations or spans
    first = min((span[2] for span in shown), default=0)
    last = max((span[2] + span[3] for span in shown), default=first + 1)
    if between_us is not None:
        first, last = first + between_us[0], min(last, first + between_us[1])
    ranks = sorted(set(rank.values()))
    return Trace(ranks, cut(spans, first, last), cut(operations, first, last),
                 max(last - first, 1e-3),
                 what_of(events, len(ranks), operations))
