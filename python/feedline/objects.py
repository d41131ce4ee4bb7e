# SPDX-License-Identifier: Apache-2.0
"""Objects: boxes, labels and keypoints of samples, and those of a batch."""

from __future__ import annotations

import ctypes
from typing import Any, NamedTuple, Optional, Sequence, Tuple

from . import _c
from ._library import lib
from .errors import InvalidArgument, check
from .fields import Memory

# Of all samples: first, boxes, labels, keypoints or None.
Arrays = Tuple[Any, Any, Any, Any]


def arrays_of(
    count: int, boxes: Sequence[Any], labels: Any, keypoints: Any
) -> Arrays:
    """What Dataset.set_objects takes, joined over samples."""
    import numpy

    columns = dict(boxes=boxes, labels=labels, keypoints=keypoints)
    for name, column in columns.items():
        if column is not None and len(column) != count:
            raise InvalidArgument(
                "%s of %d samples for %d" % (name, len(column), count)
            )
    sizes = [len(of_sample) for of_sample in boxes]
    first = numpy.zeros(count + 1, "u8")
    numpy.cumsum(sizes, out=first[1:])
    joined = [_join(numpy, boxes, "f4", sizes, "boxes", (4,))]
    joined += [numpy.zeros(int(first[-1]), "i8"), None]
    if labels is not None:
        joined[1] = _join(numpy, labels, "i8", sizes, "labels", ())
    if keypoints is not None:
        of_each = next((len(x[0]) for x in keypoints if len(x)), 0)
        joined[2] = _join(
            numpy, keypoints, "f4", sizes, "keypoints", (of_each, 2)
        )
    return (first, joined[0], joined[1], joined[2])


def _join(
    numpy: Any,
    column: Sequence[Any],
    dtype: str,
    sizes: Sequence[int],
    name: str,
    shape: Tuple[int, ...],
) -> Any:
    parts = [numpy.zeros((0, *shape), dtype)]
    for i, (of_sample, size) in enumerate(zip(column, sizes)):
        if size == 0 and len(of_sample) == 0:
            continue
        part = numpy.asarray(of_sample, dtype)
        if part.shape != (size, *shape):
            raise InvalidArgument(
                "%s of sample %d are %s and not %s"
                % (name, i, list(part.shape), [size, *shape])
            )
        parts.append(part)
    return numpy.ascontiguousarray(numpy.concatenate(parts))


def set_objects(handle: int, arrays: Optional[Arrays]) -> None:
    """Gives a feedline_dataset these, or none."""
    if arrays is None:
        check(lib.dataset_set_objects(handle, None))
        return

    def address(array: Any, kind: Any) -> Any:
        return ctypes.cast(array.ctypes.data, ctypes.POINTER(kind))

    first, boxes, labels, points = arrays
    table = _c.objects(
        n=len(boxes),
        first=address(first, ctypes.c_uint64),
        boxes=address(boxes, ctypes.c_float),
        labels=address(labels, ctypes.c_int64),
    )
    if points is not None and points.shape[1]:
        table.keypoints = points.shape[1]
        table.points = address(points, ctypes.c_float)
    check(lib.dataset_set_objects(handle, table))


class ImageObjects(NamedTuple):
    """Those of one image: n of them."""

    boxes: Any  # float32 [n, 4]: left, top, right, bottom
    labels: Any  # int64 [n]
    keypoints: Any  # float32 [n, k, 2], or None
    source: Any  # int64 [n]: which of all of its sample it is


class Objects:
    """The objects of a batch in host memory, all images' in a row: those of
    image i are from first[i] to first[i + 1]. objects[i] is an ImageObjects.

    The arrays share the batch's memory and keep it.
    """

    def __init__(self, handle: int, count: int, hold: Any) -> None:
        raw = _c.batch_objects()
        check(lib.batch_get_objects(handle, raw))
        n, points = int(raw.n), int(raw.keypoints)
        self._count = count
        self._hold = hold
        self.first = self._array(raw.first, "<u8", (count + 1,))
        self.boxes = self._array(raw.boxes, "<f4", (n, 4))
        self.labels = self._array(raw.labels, "<i8", (n,))
        self.source = self._array(raw.source, "<i8", (n,))
        self.keypoints = None
        if points:
            self.keypoints = self._array(raw.points, "<f4", (n, points, 2))

    def _array(self, pointer: Any, typestr: str, shape: Tuple[int, ...]) -> Any:
        import numpy

        size = 1
        for side in shape:
            size *= side
        address = ctypes.cast(pointer, ctypes.c_void_p).value or 0
        memory = Memory(self._hold, address, typestr, size)
        return numpy.asarray(memory).reshape(shape)

    def __len__(self) -> int:
        return self._count

    def __getitem__(self, index: int) -> ImageObjects:
        at = range(self._count)[index]
        part = slice(int(self.first[at]), int(self.first[at + 1]))
        points = self.keypoints
        return ImageObjects(
            self.boxes[part],
            self.labels[part],
            None if points is None else points[part],
            self.source[part],
        )

    def __repr__(self) -> str:
        return "<feedline.Objects: %d of %d images>" % (
            len(self.labels),
            self._count,
        )
