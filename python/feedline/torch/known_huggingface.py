# SPDX-License-Identifier: Apache-2.0
"""Data sets of Hugging Face's `datasets` with a transform that is known.

Their samples are dicts of columns. What is done to the image is said by the
function of `with_transform` (batch_functions.py), or by one of torchvision's v2
transforms in its place.
"""

from __future__ import annotations

import re
from typing import Any, List, Optional

from torch.utils.data import Subset

import feedline

from .batch_functions import BatchFunction, read_batch_function
from .chain import Builder, NotNative
from .known_sets import LEAVES, Piece, reads, ready_piece
from .rows import Rows

_INSTEAD = "feedline.torch.Images(ds, transform) gives pairs of image and label"


@reads(LEAVES, "datasets.arrow_dataset.Dataset")
def _huggingface(dataset: Any, where: str) -> Piece:
    columns = _columns(dataset, where)
    function = _function_of(dataset, columns, where)
    label = _label_of(dataset, function, where)
    raw = dataset.with_format(None)
    piece = ready_piece(
        where,
        len(dataset),
        lambda: _samples(raw, function.image, label, where),
        function.transform,
        (
            dataset._fingerprint,
            function.image,
            label,
            tuple(function.keys.items()),
        ),
        apply_exif=True,
    )
    if not function.to_rgb:
        piece.stored = _mode(raw, function.image, where)
        piece.channels = 1 if piece.stored == "L" else 3
    piece.rows = Rows(raw, function, label)
    return piece


def gives_rows(dataset: Any) -> bool:
    """Whether it is one, or a Subset of one."""
    while type(dataset) is Subset:
        dataset = dataset.dataset
    kinds = type(dataset).__mro__
    return any(c.__module__ == "datasets.arrow_dataset" for c in kinds)


def _samples(
    raw: Any, image: str, label: Optional[str], where: str
) -> feedline.Dataset:
    try:
        return feedline.Dataset.huggingface(raw, image, label or False)
    except feedline.Error as error:
        raise NotNative(f"{where} is one of Hugging Face's: {error}") from None


def _function_of(dataset: Any, columns: List[str], where: str) -> BatchFunction:
    """What its transform does."""
    if dataset._format_type != "custom":
        kind = dataset._format_type
        raise NotNative(
            f"{where} is one of Hugging Face's "
            + (f"in the format {kind!r}" if kind else "without a transform")
            + '; give it one: ds.with_transform(f), with batch["image"] = '
            '[transform(x.convert("RGB")) for x in batch["image"]] in f; or '
            + _INSTEAD
        )
    given = dataset._format_kwargs["transform"]
    images = [
        name
        for name in columns
        if getattr(dataset.features[name], "_type", "") == "Image"
    ]
    if type(given).__module__.startswith("torchvision.transforms.v2"):
        return _of_v2(columns, images, given, where)
    known = read_batch_function(given, columns, images)
    if known is not None:
        return known
    raise NotNative(
        f"{where} is one of Hugging Face's, and its transform "
        f"{getattr(given, '__name__', type(given).__name__)} does more than "
        'hand each image to a transform, as in batch["image"] = [transform('
        'x.convert("RGB")) for x in batch["image"]], and pass columns on; or '
        + _INSTEAD
    )


def _of_v2(
    columns: List[str], images: List[str], transform: Any, where: str
) -> BatchFunction:
    """It takes the dict of a batch as it is, and draws once for all of it."""
    builder = Builder(3, None)
    builder.read(transform, "")
    if builder.random:
        raise NotNative(
            f"{where} is one of Hugging Face's with a transform that draws the "
            'same numbers for all images of a batch; write batch["image"] = '
            '[transform(x) for x in batch["image"]] in a function'
        )
    if len(images) != 1:
        raise NotNative(f"{where} has {len(images)} columns of images")
    keys = {name: name for name in columns}
    return BatchFunction(images[0], images[0], transform, False, keys)


def _columns(dataset: Any, where: str) -> List[str]:
    """That its function gets."""
    if dataset._output_all_columns:
        raise NotNative(
            f"{where} has output_all_columns=True, so that images come "
            "unchanged next to the transformed ones"
        )
    return list(dataset._format_columns or dataset.column_names)


def _label_of(
    dataset: Any, function: BatchFunction, where: str
) -> Optional[str]:
    """The column that the engine can have, where it is the only one."""
    image = dataset.features[function.image]
    if not getattr(image, "decode", True):
        raise NotNative(f"{where} has images with decode=False")
    others = [key for key in function.keys if key != function.made]
    label = function.keys[others[0]] if len(others) == 1 else function.image
    kind = str(getattr(dataset.features[label], "dtype", ""))
    return label if re.fullmatch("int.*|uint(8|16|32)", kind) else None


def _mode(raw: Any, image: str, where: str) -> str:
    """Pillow's, of images that the function does not convert; "" if the column
    makes all of them RGB. torch makes batches of images of one mode only, so
    the first one speaks for all, and the engine refuses any other."""
    mode = getattr(raw.features[image], "mode", None)
    if mode not in (None, "RGB"):
        raise NotNative(
            f"{where} has a column Image(mode={mode!r}), which converts "
            "images; feedline has mode='RGB'"
        )
    if mode:
        return ""
    try:
        return str(raw[0][image].mode)
    except Exception as error:
        raise NotNative(
            f"{where}: its first image cannot be read: {error}"
        ) from None
