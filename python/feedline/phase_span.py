# SPDX-License-Identifier: Apache-2.0
"""Phases: what the consumer does between two batches, by name.

    with loader.phase("forward"):
        loss = model(images)

They are in the statistics ("phases"), in the table and in traces, so the time
that is not the loader's is explained as well. A host clock is read; no device
is asked, so work that is queued on a GPU shows where the host waits for it.
"""

from __future__ import annotations

from typing import Callable, Optional
from types import TracebackType
from typing import Type


class Phase:
    """A span of the consumer's thread; begins at `with`, may be used again.

    begin and end raise as the library says: RangeError for a 33rd name or a
    9th level, InvalidArgument for a name above 31 bytes.
    """

    __slots__ = ("_begin", "_end")

    def __init__(
        self, begin: Callable[[], object], end: Callable[[], object]
    ) -> None:
        self._begin = begin
        self._end = end

    def __enter__(self) -> "Phase":
        self._begin()
        return self

    def __exit__(
        self,
        kind: Optional[Type[BaseException]],
        error: Optional[BaseException],
        trace: Optional[TracebackType],
    ) -> None:
        self._end()
