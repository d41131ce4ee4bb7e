# SPDX-License-Identifier: Apache-2.0
"""Any data set of feedline's, and one of Hugging Face's, as one of torch's."""

from __future__ import annotations

import io
from typing import Any, Callable, List, Optional, Tuple

import feedline

from .chain import NotNative
from .folders import Decoded
from .known_sets import Piece, ready_piece


class Images(Decoded):
    """The samples of a feedline.Dataset: pairs of image and label.

    source: encoded images, wherever they lie: Dataset.open, .huggingface,
    .extents, .memory, .paths; or a datasets.Dataset, whose column of images and
    label are found as by Dataset.huggingface, and whose images are turned as
    their EXIF orientation says. transform: a chain of torchvision or timm
    transforms on Pillow images of mode RGB. apply_exif: turn them or not. seed:
    of the random transforms.
    """

    def __init__(
        self,
        source: Any,
        transform: Optional[Callable[[Any], Any]] = None,
        *,
        apply_exif: Optional[bool] = None,
        seed: int = 0,
    ) -> None:
        theirs = not isinstance(source, feedline.Dataset)
        self.dataset: feedline.Dataset = source
        if theirs:
            self.dataset = feedline.Dataset.huggingface(source)
        self.apply_exif = theirs if apply_exif is None else bool(apply_exif)
        super().__init__(transform, None, self.dataset.classes, seed)

    def __len__(self) -> int:
        return len(self.dataset)

    @property
    def targets(self) -> List[int]:
        """The label of each sample."""
        return [self.dataset.label(i) for i in range(len(self))]

    def piece(self, where: str) -> Piece:
        if self.target_transform is not None:
            raise NotNative(
                "%s is Images with a target_transform; make other labels where "
                "its samples come from" % where
            )
        return ready_piece(
            where,
            len(self.dataset),
            lambda: self.dataset,
            self.transform,
            (id(self.dataset),),
            apply_exif=self.apply_exif,
        )

    def _contents(self) -> Any:
        return self.dataset

    def _opened(self, index: int) -> Tuple[Any, Any]:
        from PIL import Image, ImageOps

        image: Any = Image.open(io.BytesIO(self.dataset.read(index)))
        if self.apply_exif:
            image = ImageOps.exif_transpose(image)
        return image.convert("RGB"), self.dataset.label(index)

    def __getitem__(self, index: int) -> Tuple[Any, Any]:
        """(image, label). An image that only Pillow reads, it reads."""
        try:
            return super().__getitem__(index)
        except feedline.DecodeError:
            return self._in_python(self._position(index))
