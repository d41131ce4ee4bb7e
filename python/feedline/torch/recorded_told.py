# SPDX-License-Identifier: Apache-2.0
"""What the engine is told of the samples of a batch.

The engine asks for the first one, and is told of all behind it in the same
call: whatever Python does between two samples of the engine's is in no cache
any more by then, and takes several times as long as in a row.
"""

from __future__ import annotations

from ctypes import c_uint32
from itertools import accumulate
from typing import Any, Dict, List

from .._library import lib
from ..deferred.packing import IMAGE, pack

_read = lib.quick.read_recorded
_read_ahead = lib.quick.read_recorded_ahead


class Told:
    """By place; the engine's memory of the images has to stay, and bytes that
    they are of.

    memory: has their structs, at that address. counts: images of each sample.
    errors: what samples raised.
    """

    def __init__(
        self,
        memory: bytearray,
        address: int,
        counts: List[int],
        errors: Dict[int, BaseException],
    ) -> None:
        self._memory = memory
        self._firsts = [
            address + IMAGE.size * n for n in accumulate(counts, initial=0)
        ]
        self._counts = counts
        self._errors = errors
        self.done = 0  # places, the first ones

    def tell(self, call: int, place: int) -> int:
        """A sample's status. Of those behind it nothing is asked any more as
        far as `done` says. Raises what the sample did."""
        self.done = place + 1
        if place in self._errors:
            raise self._errors[place]
        status = int(_read(call, self._firsts[place], self._counts[place]))
        end = self._end_of_good(place + 1)
        ahead = end - self.done
        if status == 0 and ahead > 0:
            counts = (c_uint32 * ahead)(*self._counts[self.done : end])
            if _read_ahead(call, self._firsts[self.done], counts, ahead) == 0:
                self.done = end
        return status

    def _end_of_good(self, begin: int) -> int:
        """Of places from there on without an error."""
        return min(
            (place for place in self._errors if place >= begin),
            default=len(self._counts),
        )


def told_of(recorded: Dict[int, Any], count: int) -> Told:
    """recorded: by place, leaves and addresses, or what the sample raised; it
    has no images where nothing is said of it."""
    errors = {
        place: one
        for place, one in recorded.items()
        if isinstance(one, BaseException)
    }
    try:
        return _packed(recorded, count, errors)
    except Exception:
        for place, one in recorded.items():
            try:
                if place not in errors:
                    pack(*one)
            except Exception as error:
                errors[place] = error
        return _packed(recorded, count, errors)


def _packed(
    recorded: Dict[int, Any], count: int, errors: Dict[int, BaseException]
) -> Told:
    every: List[Any] = []
    every_out: List[int] = []
    counts = [0] * count
    for place in range(count):
        if place in recorded and place not in errors:
            leaves, outs = recorded[place]
            counts[place] = len(leaves)
            every += leaves
            every_out += outs
    memory, address = pack(every, every_out)
    return Told(memory, address, counts, errors)
