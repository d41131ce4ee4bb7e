# SPDX-License-Identifier: Apache-2.0
"""feedline for PyTorch: change one import.

    from feedline.torch import DataLoader

DataLoader is torch's, using the engine wherever possible; `collated` makes a
collate_fn that keeps it native. ImageFolder, ImageList and Images are data sets
that decode whole batches even if a framework builds the loader. BlockSampler is
shuffle="block" where there are several ranks. profile is torch.profiler's,
with the loader's threads in its traces.
"""

from torch.utils.data.dataloader import default_collate, default_convert
from torch.utils.data.dataloader import get_worker_info

from .any_images import Images
from .block_sampler import BlockSampler
from .chain import NotNative
from .collated import collated
from .dataloader import DataLoader
from .decision import FallbackWarning
from .folders import ImageFolder, ImageList
from .native import Plan, plan
from .profiler import profile

__all__ = [
    "BlockSampler",
    "DataLoader",
    "FallbackWarning",
    "ImageFolder",
    "ImageList",
    "Images",
    "NotNative",
    "Plan",
    "collated",
    "default_collate",
    "default_convert",
    "get_worker_info",
    "plan",
    "profile",
]


def __dir__() -> "list[str]":
    """The public names, without the modules that they come from."""
    return sorted([*__all__, *(name for name in globals() if name[:2] == "__")])
