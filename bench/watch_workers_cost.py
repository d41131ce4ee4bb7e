# SPDX-License-Identifier: Apache-2.0
"""What it costs torch's workers that feedline.watch looks into them.

    python bench/watch_workers_cost.py [ROUNDS]

Rounds of a worker that computes for a fixed number of samples, looked into and
not, by turns; 20 of each unless given. The worker says in its last sample how
much CPU time its process has used by then, all threads: what looking costs is
in it, and how busy the machine is hardly is. The time from the first sample to
the last is told, too, but on a busy machine says little.
"""

import statistics
import sys
import time

import torch

import feedline

SAMPLES = 1200


def work(rounds):
    total = 0
    for number in range(rounds):
        total += number
    return total


class Computing(torch.utils.data.Dataset):
    """A loop in Python, and as much where the interpreter's lock is free."""

    def __init__(self):
        self.matrix = torch.ones(160, 160)
        self.began = None

    def __len__(self):
        return SAMPLES

    def __getitem__(self, index):
        if self.began is None:
            self.began = time.process_time(), time.perf_counter()
        work(40000)
        for _ in range(4):
            self.matrix @ self.matrix
        cpu, clock = self.began
        return torch.tensor(
            [time.process_time() - cpu, time.perf_counter() - clock],
            dtype=torch.float64,
        )


def seconds(looked_into):
    """CPU time, and time on the clock."""
    loader = torch.utils.data.DataLoader(
        Computing(), batch_size=8, num_workers=1
    )
    watched = feedline.watch(loader)
    if not looked_into:  # measured, and nothing else
        watched.iterator = lambda inner, make: watched.nothing(make)
    for last in watched:
        pass
    watched.close()
    return last[-1].tolist()


def main(rounds):
    print("torch %s, Python %s" % (torch.__version__, sys.version.split()[0]))
    found = [(seconds(False), seconds(True)) for _ in range(rounds)]
    for what, n in (("CPU time", 0), ("time on the clock", 1)):
        ratios = [with_it[n] / without[n] for without, with_it in found]
        print(
            "%s of a worker: %.2f s without, %.2f s with; ratio %.4f "
            "(quartiles %.4f, %.4f)"
            % (
                what,
                statistics.median(without[n] for without, _ in found),
                statistics.median(with_it[n] for _, with_it in found),
                statistics.median(ratios),
                *statistics.quantiles(ratios)[::2],
            )
        )


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 20)
