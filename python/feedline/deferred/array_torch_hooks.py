# SPDX-License-Identifier: Apache-2.0
"""Functions of torch that make a tensor of a deferred array or image."""

from __future__ import annotations

from typing import Any, Dict, Tuple

import numpy as np
import torch

from .. import replaced
from . import array
from . import tensor_functions
from .array import DeferredArray, copied_array, torch_dtype
from .pillow_hooks import put
from .joined import Joined
from .record import Call, Record, as_table, dense, kept_order
from .remembered import then
from .stacked import stacked_of
from .tensor import POSSIBLE, wrap


_from_numpy: Any = torch.from_numpy


def install() -> None:
    if POSSIBLE:
        tensor_functions.register()
    pairs: Dict[int, Tuple[Any, Any]] = {}
    for name in ("from_numpy", "as_tensor", "asarray", "tensor"):
        put(pairs, torch, name, _maker)
    for original, function in pairs.values():
        _known_to_torchscript(original, function)
    replaced.replace(pairs)


def _known_to_torchscript(original: Any, function: Any) -> None:
    """As the operator that it stands for: nothing else compiles them."""
    builtins: Any = getattr(torch.jit, "_builtins", None)
    name = builtins and builtins._find_builtin(original)
    if name:
        builtins._register_builtin(function, name)
        del function.__prepare_scriptable__


_SAID = {"dtype"}  # what may be


def _maker(original: Any) -> Any:
    shares = original.__name__ != "tensor"

    def make(data: Any, *args: Any, **kwargs: Any) -> Any:
        if type(data) is DeferredArray:
            found = None
            if POSSIBLE and not args and kwargs.keys() <= _SAID:
                found = _tensor_of(data, original, kwargs, shares)
            if found is not None:
                return found
            data = data._feedline_real
        return original(data, *args, **kwargs)

    return make


def _tensor_of(given: Any, original: Any, kwargs: Any, shares: bool) -> Any:
    """None: torch has to look at the array."""
    stack = stacked_of(given)
    if stack is not None:
        return _joined(stack, given, original, kwargs, shares)
    record = copied_array(given)
    own = None if record is None else torch_dtype(record.dtype)
    if record is None or own is None or min(record.strides) < 0:
        return None  # torch raises an error of such strides
    if kwargs and record.pending is not None:
        return None
    call = Call(record.call, original, 0, (), kwargs)
    new = then(_shared if shares else _copied, record, call)
    is_view = shares and new.dtype is own
    return wrap(new, array.Handle(given) if is_view else None)


def _joined(
    stack: Any, given: Any, original: Any, kwargs: Any, shares: bool
) -> Any:
    """Of several images."""
    move, parts = _shared if shares else _copied, []
    if torch_dtype(stack.dtype) is None:
        return None
    for part in stack.parts:
        part = part.but(strides=dense(part.shape))
        call = Call(part.call, original, 0, (), kwargs)
        parts.append(then(move, part, call))
    call = Call(stack.call, original, 0, (), kwargs)
    made: Any = Joined(parts, stack.shape, 0, call)
    is_view = shares and made.dtype is torch_dtype(stack.dtype)
    return wrap(made, array.Handle(given) if is_view else None)


def _shared(record: Record, call: Call, **kwargs: Any) -> Record:
    new = _copied(record, call, **kwargs)
    same = new.dtype is torch_dtype(record.dtype)
    new.strides = record.strides if same else kept_order(record)
    return new


def _copied(record: Record, call: Call, **kwargs: Any) -> Record:
    original = call.function
    if kwargs:
        every = np.ascontiguousarray(array.every_pixel(record))
        table = as_table(original(every.copy(), **kwargs), record)
    else:
        table = _from_numpy(array.table_of(record))  # nobody changes it
    plain = record.table is None and table.dtype is torch_dtype(record.dtype)
    erased = tuple(
        (place, original(value.copy(), **kwargs))
        for place, value in record.erased
    )
    return record.but(
        table=None if plain else table,
        dtype=table.dtype,
        strides=dense(record.shape),
        erased=erased,
        kind=torch.Tensor,
        call=call,
    )
