# SPDX-License-Identifier: Apache-2.0
"""What a `for` over a Loader gets its batches from.

A loader is one stream, so one iterator at a time has it: the one that was made
last. An older one says so when it is asked again, and is never given batches of
an epoch that is not its own. Threads may share an iterator; each batch goes to
one of them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Iterator, NoReturn, Optional

from . import log_lines
from .batch import Batch
from .errors import StateError

if TYPE_CHECKING:
    from .engine import Loader


class EpochIterator(Iterator[Batch]):
    """The batches of one epoch; in the given order those until end()."""

    __slots__ = ("_loader", "_turn")

    def __init__(self, loader: "Loader", turn: int) -> None:
        self._loader: Optional[Loader] = loader
        self._turn = turn

    def __next__(self) -> Batch:
        loader = self._loader
        if loader is None:
            raise StopIteration
        with loader._turns:
            if self._turn != loader._turn:
                raise StateError(
                    "a loader is one stream of batches, and a newer iterator "
                    "has it; two at a time take two loaders"
                )
            if self._loader is None:  # another thread came to the end
                raise StopIteration
            batch = loader.next()
            if batch is not None:
                loader._midway = True
                return batch
            loader._midway = False
            self._loader = None
        log_lines.tell()
        raise StopIteration

    def __reduce__(self) -> NoReturn:
        raise TypeError(
            "cannot pickle 'EpochIterator': pickle its loader, which goes as "
            "its configuration, and loader.save() for where it stands"
        )

    def __copy__(self) -> Any:
        return self.__reduce__()
