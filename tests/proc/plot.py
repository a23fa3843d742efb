"""xylem-plot: what it reads, that no two texts of a picture collide, and that a
report stands by itself. Arguments: xylem-sim, and a folder for files."""

import contextlib
import io
import itertools
import json
import os
import re
import subprocess
import sys
import unittest

from matplotlib.text import Text
from xylem_plot import __main__ as program
from xylem_plot import data as d
from xylem_plot import designs, gallery, pictures, timeline

SIM, WORK = sys.argv.pop(1), sys.argv.pop(1)
COLUMNS = ("experiment,impl,coll,bytes,ranks,round,noise,rank,time_us,"
           "delayed_us,injected_percent,low_us,high_us,floor_us\n")
NOISE = ["none", "uniform:10Hz,0-10ms", "uniform:10Hz,0-20ms"]
IMPLS = {"xylem": (1100, 1.1), "xylem-openmpi5": (1160, 1.2),
         "openmpi-tuned": (1730, 4.7), "openmpi-adapt": (2940, 4.5),
         "mpich": (2600, 44)}


def path_of(*names):
    path = os.path.join(WORK, *names)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    return path


def times_rows(coll, ranks, rounds, has_medians):
    for impl, (quiet, worst) in IMPLS.items():
        for k, noise in enumerate(NOISE):
            time = quiet * (1 + (worst - 1) * k / 2)
            row = f'noise,{impl},{coll},4194304,{ranks},%s,"{noise}",all,%s'
            for i in range(rounds):
                yield row % (i + 1, f"{time * (1 + i / 50)},,{5 * k},,,\n")
            if has_medians:
                yield row % ("median", f"{time},,{5 * k},{time * 0.97},"
                             f"{time * 1.04},{quiet * (1 + k / 20)}\n")


def delays_rows(ranks, delayed):
    for impl, (quiet, _) in IMPLS.items():
        for rank in range(ranks):
            late = 1000 if rank == delayed or impl == "openmpi-tuned" else 8
            late = 3000 + rank if impl == "mpich" else late
            for i in "1", "median":
                yield (f'one-rank,{impl},bcast,4194304,{ranks},{i},"once:1ms,'
                       f'rank={delayed}",{rank},{quiet},{quiet + late},,,,\n')


def write(path, rows):
    with open(path, "w", encoding="utf-8") as file:
        file.write(COLUMNS + "".join(rows))
    return path


def simulate(*options):
    subprocess.run([SIM, "-q", "--no-wall", *options], check=True,
                   stdout=subprocess.DEVNULL, timeout=600)


def make_record(folder, cores, has_quanta=True):
    """As xylem-noise record has it: the form, and many lengths."""
    lengths = [0.2 * 1.07 ** i for i in range(120)]
    for core in range(cores):
        with open(path_of(folder, f"core-{core}.txt"), "w",
                  encoding="utf-8") as file:
            file.write("# detours of core 0 of host\n# begin and length\n")
            for i, length in enumerate(lengths):
                file.write(f"{10000 * i} {length * (core + 1):.3f}\n")
            file.write("length 2000000.000\n")
    write_lines(path_of(folder, "statistics.csv"), "core,share %\n0,1\n")
    rows = "".join(f"{method},{core},{i},{1000 + (i % 9) ** 3}\n"
                   for method in ("fwq", "ftq") for core in range(cores)
                   for i in range(90))
    if has_quanta:
        write_lines(path_of(folder, "quanta.csv"),
                    "method,core,begin_us,value\n" + rows)
    return path_of(folder)


def make_gpu(path, sizes=(4, 1024, 16384, 65536, 1 << 20, 1 << 24, 1 << 26)):
    """As gpu.sh has it: all designs, pairs, and first calls."""
    rows = ["# 1 NVIDIA H200, 16 cores, 2026-11-23\n",
            "sharing,coll,ranks,design,which,bytes,us,wrong\n"]
    statics = ["static", "static:1", "static:2", "static:3", "static:7"]
    designs = ["ipc", "gsb", "btb", *statics, "dynamic", "mirrors", "openmpi"]

    def add(way, coll, ranks, design, which, size, us):
        rows.append(f"{way},{coll},{ranks},{design},{which},{size},{us},0\n")
    for way, least in ("turns", 150), ("mps", 20):
        for k, size in enumerate(sizes):
            for i, design in enumerate(designs):
                for ranks in 4, 8:
                    add(way, "allreduce", ranks, design, "later", size,
                        (least + size / 1e4) * (1 + (i * 7 + k) % 11))
            for staged in range(5):
                add(way, "pairs", 8, f"staged:{staged}", "later", size,
                    least / (1 + staged) + size * (1 + staged) / 1e4)
    for i, design in enumerate(["mirrors", "ipc", "gsb", "btb", "static:2"]):
        for size in sizes:
            add("turns", "allreduce", 4, design, "first", size, 4000 * (i + 1))
            add("turns", "allreduce", 4, design, "again", size,
                90 + 30 * i if design != "mirrors" else 160)
    write_lines(path, "".join(rows))
    return path


def write_lines(path, text):
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


def make_trace(path):
    """As XYLEM_TRACE has it: operations that overlap, waits, noise; 5 s before
    the first of them nobody communicates."""
    events = []
    for rank in range(3):
        where = {"pid": 1, "tid": rank + 1}
        events.append({"ph": "M", "name": "thread_name", **where,
                       "args": {"name": f"rank {rank}"}})
        events.append({"ph": "X", "name": "noise", **where, "ts": 1000,
                       "dur": 300})
        for i, name in enumerate(("bcast", "allreduce", "bcast")):
            begin = 5e6 + 1000 * i
            events += [{"ph": "b", "id": f"{rank}.{i}", "name": name, **where,
                        "ts": begin},
                       {"ph": "e", "id": f"{rank}.{i}", "name": name, **where,
                        "ts": begin + 1500},
                       {"ph": "X", "name": "wait", **where, "ts": begin,
                        "dur": 400}]
    with open(path, "w", encoding="utf-8") as file:
        json.dump({"traceEvents": events}, file)
    return path


def make_campaign(folder):
    write(path_of(folder, "noise.csv"),
          itertools.chain(times_rows("bcast", 16, 5, True),
                          times_rows("reduce", 4, 1, True)))
    for rank in range(4):
        write(path_of(folder, f"delays-{rank}.csv"), delays_rows(4, rank))
    for step, name in enumerate(("waits", "event-driven", "with_room")):
        write(path_of(folder, "mechanisms", f"{step}-{name}.csv"),
              [row for row in times_rows("bcast", 16, 1, True)
               if ",xylem," in row])
    for nodes in 1, 2, 4:
        simulate("-m", "cori", "-N", f"{nodes}", "-p", "2", "-s", "64K", "-i",
                 "4", "--noise", "uniform:1000Hz,0-20us", "--csv",
                 path_of(folder, f"sim-{nodes}.csv"))
    for rank in range(4):
        simulate("-N", "4", "-p", "1", "-s", "64K", "-i", "1", "--warmup", "0",
                 "--per-rank", "--noise", f"once:1ms@0us,rank={rank}", "--csv",
                 path_of(folder, f"once-{rank}.csv"))
    simulate("-N", "2", "-p", "2", "-s", "64K", "-i", "2", "--impl", "xylem",
             "--noise", "uniform:1000Hz,0-200us", "--trace",
             path_of(folder, "trace.json"))
    make_trace(path_of(folder, "real.json"))
    make_gpu(path_of(folder, "gpu.csv"))
    make_record(path_of(folder, "record"), 2)
    make_record(path_of(folder, "many"), 12)
    with open(path_of(folder, "points.txt"), "w", encoding="utf-8") as file:
        file.write("coll,ranks,series,value\nbcast,1024 and 1536,theirs,24\n"
                   "bcast,1024,others,868\n")
    return path_of(folder)


def beyond_their_axis(fig):
    """Labels of ticks that are kept and not drawn."""
    for ax in fig.axes:
        for axis in ax.xaxis, ax.yaxis:
            low, high = sorted(axis.get_view_interval())
            for tick in axis.get_major_ticks() + axis.get_minor_ticks():
                if not low <= tick.get_loc() <= high:
                    yield tick.label1
                    yield tick.label2


def visible_texts(fig):
    fig.draw_without_rendering()
    hidden = set(beyond_their_axis(fig))
    for artist in fig.findobj(Text):
        if artist.get_visible() and artist.get_text().strip() and \
                artist not in hidden and artist.axes not in [
                    ax for ax in fig.axes if not ax.axison]:
            yield artist.get_text(), artist.get_window_extent()


def collisions(fig):
    """Pairs of texts of which one covers more than a dot of the other."""
    for (a, left), (b, right) in itertools.combinations(visible_texts(fig), 2):
        width = min(left.x1, right.x1) - max(left.x0, right.x0)
        height = min(left.y1, right.y1) - max(left.y0, right.y0)
        if width > 1 and height > 2:
            yield a, b


def run(*arguments):
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            code = program.main(list(arguments))
        except SystemExit as end:
            code = end.code
    return code, out.getvalue(), err.getvalue()


class Reading(unittest.TestCase):
    def test_medians_of_the_file(self):
        path = write(path_of("medians.csv"), times_rows("bcast", 16, 5, True))
        times = d.read([path]).times
        row = times[(times["impl"] == "mpich")
                    & (times["noise"] == NOISE[2])].iloc[0]
        self.assertAlmostEqual(row["quiet_us"], 2600 * 1.04)
        self.assertAlmostEqual(row["slowdown"], 4300)
        self.assertAlmostEqual(row["low_us"], 2600 * 44 * 0.97)
        # It lost 43 of 44 parts, of which the noise was a tenth.
        self.assertAlmostEqual(row["amplified"], 43 / 4.4)

    def test_campaign_that_was_ended(self):
        path = write(path_of("ended.csv"), times_rows("bcast", 16, 3, False))
        times = d.read([path]).times
        self.assertEqual(len(times), len(IMPLS) * len(NOISE))
        self.assertTrue((times["time_us"] > 0).all())
        self.assertTrue(times["low_us"].isna().all())

    def test_whose_delay(self):
        data = d.read([write(path_of("one.csv"), delays_rows(4, 2))])
        own = data.delays[data.delays["impl"] == "xylem"].set_index("rank")
        self.assertEqual(set(data.delays["delayed"]), {2})
        self.assertEqual(set(data.delays["held_us"]), {1000.0})
        self.assertEqual(own["delay_us"].to_dict(), {0: 8, 1: 8, 2: 1000, 3: 8})

    def test_records(self):
        folder = make_record("records", 2, has_quanta=False)
        record = d.read([folder]).records[0]
        self.assertEqual([one.label for one in record.series],
                         ["core 0", "core 1"])
        self.assertAlmostEqual(record.series[1].share,
                               2 * record.series[0].share, 3)
        files = [os.path.join(folder, f"core-{i}.txt") for i in (0, 1)]
        self.assertEqual([one.label for one in d.read(files).records[0].series],
                         ["core-0.txt", "core-1.txt"])
        write_lines(files[0], "# detours of core 0\n1 x\n")
        self.assertIn("no record", run(files[0])[2])

    def test_operations(self):
        trace = timeline.read(make_trace(path_of("one.json")))
        self.assertEqual(len(trace.operations), 9)
        self.assertEqual(trace.end_us, 3500)
        # What came before the first of them is left out.
        self.assertEqual({what for _, what, _, _ in trace.spans}, {"wait"})
        part = timeline.read(path_of("one.json"), (1000, 1400))
        self.assertEqual(part.end_us, 400)
        self.assertEqual({length for _, _, _, length in part.operations}, {400})

    def test_designs(self):
        table = d.read([make_gpu(path_of("gpu.csv"))]).designs
        self.assertEqual(set(table["machine"]),
                         {"1 NVIDIA H200, 16 cores, 2026-11-23"})
        rows = table[(table["sharing"] == "mps") & (table["ranks"] == 8)
                     & (table["coll"] == "allreduce") & (table["bytes"] == 4)]
        statics = rows[rows["design"].str.startswith("static")]
        self.assertAlmostEqual(designs.best_static(rows)["us"].iloc[0],
                               statics["us"].min())
        self.assertAlmostEqual(
            designs.of_gains(rows).set_index("impl")["value"]["dynamic"],
            rows.set_index("design")["us"]["dynamic"] / statics["us"].min())

    def test_calls_until_a_design_has_paid(self):
        table = d.read([make_gpu(path_of("paid.csv"), (1024, 2048))]).designs
        firsts = designs.of_firsts(table[table["which"] != "later"])
        calls = firsts[firsts["bytes"] == 1024].set_index("impl")["value"]
        # 4,000 us more in the first call, 160 - 120 less in each later one.
        self.assertEqual(calls[designs.NAMES["ipc"]], 101)
        self.assertEqual(calls["static:2"], float("inf"))

    def test_rows_of_one_key_are_told_apart(self):
        path = path_of("apart.csv")
        options = ("-N", "2", "-p", "4", "-s", "64K", "-i", "2", "--impl",
                   "xylem", "--noise", "uniform:1000Hz,0-20us", "--resume",
                   "--csv", path)
        simulate(*options, "--algorithm", "binary")
        simulate(*options, "--algorithm", "chain")
        simulate(*options, "--algorithm", "chain", "--window", "1,2")
        times = d.read([path]).times
        self.assertEqual(len(times), 6)
        self.assertEqual(len(set(times["impl"])), 3)
        self.assertTrue(all("binary" in name or "chain" in name
                            for name in times["impl"]))
        self.assertTrue((times["quiet_us"] > 0).all())

    def test_rows_of_several_files_are_told_apart(self):
        one = write(path_of("one-machine.csv"), times_rows("bcast", 16, 1, True))
        with open(one, encoding="utf-8") as file:
            rows = file.read().replace("1100", "1200")
        write_lines(path_of("other-machine.csv"), rows)
        times = d.read([one, path_of("other-machine.csv")]).times
        names = {name for name in times["impl"] if name.startswith("xylem (")}
        self.assertEqual(names, {"xylem (one-machine)",
                                 "xylem (other-machine)"})

    def test_rows_that_nothing_tells_apart_are_refused(self):
        path = path_of("twice.csv")
        write(path, ['noise,xylem,bcast,64,2,1,none,all,1.0,,,,,\n'])
        simulated = path_of("same.csv")
        simulate("-N", "2", "-p", "1", "-s", "1K", "-i", "2", "--impl", "xylem",
                 "--csv", simulated)
        with open(simulated, encoding="utf-8") as file:
            titles, row = file.read().splitlines()
        cells = row.split(",")
        cells[titles.split(",").index("avg_us")] = "99.5"
        cells[titles.split(",").index("seeds")] = "2"
        write_lines(path_of("same.csv"),
                    "\n".join([titles, row, ",".join(cells), ""]))
        # A mean over more seeds takes the place of a part of them.
        self.assertEqual(d.read([simulated]).times["time_us"].tolist(), [99.5])
        old = [name for name in titles.split(",")
               if name not in ("seed", "seeds")]
        places = [titles.split(",").index(name) for name in old]
        lines = [",".join(line[i] for i in places)
                 for line in (titles.split(","), row.split(","), cells)]
        write_lines(path_of("same.csv"), "\n".join([*lines, ""]))
        code, _, err = run(simulated)
        self.assertEqual(code, 1)
        self.assertIn("several rows of one cell", err)

    def test_files_with_the_older_name_of_the_library(self):
        old = path_of("older.csv")
        write(old, [row.replace(",xylem,", ",event,")
                    for row in times_rows("bcast", 16, 2, True)])
        new = write(path_of("newer.csv"), times_rows("bcast", 16, 2, True))
        for path in old, new:
            times = d.read([path]).times
            self.assertEqual(set(times["impl"]), set(IMPLS))
        self.assertEqual(d.read([old]).times.drop(columns="file").to_csv(),
                         d.read([new]).times.drop(columns="file").to_csv())
        path = make_trace(path_of("older.json"))
        with open(path, encoding="utf-8") as file:
            content = json.load(file)
        content["traceEvents"] = [
            {"ph": "M", "name": "process_labels", "pid": 1, "args": {
                "labels": "simulated cori: bcast of 1 KiB by event, 3 ranks"}},
            *(e for e in content["traceEvents"] if e["ph"] in "MX")]
        with open(path, "w", encoding="utf-8") as file:
            json.dump(content, file)
        self.assertIn(" by xylem, ", timeline.read(path).what)

    def test_own_designs_are_marked(self):
        self.assertEqual(d.text_of_impl("waitall, chain"),
                         "waitall (own design), chain")
        self.assertEqual(d.text_of_impl("blocking (other)"),
                         "blocking (own design) (other)")
        for name in "xylem", "xylem-mpich", "mpich", "openmpi-tuned":
            self.assertEqual(d.text_of_impl(name), name)
        self.assertEqual((d.text_of_count(1, "rank"),
                          d.text_of_count(2.0, "rank")), ("1 rank", "2 ranks"))

    def test_seeds(self):
        path = path_of("seeds.csv")
        simulate("-N", "2", "-p", "4", "-s", "64K", "-i", "2", "--impl",
                 "xylem", "--noise", "poisson:1kHz,50us", "--seeds", "4",
                 "--csv", path)
        times = d.read([path]).times
        noisy = times[times["noise"] != "none"].iloc[0]
        self.assertEqual((len(times), noisy["seeds"]), (2, 4))
        self.assertTrue(noisy["low_us"] < noisy["time_us"] < noisy["high_us"])

    def test_what_is_not_its_own_stays(self):
        path = write(path_of("stay", "a.csv"), times_rows("bcast", 16, 1, True))
        name = path_of("stay", "times-bcast-4194304-16.svg")
        page = path_of("stay", "report.html")
        for other in name, page:
            write_lines(other, "<svg>mine</svg>")
        for arguments in (path,), (path, "--report"):
            code, _, err = run(*arguments)
            self.assertEqual(code, 1)
            self.assertIn("left as it is", err)
        for other in name, page:
            with open(other, encoding="utf-8") as file:
                self.assertEqual(file.read(), "<svg>mine</svg>")
            os.remove(other)
        for _ in range(2):
            self.assertEqual(run(path)[0], 0)
            self.assertEqual(run(path, "--report")[0], 0)
        self.assertEqual([name for name in os.listdir(path_of("stay"))
                          if name.endswith(".part")], [])

    def test_refuses(self):
        path = path_of("other.csv")
        with open(path, "w", encoding="utf-8") as file:
            file.write("a,b\n1,2\n")
        for arguments, words in (((path,), "neither of xylem-noise"),
                                 ((path_of("nothing.csv"),), "does not exist"),
                                 ((path, "-f", "gif"), "svg, pdf or png"),
                                 ((path, "--between", "3,2"), "--between")):
            code, _, err = run(*arguments)
            self.assertNotEqual(code, 0)
            self.assertIn(words, err)

    def test_texts(self):
        self.assertEqual(d.text_of_bytes(4 << 20), "4 MiB")
        self.assertEqual(d.text_of_bytes(1000), "1000 B")
        self.assertEqual(d.text_of_time(1500), "1.5 ms")
        self.assertEqual(d.text_of_slowdown(8.04), "+8.0 %")
        self.assertEqual(d.text_of_slowdown(4300), "× 44")
        self.assertEqual(d.held_of("once:1ms@2us,rank=6"), (6, 1000.0))
        self.assertIsNone(d.held_of("uniform:10Hz,0-20ms,rank=6"))


class Drawing(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = make_campaign("campaign")

    def test_no_texts_collide(self):
        data = d.read([self.folder])
        points = gallery.read_points(os.path.join(self.folder, "points.txt"))
        names = []
        for name, fig in gallery.pictures(data, 86, points):
            names.append(name)
            with self.subTest(name):
                self.assertEqual(list(collisions(fig)), [])
                for text, box in visible_texts(fig):
                    self.assertLess(box.x1, fig.bbox.width + 2, text)
            gallery.close(fig)
        kinds = {name.split("-")[0] for name in names}
        self.assertEqual(kinds, {"times", "scale", "heat", "delays",
                                 "mechanisms", "timeline", "record",
                                 "designs", "copies", "gains", "pairs", "first"})

    def test_nothing_is_cut_without_a_mark(self):
        rows = []
        for impl, (time, high, floor) in {
                "xylem": (20, 22, 19), "waitall": (24, 30, 21),
                "openmpi": (26, 500, 22), "mpich": (900, 950, 800)}.items():
            for noise in NOISE[:2]:
                rows.append(f'noise,{impl},bcast,64,4,1,"{noise}",all,{time},,'
                            ",,,\n")
                rows.append(f'noise,{impl},bcast,64,4,median,"{noise}",all,'
                            f"{time},,,{time - 1},{high},{floor}\n")
        data = d.read([write(path_of("wide.csv"), rows)])
        (_, fig, _), = gallery.of_times(data, 3.4)
        fig.draw_without_rendering()
        words = [t.get_text() for t in fig.legends[0].get_texts()]
        for mark in (pictures.CUT_BAR, pictures.CUT_INTERVAL,
                     pictures.CUT_FLOOR, pictures.INTERVAL, "floor"):
            self.assertIn(mark, words)
        # An arrow where the interval goes on, and no cap at the axis' end.
        lines = [line for line in fig.axes[0].lines]
        self.assertEqual(sum(line.get_marker() == ">" for line in lines), 3)
        caps = [x for line in lines if line.get_marker() == "|"
                for x in line.get_xdata()]
        for time in 22, 30:
            self.assertIn(time, caps)
        self.assertNotIn(max(line.get_xdata()[0] for line in lines
                             if line.get_marker() == ">"), caps)
        gallery.close(fig)
        data = d.read([write(path_of("late.csv"), delays_rows(4, 2))])
        (_, fig, _), = gallery.of_delays(data, 3.4)
        words = [t.get_text() for t in fig.legends[0].get_texts()]
        self.assertIn("cut off: up to the number above", words)
        gallery.close(fig)

    def test_a_floor_that_fits_is_no_floor_beyond(self):
        rows = []
        for noise in NOISE[:2]:
            rows.append(f'noise,xylem,bcast,64,4,1,"{noise}",all,20,,,,,\n')
            rows.append(f'noise,xylem,bcast,64,4,median,"{noise}",all,20,,,'
                        "19,21,23\n")
        data = d.read([write(path_of("floor.csv"), rows)])
        (_, fig, _), = gallery.of_times(data, 3.4)
        fig.draw_without_rendering()
        words = [t.get_text() for t in fig.legends[0].get_texts()]
        self.assertIn("floor", words)
        self.assertNotIn(pictures.CUT_FLOOR, words)
        # What is written on the bar stands behind the floor.
        text, = (t for t in fig.axes[0].texts if "%" in t.get_text())
        at = fig.axes[0].transData.transform((23, 0))[0]
        self.assertGreater(text.get_window_extent().x0, at)
        gallery.close(fig)

    def test_legends_have_words(self):
        self.assertEqual(d.text_of_noise("uniform:10Hz,0-20ms"),
                         "0 to 20 ms, 10 per second")
        self.assertEqual(d.text_of_noise("sync:1kHz,50us,rank=3"),
                         "50 µs at once, 1000 per second, rank 3")
        self.assertEqual(d.text_of_noise("once:1ms@2ms,rank=3"),
                         "once 1 ms, rank 3")

    def test_timelines_are_named_by_what_they_show(self):
        paths = [os.path.join(self.folder, name)
                 for name in ("trace.json", "real.json")]
        titles = []
        for _, fig, _ in gallery.of_traces(d.read(paths), 3.4):
            titles.append(" ".join(fig.texts[0].get_text().split()))
            gallery.close(fig)
        self.assertIn("simulated cori: bcast of 64 KiB by", titles[0])
        self.assertEqual(titles[1], "bcast, allreduce on 3 ranks")

    def test_axes_are_not_flattened(self):
        self.assertEqual(pictures.axis_end([1, 1, 1, 2, 100]), 6)
        self.assertEqual(pictures.axis_end([1, 2]), 2)
        self.assertEqual(pictures.axis_end([]), 1)

    def test_files(self):
        one = os.path.join(self.folder, "noise.csv")
        for again in "a", "b":
            code, out, _ = run(one, "-o", path_of(again), "-f", "svg,pdf,png")
            self.assertEqual(code, 0)
        paths = out.split()
        self.assertEqual({p[-4:] for p in paths}, {".svg", ".pdf", ".png"})
        for path in paths:
            self.assertGreater(os.path.getsize(path), 2000)
            first = path.replace(path_of("b"), path_of("a"))
            with open(path, "rb") as left, open(first, "rb") as right:
                self.assertEqual(left.read(), right.read(), path)

    def test_report(self):
        path = path_of("report.html")
        code, _, err = run(self.folder, "--report", "-o", path, "--title",
                           "4 < 5")
        self.assertEqual((code, err), (0, ""))
        with open(path, encoding="utf-8") as file:
            page = file.read()
        self.assertIn("<h1>4 &lt; 5</h1>", page)
        for words in ("Times under noise", "Who is delayed", "Timelines",
                      "What each mechanism buys", "amplified", "Noise recorded",
                      "others idle, sum"):
            self.assertIn(words, page)
        self.assertGreater(page.count("<svg"), 8)
        # A title stands once; runs that were simulated are among the runs.
        self.assertEqual(page.count("bcast of 4 MiB, 16 ranks<"), 2)
        runs = page[page.index('<h2 id="runs">'):]
        self.assertIn("Simulated", runs)
        self.assertIn("sim-4", runs)
        # Nothing is fetched, and no name stands twice.
        self.assertEqual(re.findall(r'(?:src|href)="(?!#|data:)[^"]*"', page),
                         [])
        names = [n for n in re.findall(r'\bid="([^"]*)"', page)
                 if "_image" not in n]  # equal images share theirs
        self.assertEqual([n for n in names if names.count(n) > 1], [])


if __name__ == "__main__":
    unittest.main()
