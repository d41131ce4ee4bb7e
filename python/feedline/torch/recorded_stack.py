# SPDX-License-Identifier: Apache-2.0
"""What a collate_fn of the program's own stacks.

Most of them give lists of images to torch.stack, or to default_collate, which
does. Where these are all rows of one tensor, in their order, the result is that
tensor: a copy of a batch of photos takes as much as a tenth of making the
pixels. It is made after all

- in front of the next function of torch's that the collate_fn gives the result,
  or a row: it may write to one of them, or show its memory to others;
- behind the collate_fn, if anybody but the result still has that memory.

Where torch was not asked (a Parameter, as_subclass()), something else has the
result's memory by then: the rows are copied instead.

Other images are copied, to memory that is used again: fresh memory costs more
than the copy.

Seeing each call of torch's costs a few microseconds: of a collate_fn that makes
thousands, on single elements say, the next batches are left alone.
"""

from __future__ import annotations

from typing import Any, List, Tuple

import torch
from torch.overrides import TorchFunctionMode

from . import _compat
from .recorded_memory import Memory

# What only says something of a tensor.
_TENSOR: Any = torch.Tensor
_ASKS = frozenset(
    (
        _TENSOR.dim,
        _TENSOR.size,
        _TENSOR.numel,
        _TENSOR.__len__,
        _TENSOR.is_floating_point,
        _TENSOR.shape.__get__,
        _TENSOR.dtype.__get__,
        _TENSOR.ndim.__get__,
        _TENSOR.device.__get__,
        _TENSOR.requires_grad.__get__,
    )
)
_DEEPEST = 4  # of lists in arguments
# Calls that cost as much as copying a batch of 64 photos of 224 x 224, 2 ms.
MOST_CALLS = 500


class Stacked(TorchFunctionMode):
    """While this is entered, on this thread.

    batch: whose memory rows are of; None: there are none.
    """

    def __init__(self, memory: Memory, batch: Any = None) -> None:
        super().__init__()
        self._memory = memory
        self._batch = batch if _compat.storage_users is not None else None
        # Results with the memory of rows, and these.
        self._given: List[Tuple[torch.Tensor, Any]] = []
        self.calls = 0  # of torch's functions

    def __torch_function__(
        self, func: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        kwargs = kwargs or {}
        self.calls += 1
        if self._given and func not in _ASKS:
            self._copy_what_is_in((args, kwargs), 0)
        if func is torch.stack and kwargs.get("out") is None:
            tensors = self._stackable(*args, **kwargs)
            if tensors:
                return self._stack(tensors)
        return func(*args, **kwargs)

    @staticmethod
    def _stackable(tensors: Any = (), dim: Any = 0, out: Any = None) -> Any:
        """None: torch takes what it takes."""
        if type(tensors) not in (list, tuple) or not tensors or dim != 0:
            return None
        first = tensors[0]
        return tensors if all(_is_plain(t, first) for t in tensors) else None

    def _stack(self, tensors: Any) -> torch.Tensor:
        batch = self._batch
        whole = None if batch is None else batch.whole_of(tensors)
        if whole is not None:
            self._given.append((whole, tuple(tensors)))
            return whole  # type: ignore[no-any-return]
        first = tensors[0]
        shape = (len(tensors), *first.shape)
        out = self._memory.empty(shape, first.dtype, False)
        return torch.stack(tensors, out=out)

    def _copy_what_is_in(self, given: Any, depth: int) -> None:
        kind = type(given)
        if kind is dict:
            given = given.values()
        elif isinstance(given, torch.Tensor):
            for whole, rows in self._given:
                if _shares(given, whole):
                    self._copy(whole, rows, given)
                    break
            return
        elif not isinstance(given, (list, tuple)) or depth > _DEEPEST:
            return
        for part in given:
            self._copy_what_is_in(part, depth + 1)

    def _copy(self, whole: torch.Tensor, rows: Any, given: Any) -> None:
        self._given = [one for one in self._given if one[0] is not whole]
        if given is not whole and _shows_all(given, rows[0]):
            for row in rows:
                give_own(row, self._memory)
        else:
            give_own(whole, self._memory)

    def settle(self) -> None:
        """Nobody but the result should have the memory now."""
        assert _compat.storage_users is not None or not self._given
        wholes = [whole for whole, _ in self._given]
        self._given = []  # nor have the rows
        for whole in wholes:
            if not _compat.is_only_user(whole):
                give_own(whole, self._memory)


def give_own(tensor: torch.Tensor, memory: Memory) -> None:
    """Memory of its own, with the same elements."""
    own: Any = memory.empty(tuple(tensor.shape), tensor.dtype, False)
    tensor.set_(own.copy_(tensor))


def _shares(tensor: torch.Tensor, whole: torch.Tensor) -> bool:
    if tensor is whole:
        return True
    if tensor.layout is not torch.strided or not tensor.is_cpu:
        return False
    first = whole.data_ptr()
    end = first + whole.numel() * whole.element_size()
    return first <= tensor.data_ptr() < end


def _shows_all(tensor: torch.Tensor, row: torch.Tensor) -> bool:
    """Whether it was made of the result, not of one of its rows."""
    kind: Any = type(tensor)
    return tensor.numel() > row.numel() or kind is not torch.Tensor


def _is_plain(tensor: Any, like: Any) -> bool:
    return (
        type(tensor) is torch.Tensor
        and tensor.shape == like.shape
        and tensor.dtype is like.dtype
        and tensor.layout is torch.strided
        and tensor.is_cpu
        and not tensor.requires_grad
    )
