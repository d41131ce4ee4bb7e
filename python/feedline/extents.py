# SPDX-License-Identifier: Apache-2.0
"""Where samples lie in files, as feedline_dataset_open_extents takes it."""

from __future__ import annotations

import ctypes
from array import array
from typing import Any, Dict, List, Mapping, Optional, Sequence, Tuple

from . import _c
from ._library import lib
from .errors import InvalidArgument
from .vectors import Names, labels_for, numbers

TO_END = 0xFFFFFFFF  # FEEDLINE_TO_END
_WORDS = 4  # of 32 bits in a struct feedline_extent
_PARTS = {"bytes": _c.FIELD_BYTES, "text": _c.FIELD_TEXT, "json": _c.FIELD_JSON}


def _check_counts(counts: Dict[str, int]) -> None:
    if len(set(counts.values())) > 1:
        said = ", ".join("%d %s" % (n, name) for name, n in counts.items())
        raise InvalidArgument("not one extent for each sample: " + said)


def _packed(columns: Dict[str, Any]) -> "array[int]":
    """struct feedline_extent, whichever half of a number comes first."""
    offsets = array("I", columns["offset"].tobytes())
    words = array("I", bytes(2 * offsets.itemsize * len(offsets)))
    words[0::_WORDS] = offsets[0::2]
    words[1::_WORDS] = offsets[1::2]
    words[2::_WORDS] = columns["file"]
    words[3::_WORDS] = columns["length"]
    return words


def _columns(file: Any, offset: Any, length: Any) -> Dict[str, Any]:
    return {
        "file": numbers("I", file, "file numbers"),
        "offset": numbers("Q", offset, "offsets"),
        "length": numbers("I", length, "lengths"),
    }


def _field(name: str, given: Any, count: int) -> Tuple[int, "array[Any]"]:
    """The kind of a field, and what C gets of it."""
    kind, values = given[0], given[1:]
    if kind in _PARTS and len(values) == 3:
        columns = _columns(*values)
        counts = {key: len(column) for key, column in columns.items()}
        _check_counts({"samples": count, **counts})
        return _PARTS[kind], _packed(columns)
    if kind not in ("int", "float") or len(values) != 1:
        raise InvalidArgument(
            "field %r is none of ('bytes', file, offset, length), ('text', "
            "...), ('json', ...), ('int', values), ('float', values)" % name
        )
    if kind == "int":
        found: "array[Any]" = numbers("q", values[0], name)
    else:
        found = array("d", values[0])
    _check_counts({"samples": count, name: len(found)})
    return _c.FIELD_INT if kind == "int" else _c.FIELD_FLOAT, found


def _table(name: str, kind: int, values: "array[Any]") -> _c.field_table:
    """What it points to lives as long as the values and the table."""
    made = _c.field_table(kind=kind, name=name.encode())
    address, _ = values.buffer_info()
    if kind == _c.FIELD_INT:
        made.integers = ctypes.cast(address, ctypes.POINTER(ctypes.c_int64))
    elif kind == _c.FIELD_FLOAT:
        made.numbers = ctypes.cast(address, ctypes.POINTER(ctypes.c_double))
    else:
        made.parts = address
    return made


class Extents:
    """A table: 24 bytes for each sample and its label. Pickled as it is."""

    def __init__(
        self,
        files: Sequence[Any],
        file: Any,
        offset: Any,
        length: Any,
        labels: Any,
        names: Optional[Sequence[Any]],
        classes: Optional[Sequence[str]],
        fields: Optional[Mapping[str, Any]] = None,
    ) -> None:
        columns = _columns(file, offset, length)
        counts = {name: len(column) for name, column in columns.items()}
        if names is not None:
            counts["names"] = len(names)
        _check_counts(counts)
        self.count = counts["file"]
        self.words = _packed(columns)
        self.fields = {
            name: _field(name, given, self.count)
            for name, given in (fields or {}).items()
        }
        self.labels = labels
        if labels is not None:
            self.labels = numbers("q", labels, "labels")
        self.files: List[Any] = list(files)
        self.names = None if names is None else list(names)
        self.classes = classes

    def open(self, out: Any) -> int:
        """Calls the library."""
        files = Names(self.files, "files")
        names = Names(self.names, "names")
        classes = Names(self.classes, "classes")
        first, _ = self.words.buffer_info()
        tables = [_table(name, *field) for name, field in self.fields.items()]
        each = [ctypes.pointer(table) for table in tables]
        table = _c.extents(
            n_files=len(files),
            files=files.each,
            extents=first,
            labels=labels_for(self.labels, self.count),
            names=names.each,
            count=self.count,
            classes=classes.each,
            n_classes=len(classes),
            fields=(ctypes.POINTER(_c.field_table) * len(each))(*each),
            n_fields=len(each),
        )
        return int(lib.dataset_open_extents(ctypes.byref(table), out))
