# SPDX-License-Identifier: Apache-2.0
"""Every public name says what it is, and describes each of its parameters.

A parameter is described as all docstrings of this project do it: "timeout:
seconds", alone or with others ("images, labels: ..."), or by a value
("seconds=0: ...", "`seconds` of them"); of a constructor in its own docstring
or its class's.
"""

from __future__ import annotations

import importlib
import inspect
import re
from typing import Any, Dict, Iterator, List, Tuple

import pytest

MODULES = ("feedline", "feedline.transforms", "feedline.torch", "feedline.ray")
# Torch's, which are there to be imported from the same place.
NOT_OURS = ("default_collate", "default_convert", "get_worker_info")

Found = Dict[str, Tuple[Any, str]]  # by name: an object, and what describes it


def public(module: Any) -> Found:
    """Names of a module, and methods and properties of its classes, which are
    named after the class that has them."""
    found: Found = {}
    for name in set(module.__all__) - set(NOT_OURS):
        thing = getattr(module, name)
        found[name] = thing, inspect.getdoc(thing) or ""
        if inspect.isclass(thing):
            found.update(members(thing))
    return found


def members(kind: type) -> Iterator[Tuple[str, Tuple[Any, str]]]:
    """Also those of private classes of the package that it is made of."""
    for owner in kind.__mro__:
        if not owner.__module__.startswith("feedline"):
            continue
        for name, value in vars(owner).items():
            if name[0] == "_" and name != "__init__":
                continue
            if isinstance(value, (staticmethod, classmethod)):
                value = value.__func__
            if not callable(value) and not isinstance(value, property):
                continue
            text = inspect.getdoc(getattr(owner, name)) or ""
            if name == "__init__":
                text = "%s\n%s" % (value.__doc__ or "", owner.__doc__)
            yield "%s.%s" % (owner.__qualname__, name), (value, text)


def parameters(thing: Any) -> List[str]:
    if inspect.isclass(thing) or not callable(thing):
        return []
    names = inspect.signature(thing).parameters
    return [n for n in names if n not in ("self", "cls") and n[0] != "_"]


def is_described(name: str, text: str) -> bool:
    listed = r"\b%s(,\s+\w+)*(,?\s+and\s+\w+)?:\s" % name
    return re.search(r"%s|\b%s=|`%s`" % (listed, name, name), text) is not None


def faults(found: Found) -> List[str]:
    lines = []
    for name, (thing, text) in sorted(found.items()):
        if not text.strip():
            lines.append("%s has no docstring" % name)
            continue
        for parameter in parameters(thing):
            if not is_described(parameter, text):
                lines.append("%s does not describe %s" % (name, parameter))
    return lines


@pytest.mark.parametrize("name", MODULES)
def test_public_names_describe_themselves(name: str) -> None:
    needed = name.partition("feedline.")[2]
    if needed in ("torch", "ray"):
        pytest.importorskip(needed)
    assert faults(public(importlib.import_module(name))) == []


class Undescribed:
    """A class for the test below."""

    def silent(self) -> None:
        pass

    def vague(self, how_long: float) -> None:
        """Waits so long."""

    def clear(self, how_long: float) -> None:
        """how_long: seconds."""


def test_what_is_missing_is_seen() -> None:
    Undescribed.__module__ = "feedline"
    assert faults(dict(members(Undescribed))) == [
        "Undescribed.silent has no docstring",
        "Undescribed.vague does not describe how_long",
    ]
