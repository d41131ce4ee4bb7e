# SPDX-License-Identifier: Apache-2.0
"""Epochs of several loaders in turn, on one core or more.

What other processes do only adds to CPU time, so its least is printed; rates by
the clock are medians, and one loader is held against another by the rates of
the same round.
"""

from __future__ import annotations

import os
import statistics
import time

import torch
from peer import cpu_seconds

CORES = sorted(os.sched_getaffinity(0))


def pin(cores):
    """All that is loaded runs on the last so many of the cores we may use."""
    os.sched_setaffinity(0, CORES[-cores:])
    torch.set_num_threads(1)


# What data sets call the images of a batch that is a dict.
_IMAGES = ("img", "gt")


def count_of(batch):
    if isinstance(batch, dict):
        return len(next(batch[name] for name in _IMAGES if name in batch))
    return len(batch[0])


def epoch(loader):
    """(microseconds of CPU a sample, workers' included; images/s)."""
    cpu, begin, n = cpu_seconds(), time.perf_counter(), 0
    for batch in loader:
        n += count_of(batch)
    seconds = time.perf_counter() - begin
    return (cpu_seconds() - cpu) / n * 1e6, n / seconds


def in_turn(loaders, rounds):
    """{name: [(CPU, images/s) of each round]}; the first epoch is left out."""
    found = {name: [] for name in loaders}
    for loader in loaders.values():
        epoch(loader)
    for _ in range(rounds):
        for name, loader in loaders.items():
            found[name].append(epoch(loader))
    return found


def print_table(found):
    for name, each in found.items():
        cpu, speed = zip(*each)
        print(
            "%-16s %6.0f us of CPU %7.0f images/s (%.0f)"
            % (name, min(cpu), statistics.median(speed), max(speed))
        )


def held_against(found, ours, theirs):
    """(by CPU, by the clock): how many times as fast as the best of theirs."""
    least = {
        name: min(cpu for cpu, _ in found[name]) for name in (ours, *theirs)
    }
    ratios = [
        mine / max(found[name][i][1] for name in theirs)
        for i, (_, mine) in enumerate(found[ours])
    ]
    best = min(least[name] for name in theirs)
    return best / least[ours], statistics.median(ratios)


def print_held_against(found, ours, theirs, called):
    by_cpu, by_clock = held_against(found, ours, theirs)
    print(
        "%s: %.2f times %s by the clock, %.2f by CPU"
        % (ours, by_clock, called, by_cpu)
    )


def least_us(function, n, passes=10):
    """Of a call, in microseconds of CPU."""
    taken = []
    for _ in range(passes):
        begin = time.thread_time()
        for i in range(n):
            function(i)
        taken.append((time.thread_time() - begin) / n)
    return min(taken) * 1e6
