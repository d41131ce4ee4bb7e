# SPDX-License-Identifier: Apache-2.0
"""OpenCV's functions: those that read images, and those of deferred arrays.

Whatever is not recorded gets real arrays: for others OpenCV only raises errors,
which some programs take for those of damaged files.
"""

from __future__ import annotations

import sys
from types import BuiltinFunctionType, ModuleType
from typing import Any, Dict, Tuple

from .. import replaced
from .array import DeferredArray, real_arrays
from .opencv_files import imencode
from .opencv_functions import RECORDED
from .opencv_images import imdecode, imread
from .opencv_steps import Clahe
from .recording import state


def _create_clahe(original: Any) -> Any:
    def create(*args: Any, **kwargs: Any) -> Any:
        made = original(*args, **kwargs)
        return made if state.run is None else Clahe(made)

    return create


_OTHERS = {
    "createCLAHE": _create_clahe,
    "imdecode": imdecode,
    "imencode": imencode,
    "imread": imread,
}


def install() -> None:
    pairs: Dict[int, Tuple[Any, Any]] = {}
    for name, module in list(sys.modules.items()):
        inside = name == "cv2" or name.startswith("cv2.")
        if inside and isinstance(module, ModuleType):
            for key, value in list(vars(module).items()):
                if type(value) is BuiltinFunctionType and key[0] != "_":
                    made = _of_deferred(value, RECORDED.get(key))
                    if key in _OTHERS:
                        made = _OTHERS[key](made)
                    made = replaced.disguise(made, value, name, key)
                    pairs.setdefault(id(value), (value, made))
    replaced.replace(pairs)


def _of_deferred(original: Any, recorded: Any) -> Any:
    """recorded: None, or what records (the function, a deferred array, other
    arguments) and returns NotImplemented where it does not."""
    asked = "cv2." + original.__name__

    def function(*args: Any, **kwargs: Any) -> Any:
        if recorded and args and _is_deferred(args[0]):
            found = recorded(original, *args, **kwargs)
            if found is not NotImplemented:
                return found
        args = real_arrays(args, asked)
        if kwargs:
            kwargs = real_arrays(kwargs, asked)
        return original(*args, **kwargs)

    return function


def _is_deferred(thing: Any) -> bool:
    """An array, or a list of arrays."""
    kind = type(thing)
    if (kind is list or kind is tuple) and thing:
        kind = type(thing[0])
    return kind is DeferredArray
