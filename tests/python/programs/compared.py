# SPDX-License-Identifier: Apache-2.0
"""Where two batches differ: types, dtypes, shapes, strings and every bit."""

from __future__ import annotations

import dataclasses
from typing import Any, Iterator, List, Optional, Tuple

import numpy as np
import torch
from PIL import Image

Parts = Iterator[Tuple[str, Any, Any]]


def difference(ours: Any, theirs: Any, where: str = "") -> Optional[str]:
    """The first difference, as a line of text; None if there is none."""
    if type(ours) is not type(theirs):
        return "%s: %s, not %s" % (
            where,
            type(ours).__name__,
            type(theirs).__name__,
        )
    about = _about(ours), _about(theirs)
    if about[0] != about[1]:
        return "%s: %s, not %s" % (where, about[0], about[1])
    if isinstance(ours, (torch.Tensor, np.ndarray)):
        return _of_values(ours, theirs, where)
    if isinstance(ours, Image.Image):
        return _of_values(np.asarray(ours), np.asarray(theirs), where)
    for name, a, b in _parts(ours, theirs):
        found = difference(a, b, where + name)
        if found:
            return found
    return None


def _about(found: Any) -> Any:
    """What must be equal beside the parts and the values."""
    if isinstance(found, torch.Tensor):
        return str(found.dtype), tuple(found.shape), str(found.device)
    if isinstance(found, np.ndarray):
        return str(found.dtype), found.shape
    if isinstance(found, Image.Image):
        return found.mode, found.size, found.getpalette()
    if isinstance(found, dict):
        return list(found)
    if isinstance(found, (list, tuple)):
        return len(found)
    if dataclasses.is_dataclass(found):
        return None
    return repr(found)


def _parts(ours: Any, theirs: Any) -> Parts:
    if isinstance(ours, dict):
        for key, value in ours.items():
            yield "[%r]" % (key,), value, theirs[key]
    elif isinstance(ours, (list, tuple)):
        for i, (a, b) in enumerate(zip(ours, theirs)):
            yield "[%d]" % i, a, b
    elif dataclasses.is_dataclass(ours):
        for one in dataclasses.fields(ours):
            a, b = getattr(ours, one.name), getattr(theirs, one.name)
            yield "." + one.name, a, b


def _of_values(ours: Any, theirs: Any, where: str) -> Optional[str]:
    a, b = _bytes(ours), _bytes(theirs)
    if np.array_equal(a, b):
        return None
    many = int(np.count_nonzero(a != b))
    return "%s: %d of %d bytes differ" % (where, many, a.size)


def _bytes(found: Any) -> Any:
    """All bits as uint8, so that NaN and the sign of zero count, too."""
    if isinstance(found, torch.Tensor):
        found = found.detach().as_subclass(torch.Tensor).contiguous()
        if found.dtype == torch.bfloat16:
            found = found.view(torch.int16)
        found = found.numpy()
    return np.frombuffer(np.ascontiguousarray(found).tobytes(), np.uint8)


def of_runs(ours: List[Any], theirs: List[Any]) -> Optional[str]:
    """The first difference of two lists of batches."""
    for number, (a, b) in enumerate(zip(ours, theirs)):
        found = difference(a, b)
        if found:
            return "batch %d%s" % (number, found)
    if len(ours) != len(theirs):
        return "%d batches, not %d" % (len(ours), len(theirs))
    return None
