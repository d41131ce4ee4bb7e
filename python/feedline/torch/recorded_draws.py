# SPDX-License-Identifier: Apache-2.0
"""What a recorded sample draws its random numbers from.

    draws="engine"  generators seeded for the sample, from the epoch's seed, its
                    index and how often that occurred: any thread, any order
    draws="torch"   one set for the epoch, seeded as worker 0 of torch's seeds
                    its own, which runs on from sample to sample

Both are the thread's own (thread_draws.py), so those of the program are left
alone. Generators that the data set keeps run on in either case. `at` says
where those and the second kind are, which a failed sample and the state of a
loader go back to.
"""

from __future__ import annotations

import operator
import random
import sys
from typing import Any, Callable, Dict, List, Optional, Sequence
from zlib import crc32

import torch

from .. import thread_draws
from ._compat import numpy_seed
from .collated import SPREAD
from .global_draws import NUMPY, PYTHON, TORCH
from .part_codecs import Copy, copy_of, put_back
from .working_copy import Copier, is_generator

ENGINE = "engine"
_MASK = 2**64 - 1
# Of epochs and copies; odd, and unlike SPREAD.
_EPOCH, _COPY = 0xD6E8FEB86659FD93, 0xA0761D6478BD642F

# Of each generator by its name; those that the data set keeps have one name.
States = Dict[str, Any]
KEPT = "kept"


def number_of(index: Any) -> Any:
    """An index as an int, where it is one: numpy's, torch's."""
    try:
        return operator.index(index)
    except TypeError:
        return index


class KeptGenerators:
    """Those that a data set keeps for itself, such as albumentations' Compose.

    Where they are to be is written down when it is known, and done by the
    thread that runs the data set, before it does.
    """

    def __init__(self, dataset: Any = None) -> None:
        walk = Copier(False)
        walk.of(dataset, 0)
        found = [thing for thing in walk.alive if is_generator(thing)]
        own = torch.default_generator, getattr(random, "_inst", None)
        self._all: List[Any] = [
            one
            for one in found
            if not any(one is other for other in own) and copy_of(one)
        ]
        self._wanted: Optional[List[Copy]] = None

    def again(self) -> "KeptGenerators":
        """The same generators, and another place that they are to be at."""
        made = KeptGenerators()
        made._all = self._all
        return made

    def __bool__(self) -> bool:
        return bool(self._all) or self._wanted is not None

    def at(self) -> List[Any]:
        if self._wanted is not None:
            return self._wanted
        return [copy_of(one) for one in self._all]

    def go_to(self, copies: Sequence[Any]) -> None:
        self._wanted = [(name, data) for name, data in copies]

    def settle(self) -> None:
        copies = self._wanted
        if copies is None or not self._all:
            return
        own = [copy_of(one) for one in self._all]
        if [name for name, _ in copies] != [copy and copy[0] for copy in own]:
            raise ValueError(
                "the state was saved with a data set that keeps other random "
                "generators than this one: %s" % [name for name, _ in copies]
            )
        self._wanted = None
        for one, copy in zip(self._all, copies):
            put_back(one, copy)


def _never() -> int:
    raise AssertionError("generators were given")


class SeededDraws:
    """Of draws="engine"."""

    follows = False

    def __init__(
        self, seed: int, epoch: int, kept: Optional[KeptGenerators] = None
    ) -> None:
        self._given = seed, epoch
        self._kept = kept or KeptGenerators()
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
        self._kept.settle()
        return thread_draws.run(fn, index, lambda: self.seed_of(index, copy))

    def at(self) -> Optional[States]:
        """None where nothing runs on."""
        return {KEPT: self._kept.at()} if self._kept else None

    def go_to(self, states: Optional[States]) -> None:
        if states and KEPT in states:
            self._kept.go_to(states[KEPT])

    def again(self, states: Optional[States]) -> "SeededDraws":
        """The same, from these states on."""
        draws = SeededDraws(*self._given, self._kept.again())
        draws.go_to(states)
        return draws


class TorchDraws:
    """Of draws="torch": the generators of worker 0."""

    follows = True
    key = None

    def __init__(
        self, base_seed: int, kept: Optional[KeptGenerators] = None
    ) -> None:
        self._kept = kept or KeptGenerators()
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
        self._kept.settle()
        # A copy of the table, to which a library may be added inside.
        return thread_draws.run(fn, index, _never, dict(self._all))

    def at(self) -> States:
        found = {
            TORCH: self._torch.get_state(),
            PYTHON: self._random.getstate(),
        }
        if self._numpy is not None:
            found[NUMPY] = self._numpy.get_state(legacy=False)
        if self._kept:
            found[KEPT] = self._kept.at()
        return found

    def go_to(self, states: Optional[States]) -> None:
        if states is None:
            return
        self._torch.set_state(states[TORCH])
        self._random.setstate(states[PYTHON])
        if self._numpy is not None and NUMPY in states:
            self._numpy.set_state(states[NUMPY])
        if KEPT in states:
            self._kept.go_to(states[KEPT])

    def again(self, states: Optional[States]) -> "TorchDraws":
        """The same, from these states on."""
        draws = TorchDraws(0, self._kept.again())
        draws.go_to(states)
        return draws
