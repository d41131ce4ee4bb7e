#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What a thread that reads statistics 1,000 times a second costs a loader, and
how long it waits itself, also while a stop waits for a hung operation.

    bench/stats_cost.py FOLDER [--rounds N]

FOLDER has a folder of images for each class. Rounds with and without the reader
take turns; the median of each is printed, and the slowest answer.
"""

from __future__ import annotations

import argparse
import ctypes
import statistics
import threading
import time
from typing import List

import feedline
from feedline import _c
from feedline._library import lib


class Reader(threading.Thread):
    """Asks for the statistics of `loader` until it is told to end."""

    def __init__(self, loader: feedline.Loader) -> None:
        super().__init__(daemon=True)
        self.loader, self.over = loader, threading.Event()
        self.answers: List[float] = []

    def run(self) -> None:
        stats = _c.stats()
        while not self.over.wait(0.001):
            begin = time.perf_counter()
            lib.loader_get_stats(self.loader.handle, ctypes.byref(stats))
            self.answers.append(time.perf_counter() - begin)

    def end(self) -> List[float]:
        self.over.set()
        self.join()
        return self.answers


def batches_per_second(loader: feedline.Loader) -> float:
    begin, n = time.perf_counter(), 0
    for batch in loader:
        batch.release()
        n += 1
    return n / (time.perf_counter() - begin)


def beside_training(loader: feedline.Loader, rounds: int) -> None:
    alone, beside, answers = [], [], []
    batches_per_second(loader)
    for _ in range(rounds):
        alone.append(batches_per_second(loader))
        reader = Reader(loader)
        reader.start()
        beside.append(batches_per_second(loader))
        answers += reader.end()
    base = statistics.median(alone)
    change = statistics.median(beside) / base - 1
    print(
        "alone %.1f batches/s, beside a reader %+.2f %%" % (base, 100 * change)
    )
    print("slowest of %d answers: %.3f ms" % (len(answers), 1e3 * max(answers)))


def during_a_stop(folder: str) -> None:
    """A Python operation that hangs until it is let go."""
    inside, leave = threading.Event(), threading.Event()

    def hang(pixels: object) -> None:
        inside.set()
        leave.wait()

    pipeline = feedline.Pipeline().add("center_crop", width=64, height=64)
    pipeline.python(hang)
    loader = feedline.Loader(feedline.Dataset.open("folder:" + folder),
                             pipeline, batch_size=1)
    loader.start()
    inside.wait()
    stop = threading.Thread(target=loader.stop)
    stop.start()
    reader = Reader(loader)
    reader.start()
    time.sleep(1)
    answers = reader.end()
    leave.set()
    stop.join()
    print(
        "during a stop that hangs: %d answers, slowest %.3f ms"
        % (len(answers), 1e3 * max(answers))
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("folder")
    parser.add_argument("--rounds", type=int, default=11)
    arguments = parser.parse_args()
    pipeline = feedline.Pipeline().add("center_crop", width=64, height=64)
    loader = feedline.Loader(
        feedline.Dataset.open("folder:" + arguments.folder), pipeline,
        batch_size=8, workers=1, dtype="u8", reader="memory")
    beside_training(loader, arguments.rounds)
    during_a_stop(arguments.folder)


if __name__ == "__main__":
    main()
