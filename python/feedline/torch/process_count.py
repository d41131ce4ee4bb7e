# SPDX-License-Identifier: Apache-2.0
"""How many processes torch's own loader has with num_workers="auto".

As many as there are cores, at first. An epoch whose consumer never waited had
enough of them, one whose consumer waited too few: the smallest number that is
enough is between, and found by halves; what was too few is not tried again. A
process less is a core, and a copy of the data set, for the program itself.

The number changes between epochs alone, as processes do. The order is the
sampler's for any number. Random numbers are torch's for the number that there
is: batch b is made by worker b % n, seeded with the epoch's seed plus its own
number. A stream is given once by each worker, so its number stays.
"""

from __future__ import annotations

import time
from typing import Callable, Optional, TypeVar

T = TypeVar("T")

# From this share of the time on a consumer waits.
WAITING = 0.02
# What an epoch has to have for a judgement, behind the batches that were ahead
# of it: so many times those, and seconds.
ROUNDS = 3
SECONDS = 1.0


class Waits:
    """Of one epoch: how long its consumer waited. ahead: batches that are
    loaded before the first is asked for; they say nothing."""

    def __init__(self, ahead: int) -> None:
        self._ahead = ahead
        self._batches = 0
        self._waited = 0.0
        self._since = self._last = 0.0

    def of(self, function: Callable[[], T], ready: bool) -> T:
        """What function() returns, as one call of next()."""
        began = time.perf_counter()
        try:
            return function()
        finally:
            self.add(began, time.perf_counter(), ready)

    def add(self, began: float, ended: float, ready: bool) -> None:
        """It began and ended then. ready: its batch was there; to take that is
        no waiting for a process, however long it lasts."""
        self._batches += 1
        self._last = ended
        if self._batches <= self._ahead:
            self._since = ended
        elif not ready:
            self._waited += ended - began

    @property
    def share(self) -> Optional[float]:
        """Of its time; None where it was too short to tell."""
        elapsed = self._last - self._since
        if self._batches < (1 + ROUNDS) * self._ahead or elapsed < SECONDS:
            return None
        return self._waited / elapsed


class Processes:
    """Of one loader, over its epochs."""

    def __init__(self, cores: int) -> None:
        self.count = self._cores = cores
        self._too_few = 0  # the most that were
        self._waits: Optional[Waits] = None
        self.why = "one for each core"

    def epoch(self, prefetch_factor: int) -> Waits:
        """One begins, with `count` processes."""
        self._judge()
        self._waits = Waits(prefetch_factor * self.count)
        return self._waits

    def _judge(self) -> None:
        """What the last epoch says, if it says anything."""
        share = None if self._waits is None else self._waits.share
        if share is None:
            return
        had, plural = self.count, "" if self.count == 1 else "es"
        self.why = "with %d process%s the program waited %.0f %% of the time"
        self.why %= had, plural, 100 * share
        if share >= WAITING:
            self._too_few = had
            self.count = (had + self._cores + 1) // 2
        else:
            few = self._too_few if self._too_few < had else 0
            self.count = (few + had + 1) // 2

    def words(self) -> str:
        """A line of explain()."""
        plural = "" if self.count == 1 else "es"
        return "- num_workers=%d process%s: %s" % (self.count, plural, self.why)
