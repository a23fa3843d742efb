"""Records of noise: what `xylem-noise record` has found on each core, and what
NOISE_LOG says that ranks were given."""

import os
import re
from dataclasses import dataclass, field

import numpy as np
import pandas as pd


@dataclass
class Series:
    label: str
    begin_us: np.ndarray
    length_us: np.ndarray
    whole_us: float  # how long was looked

    @property
    def share(self):
        return 100 * self.length_us.sum() / self.whole_us


@dataclass
class Record:
    name: str
    series: list
    quanta: pd.DataFrame = field(default_factory=pd.DataFrame)


def is_record(path):
    """A file in the language of records: what its first words are."""
    try:
        with open(path, encoding="utf-8") as file:
            return re.match(r"# (detours|bursts) of ", file.readline()) \
                is not None
    except (OSError, UnicodeDecodeError):
        return False


def is_folder(path):
    return os.path.isdir(path) and os.path.exists(
        os.path.join(path, "statistics.csv")) and bool(cores_of(path))


def cores_of(folder):
    names = [n for n in os.listdir(folder) if re.match(r"core-\d+\.txt$", n)]
    return sorted(names, key=lambda name: int(re.findall(r"\d+", name)[0]))


def read_series(path, label):
    begin, length, whole = [], [], 0.0
    with open(path, encoding="utf-8") as file:
        for line in file:
            words = line.split("#")[0].split()
            if len(words) != 2:
                continue
            if words[0] == "length":
                whole = float(words[1])
            else:
                begin.append(float(words[0]))
                length.append(float(words[1]))
    begin, length = np.array(begin), np.array(length)
    end = (begin + length).max() if len(begin) else 0.0
    return Series(label, begin, length, max(whole, end, 1.0))


def read_folder(folder):
    series = [read_series(os.path.join(folder, name),
                          "core " + re.findall(r"\d+", name)[0])
              for name in cores_of(folder)]
    quanta = os.path.join(folder, "quanta.csv")
    return Record(os.path.basename(os.path.abspath(folder)), series,
                  pd.read_csv(quanta) if os.path.exists(quanta)
                  else pd.DataFrame())


def read_files(paths):
    """Several files are one picture, to be compared."""
    return Record("-".join(os.path.basename(path) for path in paths[:2]),
                  [read_series(path, os.path.basename(path))
                   for path in paths])
