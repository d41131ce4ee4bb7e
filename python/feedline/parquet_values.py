# SPDX-License-Identifier: Apache-2.0
"""Parquet: where the values of a binary column lie in its files.

A column that is neither compressed nor a dictionary is a row of pages, in which
each value stands behind its length; `datasets` writes images so. pyarrow reads
what files there are, which columns and where these begin; the headers of pages,
which it does not show, and the lengths are read here. No image is.

    page: header (Thrift, compact) | levels | u32 length, value | ...
"""

from __future__ import annotations

import json
import os
import struct
from array import array
from contextlib import contextmanager
from typing import Any, Dict, Iterator, List, Optional, Tuple

from .errors import InvalidArgument
from .extents import Extents

_HEAD = 1 << 16  # bytes of a page's header, which has statistics in it
_HEAD_MAX = 1 << 22
_PLAIN = 0
_DATA_PAGE, _DATA_PAGE_V2 = 0, 3
# Fields of PageHeader and of its DataPageHeader, in parquet.thrift.
_TYPE, _BYTES, _V1, _V2 = 1, 3, 5, 8
_VALUES, _V1_ENCODING, _V2_ENCODING, _V2_LEVELS = 1, 2, 4, (5, 6)
_CURE = (
    "; load_dataset('parquet', data_files=...) makes Arrow files of it for "
    "Dataset.huggingface, and pyarrow.parquet.write_table(table, path, "
    "compression='none', use_dictionary=False) a file with plain values"
)


def table_of(files: Any, image: Optional[str], label: Any) -> Extents:
    """What Dataset.parquet makes a data set of."""
    from pyarrow import parquet

    paths = _paths(files)
    places: List[Tuple["array[int]", "array[int]"]] = []
    labels: List[Any] = []
    classes: List[str] = []
    first: Optional[Tuple[str, Any]] = None
    for path in paths:
        with _pyarrows_errors(path), parquet.ParquetFile(path) as file:
            chosen = _Columns(path, file, image, label)
            places.append(_values(path, file.metadata, file.schema, chosen))
            if chosen.label is not None:
                labels.append(_labels(path, file, chosen.label))
            names = chosen.image, chosen.label
            first = first or names
            if (
                names[0] != first[0]
                or None not in (names[1], first[1])
                and (names[1] != first[1])
            ):
                raise InvalidArgument(
                    "%s has columns %r and %r, and %s %r and %r: name them, "
                    "image=COLUMN, label=COLUMN"
                    % (path, *names, paths[0], *first)
                )
            if classes and chosen.classes and classes != chosen.classes:
                raise InvalidArgument("%s has classes of its own" % path)
            classes = classes or chosen.classes
    if labels and len(labels) < len(paths):
        raise InvalidArgument("some files have a column of labels, some none")
    number = array("I")
    offset, length, found = array("Q"), array("I"), array("q")
    for i, (offsets, lengths) in enumerate(places):
        number.extend([i] * len(offsets))
        offset.extend(offsets)
        length.extend(lengths)
    for part in labels:
        found.extend(part)
    if not number:
        raise InvalidArgument("the files have no rows")
    return Extents(
        paths, number, offset, length, found if labels else None, None, classes
    )


@contextmanager
def _pyarrows_errors(path: str) -> Iterator[None]:
    """With the file, which pyarrow does not say."""
    import pyarrow

    try:
        yield
    except (pyarrow.ArrowException, OSError) as error:
        if getattr(error, "errno", None):
            raise  # of the system, which names it
        raise InvalidArgument("%s: %s" % (path, error)) from error


def _paths(files: Any) -> List[str]:
    """A file, the *.parquet of a folder, or a list of these."""
    if not isinstance(files, (str, os.PathLike)):
        return [path for one in files for path in _paths(one)]
    path = os.fspath(files)
    if not os.path.isdir(path):
        return [path]
    names = sorted(n for n in os.listdir(path) if n.endswith(".parquet"))
    if not names:
        raise InvalidArgument("%s: no *.parquet in it" % path)
    return [os.path.join(path, name) for name in names]


# ---- Columns ----------------------------------------------------------------


class _Columns:
    """Which leaf of the schema is the image, and which column the label."""

    def __init__(
        self, path: str, file: Any, image: Optional[str], label: Any
    ) -> None:
        self._path = path
        self._arrow = file.schema_arrow
        meta = (self._arrow.metadata or {}).get(b"huggingface", b"{}")
        info = json.loads(meta).get("info") or {}
        self._features: Dict[str, Any] = info.get("features") or {}
        name = self._image(image)
        kind = self._arrow.field(name).type
        self.image = name
        self.leaf = name + ".bytes" if kind.num_fields else name
        self.label = self._label(label)
        feature = self._features.get(self.label or "") or {}
        self.classes = [str(n) for n in feature.get("names") or ()]

    def _has_images(self, name: str) -> bool:
        kind = self._arrow.field(name).type
        if kind.num_fields:
            names = [kind.field(i).name for i in range(kind.num_fields)]
            if "bytes" not in names:
                return False
            kind = kind.field(names.index("bytes")).type
        return str(kind) in ("binary", "large_binary")

    def _image(self, name: Optional[str]) -> str:
        found = [n for n in self._arrow.names if self._has_images(n)]
        if name is None and len(found) == 1:
            return str(found[0])
        if name in found:
            return str(name)
        raise InvalidArgument(
            "%s: %s; columns of images are %s: image=COLUMN"
            % (
                self._path,
                "no column %r of images" % name if name else "not one column",
                ", ".join(found) or "none (binary, or struct of bytes, path)",
            )
        )

    def _label(self, name: Any) -> Optional[str]:
        if name is False:
            return None
        if name is not None and name not in self._arrow.names:
            raise InvalidArgument("%s: no column %r" % (self._path, name))
        if name is None:
            kinds = {k: v.get("_type") for k, v in self._features.items()}
            classes = [k for k, kind in kinds.items() if kind == "ClassLabel"]
            name = classes[0] if len(classes) == 1 else "label"
            if name not in self._arrow.names:
                return None
        return str(name)


def _labels(path: str, file: Any, column: str) -> Any:
    values = file.read(columns=[column]).column(column)
    if values.null_count or not str(values.type).startswith(("int", "uint")):
        raise InvalidArgument(
            "%s: column %r has %s, and labels are integers; label=COLUMN, or "
            "False for none"
            % (
                path,
                column,
                "rows without a value" if values.null_count else values.type,
            )
        )
    return values.cast("int64").to_pylist()


# ---- Pages ------------------------------------------------------------------


def _values(
    path: str, metadata: Any, schema: Any, chosen: _Columns
) -> Tuple["array[int]", "array[int]"]:
    """Offsets and lengths of a file's images."""
    leaves = [schema.column(i).path for i in range(len(schema.names))]
    leaf = leaves.index(chosen.leaf)
    levels = schema.column(leaf).max_definition_level
    offsets, lengths = array("Q"), array("I")
    with open(path, "rb", buffering=0) as file:
        for group in range(metadata.num_row_groups):
            chunk = metadata.row_group(group).column(leaf)
            _check_plain(path, chosen.leaf, chunk)
            pages = _Pages(path, file.fileno(), chunk, levels)
            while len(pages.offsets) < chunk.num_values:
                pages.take()
            offsets.extend(pages.offsets)
            lengths.extend(pages.lengths)
    return offsets, lengths


def _check_plain(path: str, leaf: str, chunk: Any) -> None:
    why = ""
    if chunk.compression != "UNCOMPRESSED":
        why = "compressed with %s" % chunk.compression
    elif chunk.has_dictionary_page:
        why = "a dictionary and places in it"
    if why:
        raise InvalidArgument(
            "%s: column %s is %s, so no value can be read separately%s"
            % (path, leaf, why, _CURE)
        )


class _Pages:
    """Of a column in one row group."""

    def __init__(self, path: str, fd: int, chunk: Any, levels: int) -> None:
        self._path, self._fd, self._levels = path, fd, levels
        self._at = int(chunk.data_page_offset)
        self._end = self._at + int(chunk.total_compressed_size)
        self.offsets, self.lengths = array("Q"), array("I")

    def _fail(self, why: str) -> InvalidArgument:
        return InvalidArgument("%s at %d: %s" % (self._path, self._at, why))

    def _header(self) -> Tuple[Dict[int, Any], int]:
        """A page's header and its bytes."""
        size = _HEAD
        while True:
            data = os.pread(self._fd, size, self._at)
            reader = _Thrift(data)
            try:
                return reader.struct(), reader.at
            except IndexError:
                if len(data) < size or size >= _HEAD_MAX:
                    raise self._fail("no header of a page") from None
                size = _HEAD_MAX

    def take(self) -> None:
        """The next page."""
        if self._at >= self._end:
            raise self._fail("fewer values than the footer says")
        header, size = self._header()
        begin = self._at + size
        end = begin + _integer(header, _BYTES)
        kind = header.get(_TYPE)
        if kind == _DATA_PAGE:
            page, encoding = header.get(_V1), _V1_ENCODING
            if self._levels:
                begin += 4 + self._number(begin)
        elif kind == _DATA_PAGE_V2:
            page, encoding = header.get(_V2), _V2_ENCODING
            begin += sum(_integer(page, level) for level in _V2_LEVELS)
        else:
            raise self._fail("a page of another kind (%s)" % kind)
        plain = _integer(page, encoding, -1) == _PLAIN
        if not plain or not self._at < begin <= end <= self._end:
            raise self._fail("values that are not plain%s" % _CURE)
        self._take_values(begin, end, _integer(page, _VALUES))
        self._at = end

    def _number(self, at: int) -> int:
        data = os.pread(self._fd, 4, at)
        if len(data) < 4:
            raise self._fail("the file ends before %d" % (at + 4))
        return int(struct.unpack("<I", data)[0])

    def _take_values(self, at: int, end: int, count: int) -> None:
        before = len(self.offsets)
        while at + 4 <= end:
            length = self._number(at)
            if length > end - at - 4:
                raise self._fail("a value of %d bytes" % length)
            self.offsets.append(at + 4)
            self.lengths.append(length)
            at += 4 + length
        if len(self.offsets) - before != count:
            raise self._fail(
                "rows without an image, or with a path in place of its bytes; "
                "leave them out, or load_dataset('parquet', ...) for "
                "Dataset.huggingface"
            )


def _integer(fields: Any, number: int, otherwise: int = 0) -> int:
    """Of a header that may be damaged."""
    found = fields.get(number) if isinstance(fields, dict) else None
    return found if isinstance(found, int) else otherwise


class _Thrift:
    """Compact protocol, as far as headers of pages have it. IndexError: more
    bytes are needed."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self.at = 0

    def _byte(self) -> int:
        self.at += 1
        return self._data[self.at - 1]

    def _varint(self) -> int:
        number = shift = 0
        while True:
            byte = self._byte()
            number |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return number

    def _signed(self) -> int:
        number = self._varint()
        return number >> 1 ^ -(number & 1)

    def struct(self, depth: int = 8) -> Dict[int, Any]:
        """Its fields by number."""
        found: Dict[int, Any] = {}
        field = 0
        while True:
            byte = self._byte()
            if byte == 0:
                return found
            field = field + (byte >> 4) if byte >> 4 else self._signed()
            found[field] = self._value(byte & 15, depth)

    def _value(self, kind: int, depth: int) -> Any:
        if kind in (1, 2):
            return kind == 1
        if kind in (4, 5, 6):
            return self._signed()
        if kind in (3, 7):
            self.at += 1 if kind == 3 else 8
        elif kind == 8:
            size = self._varint()
            self.at += size
        elif kind == 12 and depth > 0:
            return self.struct(depth - 1)
        else:
            raise IndexError("a list, set or map")
        if self.at > len(self._data):
            raise IndexError
        return None
