# SPDX-License-Identifier: Apache-2.0
"""What changes inside a sampler from epoch to epoch: noted, and put back.

A sampler is whatever its class makes of it: it may have a generator or make one
when it is first iterated, count its epochs, shuffle a list of its own, hold an
iterator, wrap another sampler. So nothing is asked of its class. Its objects
are walked through, from attribute to attribute, and of each part that
part_codecs.py knows a copy is taken. Data sets are left out, save for a sampler
inside of one.

A copy is kept of what draws random numbers, and of what is another than when
this package first saw the object that has it. What never changed is how the
sampler was set up (its batch size, its rank), and that is the business of
whoever sets it up.

A part that comes into being late is missing in a new process. There one batch
is pulled and forgotten, so that it appears, and then has its copy put in place.
"""

from __future__ import annotations

import ast
import functools
import hashlib
import pickle
import random
import sys
import types
import weakref
from collections import deque
from dataclasses import dataclass, field
from typing import Any, Callable, Deque, Dict, Iterator, List, Optional, Tuple

import torch
from torch.utils.data import DataLoader, Dataset, Sampler

from .part_codecs import CODECS, MADE_ANEW, Copy, copy_of, put_back

# Copies of parts, by the path from the root to each.
Copies = Dict[str, Copy]

# A sampler of more objects is not looked through to its end.
OBJECTS_MAX = 10000
# How a larger part was at first is known by a hash only.
KEPT_MAX = 1 << 20

# Marks in place of a copy. Of objects with parts of their own; of iterators
# that do not say where they are, or have ended; of a thing that is at another
# path, too, which it names.
ABSENT: Copy = ("absent", b"")
OBJECT: Copy = ("object", b"")
RUNNING: Copy = ("running", b"")
ENDED: Copy = ("ended", b"")
ALSO = "also"
# A thing that can be compared, and not be made again.
UNKNOWN = "unknown"


# ---- What was there at first -----------------------------------------------


@dataclass
class First:
    """Copies of what an object had when it was first walked through."""

    copies: Copies = field(default_factory=dict)
    complete: bool = False
    reference: Any = None

    def of(self, path: str, copy: Copy) -> Copy:
        if path not in self.copies and self.complete:
            return ABSENT
        return self.copies.setdefault(path, _short(copy))


_firsts: Dict[int, First] = {}


def _first_of(thing: Any) -> Optional[First]:
    """None for an object that can not be remembered."""
    known = _firsts.get(id(thing))
    if known is not None and known.reference() is thing:
        return known
    key = id(thing)
    try:
        reference = weakref.ref(thing, lambda _: _firsts.pop(key, None))
    except TypeError:
        return None
    made = _firsts[key] = First(reference=reference)
    return made


def _short(copy: Copy) -> Copy:
    if len(copy[1]) <= KEPT_MAX:
        return copy
    return "hash", hashlib.blake2b(copy[1], digest_size=16).digest()


# ---- Parts -----------------------------------------------------------------


# What a thing raises that is given a state of another kind.
_REFUSED = (ValueError, TypeError, RuntimeError, LookupError, AttributeError)


@dataclass
class Part:
    """A thing inside a sampler: an attribute or item of `home`."""

    thing: Any
    home: Any
    key: Any
    copy: Copy
    first: Copy

    @property
    def draws(self) -> bool:
        codec = CODECS.get(self.copy[0])
        return codec is not None and codec.draws

    @property
    def saved(self) -> Copy:
        """The copy in a state."""
        if self.copy[0] != UNKNOWN:
            return self.copy
        return UNKNOWN, type(self.thing).__name__.encode()

    @property
    def changed(self) -> bool:
        return _short(self.copy) != self.first

    def put(self, copy: Copy) -> None:
        try:
            thing = put_back(self.thing, copy)
        except _REFUSED as error:
            raise ValueError(
                "the state is damaged: no %s is made of %s's copy (%s)"
                % (copy[0], self.key, error)
            ) from None
        if thing is not self.thing or self.copy == ABSENT:
            _set(self.home, self.key, thing)

    def reset(self) -> None:
        """As it was at first."""
        if self.first == ABSENT:
            _remove(self.home, self.key)
        elif self.first[0] in CODECS:
            self.put(self.first)
        elif self.copy[0] in CODECS:
            raise ValueError(
                "the sampler has changed since it was made (%s), and cannot "
                "be taken back: load the state into a new one" % self.key
            )


def _set(home: Any, key: Any, thing: Any) -> None:
    if isinstance(home, types.CellType):
        home.cell_contents = thing
    elif isinstance(home, (list, dict, deque)) and not isinstance(key, str):
        home[key] = thing
    elif isinstance(home, dict) and key not in getattr(home, "__dict__", {}):
        home[key] = thing
    elif isinstance(home, type):
        setattr(home, key, thing)
    else:
        object.__setattr__(home, key, thing)


def _remove(home: Any, key: Any) -> None:
    for items in (home, getattr(home, "__dict__", None)):
        if isinstance(items, dict) and key in items:
            del items[key]
            return


# ---- Walking ---------------------------------------------------------------

Child = Tuple[str, Any, Any, Any]  # step of a path, home, key, thing

_NOT_ENTERED = (type, types.ModuleType, torch.nn.Module, DataLoader)
_LIBRARIES = ("builtins", "abc", "typing", "collections", "torch")


def _children(thing: Any) -> Iterator[Child]:
    """What an object has: attributes, items, variables of its functions."""
    if isinstance(thing, types.FunctionType):
        names = thing.__code__.co_freevars
        for name, cell in zip(names, thing.__closure__ or ()):
            if cell != types.CellType():
                yield name, cell, None, cell.cell_contents
        return
    if isinstance(thing, (types.MethodType, types.BuiltinMethodType)):
        yield "self", thing, None, thing.__self__
        return
    if isinstance(thing, functools.partial):
        yield "function", thing, None, thing.func
        yield "arguments", thing, None, thing.args
        yield "keywords", thing, None, thing.keywords
    if isinstance(thing, dict):
        for key, one in list(thing.items()):
            yield repr(key), thing, key, one
    elif isinstance(thing, (list, tuple, deque)):
        for number, one in enumerate(thing):
            yield str(number), thing, number, one
    within = isinstance(thing, Dataset) and not isinstance(thing, Sampler)
    for name, one in _attributes(thing):
        if not within or isinstance(one, Sampler):
            yield name, thing, name, one
    if not within:
        yield from _of_classes(type(thing))


def _attributes(thing: Any) -> Iterator[Tuple[str, Any]]:
    yield from list(getattr(thing, "__dict__", {}).items())
    for kind in type(thing).__mro__:
        slots = kind.__dict__.get("__slots__", ())
        for name in (slots,) if isinstance(slots, str) else slots:
            if not name.startswith("__") and hasattr(thing, name):
                yield name, getattr(thing, name)


def _of_classes(kind: type) -> Iterator[Child]:
    """What all objects of a class of the program's share."""
    for one in kind.__mro__:
        if one.__module__.split(".")[0] in _LIBRARIES:
            continue
        for name, thing in list(vars(one).items()):
            if isinstance(thing, types.FunctionType):
                yield from _generators_of_a_module(thing)
            elif not (name.startswith("_") or hasattr(thing, "__get__")):
                yield "%s.%s" % (one.__name__, name), one, name, thing


def _generators_of_a_module(function: types.FunctionType) -> Iterator[Child]:
    """Those that a method finds among the variables of its module."""
    names = function.__globals__
    for name in function.__code__.co_names:
        if name in names and draws(names[name]):
            yield "%s.%s" % (function.__module__, name), names, name, names[
                name
            ]


def _is_global(thing: Any) -> bool:
    """torch's, Python's or numpy's global generator."""
    numpy = sys.modules.get("numpy")
    return (
        thing is torch.default_generator
        or thing is getattr(random, "_inst", None)
        or (numpy is not None and thing is numpy.random.mtrand._rand)
    )


def draws(thing: Any) -> bool:
    """Whether it is a random generator."""
    return any(one.draws and one.fits(thing) for one in CODECS.values())


_IMMUTABLE = (type(None), bool, int, float, str, bytes, complex, range)


def _copy(path: str, thing: Any, seen: Dict[int, Tuple[str, Any]]) -> Any:
    """A copy or a mark; None for what does not count, or was met before."""
    if type(thing) in _IMMUTABLE:
        return copy_of(thing)
    if id(thing) in seen:
        where = seen[id(thing)][0]
        return (ALSO, where.encode()) if where else None
    if isinstance(thing, _NOT_ENTERED) or _is_global(thing):
        return None
    copy = copy_of(thing)
    codec = None if copy is None else CODECS[copy[0]]
    # Of shared data the first path is enough.
    draws = codec is not None and codec.draws
    seen[id(thing)] = (path if draws else "", thing)
    if copy is not None:
        return copy
    if hasattr(type(thing), "__next__") and not hasattr(thing, "__dict__"):
        ended = getattr(thing, "gi_frame", thing) is None
        return ENDED if ended else RUNNING
    if hasattr(thing, "__dict__") or any(True for _ in _children(thing)):
        return OBJECT
    return _unknown(thing)


def _unknown(thing: Any) -> Copy:
    """Of a thing without parts, by which only its change is seen."""
    try:
        return UNKNOWN, pickle.dumps(thing)
    except Exception:
        return UNKNOWN, b""  # a lock, a file


@dataclass
class _Place:
    """Where to look. first, rest: of the nearest object that is remembered,
    and the path from there."""

    path: str
    home: Any
    key: Any
    thing: Any
    first: First
    rest: str


class Parts:
    """Those of a sampler, and of the loader's generator.

    roots: by name; "sampler" is the one to iterate. others: the data set, and
    whatever else is not looked into. trial: pulls once from the sampler, so
    that what comes into being late is there.
    """

    def __init__(
        self,
        roots: Dict[str, Any],
        others: List[Any],
        trial: Callable[[], None],
    ) -> None:
        self.roots = roots
        self.others = others
        self.trial = trial
        self.walk()  # so that what is there now was there at first

    def walk(self) -> Dict[str, Part]:
        found: Dict[str, Part] = {}
        firsts: List[First] = []
        seen = {id(thing): ("", thing) for thing in self.others}
        places: Deque[_Place] = deque()
        for name, thing in self.roots.items():
            places.append(_Place(name, self.roots, name, thing, First(), ""))
        while places and len(seen) < OBJECTS_MAX:
            at = places.popleft()
            copy = _copy(at.path, at.thing, seen)
            if copy is None:
                continue
            first = at.first.of(at.rest, copy)
            found[at.path] = Part(at.thing, at.home, at.key, copy, first)
            if copy == OBJECT:
                places.extend(self._inside(at, firsts))
        for one in firsts:
            one.complete = True
        return found

    def _inside(self, at: _Place, firsts: List[First]) -> Iterator[_Place]:
        firsts.append(self._owner(at, None) or at.first)
        for step, home, key, thing in _children(at.thing):
            path = "%s/%s" % (at.path, step)
            rest = step
            first = self._owner(at, home)
            if first is None:
                first, rest = at.first, "%s/%s" % (at.rest, step)
            firsts.append(first)
            yield _Place(path, home, key, thing, first, rest)

    def _owner(self, at: _Place, home: Any) -> Optional[First]:
        """A class, or a sampler, which other loaders may have had before.
        Other objects, and samplers that come late, are their owner's."""
        if isinstance(home, type):
            return _first_of(home)
        thing = at.thing
        if id(thing) in _firsts:
            return _first_of(thing)
        root = any(thing is one for one in self.roots.values())
        if root or (isinstance(thing, Sampler) and not at.first.complete):
            return _first_of(thing)
        return None

    def copies(self) -> Copies:
        """Of the parts that a state needs."""
        return {
            path: part.saved
            for path, part in self.walk().items()
            if part.draws
            or part.copy[0] in (ALSO, RUNNING[0])
            or (part.copy[0] in (*CODECS, UNKNOWN) and part.changed)
        }

    def copies_unlike(self, others: Copies) -> Copies:
        """Of the parts that are not as those are."""
        found = {}
        for path, part in self.walk().items():
            same = others.get(path) == part.copy
            needed = path in others or part.draws or part.changed
            if part.copy[0] in CODECS and needed and not same:
                found[path] = part.copy
        return found

    # ---- Putting back -----------------------------------------------------

    def put(self, copies: Copies) -> None:
        """Those alone; the others stay as they are."""
        parts = self.walk() if copies else {}
        for path, copy in copies.items():
            if copy[0] in CODECS and _has_place(parts, path, copy):
                _place(parts, path).put(copy)

    def restore(self, copies: Copies) -> None:
        """ValueError if something is missing that was there."""
        parts = self.walk()
        if not all(_has_place(parts, *one) for one in copies.items()):
            self.trial()
            parts = self.walk()
        for path, copy in copies.items():
            if not _has_place(parts, path, copy):
                raise ValueError(_missing(path, copy))
        for path, part in parts.items():
            if part.changed and path not in copies:
                if not any(one.startswith(path + "/") for one in copies):
                    part.reset()
        self.put(copies)

    def restore_anew(self, copies: Copies) -> None:
        """Before the sampler is iterated."""
        for path, copy in copies.items():
            if copy[0] == UNKNOWN:
                raise ValueError(_missing(path, copy))
        self.restore(copies)
        if RUNNING in copies.values():
            self.refuse_running(copies)
            self.restore(copies)

    def refuse_running(self, copies: Copies) -> None:
        """ValueError if an iterator that does not say where it is serves more
        than one epoch. Leaves the sampler somewhere."""
        self.trial()
        before = self.walk()
        self.trial()
        after = self.walk()
        for path, copy in copies.items():
            if copy == RUNNING and path in before and path in after:
                if before[path].thing is after[path].thing:
                    raise ValueError(_missing(path, RUNNING))


def _place(parts: Dict[str, Part], path: str) -> Part:
    """Also one where nothing is yet."""
    if path in parts:
        return parts[path]
    above, _, step = path.rpartition("/")
    home = parts[above].thing
    key = ast.literal_eval(step) if isinstance(home, dict) else step
    return Part(None, home, key, ABSENT, ABSENT)


def _has_place(parts: Dict[str, Part], path: str, copy: Copy) -> bool:
    kind = copy[0]
    if kind in (RUNNING[0], UNKNOWN):
        return True
    if path in parts:
        found = parts[path].copy
        if kind == ALSO:
            return found == copy
        return kind in MADE_ANEW or found[0] == kind
    above = parts.get(path.rpartition("/")[0])
    return (
        kind in MADE_ANEW
        and above is not None
        and (hasattr(above.thing, "__dict__") or isinstance(above.thing, dict))
    )


def _missing(path: str, copy: Copy) -> str:
    if copy == RUNNING:
        return (
            "the order cannot be found again: the sampler goes on with an "
            "iterator (%s) from one epoch to the next, and that one does not "
            "say where it is; give the sampler state_dict and load_state_dict"
            % path
        )
    if copy[0] == UNKNOWN:
        return (
            "the order cannot be found again: the sampler has changed %s, "
            "and a %s cannot be saved; give the sampler state_dict and "
            "load_state_dict" % (path, copy[1].decode())
        )
    if copy[0] == ALSO:
        return (
            "the state is that of a loader where one generator is in two "
            "places (%s and %s), and in this one it is not"
            % (copy[1].decode(), path)
        )
    codec = CODECS.get(copy[0])
    kind = "generator" if codec is not None and codec.draws else "part"
    return (
        "the state is that of a loader with a %s at %s, and this one has none "
        "there" % (kind, path)
    )
