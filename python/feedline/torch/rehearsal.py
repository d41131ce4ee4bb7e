# SPDX-License-Identifier: Apache-2.0
"""Rehearsals: what a function of the user's does, found out by running it.

Its code runs with stand-ins for everything that it could touch: its arguments,
its globals, what it closes over, and builtins. They note what is done with
them, and whatever else is asked of one ends the rehearsal; then nothing is
promised. All that the code can change meanwhile are its own locals.
"""

from __future__ import annotations

import dis
import functools
import inspect
from types import CellType, CodeType, FunctionType, WrapperDescriptorType
from typing import Any, Callable, Dict, FrozenSet, List, Mapping
from typing import NoReturn, Optional, Sequence, Tuple

from .callables import layer


class Refused(Exception):
    """Something that is not known."""


def refuse(*unused: Any) -> NoReturn:
    raise Refused


# ---- Code -------------------------------------------------------------------


def _names_in(code: CodeType) -> List[str]:
    """Names that code may look up, that of functions inside of it too.

    Those of attributes are among them. One that is a global by chance is asked
    for in vain, and at worst refused.
    """
    found = list(code.co_names)
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            found += _names_in(constant)
    return found


_NO_FUNCTION = (
    inspect.CO_GENERATOR | inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR
)
# Of try and with (the first from Python 3.11 on), which could catch what ends a
# rehearsal, and of assignments to globals.
_REACHES_OUT = set(
    "PUSH_EXC_INFO SETUP_FINALLY SETUP_WITH STORE_GLOBAL DELETE_GLOBAL".split()
)
_OF_CELLS = ("STORE_DEREF", "DELETE_DEREF")


def is_simple(code: CodeType) -> bool:
    """It catches no exception and assigns to its own locals only."""
    outer = frozenset(code.co_freevars)
    return not code.co_flags & _NO_FUNCTION and not _reaches_out(code, outer)


def _reaches_out(code: CodeType, outer: FrozenSet[str]) -> bool:
    return any(
        step.opname in _REACHES_OUT
        or (step.opname in _OF_CELLS and step.argval in outer)
        or (
            isinstance(step.argval, CodeType)
            and _reaches_out(step.argval, outer)
        )
        for step in dis.get_instructions(code)
    )


# ---- Stand-ins --------------------------------------------------------------


class StandIn:
    """It is passed on and not looked at."""

    __slots__ = ()
    __bool__ = __eq__ = __ne__ = refuse


class Cell(StandIn):
    """A value, or what became of one that is an image: converted to RGB or not,
    then by these steps, pairs of a transform's place and the transform.

    mode: of an image that may be converted; "": of one that may not; None: it
    is no image. asked: notes that the mode mattered.
    """

    __slots__ = ("_name", "_mode", "_asked", "_to_rgb", "_steps")

    def __init__(
        self, name: Any, mode: Optional[str] = "", asked: Any = None
    ) -> None:
        self._name, self._mode, self._asked = name, mode, asked
        self._to_rgb = False
        self._steps: Tuple[Tuple[str, Any], ...] = ()

    def _copy(self) -> "Cell":
        made = Cell(self._name, self._mode, self._asked)
        made._to_rgb, made._steps = self._to_rgb, self._steps
        return made

    def convert(self, mode: Any) -> "Cell":
        if mode != "RGB" or not self._mode or self._steps:
            raise Refused
        made = self._copy()
        made._to_rgb = True
        return made

    @property
    def mode(self) -> str:
        if not self._mode or self._steps:
            raise Refused
        self._asked.append(self._mode)
        return "RGB" if self._to_rgb else self._mode


class Thing(StandIn):
    """In place of a module, a class or an object: what it has is read as it is
    stored, and an image that it is called with is its to transform."""

    __slots__ = ("__it", "__where", "__rehearsal")

    def __init__(self, it: Any, where: str, rehearsal: "Rehearsal") -> None:
        self.__it, self.__where, self.__rehearsal = it, where, rehearsal

    def __getattr__(self, name: str) -> Any:
        return self.__rehearsal.attribute(self.__it, name)

    def __call__(self, image: Any) -> Cell:
        it = self.__it
        if type(image) is not Cell or image._mode is None:
            raise Refused
        if isinstance(it, type) or not callable(it):
            raise Refused
        made = image._copy()
        made._steps += ((self.__where, it),)
        return made


MOST = 64  # items of a list, or rounds of a loop


def _range(*ends: int) -> range:
    found = range(*ends)
    if len(found) > MOST:
        raise Refused
    return found


_PLAIN = (bool, int, float, str, bytes, type(None))
BUILTINS: Dict[str, Any] = {
    "dict": dict,
    "enumerate": enumerate,
    "len": len,
    "list": list,
    "map": map,
    "range": _range,
    "tuple": tuple,
    "zip": zip,
}
_ABSENT = object()


class Rehearsal:
    """One call. known: objects and what stands in for them. builtins: of the
    code that runs. helpers: functions of the user's run, too; else they are
    transforms."""

    def __init__(
        self,
        known: Sequence[Tuple[Any, Any]] = (),
        builtins: Mapping[str, Any] = BUILTINS,
        helpers: bool = True,
    ) -> None:
        self._known, self._builtins = known, builtins
        self._helpers = helpers
        self._made: Dict[int, FunctionType] = {}

    def stand_in(self, value: Any, where: str = "") -> Any:
        for it, instead in self._known:
            if value is it:
                return instead
        if type(value) in _PLAIN:
            return value
        if isinstance(value, (list, tuple)) and len(value) <= MOST:
            return tuple(
                self.stand_in(one, f"{where}[{i}]")
                for i, one in enumerate(value)
            )
        if self._helpers and type(value) is FunctionType:
            return self._rebuilt(value)
        return Thing(value, where, self)

    def _rebuilt(self, function: FunctionType) -> FunctionType:
        """A function of the same code, with stand-ins for all that it names."""
        if id(function) in self._made:
            return self._made[id(function)]
        code = function.__code__
        if not is_simple(code):
            raise Refused
        names: Dict[str, Any] = {"__builtins__": dict(self._builtins)}
        cells = tuple(
            CellType(self.stand_in(cell.cell_contents))
            for cell in function.__closure__ or ()
        )
        defaults = tuple(map(self.stand_in, function.__defaults__ or ()))
        made = FunctionType(code, names, function.__name__, defaults, cells)
        made.__kwdefaults__ = {
            name: self.stand_in(value)
            for name, value in (function.__kwdefaults__ or {}).items()
        }
        self._made[id(function)] = made
        for name in _names_in(code):
            if name in function.__globals__:
                names[name] = self.stand_in(function.__globals__[name], name)
        return made

    def of_call(self, given: Any) -> Callable[..., Any]:
        """Of a function, a method, a partial, or an object with a __call__."""
        if type(given) is FunctionType:
            return self._rebuilt(given)
        found = layer(given)
        if found is None:
            raise Refused
        function, args, keywords = found
        named = {name: self.stand_in(one) for name, one in keywords.items()}
        inner = self.of_call(function)
        return functools.partial(inner, *map(self.stand_in, args), **named)

    def attribute(self, it: Any, name: str) -> Any:
        """As it is stored: no property, and no code that looks it up."""
        kind = type(it)
        shared = _of_class(it if isinstance(it, type) else kind, name)
        own = getattr(it, "__dict__", {})
        if not isinstance(it, type) and not hasattr(shared, "__set__"):
            in_c = isinstance(kind.__getattribute__, WrapperDescriptorType)
            if not in_c or name[:2] == "__":
                raise Refused
            if name in own:
                return self.stand_in(own[name], name)
            if type(shared) is FunctionType:
                me = Thing(it, "", self)
                return functools.partial(self._rebuilt(shared), me)
        if shared is _ABSENT or hasattr(shared, "__get__"):
            raise Refused
        return self.stand_in(shared, name)


def _of_class(cls: type, name: str) -> Any:
    for base in cls.__mro__:
        if name in base.__dict__:
            return base.__dict__[name]
    return _ABSENT
