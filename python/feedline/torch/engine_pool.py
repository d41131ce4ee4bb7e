# SPDX-License-Identifier: Apache-2.0
"""The engines of a DataLoader: who has one, and which one waits for work.

An iterator borrows an engine (a feedline.Loader with its threads and buffers)
for an epoch. What comes back is stopped and kept for the next one, so epochs
do not make threads; one at most waits, so two iterators at a time cost what two
engines cost only while there are two.

A loader has one pool and never copies it: a pickled loader begins with an empty
one, a `__dict__` that was copied shares it.
"""

from __future__ import annotations

import math
import os
import threading
import weakref
from typing import Any, Callable, Dict, Hashable, Mapping, Optional, Tuple

import torch

import feedline

from .arguments import AUTO, DTYPES
from .native import Plan


class Lease:
    """An engine while an iterator has it. Given back once, from any thread.

    held: what the engine's threads write to, until they have stopped.
    """

    held: Any = None

    def __init__(
        self, pool: "EnginePool", key: Hashable, engine: feedline.Loader
    ) -> None:
        self._pool = pool
        self._key = key
        self._engines = [engine]  # until it is given back
        self._process = os.getpid()
        self._spoilt = False

    @property
    def engine(self) -> feedline.Loader:
        return self._engines[0]

    def spoil(self) -> None:
        """The engine ends when it is given back: its GPU had an error."""
        self._spoilt = True

    def give_back(self) -> None:
        """Work that was under way ends; batches that are held stay valid."""
        try:
            engine = self._engines.pop()  # by one thread, if several race
        except IndexError:
            return
        # In a forked child the engine is the parent's.
        if os.getpid() != self._process:
            return
        if self._spoilt:
            engine.close()
        else:
            self._pool._take_back(self._key, engine)
        self.held = None


class EnginePool:
    """Makes engines, and keeps one that nobody has."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._idle: Optional[Tuple[Hashable, feedline.Loader]] = None
        self._last: Optional["weakref.ref[feedline.Loader]"] = None
        self._process = os.getpid()

    @property
    def engine(self) -> Optional[feedline.Loader]:
        """The one that was borrowed last, while it is there."""
        if self._process != os.getpid():
            return None
        return self._last() if self._last is not None else None

    def borrow(
        self, key: Hashable, make: Callable[[], feedline.Loader]
    ) -> Lease:
        """An engine for this key: the one that waits, if it has it, or new."""
        self._forget_the_parents()
        with self._lock:
            idle, self._idle = self._idle, None
        if idle is not None and idle[0] == key:
            engine = idle[1]
        else:
            if idle is not None:
                idle[1].close()
            engine = make()
        self._last = weakref.ref(engine)
        return Lease(self, key, engine)

    def _take_back(self, key: Hashable, engine: feedline.Loader) -> None:
        try:
            engine.stop()
        except feedline.Error:
            engine.close()
            return
        with self._lock:
            former, self._idle = self._idle, (key, engine)
        if former is not None:
            former[1].close()

    def _forget_the_parents(self) -> None:
        """After a fork: threads and locks of the parent's are not ours."""
        if self._process == os.getpid():
            return
        self._lock = threading.RLock()
        self._idle = self._last = None
        self._process = os.getpid()

    def __reduce__(self) -> Any:
        return EnginePool, ()


# ---- Making an engine -------------------------------------------------------
#
# torch takes the memory that num_workers x prefetch_factor batches need,
# however much that is; an engine has a budget, by default a tenth of the
# machine's memory, and refuses a depth beyond it. A DataLoader that works with
# torch must work here too. The depth only affects when batches arrive, never
# what is in them, so it gives way; without a budget from the user, the budget
# grows to a few batches.

# One that is made, one that is ready, and two that the program has: its own
# and the one before it.
BATCHES_AT_LEAST = 4
LABEL_BYTES = 8
PADDING_BYTES = 65536  # what a slot has beside its images


def fitting_engine(plan: Plan, options: Mapping[str, Any]) -> feedline.Loader:
    """An engine with these options; with less depth where memory asks for it.

    Raises what feedline.Loader raises, RangeError if a budget that was given
    has no room for a few batches.
    """
    wanted: Dict[str, Any] = dict(options)
    error = None
    for smaller in ({}, {"depth": AUTO}, _with_room(plan, options)):
        wanted.update(smaller)
        try:
            return feedline.Loader(plan.dataset, plan.pipeline, **wanted)
        except feedline.RangeError as refused:
            if "memory_budget" not in str(refused):
                raise
            error = error or refused
    assert error is not None
    raise error


def _with_room(plan: Plan, options: Mapping[str, Any]) -> Dict[str, Any]:
    """A budget for the fewest batches, where none was given."""
    if "memory_budget" in options or "FEEDLINE_MEMORY_BUDGET" in os.environ:
        return {}
    element = torch.empty((), dtype=DTYPES[options.get("dtype") or "f32"])
    sample = options.get("max_sample_bytes") or (
        math.prod(plan.shape) * element.element_size()
    )
    batch = (sample + LABEL_BYTES) * options["batch_size"] + PADDING_BYTES
    return {"depth": 1, "memory_budget": BATCHES_AT_LEAST * batch}
