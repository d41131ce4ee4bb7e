# SPDX-License-Identifier: Apache-2.0
"""A file that ends early, at many places: what becomes of those who read it.

They are in a process of their own, as what is mapped and ends too soon kills.
"""

from __future__ import annotations

import os
import random
from pathlib import Path
from typing import Any, Callable

import feedline
import forks
import streams

CUTS = 50
Cut = Callable[[], None]


def check(file: Path, use: Callable[[Cut], Any]) -> None:
    """use(cut) makes a data set and calls cut() once, where it wants to; None:
    others refused the file. It fails with an error that names the file, or what
    is missing is skipped and counted."""
    whole = file.read_bytes()
    place = file.with_suffix(".cut")
    status = forks.run(lambda: _read_all(file, place, use))
    file.write_bytes(whole)
    assert status == 0, "cut at %s: status %d" % (place.read_text(), status)


def _read_all(file: Path, place: Path, use: Any) -> None:
    whole = file.read_bytes()
    draw = random.Random(17)
    for length in [0, *(draw.randrange(len(whole)) for _ in range(CUTS - 1))]:
        place.write_text(str(length))
        _read(file, length, use)
        file.unlink()  # what is mapped of it stays cut
        file.write_bytes(whole)


def _read(file: Path, length: int, use: Any) -> None:
    try:
        dataset = use(lambda: os.truncate(file, length))
        if dataset is None:
            return
        count = len(dataset)
        each = [dataset._sample(i) for i in range(count)]
        with streams.loader_of(dataset, workers=1, on_error="skip") as loader:
            read = sum(batch.count for batch in loader)
            failed = {failure.sample_index for failure in loader.failures()}
    except feedline.Error as error:
        assert str(file) in str(error), error
    else:
        gone = {i for i in range(count) if _end_of(each[i]) > length}
        assert read == count and failed == gone


def _end_of(info: Any) -> int:
    return int(info.offset + info.bytes)
