# SPDX-License-Identifier: Apache-2.0
"""Functions of the user's, known by what they are compiled to.

A function may do anything, but many are one of a few lines that tutorials and
reference scripts show. One is such a line if its instructions are, whatever its
names; it is not called.
"""

from __future__ import annotations

import dis
import sys
from types import CodeType, FunctionType
from typing import Any, Callable, Dict, Generic, Iterable, Iterator, List
from typing import Mapping, Optional, Tuple, TypeVar

T = TypeVar("T")
MISSING = object()
Names = Dict[str, Any]


class Forms(Generic[T]):
    """Functions that are known: sources that define `f`, and what each means.

    Names with a "_" at their end stand for any; modules: what some of these
    have to be.
    """

    def __init__(
        self,
        sources: Callable[[], Iterable[Tuple[str, T]]],
        modules: Optional[Mapping[str, str]] = None,
    ) -> None:
        self._sources = sources
        self._modules = modules or {}
        self._forms: List[Tuple[CodeType, T]] = []

    def like(self, function: Any) -> Iterator[Tuple[T, Names]]:
        """What a function means, and what it calls the names."""
        if not isinstance(function, FunctionType) or function.__defaults__:
            return
        if not self._forms:
            self._forms = [(_code(text), it) for text, it in self._sources()]
        for form, meaning in self._forms:
            names: Names = {}
            if _alike(form, function.__code__, names) and all(
                value_of(function, names[name])
                is sys.modules.get(module, names)
                for name, module in self._modules.items()
                if name in names
            ):
                yield meaning, names


def _code(source: str) -> CodeType:
    made: Dict[str, Any] = {}
    exec(source, made)
    code: CodeType = made["f"].__code__
    return code


def _alike(wanted: CodeType, code: CodeType, names: Names) -> bool:
    """Whether these are the same instructions; notes what the names are."""
    if (
        len(wanted.co_code) != len(code.co_code)
        or wanted.co_flags & _FLAGS != code.co_flags & _FLAGS
        or wanted.co_argcount != code.co_argcount
        or wanted.co_kwonlyargcount != code.co_kwonlyargcount
        or not _same(_arguments(wanted), _arguments(code), names)
    ):
        return False
    ours, theirs = (list(dis.get_instructions(some)) for some in (wanted, code))
    return len(ours) == len(theirs) and all(
        a.opcode == b.opcode and _same(a.argval, b.argval, names)
        for a, b in zip(ours, theirs)
    )


def _arguments(code: CodeType) -> Tuple[str, ...]:
    return code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]


# All but CO_NESTED, and what its module imported from __future__.
_FLAGS = 0xFFEF


def _same(wanted: Any, found: Any, names: Names) -> bool:
    if isinstance(wanted, CodeType) and isinstance(found, CodeType):
        return _alike(wanted, found, names)
    if type(wanted) is not type(found):
        return False
    if isinstance(wanted, tuple):
        return len(wanted) == len(found) and all(
            _same(a, b, names) for a, b in zip(wanted, found)
        )
    if not isinstance(wanted, str):
        return bool(wanted == found)
    if wanted.endswith("<listcomp>"):  # its name, with the function's
        return True
    if not wanted.endswith("_"):
        return bool(wanted == found)
    return bool(names.setdefault(wanted, found) == found)


def value_of(function: FunctionType, name: str) -> Any:
    """What a name means in a function, now."""
    code = function.__code__
    if name in code.co_freevars:
        cell = (function.__closure__ or ())[code.co_freevars.index(name)]
        try:
            return cell.cell_contents
        except ValueError:  # nothing was assigned to it yet
            return MISSING
    return function.__globals__.get(name, MISSING)


# ---- Functions of one sample ------------------------------------------------

_CONVERT = 'x_.convert("RGB")'
# What a function of a sample does -> lines that do it.
_LINES: Dict[str, Tuple[str, ...]] = {
    "same": ("return x_",),
    "rgb": (
        f"return {_CONVERT}",
        f'return {_CONVERT} if x_.mode != "RGB" else x_',
        f'return x_ if x_.mode == "RGB" else {_CONVERT}',
        f'if x_.mode != "RGB":\n  x_ = {_CONVERT}\n return x_',
        f'if x_.mode != "RGB":\n  return {_CONVERT}\n return x_',
        f'if x_.mode == "RGB":\n  return x_\n return {_CONVERT}',
    ),
    "float16": ("return x_.half()", "return x_.to(torch_.float16)"),
    "bfloat16": ("return x_.bfloat16()", "return x_.to(torch_.bfloat16)"),
}


def _of_one_sample() -> Iterator[Tuple[str, Tuple[str, bool]]]:
    for what, lines in _LINES.items():
        for line in lines:
            yield f"def f(x_):\n {line}", (what, False)
            yield f"def f(self_, x_):\n {line}", (what, True)


_ON_SAMPLES = Forms(_of_one_sample, {"torch_": "torch"})


def what_it_does(function: Any, method: bool = False) -> Optional[str]:
    """A key of _LINES; None for a function that is not known. method: it is
    that of a class, with `self` as its first argument."""
    for (what, of_class), _ in _ON_SAMPLES.like(function):
        if of_class == method:
            return what
    return None


# ---- Classes that only forward ----------------------------------------------
#
# torchvision's reference scripts keep their chains in classes of their own:
#
#     class ClassificationPresetTrain:
#         def __init__(self, ...):
#             self.transforms = Compose(...)
#         def __call__(self, img):
#             return self.transforms(img)
#
# or with a target beside the image.

_FORWARDS = Forms(
    lambda: [
        ("def f(self_, x_): return self_.inner_(x_)", 1),
        ("def f(self_, x_, y_): return self_.inner_(x_, y_)", 2),
    ]
)


def forwarded_to(cls: type, inputs: int = 1) -> Optional[str]:
    """The attribute to which instances of `cls` pass an image on, or as many
    inputs; None where they do anything else."""
    for count, names in _FORWARDS.like(getattr(cls, "__call__", None)):
        if count == inputs:
            return str(names["inner_"])
    return None
