"""No way through the options of the programs that write files of rows loses a
row: random walks over them, with kill -9 at random moments and --resume. Prints
TAP. Arguments: xylem-sim, xylem-noise, xylem-bench, xylem-run, xylem-tune; walks
of each kind (default 4), first seed (default 1).

After each step every whole row of before must be there, in the same words, and
nothing but rows; a command that ended well and is given once more adds none; at
the end no part of a file is left."""

import glob
import os
import random
import signal
import subprocess
import sys
import tempfile
import time

SIM, NOISE, BENCH, RUN, TUNE = map(os.path.abspath, sys.argv[1:6])
WALKS = int(sys.argv[6]) if len(sys.argv) > 6 else 4
FIRST = int(sys.argv[7]) if len(sys.argv) > 7 else 1
BOUND = 240  # seconds; far above what any step takes
STEPS = 4


class Lost(Exception):
    """What a walk has found."""


def sim(chance):
    options = [SIM, "-q", "--no-wall", "-m", chance.choice(["cori", "saturn"]),
               "-N", chance.choice("12"), "-p", chance.choice("23"),
               "-s", chance.choice(["1K", "64K"]),
               "-c", chance.choice(["bcast", "reduce", "allreduce"]),
               "-i", chance.choice("125"),
               "--impl", chance.choice(["xylem", "event"]),
               "--seeds", chance.choice("123"), "--seed", chance.choice("12")]
    options += chance.choice([[], ["--noise", "uniform:1kHz,0-20us"],
                              ["--noise", "sync:1kHz,10us;poisson:1kHz,9us"]])
    options += chance.choice([[], ["--per-rank"]])
    options += chance.choice([[], ["--jobs", "3"]])
    options += chance.choice([[], ["--window", "1,2"], ["--segment", "4K"],
                              ["--root", "1"], ["--jitter", "1us"],
                              ["--arrival", "random:9us"]])
    return options, {}


def noise(chance):
    options = [NOISE, "-n", chance.choice("22223"), "--impl",
               chance.choice(["event", "xylem", "xylem,waitall"]), "--seconds", "0.002",
               "--warmup", "1", "-c", chance.choice(["bcast", "bcast,reduce"]),
               "-s", chance.choice(["64", "1K,64"]),
               "--rounds", chance.choice("123"), "--seed", chance.choice("12")]
    options += chance.choice([["--max-ms", "0,1"], ["--max-ms", "0,2"],
                              ["--max-ms", "0,1", "--one-rank", "1",
                               "--delay-ms", "0.1"],
                              ["--noise", "sync:100Hz,100us"]])
    options += chance.choice([[], ["--osu"], ["--consume"], ["--window", "1,2"],
                              ["--by", "thread"], ["--raw", "raw"]])
    return options, chance.choice([{}, {"XYLEM_NOISE_BUDGET": "64M"}])


def bench(chance):
    options = [RUN, "-n", "2", BENCH, "-c", chance.choice(["bcast", "barrier"]),
               "--sizes", chance.choice(["8", "8,64"]), "-i", "2"]
    options += chance.choice([[], ["--check"], ["--mode", "persistent"]])
    return options, {}


def tune(chance):
    options = [TUNE, "-q", "--simulate", chance.choice(["cori", "saturn"]), "-N",
               "2", "-p", chance.choice("12"), "-c",
               chance.choice(["bcast", "reduce"]), "--sizes",
               chance.choice(["64", "64,4K"]), "--heuristics", "-o", "table"]
    return options, {}


# What makes a command, whether it takes --resume, and whether the same command
# adds nothing when it has ended well before.
KINDS = {"sim": (sim, True, True), "noise": (noise, True, True),
         "bench": (bench, False, False), "tune": (tune, False, True)}


def rows_of(path):
    """Whole lines."""
    if not os.path.exists(path):
        return []
    with open(path, encoding="utf-8") as file:
        text = file.read()
    return text.split("\n")[:-1]


def files(folder):
    return {name: rows_of(os.path.join(folder, name))
            for name in ("rows.csv", "table.times")}


def check_kept(before, after, words):
    for name, rows in before.items():
        left = list(after[name])
        for row in rows:
            if row not in left:
                raise Lost(f"{words}: {name} has lost: {row}")
            left.remove(row)
        columns = {len(split(row)) for row in after[name]} \
            if name == "rows.csv" else set()
        if len(columns) > 1:
            raise Lost(f"{words}: rows of {columns} cells")


def split(row):
    """Cells; those in quotes may have commas."""
    return "".join(part for i, part in enumerate(row.split('"'))
                   if i % 2 == 0).split(",")


def step(command, settings, folder, kill_after):
    """Its code; -9 where it was killed, with all that it has started."""
    process = subprocess.Popen(command, cwd=folder, start_new_session=True,
                               env={**os.environ, **settings},
                               stdin=subprocess.DEVNULL,
                               stdout=subprocess.DEVNULL,
                               stderr=subprocess.PIPE)
    try:
        _, said = process.communicate(timeout=kill_after or BOUND)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        _, said = process.communicate()
        if kill_after is None:
            raise Lost(f"{' '.join(command)}: no end") from None
    return process.returncode, said.decode(errors="replace")


def may_be_refused(said, resumes):
    return "has results of before" in said and not resumes


def walk(kind, seed):
    chance = random.Random(f"{kind} {seed}")
    make, can_resume, is_idle = KINDS[kind]
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(STEPS):
            command, settings = make(chance)
            resumes = can_resume and chance.random() < 0.9
            command += ["--csv", "rows.csv"] + ["--resume"] * resumes
            words = " ".join(command[1:])
            kill_after = chance.choice([None, chance.uniform(0.01, 0.6)])
            before = files(folder)
            code, said = step(command, settings, folder, kill_after)
            check_kept(before, files(folder), words)
            if code == -signal.SIGKILL or may_be_refused(said, resumes):
                continue
            if code != 0:
                raise Lost(f"{words}: code {code}: {said}")
            if is_idle and resumes:
                once_more(command, settings, folder, words)
        step_last(make, chance, can_resume, folder)


def once_more(command, settings, folder, words):
    before = files(folder)
    code, said = step(command, settings, folder, None)
    if code != 0:
        raise Lost(f"{words}, again: code {code}: {said}")
    if files(folder) != before:
        raise Lost(f"{words}, again: rows were added")


def step_last(make, chance, can_resume, folder):
    """Goes on after all, and leaves no part."""
    command, settings = make(chance)
    command += ["--csv", "rows.csv"] + ["--resume"] * can_resume
    if "--raw" not in command and os.path.isdir(os.path.join(folder, "raw")):
        command += ["--raw", "raw"]
    before = files(folder)
    code, said = step(command, settings, folder, None)
    words = " ".join(command[1:])
    check_kept(before, files(folder), words)
    if code != 0:
        raise Lost(f"{words}: code {code}: {said}")
    end = time.monotonic() + BOUND
    # Ranks that outlive a launcher that was killed end soon.
    while glob.glob(os.path.join(folder, "**", "*.part"), recursive=True):
        if time.monotonic() > end:
            raise Lost(f"{words}: parts are left")
        time.sleep(0.05)
        step(command, settings, folder, None)


def main():
    count, failed = 0, 0
    for kind in os.environ.get("WALK_KINDS", "sim noise bench tune").split():
        for seed in range(FIRST, FIRST + WALKS):
            count += 1
            try:
                walk(kind, seed)
                print(f"ok {count} - {kind}, seed {seed}", flush=True)
            except Lost as why:
                failed += 1
                print(f"not ok {count} - {kind}, seed {seed}\n# " +
                      str(why).replace("\n", "\n# "), flush=True)
    print(f"1..{count}")
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
