# SPDX-License-Identifier: Apache-2.0
"""A stream of its own for a run of it, as a worker process of torch's has one.

As working_copy, and the stream itself is copied whatever its class: it is what
an iteration counts in. What could not be copied is an iterator that it keeps, a
generator: a copy would take the samples of the program's own. Such a stream is
torch's.
"""

from __future__ import annotations

from types import FunctionType, MethodType
from typing import Any, Optional, Set

from .working_copy import working_copy

_DEEPEST = 8
# Attributes or items of one object that are looked at.
_MOST = 256


def stream_copy(dataset: Any) -> Any:
    made = working_copy(dataset)
    if made is not dataset or not hasattr(dataset, "__dict__"):
        return made
    try:
        made = object.__new__(type(dataset))
        made.__dict__.update(working_copy(vars(dataset)))
    except TypeError:  # it is not made by a class statement
        return dataset
    return made


def kept_iterator(dataset: Any) -> Optional[Any]:
    """An iterator that a copy of the stream would share with it."""
    copied = stream_copy(dataset)
    if copied is dataset:
        return dataset
    return _shared(dataset, copied, 0, set())


def _shared(a: Any, b: Any, depth: int, seen: Set[int]) -> Optional[Any]:
    if depth > _DEEPEST or id(a) in seen:
        return None
    seen.add(id(a))
    if a is b and hasattr(type(a), "__next__"):
        return a
    for one, other in zip(_parts(a), _parts(b)):
        found = _shared(one, other, depth + 1, seen)
        if found is not None:
            return found
    return None


def _parts(thing: Any) -> Any:
    if isinstance(thing, (list, tuple)):
        return thing[:_MOST]
    if isinstance(thing, dict):
        return list(thing.values())[:_MOST]
    if isinstance(thing, MethodType):
        return (thing.__self__,)
    if isinstance(thing, FunctionType):
        return [_content(cell) for cell in thing.__closure__ or ()]
    if isinstance(thing, type):
        return ()
    return list(getattr(thing, "__dict__", {}).values())[:_MOST]


def _content(cell: Any) -> Any:
    try:
        return cell.cell_contents
    except ValueError:  # it has none yet
        return None
