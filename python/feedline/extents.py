# SPDX-License-Identifier: Apache-2.0
"""Where samples lie in files, as feedline_dataset_open_extents takes it."""

from __future__ import annotations

import ctypes
from array import array
from typing import Any, List, Optional, Sequence

from . import _c
from ._library import lib
from .errors import InvalidArgument
from .vectors import Names, labels_for, numbers

TO_END = 0xFFFFFFFF  # FEEDLINE_TO_END
_WORDS = 4  # of 32 bits in a struct feedline_extent


class Extents:
    """A table: 24 bytes for each sample and its label. Pickled as it is."""

    def __init__(
        self,
        files: Sequence[Any],
        file: Any,
        offset: Any,
        length: Any,
        labels: Any,
        names: Optional[Sequence[Any]],
        classes: Optional[Sequence[str]],
    ) -> None:
        columns = {
            "file": numbers("I", file, "file numbers"),
            "offset": numbers("Q", offset, "offsets"),
            "length": numbers("I", length, "lengths"),
        }
        counts = {name: len(column) for name, column in columns.items()}
        if names is not None:
            counts["names"] = len(names)
        if len(set(counts.values())) > 1:
            said = ", ".join("%d %s" % (n, name) for name, n in counts.items())
            raise InvalidArgument("not one extent for each sample: " + said)
        self.count = counts["file"]
        # struct feedline_extent, whichever half of a number comes first.
        offsets = array("I", columns["offset"].tobytes())
        self.words = array("I", bytes(4 * _WORDS * self.count))
        self.words[0::_WORDS] = offsets[0::2]
        self.words[1::_WORDS] = offsets[1::2]
        self.words[2::_WORDS] = columns["file"]
        self.words[3::_WORDS] = columns["length"]
        self.labels = labels
        if labels is not None:
            self.labels = numbers("q", labels, "labels")
        self.files: List[Any] = list(files)
        self.names = None if names is None else list(names)
        self.classes = classes

    def open(self, out: Any) -> int:
        """Calls the library."""
        files = Names(self.files, "files")
        names = Names(self.names, "names")
        classes = Names(self.classes, "classes")
        first, _ = self.words.buffer_info()
        table = _c.extents(
            n_files=len(files),
            files=files.each,
            extents=first,
            labels=labels_for(self.labels, self.count),
            names=names.each,
            count=self.count,
            classes=classes.each,
            n_classes=len(classes),
        )
        return int(lib.dataset_open_extents(ctypes.byref(table), out))
