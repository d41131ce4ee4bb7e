# SPDX-License-Identifier: Apache-2.0
"""An engine for a plan, where it has to fit into memory.

torch takes the memory that num_workers x prefetch_factor batches need, however
much it is; an engine has a budget, a tenth of the machine's by default, and
refuses a depth beyond it. A DataLoader that works with torch works here too:
the depth is a wish, which changes when batches come and never what is in them,
and where nobody gave a budget it grows to what a few batches need.
"""

from __future__ import annotations

import math
import os
from typing import Any, Dict, Mapping

import torch

import feedline

from .arguments import AUTO, DTYPES
from .native import Plan

# One that is made, one that is ready, and two that the program has: its own
# and the one before it.
BATCHES_AT_LEAST = 4
LABEL_BYTES = 8
PADDING_BYTES = 65536  # what a slot has beside its images


def fitting_engine(plan: Plan, options: Mapping[str, Any]) -> feedline.Loader:
    """An engine with these options; with less depth where memory asks for it.

    Raises what feedline.Loader raises, RangeError if a budget that was given
    has no room for a few batches.
    """
    wanted: Dict[str, Any] = dict(options)
    error = None
    for smaller in ({}, {"depth": AUTO}, _with_room(plan, options)):
        wanted.update(smaller)
        try:
            return feedline.Loader(plan.dataset, plan.pipeline, **wanted)
        except feedline.RangeError as refused:
            if "memory_budget" not in str(refused):
                raise
            error = error or refused
    assert error is not None
    raise error


def _with_room(plan: Plan, options: Mapping[str, Any]) -> Dict[str, Any]:
    """A budget for the fewest batches, where none was given."""
    if "memory_budget" in options or "FEEDLINE_MEMORY_BUDGET" in os.environ:
        return {}
    element = torch.empty((), dtype=DTYPES[options.get("dtype") or "f32"])
    sample = math.prod(plan.shape) * element.element_size()
    batch = (sample + LABEL_BYTES) * options["batch_size"] + PADDING_BYTES
    return {"depth": 1, "memory_budget": BATCHES_AT_LEAST * batch}
