# SPDX-License-Identifier: Apache-2.0
"""What does a loader keep you waiting for? Any iterable will do:

    python watch_any_loader.py

In the place of another loader stands a generator that sleeps 10 ms a batch.
"""

import time

import feedline


def their_loader(batches=120):
    for number in range(batches):
        time.sleep(0.010)
        yield [number] * 32


def main():
    loader = feedline.watch(their_loader(), name="their loader", batch_size=32)
    for _ in loader:
        with loader.phase("train"):
            time.sleep(0.002)
    print(loader.explain())


if __name__ == "__main__":
    main()
