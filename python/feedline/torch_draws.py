# SPDX-License-Identifier: Apache-2.0
"""The draws of torch's functions in a Python operation; see thread_draws.py.

torch draws in C++, from a generator that a function is given as an argument, or
else from the one of the process. Its functions that draw are replaced by ones
that give them the generator of the operation that the thread is in. Whoever
knows torch's functions by what they are still finds these: TorchScript and
torch.compile see the originals, and those are what `__torch_function__` gets.
"""

from __future__ import annotations

import importlib
import sys
import warnings
from types import FunctionType
from typing import Any, Callable, Dict, Set, Tuple

import torch
import torch.nn.functional

from . import replaced
from .log_lines import EngineWarning, callers_level

# Functions and methods with an argument `generator`.
DRAW = (
    "bernoulli bernoulli_ binomial cauchy_ exponential_ geometric_ log_normal_ "
    "multinomial normal normal_ poisson rand randint randn random_ randperm "
    "rrelu rrelu_ uniform_ _sample_dirichlet _standard_gamma"
).split()
# Without one, in most versions; the method that draws the same.
LIKE = {
    "rand_like": "uniform_",
    "randn_like": "normal_",
    "randint_like": "random_",
}
# Those that draw inside, where no generator gets.
UNREACHED = (
    "alpha_dropout alpha_dropout_ dropout dropout_ dropout1d dropout2d "
    "dropout3d feature_alpha_dropout feature_alpha_dropout_ feature_dropout "
    "feature_dropout_ native_dropout"
).split()
_warned: Set[str] = set()

Function = Callable[..., Any]
Pairs = Dict[int, Tuple[Function, Function]]


def install(library: Any) -> None:
    """Once, in place of torch's. library: gives the generator of the operation,
    and None outside of one."""
    _let_torch_know_its_own()
    pairs: Pairs = {}
    for name in DRAW:
        _put(pairs, torch, name, _with_generator, library)
        _put(pairs, torch.Tensor, name, _with_generator, library)
    for name, method in LIKE.items():
        _put(pairs, torch, name, _by_method(method), library)
    for name in UNREACHED:
        _put(pairs, torch, name, _warning, library)
        _put(pairs, torch.nn.functional, name, _warning, library)
    replaced.replace_drawing(pairs)


def _put(
    pairs: Pairs,
    owner: Any,
    name: str,
    make: Callable[[Function, Any], Function],
    library: Any,
) -> None:
    original = getattr(owner, name, None)
    if original is None or id(original) in pairs:
        return
    module, full = owner.__name__, name
    if owner is torch.Tensor:
        module, full = "torch", "Tensor." + name
    function = replaced.disguise(
        make(original, library), original, module, full
    )
    setattr(function, "_torchdynamo_inline", original)
    pairs[id(original)] = original, function
    if owner is torch.Tensor:
        setattr(owner, name, function)
    scripted = _scripted_functions()
    if id(original) in scripted:
        scripted[id(function)] = scripted[id(original)]


def _scripted_functions() -> Dict[int, str]:
    """What TorchScript knows by id; empty as long as it has not begun, then it
    finds ours itself."""
    builtins = sys.modules.get("torch.jit._builtins")
    found = getattr(builtins, "_builtin_table", None)
    return {} if found is None else found


def _let_torch_know_its_own() -> None:
    """torch.set_default_device gathers at its first use what makes tensors."""
    try:
        module = importlib.import_module("torch.utils._device")
    except ImportError:  # before torch 2
        return
    gather = getattr(module, "_device_constructors", None)
    if gather is not None:
        gather()


# ---- What is called in place of a function ---------------------------------


def _with_generator(original: Function, library: Any) -> Function:
    call, on_host = library.call, _on_host

    def function(*args: Any, **kwargs: Any) -> Any:
        if (
            call.new_seed is not None
            and kwargs.get("generator") is None
            and on_host(args, kwargs)
        ):
            seeded = call.seeded.get(library)
            kwargs["generator"] = seeded or library.generator()
        return original(*args, **kwargs)

    return function


def _by_method(draw: str) -> Callable[[Function, Any], Function]:
    """A function that draws as a method of an empty tensor does."""

    def make(original: Function, library: Any) -> Function:
        call = library.call

        def function(*args: Any, **kwargs: Any) -> Any:
            if (
                call.new_seed is None
                or kwargs.get("generator") is not None
                or not args
                or not _on_host(args, kwargs)
            ):
                return original(*args, **kwargs)
            kwargs.pop("generator", None)
            bounds = [kwargs.pop(k) for k in ("low", "high") if k in kwargs]
            made = torch.empty_like(args[0], **kwargs)
            bounds = [*args[1:], *bounds]
            if len(bounds) == 1:
                bounds.insert(
                    0, 0
                )  # random_(to) would also do, but not by name
            return getattr(made, draw)(*bounds, generator=library.generator())

        return function

    return make


def _warning(original: Function, library: Any) -> Function:
    call, trains, warn = library.call, _trains, _warn

    def function(*args: Any, **kwargs: Any) -> Any:
        if call.new_seed is not None and trains(args, kwargs):
            warn(original.__name__)
        return original(*args, **kwargs)

    # Where TorchScript of torch 1 looks up the names in the original.
    names = getattr(original, "__globals__", globals())
    name, cells = function.__name__, function.__closure__
    return FunctionType(function.__code__, names, name, None, cells)


def _on_host(args: Tuple[Any, ...], kwargs: Dict[str, Any]) -> bool:
    """Whether a call draws on the CPU; other devices have other generators."""
    device = kwargs.get("device")
    if device is not None:
        return torch.device(device).type == "cpu"
    for argument in args:
        kind = type(argument)
        if kind is float or kind is int:  # asked of these, a tensor's class
            continue  # takes as long as a small function
        if isinstance(argument, torch.Tensor) and not argument.is_cpu:
            return False
    return True


def _trains(args: Tuple[Any, ...], kwargs: Dict[str, Any]) -> bool:
    """Whether a dropout is one: the argument training, or train."""
    third = args[2] if len(args) > 2 else True
    return bool(kwargs.get("training", kwargs.get("train", third)))


def _warn(name: str) -> None:
    """Once for each function."""
    if name in _warned:
        return
    _warned.add(name)
    warnings.warn(
        "%s draws from torch's global generator, also in a Python operation, "
        "so the images do not repeat with the seed; draw with a function that "
        "takes a generator (torch.rand, Tensor.bernoulli_)" % name,
        EngineWarning,
        stacklevel=callers_level(),
    )
