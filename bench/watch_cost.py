# SPDX-License-Identifier: Apache-2.0
"""feedline.watch against the truth: what it costs, and how exact it is.

    python bench/watch_cost.py [ROUNDS]

Exactness is measured around torch's DataLoader. The truth is a pair of clocks
(time.perf_counter, the clock that the watch reads) inside the watch, directly
around the call of the DataLoader iterator's own __next__, and around iter().
What lies between those clocks and the watch's is the watch's error. Samples
that sleep make the waits, in the calling thread (num_workers=0) or in two
processes.

Cost is CPU time of this thread a batch, the best of five rounds, so that a busy
machine does not count. Medians and ranges are of ROUNDS runs, 5 unless given.
"""

import statistics
import sys
import time

import torch

import feedline

BATCHES = 20000
STEP = 0.001  # of the consumer, in seconds


def cost(batch):
    """Microseconds that a watch adds to a batch."""
    batches, best = [batch] * BATCHES, float("inf")
    for _ in range(5):
        watched = feedline.watch(batches)
        times = [time.thread_time()]
        for source in (batches, watched):
            for _ in source:
                pass
            times.append(time.thread_time())
        best = min(best, times[2] - 2 * times[1] + times[0])
    return best / BATCHES * 1e6


class Sleepy(torch.utils.data.Dataset):
    """Samples that keep their worker for so long."""

    def __init__(self, seconds, length):
        self.seconds = seconds
        self.length = length

    def __len__(self):
        return self.length

    def __getitem__(self, index):
        time.sleep(self.seconds)
        return torch.zeros(3, 32, 32), index


class Clocked(torch.utils.data.DataLoader):
    """torch's, with a pair of clocks around iter() and each __next__."""

    truth = 0.0

    def __iter__(self):
        began = time.perf_counter()
        inner = super().__iter__()
        self.truth += time.perf_counter() - began
        return ClockedIterator(self, inner)


class ClockedIterator:
    def __init__(self, loader, inner):
        self.loader = loader
        self.inner = inner

    def __iter__(self):
        return self

    def __next__(self):
        began = time.perf_counter()
        try:
            return self.inner.__next__()
        finally:
            self.loader.truth += time.perf_counter() - began


def exactness(wait, workers, batches=200):
    """Measured wait / truth, and the mean of a wait in milliseconds."""
    sleep = wait if workers == 0 else workers * (wait + STEP)
    loader = Clocked(Sleepy(sleep, batches), num_workers=workers)
    watched = feedline.watch(loader)
    for _ in watched:
        time.sleep(STEP)
    measured = watched.stats()["stats"]["wait_seconds"]
    watched.close()
    return measured / loader.truth, loader.truth / batches * 1e3


def main(rounds):
    tensors = [torch.zeros(8, 3, 4, 4), torch.zeros(8)]
    print("torch %s" % torch.__version__)
    print("cost: %.1f us of CPU a batch of tensors" % cost(tensors))
    print("cost: %.1f us of CPU a batch of one number" % cost(1))
    for workers in (0, 2):
        for planted in (1, 5, 20):
            found = [exactness(planted / 1e3, workers) for _ in range(rounds)]
            ratios = [ratio for ratio, _ in found]
            print(
                "num_workers=%d, waits of %4.1f ms: measured %.4f of the "
                "truth (%.4f to %.4f)"
                % (
                    workers,
                    statistics.median(wait for _, wait in found),
                    statistics.median(ratios),
                    min(ratios),
                    max(ratios),
                )
            )


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 5)
