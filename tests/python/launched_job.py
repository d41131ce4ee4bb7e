# SPDX-License-Identifier: Apache-2.0
"""One process of a job that a launcher started: launched_job.py OUT DATA
BATCHES [STATE] goes BATCHES batches on from a saved state, with the rank that
the launcher says, and writes what it saw to OUT/<rank>.json."""

from __future__ import annotations

import json
import sys
import zlib
from itertools import islice
from pathlib import Path
from typing import Dict, List

import feedline


def main() -> None:
    out, data, batches = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
    loader = feedline.Loader(
        feedline.Dataset.open("folder:%s" % data),
        feedline.Pipeline().add("random_resized_crop", width=16, height=16),
        world="auto",
        batch_size=3,
        workers=1,
        seed=11,
        epochs=1,
        dtype="u8",
        tuner="off",
    )
    if len(sys.argv) > 4:
        loader.restore(Path(sys.argv[4]).read_text())
    rank, world = loader.get("rank"), loader.get("world")
    seen: Dict[int, List[int]] = {}
    epoch = iter(loader)
    for batch in islice(epoch, batches):
        with batch:
            images = batch.images.numpy()
            for i, index in enumerate(batch.sample_index):
                crc = zlib.crc32(images[i].tobytes())
                seen[batch.place + i * world] = [int(index), crc]
    text = {"rank": rank, "world": world, "seen": seen, "state": loader.save()}
    (out / ("%d.json" % rank)).write_text(json.dumps(text))


if __name__ == "__main__":
    main()
