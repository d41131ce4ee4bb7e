# SPDX-License-Identifier: Apache-2.0
"""The draws of torch's functions in a Python operation; see thread_draws.py.

torch draws in C++, from a generator that a function is given as an argument, or
else from the one of the process. `OwnDraws` sees every call of a function of
torch on its thread, and gives those that draw the generator of the operation.
"""

from __future__ import annotations

import warnings
from typing import Any, Dict, Set, Tuple

import torch
from torch.overrides import TorchFunctionMode

from .log_lines import EngineWarning, callers_level

# Functions and methods with an argument `generator`.
DRAW = frozenset(
    "bernoulli bernoulli_ binomial cauchy_ exponential_ geometric_ log_normal_ "
    "multinomial normal normal_ poisson rand randint randn random_ randperm "
    "uniform_ _sample_dirichlet _standard_gamma".split()
)
# Without one, in most versions; the method that draws the same.
LIKE = {
    "rand_like": "uniform_",
    "randn_like": "normal_",
    "randint_like": "random_",
}
# Those that draw inside, where no generator gets.
UNREACHED = frozenset(
    "alpha_dropout alpha_dropout_ dropout dropout_ dropout1d dropout2d "
    "dropout3d feature_alpha_dropout feature_alpha_dropout_ feature_dropout "
    "feature_dropout_ gumbel_softmax native_dropout".split()
)
_warned: Set[str] = set()


class OwnDraws(TorchFunctionMode):
    """While this is entered, functions of torch draw from the generator of the
    operation that the thread is in."""

    def __init__(self, library: Any) -> None:
        super().__init__()
        self._library = library

    def __torch_function__(
        self,
        func: Any,
        types: Any,
        args: Tuple[Any, ...] = (),
        kwargs: Any = None,
    ) -> Any:
        kwargs = kwargs or {}
        name = getattr(func, "__name__", "")
        if name in DRAW:
            if kwargs.get("generator") is None and _on_host(args, kwargs):
                kwargs = {**kwargs, "generator": self._library.generator()}
        elif name in LIKE:
            return self._like(func, LIKE[name], args, kwargs)
        elif name in UNREACHED and _trains(args, kwargs):
            _warn(name)
        return func(*args, **kwargs)

    def _like(
        self,
        func: Any,
        draw: str,
        args: Tuple[Any, ...],
        kwargs: Dict[str, Any],
    ) -> Any:
        if not _on_host(args, kwargs) or not args:
            return func(*args, **kwargs)
        bounds = [kwargs.pop(k) for k in ("low", "high") if k in kwargs]
        made = torch.empty_like(args[0], **kwargs)
        bounds = [*args[1:], *bounds]
        if len(bounds) == 1:
            bounds.insert(0, 0)  # random_(to) would also do, but not by name
        generator = self._library.generator()
        return getattr(made, draw)(*bounds, generator=generator)


def _on_host(args: Tuple[Any, ...], kwargs: Dict[str, Any]) -> bool:
    """Whether a call draws on the CPU; other devices have other generators."""
    device = kwargs.get("device")
    if device is not None:
        return torch.device(device).type == "cpu"
    for argument in args:
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
