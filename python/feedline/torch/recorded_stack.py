# SPDX-License-Identifier: Apache-2.0
"""What a collate_fn of the program's own stacks, in memory that is used again.

Most of them give lists of images to torch.stack, or to default_collate, which
does. The images are real by then, in memory of their batch, and stay with the
program, so they are copied; but fresh memory for that costs more than the copy.
"""

from __future__ import annotations

from typing import Any, Optional

import torch
from torch.overrides import TorchFunctionMode

from .recorded_memory import Memory


class Stacked(TorchFunctionMode):
    """While this is entered, on this thread."""

    def __init__(self, memory: Memory) -> None:
        super().__init__()
        self._memory = memory

    def __torch_function__(
        self, func: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        kwargs = kwargs or {}
        if func is torch.stack and kwargs.get("out") is None:
            out = self._room(*args, **kwargs)
            if out is not None:
                kwargs = {**kwargs, "out": out}
        return func(*args, **kwargs)

    def _room(
        self, tensors: Any = (), dim: Any = 0, out: Any = None
    ) -> Optional[torch.Tensor]:
        """None: torch takes what it takes."""
        if type(tensors) not in (list, tuple) or not tensors or dim != 0:
            return None
        first = tensors[0]
        if not all(_is_plain(t, first) for t in tensors):
            return None
        shape = (len(tensors), *first.shape)
        return self._memory.empty(shape, first.dtype, False)


def _is_plain(tensor: Any, like: Any) -> bool:
    return (
        type(tensor) is torch.Tensor
        and tensor.shape == like.shape
        and tensor.dtype is like.dtype
        and tensor.layout is torch.strided
        and tensor.is_cpu
        and not tensor.requires_grad
    )
