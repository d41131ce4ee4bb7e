# SPDX-License-Identifier: Apache-2.0
"""Memory of batches that is used again.

A batch of photos is tens of megabytes. Fresh memory of that size comes from the
kernel page by page, which costs as much as a tenth of making the pixels. So a
batch gets memory that an earlier one had, once the last tensor over that is
gone: views, and whatever else shares it, included.
"""

from __future__ import annotations

import mmap
import weakref
from typing import Any, Dict, List, Sequence

import torch

# Smaller ones are the allocator's, which keeps such memory by itself.
AT_LEAST = 1 << 20
# From there on in pages of 2 MB, which take less to make and to find.
HUGE = 4 << 20
# Blocks of one size that wait for a batch; more go back to the kernel.
MOST_FREE = 4


class Memory:
    """Of one loader. Any thread."""

    def __init__(self) -> None:
        self._free: Dict[int, List[mmap.mmap]] = {}
        # What is in use, by the view that a tensor holds.
        self._lent: Dict[int, Any] = {}

    def empty(
        self, shape: Sequence[int], dtype: torch.dtype, pin: bool
    ) -> torch.Tensor:
        """As torch.empty; pinned memory has a pool of torch's."""
        like = torch.empty(shape, dtype=dtype, device="meta")
        n_bytes = like.numel() * like.element_size()
        if pin or n_bytes < AT_LEAST:
            return torch.empty(shape, dtype=dtype, pin_memory=pin)
        waiting = self._free.get(n_bytes)
        try:
            block = waiting.pop() if waiting else _block(n_bytes)
        except IndexError:  # another thread was faster
            block = _block(n_bytes)
        view = memoryview(block)
        self._note(view, block, n_bytes)
        return torch.frombuffer(view, dtype=dtype).view(tuple(shape))

    def _note(self, view: memoryview, block: mmap.mmap, n_bytes: int) -> None:
        key = id(view)
        lent, free = self._lent, self._free

        def back(unused: Any) -> None:
            lent.pop(key, None)
            waiting = free.setdefault(n_bytes, [])
            if len(waiting) < MOST_FREE:
                waiting.append(block)

        lent[key] = weakref.ref(view, back)


def _block(n_bytes: int) -> mmap.mmap:
    kind = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS
    block = mmap.mmap(-1, n_bytes, flags=kind)
    if n_bytes >= HUGE:
        try:
            block.madvise(mmap.MADV_HUGEPAGE)
        except OSError:  # a kernel without them
            pass
    return block
