# SPDX-License-Identifier: Apache-2.0
"""How a batch reaches the program: as tensors of torch's.

    in host memory    tensors that share the batch's memory and hold it
    pinned, or on     tensors of torch's own, so their lifetime is a matter of
    a device          torch's allocator alone: work that is queued on a stream
                      still reads them when the program has dropped them

Pinned memory is lent to the engine, whose workers write into it, so nothing is
copied on the program's thread.

Which one is decided by where the batch is: the environment chooses a device,
too (FEEDLINE_DEVICE). `Finish` does for batches of torch's what an engine does
while it makes them.

Memory is allocated, and a stream is asked for, in one function each.
"""

from __future__ import annotations

from typing import Any, Callable, List, Optional, Sequence, Tuple

import torch

import feedline

from .. import _c
from ..batch import exported
from . import _compat
from .arguments import DTYPES, LAYOUTS, Given
from .arguments import device_name, dtype_name, layout_name
from .targets import changed

LABELS, TARGETS = _c.LABELS, _c.TARGETS  # beside the images
HOST = "cpu"

Tensors = List[torch.Tensor]
Take = Callable[[feedline.Batch], Tensors]
Empty = Callable[[Sequence[int], Sequence[int], torch.dtype], torch.Tensor]

# ---- Memory of torch's ------------------------------------------------------


def pinned_empty(
    shape: Sequence[int], strides: Sequence[int], dtype: torch.dtype
) -> torch.Tensor:
    """Of torch's allocator, which waits for copies from it by itself."""
    return torch.empty_strided(shape, strides, dtype=dtype, pin_memory=True)


def device_empty(
    shape: Sequence[int],
    strides: Sequence[int],
    dtype: torch.dtype,
    device: str,
) -> torch.Tensor:
    return torch.empty_strided(shape, strides, dtype=dtype, device=device)


def current_stream(device: str) -> int:
    """Torch's current stream on a device, as a cudaStream_t."""
    return int(torch.cuda.current_stream(device).cuda_stream)


# ---- Batches of the engine's ------------------------------------------------


def shared(batch: feedline.Batch) -> Tensors:
    """Tensors that share the batch's memory and hold it."""
    return shared_of(batch.handle)


def shared_of(handle: int, second: int = LABELS) -> Tensors:
    """Tensors that share the memory of a feedline_batch, delivered or not.

    second: what comes beside the images, LABELS or TARGETS.
    """
    made = [
        _compat.from_dlpack(exported(handle, _c.IMAGES)),
        _compat.from_dlpack(exported(handle, second)),
    ]
    assert not made[0].is_cuda, "nobody has waited for the batch's copy"
    return made


def shared_views(batch: feedline.Batch) -> List[Any]:
    """A tensor for each view of the samples, and labels; as `shared`."""
    handle, views = batch.handle, batch.views
    images = [
        _compat.from_dlpack(exported(handle, _c.VIEW + v)) for v in range(views)
    ]
    assert not images[0].is_cuda, "nobody has waited for the batch's copy"
    labels = _compat.from_dlpack(exported(handle, LABELS))
    return [images, labels[::views]]


def copied_views(
    batch: feedline.Batch, empty: Empty, stream: int = 0
) -> List[Any]:
    """Each view and the labels, copied to memory of torch's own."""
    parts = [batch.view(v) for v in range(batch.views)]
    dtype = getattr(torch, parts[0].dtype)
    sizes = [part.nbytes // part.itemsize for part in parts]
    flat = empty((sum(sizes),), (1,), dtype)
    labels = empty((len(batch),), (1,), torch.int64)
    batch.copy_to(flat.data_ptr(), labels.data_ptr(), stream)
    images = [
        piece.view(part.shape) for piece, part in zip(flat.split(sizes), parts)
    ]
    return [images, labels[:: len(parts)]]


def targets_of(batch: feedline.Batch, pin: bool) -> torch.Tensor:
    """Soft targets [N, classes]: on a device, or pinned, of torch's own."""
    if batch.device != HOST:
        batch.wait(current_stream(batch.device))
    made = _compat.from_dlpack(exported(batch.handle, TARGETS))
    if batch.device != HOST:
        return made.clone()
    if pin:
        return pinned_empty(made.shape, made.stride(), made.dtype).copy_(made)
    return made


def copied(batch: feedline.Batch, empty: Empty, stream: int = 0) -> Tensors:
    """Tensors of torch's own; on a device the copy is queued on `stream`."""
    images = batch.images
    dtype = getattr(torch, images.dtype)
    made = [
        empty(images.shape, images.strides, dtype),
        empty((len(images),), (1,), torch.int64),
    ]
    batch.copy_to(made[0].data_ptr(), made[1].data_ptr(), stream)
    return made


def _on_device(device: str) -> Tuple[Empty, int]:
    """How memory is had there, and the stream that the copy is queued on."""

    def empty(
        shape: Sequence[int], strides: Sequence[int], dtype: torch.dtype
    ) -> torch.Tensor:
        return device_empty(shape, strides, dtype, device)

    return empty, current_stream(device)


def to_device(batch: feedline.Batch) -> Tensors:
    return copied(batch, *_on_device(batch.device))


def views_to_device(batch: feedline.Batch) -> List[Any]:
    return copied_views(batch, *_on_device(batch.device))


def views_pinned(batch: feedline.Batch) -> List[Any]:
    return copied_views(batch, pinned_empty)


class PinnedMemory:
    """Pinned memory of torch's that one engine writes batches into.

    For each batch that may be begun there is memory ahead, and one in addition:
    next() begins another batch before it gets to lend. Where there is none, in
    a depth that has grown, the batch is in the engine's memory, is copied, and
    two are lent for it.
    """

    def __init__(self, engine: feedline.Loader) -> None:
        """The engine has begun an epoch, and nothing was appended."""
        self._engine = engine
        like = torch.empty(
            engine.epoch_info.shape,
            dtype=DTYPES[engine.config["dtype"]],
            device="meta",
        )
        # Numbers: to ask a tensor for them costs as much as to make one.
        self._full = len(like)
        self._bytes = like.numel() * like.element_size()
        self._like = (tuple(like.shape), like.stride(), like.dtype)
        self._lends = True
        self._lend(engine._depth() + 1)

    def _lend(self, batches: int) -> None:
        for _ in range(batches if self._lends else 0):
            images = pinned_empty(*self._like)
            try:
                self._engine._lend(images.data_ptr(), self._bytes, images)
            except feedline.NotSupported:  # batches are on a device
                self._lends = False
                break

    def tensors(self, batch: feedline.Batch) -> Tensors:
        """Images and labels."""
        info = batch.info
        images = self._engine._lent.pop(info.images.data, None)
        if images is None:
            self._lend(2)
            return copied(batch, pinned_empty)
        count = info.count
        labels = pinned_empty((count,), (1,), torch.int64)
        batch.copy_to(labels=labels.data_ptr())
        self._lend(1)
        return [images if count == self._full else images[:count], labels]


class Into:
    """Tensors of the program's that every batch is written into: an epoch of
    `DataLoader.into`.

    A batch of the engine's is written there by the engine, if they have its
    type, order and device; torch copies any other.
    """

    def __init__(self, images: torch.Tensor, labels: torch.Tensor) -> None:
        self.images = images
        self.labels = labels

    def instead_of(self, take: Take, nhwc: bool) -> Take:
        """Takes a batch in this way where possible. nhwc: images are taken as
        [N, H, W, C]."""

        def taken(batch: feedline.Batch) -> Tensors:
            made = self._begin(len(batch))
            if nhwc:
                made[0] = made[0].permute(0, 2, 3, 1)
            parts = batch.images, batch.labels
            if not all(map(is_alike, made, parts)):
                return take(batch)
            on_gpu = batch.device != HOST
            stream = current_stream(batch.device) if on_gpu else 0
            batch.copy_to(made[0].data_ptr(), made[1].data_ptr(), stream)
            return made

        return taken

    def _begin(self, count: int) -> Tensors:
        return [self.images[:count], self.labels[:count]]

    def filled(self, data: Any) -> Tensors:
        """The tensors, or the beginning of them, with this batch in them.

        ValueError: it does not fit. TypeError: it is no images and labels.
        """
        pair = isinstance(data, (list, tuple)) and len(data) == 2
        if not pair or not all(hasattr(part, "shape") for part in data):
            raise TypeError("into() is for batches of images and labels")
        made = self._begin(len(data[0]))
        for to, part in zip(made, data):
            if to.shape != part.shape:
                raise ValueError(
                    "a batch with %s does not fit into the tensors of into(), "
                    "which have %s" % (list(part.shape), list(to.shape))
                )
            if to.data_ptr() != part.data_ptr():
                to.copy_(part, non_blocking=True)
        return made


def is_alike(made: torch.Tensor, part: feedline.Tensor) -> bool:
    """Whether bytes of the one are bytes of the other."""
    return (
        tuple(made.shape) == part.shape
        and made.stride() == part.strides
        and made.dtype == getattr(torch, part.dtype)
        and str(made.device) == part.device
    )


# ---- Batches of torch's -----------------------------------------------------


def check_dtype(wanted: Optional[str], made: Optional[str]) -> None:
    """Numbers may be rounded to another type, and not change their meaning."""
    floats = {"f16", "bf16", "f32"}
    made = made or "f32"
    if wanted is None or wanted == made or {wanted, made} <= floats:
        return
    raise ValueError(
        "the transforms make %s images, so dtype may be %s, but got dtype=%s"
        % (made, "f16, bf16 or f32" if made in floats else made, wanted)
    )


_NAMES = {dtype: name for name, dtype in DTYPES.items()}


class Finish:
    """What is done to a batch of torch's before it is returned.

    Images are the tensors of four axes; dtype and layout are about them.
    """

    def __init__(self, given: Given) -> None:
        self.device: Optional[str] = device_name(given.device)
        if self.device == "host":
            self.device = None  # it is there already
        self.dtype = dtype_name(given.dtype)
        layout = layout_name(given.layout)
        self.layout = None if layout is None else LAYOUTS[layout]

    def __bool__(self) -> bool:
        return any((self.device, self.dtype, self.layout))

    def __call__(self, data: Any) -> Any:
        return changed(data, self.tensor)

    def tensor(self, data: torch.Tensor) -> torch.Tensor:
        """The device comes first: what torch pinned is copied as it is, and
        the device does the rest."""
        is_images = data.dim() == 4
        if is_images and self.dtype is not None:
            check_dtype(self.dtype, _NAMES.get(data.dtype))
        if self.device is not None:
            data = data.to(self.device, non_blocking=True)
        if is_images and self.dtype is not None:
            data = data.to(DTYPES[self.dtype])
        if is_images and self.layout is not None:
            data = data.contiguous(memory_format=self.layout)
        return data
