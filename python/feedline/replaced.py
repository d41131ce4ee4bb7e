# SPDX-License-Identifier: Apache-2.0
"""Functions of other libraries that ask first.

A replaced function is one in every module that has it, by whatever name it was
imported; modules imported later get it where it is defined. It is pickled by
its name, as the original in a process without the package; inspect and
TorchScript see the original.
"""

from __future__ import annotations

import functools
import sys
from types import ModuleType
from typing import Any, Callable, Dict, Tuple

Function = Callable[..., Any]
# Those that draw, by the id of the original: it, and what is in its place.
_drawing: Dict[int, Tuple[Function, Function]] = {}


def disguise(
    function: Function, original: Function, module: str, name: str
) -> Function:
    """`function`, to be taken for `original`, which is `name` of `module`."""
    functools.update_wrapper(function, original)
    function.__module__, function.__qualname__ = module, name
    # What TorchScript compiles in its place.
    setattr(function, "__prepare_scriptable__", lambda: original)
    return function


def replace(pairs: Dict[int, Tuple[Function, Function]]) -> None:
    """Each function, by its id, by another one, in all modules.

    pairs: with the original itself, so that no other object gets its id.
    """
    for module in list(sys.modules.values()):
        if isinstance(module, ModuleType):
            # Not module.__dict__, which loads a module that is lazy.
            names = ModuleType.__getattribute__(module, "__dict__")
            for key, value in list(names.items()):
                if id(value) in pairs:
                    names[key] = pairs[id(value)][1]


def replace_drawing(pairs: Dict[int, Tuple[Function, Function]]) -> None:
    """As replace; instead_of knows them, too."""
    replace(pairs)
    _drawing.update(pairs)


def instead_of(thing: Any) -> Any:
    """What is in the place of a function that draws, which an object has kept
    from before; anything else as it is."""
    found = _drawing.get(id(thing))
    return thing if found is None else found[1]
