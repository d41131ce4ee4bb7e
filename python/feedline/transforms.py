# SPDX-License-Identifier: Apache-2.0
"""Functions of the user's as transforms that also run in the engine.

    Compose([RandomResizedCrop(224), PIL(RandAugment()), ToTensor()])
    Compose([RandomResizedCrop(224), Python(solarize), ToTensor()])

torch calls a transform with a Pillow image, the engine an operation with an
array of bytes. `PIL`, for callables on Pillow images, and `Python`, for
functions on arrays, are both: a callable on images for torchvision and timm,
and natively an operation of the pipeline (`Pipeline.python`) with the same
result. They belong where samples are images, before ToTensor.

Natively what they draw from `random`, numpy and torch is seeded for each
sample, so it repeats with the seed for any number of threads, and the
generators of the program are left alone (thread_draws.py).
"""

from __future__ import annotations

import random
import re
import sys
from typing import Any, Callable, List, Optional, Sequence, Tuple

from .python_op import takes_rng

__all__ = ["PIL", "Python", "Views"]


class Views:
    """Several views of each image, each by a chain of transforms of its own:

        Views([large, large, (small, 8)])

    A callable that returns a list of what the chains make, in order. chains:
    callables on images; a pair of one and a number stands for so many views.
    default_collate makes a list of tensors of them,
    one per view. In the engine an image is decoded once for all views.
    """

    def __init__(self, chains: Sequence[Any]) -> None:
        self.chains: List[Tuple[Any, int]] = []
        for given in chains:
            chain, count = given if isinstance(given, tuple) else (given, 1)
            if not callable(chain) or not isinstance(count, int) or count < 1:
                raise TypeError(
                    "Views() takes transforms, or pairs of a transform and a "
                    "number of views, but got %r" % (given,)
                )
            self.chains.append((chain, count))
        if not self.chains:
            raise ValueError("Views() takes one transform at least")

    def __call__(self, image: Any) -> List[Any]:
        return [
            chain(image) for chain, count in self.chains for _ in range(count)
        ]

    def __repr__(self) -> str:
        return "Views(%r)" % (self.chains,)


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
    """Runs fn on the pixels of an image, in torch's loaders and the engine.

    fn: is called as fn(pixels), with uint8, [H, W, C] with C = 1 (gray) or 3
    (RGB), a numpy array of its own. It changes it in place and returns None, or
    returns uint8 of the same shape. It may draw from random, numpy.random and
    torch. With a parameter `rng` it gets random numbers instead (rng.uniform(),
    rng.below(n), rng.u32()): in the engine those of the sample, else from
    torch's global generator; then it should draw from nothing else.

    The engine calls it on its own threads, several at once. name: in
    statistics and messages, lower_snake. thread_safe=False: one call at a time.
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
        self.name: str = name
        self.thread_safe = thread_safe

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

        if takes_rng(self.fn):
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


class PIL:
    """A transform of Pillow images, in torch's loaders and in the engine.

    transform: takes a Pillow image of mode RGB, or L if gray, and returns one
    of the same mode and size: RandAugment, GaussianBlur, any callable; a
    Compose of several is one call.

    name: in statistics and messages, lower_snake; by default pil_ and
    that of the transform. thread_safe=False: one call at a time.
    """

    def __init__(
        self,
        transform: Callable[[Any], Any],
        name: Optional[str] = None,
        thread_safe: bool = True,
    ) -> None:
        if not callable(transform):
            raise TypeError(
                "PIL() takes a callable, but got %s" % type(transform).__name__
            )
        self.transform = transform
        self.name: str = _snake(transform) if name is None else name
        self.thread_safe = thread_safe

    def __call__(self, image: Any) -> Any:
        """image: a Pillow image of mode L or RGB.

        Raises TypeError where the result is none of the same mode and size.
        """
        from PIL import Image

        result = self.transform(image)
        got = type(result).__name__
        if isinstance(result, Image.Image):
            if (result.mode, result.size) == (image.mode, image.size):
                return result
            got = "one of mode %s, %dx%d" % (result.mode, *result.size)
        raise TypeError(
            "%s was given an image of mode %s, %dx%d, and returned %s; in "
            "PIL() a transform keeps mode and size"
            % (self.name, image.mode, *image.size, got)
        )

    def of_pixels(self, pixels: Any) -> Any:
        """The transform as the engine calls it: returns an array of the same
        shape.

        pixels: uint8 [H, W, C], with C = 1 (gray) or 3 (RGB).
        """
        import numpy
        from PIL import Image

        gray = pixels.shape[2] == 1
        image = Image.fromarray(pixels[:, :, 0] if gray else pixels)
        made = numpy.asarray(self(image))
        return made[:, :, None] if gray else made

    def __repr__(self) -> str:
        return "%s(%r)" % (type(self).__name__, self.transform)


def _snake(transform: Any) -> str:
    """The name of a function or class as that of an operation, which no
    operation of the engine's has: pil_resize."""
    name = getattr(transform, "__name__", type(transform).__name__)
    name = re.sub("(?<=[a-z0-9])(?=[A-Z])", "_", name).lower()
    name = re.sub("[^a-z0-9_]+", "_", name).strip("_")
    return "pil_" + name if name not in ("", "lambda") else "pil"
