# SPDX-License-Identifier: Apache-2.0
"""Reading a whole chain, with the readers of all libraries in place."""

from __future__ import annotations

from typing import Any, Optional

from . import chain_own, chain_timm, chain_v1, chain_v2
from .chain import Builder, Chain, Size
from .not_native import NotNative

# Their import registered the readers; more of them can be added here.
LIBRARIES = (chain_own, chain_timm, chain_v1, chain_v2)


def read_chain(transform: Any, channels: int, size: Optional[Size]) -> Chain:
    """What `transform` does to images of a data set.

    channels, size: as for Builder. Raises NotNative.
    """
    if transform is None:
        raise NotNative(
            "the data set has no transform, and torch cannot put Pillow images "
            "into a batch; give it transform=ToTensor() at least"
        )
    builder = Builder(channels, size)
    builder.read(transform, "")
    return builder.finish()
