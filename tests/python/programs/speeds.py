# SPDX-License-Identifier: Apache-2.0
"""Images/s of a program on torch's loader and on ours, and Python's cost."""

from __future__ import annotations

import statistics
import time
import warnings
from typing import Any, Dict, List, Optional

import feedline.torch

from programs.held_against_torch import DRAWS, Case, Theirs, Verdict, seed

THEIR_WORKERS = (1, 2, 3)
THEIRS = tuple("torch %d" % n for n in THEIR_WORKERS)
OUR_WORKERS = 2


def samples_in(batch: Any) -> int:
    """How many samples a batch has, by its first part."""
    while isinstance(batch, (dict, list, tuple)) and len(batch):
        values = list(batch.values()) if isinstance(batch, dict) else batch
        if not isinstance(values[0], (dict, list, tuple)) and not hasattr(
            values[0], "shape"
        ):
            return len(values)
        batch = values[0]
    return len(batch)


def seconds_of_epoch(loader: Any) -> float:
    begin = time.perf_counter()
    for _ in loader:
        pass
    return time.perf_counter() - begin


def measure(case: Case, verdict: Verdict, rounds: int) -> None:
    """Fills in the speed: medians, the loaders taking turns.

    Each loader has had an epoch before, and its workers persist; torch's best
    number of them counts.
    """
    loaders: Dict[str, Any] = {}
    for name, n in zip(THEIRS, THEIR_WORKERS):
        loaders[name] = torch_loader(case.make(), n)
    kept: Dict[str, Any] = {} if case.on_both else {"persistent_workers": True}
    loaders["ours"] = case.ours(OUR_WORKERS, **kept)
    if DRAWS and not case.on_both:
        loaders["torch's draws"] = case.ours(OUR_WORKERS, draws="torch", **kept)
    times: Dict[str, List[float]] = {name: [] for name in loaders}
    samples = 0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", feedline.torch.FallbackWarning)
        seed()
        for name in list(loaders):
            try:
                counts = [samples_in(batch) for batch in loaders[name]]
            except ValueError:  # webdataset's, of more workers than shards
                if name not in THEIRS[1:]:
                    raise
                del loaders[name], times[name]
            samples = samples or sum(counts)
        for _ in range(rounds):
            for name, loader in loaders.items():
                times[name].append(seconds_of_epoch(loader))
    speed = {n: samples / statistics.median(t) for n, t in times.items()}
    best = max(speed[name] for name in THEIRS if name in speed)
    verdict.speed = dict(speed, torch=best, ratio=speed["ours"] / best)
    verdict.python_us = python_cost(case)


def torch_loader(made: Any, workers: int) -> Any:
    return Theirs(
        made.dataset,
        num_workers=workers,
        persistent_workers=True,
        **made.arguments,
    )


def python_cost(case: Case, samples: int = 60) -> Optional[float]:
    """Microseconds of Python for a recorded sample, of this thread's CPU."""
    try:
        from feedline.deferred import Recorder
    except ImportError:
        return None
    data = case.make().dataset
    if not hasattr(data, "__len__"):
        return None
    recorder, times = Recorder(), []
    many = len(data)
    for i in range(samples + 10):
        begin = time.thread_time()
        recorder.run(data.__getitem__, i % many)
        times.append(time.thread_time() - begin)
    return statistics.median(times[10:]) * 1e6
