# SPDX-License-Identifier: Apache-2.0
"""What a recorded sample draws its random numbers from.

    draws="engine"  generators seeded for the sample, from the epoch's seed, its
                    index and how often that occurred: any thread, any order
    draws="torch"   one set for the epoch, seeded as worker 0 of torch's seeds
                    its own, which runs on from sample to sample

Both are the thread's own (thread_draws.py), so those of the program are left
alone. `at` says where the second kind is, which a failed sample and the state
of a loader go back to.
"""

from __future__ import annotations

import operator
import random
import sys
from typing import Any, Callable, Dict, Optional
from zlib import crc32

import torch

from .. import thread_draws
from ._compat import numpy_seed
from .collated import SPREAD
from .global_draws import NUMPY, PYTHON, TORCH

ENGINE = "engine"
_MASK = 2**64 - 1
# Of epochs and copies; odd, and unlike SPREAD.
_EPOCH, _COPY = 0xD6E8FEB86659FD93, 0xA0761D6478BD642F

# Of each generator by its name.
States = Dict[str, Any]


def number_of(index: Any) -> Any:
    """An index as an int, where it is one: numpy's, torch's."""
    try:
        return operator.index(index)
    except TypeError:
        return index


def _never() -> int:
    raise AssertionError("generators were given")


class SeededDraws:
    """Of draws="engine"."""

    follows = False

    def __init__(self, seed: int, epoch: int) -> None:
        self._seed = seed * SPREAD + (epoch + 1) * _EPOCH
        # What a pipeline of the engine's draws from.
        self.key = seed & _MASK, epoch & _MASK

    def seed_of(self, index: Any, copy: int) -> int:
        """64 bits for a sample, or for the indices of several."""
        if type(index) is not int:
            index = number_of(index)
        if type(index) is not int:
            index = crc32(repr(index).encode())
        mixed = (self._seed + (index + 1) * SPREAD + copy * _COPY) & _MASK
        for shift in (30, 27):  # neighbours have no bits in common
            mixed = ((mixed ^ (mixed >> shift)) * 0xBF58476D1CE4E5B9) & _MASK
        return int(mixed ^ (mixed >> 31))

    def run(self, fn: Callable[[Any], Any], index: Any, copy: int = 0) -> Any:
        return thread_draws.run(fn, index, lambda: self.seed_of(index, copy))

    def at(self) -> Optional[States]:
        return None

    def go_to(self, states: Optional[States]) -> None:
        pass


class TorchDraws:
    """Of draws="torch": the generators of worker 0."""

    follows = True
    key = None

    def __init__(self, base_seed: int) -> None:
        self._random = random.Random(base_seed)
        self._torch = torch.Generator()
        self._torch.manual_seed(base_seed)
        self._all: Dict[Any, Any] = {
            thread_draws.library(PYTHON): self._random,
            thread_draws.library(TORCH): self._torch,
        }
        self._numpy: Any = None
        if "numpy" in sys.modules:
            import numpy

            self._numpy = numpy.random.RandomState(numpy_seed(base_seed, 0))
            self._all[thread_draws.library(NUMPY)] = self._numpy

    def run(self, fn: Callable[[Any], Any], index: Any, copy: int = 0) -> Any:
        # A copy of the table, to which a library may be added inside.
        return thread_draws.run(fn, index, _never, dict(self._all))

    def at(self) -> States:
        found = {
            TORCH: self._torch.get_state(),
            PYTHON: self._random.getstate(),
        }
        if self._numpy is not None:
            found[NUMPY] = self._numpy.get_state(legacy=False)
        return found

    def go_to(self, states: Optional[States]) -> None:
        if states is None:
            return
        self._torch.set_state(states[TORCH])
        self._random.setstate(states[PYTHON])
        if self._numpy is not None and NUMPY in states:
            self._numpy.set_state(states[NUMPY])
