# SPDX-License-Identifier: Apache-2.0
"""What of a batch moves or mixes with its images: objects (boxes, labels and
keypoints), masks, and what MixUp and CutMix drew."""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING, Any, List, NamedTuple, Optional, Sequence
from typing import Tuple

from . import _c
from ._library import lib
from .errors import InvalidArgument, check
from .fields import array_at

if TYPE_CHECKING:
    from numpy.typing import NDArray

# ---- Objects ----------------------------------------------------------------

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

    boxes: NDArray[Any]  # float32 [n, 4]: left, top, right, bottom
    labels: NDArray[Any]  # int64 [n]
    keypoints: Optional[NDArray[Any]]  # float32 [n, k, 2]
    source: NDArray[Any]  # int64 [n]: which of all of its sample it is


class Objects:
    """The objects of a batch in host memory, all images' in a row: those of
    image i are from first[i] to first[i + 1]. objects[i] is an ImageObjects.

    Attributes, for n objects in all:
        first: uint64 [images + 1].
        boxes: float32 [n, 4]: left, top, right, bottom, in pixels.
        labels: int64 [n].
        keypoints: float32 [n, k, 2], or None.
        source: int64 [n]: which of all of its sample it is.

    The arrays share the batch's memory and keep it.
    """

    def __init__(self, handle: int, count: int, hold: Any) -> None:
        raw = _c.batch_objects()
        check(lib.batch_get_objects(handle, raw))
        n, points = int(raw.n), int(raw.keypoints)
        self._count = count
        self.first: NDArray[Any] = array_at(hold, raw.first, "<u8", count + 1)
        self.boxes: NDArray[Any] = array_at(hold, raw.boxes, "<f4", n, 4)
        self.labels: NDArray[Any] = array_at(hold, raw.labels, "<i8", n)
        self.source: NDArray[Any] = array_at(hold, raw.source, "<i8", n)
        self.keypoints: Optional[NDArray[Any]] = None
        if points:
            self.keypoints = array_at(hold, raw.points, "<f4", n, points, 2)

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


# ---- Masks ------------------------------------------------------------------


class Masks:
    """The mask of each image of a batch, uint8 in host memory. They share the
    batch's memory and keep it."""

    def __init__(self, handle: int, info: _c.batch_info, hold: Any) -> None:
        raw = _c.batch_masks()
        check(lib.batch_get_masks(handle, raw))
        self._count = int(info.count)
        self._raw = raw
        self._hold = hold
        self._sizes: List[Tuple[int, int]] = []
        if not raw.height:
            found = info.image_size[: self._count]
            self._sizes = [(size[0], size[1]) for size in found]

    def numpy(self) -> NDArray[Any]:
        """All of them as uint8 [count, height, width]. TypeError: their images
        have different sizes."""
        if self._sizes:
            raise TypeError("masks have different sizes: take them one by one")
        return self._array(
            0, self._count, int(self._raw.height), int(self._raw.width)
        )

    def __len__(self) -> int:
        return self._count

    def __getitem__(self, index: int) -> NDArray[Any]:
        """One of them, [height, width]; zeros for a sample that failed."""
        at = range(self._count)[index]
        size = self._raw.height, self._raw.width
        if self._sizes:
            size = self._sizes[at] if self._raw.bytes[at] else (0, 0)
        return self._array(self._raw.offset[at], int(size[0]), int(size[1]))

    def _array(self, offset: int, *shape: int) -> NDArray[Any]:
        address = (self._raw.data or 0) + offset
        return array_at(self._hold, address, "|u1", *shape)

    def __repr__(self) -> str:
        return "<feedline.Masks of %d images>" % self._count


# ---- Mixed images -----------------------------------------------------------

_KINDS = {_c.MIX_NONE: "none", _c.MIXUP: "mixup", _c.CUTMIX: "cutmix"}


class Mix(NamedTuple):
    """What one image of a batch became.

    kind: "none", "mixup" or "cutmix". share: of its own label in its target.
    partner: the other image, by its place in the batch. box: left, top, right,
    bottom of what is the partner's, with CutMix.
    """

    kind: str
    share: float
    partner: int
    box: Tuple[int, ...]


def targets_of(handle: int) -> _c.batch_targets:
    """Of a feedline_batch. Raises StateError: its pipeline does not mix."""
    found = _c.batch_targets()
    check(lib.batch_get_targets(handle, found))
    return found


def mixes_of(handle: int, count: int) -> List[Mix]:
    """Of each of its images."""
    found: List[_c.image_mix] = targets_of(handle).mixes[:count]
    return [
        Mix(_KINDS[one.kind], one.share, one.partner, tuple(one.box))
        for one in found
    ]
