# SPDX-License-Identifier: Apache-2.0
"""A data set of its own for an epoch, as a worker process of torch's has one,
and a collate_fn.

A worker of torch's works on a copy of the data set: what the program changes
meanwhile is not seen there, and what `__getitem__` writes to `self` (a counter,
a cache, a generator of its own) is not seen by the program. A thread would
share the object. So it gets a copy, at the price of an epoch's begin:

    copied     objects, lists, dicts, sets, and generators of random numbers;
               each once, however often it occurs
    shared     what does not change (text, numbers, functions, classes), memory
               (arrays, tensors), and whatever only its class can copy: tables,
               open files, locks, connections

A list of a million paths is copied as one block, without a look at each.

A function that draws and was kept before it was replaced (replaced.py) is the
one in its place, in a copy for a worker: there it draws as a worker's does.
"""

from __future__ import annotations

import copy
import random
import sys
from collections import OrderedDict, defaultdict, deque
from functools import partial
from itertools import chain, islice
from types import BuiltinFunctionType, FunctionType, MethodType, ModuleType
from typing import Any, Dict, List, Tuple

import torch

from ..replaced import instead_of

_ATOMS = frozenset(
    (int, float, complex, bool, str, bytes, range, type(None), type(...))
    + (type, FunctionType, BuiltinFunctionType, ModuleType)
)
# Not to be looked at one by one.
_SAME = _ATOMS - {FunctionType, BuiltinFunctionType}
# Longer ones are asked for the types of their items first.
_LONG = 64
# Attributes of an object, and depth: a chain of more is shared from there on.
_DEEPEST = 100


def working_copy(thing: Any, for_worker: bool = False) -> Any:
    """Of a data set, or of a transform. for_worker: as a worker has it, else
    one that does what the program's own object would."""
    return Copier(for_worker).of(thing, 0)


class Copier:
    """One walk; `made` has the copy of each object by its id."""

    def __init__(self, for_worker: bool) -> None:
        self.for_worker = for_worker
        self.made: Dict[int, Any] = {}
        self.alive: List[Any] = []  # so that no id is another object's

    def of(self, thing: Any, depth: int) -> Any:
        kind = type(thing)
        if self.for_worker and instead_of(thing) is not thing:
            return instead_of(thing)
        if kind in _ATOMS or depth > _DEEPEST:
            return thing
        found = self.made.get(id(thing))
        if found is None:
            found = self._copied(thing, kind, depth + 1)
            self._note(thing, found)
        return found

    def _note(self, thing: Any, found: Any) -> None:
        self.made[id(thing)] = found
        self.alive.append(thing)

    def _copied(self, thing: Any, kind: type, depth: int) -> Any:
        if kind in (list, set, deque):
            return self._of_items(thing, kind, depth)
        if kind is tuple:
            return self._of_tuple(thing, depth)
        if kind in (dict, OrderedDict, defaultdict):
            return self._of_dict(thing, depth)
        if kind is MethodType:
            return MethodType(thing.__func__, self.of(thing.__self__, depth))
        if kind is partial:
            parts = thing.func, thing.args, thing.keywords
            function, args, named = (self.of(part, depth) for part in parts)
            return partial(function, *args, **named)
        if is_generator(thing):
            return _of_generator(thing)
        if is_plain_object(kind):
            return self._of_object(thing, kind, depth)
        return thing

    def _of_items(self, thing: Any, kind: type, depth: int) -> Any:
        made = copy.copy(thing)
        if _all_atoms(thing):
            return made
        self._note(thing, made)
        items = [self.of(item, depth) for item in thing]
        made.clear()
        made.update(items) if kind is set else made.extend(items)
        return made

    def _of_tuple(self, thing: Tuple[Any, ...], depth: int) -> Any:
        items = tuple([self.of(item, depth) for item in thing])
        same = all(a is b for a, b in zip(items, thing))
        return thing if same else items

    def _of_dict(self, thing: Any, depth: int) -> Any:
        made = copy.copy(thing)
        if _all_atoms(thing.values()):
            return made
        self._note(thing, made)
        for key, value in thing.items():
            made[key] = self.of(value, depth)
        return made

    def _of_object(self, thing: Any, kind: type, depth: int) -> Any:
        try:
            made: Any = object.__new__(kind)
            self._note(thing, made)
            made.__dict__.update(
                (name, self.of(value, depth))
                for name, value in thing.__dict__.items()
            )
        except Exception:
            self._note(thing, thing)
            return thing
        return made


def _all_atoms(items: Any) -> bool:
    """Whether these are nothing that changes, or tuples of that."""
    if len(items) > _LONG:
        first = set(map(type, islice(items, _LONG)))
        if not first <= _SAME | {tuple}:
            return False
    kinds = set(map(type, items))
    if tuple in kinds:
        tuples = (item for item in items if type(item) is tuple)
        kinds = (kinds - {tuple}) | set(map(type, chain.from_iterable(tuples)))
    return kinds <= _SAME


# ---- Objects ----------------------------------------------------------------


# Of these modules are locks, threads, pools, files, loggers, connections.
_SHARED = frozenset(getattr(sys, "stdlib_module_names", ("threading",)))
_OWN_WAYS = (
    "__copy__ __deepcopy__ __reduce__ __reduce_ex__ __getstate__ __setstate__ "
    "__getnewargs__ __getnewargs_ex__ __del__"
).split()


def is_plain_object(kind: type) -> bool:
    """Whether all of an object is its __dict__: its class is written in Python,
    has no slots, and no way of its own to be copied, pickled or ended."""
    if issubclass(kind, (type, torch.Tensor)) or kind.__dictoffset__ == 0:
        return False
    if kind.__module__.partition(".")[0] in _SHARED - {"__main__"}:
        return False
    for base in kind.__mro__[:-1]:
        if base is torch.nn.Module:
            continue
        own = base.__dict__
        if not base.__flags__ & _HEAP_TYPE or own.get("__slots__"):
            return False
        if any(name in own for name in _OWN_WAYS):
            return False
    return True


_HEAP_TYPE = 1 << 9  # Py_TPFLAGS_HEAPTYPE: made by a class statement


def is_generator(thing: Any) -> bool:
    if isinstance(thing, (random.Random, torch.Generator)):
        return True
    numpy = sys.modules.get("numpy")
    kinds = getattr(numpy, "random", None)
    return kinds is not None and isinstance(
        thing, (kinds.Generator, kinds.RandomState, kinds.BitGenerator)
    )


def _of_generator(thing: Any) -> Any:
    if isinstance(thing, torch.Generator):
        made = torch.Generator(thing.device)
        made.set_state(thing.get_state())
        return made
    return copy.deepcopy(thing)
