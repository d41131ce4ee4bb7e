# SPDX-License-Identifier: Apache-2.0
"""Readers of feedline's own transforms, for functions in Python.

Whether such a function draws cannot be seen, so it is taken to: a sample that
comes again is drawn for again.
"""
from __future__ import annotations

from typing import Any

from .chain import Builder, reads


@reads("feedline", "Python", "fn name thread_safe")
def python(b: Builder, t: Any) -> None:
    b.need_image()
    b.draws()
    b.add("python", fn=t.fn, name=t.name, thread_safe=t.thread_safe)


@reads("feedline", "PIL", "transform name thread_safe")
def pil(b: Builder, t: Any) -> None:
    b.need_image()
    b.draws()
    b.add("python", fn=t.of_pixels, name=t.name, thread_safe=t.thread_safe)
