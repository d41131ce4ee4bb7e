# SPDX-License-Identifier: Apache-2.0
"""Tensors and arrays of samples that share memory.

    return image, image[:, :8, :8]
    return array, torch.from_numpy(array)

A collate_fn of the program's that writes to one of them sees it in the other,
so what stands for them shares memory, too. Deferred ones become real for that,
which only those are that have a common base.
"""

from __future__ import annotations

import ctypes
import sys
from collections import Counter
from typing import Any, Dict, List, NamedTuple, Tuple

import torch

# Of addresses: that an element of any type may have.
_ALIGN = 64


class Views:
    """Those of a batch. Asks for nothing where nothing has a base."""

    def __init__(self) -> None:
        self._real: List[Any] = []
        self._deferred: List[Any] = []

    def note(self, thing: Any) -> None:
        """A real tensor or array that is copied."""
        self._real.append(thing)

    def note_deferred(self, thing: Any) -> None:
        if (
            getattr(thing, "_base", None) is not None
            or getattr(thing, "_viewed", False)
            or getattr(thing, "_views", ())
        ):
            self._deferred.append(thing)

    def _common(self) -> List[Any]:
        """(whether it shares memory with another one, a deferred thing)."""
        keys = [_key_of(thing) for thing in self._deferred]
        several = {key for key, n in Counter(keys).items() if n > 1}
        wholes = {root for root, part in keys if part is None}
        cut = wholes & {root for root, part in keys if part is not None}
        return [
            (key in several or key[0] in cut, thing)
            for key, thing in zip(keys, self._deferred)
        ]

    def copies(self) -> Dict[int, Any]:
        """By the id of each that shares memory what stands for it. Deferred
        ones are real then."""
        things = [(thing, thing) for thing in self._real]
        for is_common, thing in self._common():
            if getattr(thing, "_record", None) is not None:
                if not is_common:
                    continue  # nor has a view made it real
                thing._make_real()
            things.append((thing, getattr(thing, "_feedline_real", thing)))
        if len(things) < 2:
            return {}
        blocks = [
            _Block(*_span_of(real), *(thing, real)) for thing, real in things
        ]
        found: Dict[int, Any] = {}
        for group in _groups(blocks):
            found.update(_copied(group))
        return found


def _key_of(thing: Any) -> Tuple[int, Any]:
    """Its root, and which part of that it shows a part of; None: of several."""
    chain, base = [thing], getattr(thing, "_base", None)
    while base is not None:
        chain.append(base)
        base = getattr(base, "_base", None)
    root = chain[-1]
    found = [_part_of(*pair, root) for pair in zip(chain, chain[1:])]
    part = next((n for n in reversed(found) if n is not None), None)
    return id(root), part


# What gives the part of an array or a tensor that it is given the number of.
_OF_PART = ("__getitem__", "part_of_stack")


def _part_of(thing: Any, base: Any, root: Any) -> Any:
    """Which part of the root an array or a tensor is, along its first
    dimension; None: it is something else."""
    call = getattr(getattr(thing, "_record", None), "call", None)
    name = getattr(getattr(call, "function", None), "__name__", "")
    if call is None or name not in _OF_PART:
        return None
    if len(call.args) != 1 or type(call.args[0]) is not int:
        return None
    one, other = base._record, root._record
    if one is None or other is None or one.shape != other.shape:
        return None
    if one.strides != other.strides or one.strides[0] == 0:
        return None
    return call.args[0] % one.shape[0]


class _Block(NamedTuple):
    """The memory that a tensor or an array may reach."""

    begin: int
    end: int
    thing: Any
    real: Any


def _span_of(real: Any) -> Tuple[int, int]:
    """Addresses; none of what has no such memory."""
    if isinstance(real, torch.Tensor):
        if real.device.type != "cpu" or real.layout != torch.strided:
            return 0, 0
        if real.requires_grad or real.is_quantized or real.is_nested:
            return 0, 0
        storage = real.untyped_storage()
        begin = storage.data_ptr()
        return begin, begin + storage.nbytes()
    if real.dtype.hasobject or type(real) is not sys.modules["numpy"].ndarray:
        return 0, 0
    begin = end = real.__array_interface__["data"][0]
    for side, stride in zip(real.shape, real.strides):
        if side == 0:
            return 0, 0
        reach = (side - 1) * stride
        begin, end = begin + min(reach, 0), end + max(reach, 0)
    return begin, end + real.itemsize


def _groups(blocks: List[_Block]) -> List[List[_Block]]:
    """Several that overlap."""
    groups: List[List[_Block]] = []
    end = 0
    for block in sorted(blocks, key=lambda block: block.begin):
        if block.begin == block.end:
            continue
        if block.begin < end:
            groups[-1].append(block)
        else:
            groups.append([block])
        end = max(end, block.end)
    return [group for group in groups if len(group) > 1]


def _copied(group: List[_Block]) -> Dict[int, Any]:
    begin = group[0].begin
    length = max(block.end for block in group) - begin
    memory = torch.empty(length + _ALIGN, dtype=torch.uint8)
    shift = (begin - memory.data_ptr()) % _ALIGN
    ctypes.memmove(memory.data_ptr() + shift, begin, length)
    return {
        id(block.thing): _at(memory, shift - begin, block.real)
        for block in group
    }


def _at(memory: torch.Tensor, moved: int, real: Any) -> Any:
    """Another one, whose addresses have moved into this memory."""
    if not isinstance(real, torch.Tensor):
        numpy: Any = sys.modules["numpy"]
        at = real.__array_interface__["data"][0] + moved
        return numpy.ndarray(
            real.shape, real.dtype, memory.numpy(), at, real.strides
        )
    at = (real.data_ptr() + moved) // real.element_size()
    made = torch.empty(0, dtype=real.dtype)
    made.set_(memory.untyped_storage(), at, real.size(), real.stride())
    made = made.as_subclass(type(real))
    made.__dict__.update(vars(real))
    return made
