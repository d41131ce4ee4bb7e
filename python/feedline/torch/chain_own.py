# SPDX-License-Identifier: Apache-2.0
"""Reader of feedline's own transform for functions in Python."""
from __future__ import annotations

from typing import Any

from .chain import Builder, reads


@reads("feedline", "Python", "fn name thread_safe")
def python(b: Builder, t: Any) -> None:
    b.need_image()
    if t.random:
        b.draws()
    b.add("python", fn=t.fn, name=t.name, thread_safe=t.thread_safe)
