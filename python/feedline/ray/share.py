# SPDX-License-Identifier: Apache-2.0
"""Which batches are made elsewhere: as few as keep the consumer from waiting.

Of the consumer's time, w is the part in which it waits for batches made here,
and v that for batches made elsewhere. If batches come at rate T now, and the
part s of them from elsewhere, then here is room for T (1 - s), and without
waits the consumer would take T / (1 - w). So the part that cannot be made here
is

    s' = 1 - T (1 - s) / (T / (1 - w)) = 1 - (1 - s) (1 - w)

and in the same way s (1 - v) is what elsewhere can do. Where nobody waits, a
tenth less is tried: what can be made here is made here. A consumer that is much
faster than both waits nearly always, for one or the other, and would be sent
from one end to the other: so a step is limited, to half as much where the
direction changes.
"""

from __future__ import annotations

from typing import Optional

# Batches between two decisions; and waits that do not matter.
PERIOD = 16
WAITS_LITTLE = 0.01
LESS = 0.9
NOTHING = 0.01
STEP_MOST, STEP_LEAST, STEP_GROWS = 0.5, 0.02, 1.3


class Share:
    """The part of batches that is made elsewhere."""

    def __init__(self, fixed: Optional[float] = None) -> None:
        """fixed: it is this always."""
        self.value = fixed or 0.0
        self._fixed = fixed is not None
        self._credit = 0.0
        self._step = STEP_MOST
        self._rose = True
        self._forget()

    def _forget(self) -> None:
        self._batches = 0
        self._seconds = self._here = self._elsewhere = 0.0

    @property
    def is_all(self) -> bool:
        """Nothing is to be made here."""
        return self._fixed and self.value >= 1

    def wants(self) -> bool:
        """Whether the next batch should be made elsewhere."""
        return self._credit + self.value >= 1

    def place(self, elsewhere: bool) -> None:
        """It is. Where elsewhere had no room, no debt is kept."""
        credit = self._credit + self.value - (1.0 if elsewhere else 0.0)
        self._credit = min(max(credit, 0.0), 1.0)

    def see(self, elsewhere: bool, waited: float, seconds: float) -> None:
        """A batch was delivered: how long the consumer waited for it, of the
        seconds since the one before it."""
        self._batches += 1
        self._seconds += seconds
        if elsewhere:
            self._elsewhere += waited
        else:
            self._here += waited
        if self._batches >= PERIOD and self._seconds > 0:
            self._decide()
            self._forget()

    def _decide(self) -> None:
        if self._fixed:
            return
        here = min(self._here / self._seconds, 1.0)
        there = min(self._elsewhere / self._seconds, 1.0)
        if here + there < WAITS_LITTLE:
            wanted = self.value * LESS
        else:
            wanted = (1 - (1 - self.value) * (1 - here)) * (1 - there)
        self._step_to(wanted)
        if self.value < NOTHING:
            self.value = 0.0

    def _step_to(self, wanted: float) -> None:
        rises = wanted > self.value
        if rises == self._rose:
            self._step = min(self._step * STEP_GROWS, STEP_MOST)
        else:
            self._step = max(self._step / 2, STEP_LEAST)
        self._rose = rises
        change = wanted - self.value
        self.value += min(max(change, -self._step), self._step)
