# SPDX-License-Identifier: Apache-2.0
"""A function of the user's as a transform that also runs in the engine.

    Compose([RandomResizedCrop(224), Python(solarize), ToTensor()])

torch calls a transform with a Pillow image, the engine an operation with an
array of bytes. `Python` is both: a callable on images for torchvision and
timm, and natively an operation of the pipeline (`Pipeline.python`) with the
same result. It has to stand where images are, before ToTensor.
"""

from __future__ import annotations

import random
import sys
from typing import Any, Callable

from .python_op import _takes_rng as takes_rng

__all__ = ["Python"]


class GlobalRng:
    """What the engine calls rng, drawn from torch's global generator.

    From Python's where torch is not loaded.
    """

    def u32(self) -> int:
        """All 32 bits."""
        return self.below(1 << 32)

    def uniform(self) -> float:
        """In [0, 1)."""
        torch = sys.modules.get("torch")
        if torch is None:
            return random.random()
        return float(torch.rand((), dtype=torch.float64).item())

    def below(self, n: int) -> int:
        """In [0, n), without bias."""
        if not 0 < n <= 1 << 32:
            raise ValueError("below takes 1 to 2**32, not %d" % n)
        torch = sys.modules.get("torch")
        if torch is None:
            return random.randrange(n)
        return int(torch.randint(0, n, ()).item())


class Python:
    """fn on the pixels of an image, in torch's loaders and in the engine.

    fn(pixels): uint8, [H, W, C] with C = 1 (gray) or 3 (RGB), a numpy array of
    its own. It changes it in place and returns None, or returns uint8 of the
    same shape. With a parameter `rng` it gets random numbers (rng.uniform(),
    rng.below(n), rng.u32()): in the engine those of the sample, else from
    torch's global generator. It should draw from nothing else, for the engine
    calls it on threads of its own.

    name: in statistics and messages, lower_snake. thread_safe=False: one call
    at a time.
    """

    def __init__(
        self,
        fn: Callable[..., Any],
        name: str = "python",
        thread_safe: bool = True,
    ) -> None:
        if not callable(fn):
            raise TypeError(
                "Python() takes a function, but got %s" % type(fn).__name__
            )
        self.fn = fn
        self.name = name
        self.thread_safe = thread_safe

    @property
    def random(self) -> bool:
        """The function asks for random numbers."""
        return takes_rng(self.fn)

    def __call__(self, image: Any) -> Any:
        """image: a Pillow image of mode L or RGB, or uint8 [H, W, C].

        Returns the same kind, changed. Raises TypeError for anything else, and
        for a result of another type or shape.
        """
        import numpy

        if isinstance(image, numpy.ndarray):
            return self._apply(image.copy())
        mode = getattr(image, "mode", None)
        if mode not in ("L", "RGB"):
            raise TypeError(
                "Python() takes Pillow images of mode L or RGB, or arrays of "
                "uint8, but got %s" % (mode or type(image).__name__)
            )
        from PIL import Image

        pixels = numpy.array(image)
        if mode == "L":
            return Image.fromarray(self._apply(pixels[:, :, None])[:, :, 0])
        return Image.fromarray(self._apply(pixels))

    def _apply(self, pixels: Any) -> Any:
        import numpy

        if self.random:
            result = self.fn(pixels, rng=GlobalRng())
        else:
            result = self.fn(pixels)
        if result is None:
            return pixels
        result = numpy.asarray(result)
        if result.dtype != numpy.uint8 or result.shape != pixels.shape:
            raise TypeError(
                "%s returned %s of shape %s; it changes its image in place, or "
                "returns uint8 of the same shape %s"
                % (self.name, result.dtype, result.shape, pixels.shape)
            )
        return result

    def __repr__(self) -> str:
        name = getattr(self.fn, "__name__", repr(self.fn))
        return "%s(%s)" % (type(self).__name__, name)
