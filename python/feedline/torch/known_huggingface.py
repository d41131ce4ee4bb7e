# SPDX-License-Identifier: Apache-2.0
"""Data sets of Hugging Face's `datasets` with a transform that is known.

Their samples are dicts of columns, and so are the batches: here those of an
image and an integer. What is done to the image is said by the function of
`with_transform`, or by one of torchvision's v2 transforms in its place.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import Any, Iterator, Optional, Tuple

import feedline

from .chain import Builder, NotNative
from .compiled import MISSING, Forms, Names, value_of
from .known_sets import LEAVES, Piece, reads, ready_piece

_INSTEAD = "feedline.torch.Images(ds, transform) gives pairs of image and label"


@reads(LEAVES, "datasets.arrow_dataset.Dataset")
def _huggingface(dataset: Any, where: str) -> Piece:
    function = _function_of(dataset, where)
    label = _label_of(dataset, function, where)
    raw = dataset.with_format(None)
    piece = ready_piece(
        where,
        len(dataset),
        lambda: _samples(raw, function.image, label, where),
        function.transform,
        (dataset._fingerprint, function.image, label),
        apply_exif=True,
    )
    if not function.to_rgb:
        piece.stored = _mode(raw, function.image, where)
        piece.channels = 1 if piece.stored == "L" else 3
    piece.keys = function.made, label
    return piece


def _samples(raw: Any, image: str, label: str, where: str) -> feedline.Dataset:
    try:
        return feedline.Dataset.huggingface(raw, image, label)
    except feedline.Error as error:
        raise NotNative(f"{where} is one of Hugging Face's: {error}") from None


def _function_of(dataset: Any, where: str) -> BatchFunction:
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
    known = read_batch_function(given)
    if known is not None:
        return known
    if type(given).__module__.startswith("torchvision.transforms.v2"):
        return _of_v2(dataset, given, where)
    raise NotNative(
        f"{where} is one of Hugging Face's, and its transform "
        f"{getattr(given, '__name__', type(given).__name__)} may do anything; "
        'known are functions that do batch["image"] = [transform(x.convert('
        '"RGB")) for x in batch["image"]] and return the batch; or ' + _INSTEAD
    )


def _of_v2(dataset: Any, transform: Any, where: str) -> BatchFunction:
    """It takes the dict of a batch as it is, and draws once for all of it."""
    builder = Builder(3, None)
    builder.read(transform, "")
    if builder.random:
        raise NotNative(
            f"{where} is one of Hugging Face's with a transform that draws the "
            'same numbers for all images of a batch; write batch["image"] = '
            '[transform(x) for x in batch["image"]] in a function'
        )
    features = dataset.features
    images = [
        name
        for name in _columns(dataset, where)
        if getattr(features[name], "_type", "") == "Image"
    ]
    if len(images) != 1:
        raise NotNative(f"{where} has {len(images)} columns of images")
    return BatchFunction(images[0], images[0], transform, False, None)


def _columns(dataset: Any, where: str) -> Tuple[str, ...]:
    """That its samples have."""
    if dataset._output_all_columns:
        raise NotNative(
            f"{where} has output_all_columns=True, so that images come "
            "unchanged next to the transformed ones"
        )
    return tuple(dataset._format_columns or dataset.column_names)


def _label_of(dataset: Any, function: BatchFunction, where: str) -> str:
    columns = _columns(dataset, where)
    if function.image not in columns:
        raise NotNative(f"{where} has no column {function.image!r}")
    others = [name for name in columns if name != function.image]
    if function.keeps is not None:
        others = [function.keeps]
    if len(others) != 1 or others[0] not in columns:
        raise NotNative(
            f"{where} has samples of the columns {', '.join(columns)}, and the "
            "engine has an image and a label; ds.select_columns(["
            f"{function.image!r}, ...]) leaves out the others"
        )
    feature = dataset.features[others[0]]
    kind = str(getattr(feature, "dtype", type(feature).__name__))
    if not kind.startswith(("int", "uint")):
        raise NotNative(
            f"{where} has labels of type {kind} in column {others[0]!r}; "
            "ds.class_encode_column makes integers of classes"
        )
    image = dataset.features[function.image]
    if not getattr(image, "decode", True):
        raise NotNative(f"{where} has images with decode=False")
    return others[0]


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


# ---- Functions of batches ---------------------------------------------------
#
# A function of `with_transform` takes a batch as a dict of lists and may do
# anything with it. In practice it is one of the few that the documentation of
# `datasets` shows, which hand each image to a transform:
#
#     def transforms(batch):
#         batch["image"] = [transform(x.convert("RGB")) for x in batch["image"]]
#         return batch


@dataclass
class BatchFunction:
    """What a function does: `image` of the batch becomes `made`."""

    image: str
    made: str
    transform: Any
    to_rgb: bool
    keeps: Optional[str]  # the one other column of the result; None: all


# Names with a "_" at their end stand for any.
_ASSIGNS = (
    'b_["image_"] = [{x} for x_ in b_["image_"]]\n return b_',
    'b_["made_"] = [{x} for x_ in b_["image_"]]\n del b_["image_"]\n return b_',
    'b_["made_"] = [{x} for x_ in b_.pop("image_")]\n return b_',
    'return {{"image_": [{x} for x_ in b_["image_"]], "keeps_": b_["keeps_"]}}',
    'return {{"made_": [{x} for x_ in b_["image_"]], "keeps_": b_["keeps_"]}}',
)
_CALLS = ("transform_(x_)", 'transform_(x_.convert("RGB"))')


def _sources() -> Iterator[Tuple[str, bool]]:
    for form, call in product(_ASSIGNS, _CALLS):
        function = "def f(b_):\n " + form.format(x=call)
        inside = function.replace("\n", "\n ")
        yield function, call is _CALLS[1]
        yield (
            f"def outer(transform_):\n {inside}\n return f\nf = outer(0)",
            call is _CALLS[1],
        )


_FORMS = Forms(_sources)


def read_batch_function(function: Any) -> Optional[BatchFunction]:
    """What it does; None for one that is not known."""
    for to_rgb, names in _FORMS.like(function):
        image: str = names["image_"]
        transform = value_of(function, names["transform_"])
        if transform is not MISSING and _keys_differ(function, names):
            return BatchFunction(
                image=image,
                made=names.get("made_", image),
                transform=transform,
                to_rgb=to_rgb,
                keeps=names.get("keeps_"),
            )
    return None


def _keys_differ(function: Any, names: Names) -> bool:
    """Keys that are two in the form are: what is deleted is not what was made.
    An image that is taken out may be put back."""
    keys = [names[key] for key in ("image_", "made_", "keeps_") if key in names]
    return len(set(keys)) == len(keys) or "pop" in function.__code__.co_names
