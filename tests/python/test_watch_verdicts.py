# SPDX-License-Identifier: Apache-2.0
"""feedline.watch around torch's loader reaches the verdict that the native
ledger reaches on the same data set.

Causes are planted in proportion to what the machine takes, not in seconds.
tests/profiler/verdict/test_verdict_watch.c compares the rules on the same
numbers.
"""

from __future__ import annotations

import time
from typing import Any, Callable, List

import pytest

from torch_cases import Ours, T, Theirs, folder

import feedline
from feedline.transforms import Python

ENOUGH = 64  # batches, for a verdict
SAMPLES = 4000


def sleeps(pixels: Any) -> Any:
    time.sleep(0.03)
    return pixels


def does_nothing(pixels: Any) -> Any:
    return pixels


def loaders(root: Any, step: Callable[[Any], Any]) -> List[Any]:
    """The native loader, and torch's under watch, on the same data set."""
    chain = [T.Resize((8, 8)), Python(step), T.PILToTensor()]
    data = folder(root / "images", T.Compose(chain))
    order = [number % len(data) for number in range(SAMPLES)]
    ours = Ours(data, batch_size=4, sampler=order, num_workers=2)
    theirs = Theirs(data, batch_size=4, sampler=order, num_workers=2)
    return [ours, feedline.watch(theirs)]


def processes_were_seen(loader: Any) -> bool:
    """They are looked at once a second; the native ledger needs none."""
    watch = loader.stats()["watch"]
    return watch is None or bool(watch["processes"])


def first_code(loader: Any, consume: Callable[[int], None]) -> str:
    """The verdict behind the first batch, which waits for workers to start."""
    batches = iter(loader)
    next(batches)
    loader.reset_stats()
    for number, _ in enumerate(batches):
        consume(number)
        if number >= ENOUGH and processes_were_seen(loader):
            break
    verdict = loader.verdict
    if verdict.code == "OVERSUBSCRIBED":
        evidence = verdict.evidence  # of workers, or of the thread that waits
        lacked = evidence.get("off_core", evidence.get("queued", 0))
        assert lacked >= 0.2, "nobody had the cores"
        pytest.skip("other processes have the cores: %s" % verdict.sentence)
    return str(verdict.code)


def test_starved_by_samples_that_sleep(tmp_path: Any) -> None:
    ours, theirs = loaders(tmp_path, sleeps)
    codes = [first_code(one, lambda number: None) for one in (ours, theirs)]
    assert ours.native, ours.fallback_reason
    assert codes == ["PREP_BOUND_TUNABLE"] * 2
    assert ours.verdict.level == theirs.verdict.level == "HIGH"
    assert "num_workers=" in theirs.verdict.action
    assert "slept or waited" in theirs.verdict.sentence
    for one in (ours, theirs):
        assert one.verdict.predicted_gain > 0.05
        assert "\nPredicted: up to " in one.explain()


class Pauses:
    """A consumer that does nothing for seven batches, and pauses for 20 times
    as long: so it pauses for most of the time on any machine."""

    def __init__(self) -> None:
        self.since = time.perf_counter()

    def __call__(self, number: int) -> None:
        if number % 8 == 7:
            now = time.perf_counter()
            time.sleep(max(20 * (now - self.since), 0.05))
            self.since = time.perf_counter()


def test_a_consumer_that_pauses(tmp_path: Any) -> None:
    codes = []
    ours, theirs = loaders(tmp_path, does_nothing)
    for one in (ours, theirs):
        codes.append(first_code(one, Pauses()))
        stats = one.stats()["stats"]
        assert stats["user_seconds"] > 0.8 * stats["wall_seconds"]
    assert ours.native, ours.fallback_reason
    assert codes == ["CONSUMER_HOST_BOUND"] * 2


def test_without_workers_advice_is_to_have_some(tmp_path: Any) -> None:
    """The thread that waits makes the batches, and sleeps."""
    loader = Theirs(
        folder(tmp_path / "images", T.Compose([sleeps, T.ToTensor()])),
        sampler=[0] * (ENOUGH + 8),
    )
    watched = feedline.watch(loader)
    assert first_code(watched, lambda number: None) == "PREP_BOUND_TUNABLE"
    assert "Set num_workers=" in watched.verdict.action
    assert "PREP_BOUND_TUNABLE" in watched.explain()
