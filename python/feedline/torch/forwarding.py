# SPDX-License-Identifier: Apache-2.0
"""Classes of a training script that only pass an image on to a transform.

torchvision's reference scripts keep their chains in classes of their own:

    class ClassificationPresetTrain:
        def __init__(self, ...):
            self.transforms = Compose(...)
        def __call__(self, img):
            return self.transforms(img)

What such a __call__ does is known if its code is exactly that: it is compared
with the compiled form of this one line, name of the attribute aside.
"""

from __future__ import annotations

import inspect
from types import FunctionType
from typing import Any, Optional

# *args, **kwargs, generators and coroutines.
_OTHER_CALLS = (
    inspect.CO_VARARGS
    | inspect.CO_VARKEYWORDS
    | inspect.CO_GENERATOR
    | inspect.CO_COROUTINE
    | inspect.CO_ASYNC_GENERATOR
)


def _template(self: Any, image: Any) -> Any:
    return self.transforms(image)


def forwarded_to(cls: type) -> Optional[str]:
    """The attribute that instances of `cls` pass an image on to, or None."""
    for base in cls.__mro__:
        if "__call__" in base.__dict__:
            return _passes_to(base.__dict__["__call__"])
    return None


def _passes_to(function: Any) -> Optional[str]:
    if not isinstance(function, FunctionType) or function.__defaults__:
        return None
    code, wanted = function.__code__, _template.__code__
    if (
        code.co_code == wanted.co_code
        and not code.co_flags & _OTHER_CALLS
        and code.co_argcount == wanted.co_argcount
        and code.co_kwonlyargcount == 0
        and code.co_nlocals == wanted.co_nlocals
        and len(code.co_names) == 1
    ):
        return code.co_names[0]
    return None
