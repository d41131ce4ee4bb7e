# SPDX-License-Identifier: Apache-2.0
"""Ranges in torch.profiler: "feedline::next", "feedline::wait", ...

While a profiler of torch's is active, what a loader does on the consumer's
thread shows in its trace beside the operators. Without one it costs a look at
one flag per batch, and torch is never imported for it: a program that has not
imported torch has no profiler of torch's either.

    if torch_ranges.active():               # a hot path has its plain way too
        with torch_ranges.span(torch_ranges.NEXT):
            ...

next() looks at the flag itself: `flags[FLAG] and active()`.
"""

from __future__ import annotations

import sys
from contextlib import nullcontext
from typing import Any, Callable, ContextManager, Dict, Optional

NEXT = "feedline::next"
WAIT = "feedline::wait"
HAND_OVER = "feedline::hand_over"

# torch 2 has it "for fast python checks", and from when it was found `flags` is
# torch's own: False says that no thread has a profiler.
FLAG = "_is_profiler_enabled"
flags: Dict[str, Any] = {FLAG: True}

_NOTHING = nullcontext()
_modules = sys.modules


def ask_torch() -> Optional[Callable[[], bool]]:
    """torch's own "is a profiler active"; None before torch is imported."""
    torch = _modules.get("torch")
    autograd = getattr(getattr(torch, "_C", None), "_autograd", None)
    enabled = getattr(autograd, "_profiler_enabled", None)
    profiler = _modules.get("torch.autograd.profiler")
    theirs = getattr(profiler, "__dict__", {})
    if enabled is None or FLAG not in theirs:
        return enabled
    globals()["flags"] = theirs

    # The flag is of the whole process, the question is about this thread. On
    # cold caches a look at the flag is some 20 us less than asking torch.
    def ask() -> bool:
        return bool(theirs[FLAG] and enabled())

    return ask


def active() -> bool:
    """Whether a profiler of torch's is active on this thread now."""
    if "torch" not in _modules:
        return False
    found = ask_torch()
    if found is None:
        return False
    globals()["active"] = found  # from here on there is nothing to look up
    return found()


def span(name: str) -> ContextManager[Any]:
    """A range of that name, where a profiler is active."""
    if not active():
        return _NOTHING
    torch: Any = sys.modules["torch"]
    made: ContextManager[Any] = torch.autograd.profiler.record_function(name)
    return made
