# SPDX-License-Identifier: Apache-2.0
"""A property that an attribute of the object may hide.

A property without a setter forbids its name to the objects of all subclasses,
and a DataLoader of the user's may well have an `engine`.
"""

from __future__ import annotations

from typing import Any, Callable, Generic, Optional, TypeVar

T = TypeVar("T")


class readable(Generic[T]):
    """Decorator of a method: read as an attribute, computed each time."""

    def __init__(self, compute: Callable[[Any], T]) -> None:
        self._compute = compute
        self.__doc__ = compute.__doc__

    def __get__(self, instance: Any, owner: Optional[type] = None) -> T:
        if instance is None:
            return self  # type: ignore[return-value]
        return self._compute(instance)
