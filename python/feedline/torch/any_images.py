# SPDX-License-Identifier: Apache-2.0
"""Any data set of feedline's, and one of Hugging Face's, as one of torch's."""

from __future__ import annotations

import io
from typing import Any, Callable, List, Optional, Sequence, Tuple

import feedline

from ..source import can_read
from .chain import NotNative
from .folders import Decoded, place_of
from .changes import Items
from .known_sets import Piece, ready_piece
from .outputs import checked, of_sample
from .targets import one_label, read_labels


def _upright(image: Any) -> Any:
    """As the loader turns it: also where Pillow's exif_transpose raises, as on
    EXIF data that it cannot read, or cannot write back."""
    from PIL import Image, ImageOps

    image.load()
    try:
        return ImageOps.exif_transpose(image)
    except Exception:  # of many kinds
        pass
    try:
        orientation = image.getexif().get(0x0112)
    except Exception:
        return image
    turns = (
        Image.Transpose.FLIP_LEFT_RIGHT,
        Image.Transpose.ROTATE_180,
        Image.Transpose.FLIP_TOP_BOTTOM,
        Image.Transpose.TRANSPOSE,
        Image.Transpose.ROTATE_270,
        Image.Transpose.TRANSVERSE,
        Image.Transpose.ROTATE_90,
    )
    if orientation not in range(2, 9):
        return image
    return image.transpose(turns[int(orientation) - 2])


class Images(Decoded):
    """The samples of a feedline.Dataset: pairs of image and label.

    source: encoded images, wherever they lie: Dataset.open, .huggingface,
    .extents, .memory, .paths; or a datasets.Dataset, whose column of images and
    label are found as by Dataset.huggingface, and whose images are turned as
    their EXIF orientation says; or any object with __len__, read(i) and labels,
    as Dataset.source takes it. transform: a chain of torchvision or timm
    transforms on Pillow images of mode RGB. apply_exif: turn them or not. seed:
    of the random transforms. output: what samples are tuples of in place of
    image and label: "image", "label", and fields that the data set was opened
    with, as in output=("image", "txt") for "tar:...?fields=txt". targets: a
    label of any type for each sample, in place of the data set's: an array or
    tensor [N, ...], or a list.
    """

    def __init__(
        self,
        source: Any,
        transform: Optional[Callable[[Any], Any]] = None,
        *,
        apply_exif: Optional[bool] = None,
        seed: int = 0,
        output: Optional[Sequence[str]] = None,
        targets: Optional[Sequence[Any]] = None,
    ) -> None:
        if not isinstance(source, feedline.Dataset) and can_read(source):
            source = feedline.Dataset.source(source)
        theirs = not isinstance(source, feedline.Dataset)
        self.dataset: feedline.Dataset = source
        if theirs:
            self.dataset = feedline.Dataset.huggingface(source)
        self.apply_exif: bool = (
            theirs if apply_exif is None else bool(apply_exif)
        )
        self.output: Optional[Tuple[str, ...]] = checked(output, self.dataset)
        if targets is not None and len(targets) != len(self.dataset):
            raise ValueError(
                "%d targets for %d samples" % (len(targets), len(self.dataset))
            )
        self._given = targets
        super().__init__(transform, None, self.dataset.classes, seed)

    def __len__(self) -> int:
        return len(self.dataset)

    @property
    def targets(self) -> Sequence[Any]:
        """The label of each sample."""
        if self._given is not None:
            return self._given
        return [self.dataset.label(i) for i in range(len(self))]

    def piece(self, where: str) -> Piece:
        if self.target_transform is not None:
            raise NotNative(
                "%s is Images with a target_transform; make other labels where "
                "its samples come from" % where
            )
        piece = ready_piece(
            where,
            len(self.dataset),
            lambda: self.dataset,
            self.transform,
            (id(self.dataset), self.output),
            apply_exif=self.apply_exif,
        )
        if self._given is not None:
            given = self._given
            piece.load = lambda: (self.dataset, read_labels(given, False))
            piece.watched.append(Items(given))
        piece.output = self.output
        return piece

    def _contents(self) -> Any:
        return self.dataset

    def _opened(self, index: int) -> Tuple[Any, Any]:
        from PIL import Image

        image: Any = Image.open(io.BytesIO(self.dataset.read(index)))
        if self.apply_exif:
            image = _upright(image)
        return image.convert("RGB"), self.dataset.label(index)

    def __getitem__(self, index: int) -> Tuple[Any, ...]:
        """(image, label), or what `output` says. An image that only Pillow
        reads, it reads."""
        try:
            return super().__getitem__(index)
        except feedline.DecodeError:
            position = place_of(index, len(self))
            return self._whole(self._in_python(position), position)

    def __getitems__(self, indices: Sequence[int]) -> List[Tuple[Any, ...]]:
        pairs = super().__getitems__(indices)
        return [self._whole(pair, i) for pair, i in zip(pairs, indices)]

    def _whole(self, pair: Tuple[Any, ...], index: int) -> Tuple[Any, ...]:
        image, label = pair
        if self._given is not None:
            label = one_label(self._given, place_of(index, len(self)))
        if self.output is None:
            return image, label
        return of_sample(self.output, (image, label), self.dataset, index)
