# SPDX-License-Identifier: Apache-2.0
"""albucore's function that reads the memory of an array by itself.

What else albucore and albumentations do to arrays are calls of NumPy's and
OpenCV's functions.
"""

from __future__ import annotations

import sys
from typing import Any, Dict, Tuple

import numpy as np

from .. import replaced
from .array import DeferredArray, real_array, recorded_array
from .array_functions import elementwise, written
from .pillow_hooks import put


def install() -> None:
    pairs: Dict[int, Tuple[Any, Any]] = {}
    put(pairs, sys.modules["albucore.functions"], "sz_lut", _sz_lut)
    replaced.replace(pairs)


def _sz_lut(original: Any) -> Any:
    def sz_lut(img: Any, lut: Any, inplace: bool = True) -> Any:
        if type(img) is not DeferredArray:
            return original(img, lut, inplace)
        record = recorded_array(img)
        found: Any = NotImplemented
        if record is not None and record.dtype == np.uint8 and _is_table(lut):
            table = lut.flatten()
            if inplace:
                found = written(lambda a: table.take(a, out=a), (img,))
            else:
                found = elementwise(lambda a: table.take(a), (img,))
        if found is NotImplemented:
            return original(real_array(img, "sz_lut"), lut, inplace)
        return found

    return sz_lut


def _is_table(lut: Any) -> bool:
    return (
        type(lut) is np.ndarray
        and lut.dtype == np.uint8
        and lut.shape in ((256,), (1, 256))
    )
