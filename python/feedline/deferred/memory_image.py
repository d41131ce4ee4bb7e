# SPDX-License-Identifier: Apache-2.0
"""A deferred image of pixels that the program has in memory.

    Image.fromarray(self.data[index])

The engine reads files, so small images become one: a PNG that is not
compressed. Of some arrays Pillow's image is a view; then a step is recorded of
the pixels that are there when it is taken, and an image without steps is real.
"""

from __future__ import annotations

import io
import struct
import zlib
from typing import Any, Callable, Dict, Optional

import numpy as np

from .image import DeferredImage
from .image_source import Header, Source, lock, pillow
from .recording import state

# Beyond it Pillow's own image, which is made by one copy, is soon cheaper.
MOST_BYTES = 1 << 16

# Images of a run that were opened last: a run may have those of a large batch.
_LOOKED_AT = 16

_MODES = {1: "L", 2: "LA", 3: "RGB", 4: "RGBA"}
_COLOR_TYPES = {"L": 0, "LA": 4, "RGB": 2, "RGBA": 6}
# Of which Pillow's image is a view, if they are contiguous.
_VIEWED = ("L", "RGBA")


def memory_image(
    array: Any, mode: Optional[str], fromarray: Callable[..., Any]
) -> Any:
    """The deferred image; None: Pillow's own function makes it."""
    run = state.run
    if run is None or type(array) is not np.ndarray or array.ndim not in (2, 3):
        return None
    own = _MODES.get(1 if array.ndim == 2 else array.shape[2])
    if array.ndim == 3 and own == "L" or mode not in (None, own):
        return None
    if own is None or array.dtype != np.uint8:
        return None
    if not 0 < array.size <= MOST_BYTES:
        return None
    if any(_is_read(source) for source in run.sources[-_LOOKED_AT:]):
        return None
    source = _source_of(array, own)
    if run.refuses(source):
        return None
    viewed = own in _VIEWED and array.flags.c_contiguous
    image: Any = object.__new__(ViewImage if viewed else DeferredImage)
    image._source, image._steps = source, ()
    image._size, image._mode = (array.shape[1], array.shape[0]), own
    image._run, image._base_info = run, {}
    if viewed:
        image._array = array
        image._pillows = (fromarray, mode)
    run.add(source)
    return image


def _is_read(source: Source) -> bool:
    """Python has the pixels of a file, of which the array may be made: then
    the engine has nothing to gain, and a data set that is recorded for the
    last step alone is slower than torch's processes."""
    return (source.read or source.sound) and type(source) is not _Given


class ViewImage(DeferredImage):
    """Of an array that may change."""

    _array: Any
    _pillows: Any  # its function, and the mode that it was given

    @property
    def _feedline_deferred(self) -> Any:
        with lock:
            if isinstance(self, ViewImage):
                self._make_real()
        return None

    def _make_real(self) -> None:
        function, mode = self.__dict__.pop("_pillows")
        given = () if mode is None else (mode,)
        self._become(function(self._array, *given))

    def _again(self, steps: Any, size: Any, mode: str) -> Any:
        if len(self._steps) == 0:
            self._look()
        return super()._again(steps, size, mode)

    def _look(self) -> None:
        if _pixels_of(self._array) != self._source.given:  # type: ignore
            self._source = _source_of(self._array, self._mode)
            self._run.add(self._source)


class _Given(Source):
    """Of pixels that are right."""

    sound = True
    given = b""


# ---- Files ------------------------------------------------------------------

_headers: Dict[Any, Header] = {}


def _pixels_of(array: Any) -> bytes:
    """Rows, each behind the number of no filter."""
    h, w = array.shape[:2]
    rows = np.zeros((h, array.size // h + 1), np.uint8)
    rows[:, 1:] = array.reshape(h, -1)
    return rows.tobytes()


def _source_of(array: Any, mode: str) -> Source:
    h, w = array.shape[:2]
    given = _pixels_of(array)
    about = struct.pack(">IIBBBBB", w, h, 8, _COLOR_TYPES[mode], 0, 0, 0)
    data = b"\x89PNG\r\n\x1a\n%b%b%b" % (
        _chunk(b"IHDR", about),
        _chunk(b"IDAT", zlib.compress(given, 0)),
        _chunk(b"IEND", b""),
    )
    header = _headers.get(about)
    if header is None:
        if len(_headers) > 4096:
            _headers.clear()
        header = _headers[about] = Header(pillow.open(io.BytesIO(data)))
    source = _Given(None, data, header)
    source.given = given
    return source


def _chunk(name: bytes, content: bytes) -> bytes:
    checked = name + content
    return b"%b%b%b" % (
        struct.pack(">I", len(content)),
        checked,
        struct.pack(">I", zlib.crc32(checked)),
    )
