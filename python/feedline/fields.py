# SPDX-License-Identifier: Apache-2.0
"""Fields: what a data set has of a sample beside its image and label.

Kinds are those of the format: bytes, text, JSON, integers and floats.
"""

from __future__ import annotations

import ctypes
import errno
import json
import os
import stat
from array import array
from typing import TYPE_CHECKING, Any, Dict, List, Tuple

from . import _c
from ._library import lib
from .errors import check

if TYPE_CHECKING:
    from numpy.typing import NDArray

_NO_INTEGER = -(1 << 63)
_NOTHING = array("d", [float("nan")])
_ALL = (1 << 64) - 1  # bytes: all of the file


def value_of(kind: int, data: bytes) -> Any:
    """What the bytes of a field are; of one that is missing b"", "" or None.

    Raises ValueError for text that is not UTF-8, and for what is no JSON.
    """
    if kind == _c.FIELD_TEXT:
        return data.decode()
    if kind == _c.FIELD_JSON:
        return json.loads(data) if data else None
    return data


def or_none(value: Any) -> Any:
    """None for a number that is missing, or for several."""
    first = value[0] if isinstance(value, array) else value
    missing = isinstance(first, (int, float)) and (
        first == _NO_INTEGER or first != first
    )
    return None if missing else value


def _several(field: Any, index: int) -> Any:
    """Row `index` of numbers, an array; of nothing where there are none."""
    integers = field.kind == _c.FIELD_INT
    numbers = field.integers if integers else field.numbers
    n = field.width
    if not numbers:
        return array("q", [_NO_INTEGER] * n) if integers else _NOTHING * n
    return array("q" if integers else "d", numbers[index * n : index * n + n])


def value_in_file(field: _c.sample_field) -> Any:
    """The value of a sample's field."""
    if field.width:
        return _several(field, 0)
    if field.kind == _c.FIELD_INT:
        return int(field.integer)
    if field.kind == _c.FIELD_FLOAT:
        return float(field.number)
    return value_of(field.kind, bytes_in_file(field) if field.file else b"")


def _at_once(path: str, flags: int) -> int:
    """Opens a file; a pipe would wait for its writer, a device never end. Of a
    folder open() says so."""
    found = os.open(path, flags | os.O_NONBLOCK | os.O_NOCTTY)
    mode = os.fstat(found).st_mode
    if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):
        os.close(found)
        raise OSError(errno.ESPIPE, "not a regular file", path)
    return found


def bytes_in_file(part: Any) -> bytes:
    """What a sample_info or sample_field says the place of."""
    with open(os.fsdecode(part.file), "rb", opener=_at_once) as file:
        file.seek(part.offset)
        return file.read(-1 if part.bytes == _ALL else part.bytes)


def is_whole_file(part: Any) -> bool:
    return bool(part.offset == 0 and part.bytes == _ALL)


class Memory:
    """Memory of a batch for numpy, which keeps this object."""

    def __init__(
        self, hold: Any, address: int, typestr: str, shape: Tuple[int, ...]
    ) -> None:
        self._hold = hold
        self.__array_interface__: Dict[str, Any] = {
            "shape": shape,
            "typestr": typestr,
            "data": (address, False),
            "version": 3,
        }


def array_at(hold: Any, at: Any, typestr: str, *shape: int) -> NDArray[Any]:
    """An array of what is in memory that `hold` keeps; at: an address, or a
    pointer of ctypes."""
    import numpy

    address = at
    if not isinstance(at, int):
        address = ctypes.cast(at, ctypes.c_void_p).value or 0
    return numpy.asarray(Memory(hold, address, typestr, shape))


class Field:
    """A field of a batch, for each of its images. Of one that is missing
    field[i] is b"", "" or None. width: of a field of several numbers, else 0.

    Arrays share the batch's memory and keep it: numbers (int64, where a missing
    one is -2**63, or float64: NaN; several as [images, width]) by numpy().
    Bytes of image i are data[offsets[i] : offsets[i] + lengths[i]], all without
    a copy.
    """

    def __init__(self, raw: _c.batch_field, count: int, hold: Any) -> None:
        self.kind: int = int(raw.kind)
        self.name: str = os.fsdecode(raw.name)
        self.width: int = int(raw.width)
        self._raw = raw
        self._count = count
        self._hold = hold

    @property
    def is_number(self) -> bool:
        """Whether numpy() has it."""
        return self.kind in (_c.FIELD_INT, _c.FIELD_FLOAT)

    def _array(self, pointer: Any, typestr: str) -> NDArray[Any]:
        shape = (self._count, self.width) if self.width else (self._count,)
        return array_at(self._hold, pointer, typestr, *shape)

    def numpy(self) -> NDArray[Any]:
        """Numbers as an array. TypeError: the field is bytes."""
        if self.kind == _c.FIELD_INT:
            return self._array(self._raw.integers, "<i8")
        if self.kind == _c.FIELD_FLOAT:
            return self._array(self._raw.numbers, "<f8")
        raise TypeError("field %r is no number" % self.name)

    @property
    def offsets(self) -> NDArray[Any]:
        """Where in `data` the bytes of each image begin, uint64."""
        return self._array(self._raw.offset, "<u8")

    @property
    def lengths(self) -> NDArray[Any]:
        """How many bytes each image has, uint64."""
        return self._array(self._raw.bytes, "<u8")

    @property
    def data(self) -> NDArray[Any]:
        """The bytes of all byte fields of the batch, uint8."""
        return array_at(self._hold, self._raw.data, "|u1", self._end())

    def _end(self) -> int:
        offset, size = self._raw.offset, self._raw.bytes
        ends = (offset[i] + size[i] for i in range(self._count) if size[i])
        return max(ends, default=0)

    def bytes(self, index: int) -> "bytes":
        """The bytes of an image's field, a copy."""
        at = range(self._count)[index]
        address = self._raw.data + self._raw.offset[at]
        return ctypes.string_at(address, self._raw.bytes[at])

    def __len__(self) -> int:
        return self._count

    def __getitem__(self, index: int) -> Any:
        at = range(self._count)[index]
        if self.width:
            return or_none(_several(self._raw, at))
        if self.kind == _c.FIELD_INT:
            return or_none(int(self._raw.integers[at]))
        if self.kind == _c.FIELD_FLOAT:
            return or_none(float(self._raw.numbers[at]))
        return value_of(self.kind, self.bytes(at))

    def tolist(self) -> List[Any]:
        """field[i] of each image."""
        return [self[i] for i in range(self._count)]

    def __repr__(self) -> str:
        return "<feedline.Field %r of %d images>" % (self.name, self._count)


def fields_of(handle: int, count: int, hold: Any) -> Dict[str, Field]:
    """Those of a feedline_batch; hold: keeps its memory."""
    found: Dict[str, Field] = {}
    while True:
        raw = _c.batch_field()
        status = lib.batch_get_field(handle, len(found), raw)
        if status == _c.ERANGE:
            return found
        check(status)
        field = Field(raw, count, hold)
        found[field.name] = field
