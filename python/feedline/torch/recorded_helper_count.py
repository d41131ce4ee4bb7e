# SPDX-License-Identifier: Apache-2.0
"""How many helper processes a loader has, and why (recorded_helpers.py).

There are none at first. Where the consumer waits, and the reading thread is in
Python all the time, one more is tried: it stays if more samples come out.
"""

from __future__ import annotations

import time
from typing import Any, Optional

# A look at the numbers takes so many seconds, and batches.
WINDOW_S = 1.0
WINDOW_BATCHES = 8
# Shares of a window's time, from which on Python is the limit.
IN_PYTHON, WAITING = 0.8, 0.25
# What one more has to bring.
GAIN = 1.07
# Looks until one that was taken back is tried again; then twice as many.
TRY_AGAIN = 30


class Helping:
    """Of one data set: what was found out, over its epochs."""

    def __init__(self) -> None:
        self.count = 0  # that are wanted
        self.alive = 0
        self.lost = 0
        self.why = ""
        # What stands in the way; what the data set does, "" for nothing, None
        # where nobody has asked yet.
        self.against: Optional[str] = None
        self.found: Optional[str] = None
        self._most = 0  # that were of use
        self._patience = TRY_AGAIN
        self._again = 0  # looks until then

    def may_grow(self, limit: int) -> bool:
        self._again = max(0, self._again - 1)
        most = min(limit, self._most) if self._again else limit
        return self.count < most

    def useless(self) -> None:
        """One more has brought nothing."""
        self._most = self.count
        self._again = self._patience
        self._patience *= 2

    def words(self) -> str:
        """A line of explain(); "" where there is nothing to say."""
        why = self.why if self.alive else self.against or self.why
        if not (self.alive or self.lost or why):
            return ""
        words = "- no helper processes"
        if self.alive:
            plural = "" if self.alive == 1 else "es"
            words = "- %d helper process%s beside the reading thread"
            words %= self.alive, plural
        if why:
            words += ": " + why
        if self.lost:
            words += "; %d ended by themselves, and lost nothing" % self.lost
        return words


class Tuner:
    """Of one iterator: looks at windows of time."""

    def __init__(self, helping: Helping, helpers: Any, limit: int) -> None:
        self._helping = helping
        self._helpers = helpers
        self._limit = limit
        self._before: Optional[float] = None  # samples/s without the newest
        self._settling = False
        self._begin()

    def _begin(self) -> None:
        self._since = time.perf_counter()
        self._batches = self._samples = 0
        self._waited = 0.0
        self._at = self._helpers.python_s

    def look(self, samples: int, waited_s: float) -> int:
        """A batch was delivered: how many helpers are to be added."""
        self._batches += 1
        self._samples += samples
        self._waited += waited_s
        elapsed = time.perf_counter() - self._since
        if elapsed < WINDOW_S or self._batches < WINDOW_BATCHES:
            return 0
        rate = self._samples / elapsed
        waiting = self._waited / elapsed
        in_python = (self._helpers.python_s - self._at) / elapsed
        self._begin()
        return self._decide(rate, waiting, in_python)

    def _decide(self, rate: float, waiting: float, in_python: float) -> int:
        helping = self._helping
        if not self._helpers.working:
            return 0
        if self._settling:
            self._settling = False
            return 0
        if self._before is not None:
            before, self._before = self._before, None
            gain = "%.0f samples/s instead of %.0f" % (rate, before)
            if rate < before * GAIN:
                helping.count -= 1
                helping.useless()
                helping.why = "one more made it " + gain
                return -1
            helping.why = "the last one made it " + gain
        limited = in_python >= IN_PYTHON and waiting >= WAITING
        if not limited or not helping.may_grow(self._limit):
            return 0
        self._before, self._settling = rate, True
        helping.count += 1
        return 1
