# SPDX-License-Identifier: Apache-2.0
"""Callables of the user's, down to the plain function that is called.

    functools.partial(f, base=7)    obj.method    an object with __call__
    staticmethod(f)    functools.lru_cache(f)

All of these are a function and arguments that are bound to it. Whatever looks
at functions of the program looks through here, so that one is known in all of
its guises. Nothing is called.
"""

from __future__ import annotations

import builtins
import functools
from dataclasses import dataclass
from types import FunctionType, MethodType
from typing import Any, Dict, Optional, Tuple

import torch

MISSING = object()
_CACHED = type(functools.lru_cache(lambda: None))
# What wraps a callable, and is nothing else.
WRAPPERS = (FunctionType, MethodType, functools.partial, staticmethod, _CACHED)
# More layers than anybody has: they go round in a circle.
_LAYERS = 16


def layer(value: Any) -> Optional[Tuple[Any, Tuple[Any, ...], Dict[str, Any]]]:
    """What a callable calls, and the arguments that it puts before and beside
    those it is given; None for a plain function, and what is not known."""
    kind = type(value)
    if kind is functools.partial:
        return value.func, value.args, value.keywords
    if kind is MethodType:
        return value.__func__, (value.__self__,), {}
    if kind is staticmethod:
        return value.__func__, (), {}
    if kind is _CACHED:
        return value.__wrapped__, (), {}
    call = None if kind is FunctionType else call_of(kind)
    if call is None or has_hooks(value):
        return None
    return call, (value,), {}


def call_of(cls: type) -> Optional[FunctionType]:
    """The function that a call of its objects calls, with the object first; of
    a module of torch, without hooks, that is its forward."""
    call = getattr(cls, "__call__", None)
    if call is torch.nn.Module.__call__:
        call = getattr(cls, "forward", None)
    return call if type(call) is FunctionType else None


def has_hooks(value: Any) -> bool:
    """Whether more is called with a module of torch than its class has."""
    values: Dict[str, Any] = getattr(value, "__dict__", {})
    names = ("_forward_hooks", "_forward_pre_hooks", "forward")
    return any(values.get(name) for name in names)


def stored(value: Any, name: str) -> Any:
    """An attribute of an object, as it was stored; MISSING: none was."""
    values: Dict[str, Any] = getattr(value, "__dict__", {})
    return values.get(name, values.get("_modules", {}).get(name, MISSING))


@dataclass(frozen=True)
class Plain:
    """A function; what is bound to which of its parameters, by a layer or as a
    default; and the parameters that are left for the caller, in order."""

    function: FunctionType
    bound: Dict[str, Any]
    inputs: Tuple[str, ...]

    def value(self, name: str) -> Any:
        """What a name means in the function, now; MISSING: nothing, yet."""
        if name in self.bound:
            return self.bound[name]
        return value_of(self.function, name)


def plain(value: Any) -> Optional[Plain]:
    """The function below all layers; None where there is none, or where it
    cannot be called like that."""
    args: Tuple[Any, ...] = ()
    keywords: Dict[str, Any] = {}
    for _ in range(_LAYERS):
        if type(value) is FunctionType:
            return _bound(value, args, keywords)
        found = layer(value)
        if found is None:
            return None
        value, first, named = found
        args, keywords = first + args, {**named, **keywords}
    return None


def _bound(
    function: FunctionType, args: Tuple[Any, ...], keywords: Dict[str, Any]
) -> Optional[Plain]:
    code = function.__code__
    names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    positional = names[: code.co_argcount]
    if len(args) > len(positional) or not set(keywords) <= set(names):
        return None
    defaults = function.__defaults__ or ()
    bound: Dict[str, Any] = dict(function.__kwdefaults__ or {})
    bound.update(zip(positional[len(positional) - len(defaults) :], defaults))
    bound.update(zip(positional, args))
    bound.update(keywords)
    inputs = tuple(name for name in positional if name not in bound)
    if inputs != positional[len(args) :][: len(inputs)]:
        return None  # the caller's would be given twice
    return Plain(function, bound, inputs)


def value_of(function: FunctionType, name: str) -> Any:
    """What a name that is no parameter means in a function, now."""
    code = function.__code__
    if name in code.co_freevars:
        cell = (function.__closure__ or ())[code.co_freevars.index(name)]
        try:
            return cell.cell_contents
        except ValueError:  # nothing was assigned to it yet
            return MISSING
    usual = getattr(builtins, name, MISSING)
    return function.__globals__.get(name, usual)
