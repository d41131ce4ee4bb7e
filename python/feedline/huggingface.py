# SPDX-License-Identifier: Apache-2.0
"""Data sets of Hugging Face's `datasets`: where their images lie.

They are Arrow tables in uncompressed files that are mapped into memory. All
images of a record batch are one buffer with a list of offsets, so the extents
of all images follow from addresses, and no image is read for it:

    rows --ds._indices--> rows of the table --offsets--> addresses
    address --/proc/self/maps--> file, offset in it

The files are then read like any other. What is in no file (a table in memory, a
file that was removed or replaced since) is read where it is. Rows with a path
and no bytes are files of their own.

pyarrow and numpy come with the user's object: nothing here needs them before.
"""

from __future__ import annotations

from typing import Any, Dict, List, Optional, Tuple

from .errors import InvalidArgument, RangeError
from .extents import TO_END
from .mapped_files import Maps

_IN_MEMORY = -1
_EMBED = (
    "put the files' bytes into the table: ds.with_format('arrow').map(datasets."
    "table.embed_table_storage, batched=True).with_format(None)"
)


class Choice:
    """Which columns of a data set are used.

    image, label: their names; label is None where all labels are 0. classes:
    names by label.
    """

    def __init__(self, ds: Any, image: Optional[str], label: Any) -> None:
        _check(ds)
        self._features: Dict[str, Any] = dict(ds.features)
        self.image = self._image(image)
        self.label = self._label(label)
        self.classes: List[str] = []
        if self.label is not None and self._type(self.label) == "ClassLabel":
            self.classes = list(self._features[self.label].names)

    def _type(self, name: str) -> str:
        return str(getattr(self._features[name], "_type", "a list or dict"))

    def _of_type(self, kind: str) -> List[str]:
        return [name for name in self._features if self._type(name) == kind]

    def _existing(self, name: str, argument: str) -> str:
        if name not in self._features:
            raise InvalidArgument(
                "%s=%r: the data set has no such column; it has %s"
                % (argument, name, ", ".join(self._features))
            )
        return name

    def _image(self, name: Optional[str]) -> str:
        found = self._of_type("Image")
        if name is None:
            if len(found) == 1:
                return found[0]
            raise InvalidArgument(
                "the data set has %s; name one: image=COLUMN"
                % (
                    "several columns of images, " + ", ".join(found)
                    if found
                    else "no column of type Image"
                )
            )
        dtype = getattr(
            self._features[self._existing(name, "image")], "dtype", ""
        )
        if name in found or dtype in ("binary", "large_binary"):
            return name
        raise InvalidArgument(
            "column %r has no encoded images; ds.cast_column(%r, "
            "datasets.Image()) makes images of paths" % (name, name)
        )

    def _label(self, name: Any) -> Optional[str]:
        if name is False:
            return None
        if name is not None:
            return self._existing(name, "label")
        found = self._of_type("ClassLabel")
        if len(found) > 1:
            raise InvalidArgument(
                "the data set has several columns of classes, %s; name one: "
                "label=COLUMN" % ", ".join(found)
            )
        integer = getattr(self._features.get("label"), "dtype", "")
        if not found and str(integer).startswith(("int", "uint")):
            return "label"
        return found[0] if found else None


def _check(ds: Any) -> None:
    """Refuses what has no images in files or memory, as they are."""
    names = {
        base.__name__
        for base in type(ds).__mro__
        if base.__module__.startswith("datasets.")
    }
    if "IterableDataset" in names or "IterableDatasetDict" in names:
        raise InvalidArgument(
            "the data set is streamed, so nothing of it lies anywhere; load it "
            "without streaming=True"
        )
    if "DatasetDict" in names:
        raise InvalidArgument(
            "this is a DatasetDict; name one of its splits: ds[%r]"
            % next(iter(ds), "train")
        )
    if "Dataset" not in names:
        raise InvalidArgument(
            "a %s is no datasets.Dataset" % type(ds).__qualname__
        )
    if ds._format_type == "custom":
        raise InvalidArgument(
            "the data set has a transform, which would not run; make it a "
            "Pipeline and pass ds.with_format(None)"
        )
    # Its tables are read where they are mapped.
    Maps().refuse_cut(file["filename"] for file in ds.cache_files)


# ---- Rows -------------------------------------------------------------------


class Images:
    """Where the images of a column are, row by row of a data set.

    Vectors: address, length, file (a position in `files`, or _IN_MEMORY),
    moved (what makes an address a place in the file), missing (no bytes).
    """

    def __init__(self, ds: Any, column: str) -> None:
        self._column = column
        self._chunks = ds.data.table.column(column).chunks
        self.files: List[str] = []
        self._read_chunks()
        if ds._indices is not None:
            self._take(ds._indices.column(0).to_numpy())
        self.paths = self._read_paths()

    def _read_chunks(self) -> None:
        import numpy as np

        maps = Maps()
        known: Dict[str, int] = {}
        parts = []
        for chunk in self._chunks:
            if not len(chunk):
                continue
            content = _part(chunk, "bytes")
            address, length, size = _spans(content)
            place = maps.file_of(address.item(0), size) if size else None
            number, moved = _IN_MEMORY, 0
            if place is not None:
                path, moved = place
                number = known.setdefault(path, len(known))
            rows = len(chunk)
            parts.append(
                (
                    address,
                    length,
                    _nulls(content),
                    np.full(rows, number, np.int32),
                    np.full(rows, moved, np.int64),
                )
            )
        if not parts:
            raise InvalidArgument("the data set has no rows")
        self.files = list(known)
        self.address, self.length, self.missing, self.file, self.moved = map(
            np.concatenate, zip(*parts)
        )
        self._rows = np.arange(len(self.file))

    def _take(self, rows: Any) -> None:
        self._rows = rows
        for name in ("address", "length", "missing", "file", "moved"):
            setattr(self, name, getattr(self, name)[rows])

    def _read_paths(self) -> List[str]:
        """The files of rows without bytes."""
        import pyarrow as pa

        if not self.missing.any():
            return []
        places = self.missing.nonzero()[0]
        found: List[Any] = [None] * len(places)
        if _is_struct(self._chunks[0]):
            paths = pa.chunked_array([_part(c, "path") for c in self._chunks])
            found = paths.take(pa.array(self._rows[places])).to_pylist()
        for place, path in zip(places, found):
            if path is None:
                raise InvalidArgument(
                    "row %d has neither bytes nor a path in column %r; leave "
                    "such rows out with ds.filter" % (place, self._column)
                )
            if "://" in path or "::" in path:
                raise InvalidArgument(
                    "row %d is the remote file %s; %s" % (place, path, _EMBED)
                )
        return found

    def in_memory(self) -> bool:
        """Whether some image is in no file."""
        found = (self.file == _IN_MEMORY) & ~self.missing
        if found.any() and self.paths:
            raise InvalidArgument(
                "some rows are files (%s) and some are in memory; %s"
                % (self.paths[0], _EMBED)
            )
        return bool(found.any())

    def table(self) -> Tuple[List[str], Any, Any, Any]:
        """Files, file, offset, length, as Dataset.extents takes them."""
        import numpy as np

        if self.length.max(initial=0) >= TO_END:
            raise RangeError("column %r has an image of 4 GiB" % self._column)
        file = self.file.astype(np.uint32)
        offset = (self.address + self.moved).astype(np.uint64)
        length = self.length.astype(np.uint32)
        places = self.missing.nonzero()[0]
        first = len(self.files)
        file[places] = np.arange(first, first + len(places))
        offset[places] = 0
        length[places] = TO_END
        return self.files + self.paths, file, offset, length


def _is_struct(array: Any) -> bool:
    return bool(array.type.num_fields)


def _part(array: Any, name: str) -> Any:
    """Of the images of a column: their bytes or paths, null where they are."""
    if not _is_struct(array):
        return array
    return array.flatten()[array.type.get_field_index(name)]


def _spans(content: Any) -> Tuple[Any, Any, int]:
    """Addresses and lengths of binary values, and the bytes of all."""
    import numpy as np

    kinds = {"binary": np.int32, "large_binary": np.int64}
    kind = kinds.get(str(content.type))
    if kind is None:
        raise InvalidArgument("images are binary, not %s" % content.type)
    _, ends, data = content.buffers()
    offsets = np.frombuffer(ends, kind)[content.offset :][: len(content) + 1]
    offsets = offsets.astype(np.int64)
    first = data.address if data is not None else 0
    return (
        first + offsets[:-1],
        np.diff(offsets),
        int(offsets[-1] - offsets[0]),
    )


def _nulls(array: Any) -> Any:
    import numpy as np

    if array.null_count == 0:
        return np.zeros(len(array), bool)
    return array.is_null().to_numpy(zero_copy_only=False)


def labels_of(ds: Any, column: Optional[str]) -> Any:
    """An int64 for each row, or None."""
    if column is None:
        return None
    values = ds.data.table.column(column)
    if ds._indices is not None:
        values = values.take(ds._indices.column(0))
    if values.null_count:
        raise InvalidArgument(
            "column %r has rows without a label; leave them out with ds.filter"
            % column
        )
    if not str(values.type).startswith(("int", "uint", "bool")):
        raise InvalidArgument(
            "column %r has values of type %s, not integers; "
            "ds.class_encode_column(%r) makes classes of them"
            % (column, values.type, column)
        )
    return values.cast("int64").to_numpy()
