# SPDX-License-Identifier: Apache-2.0
"""albumentations: where a transform has drawn its parameters, and gives each
array to its apply().

All that chooses and draws is the library's own code. What its apply() functions
do to a deferred array is recorded as a whole (albumentations_steps.py), in
place of each call of NumPy and OpenCV in them. A function is known by its
identity: that of a subclass, or one that a program has put in its place, runs
as it is. So does that of a version that nobody has tried. And the first arrays
of each transform are made both ways: where the records differ, its own way is
kept.
"""

from __future__ import annotations

import importlib
import sys
import weakref
from typing import Any, Dict, Tuple

import numpy as np

from .. import replaced
from . import albumentations_contrast
from .albumentations_steps import ENDINGS, MOVES, PASSED_ON, Ending, Move
from .array import DeferredArray, recorded_array, table_of
from .array_views import NotRecorded
from .record import Record, dense
from .recording import state

_TRIED = ("2.0.8",)
_OLDER = ("1.3.1", "1.4.24")

# How many arrays each function of a transform has both ways.
_TRIALS = 2

# By the functions of the classes.
_moves: Dict[Any, Move] = {}
_endings: Dict[Any, Ending] = {}
_passed_on: Any = None


def install() -> None:
    global _passed_on
    library: Any = sys.modules["albumentations"]
    version = getattr(library, "__version__", "")
    if version in _OLDER:
        base = _module("core.transforms_interface").BasicTransform
        albumentations_contrast.install_older(library.ColorJitter, base)
    if version not in _TRIED:
        return
    albumentations_contrast.install(library.ColorJitter)
    for name, functions in MOVES.items():
        for (cls, method), move in functions.items():
            _moves[_function_of(name, cls, method)] = move
    if "albumentations.pytorch.transforms" in sys.modules:
        for name, ends in ENDINGS.items():
            for (cls, method), ending in ends.items():
                _endings[_function_of(name, cls, method)] = ending
    _endings.pop(None, None)
    _passed_on = _function_of(*PASSED_ON)
    base = _module("core.transforms_interface").BasicTransform
    original = _function_of(
        "core.transforms_interface", "BasicTransform", "apply_with_params"
    )
    if original is None or None in _moves or _passed_on is None:
        return
    made = _apply_with_params(original)
    qualified = original.__qualname__
    replaced.disguise(made, original, original.__module__, qualified)
    base.apply_with_params = made


def _module(name: str) -> Any:
    return importlib.import_module("albumentations." + name)


def _function_of(name: str, cls: str, method: str) -> Any:
    """None: a program has put another one in its place."""
    module = _module(name)
    function = vars(getattr(module, cls)).get(method)
    code = getattr(function, "__code__", None)
    if code is None or code.co_filename != module.__file__:
        return None
    return function


def _apply_with_params(original: Any) -> Any:
    def apply_with_params(
        self: Any, params: Any, *args: Any, **kwargs: Any
    ) -> Any:
        if state.run is None or args:
            return original(self, params, *args, **kwargs)
        functions, made = self._key2func, {}
        for key, value in kwargs.items():
            if type(value) is not DeferredArray:
                made.update(original(self, params, **{key: value}))
            elif key in functions:
                made[key] = _applied(self, functions[key], value, params)
            else:
                made[key] = value
        return made

    return apply_with_params


def _applied(transform: Any, bound: Any, array: Any, params: Any) -> Any:
    """What the library makes of an array, which is contiguous then."""
    bound = albumentations_contrast.instead_of(bound)
    record = recorded_array(array)
    if record is None or record.strides != dense(record.shape):
        return _contiguous(bound(_contiguous(array), **params))
    function = getattr(bound, "__func__", None)
    if function is _passed_on:
        function = type(transform).apply
    move = _moves.get(function)
    new = None
    if move is not None and _is_image(record):
        trials = _trials_of(transform)
        left = trials.get(function, _TRIALS)
        if left >= 0:
            new = _moved(move, transform, record, params)
        if new is not None and left > 0:
            found = _contiguous(bound(array, **params))
            trials[function] = left - 1 if _are_alike(found, new) else -1
            return found
    if new is not None:
        return DeferredArray(new)
    ending = _endings.get(function)
    if ending is not None:
        try:
            return ending(array, record)
        except NotRecorded:
            pass
    return _contiguous(bound(array, **params))


def _is_image(record: Record) -> bool:
    """Of one channel in a dimension of its own, the library takes care."""
    if record.axes == "hwc":
        return bool(record.shape[2] > 1)
    return record.axes == "hw"


def _moved(move: Move, transform: Any, record: Any, params: Any) -> Any:
    """None: the function itself has to say."""
    try:
        return move(transform, record, params)
    except (NotRecorded, KeyError, TypeError, ValueError, AttributeError):
        return None


def _contiguous(made: Any) -> Any:
    """As the library has it. A tensor stays as it is."""
    if type(made) is DeferredArray:
        record = recorded_array(made)
        if record is None or record.strides != dense(record.shape):
            return np.ascontiguousarray(made)
        return made
    if issubclass(type(made), _tensor_class()):
        return made
    return _module("core.utils").ensure_contiguous_output(made)


def _tensor_class() -> Any:
    torch: Any = sys.modules.get("torch")
    return () if torch is None else torch.Tensor


# ---- Trials -----------------------------------------------------------------

# By the id of a transform: itself, and for each function how many are left.
_transforms: Dict[int, Tuple[Any, Dict[Any, int]]] = {}


def _trials_of(transform: Any) -> Dict[Any, int]:
    number = id(transform)
    known = _transforms.get(number)
    if known is not None and known[0]() is transform:
        return known[1]

    def gone(reference: Any) -> None:
        if _transforms.get(number, (None,))[0] is reference:
            del _transforms[number]

    trials: Dict[Any, int] = {}
    _transforms[number] = weakref.ref(transform, gone), trials
    return trials


def _are_alike(made: Any, b: Record) -> bool:
    a: Any = made._record if type(made) is DeferredArray else None
    if a is None or a.source is not b.source or a.steps != b.steps:
        return False
    names = ("mode", "axes", "shape", "strides", "dtype")
    if any(getattr(a, name) != getattr(b, name) for name in names):
        return False
    if [e[0] for e in a.erased] != [e[0] for e in b.erased]:
        return False
    values = [(x[1], y[1]) for x, y in zip(a.erased, b.erased)]
    values.append((table_of(a), table_of(b)))
    return all(
        x.dtype == y.dtype and x.tobytes() == y.tobytes() for x, y in values
    )
