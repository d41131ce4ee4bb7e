# SPDX-License-Identifier: Apache-2.0
"""Images that OpenCV reads, as deferred arrays.

OpenCV decodes JPEG, PNG and WebP to the bytes that Pillow does, in its own
order of channels and turned by EXIF. Where it does not (CMYK, 16 bits, colours
that become gray), and where it has no image, OpenCV itself is asked.
"""

from __future__ import annotations

import functools
import io
import os
import sys
from typing import Any, Optional, Tuple

import numpy as np
from PIL import Image, ImageFile

from . import image_source as source
from . import steps as op
from .array import DeferredArray, first_array
from .opencv_files import decoded
from .recording import Run, no_run, state
from .record import Call

# IMREAD_...: without any other flag, a gray image.
UNCHANGED, COLOR, IGNORE_ORIENTATION, COLOR_RGB = -1, 1, 128, 256
_FLAGS = frozenset(
    flag | more
    for flag in (0, COLOR, COLOR_RGB)
    for more in (0, IGNORE_ORIENTATION)
).union((UNCHANGED,))

_BGR = (op.SELECT, (2, 1, 0), None)
_BGRA = (op.SELECT, (2, 1, 0, 3), None)

# Pillow's transpositions of EXIF's orientations.
_TURNS = {1: (), 2: (0,), 3: (3,), 4: (1,), 5: (5,), 6: (4,), 7: (6,), 8: (2,)}


def imread(original: Any) -> Any:
    def read(filename: Any, *args: Any, **kwargs: Any) -> Any:
        run, flags = state.run, _flags_of(args, kwargs)
        if run is None or flags is None or type(filename) is not str:
            return original(filename, *args, **kwargs)
        found = _found(run, filename, flags)
        if found is None:
            return original(filename, flags)
        return _array(run, found, flags, original, filename)

    return read


def imdecode(original: Any) -> Any:
    from_bytes = _decoder(original)

    def decode(buf: Any, *args: Any, **kwargs: Any) -> Any:
        run, flags = state.run, _flags_of(args, kwargs)
        if type(buf) is DeferredArray and flags is not None:
            again = decoded(original, buf, flags)
            if again is not None:
                return again
        if run is None or flags is None or not _is_of_bytes(buf):
            return original(buf, *args, **kwargs)
        data = _bytes_of(buf)
        found = _found(run, io.BytesIO(data), flags)
        if found is None:
            return original(buf, flags)
        return _array(run, found, flags, from_bytes, data)

    return decode


def _decoder(original: Any) -> Any:
    def decode(data: bytes, flags: int) -> Any:
        return original(np.frombuffer(data, np.uint8), flags)

    return decode


def _bytes_of(buf: Any) -> bytes:
    """Without a copy where it is all of np.frombuffer(bytes)."""
    data: Any = buf.base
    if type(data) is bytes and len(data) == len(buf) and buf.strides == (1,):
        return bytes(data)  # the same object
    copied: bytes = buf.tobytes()
    return copied


def _is_of_bytes(buf: Any) -> bool:
    return type(buf) is np.ndarray and buf.dtype.char == "B" and buf.ndim == 1


def _flags_of(args: Any, kwargs: Any) -> Optional[int]:
    """None: they say what is not recorded."""
    if len(args) + len(kwargs) > 1 or (kwargs and "flags" not in kwargs):
        return None
    flags = args[0] if args else kwargs.get("flags", COLOR)
    return flags if type(flags) is int and flags in _FLAGS else None


def _found(run: Run, given: Any, flags: int) -> Any:
    """The source, and the steps that make OpenCV's image of Pillow's; None:
    OpenCV has to be asked."""
    recorder = run.recorder
    if not recorder.arrays or ImageFile.LOAD_TRUNCATED_IMAGES:
        return None
    try:
        found, real, why = source.find(given)
    except Exception:  # OpenCV may think otherwise of it
        return None
    if found is None:
        real.close()
        recorder.count_real(why)
        return None
    steps = _steps(found, flags)
    why = run.refuses(found)
    if steps is None:
        why = "images of which OpenCV makes others than Pillow"
    if why:
        found.forget()
        recorder.count_real(why)
        return None
    return found, steps


def _steps(found: source.Source, flags: int) -> Any:
    """None: OpenCV's image is another."""
    if not _decodes_alike():
        return None
    header = found.header
    exif = found.info().get("exif")
    steps: op.Steps = ()
    if exif and flags != UNCHANGED and not flags & IGNORE_ORIENTATION:
        if header.format != "JPEG":
            return None
        turn = _turn_of(exif)
        if turn is None:
            return None
        steps = tuple((op.TRANSPOSE, (number,), None) for number in turn)
    if flags in (UNCHANGED, 0, IGNORE_ORIENTATION):
        return _as_stored(header, steps, flags)
    if header.mode != "RGB":
        steps = (*steps, (op.CONVERT, (3,), None))
    return "RGB", steps if flags & COLOR_RGB else (*steps, _BGR)


def _as_stored(header: source.Header, steps: op.Steps, flags: int) -> Any:
    """Of an image whose channels stay as they are, or that is gray."""
    if header.mode == "L" and not (flags == UNCHANGED and header.transparent):
        return "L", steps
    if flags != UNCHANGED or header.transparent:
        return None
    if header.mode == "RGB":
        return "RGB", (*steps, _BGR)
    return ("RGBA", (*steps, _BGRA)) if header.mode == "RGBA" else None


def _array(run: Run, found: Any, flags: int, original: Any, given: Any) -> Any:
    image, (mode, steps) = found
    run.add(image)
    w, h = image.header.size
    for number, values, _ in steps:
        if number == op.TRANSPOSE and values[0] in (2, 4, 5, 6):
            w, h = h, w
    call = Call(None, _read, 0, (image, original, given, flags))
    return first_array(run, image, steps, mode, (w, h), call)


def _read(image: source.Source, original: Any, given: Any, flags: int) -> Any:
    """OpenCV's own."""
    image.compare()
    made = original(given, flags)
    if made is None:
        raise OSError(
            "OpenCV does not read %s any more" % os.fsdecode(image.filename)
        )
    return made


# ---- What OpenCV does is asked of it ----------------------------------------


def _jpeg(exif: bytes = b"") -> Tuple[Any, bytes]:
    """Pixels without any symmetry, and a file of them."""
    y, x = np.mgrid[0:24, 0:40]
    planes = (x * 6, y * 10, (x * y) % 251)
    with no_run():
        image = Image.fromarray(np.stack(planes, 2).astype(np.uint8))
    file = io.BytesIO()
    image.save(file, "JPEG", subsampling=2, exif=exif)
    return np.asarray(source.pillow.open(file)), file.getvalue()


def _opencv_makes(data: bytes) -> Any:
    """In Pillow's order of channels; None where it makes none."""
    cv2: Any = sys.modules["cv2"]
    decode = getattr(cv2.imdecode, "__wrapped__", cv2.imdecode)
    made = decode(np.frombuffer(data, np.uint8), COLOR)
    return None if made is None else made[:, :, ::-1]


@functools.lru_cache(None)
def _decodes_alike() -> bool:
    """Whether this OpenCV has a decoder that gives Pillow's pixels."""
    pixels, data = _jpeg()
    return bool(np.array_equal(_opencv_makes(data), pixels))


@functools.lru_cache(4096)
def _turn_of(exif: bytes) -> Optional[Tuple[int, ...]]:
    """How OpenCV turns a JPEG file with that EXIF data. None: by no
    orientation that there is."""
    pixels, data = _jpeg(exif)
    made = _opencv_makes(data)
    with no_run():
        image: Any = Image.fromarray(pixels)
    for turn in _TURNS.values():
        turned = image.transpose(turn[0]) if turn else image
        if np.array_equal(made, np.asarray(turned)):
            return turn
    return None
