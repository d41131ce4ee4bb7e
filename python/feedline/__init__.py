# SPDX-License-Identifier: Apache-2.0
"""feedline: image loading for training that reports what it waits for.

    import feedline

    dataset = feedline.Dataset.open("folder:/data/train")
    loader = feedline.Loader(dataset, "train", batch_size=256, shuffle=True)
    for batch in loader:
        train(batch.images, batch.labels)
    print(loader.explain())

`feedline.torch.DataLoader` is torch's DataLoader on this engine. This package
needs neither numpy nor torch; importing it starts no thread and touches no GPU.
"""

from ._library import lib as _lib
from .batch import Batch, Tensor
from .dataset import Dataset
from .errors import DecodeError, DeviceError, Error, ForkError, InvalidArgument
from .errors import LayoutError, NotFound, NotSupported, OutOfMemory, RangeError
from .errors import ReadError, ReleasedError, StateError, Timeout, UnknownName
from .errors import UserError
from .loader import EpochInfo, Failure, Loader
from .log_lines import EngineWarning
from .machine import Device, devices, doctor, features, machine
from .options import Option, operations, option_table
from .pipeline import Pipeline
from .profiling import ProfilerAction, profile, schedule
from .profiling import tensorboard_trace_handler
from .progress_bar import Progress, progress
from .views import Verdict
from .watching import Watch, watch

__version__: str = _lib.version().decode()

__all__ = [
    "Batch",
    "Dataset",
    "DecodeError",
    "Device",
    "DeviceError",
    "EngineWarning",
    "EpochInfo",
    "Error",
    "Failure",
    "ForkError",
    "InvalidArgument",
    "LayoutError",
    "Loader",
    "NotFound",
    "NotSupported",
    "Option",
    "OutOfMemory",
    "Pipeline",
    "ProfilerAction",
    "Progress",
    "RangeError",
    "ReadError",
    "ReleasedError",
    "StateError",
    "Tensor",
    "Timeout",
    "UnknownName",
    "UserError",
    "Verdict",
    "Watch",
    "devices",
    "doctor",
    "features",
    "machine",
    "operations",
    "option_table",
    "profile",
    "progress",
    "schedule",
    "tensorboard_trace_handler",
    "watch",
]


def __dir__() -> "list[str]":
    """The public names, without the modules that they come from."""
    return sorted([*__all__, *(name for name in globals() if name[:2] == "__")])
