# SPDX-License-Identifier: Apache-2.0
"""Images that are put together of others of their sample.

    canvas = np.full((1280, 1280, 3), 114, np.uint8)
    canvas[y1:y2, x1:x2] = image

A `Canvas` is in place of a file: its pixels are those of its parts, which the
engine makes before it. It is never changed; what is pasted gives another one.
"""

from __future__ import annotations

import itertools
from functools import lru_cache
from typing import Any, Dict, List, NamedTuple, Optional, Tuple

from .. import _c
from .description import Deferred, Form
from .image_source import Header, Source, lock, pillow
from .record import Call
from .recording import no_run, state
from .steps import Steps

# How its parts become its pixels.
PASTE = _c.CANVAS_PASTE
SUM_F64 = _c.CANVAS_SUM_F64
SUM_F32 = _c.CANVAS_SUM_F32

# Parts of one canvas, far from what a sample may have.
MOST_PARTS = 64
# Images of a sample, of which others may be.
MOST_IMAGES = 160
# Smaller ones are no canvases.
LEAST_PIXELS = 1024
MODES = {1: "L", 3: "RGB"}
_NEVER = 1 << 62

# Packages whose images are their own matter.
_LIBRARIES = frozenset(
    "PIL cv2 feedline numpy scipy skimage torch torchvision".split()
)


def asks(frame: Any) -> bool:
    """Whether it is the program that asks for an image, in a run."""
    run = state.run
    if run is None or not run.recorder.arrays:
        return False
    name: str = frame.f_globals.get("__name__", "")
    return name.partition(".")[0] not in _LIBRARIES


class Part(NamedTuple):
    """An image of bytes, and where it lies."""

    source: Source
    steps: Steps
    size: Tuple[int, int]
    left: int = 0
    top: int = 0
    weight: float = 0.0
    mask: Optional[bytes] = None  # a byte for each of its pixels
    rectangle: Tuple[int, int, int, int] = (0, 0, 0, 0)  # of it; or all
    kept: int = 0  # its number, if other samples have it, too


class Canvas(Source):
    """call: makes the real array."""

    sound = True  # whose parts are files

    def __init__(
        self,
        size: Tuple[int, int],
        fill: Tuple[int, ...],
        call: Call,
        parts: Tuple[Part, ...] = (),
        how: int = PASTE,
    ) -> None:
        super().__init__(None, None, _header(size, MODES[len(fill)]))
        self.size, self.fill, self.how = size, fill, how
        self.parts = parts
        self.call = call

    @property
    def born(self) -> int:  # type: ignore[override]
        """When the first of its parts was."""
        born = (part.source.born for part in self.parts)
        return min(born, default=_NEVER)

    @property
    def blank(self) -> bool:  # type: ignore[override]
        return not self.parts

    def but(self, call: Call, *parts: Part) -> "Canvas":
        """With more parts."""
        every = (*self.parts, *parts)
        return Canvas(self.size, self.fill, call, every, self.how)

    def open_again(self) -> Any:
        with lock, no_run():
            made = pillow.image.fromarray(self.call.again())
        return made

    def compare(self) -> None:
        """Its parts do."""

    @property
    def images(self) -> int:
        """That its sample has because of it, at most."""
        return 1 + sum(
            part.source.images if type(part.source) is Canvas else 1
            for part in self.parts
        )


@lru_cache(maxsize=256)
def _header(size: Tuple[int, int], mode: str) -> Header:
    found = object.__new__(Header)
    found.kind, found.mode, found.size, found.format = object, mode, size, ""
    found.info, found.transparent = {}, False
    found.names, found.layers = frozenset(), (0, ())
    return found


# ---- In a sample ------------------------------------------------------------


class Laid(NamedTuple):
    """A canvas of a sample, whose parts have numbers there."""

    canvas: Canvas
    numbers: Tuple[int, ...]


@lru_cache(maxsize=1024)
def _form(size: Tuple[int, int], channels: int) -> Form:
    w, h = size
    return Form((h, w, channels), (channels, h, w))


def lay(image: Deferred, images: List[Deferred], outs: List[int]) -> None:
    """The parts of an image's canvas, if it has one, in front of it among the
    images of its sample. They have no memory."""
    if type(image.source) is Canvas:
        known: Dict[Any, int] = {}
        for n, other in enumerate(images):
            if other.leaf is None:
                known[id(other.source), other.steps] = n
        image.laid = _laid(image.source, images, outs, known)


def one_sample(image: Deferred, out: int) -> Tuple[List[Deferred], List[int]]:
    """The images of a sample that has this one; their memory."""
    images: List[Deferred] = []
    outs: List[int] = []
    lay(image, images, outs)
    return [*images, image], [*outs, out]


def _laid(
    canvas: Canvas,
    images: List[Deferred],
    outs: List[int],
    known: Dict[Any, int],
) -> Laid:
    numbers = []
    for part in canvas.parts:
        key = id(part.source), part.steps
        number = known.get(key)
        if number is None:
            form = _form(part.size, len(canvas.fill))
            made = Deferred(None, part.source, part.steps, form)
            if type(part.source) is Canvas:
                made.laid = _laid(part.source, images, outs, known)
            made.kept = part.kept
            number = known[key] = len(images)
            images.append(made)
            outs.append(0)
        numbers.append(number)
    return Laid(canvas, tuple(numbers))


def sources_of(source: Source) -> List[Source]:
    """Those of files."""
    if type(source) is not Canvas:
        return [source]
    return list(
        itertools.chain.from_iterable(
            sources_of(part.source) for part in source.parts
        )
    )
