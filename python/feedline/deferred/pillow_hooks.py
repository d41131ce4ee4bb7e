# SPDX-License-Identifier: Apache-2.0
"""Functions of Pillow that give or take deferred images.

Image.open asks whether a recorder runs on the thread. The others look at the
image: most of Pillow runs on the methods of DeferredImage as it is, and only
what would look at pixels has to be replaced.
"""

from __future__ import annotations

import io
from typing import Any, Callable, Dict, Tuple

from PIL import Image, ImageEnhance, ImageFile, ImageOps

from .. import replaced
from . import canvas_images
from . import image_source as source
from . import steps as op
from .image import COLORS, PLAIN, color_of, records, records_opaque, touch
from .opened_image import opened
from .recording import state


def install() -> None:
    source.pillow.open, source.pillow.image = Image.open, Image
    pairs: Dict[int, Tuple[Any, Any]] = {}
    if _is_pillows(Image.open):
        put(pairs, Image, "open", _open)
    put(pairs, Image, "merge", _merge)
    put(pairs, Image, "new", canvas_images.new)
    canvas_images.install()
    for name, make in _OPS.items():
        put(pairs, ImageOps, name, make)
    replaced.replace(pairs)
    for kind, number in _ENHANCE.items():
        _enhance(getattr(ImageEnhance, kind), number)


def put(
    pairs: Dict[int, Tuple[Any, Any]],
    module: Any,
    name: str,
    make: Callable[[Any], Any],
) -> None:
    """make(the original) in place of a function."""
    original = getattr(module, name, None)
    if original is None:  # in this version
        return
    function = replaced.disguise(
        make(original), original, module.__name__, name
    )
    pairs[id(original)] = original, function


def _is_pillows(function: Any) -> bool:
    """Whether a program has put a function of its own in its place: then images
    are what that one makes of them."""
    code = getattr(function, "__code__", None)
    return code is not None and code.co_filename == Image.__file__


def _open(original: Any) -> Any:
    def open(fp: Any, mode: Any = "r", formats: Any = None) -> Any:
        run = state.run
        if run is None or mode != "r" or formats is not None:
            return original(fp, mode, formats)
        if ImageFile.LOAD_TRUNCATED_IMAGES:
            run.recorder.count_real("LOAD_TRUNCATED_IMAGES")
            return original(fp)
        found, real, why = source.find(fp)
        if found is None:
            run.recorder.count_real(why)
            return real
        why = run.refuses(found)
        if why:
            run.recorder.count_real(why)
            given = found.data if found.filename == "" else None
            return original(fp if given is None else io.BytesIO(given))
        run.add(found)
        return opened(found, run)

    return open


def _merge(original: Any) -> Any:
    def merge(mode: Any, bands: Any) -> Any:
        chosen = _bands_of_one(mode, bands)
        if chosen is None:
            return original(mode, bands)
        steps, numbers = chosen
        steps = (*steps, (op.SELECT, numbers, None))
        return bands[0]._again(steps, bands[0]._size, mode)

    return merge


def _bands_of_one(mode: Any, bands: Any) -> Any:
    """(steps of the image whose bands these are, which ones they are); None if
    they are of several."""
    if mode not in ("LA", "RGB", "RGBA") or not isinstance(
        bands, (list, tuple)
    ):
        return None
    if len(bands) != len(mode) or not all(records(b, ("L",)) for b in bands):
        return None
    found = [_band_of(band._steps) for band in bands]
    source, steps = bands[0]._source, found[0][0]
    if any(band._source is not source for band in bands):
        return None
    if any(of != steps for of, _ in found):
        return None
    return steps, tuple(number for _, number in found)


def _band_of(steps: Any) -> Tuple[Any, int]:
    """(steps of an image, which of its bands these make)."""
    if steps and steps[-1][0] == op.SELECT and len(steps[-1][1]) == 1:
        return steps[:-1], steps[-1][1][0]
    return steps, 0


# ---- ImageOps ---------------------------------------------------------------


def _expand(original: Any) -> Any:
    def expand(image: Any, border: Any = 0, fill: Any = 0) -> Any:
        if records_opaque(image, COLORS):
            sides = border if isinstance(border, tuple) else (border,)
            sides = sides * (4 // len(sides)) if len(sides) in (1, 2, 4) else ()
            color = color_of(image.mode, fill)
            whole = all(type(side) is int and side >= 0 for side in sides)
            if sides and whole and color is not None:
                return image.padded(sides, 0, color).without_info()
        return original(image, border, fill)

    return expand


def _pad(original: Any) -> Any:
    def pad(
        image: Any,
        size: Any,
        method: Any = 3,  # bicubic
        color: Any = None,
        centering: Any = (0.5, 0.5),
    ) -> Any:
        if records_opaque(image, COLORS):
            fill = color_of(image.mode, color)
            inner: Any = ImageOps.contain(image, size, method)
            if inner.size == size:
                return inner
            if fill is not None and records(inner, COLORS):
                w, h = size[0] - inner.width, size[1] - inner.height
                x = round(w * max(0, min(centering[0], 1))) if w else 0
                y = round(h * max(0, min(centering[1], 1))) if not w else 0
                if 0 <= x <= w and 0 <= y <= h:
                    sides = (x, y, w - x, h - y)
                    return inner.padded(sides, 0, fill).without_info()
        return original(image, size, method, color, centering)

    return pad


def _step(number: int, *defaults: float) -> Callable[[Any], Any]:
    """A function of an image, and of one number if it has a default."""

    def make(original: Any) -> Any:
        def function(image: Any, *args: Any, **kwargs: Any) -> Any:
            if records(image, PLAIN) and not kwargs:
                values = args or defaults
                numbers = all(type(value) in (int, float) for value in values)
                if numbers and len(values) == len(defaults):
                    return image.then(number, values)
            return original(image, *args, **kwargs)

        return function

    return make


def _posterize(original: Any) -> Any:
    def posterize(image: Any, bits: Any) -> Any:
        if records(image, PLAIN) and type(bits) is int and 1 <= bits <= 8:
            return image.then(op.POSTERIZE, (bits,))
        return original(image, bits)

    return posterize


_OPS: Dict[str, Callable[[Any], Any]] = {
    "expand": _expand,
    "pad": _pad,
    "invert": _step(op.INVERT),
    "autocontrast": _step(op.AUTOCONTRAST),
    "equalize": _step(op.EQUALIZE),
    "posterize": _posterize,
    "solarize": _step(op.SOLARIZE, 128),
}

# ---- ImageEnhance -----------------------------------------------------------

_ENHANCE = {
    "Brightness": op.BRIGHTNESS,
    "Contrast": op.CONTRAST,
    "Color": op.COLOR,
    "Sharpness": op.SHARPNESS,
}


def _is_as(image: Any, before: Any) -> bool:
    """Whether it still is what its copy is: nothing was pasted into it."""
    return (
        records(image, COLORS)
        and records(before, COLORS)
        and image._source is before._source
        and image._steps == before._steps
    )


def _enhance(kind: Any, number: int) -> None:
    """An enhancer of a deferred image knows no more than the image and a copy
    of it as it is now, until something else than enhance() is asked of it, or
    the image is another one by then."""
    # The others blend the image into a new one.
    keeps = number in (op.COLOR, op.SHARPNESS)
    original_init, original_enhance = kind.__init__, kind.enhance

    def __init__(self: Any, image: Any) -> None:
        if records_opaque(image, COLORS):
            self.image = image
            self._first = image, image.copy()
        else:
            original_init(self, image)

    def enhance(self: Any, factor: float) -> Any:
        image = self.image
        first, before = self.__dict__.get("_first", (None, None))
        if image is first and _is_as(image, before):
            try:
                made = image.then(number, (float(factor),))
                return made if keeps else made.without_info()
            except TypeError:
                pass
        return original_enhance(self, factor)

    def __getattr__(self: Any, name: str) -> Any:
        if name.startswith("__") or "_first" not in self.__dict__:
            raise AttributeError(name)
        image = self.image
        _, before = self.__dict__.pop("_first")
        touch(before, "enhance")
        original_init(self, before)
        self.image = image
        return getattr(self, name)

    name = kind.__name__
    module = ImageEnhance.__name__
    kind.__init__ = replaced.disguise(
        __init__, original_init, module, name + ".__init__"
    )
    kind.enhance = replaced.disguise(
        enhance, original_enhance, module, "_Enhance.enhance"
    )
    if "__getattr__" not in kind.__dict__:
        kind.__getattr__ = __getattr__
