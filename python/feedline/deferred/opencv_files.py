# SPDX-License-Identifier: Apache-2.0
"""An image that OpenCV writes as JPEG and reads again.

The array of the file's bytes is `pending`: imdecode takes it as the image that
comes out, and all other uses of it get the real bytes.
"""

from __future__ import annotations

import functools
import io
import sys
from typing import Any, NamedTuple, Optional

import numpy as np
from PIL import Image

from . import opencv_steps as made
from . import steps as op
from .array import DeferredArray, pending_array, recorded_array
from .array_views import NotRecorded
from .image_source import pillow
from .record import Call, Record, dense
from .recording import no_run

_QUALITY = 1  # IMWRITE_JPEG_QUALITY
_USUAL = 95
_LARGEST = 65500  # side of a JPEG
_UNCHANGED, _GRAY, _COLOR = -1, 0, 1


class Encoded(NamedTuple):
    """What the bytes are a file of."""

    image: Record  # without a table
    quality: int


class _FileRecord(Record):
    """Of bytes whose number is not known before they are there."""

    def __getattr__(self, name: str) -> Any:
        if name != "shape":
            raise AttributeError(name)
        self.shape = self.call.again().shape
        return self.shape


def imencode(original: Any) -> Any:
    def encode(ext: Any, img: Any = None, *args: Any, **kwargs: Any) -> Any:
        if type(img) is DeferredArray and type(ext) is str:
            found = _encoded(original, ext, img, *args, **kwargs)
            if found is not None:
                return True, found
        return original(ext, img, *args, **kwargs)

    return encode


def _encoded(
    original: Any, ext: str, array: Any, params: Any = ()
) -> Optional[DeferredArray]:
    record = recorded_array(array)
    quality = _quality_of(params)
    if record is None or quality is None:
        return None
    if ext.lower() not in (".jpg", ".jpeg") or not _recompresses_alike():
        return None
    try:
        steps = made.as_image(record)
    except NotRecorded:
        return None
    gray = record.axes == "hw"
    if not gray and (record.axes != "hwc" or record.side("c") != 3):
        return None
    if max(record.shape[:2]) > _LARGEST:
        return None
    new = _FileRecord()
    for name in ("source", "run", "mode"):
        setattr(new, name, getattr(record, name))
    new.axes, new.strides = "n", (1,)
    new.dtype = np.dtype(np.uint8)
    new.steps = steps
    image = record.but(steps=steps, table=None, strides=dense(record.shape))
    new.pending = Encoded(image, quality)
    new.call = Call(record.call, _file_of, 0, (original, ext, list(params)))
    return DeferredArray(new)


def _file_of(array: Any, original: Any, ext: str, params: Any) -> Any:
    return original(ext, array, params)[1]


def _quality_of(params: Any) -> Optional[int]:
    """None: more is said than the quality, or less than OpenCV takes."""
    if type(params) not in (list, tuple):
        return None
    if not params:
        return _USUAL
    if len(params) != 2 or any(type(v) is not int for v in params):
        return None
    return min(max(params[1], 0), 100) if params[0] == _QUALITY else None


def decoded(original: Any, array: Any, flags: int) -> Any:
    """The image; None: it is not one that was written by imencode, or becomes
    another than it was."""
    record = pending_array(array)
    if record is None or type(record.pending) is not Encoded:
        return None
    image, quality = record.pending
    gray = image.axes == "hw"
    if flags not in ((_UNCHANGED, _GRAY) if gray else (_UNCHANGED, _COLOR)):
        return None
    steps = (*image.steps, (op.CV_RECOMPRESS, (quality,), None))
    call = Call(record.call, original, 0, (flags,))
    return DeferredArray(image.but(steps=steps, call=call))


# ---- What OpenCV does is asked of it ----------------------------------------


@functools.lru_cache(None)
def _recompresses_alike() -> bool:
    """Whether this OpenCV makes of an image what libjpeg-turbo does."""
    cv2: Any = sys.modules["cv2"]
    encode = getattr(cv2.imencode, "__wrapped__", cv2.imencode)
    decode = getattr(cv2.imdecode, "__wrapped__", cv2.imdecode)
    y, x = np.mgrid[0:37, 0:43]
    pixels = np.stack((x * 5, y * 6, (x * y) % 251), 2).astype(np.uint8)
    for quality in (30, 75, 95, 100):
        given = np.ascontiguousarray(pixels[:, :, ::-1])
        _, file = encode(".jpg", given, (_QUALITY, quality))
        theirs = decode(file, _UNCHANGED)
        if not np.array_equal(theirs[:, :, ::-1], _by_pillow(pixels, quality)):
            return False
    return True


def _by_pillow(pixels: Any, quality: int) -> Any:
    file = io.BytesIO()
    with no_run():
        image = Image.fromarray(pixels)
    image.save(file, "JPEG", subsampling=2, quality=quality)
    return np.asarray(pillow.open(io.BytesIO(file.getvalue())))
