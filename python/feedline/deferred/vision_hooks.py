# SPDX-License-Identifier: Apache-2.0
"""Functions of torchvision that would look at pixels, and are recorded.

They are replaced by ones that look at what they are given. Most of torchvision
needs none: it runs on the methods of the deferred image, or on torch's
functions.
"""

from __future__ import annotations

from typing import Any, Dict, Tuple

import torch
from torchvision import utils
from torchvision.transforms import functional

from .. import replaced
from . import pillow_steps as replay
from . import steps as op
from . import tensor_functions
from .array_hooks import fromarray
from .image import COLORS, PLAIN, DeferredImage, records, records_opaque
from .pillow_hooks import put
from .record import Call, Record, is_plain, kept_order
from .recording import no_run
from .tensor import (
    POSSIBLE,
    DeferredTensor,
    born,
    recorded,
    table_of,
    wrap,
)

# By id, as replaced.replace takes them; v2 has some in a table of its own.
pairs: Dict[int, Tuple[Any, Any]] = {}


def install() -> None:
    if POSSIBLE:
        tensor_functions.register()
        put(pairs, functional, "to_tensor", _to_tensor)
        put(pairs, functional, "pil_to_tensor", _pil_to_tensor)
        put(pairs, functional, "normalize", _normalize)
        put(pairs, functional, "to_pil_image", _to_pil_image)
    put(pairs, utils, "_Image_fromarray", fromarray)
    put(pairs, functional.F_pil, "adjust_hue", _adjust_hue)
    put(pairs, functional.F_pil, "to_grayscale", _to_grayscale)
    put(pairs, functional.F_pil, "pad", _pad)
    replaced.replace(pairs)


def _to_tensor(original: Any) -> Any:
    def made(source: Any, steps: Any) -> Any:
        return original(replay.image_of(source, steps))

    def to_tensor(pic: Any) -> Any:
        if (
            isinstance(pic, DeferredImage)
            and records(pic)
            and torch.get_default_dtype() is torch.float32
        ):
            return born(pic, made, (pic._source, pic._steps), True)
        return original(pic)

    return to_tensor


def _pil_to_tensor(original: Any) -> Any:
    def made(source: Any, steps: Any) -> Any:
        return original(replay.image_of(source, steps))

    def pil_to_tensor(pic: Any) -> Any:
        if isinstance(pic, DeferredImage) and records(pic):
            return born(pic, made, (pic._source, pic._steps))
        return original(pic)

    return pil_to_tensor


def _normalize(original: Any) -> Any:
    def normalize(
        tensor: Any, mean: Any, std: Any, inplace: bool = False
    ) -> Any:
        if isinstance(tensor, DeferredTensor) and not inplace:
            record = recorded(tensor)
            numbers = None if record is None else _numbers(record, mean, std)
            if record is not None and numbers is not None:
                call = Call(record.call, original, 0, (list(mean), list(std)))
                strides = kept_order(record)
                return wrap(
                    record.but(normalized=numbers, call=call, strides=strides)
                )
        return original(tensor, mean, std, inplace)

    return normalize


_FLOATS = {float}


def _numbers(record: Record, mean: Any, std: Any) -> Any:
    """Means and standard deviations for the engine's step; None if it is not
    that."""
    if not record.scaled or record.normalized or record.erased:
        return None
    if record.axes != "chw" or record.kind is not torch.Tensor:
        return None
    numbers = (*mean, *std)
    c = record.shape[0]
    if len(mean) != c or len(std) != c:
        return None
    if set(map(type, numbers)) != _FLOATS:
        return None
    return numbers if min(map(abs, numbers[c:])) > 1e-30 else None


def _to_pil_image(original: Any) -> Any:
    def to_pil_image(pic: Any, mode: Any = None) -> Any:
        if isinstance(pic, DeferredTensor):
            record = recorded(pic)
            if record is not None and not record.erased:
                found = _image_of(record, original, mode)
                if found is not None:
                    return found
        return original(pic, mode)

    return to_pil_image


def _image_of(record: Record, original: Any, mode: Any) -> Any:
    """The image of a tensor: what its bytes become there. None: it has to be
    looked at."""
    if record.axes not in ("chw", "hw") or record.mode not in PLAIN:
        return None
    image = object.__new__(DeferredImage)
    image._source, image._steps = record.source, record.steps
    image._size = record.side("w"), record.side("h")
    image._mode, image._run, image._base_info = record.mode, record.run, {}
    plain = is_plain(record)
    if plain and mode in (None, record.mode):
        return image
    if plain:
        return None
    every = table_of(record).reshape(record.side("c"), 256, 1)
    with no_run():
        every = original(every, mode)
    if every.mode != record.mode:
        return None
    table = b"".join(band.tobytes() for band in every.split())
    return image.then(op.POINT, data=table) if records(image) else None


def _adjust_hue(original: Any) -> Any:
    def adjust_hue(img: Any, hue_factor: Any) -> Any:
        if (
            type(hue_factor) is float
            and -0.5 <= hue_factor <= 0.5
            and records(img, ("RGB",))
        ):
            return img.then(op.HUE, (hue_factor,)).without_info()
        return original(img, hue_factor)

    return adjust_hue


def _to_grayscale(original: Any) -> Any:
    def to_grayscale(img: Any, num_output_channels: Any) -> Any:
        if num_output_channels == 3 and records(img, PLAIN):
            made = img.then(op.GRAYSCALE, (3,), mode="RGB")
            return made.without_info()
        return original(img, num_output_channels)

    return to_grayscale


def _pad(original: Any) -> Any:
    def pad(
        img: Any, padding: Any, fill: Any = 0, padding_mode: Any = "constant"
    ) -> Any:
        if padding_mode in op.PADDINGS[1:] and records(img, COLORS):
            sides = _sides(padding)
            number = op.PADDINGS.index(padding_mode)
            if sides is not None and _fits(sides, number, img.size):
                return img.padded(sides, number).without_info()
        if padding_mode == "constant" and records_opaque(img, ("P",)):
            sides = _sides(padding)
            if sides is not None and type(fill) is int and 0 <= fill < 256:
                return img.padded(sides, 0, (fill,)).without_info()
        return original(img, padding, fill, padding_mode)

    return pad


def _sides(padding: Any) -> Any:
    """Left, top, right, bottom; None if torchvision has to say."""
    given = padding if isinstance(padding, (tuple, list)) else (padding,)
    if len(given) not in (1, 2, 4):
        return None
    sides = tuple(given) * (4 // len(given))
    return sides if all(type(s) is int and s >= 0 for s in sides) else None


def _fits(sides: Tuple[int, ...], number: int, size: Tuple[int, int]) -> bool:
    """No reflection of a reflection."""
    left, top, right, bottom = sides
    w, h = size
    room = {1: (w, h), 2: (w - 1, h - 1), 3: (w, h)}[number]
    if number == 1:
        return True
    return max(left, right) <= room[0] and max(top, bottom) <= room[1]
