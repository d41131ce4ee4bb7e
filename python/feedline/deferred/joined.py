# SPDX-License-Identifier: Apache-2.0
"""Deferred tensors that are put together: torch.stack and torch.cat.

    torch.stack([to_tensor(frame) for frame in clip])

The engine makes each part where it lies in the whole. Arithmetic by numbers
goes on in each part; anything else makes the whole real.
"""

from __future__ import annotations

from typing import Any, Dict, List, Optional, Sequence, Tuple

import torch

from .description import Deferred, Form
from .record import Call, Record, Shape, dense
from .recording import state
from .tensor import DeferredTensor, described, recorded, wrap


# Far from the images that a sample may have.
_MOST = 128


class Joined:
    """In place of a record: of several tensors, side by side in memory."""

    whole = True  # no record of one image

    def __init__(
        self, parts: Sequence[Record], shape: Shape, dim: int, call: Call
    ) -> None:
        first = parts[0]
        self.parts = tuple(parts)
        self.shape, self.strides = shape, dense(shape)
        self.dim = dim  # that the parts are stacked along
        self.call = call
        self.run, self.dtype, self.kind = first.run, first.dtype, first.kind

    def deferred(self, leaf: Any) -> Optional[Deferred]:
        if any(part.source.read for part in self.parts):
            return None
        found: List[Any] = [described(wrap(p), p) for p in self.parts]
        if None in found:
            return None
        made = found[0]
        size = made.channels, made.height, made.width
        bytes_each = made.element_bytes
        form = Form(
            self.shape, size, dtype=self.dtype, element_bytes=bytes_each
        )
        whole = Deferred(leaf, made.source, (), form)
        whole.parts, whole.dim = tuple(found), self.dim
        return whole


def _parts_of(tensors: Any) -> List[Record]:
    """The records of deferred tensors that may be put together; empty: they may
    not."""
    if not isinstance(tensors, (list, tuple)):
        return []
    if not all(_is_plain(t) for t in tensors):
        return []
    found = [recorded(t, leaf=True) for t in tensors]
    records = [record for record in found if record is not None]
    if len(records) < len(found) or len(records) > _MOST:
        return []
    if any(isinstance(r, Joined) or r.run is not state.run for r in records):
        return []
    return records


def _is_plain(tensor: Any) -> bool:
    return isinstance(tensor, DeferredTensor) and tensor._kind is torch.Tensor


def _dim_of(args: Any, kwargs: Any) -> Any:
    if len(args) not in (1, 2) or set(kwargs) - {"dim"}:
        return None
    dim = args[1] if len(args) == 2 else kwargs.get("dim", 0)
    return dim if type(dim) is int else None


def stack(func: Any, args: Any, kwargs: Any) -> Any:
    dim, parts = _dim_of(args, kwargs), _parts_of(args[0] if args else None)
    if dim is None or not parts:
        return NotImplemented
    shape, n = parts[0].shape, len(parts[0].shape) + 1
    if not -n <= dim < n:
        return NotImplemented
    if any(p.shape != shape or p.dtype != parts[0].dtype for p in parts):
        return NotImplemented
    dim %= n
    whole = (*shape[:dim], len(parts), *shape[dim:])
    return _joined(parts, whole, dim, func)


def cat(func: Any, args: Any, kwargs: Any) -> Any:
    """Along the first dimension."""
    dim, parts = _dim_of(args, kwargs), _parts_of(args[0] if args else None)
    if not parts or len(parts[0].shape) < 2:
        return NotImplemented
    first = parts[0]
    if dim not in (0, -len(first.shape)):
        return NotImplemented
    for part in parts:
        if part.shape[1:] != first.shape[1:] or part.dtype != first.dtype:
            return NotImplemented
    many = sum(part.shape[0] for part in parts)
    return _joined(parts, (many, *first.shape[1:]), 0, func)


def _joined(parts: List[Record], shape: Shape, dim: int, func: Any) -> Any:
    call = Call(None, _real, 0, (func, [part.call for part in parts], dim))
    made: Any = Joined(parts, shape, dim, call)
    return wrap(made)


def unbind(func: Any, args: Any, kwargs: Any) -> Any:
    """Those along the first dimension, which are views; so list() has them."""
    tensor = args[0]
    record: Any = recorded(tensor, leaf=True)
    if len(args) > 2 or kwargs or (len(args) == 2 and args[1] != 0):
        return NotImplemented
    if record is None or record.run is not state.run:
        return NotImplemented
    if not record.whole:
        many = record.axes[0] not in "hw"
        of_image = [tensor[n] for n in range(record.shape[0] if many else 0)]
        return tuple(of_image) if many else NotImplemented
    shape = record.shape[1:]
    if type(record) is not Joined or record.dim or len(shape) < 2:
        return NotImplemented
    parts = []
    for n, part in enumerate(record.parts):
        if part.shape != shape:  # they were put together otherwise
            return NotImplemented
        call = Call(record.call, part_of_stack, 0, (n,))
        new = part.but(call=call, strides=dense(shape))
        parts.append(wrap(new, tensor))
    return tuple(parts)


def part_of_stack(tensor: Any, n: int) -> Any:
    return tensor[n]


def _real(func: Any, calls: Any, dim: int) -> Any:
    return func([call.again() for call in calls], dim)


def of_parts(
    handler: Any, func: Any, args: Tuple[Any, ...], kwargs: Dict[str, Any]
) -> Any:
    """Arithmetic of one such tensor and numbers, part by part."""
    at = [i for i, a in enumerate(args) if isinstance(a, DeferredTensor)]
    # To the whole a tensor has other dimensions than to a part.
    every = [*args, *kwargs.values()]
    if len(at) != 1 or sum(isinstance(v, torch.Tensor) for v in every) > 1:
        return NotImplemented
    whole: Any = recorded(args[at[0]], leaf=True)
    if not isinstance(whole, Joined) or recorded(wrap(whole.parts[0])) is None:
        return NotImplemented
    parts = []
    for part in whole.parts:
        given = (*args[: at[0]], wrap(part), *args[at[0] + 1 :])
        made = handler(func, given, kwargs)
        if made is given[at[0]]:  # as x.float() of floats: it is itself
            return args[at[0]]
        record = recorded(made) if isinstance(made, DeferredTensor) else None
        if record is None or record.shape != part.shape:
            return NotImplemented
        parts.append(record)
    rest = (*args[: at[0]], *args[at[0] + 1 :])
    call = Call(whole.call, func, at[0], rest, kwargs)
    joined: Any = Joined(parts, whole.shape, whole.dim, call)
    return wrap(joined)
