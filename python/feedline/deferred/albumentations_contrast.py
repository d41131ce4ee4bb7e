# SPDX-License-Identifier: Apache-2.0
"""albumentations' ColorJitter, whose contrast depends on the mean of the image:
that is the engine's to know.

A transform keeps the library's functions, and its own apply(), from when it was
made: so it is where an array is given to it that another one is called, which
looks at each of the functions. Whether the engine's step is what the library
computes is asked of the library.
"""

from __future__ import annotations

import functools
import sys
from typing import Any, Tuple

import numpy as np

from .. import replaced
from . import opencv_steps as made
from . import steps as op
from .array import DeferredArray, recorded_array
from .array_views import NotRecorded
from .record import Call, dense
from .recording import no_run, state

_NAME = "adjust_contrast_torchvision"


# The function of the class, and what is called in its place.
_known: Tuple[Any, Any] = (None, None)
# How the library adds: in floats, or in doubles.
_KINDS = {(): np.float32, (1.0,): np.float64}


def install(cls: Any) -> None:
    global _known
    original: Any = vars(cls).get("apply")
    module: Any = sys.modules.get(cls.__module__)
    code = getattr(original, "__code__", None)
    if code is None or code.co_filename != getattr(module, "__file__", ""):
        return  # a program has put another one in its place
    names = ("self", "img", "brightness", "contrast", "saturation", "hue")
    given = code.co_varnames[: code.co_argcount]
    function, how = _contrast_of(module)
    if function is not None and given == (*names, "order"):
        _known = original, _apply(original, function, how)


def install_older(cls: Any, base: Any) -> None:
    """Of versions whose transforms ask for their functions at each call. base:
    the class of all transforms."""
    module: Any = sys.modules.get(cls.__module__)
    original: Any = vars(base).get("apply_with_params")
    code = getattr(original, "__code__", None)
    file = getattr(sys.modules.get(base.__module__), "__file__", "")
    function, how = _contrast_of(module)
    if function is None or code is None or code.co_filename != file:
        return

    def contrast(img: Any, factor: Any) -> Any:
        found = None
        if type(img) is DeferredArray and img.shape[2:] in ((), (3,)):
            found = _contrasted(function, img, factor, how)
        return function(img, factor) if found is None else found

    def apply_with_params(self: Any, *args: Any, **kwargs: Any) -> Any:
        if state.run is None or not isinstance(self, cls):
            return original(self, *args, **kwargs)
        before = self.transforms
        self.transforms = [contrast if f is function else f for f in before]
        try:
            return original(self, *args, **kwargs)
        finally:
            self.transforms = before

    replaced.disguise(
        apply_with_params, original, original.__module__, original.__qualname__
    )
    base.apply_with_params = apply_with_params


def instead_of(bound: Any) -> Any:
    """For a method of a transform's: the one to be called."""
    original, ours = _known
    if original is None or getattr(bound, "__func__", None) is not original:
        return bound
    return functools.partial(ours, bound.__self__)


def _contrast_of(module: Any) -> Tuple[Any, Tuple[float, ...]]:
    """The library's function, by whatever name its module has, and how it adds;
    None: it is another one than the engine's."""
    for value in list(vars(module).values()):
        function = getattr(value, _NAME, None)
        if function is not None:
            for how, kind in _KINDS.items():
                if _is_the_engines(function, kind):
                    return function, how
            break
    return None, ()


def _is_the_engines(function: Any, kind: Any) -> bool:
    y, x = np.mgrid[0:23, 0:31]
    image = np.stack((x * 8, y * 11, (x * y) % 251), 2).astype(np.uint8)
    cv2: Any = sys.modules["cv2"]
    with no_run():
        for pixels in (image, image[:, :, 0].copy()):
            gray = pixels if pixels.ndim == 2 else cv2.cvtColor(pixels, 7)
            for factor in _FACTORS:
                added = float(gray.mean() * (1 - factor))
                table = np.arange(256, dtype=kind) * factor + added
                table = np.clip(table, 0, 255).astype(np.uint8)
                theirs = function(pixels.copy(), factor)
                if not np.array_equal(theirs, table[pixels]):
                    return False
    return True


# Where floats and doubles give other bytes, too.
_FACTORS = (0.3, 0.8, 1.25, 1.7, *(0.5 + n / 97 for n in range(60)))


def _apply(original: Any, function: Any, how: Tuple[float, ...]) -> Any:
    def apply(
        self: Any,
        img: Any,
        brightness: Any,
        contrast: Any,
        saturation: Any,
        hue: Any,
        order: Any,
        **params: Any,
    ) -> Any:
        factors = brightness, contrast, saturation, hue
        if type(img) is not DeferredArray or img.shape[2:] not in ((), (3,)):
            return original(self, img, *factors, order, **params)
        for i in order:
            found = None
            if self.transforms[i] is function:
                found = _contrasted(function, img, factors[i], how)
            if found is None:
                found = self.transforms[i](img, factors[i])
            img = found
        return img

    return apply


def _contrasted(
    function: Any, array: Any, factor: Any, how: Tuple[float, ...]
) -> Any:
    """None: the function itself has to say."""
    record = recorded_array(array) if type(array) is DeferredArray else None
    if record is None or not isinstance(factor, float):
        return None
    if factor in (0, 1) or record.axes not in ("hw", "hwc"):
        return None
    try:
        steps = made.as_image(record)
    except NotRecorded:
        return None
    steps = (*steps, (op.CV_CONTRAST, (float(factor), *how), None))
    call = Call(record.call, function, 0, (factor,))
    strides = dense(record.shape)
    return DeferredArray(
        record.but(steps=steps, table=None, strides=strides, call=call)
    )
