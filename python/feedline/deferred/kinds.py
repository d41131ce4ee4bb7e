# SPDX-License-Identifier: Apache-2.0
"""Classes that a dict takes for others.

    fill = {tv_tensors.Image: (124, 116, 104), "others": 0}
    fill[type(image)]

The class of a deferred object equals, as a key and by `==`, the class that it
passes for, which is its `_kind`. Only `is` tells them apart. One that others
are made of, and no object is of, passes for none (`_abstract`): who walks
through the bases of a mask has to find no plain tensor in front of its own.
"""

from __future__ import annotations

from typing import Any, Dict, Tuple

_metaclasses: Dict[Any, Any] = {}


def metaclass_of(*bases: Any) -> Any:
    """The metaclass of a class of deferred objects with these bases."""
    found: Tuple[Any, ...] = ()
    for kind in map(type, bases):
        if not any(issubclass(other, kind) for other in found):
            found = tuple(o for o in found if not issubclass(kind, o)) + (kind,)
    made = _metaclasses.get(found)
    if made is None:
        made = found[0]
        if len(found) > 1 or not hasattr(made, "_passes"):
            members = {"__eq__": _equals, "__hash__": _hash, "_passes": True}
            made = type("Passing", found, members)
        _metaclasses[found] = made
    return made


def _kind_of(cls: Any) -> Any:
    if not hasattr(type(cls), "_passes") or "_abstract" in cls.__dict__:
        return cls
    return cls._kind


def _equals(cls: Any, other: Any) -> Any:
    if not isinstance(other, type):
        return NotImplemented
    return _kind_of(cls) is _kind_of(other)


def _hash(cls: Any) -> int:
    return type.__hash__(_kind_of(cls))
