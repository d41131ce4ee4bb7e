# SPDX-License-Identifier: Apache-2.0
"""torchvision's v2: the table where it looks up a function by the class of its
argument has the originals of functions that are replaced."""

from __future__ import annotations

from typing import Any

from torchvision.transforms.v2.functional import _utils

from .vision_hooks import pairs


def install() -> None:
    registry: Any = getattr(_utils, "_KERNEL_REGISTRY", {})
    for kernels in registry.values():
        for kind, kernel in list(kernels.items()):
            if id(kernel) in pairs:
                kernels[kind] = pairs[id(kernel)][1]
