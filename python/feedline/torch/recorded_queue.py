# SPDX-License-Identifier: Apache-2.0
"""Batches on their way: appended, recorded on the reading thread, taken."""

from __future__ import annotations

from collections import deque
from typing import Any, Deque, Dict, Generic, List, Optional, Tuple, TypeVar

B = TypeVar("B")


class BatchQueue(Generic[B]):
    """Of one run. The engine asks for samples in the order of the batches, with
    tickets that count on from the run's first one."""

    def __init__(self) -> None:
        self._batches: Dict[int, B] = {}
        self._waiting: Deque[B] = deque()
        self._appended = 0
        self._first: Optional[int] = None

    def append(self, batch: B) -> None:
        """Before the engine is told."""
        self._waiting.append(batch)
        self._batches[self._appended] = batch
        self._appended += 1

    def take(self) -> B:
        """The oldest batch, which the engine has delivered."""
        return self._waiting.popleft()

    def waiting(self) -> List[B]:
        """That were appended and not taken."""
        return list(self._waiting)

    def asked(self, call: Any) -> Tuple[int, B]:
        """The number and batch of a sample that the engine asks for."""
        if self._first is None:
            self._first = call.ticket
        number = call.ticket - self._first
        return number, self._batches[number]

    def recorded(self, number: int) -> None:
        """The batch's last sample was asked for."""
        del self._batches[number]
