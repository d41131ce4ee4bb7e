# SPDX-License-Identifier: Apache-2.0
"""Functions of the user's, known by what they are compiled to.

A function may do anything, but many are one of a few lines that tutorials and
reference scripts show. One is such a line if its instructions are, whatever its
names; it is not called.
"""

from __future__ import annotations

import dis
from types import CodeType, FunctionType
from typing import Any, Dict, List, Optional, Tuple

MISSING = object()


def alike(wanted: CodeType, code: CodeType, names: Dict[str, Any]) -> bool:
    """Whether these are the same instructions; notes what the names are."""
    if (
        wanted.co_flags & _FLAGS != code.co_flags & _FLAGS
        or wanted.co_argcount != code.co_argcount
        or wanted.co_kwonlyargcount != code.co_kwonlyargcount
    ):
        return False
    ours, theirs = (list(dis.get_instructions(some)) for some in (wanted, code))
    return len(ours) == len(theirs) and all(
        a.opcode == b.opcode and _same(a.argval, b.argval, names)
        for a, b in zip(ours, theirs)
    )


# All but CO_NESTED, and what its module imported from __future__.
_FLAGS = 0xFFEF


def _same(wanted: Any, found: Any, names: Dict[str, Any]) -> bool:
    if isinstance(wanted, CodeType) and isinstance(found, CodeType):
        return alike(wanted, found, names)
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
# What a function of a sample does -> lines that do it. Names with a "_" at
# their end stand for any.
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
_templates: List[Tuple[str, CodeType]] = []


def what_it_does(function: Any, method: bool = False) -> Optional[str]:
    """A key of _LINES; None for a function that is not known. method: it is
    that of a class, with `self` as its first argument."""
    if not isinstance(function, FunctionType) or function.__defaults__:
        return None
    if not _templates:
        for what, lines in _LINES.items():
            for line in lines:
                for arguments in ("x_", "self_, x_"):
                    made: Dict[str, Any] = {}
                    exec(f"def f({arguments}):\n {line}", made)
                    _templates.append((what, made["f"].__code__))
    for what, code in _templates:
        names: Dict[str, Any] = {}
        if code.co_argcount != 1 + method:
            continue
        if alike(code, function.__code__, names) and _is_torch(function, names):
            return what
    return None


def _is_torch(function: FunctionType, names: Dict[str, Any]) -> bool:
    if "torch_" not in names:
        return True
    found = value_of(function, names["torch_"])
    return getattr(found, "__name__", "") == "torch"
