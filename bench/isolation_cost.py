#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What isolate=decode costs: images per second on one core, and its CPU time.

    FEEDLINE_LIBRARY=build/libfeedline.so PYTHONPATH=python \\
        bench/isolation_cost.py FOLDER [--rounds N]

FOLDER: JPEGs, of which 400 are in memory, as they are, as PNG, and as small
JPEGs; an epoch has each several times. Epochs without and with it in turn, by
one worker, all processes on one core; of each the fastest. CPU time is that of
this process and of its decoders, from /proc.
"""

import argparse
import io
import os
import time
from pathlib import Path

from PIL import Image

import feedline

IMAGES, TIMES, SMALL = 400, 5, 96
TICK = os.sysconf("SC_CLK_TCK")


def files(folder):
    paths = sorted(Path(folder).rglob("*.[jJ][pP]*"))[:IMAGES]
    return [path.read_bytes() for path in paths]


def saved(data, kind, side=None):
    image = Image.open(io.BytesIO(data)).convert("RGB")
    if side:
        image = image.resize((side, side))
    out = io.BytesIO()
    image.save(out, kind)
    return out.getvalue()


def decoders_seconds():
    """CPU time of the decoders of this process."""
    ticks = 0
    for path in Path("/proc").glob("[0-9]*"):
        try:
            words = (path / "cmdline").read_bytes().split(b"\0")
            stat = (path / "stat").read_text().rsplit(")", 1)[1].split()
        except OSError:
            continue
        if words[0].endswith(b"feedline-decode"):
            if words[3] == str(os.getpid()).encode():
                ticks += int(stat[11]) + int(stat[12])
    return ticks / TICK


def epoch(loader):
    begin, cpu = time.perf_counter(), time.process_time() + decoders_seconds()
    images = sum(len(batch.images) for batch in loader)
    wall = time.perf_counter() - begin
    cpu = time.process_time() + decoders_seconds() - cpu
    return images / wall, cpu / images * 1e6


def loader_of(data, isolate, **options):
    return feedline.Loader(
        feedline.Dataset.memory(data * TIMES),
        feedline.Pipeline("train"),
        batch_size=64,
        workers=1,
        depth=1,
        tuner="off",
        live=False,
        isolate=isolate,
        **options,
    )


def compare(name, data, rounds, **options):
    both = {how: loader_of(data, how, **options) for how in ("off", "decode")}
    best = {how: (0.0, 1e9) for how in both}
    for turn in range(rounds + 1):
        for how, loader in both.items():
            rate, cpu = epoch(loader)
            if turn:  # the first one warms up
                best[how] = max(best[how][0], rate), min(best[how][1], cpu)
    for loader in both.values():
        loader.close()
    rate, cpu = best["off"]
    apart, cpu_apart = best["decode"]
    kilobytes = sum(map(len, data)) / len(data) / 1e3
    print(
        f"| {name} | {kilobytes:.0f} | {rate:.0f} | {apart:.0f} |"
        f" {100 * (apart / rate - 1):+.1f} % | {cpu:.0f} | {cpu_apart:.0f} |"
        f" {cpu_apart - cpu:+.0f} |",
        flush=True,
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder")
    parser.add_argument("--rounds", type=int, default=8)
    asked = parser.parse_args()
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    jpegs = files(asked.folder)
    print("load before: %.1f %.1f %.1f" % os.getloadavg())
    print(
        "| files | kB | images/s | isolated | | us of CPU an image |"
        " isolated | |\n|---|---|---|---|---|---|---|---|"
    )
    compare("JPEG", jpegs, asked.rounds)
    compare("JPEG, no index", jpegs, asked.rounds, jpeg_index=False)
    pngs = [saved(data, "PNG") for data in jpegs]
    compare("PNG", pngs, asked.rounds)
    small = [saved(data, "JPEG", SMALL) for data in jpegs]
    compare(f"JPEG of {SMALL}x{SMALL}", small, asked.rounds)
    print("load after: %.1f %.1f %.1f" % os.getloadavg())


if __name__ == "__main__":
    main()
