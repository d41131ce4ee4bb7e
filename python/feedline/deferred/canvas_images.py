# SPDX-License-Identifier: Apache-2.0
"""Images of Pillow's that others are pasted into.

    boxed = Image.new("RGB", (416, 416), (128, 128, 128))
    boxed.paste(image.resize((416, 312), Image.BICUBIC), (0, 52))

paste() changes the image itself: it then is one of a canvas with one more part.
Copies, and arrays that were made of it, stay what they were.
"""

from __future__ import annotations

import operator
import sys
from typing import Any, Optional, Tuple

import numpy as np

from .canvas import LEAST_PIXELS, MODES, MOST_IMAGES, MOST_PARTS, PASTE, Canvas
from .canvas import Part, asks
from .image import DeferredImage, color_of, records, touch
from .pillow_steps import image_of
from .record import Call
from .recording import state

_CHANNELS = {mode: n for n, mode in MODES.items()}
_MOST_PIXELS = 1 << 26  # beyond it Pillow may warn
# Those that become a canvas's by convert(), as in paste().
_PASTED = frozenset(("L", "P", "RGB"))

Box = Tuple[int, int, int, int]


def new(original: Any) -> Any:
    def make(mode: Any, size: Any, color: Any = 0) -> Any:
        if state.run is not None and mode in _CHANNELS:
            found = _size_of(size)
            if found is not None and asks(sys._getframe(1)):
                fill = color_of(mode, color)
                if fill is not None:
                    return _blank(mode, found, fill)
        return original(mode, size, color)

    return make


def _size_of(size: Any) -> Optional[Tuple[int, int]]:
    if type(size) not in (tuple, list) or len(size) != 2:
        return None
    try:
        w, h = map(operator.index, size)
    except TypeError:
        return None
    if w < 1 or h < 1 or not LEAST_PIXELS <= w * h < _MOST_PIXELS:
        return None
    return w, h


def _blank(mode: str, size: Tuple[int, int], fill: Tuple[int, ...]) -> Any:
    made: Any = object.__new__(DeferredImage)
    made._source = Canvas(size, fill, Call(None, _flat, 0, (size, fill)))
    made._steps, made._size, made._mode = (), size, mode
    made._run, made._base_info = state.run, {}
    return made


def _flat(size: Tuple[int, int], fill: Tuple[int, ...]) -> Any:
    w, h = size
    if len(fill) == 1:
        return np.full((h, w), fill[0], np.uint8)
    return np.full((h, w, len(fill)), fill, np.uint8)


# ---- What is put in ---------------------------------------------------------


def paste(self: Any, im: Any, box: Any = None, mask: Any = None) -> Any:
    """In place of Image.paste."""
    pasted = None
    if mask is None and _is_canvas(self):
        whole = _corners(box)
        if whole is not None:
            pasted = _pasted(self, im, whole)
    if pasted is None:
        touch(self, "paste")
        return self.paste(im, box, mask)
    if pasted is not self._source:
        own = self._shared_info()
        self._source, self._steps, self._base_info = pasted, (), own
    return None


def _is_canvas(image: Any) -> bool:
    """Whether it may be one: it is of no file's class, and its memory is its
    own."""
    return (
        type(image) is DeferredImage
        and records(image, _CHANNELS)
        and "_array" not in image.__dict__
        and not image._source.read
        and not image._is_transparent()
    )


def _corners(box: Any) -> Optional[Tuple[int, ...]]:
    """Two or four numbers."""
    if box is None:
        return (0, 0)
    if type(box) not in (tuple, list) or len(box) not in (2, 4):
        return None
    try:
        return tuple(map(operator.index, box))
    except TypeError:  # newer versions of Python refuse fractions
        return None


def _pasted(self: Any, im: Any, box: Tuple[int, ...]) -> Optional[Canvas]:
    """None: it is for Pillow."""
    if isinstance(im, DeferredImage):
        found = _image_part(self, im, box)
    elif type(im) in (int, str, tuple):
        found = _flat_part(self, im, box)
    else:
        return None
    if found is None:
        return None
    canvas = _canvas_of(self)
    part, call = found
    if part is None:
        return canvas
    canvas = canvas.but(Call(canvas.call, *call), part)
    if canvas.images > MOST_IMAGES or len(canvas.parts) > MOST_PARTS:
        return None
    return canvas


def _canvas_of(image: Any) -> Canvas:
    source = image._source
    if type(source) is Canvas and source.how == PASTE and not image._steps:
        return source
    mode, size, steps = image._mode, image._size, image._steps
    call = Call(None, _pixels, 0, (source, steps))
    return Canvas(
        size, (0,) * _CHANNELS[mode], call, (Part(source, steps, size),)
    )


def _inside(size: Tuple[int, int], box: Box) -> Box:
    """What of a box lies in an image of that size."""
    x0, y0, x1, y1 = box
    return max(x0, 0), max(y0, 0), min(x1, size[0]), min(y1, size[1])


def _image_part(self: Any, im: Any, box: Tuple[int, ...]) -> Any:
    """(a part, its call); (None, ()) where nothing of it is to be seen; None:
    it is for Pillow."""
    if type(im) is not DeferredImage and im._steps == ():
        im = im.copy()  # of a file, or of memory that may change
    if not records(im, _PASTED) or im._source.read:
        return None
    x, y = box[:2]
    w, h = im._size
    if len(box) == 4 and (box[2] - x, box[3] - y) != (w, h):
        return None
    if im._mode != self._mode:
        im = im.convert(self._mode)
        if not records(im, (self._mode,)):
            return None
    x0, y0, x1, y1 = _inside(self._size, (x, y, x + w, y + h))
    if x0 >= x1 or y0 >= y1:
        return None, ()
    cut = x0 - x, y0 - y, x1 - x, y1 - y
    if cut != (0, 0, w, h):
        im = im.crop(cut)
    source, steps = im._source, im._steps
    source.wanted = True
    if source.kept and steps in source.kept:
        number, size = source.kept[steps]
        part = Part(source, steps, size, x0, y0, kept=number)
    else:
        part = Part(source, steps, im._size, x0, y0)
    return part, (_with, 0, (source, steps, (x0, y0)))


def _flat_part(self: Any, color: Any, box: Tuple[int, ...]) -> Any:
    """As _image_part()."""
    fill = color_of(self._mode, color)
    if fill is None or len(box) != 4 or box[2] < box[0] or box[3] < box[1]:
        return None
    corners = box[0], box[1], box[2], box[3]
    x0, y0, x1, y1 = _inside(self._size, corners)
    if x0 >= x1 or y0 >= y1:
        return None, ()
    size = x1 - x0, y1 - y0
    flat = Canvas(size, fill, Call(None, _flat, 0, (size, fill)))
    return Part(flat, (), size, x0, y0), (_with, 0, (flat, (), (x0, y0)))


def _pixels(source: Any, steps: Any) -> Any:
    """An array to be written to."""
    return np.array(image_of(source, steps))


def _with(array: Any, source: Any, steps: Any, place: Tuple[int, int]) -> Any:
    (x, y), part = place, _pixels(source, steps)
    h, w = part.shape[:2]
    array[y : y + h, x : x + w] = part
    return array


def install() -> None:
    setattr(DeferredImage, "paste", paste)
