# SPDX-License-Identifier: Apache-2.0
"""Samples for the program, in place of those that the data set made.

What `__getitem__` returns is the data set's: it may hand out the same dict each
time, or an array that it fills anew, or keep what it returned in a cache. A
worker process of torch's sends copies, batch by batch: what several samples of
a batch have is one object there, and another one in the next batch. So it is
here, where something real stands for a deferred image: memory that the engine
fills. The data set's own objects never share that memory.
"""

from __future__ import annotations

import copy
import sys
from collections.abc import MutableMapping
from typing import Any, Callable, Dict, List, Optional, Set

import torch

from ..deferred import Deferred, deferred_of
from .working_copy import is_plain_object

# Nothing changes these.
_ATOMS = frozenset(
    (int, float, complex, bool, str, bytes, range, type(None), type)
)
# Images of Pillow's that are more than their pixels.
_PALETTES = ("P", "PA")
# Containers that deep hold themselves.
_DEEPEST = 32

Room = Callable[[Deferred], Any]


class Copies:
    """Of the samples of a batch; `made` has the copy of each object by its id.

    shared: something is in several samples.
    """

    room: Room  # gives what stands for a deferred image

    def __init__(self) -> None:
        self.shared = False
        self.made: Dict[int, Any] = {}
        self.alive: List[Any] = []  # so that no id is another object's
        self._own: Set[int] = set()  # of these, in this sample

    def of(self, sample: Any, room: Room) -> Any:
        self.room = room
        self._own.clear()
        return self._of(sample, 0)

    def _of(self, thing: Any, depth: int) -> Any:
        kind = type(thing)
        if kind in _ATOMS or depth > _DEEPEST:
            return thing
        found = self.made.get(id(thing))
        if found is None:
            found = self._copied(thing, kind, depth + 1)
            self._note(thing, found)
        elif found is not thing and id(thing) not in self._own:
            self.shared = True
        return found

    def _note(self, thing: Any, found: Any) -> None:
        """In front of its parts, which may have it again."""
        self.made[id(thing)] = found
        self._own.add(id(thing))
        self.alive.append(thing)

    def _copied(self, thing: Any, kind: type, depth: int) -> Any:
        made: Any
        if kind is tuple:
            return tuple([self._of(part, depth) for part in thing])
        if kind is list:
            made = []
            self._note(thing, made)
            made.extend([self._of(part, depth) for part in thing])
            return made
        if kind is dict:
            made = {}
            self._note(thing, made)
            made.update((key, self._of(thing[key], depth)) for key in thing)
            return made
        deferred = deferred_of(thing)
        if deferred is not None:
            if deferred.form.mode not in _PALETTES:
                return self.room(deferred)
            thing = deferred.real()
        real = getattr(thing, "_feedline_real", None)
        if real is not None:  # of an array that could not stay deferred
            thing, kind = real, type(real)
        memory = _memory_of(thing, kind)
        if memory is not None:
            return memory
        try:
            return self._of_object(thing, kind, depth)
        except Exception:
            return thing  # of a class that has no such copies

    def _of_object(self, thing: Any, kind: Any, depth: int) -> Any:
        if isinstance(thing, tuple):
            parts = [self._of(part, depth) for part in thing]
            return kind(*parts) if hasattr(thing, "_fields") else kind(parts)
        if isinstance(thing, (list, MutableMapping)):
            keys = range(len(thing)) if isinstance(thing, list) else list(thing)
            made = copy.copy(thing)
            self._note(thing, made)
            for key in keys:
                made[key] = self._of(thing[key], depth)
            return made
        if is_plain_object(kind):
            made = kind.__new__(kind)
            self._note(thing, made)
            for name, value in vars(thing).items():
                made.__dict__[name] = self._of(value, depth)
            return made
        return thing


def _memory_of(thing: Any, kind: type) -> Optional[Any]:
    """A copy of a tensor, an array, or an image of Pillow's."""
    if kind is torch.Tensor and hasattr(thing, "_is_param"):
        # A parameter made of a deferred image has lost its class.
        data = thing.detach().clone()
        return torch.nn.Parameter(data, thing.requires_grad)
    if kind is torch.Tensor and not thing.requires_grad:
        return thing.clone()
    if isinstance(thing, torch.Tensor):
        try:
            return copy.deepcopy(thing)
        except (RuntimeError, TypeError):  # of a class that has no way to
            return _like(thing, kind) if thing.is_leaf else thing
    numpy = sys.modules.get("numpy")
    if numpy is not None and isinstance(thing, numpy.ndarray):
        plain = kind is numpy.ndarray and thing.dtype.kind != "O"
        return thing.copy("K") if plain else copy.deepcopy(thing)
    image = sys.modules.get("PIL.Image")
    if image is not None and isinstance(thing, image.Image):
        # As pickled, that of a file keeps its class and lets go of its file.
        return thing.copy() if kind is image.Image else copy.deepcopy(thing)
    return None


def _like(thing: torch.Tensor, kind: Any) -> Any:
    """A copy of a tensor of a class of the program's."""
    plain = thing.detach().as_subclass(torch.Tensor).clone()
    made = plain.as_subclass(kind)
    made.__dict__.update(copy.deepcopy(thing.__dict__))
    return made.requires_grad_(thing.requires_grad)


def with_zeros(sample: Any) -> Any:
    """A copy whose tensors are zeros."""
    made = copy.deepcopy(sample)
    _clear(made, set())
    return made


def _clear(thing: Any, seen: Set[int]) -> None:
    if id(thing) in seen:
        return
    seen.add(id(thing))
    parts: Any = ()
    if isinstance(thing, torch.Tensor):
        thing.zero_()
    elif isinstance(thing, (tuple, list)):
        parts = thing
    elif isinstance(thing, MutableMapping):
        parts = thing.values()
    elif is_plain_object(type(thing)):
        parts = vars(thing).values()
    for part in parts:
        _clear(part, seen)
