# SPDX-License-Identifier: Apache-2.0
"""The three global generators that samplers draw from: torch's, Python's and
numpy's. Which of them was drawn from, and how to draw from another state.
"""

from __future__ import annotations

import ctypes
import random
import sys
import zlib
from contextlib import contextmanager
from typing import Any, Dict, Iterable, Iterator, List, Optional

import torch

from .part_codecs import from_json, lists, to_json

TORCH, PYTHON, NUMPY = "torch", "random", "numpy"

# By the name of the generator: a tensor; Python's tuple; numpy's dictionary, or
# the memory of a Mersenne twister.
States = Dict[str, Any]

_TWISTER = 625 * 4  # bytes: its numbers, and which of them is the next


def _numpys() -> Any:
    """None where the program does not use numpy."""
    numpy = sys.modules.get("numpy")
    return getattr(getattr(numpy, "random", None), "mtrand", None)


def _read_numpys() -> Any:
    """In a microsecond, where asking it takes fifty: without the one normal
    number that it may have in store."""
    inside: Any = getattr(_numpys()._rand, "_bit_generator", None)
    if type(inside).__name__ != "MT19937":
        return _numpys().get_state(legacy=False)
    return ctypes.string_at(inside.ctypes.state_address, _TWISTER)


def _numpys_state(state: Any) -> Any:
    if not isinstance(state, bytes):
        return state
    numbers = memoryview(state).cast("I").tolist()
    return {
        "bit_generator": "MT19937",
        "state": {"key": numbers[:-1], "pos": numbers[-1]},
        "has_gauss": 0,
        "gauss": 0.0,
    }


def states() -> States:
    """As they are now, to be compared or saved."""
    found = {TORCH: torch.get_rng_state(), PYTHON: random.getstate()}
    if _numpys() is not None:
        found[NUMPY] = _read_numpys()
    return found


def set_states(wanted: States) -> None:
    for name, state in wanted.items():
        if name == TORCH:
            torch.set_rng_state(state)
        elif name == PYTHON:
            random.setstate(state)
        elif _numpys() is not None:
            _numpys().set_state(_numpys_state(state))


def drawn(before: States, after: States) -> List[str]:
    """The names of those that moved."""
    return [
        name
        for name, state in before.items()
        if name in after and not same(state, after[name])
    ]


def same(a: Any, b: Any) -> bool:
    if isinstance(a, torch.Tensor) and isinstance(b, torch.Tensor):
        return torch.equal(a, b)
    if isinstance(a, dict) or isinstance(b, dict):
        return str(a) == str(b)
    return bool(a == b)


@contextmanager
def restored(names: Optional[Iterable[str]] = None) -> Iterator[None]:
    """What is drawn inside is not drawn: from all of them, or those named."""
    before = states()
    if names is not None:
        before = {name: before[name] for name in names if name in before}
    if NUMPY in before:
        before[NUMPY] = _numpys().get_state(legacy=False)
    try:
        yield
    finally:
        set_states(before)


# ---- In a state of the loader ----------------------------------------------


def mark(state: Any) -> int:
    """By which two states are told apart."""
    return zlib.crc32(repr(_as_data(state)).encode())


def marks() -> Dict[str, int]:
    """Of the states as they are now."""
    return {name: mark(state) for name, state in states().items()}


def _as_data(state: Any) -> Any:
    return bytes(state.numpy()) if isinstance(state, torch.Tensor) else state


def state_to_json(state: Any) -> Any:
    return to_json(lists(_as_data(state)))


def state_from_json(name: str, value: Any) -> Any:
    state = from_json(value)
    if name != TORCH:
        return state
    return torch.frombuffer(bytearray(state), dtype=torch.uint8)
