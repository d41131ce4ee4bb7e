# SPDX-License-Identifier: Apache-2.0
"""torch's own iterators, for what the engine cannot do.

They do what torch's do, because they are. Added is only what this DataLoader
promises for every data set: their state can be saved and taken up again without
loading what was delivered, and `device`, `dtype` and `layout` are honoured.
"""

from __future__ import annotations

from typing import Any, Callable, List, Optional, Union

import torch
from torch.utils.data.dataloader import (
    _MultiProcessingDataLoaderIter,
    _SingleProcessDataLoaderIter,
)

from ..meter import Meter, samples_of
from .arguments import DTYPES, LAYOUTS, device_name, dtype_name, layout_name
from .iteration import CountedIterator, check_dtype
from .state_dict import Progress

_NAMES = {dtype: name for name, dtype in DTYPES.items()}


class Finish:
    """What is done to a batch of torch's before it is returned.

    Images are the tensors of four axes; dtype and layout are about them.
    """

    def __init__(self, loader: Any) -> None:
        given = loader._feedline.given
        self.device: Optional[str] = device_name(given.device)
        if self.device == "host":
            self.device = None  # it is there already
        self.dtype = dtype_name(given.dtype)
        layout = layout_name(given.layout)
        self.layout = None if layout is None else LAYOUTS[layout]

    def __bool__(self) -> bool:
        return any((self.device, self.dtype, self.layout))

    def __call__(self, data: Any) -> Any:
        if isinstance(data, torch.Tensor):
            return self.tensor(data)
        if isinstance(data, (str, bytes)):
            return data
        if isinstance(data, dict):
            return {key: self(value) for key, value in data.items()}
        if isinstance(data, tuple) and hasattr(data, "_fields"):
            return type(data)(*(self(value) for value in data))
        if isinstance(data, (list, tuple)):
            return type(data)(self(value) for value in data)
        return data

    def tensor(self, data: torch.Tensor) -> torch.Tensor:
        if data.dim() == 4 and self.dtype is not None:
            check_dtype(self.dtype, _NAMES.get(data.dtype))
            data = data.to(DTYPES[self.dtype])
        if data.dim() == 4 and self.layout is not None:
            data = data.contiguous(memory_format=self.layout)
        if self.device is not None:
            data = data.to(self.device, non_blocking=True)
        return data


class MeteredIterator(CountedIterator):
    """Its waits are counted, as an engine's would be."""

    _meter: Meter

    def __next__(self) -> Any:
        return self._meter.call(super().__next__, samples_of)


class SingleProcessIterator(MeteredIterator, _SingleProcessDataLoaderIter):
    """torch's with num_workers=0."""

    def __init__(
        self, loader: Any, progress: Progress, saved_seed: Optional[int] = None
    ) -> None:
        self._progress = progress
        self._saved_seed = saved_seed
        self._finish = Finish(loader)
        super().__init__(loader)
        self._profile_name = _profile_name(_SingleProcessDataLoaderIter)
        progress.fetcher = self._dataset_fetcher

    def _next_data(self) -> Any:
        try:
            data = super()._next_data()  # type: ignore[no-untyped-call]
        finally:
            self._delivered()
        return self._finish(data) if self._finish else data


class MultiProcessIterator(MeteredIterator, _MultiProcessingDataLoaderIter):
    """torch's with worker processes."""

    def __init__(
        self, loader: Any, progress: Progress, saved_seed: Optional[int] = None
    ) -> None:
        self._progress = progress
        self._saved_seed = saved_seed
        self._finish = Finish(loader)
        super().__init__(loader)
        self._profile_name = _profile_name(_MultiProcessingDataLoaderIter)

    def _process_data(self, data: Any, *more: Any) -> Any:
        # torch pulls the next index in there, and raises what a worker raised.
        self._delivered()
        data = super()._process_data(  # type: ignore[no-untyped-call]
            data, *more
        )
        return self._finish(data) if self._finish else data


def _profile_name(theirs: type) -> str:
    """torch's own, which tools look for in a profile."""
    return "enumerate(DataLoader)#%s.__next__" % theirs.__name__


TorchIterator = Union[SingleProcessIterator, MultiProcessIterator]


def make(
    loader: Any,
    progress: Progress,
    meter: Meter,
    saved_seed: Optional[int] = None,
) -> TorchIterator:
    """The iterator that torch would make for this loader."""
    kind: Callable[..., TorchIterator] = MultiProcessIterator
    if loader.num_workers == 0:
        kind = SingleProcessIterator
    made = meter.nothing(lambda: kind(loader, progress, saved_seed))
    made._meter = meter
    return made


__all__: List[str] = ["Finish", "TorchIterator", "make"]
