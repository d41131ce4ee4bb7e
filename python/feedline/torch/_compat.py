# SPDX-License-Identifier: Apache-2.0
"""What this package uses of torch and torchvision that is not public.

Private names are imported nowhere else; each has its reason here. They are the
same in torch 1.13 to 2.15 unless it says otherwise, and test_torch_compat.py
finds those that a new version renames. (torch_ranges.py has two more, because
it must work before torch is imported.)

A DataLoader and its iterators are subclasses of torch's and so share private
attributes with them. Those of a loader are asked through the functions below;
those of iterators are listed in ITERATOR.
"""

from __future__ import annotations

import sys
import warnings
from typing import Any, Callable, Dict

import torch
import torch.utils.dlpack
from torch.utils.data import _utils
from torch.utils.data._utils import collate as _collate

# The iterators are torch's own to whoever asks with isinstance, and torch's run
# where the engine does not.
from torch.utils.data.dataloader import _BaseDataLoaderIter, _DatasetKind
from torch.utils.data.dataloader import _MultiProcessingDataLoaderIter
from torch.utils.data.dataloader import _SingleProcessDataLoaderIter

# Of torch's own, what others import from here.
__all__ = [
    "_BaseDataLoaderIter",
    "_MultiProcessingDataLoaderIter",
    "_SingleProcessDataLoaderIter",
]

# Loads what the engine cannot, and raises what torch would.
MapFetcher: Any = _utils.fetch._MapDatasetFetcher

# What get_worker_info() gives in a worker, and the numbers that numpy is seeded
# with there (torch 1.9).
WorkerInfo: Any = _utils.worker.WorkerInfo
numpy_seed: Callable[[int, int], Any] = _utils.worker._generate_state

# default_collate's of tensors, and the function that does all (torch 2.0).
collate_tensors: Any = getattr(_collate, "collate_tensor_fn", None)
collate_by: Any = getattr(_collate, "collate", None)

# How many tensors and others have a storage, by its address; None: it cannot be
# asked (before torch 2.1).
storage_users: Any = getattr(torch._C, "_storage_Use_Count", None)

# Pins whole batches, of any structure.
pin_memory: Callable[[Any, Any], Any] = _utils.pin_memory.pin_memory

# The public function makes the same of a capsule, after a few questions.
from_dlpack: Callable[[Any], torch.Tensor] = getattr(
    torch._C, "_from_dlpack", torch.utils.dlpack.from_dlpack
)

# Attributes and methods of torch's iterators that ours set, read or override.
ITERATOR = (
    "_base_seed",  # seeds random transforms; a resumed epoch has its own
    "_collate_fn",
    "_dataset",
    "_index_sampler",  # replaced by one that notes what is drawn
    "_next_data",  # makes the next batch
    "_num_workers",
    "_num_yielded",  # counted on from a saved state
    "_pin_memory",
    "_pin_memory_device",
    "_profile_name",  # of the range that profilers show
    "_reset",  # begins an epoch of a persistent iterator
    "_sampler_iter",
)
# And of those that have worker processes.
ITERATOR_OF_WORKERS = (
    "_prefetch_factor",
    "_try_put_index",  # pulls the next batch for them
)


def collates(loader: Any) -> bool:
    """Whether a DataLoader makes batches of samples: batch_size or
    batch_sampler is not None."""
    return bool(loader._auto_collation)


def index_sampler_of(loader: Any) -> Any:
    """The sampler whose items are what the fetcher gets: that of batches, if
    there are batches. Of a stream that runs natively: the order it was given.
    """
    order = _order_of(loader)
    return loader._index_sampler if order is None else order


def is_stream(loader: Any) -> bool:
    """Whether the data set is an IterableDataset, as torch decided, and does
    not run natively."""
    iterable = loader._dataset_kind == _DatasetKind.Iterable
    return bool(iterable) and _order_of(loader) is None


def _order_of(loader: Any) -> Any:
    mine = getattr(loader, "_feedline", None)
    return None if mine is None else mine.decision.order


def collate_functions() -> Dict[Any, Any]:
    """What default_collate does, by type; empty before torch 2.0."""
    return getattr(_collate, "default_collate_fn_map", {})


def returns_tv_tensors() -> bool:
    """Whether set_return_type("TVTensor") is in force (torchvision 0.16)."""
    helpers = sys.modules.get("torchvision.tv_tensors._torch_function_helpers")
    return bool(getattr(helpers, "_TORCHFUNCTION_SUBCLASS", False))


def voc_labels() -> Dict[str, int]:
    """What torchvision's wrapper of data sets makes of VOC's classes."""
    wrapper = sys.modules["torchvision.tv_tensors._dataset_wrapper"]
    return dict(getattr(wrapper, "VOC_DETECTION_CATEGORY_TO_IDX"))


def resizes_bytes(interpolation: str) -> bool:
    """torch resizes uint8 tensors without a detour through floats: since
    torchvision 0.16, and bilinear where the processor has AVX2."""
    try:
        from torchvision.transforms.v2.functional import _geometry as geometry

        decide = geometry._do_native_uint8_resize_on_cpu
    except (ImportError, AttributeError):
        return False
    return bool(decide(geometry.InterpolationMode(interpolation)))


def bombs_are_errors() -> bool:
    """Whether the program's filters make errors of Pillow's warnings about
    large images. Trying it out would make others appear once more."""
    image = sys.modules.get("PIL.Image")
    warning = getattr(image, "DecompressionBombWarning", None)
    if warning is None:
        return False
    for action, text, category, module, _ in warnings.filters:
        matches = text is None or text.match("Image size (")
        if issubclass(warning, category) and matches and module is None:
            return action == "error"
    return False


def batch_is_there(iterator: Any) -> bool:
    """Whether a worker of torch's iterator has made a batch that nobody has
    taken; False where this torch does not say."""
    try:
        first = iterator._task_info.get(iterator._rcvd_idx, ())
        return len(first) > 1 or not iterator._data_queue.empty()
    except (AttributeError, OSError, NotImplementedError):
        return False


def is_only_user(tensor: torch.Tensor) -> bool:
    """Whether no view, and nothing else, has the memory of a tensor. One that
    is a view itself keeps what it is of."""
    own = 1 if tensor._is_view() else 0
    return _users_of(tensor) - own <= _users_of(torch.empty(1))


def _users_of(tensor: torch.Tensor) -> int:
    storage: Any = tensor.untyped_storage()
    return int(storage_users(storage._cdata))
