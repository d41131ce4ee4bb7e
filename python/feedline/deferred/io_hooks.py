# SPDX-License-Identifier: Apache-2.0
"""torchvision's own decoders, where they make the bytes that Pillow makes.

That is of JPEG and PNG files: RGB, and gray ones that stay gray. What else they
do (EXIF orientations, gray of colours, alpha) is theirs.
"""

from __future__ import annotations

import ctypes
import io
from typing import Any, Dict, Tuple

import torch
from torchvision.io import image as vision_io

from .. import replaced
from . import image_source
from .opened_image import opened
from .pillow_hooks import put
from .recording import state
from .tensor import POSSIBLE, born

_FORMATS = {
    "read_image": ("JPEG", "PNG"),
    "decode_image": ("JPEG", "PNG"),
    "decode_jpeg": ("JPEG",),
    "decode_png": ("PNG",),
}


def install() -> None:
    if not POSSIBLE:
        return
    pairs: Dict[int, Tuple[Any, Any]] = {}
    for name, formats in _FORMATS.items():
        put(pairs, vision_io, name, _reader(formats))
    replaced.replace(pairs)


def _reader(formats: Tuple[str, ...]) -> Any:
    def make(original: Any) -> Any:
        def read(input: Any, *args: Any, **kwargs: Any) -> Any:
            if state.run is not None:
                found = _deferred(original, formats, input, args, kwargs)
                if found is not None:
                    return found
            return original(input, *args, **kwargs)

        return read

    return make


def _deferred(
    original: Any, formats: Tuple[str, ...], given: Any, args: Any, kwargs: Any
) -> Any:
    """None: torchvision's own."""
    run: Any = state.run
    if len(args) > 1 or not {"mode"}.issuperset(kwargs):
        return None
    mode = _mode_of(args[0] if args else kwargs.get("mode", "UNCHANGED"))
    if isinstance(given, torch.Tensor):
        if type(given) is not torch.Tensor or given.dtype != torch.uint8:
            return None
        if given.device.type != "cpu" or given.dim() != 1:
            return None
        data = ctypes.string_at(given.contiguous().data_ptr(), given.numel())
        looked: Any = io.BytesIO(data)
        again: Any = _from_bytes
        given = (original, data, args, kwargs)
    else:
        looked = given
        again = _from_path
        given = (original, given, args, kwargs)
    try:
        source, _, why = image_source.find(looked)
    except Exception:  # torchvision says it in its way
        return None
    if source is None:
        run.recorder.count_real(why)
        return None
    header = source.header
    if header.format not in formats or header.transparent:
        return None
    if (header.mode, mode) not in _SAME:
        return None
    why = run.refuses(source)
    if why:
        run.recorder.count_real(why)
        return None
    run.add(source)
    image = opened(source, run)
    if _SAME[header.mode, mode]:
        image = image.convert(_SAME[header.mode, mode])
    return born(image, again, given)


# What (a file's mode, the mode that is asked for) is in Pillow: "" as it is.
_SAME = {
    ("L", "UNCHANGED"): "",
    ("L", "GRAY"): "",
    ("L", "RGB"): "RGB",
    ("RGB", "UNCHANGED"): "",
    ("RGB", "RGB"): "",
}


def _mode_of(mode: Any) -> str:
    return str(getattr(mode, "name", mode)).upper()


def _from_bytes(original: Any, data: bytes, args: Any, kwargs: Any) -> Any:
    given = torch.frombuffer(bytearray(data), dtype=torch.uint8)
    return original(given, *args, **kwargs)


def _from_path(original: Any, path: Any, args: Any, kwargs: Any) -> Any:
    return original(path, *args, **kwargs)
