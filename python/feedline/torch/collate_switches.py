# SPDX-License-Identifier: Apache-2.0
"""Switches of a whole program that change what default_collate makes of images
and labels: then torch makes the batches.

Where nobody touched them, a batch of images is a plain tensor, also of those
that v2's transforms make, and so is one of int labels.
"""

from __future__ import annotations

import sys
from typing import Any, Dict, Optional

import torch
from torch.utils.data._utils import collate


def _functions() -> Dict[Any, Any]:
    """By type; not in all versions of torch."""
    return getattr(collate, "default_collate_fn_map", {})


_usual = dict(_functions())


def reason_in_switches() -> Optional[str]:
    """Which of them is another than usual; None: none is."""
    for kind, function in _functions().items():
        mine = isinstance(kind, type) and issubclass(kind, (torch.Tensor, int))
        if mine and _usual.get(kind) is not function:
            return "default_collate_fn_map has %s, which is not torch's" % (
                kind.__name__
            )
    helpers = sys.modules.get("torchvision.tv_tensors._torch_function_helpers")
    if getattr(helpers, "_TORCHFUNCTION_SUBCLASS", False):
        return 'tv_tensors.set_return_type("TVTensor") is in force'
    return None
