# SPDX-License-Identifier: Apache-2.0
"""A deferred image of numbers, "F" or "I": what a table makes of a gray one.

    Image.fromarray(classes.astype(np.float32)).resize(size, Image.NEAREST)

What moves whole pixels is recorded of the gray image; anything else makes it
real.
"""

from __future__ import annotations

from typing import Any, Tuple

import numpy as np
from PIL import Image

from . import pillow_steps
from .array import DeferredArray, array_of, recorded_array
from .image import DeferredImage, records, touch
from .record import Call

MODES = {np.dtype(np.float32): "F", np.dtype(np.int32): "I"}


def table_image(gray: Any, table: Any) -> Any:
    """gray: a deferred image "L"; table: an array [1, 256]."""
    made: Any = object.__new__(TableImage)
    made.__dict__.update(gray.__dict__)
    made._mode, made._base_info = MODES[table.dtype], {}
    made._gray, made._table = gray, table
    return made


class TableImage(DeferredImage):
    _gray: Any
    _table: Any

    def getbands(self) -> Tuple[str, ...]:
        return (self._mode,)

    def _make_real(self) -> None:
        real = pillow_steps.image_of(self._source, self._steps)
        for name in ("_gray", "_table"):
            table = self.__dict__.pop(name)
        self._become(Image.fromarray(table[0][np.asarray(real)]))

    @property
    def _feedline_deferred(self) -> Any:
        touch(self, "kept")
        return None

    def _moved(self, name: str, *args: Any) -> Any:
        """None: it is for Pillow."""
        if not isinstance(self, TableImage) or not records(self._gray):
            return None
        made = getattr(self._gray, name)(*args)
        if not records(made):
            return None
        return table_image(made, self._table)

    def copy(self) -> Any:
        found = self._moved("copy")
        if found is None:
            touch(self, "copy")
            return self.copy()
        return found

    __copy__ = copy

    def resize(
        self,
        size: Any,
        resample: Any = None,
        box: Any = None,
        reducing_gap: Any = None,
    ) -> Any:
        if resample is not None and resample == 0 and box is None:
            if reducing_gap is None:
                found = self._moved("resize", size, 0)
                if found is not None:
                    return found
        touch(self, "resize")
        return self.resize(size, resample, box, reducing_gap)

    def crop(self, box: Any = None) -> Any:
        if isinstance(box, tuple) and len(box) == 4:
            w, h = self._size
            x0, y0, x1, y1 = box
            if 0 <= x0 < x1 <= w and 0 <= y0 < y1 <= h:
                found = self._moved("crop", box)
                if found is not None:
                    return found
        touch(self, "crop")
        return self.crop(box)

    def transpose(self, method: Any) -> Any:
        found = self._moved("transpose", method)
        if found is None:
            touch(self, "transpose")
            return self.transpose(method)
        return found


def array_of_table(image: TableImage, function: Any, copies: bool) -> Any:
    """As function(the image) makes it."""
    array = array_of(image._gray, function, copies)
    record: Any = recorded_array(array)
    table = image._table

    def real(source: Any, steps: Any) -> Any:
        gray = np.asarray(pillow_steps.image_of(source, steps))
        return function(Image.fromarray(table[0][gray]))

    call = Call(None, real, 0, (record.source, record.steps))
    new = record.but(table=table, dtype=table.dtype, call=call)
    return DeferredArray(new, None, copies)
