# SPDX-License-Identifier: Apache-2.0
"""The masks of a batch (option masks), as arrays."""

from __future__ import annotations

from typing import Any, List, Tuple

from . import _c
from ._library import lib
from .errors import check
from .fields import Memory


class Masks:
    """The mask of each image of a batch, uint8 in host memory. They share the
    batch's memory and keep it."""

    def __init__(self, handle: int, info: _c.batch_info, hold: Any) -> None:
        raw = _c.batch_masks()
        check(lib.batch_get_masks(handle, raw))
        self._count = int(info.count)
        self._raw = raw
        self._hold = hold
        self._sizes: List[Tuple[int, int]] = []
        if not raw.height:
            found = info.image_size[: self._count]
            self._sizes = [(size[0], size[1]) for size in found]

    def numpy(self) -> Any:
        """All of them as [count, height, width]. TypeError: their images have
        different sizes."""
        if self._sizes:
            raise TypeError("masks have different sizes: take them one by one")
        shape = (self._count, int(self._raw.height), int(self._raw.width))
        return self._array(0, shape)

    def __len__(self) -> int:
        return self._count

    def __getitem__(self, index: int) -> Any:
        """One of them, [height, width]; zeros for a sample that failed."""
        at = range(self._count)[index]
        size = self._raw.height, self._raw.width
        if self._sizes:
            size = self._sizes[at] if self._raw.bytes[at] else (0, 0)
        return self._array(self._raw.offset[at], (int(size[0]), int(size[1])))

    def _array(self, offset: int, shape: Tuple[int, ...]) -> Any:
        import numpy

        count = 1
        for side in shape:
            count *= side
        address = (self._raw.data or 0) + offset
        memory = Memory(self._hold, address, "|u1", count)
        return numpy.asarray(memory).reshape(shape)

    def __repr__(self) -> str:
        return "<feedline.Masks of %d images>" % self._count
