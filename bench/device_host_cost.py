#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What the host does for a sample that the device decodes (decode=device), in
a whole loader: CPU time of its threads and bytes over the bus, per sample.

    FEEDLINE_LIBRARY=build/libfeedline.so PYTHONPATH=python \\
    FEEDLINE_LIBCUDA=build/tests/transfer/libcuda_double.so \\
    CUDA_DOUBLE=decode=0,hash=0 bench/device_host_cost.py FOLDER [--files N]

On the tests' double of CUDA's driver no GPU is needed: its kernels do nothing
then. With a GPU leave out the last two variables. The index learns for some
epochs, the first of which are told; then one comes again and again. Each
number is the least of its turns, as others may use the machine. The other
threads are the one that calls next(), those that copy, and the double's.
"""

from __future__ import annotations

import argparse
import ctypes
import time
from pathlib import Path
from typing import Any, List

import feedline

SIDE = 224
BATCH = 50
LEARNED = 16  # epochs, in which the index comes to know the files


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
        workers, others = [], []
        for epoch in [*range(1, LEARNED), *(0 for _ in range(turns))]:
            count, began = 0, time.process_time()
            loader.seek(epoch, 0)
            loader.reset_stats()
            for batch in loader:
                count += batch.count
                batch.release()
            of_workers = loader.stats()["workers"]["cpu_seconds"]
            all_threads = time.process_time() - began
            workers.append(of_workers / count * 1e6)
            others.append((all_threads - of_workers) / count * 1e6)
        found = loader.stats()["transfer"]
    print(
        "%-18s %6.1f us of workers, %5.1f of all other threads; %d of %d "
        "samples left to the device, %.1f KB over the bus each; the first "
        "epochs took %.0f, %.0f and %.0f us of workers"
        % (
            what,
            min(workers[-turns:]),
            min(others[-turns:]),
            found["decoded"],
            count,
            found["copied_bytes"] / found["batches"] / BATCH / 1e3,
            *workers[:3],
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
