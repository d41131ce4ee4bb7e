# SPDX-License-Identifier: Apache-2.0
"""OpenCV's functions get real arrays: for others they only raise errors, which
some programs take for those of damaged files."""

from __future__ import annotations

import sys
from types import BuiltinFunctionType, ModuleType
from typing import Any, Dict, Tuple

from .. import replaced
from .array import real_arrays


def install() -> None:
    pairs: Dict[int, Tuple[Any, Any]] = {}
    for name, module in list(sys.modules.items()):
        inside = name == "cv2" or name.startswith("cv2.")
        if inside and isinstance(module, ModuleType):
            for key, value in list(vars(module).items()):
                if type(value) is BuiltinFunctionType and key[0] != "_":
                    made = _given_real(value)
                    made = replaced.disguise(made, value, name, key)
                    pairs.setdefault(id(value), (value, made))
    replaced.replace(pairs)


def _given_real(original: Any) -> Any:
    asked = "cv2." + original.__name__

    def function(*args: Any, **kwargs: Any) -> Any:
        args = real_arrays(args, asked)
        if kwargs:
            kwargs = real_arrays(kwargs, asked)
        return original(*args, **kwargs)

    return function
