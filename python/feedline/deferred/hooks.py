# SPDX-License-Identifier: Apache-2.0
"""Puts the hooks in place: once per library, when it has been loaded."""

from __future__ import annotations

import importlib
import os
import sys
import threading
from typing import Dict

# A library's module, and ours with an install(). In this order.
_HOOKS = {
    "PIL.Image": "pillow_hooks",
    "torchvision.transforms.functional": "vision_hooks",
    "torchvision.transforms.v2.functional": "vision2_hooks",
    "torchvision.io.image": "io_hooks",
    "torchvision.transforms.transforms": "chained",
    "torchvision.transforms.v2._container": "chained",
    "torchvision.transforms._presets": "chained",
    "numpy": "array_hooks",
    "torch": "array_torch_hooks",
    "cv2": "opencv_hooks",
    "albucore.functions": "albucore_hooks",
    "albumentations": "albumentations_hooks",
}
# What those need to be loaded, too.
_NEEDS = {
    "numpy": "PIL.Image",
    "torch": "numpy",
    "cv2": "PIL.Image",
    "albucore.functions": "PIL.Image",
    "albumentations": "cv2",
}
_waiting: Dict[str, str] = dict(_HOOKS)
_lock = threading.Lock()


def _new_lock() -> None:
    global _lock
    _lock = threading.Lock()


os.register_at_fork(after_in_child=_new_lock)


def install() -> None:
    """Any thread; at each run, as a program may load libraries later."""
    modules = sys.modules
    for name in _waiting:
        if name in modules and _NEEDS.get(name, name) in modules:
            _install()
            return


def _install() -> None:
    with _lock:
        for name, ours in list(_waiting.items()):
            spec = getattr(sys.modules.get(name), "__spec__", None)
            if spec is None or getattr(spec, "_initializing", False):
                continue
            if _NEEDS.get(name, name) not in sys.modules:
                continue
            importlib.import_module("." + ours, __package__).install()
            remaining = {k: v for k, v in _waiting.items() if k != name}
            globals()["_waiting"] = remaining
