# SPDX-License-Identifier: Apache-2.0
"""A process of a job whose tuners tell each other what they know:
talking_rank.py DATA RANK WORLD RANKS takes batches until so many ranks are
heard, says "heard", and goes on until its input ends."""

from __future__ import annotations

import sys
import threading

import feedline


def main() -> None:
    data, (rank, world, ranks) = sys.argv[1], map(int, sys.argv[2:])
    ended = threading.Event()
    threading.Thread(
        target=lambda: (sys.stdin.read(), ended.set()), daemon=True
    ).start()
    words = "The tuners of %d ranks of its job tell each other" % ranks
    with feedline.Loader(
        feedline.Dataset.open("folder:%s" % data),
        feedline.Pipeline().add("random_resized_crop", width=16, height=16),
        world=world,
        rank=rank,
        batch_size=1,
        live=False,  # nobody is found on this machine
    ) as loader:
        told = False
        while not ended.is_set():
            batch = loader.next()
            if batch is not None:
                batch.release()
            if not told and words in loader.explain():
                told = True
                print("heard", flush=True)
    print("gone", flush=True)


if __name__ == "__main__":
    main()
