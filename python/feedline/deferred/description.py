# SPDX-License-Identifier: Apache-2.0
"""What the engine needs to know of a deferred object: `Deferred`."""

from __future__ import annotations

import struct
from typing import Any, Callable, Optional, Tuple

from .. import _c
from .image_source import Source
from .steps import Steps


# A pipeline's handle, and seed, epoch, sample, copy and view of its draws.
Draws = Tuple[int, int, int, int, int, int]
NO_DRAWS: Draws = (0, 0, 0, 0, 0, 0)

# From out_bytes to element_bytes of struct feedline_recorded_image.
_OUTPUT = struct.Struct("@QiiiiiI")
OUTPUT_BYTES = _OUTPUT.size


class Form:
    """What becomes of deferred objects that are alike. Never changed, and
    mostly one for all samples of a data set."""

    __slots__ = (
        "shape channels height width dtype mode nhwc element_bytes wrap "
        "nbytes output"
    ).split()

    def __init__(
        self,
        shape: Tuple[int, ...],
        size: Tuple[int, int, int],
        *,
        dtype: Any = None,
        mode: Optional[str] = None,
        nhwc: bool = True,
        code: int = _c.U8,
        element_bytes: int = 1,
        wrap: Optional[Callable[[Any], Any]] = None,
    ) -> None:
        """code: enum feedline_dtype."""
        self.shape = shape  # of the real one; of an image: as an array's
        self.channels, self.height, self.width = size
        self.dtype = dtype  # of a tensor
        self.mode = mode  # of an image
        self.nhwc = nhwc  # the order in memory
        self.element_bytes = element_bytes
        self.wrap = wrap  # makes a tensor the kind of tensor that it is
        # Of the memory that it will fill, without gaps.
        self.nbytes = element_bytes
        for side in size:
            self.nbytes *= side
        # As the struct has it.
        self.output = _OUTPUT.pack(
            self.nbytes, code, nhwc, *size, element_bytes
        )


class Deferred:
    """How a deferred image or tensor is made. What it will be, its form says,
    whose attributes this has, too."""

    # Of one that is put together: its parts, which lie one behind the other
    # in memory; the dimension that they are stacked along.
    parts: Tuple["Deferred", ...] = ()
    dim = 0
    # Of a canvas: it, and the numbers of its parts in the sample.
    laid: Any = None
    # Of a part that other samples have as well: its number.
    kept = 0

    def __init__(
        self,
        leaf: Any,
        source: Source,
        steps: Steps,
        form: Form,
        draws: Draws = NO_DRAWS,
    ) -> None:
        self.leaf = leaf
        self.source = source
        self.steps = steps
        self.form = form
        # Of a pipeline that comes behind steps on pixels; whoever keeps this
        # keeps the pipeline.
        self.draws = draws

    def __getattr__(self, name: str) -> Any:
        return getattr(self.form, name)

    def real(self) -> Any:
        """The object itself, made real here and now by Pillow and torch."""
        leaf = self.leaf
        if getattr(leaf, "_feedline_deferred", None) is not None:
            leaf._make_real()
        return leaf

    def give(self, memory: Any) -> Any:
        """The object itself, made real with pixels that the engine made.

        memory: for a tensor a torch.Tensor of its shape, which it then shares;
        for an image nbytes bytes, which are copied.
        """
        self.leaf._give(memory)
        return self.leaf


def deferred_of(leaf: Any) -> Optional[Deferred]:
    """How an object is made; None if it is not deferred. One from an earlier
    run than this thread's last is made real here."""
    found: Optional[Deferred] = getattr(leaf, "_feedline_deferred", None)
    return found
