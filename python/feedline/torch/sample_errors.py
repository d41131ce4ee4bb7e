# SPDX-License-Identifier: Apache-2.0
"""Samples that the engine could not make: the data set does, or an exception.

Pillow opens what the engine does not decode: a GIF that is called .jpg, a
damaged file that it is lenient with, an image above the engine's limits. The
data set then makes the sample itself, as it would for torch, in the thread that
asks for the batch.

The exception is one of feedline's, with the path and the decoder's words, and
by type and contents also what the data set itself would have raised through
torch's loader: FileNotFoundError with errno and filename, IsADirectoryError,
PIL.UnidentifiedImageError, OSError for an image that is damaged. Which one is
found out by doing what the data set does: opening the file, with Pillow where
it is there. That is one more look at a file that failed, and never at one that
did not.
"""

from __future__ import annotations

import ctypes
import io
import warnings
from typing import Any, Callable, List, Optional, Tuple

import torch

import feedline
from feedline.errors import as_also, of_status

from ._compat import bombs_are_errors

# What the file itself may be to blame for, or its size.
_OF_FILES = (
    feedline.DecodeError,
    feedline.ReadError,
    feedline.NotFound,
    feedline.RangeError,
)


def failed(batch: feedline.Batch) -> bool:
    """Whether a sample of the batch is missing (on_error=zero)."""
    info = batch.info
    if not info.sample_status:
        return False
    raw = ctypes.string_at(info.sample_status, 4 * info.count)
    return bool(raw.strip(b"\0"))


def mended(
    engine: feedline.Loader,
    batch: feedline.Batch,
    made_by_data_set: Callable[[int], Any],
) -> List[Tuple[int, Any, feedline.Error]]:
    """Places in the batch, their images and what the engine says, of all
    samples that are missing.

    made_by_data_set: gives the image for a sample of the engine's. Raises the
    error of the first sample that cannot be made in this way either.
    """
    found: List[Tuple[int, Any, feedline.Error]] = []
    for place, status in enumerate(batch.sample_status):
        if status < 0:
            index = batch.sample_index[place]
            error = _error_at(engine, batch.epoch, index, status)
            if error.path is None or not isinstance(error, _OF_FILES):
                raise error
            theirs = _raised_by(engine.dataset, index)
            if theirs is not None:
                raise as_also(error, theirs)
            found.append((place, made_by_data_set(index), error))
    return found


def put(
    image: Any,
    into: torch.Tensor,
    error: feedline.Error,
    position: Callable[[], int],
) -> None:
    """An image of the data set's, which has it at this position, at its place
    in the batch. torch makes no batch of several shapes or types either; but of
    a batch whose images are all like this one, it does."""
    image = torch.as_tensor(image)
    floats = image.is_floating_point() and into.is_floating_point()
    if image.shape != into.shape or not (floats or image.dtype == into.dtype):
        raise type(error)(
            "sample %d is %s %s, where images of this loader are %s %s; "
            'convert("RGB") in front of the other transforms makes images '
            'alike, or backend="torch" delivers batches whose images are all '
            "like this one (%s)"
            % (
                position(),
                image.dtype,
                list(image.shape),
                into.dtype,
                list(into.shape),
                error,
            ),
            status=error.status,
            path=error.path,
        )
    into.copy_(image)


def _error_at(
    engine: feedline.Loader, epoch: int, index: int, status: int
) -> feedline.Error:
    error = engine.error_of(epoch, index)
    if error is None:  # the first 1000 failures are remembered
        path = engine.dataset.path(index)
        error = of_status(status, "%s: could not be used" % path, path)
    return error


def _raised_by(
    dataset: feedline.Dataset, index: int
) -> Optional[BaseException]:
    """What data sets do with a sample raises this; None if nothing."""
    try:
        data = dataset.read(index)
        with warnings.catch_warnings():
            if not bombs_are_errors():
                warnings.simplefilter("ignore")
            try:
                from PIL import Image
            except ImportError:
                return None
            with Image.open(io.BytesIO(data)) as image:
                image.convert("RGB")
    except Exception as error:
        return error
    return None
