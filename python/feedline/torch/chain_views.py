# SPDX-License-Identifier: Apache-2.0
"""Transforms that make several views of an image: what they are made of.

Self-supervised recipes keep two or more chains in a class of their own:

    class TwoCropsTransform:
        def __call__(self, x):
            q = self.base_transform(x)
            k = self.base_transform(x)
            return [q, k]

`parts_of` says which transforms such a __call__ applies to its image, view by
view. A rehearsal finds out: its code runs with stand-ins for the object, for
the transforms in it and for the image, which note what is called with what.
Whatever else it does with one of them, or asks the world for, ends the
rehearsal, and nothing is promised. All that it can change meanwhile are its own
locals.
"""

from __future__ import annotations

import dis
import inspect
from dataclasses import dataclass
from types import CodeType, FunctionType
from typing import Any, List, Mapping, NoReturn, Optional, Sequence, Tuple

from ..transforms import Views


@dataclass(frozen=True)
class Part:
    """Some views in a row: `count` of them, by these transforms in order."""

    where: str  # for messages: "global_transfo1"
    transforms: Tuple[Any, ...]
    count: int = 1


def parts_of(transform: Any) -> Optional[List[Part]]:
    """The views that `transform` makes; None where it is not one of these."""
    if isinstance(transform, Views):
        return [
            Part("chains[%d]" % i, (chain,), count)
            for i, (chain, count) in enumerate(transform.chains)
        ]
    function = getattr(type(transform), "__call__", None)
    if not isinstance(function, FunctionType) or not _is_simple(function):
        return None
    code, image = function.__code__, _View()
    try:
        made = FunctionType(code, {"__builtins__": _BUILTINS})(
            _Object(getattr(transform, "__dict__", {})), image
        )
    except Exception:  # of whatever kind: it did something else
        return None
    if type(made) not in (list, tuple) or not 1 <= len(made) <= _MOST:
        return None
    if not all(type(view) is _View and view._steps for view in made):
        return None
    return _merged(made) if _says_all(image, made) else None


def _is_simple(function: FunctionType) -> bool:
    """It takes an image and nothing else, and catches no exception, such as
    those that end a rehearsal."""
    code = function.__code__
    return (
        code.co_argcount == 2
        and not code.co_kwonlyargcount
        and not code.co_flags & _OTHER_CALLS
        and not function.__defaults__
        and not function.__closure__
        and not _catches(code)
    )


_OTHER_CALLS = (
    inspect.CO_VARARGS
    | inspect.CO_VARKEYWORDS
    | inspect.CO_GENERATOR
    | inspect.CO_COROUTINE
    | inspect.CO_ASYNC_GENERATOR
)
# Of try and with; the first from Python 3.11 on.
_CATCHING = {"PUSH_EXC_INFO", "SETUP_FINALLY", "SETUP_WITH"}


def _catches(code: CodeType) -> bool:
    return any(
        step.opname in _CATCHING
        or (isinstance(step.argval, CodeType) and _catches(step.argval))
        for step in dis.get_instructions(code)
    )


def _says_all(image: "_View", made: Sequence["_View"]) -> bool:
    """Whether the views alone say what was done. A result that no view has
    was wanted for something else; and of what is used twice, one use sees what
    another writes in place. An image of Pillow's is safe from that."""
    returned = sum(view is image for view in made)
    if not image._results:
        return returned > 0
    shared = len(image._results) + returned > 1
    if shared and image._steps and any(map(_writes, image._results)):
        return False
    return all(_says_all(result, made) for result in image._results)


def _writes(view: "_View") -> bool:
    return _is_in_place(view._steps[-1])


def _is_in_place(transform: Any) -> bool:
    if getattr(transform, "inplace", False):
        return True
    parts = getattr(transform, "transforms", None)
    if parts is None and hasattr(transform, "children"):
        parts = transform.children()
    return any(map(_is_in_place, parts or ()))


def _merged(views: List["_View"]) -> List[Part]:
    """Equal views in a row as one part."""
    parts: List[Part] = []
    for view in views:
        last = parts[-1] if parts else None
        if last is not None and _same(last.transforms, view._steps):
            parts[-1] = Part(last.where, last.transforms, last.count + 1)
        else:
            parts.append(Part(view._where, view._steps))
    return parts


def _same(a: Tuple[Any, ...], b: Tuple[Any, ...]) -> bool:
    return len(a) == len(b) and all(x is y for x, y in zip(a, b))


# ---- Stand-ins --------------------------------------------------------------

# More views than the engine makes: a loop that is none of ours.
_MOST = 64


class _Refused(Exception):
    """Something that is not known to make views."""


def _refuse(*unused: Any) -> NoReturn:
    raise _Refused


class _StandIn:
    """It is passed on and not looked at."""

    __slots__ = ()
    __bool__ = __eq__ = __ne__ = _refuse


class _Object(_StandIn):
    """In place of the object, whose attributes are read as they were stored:
    no property, no method."""

    __slots__ = ("__values",)

    def __init__(self, values: Mapping[str, Any]) -> None:
        self.__values = values

    def __getattr__(self, name: str) -> Any:
        return _stand_in(name, self.__values[name])


class _View(_StandIn):
    """The image, or what some transforms made of it."""

    __slots__ = ("_where", "_steps", "_results")

    def __init__(self, where: str = "", steps: Tuple[Any, ...] = ()) -> None:
        self._where = where
        self._steps = steps
        self._results: List[_View] = []  # of one more transform each


class _Transform(_StandIn):
    """In place of one that the object has."""

    __slots__ = ("_where", "_transform")

    def __init__(self, where: str, transform: Any) -> None:
        self._where = where
        self._transform = transform

    def __call__(self, image: Any) -> _View:
        if type(image) is not _View:
            raise _Refused
        result = _View(self._where, (*image._steps, self._transform))
        image._results.append(result)
        return result


def _stand_in(where: str, value: Any) -> Any:
    if value is None or type(value) in (bool, int, float, str):
        return value
    if isinstance(value, (list, tuple)) and len(value) <= _MOST:
        return tuple(
            _stand_in("%s[%d]" % (where, i), one) for i, one in enumerate(value)
        )
    if callable(value):
        return _Transform(where, value)
    raise _Refused


def _range(*ends: int) -> range:
    found = range(*ends)
    if len(found) > _MOST:
        raise _Refused
    return found


_BUILTINS = {
    "enumerate": enumerate,
    "len": len,
    "list": list,
    "range": _range,
    "tuple": tuple,
    "zip": zip,
}
