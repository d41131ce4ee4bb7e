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
import gc
import io
import pickle
import sys
from collections import deque
from collections.abc import MutableMapping
from types import ModuleType
from typing import Any, Callable, Dict, List, Optional, Set

import torch

from ..deferred import Deferred, deferred_of
from .recorded_views import Views
from .working_copy import is_plain_object

# Nothing changes these.
_ATOMS = frozenset(
    (int, float, complex, bool, str, bytes, range, type(None), type)
)
# Images of Pillow's that are more than their pixels.
_PALETTES = ("P", "PA")
# Containers that deep hold themselves.
_DEEPEST = 32
# What a deferred tensor has itself, or a parameter.
_OF_DEFERRED = frozenset(("_record", "_base", "_viewed", "_is_param"))
# Of an object that cannot be pickled.
_MOST_LOOKED_AT = 1000
_NOT_LOOKED_AT = (type, ModuleType)

Room = Callable[[Deferred], Any]


class Copies:
    """Of the samples of a batch; `made` has the copy of each object by its id.

    shared: something is in several samples. here: why no other process can
    have recorded them; "": it can. known: copies that are there, by id.
    """

    room: Room  # gives what stands for a deferred image

    def __init__(self, known: Optional[Dict[int, Any]] = None) -> None:
        self.shared = bool(known)
        self.here = "tensors of a sample share memory" if known else ""
        self.marked: List[Any] = []  # plain tensors with attributes
        self.views = Views()
        self.made: Dict[int, Any] = known or {}
        self.alive: List[Any] = []  # so that no id is another object's
        self._own: Set[int] = set()  # of these, in this sample

    def of(self, sample: Any, room: Room) -> Any:
        self.room = room
        self._own.clear()
        return self._of(sample, 0)

    def _of(self, thing: Any, depth: int) -> Any:
        kind = type(thing)
        if kind in _ATOMS:
            return thing
        if depth > _DEEPEST:
            return self._as_pickled(thing)
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
            made.update(
                (self._of(key, depth), self._of(thing[key], depth))
                for key in thing
            )
            return made
        deferred = deferred_of(thing)
        if deferred is not None:
            if deferred.form.mode not in _PALETTES:
                self.views.note_deferred(thing)
                return self._with_own(self.room(deferred), thing, depth)
            thing = deferred.real()
        real = getattr(thing, "_feedline_real", None)
        if real is not None:  # of an array that could not stay deferred
            return self._of(real, depth)
        memory = _memory_of(thing, kind)
        if memory is not None:
            if not _is_image(memory):
                self.views.note(thing)
            plain = kind is torch.Tensor and memory is not thing
            return self._with_own(memory, thing, depth) if plain else memory
        try:
            return self._of_object(thing, kind, depth)
        except Exception:  # of a class that has no such copies
            return self._as_pickled(thing)

    def _with_own(self, made: Any, thing: Any, depth: int) -> Any:
        """What stands for a tensor has the attributes that it was given."""
        if not isinstance(thing, torch.Tensor):
            return made
        own = vars(thing)
        if not _OF_DEFERRED.issuperset(own):
            if not hasattr(made, "__dict__"):
                self.here = "the program gives attributes to its tensors"
                return made
            if type(made) is torch.Tensor:
                self.marked.append(made)
            self._note(thing, made)
            for name in own.keys() - _OF_DEFERRED:
                setattr(made, name, self._of(own[name], depth))
        return made

    def _of_object(self, thing: Any, kind: Any, depth: int) -> Any:
        made: Any
        if isinstance(thing, tuple):
            parts = [self._of(part, depth) for part in thing]
            return kind(*parts) if hasattr(thing, "_fields") else kind(parts)
        if kind in (set, frozenset):
            return kind([self._of(part, depth) for part in thing])
        if kind is deque:
            made = deque(maxlen=thing.maxlen)
            self._note(thing, made)
            made.extend([self._of(part, depth) for part in thing])
            return made
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
        return self._as_pickled(thing)

    def _as_pickled(self, thing: Any) -> Any:
        """An object of a class that is not known here. Where it has deferred
        ones, it is a copy as a worker would send it."""
        if not gc.is_tracked(thing):
            return thing  # it holds no other objects
        parts: List[Any] = []
        try:
            data = _pickled(thing, parts)
        except Exception:
            return _without_deferred(thing)
        if not any(map(_is_deferred, parts)):
            return thing
        made = [self._of(part, _DEEPEST) for part in parts]
        return _Unpickler(data, made).load()


class _Pickler(pickle.Pickler):
    """Of what is not known; memory is left out."""

    def __init__(self, file: Any, parts: List[Any]) -> None:
        super().__init__(file, 5)
        self._parts = parts

    def persistent_id(self, thing: Any) -> Any:
        if not _has_memory(thing):
            return None
        self._parts.append(thing)
        return len(self._parts) - 1


class _Unpickler(pickle.Unpickler):
    def __init__(self, data: bytes, made: List[Any]) -> None:
        super().__init__(io.BytesIO(data))
        self._made = made

    def persistent_load(self, number: Any) -> Any:
        return self._made[number]


def _pickled(thing: Any, parts: List[Any]) -> bytes:
    file = io.BytesIO()
    _Pickler(file, parts).dump(thing)
    return file.getvalue()


def _has_memory(thing: Any) -> bool:
    numpy, image = sys.modules.get("numpy"), sys.modules.get("PIL.Image")
    return (
        isinstance(thing, torch.Tensor)
        or (numpy is not None and isinstance(thing, numpy.ndarray))
        or (image is not None and isinstance(thing, image.Image))
    )


def _is_deferred(thing: Any) -> bool:
    """Or was it, and only stands for a real one."""
    return hasattr(type(type(thing)), "_passes")


def _without_deferred(thing: Any) -> Any:
    """The object, which cannot be copied, with real ones in it."""
    seen: Set[int] = set()
    found = [thing]
    while found and len(seen) < _MOST_LOOKED_AT:
        one = found.pop()
        if id(one) in seen or isinstance(one, _NOT_LOOKED_AT):
            continue
        seen.add(id(one))
        if _is_deferred(one):
            one._make_real()
            if _is_deferred(one):
                raise TypeError(
                    "an array of an image that is put off is in a %s, which "
                    "cannot be pickled" % type(thing).__name__
                )
        elif not _has_memory(one):
            found += gc.get_referents(one)
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


def _is_image(thing: Any) -> bool:
    return hasattr(thing, "getbands")


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
