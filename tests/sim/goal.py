"""xylem-sim --goal: reads the schedules back, plays them, and compares their
messages with those of the simulation. Argument: xylem-sim."""

import csv
import os
import re
import subprocess
import sys
import tempfile
import unittest
from collections import Counter, deque

SIM = sys.argv.pop(1)
LINE = re.compile(r"l(\d+): (?:calc (\d+)"
                  r"|(send|recv) (\d+)b (to|from) (\d+) tag (\d+))$")
EDGE = re.compile(r"l(\d+) requires l(\d+)$")
SIZE = 65536
# Every algorithm of these that is a schedule or a single tree.
COLLS = ["barrier", "bcast", "reduce", "allreduce", "gather", "scatter",
         "allgather", "alltoall", "reduce_scatter_block", "scan", "exscan"]


class Rank:
    def __init__(self):
        self.actions = {}  # number -> (kind, peer, tag, bytes)
        self.waits = Counter()
        self.before = {}


def parse(path):
    with open(path, encoding="ascii") as file:
        lines = file.read().splitlines()
    head = re.match(r"num_ranks (\d+)$", lines[0])
    ranks, rank = [], None
    for line in filter(None, lines[1:]):
        if line == f"rank {len(ranks)} {{":
            rank = Rank()
            ranks.append(rank)
        elif line == "}":
            rank = None
        elif LINE.match(line):
            number, work, kind, size, word, peer, tag = LINE.match(line).groups()
            assert int(number) not in rank.actions
            assert (kind, word) in ((None, None), ("send", "to"),
                                    ("recv", "from"))
            rank.actions[int(number)] = ("calc", None, None, int(work)) \
                if kind is None else (kind, int(peer), int(tag), int(size))
        else:
            later, sooner = map(int, EDGE.match(line).groups())
            assert later in rank.actions and sooner in rank.actions
            rank.before.setdefault(sooner, []).append(later)
            rank.waits[later] += 1
    assert len(ranks) == int(head[1])
    return ranks


def play(ranks):
    """Everything that can happen does. Returns (actions left over, messages,
    their bytes); raises where a message fits no receive."""
    ready = deque((r, a) for r, rank in enumerate(ranks) for a in rank.actions
                  if rank.waits[a] == 0)
    sent, posted = {}, {}
    left = sum(len(rank.actions) for rank in ranks)
    messages = total = 0

    def finish(r, action):
        nonlocal left
        left -= 1
        for later in ranks[r].before.get(action, ()):
            ranks[r].waits[later] -= 1
            if ranks[r].waits[later] == 0:
                ready.append((r, later))

    while ready:
        r, action = ready.popleft()
        kind, peer, tag, size = ranks[r].actions[action]
        if kind == "send":
            messages, total = messages + 1, total + size
            sent.setdefault((r, peer, tag), deque()).append(size)
            finish(r, action)
            way = (r, peer, tag)
        elif kind == "recv":
            posted.setdefault((peer, r, tag), deque()).append((action, size))
            way = (peer, r, tag)
        else:
            finish(r, action)
            continue
        if sent.get(way) and posted.get(way):
            size = sent[way].popleft()
            action, room = posted[way].popleft()
            assert size == room, f"{way}: {size} bytes into {room}"
            finish(way[1], action)
    return left, messages, total


class Goal(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.runs = 0

    def path(self, name):
        return os.path.join(self.folder.name, name)

    def run_sim(self, *options):
        return subprocess.run([SIM, "-q", "--no-wall", *options], text=True,
                              capture_output=True, timeout=600)

    def algorithms(self, coll):
        out = self.run_sim("-c", coll, "--algorithm", "list").stdout
        for name, is_tree in re.findall(r"^  ([a-z_]+)\S* +(tree:)?", out, re.M):
            yield name, ("--segment", "4096") if is_tree else ()

    def written(self, coll, algorithm, nodes, *options):
        """The ranks, or None where the program says why there are none."""
        done = self.run_sim("-N", str(nodes), "-p", "2", "-c", coll, "-s",
                            str(SIZE), "--algorithm", algorithm, "--goal",
                            self.path("goal"), *options)
        if done.returncode != 0:
            self.assertRegex(done.stderr, "--goal with|--algorithm")
            return None
        return parse(self.path("goal"))

    def simulated(self, coll, algorithm, nodes, *options):
        """(messages, bytes) of one call of the library's own code."""
        path = self.path(f"{self.runs}.csv")
        self.runs += 1
        done = self.run_sim("-N", str(nodes), "-p", "2", "-c", coll, "-s",
                            str(SIZE), "--algorithm", algorithm, "--messages",
                            "--impl", "xylem", "-i", "1", "--warmup", "0", "--csv",
                            path, *options)
        self.assertEqual(done.returncode, 0, done.stderr)
        with open(path, encoding="ascii") as file:
            row = next(csv.DictReader(file))
        return [sum(float(value) for name, value in row.items()
                    if name.endswith(end)) for end in ("_messages", "_bytes")]

    def test_all_algorithms(self):
        seen = 0
        for coll in COLLS:
            for algorithm, options in self.algorithms(coll):
                for nodes in 2, 3:
                    with self.subTest(f"{coll} {algorithm} {2 * nodes}"):
                        ranks = self.written(coll, algorithm, nodes,
                                             *options)
                        if ranks is None:
                            continue
                        seen += 1
                        left, messages, total = play(ranks)
                        self.assertEqual(left, 0)
                        wanted = self.simulated(coll, algorithm, nodes,
                                                *options)
                        self.assertEqual([messages, total], wanted)
        self.assertGreater(seen, 40)

    def test_trees_in_segments(self):
        for coll in "bcast", "reduce":
            for algorithm in "binomial", "chain", "kary:3", "flat":
                with self.subTest(f"{coll} {algorithm}"):
                    options = "--segment", "6000", "--root", "3"
                    ranks = self.written(coll, algorithm, 3, *options)
                    left, _, total = play(ranks)
                    self.assertEqual(left, 0)
                    self.assertEqual(total, 5 * SIZE)

    def test_refuses(self):
        for options, words in (
                (("-c", "bcast"), "say which"),
                (("-c", "bcast", "--algorithm", "topology"), "single tree"),
                (("-c", "allreduce", "--algorithm", "ring", "--goal", "/"),
                 "cannot write")):
            done = self.run_sim("-N", "2", "-p", "2", "--goal",
                                self.path("goal"), *options)
            self.assertNotEqual(done.returncode, 0)
            self.assertIn(words, done.stderr)


if __name__ == "__main__":
    unittest.main()
