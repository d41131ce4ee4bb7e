#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What the host does for a sample that the device decodes (decode=device), in
a whole loader: CPU time of its threads and bytes over the bus, per sample.

    FEEDLINE_LIBRARY=build/libfeedline.so PYTHONPATH=python \\
    FEEDLINE_LIBCUDA=build/tests/transfer/libcuda_double.so \\
    CUDA_DOUBLE=decode=0,hash=0 bench/device_host_cost.py FOLDER [--files N]

On the tests' double of CUDA's driver no GPU is needed: its kernels do nothing
then. With a GPU leave out the last two variables. The index learns for some
epochs, the first of which are told; then one comes again and again, three times
so many turns. Each number is the least of the three, as others may use the
machine. The other threads are the one that calls next(), those that copy, and
the double's.
"""

from __future__ import annotations

import argparse
import ctypes
import time
from pathlib import Path
from typing import Any, List, Tuple

import feedline

SIDE = 224
BATCH = 50
LEARNED = 16  # epochs, in which the index comes to know the files
BLOCKS = 3


def packed(path: Path) -> bytes:
    data = path.read_bytes()
    made, size = ctypes.c_void_p(), ctypes.c_uint64()
    if (
        feedline._lib.jpeg_pack(
            data, len(data), ctypes.byref(made), ctypes.byref(size)
        )
        < 0
    ):
        return data
    found = ctypes.string_at(made.value or 0, size.value)
    ctypes.CDLL(None).free(made)
    return found


def pass_over(
    loader: feedline.Loader, epochs: List[int]
) -> Tuple[float, float]:
    """CPU time for each sample, in us, of workers and of all other threads. It
    is read before the first sample and behind the last: a worker is ahead of
    the program, so what it takes for an epoch is not taken within it."""
    count = 0
    loader.reset_stats()
    began = time.process_time()
    for epoch in epochs:
        loader.seek(epoch, 0)
        for batch in loader:
            count += batch.count
            batch.release()
    of_workers = loader.stats()["workers"]["cpu_seconds"]
    all_threads = time.process_time() - began
    return of_workers / count * 1e6, (all_threads - of_workers) / count * 1e6


def measure(
    what: str, data: feedline.Dataset, turns: int, **options: Any
) -> None:
    pipeline = feedline.Pipeline().add(
        "random_resized_crop", width=SIDE, height=SIDE
    )
    pipeline.add("horizontal_flip")
    with feedline.Loader(
        data, pipeline, batch_size=BATCH, workers=1, dtype="u8", layout="nhwc",
        tuner="off", jpeg_index=True, drop_last=True, epochs=1,
        device="cuda:0", **options,
    ) as loader:
        first = [pass_over(loader, [e])[0] for e in range(1, LEARNED)]
        blocks = [pass_over(loader, [0] * turns) for _ in range(BLOCKS)]
        found = loader.stats()["transfer"]
    print(
        "%-18s %6.1f us of workers, %5.1f of all other threads; %.2f %% of "
        "the samples left to the device, %.1f KB over the bus each; the first "
        "epochs took %.0f, %.0f and %.0f us of workers"
        % (
            what,
            min(workers for workers, _ in blocks),
            min(others for _, others in blocks),
            found["decoded"] / found["batches"] / BATCH * 100,
            found["copied_bytes"] / found["batches"] / BATCH / 1e3,
            *first[:3],
        ),
        flush=True,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--files", type=int, default=400)
    parser.add_argument("--turns", type=int, default=7)
    given = parser.parse_args()
    found = (p for p in given.folder.rglob("*") if p.is_file())
    paths: List[Path] = sorted(found)[: given.files]
    indexed = feedline.Dataset.memory([p.read_bytes() for p in paths])
    as_packed = feedline.Dataset.memory([packed(p) for p in paths])
    for where in ("device", "host"):
        measure("indexed, " + where, indexed, given.turns, decode=where)
        measure("packed, " + where, as_packed, given.turns, decode=where)


if __name__ == "__main__":
    main()
