# SPDX-License-Identifier: Apache-2.0
"""The steps that are recorded: enum feedline_step_op of feedline/recorded.h.

A step is (op, numbers, data): data is bytes or None.
"""

from __future__ import annotations

from functools import lru_cache
from typing import List, Optional, Sequence, Tuple

from .. import _c

Step = Tuple[int, Tuple[float, ...], Optional[bytes]]
Steps = Tuple[Step, ...]

MOST_STEPS = _c.RECORDED_STEPS_MAX

CONVERT = _c.STEP_CONVERT
CROP = _c.STEP_CROP
RESIZE = _c.STEP_RESIZE
TRANSPOSE = _c.STEP_TRANSPOSE
PAD = _c.STEP_PAD
AFFINE = _c.STEP_AFFINE
PERSPECTIVE = _c.STEP_PERSPECTIVE
BRIGHTNESS = _c.STEP_BRIGHTNESS
CONTRAST = _c.STEP_CONTRAST
COLOR = _c.STEP_COLOR
SHARPNESS = _c.STEP_SHARPNESS
HUE = _c.STEP_HUE
GRAYSCALE = _c.STEP_GRAYSCALE
POSTERIZE = _c.STEP_POSTERIZE
SOLARIZE = _c.STEP_SOLARIZE
INVERT = _c.STEP_INVERT
AUTOCONTRAST = _c.STEP_AUTOCONTRAST
EQUALIZE = _c.STEP_EQUALIZE
GAUSSIAN_BLUR = _c.STEP_GAUSSIAN_BLUR
POINT = _c.STEP_POINT

# Of an image that is a tensor of bytes, as torchvision's v2 does.
TENSOR_RESIZE = _c.STEP_TENSOR_RESIZE
TENSOR_BRIGHTNESS = _c.STEP_TENSOR_BRIGHTNESS
TENSOR_CONTRAST = _c.STEP_TENSOR_CONTRAST
TENSOR_SATURATION = _c.STEP_TENSOR_SATURATION
TENSOR_HUE = _c.STEP_TENSOR_HUE
TENSOR_SHARPNESS = _c.STEP_TENSOR_SHARPNESS
TENSOR_GRAYSCALE = _c.STEP_TENSOR_GRAYSCALE
TENSOR_AUTOCONTRAST = _c.STEP_TENSOR_AUTOCONTRAST

# Of either: for each channel the one that it is.
SELECT = _c.STEP_CHANNELS
EXPECT = _c.STEP_EXPECT

# As OpenCV does it.
CV_RESIZE = _c.STEP_CV_RESIZE
CV_COLOUR = _c.STEP_CV_COLOUR
CV_GAUSSIAN_BLUR = _c.STEP_CV_GAUSSIAN_BLUR
CV_BOX_BLUR = _c.STEP_CV_BOX_BLUR
CV_MEDIAN_BLUR = _c.STEP_CV_MEDIAN_BLUR
CV_WARP_AFFINE = _c.STEP_CV_WARP_AFFINE
CV_WARP_PERSPECTIVE = _c.STEP_CV_WARP_PERSPECTIVE
CV_REMAP = _c.STEP_CV_REMAP
CV_EQUALIZE = _c.STEP_CV_EQUALIZE
CV_CLAHE = _c.STEP_CV_CLAHE
CV_FILTER2D = _c.STEP_CV_FILTER2D
CV_SEP_FILTER2D = _c.STEP_CV_SEP_FILTER2D
CV_ADD = _c.STEP_CV_ADD
CV_ADD_GRAY = _c.STEP_CV_ADD_GRAY
CV_CONTRAST = _c.STEP_CV_CONTRAST
CV_RECOMPRESS = _c.STEP_CV_RECOMPRESS

SCALE = _c.STEP_SCALE
NORMALIZE = _c.STEP_NORMALIZE
LOOKUP = _c.STEP_LOOKUP

ERASE = _c.STEP_ERASE
FLOAT_COLOUR = _c.STEP_FLOAT_COLOUR
FLOAT_VALUES = _c.STEP_FLOAT_VALUES
FLOAT_CHANNELS = _c.STEP_FLOAT_CHANNELS

# Of elements; the others are of an image.
OF_ELEMENTS = frozenset(
    (SCALE, NORMALIZE, LOOKUP, ERASE)
    + (FLOAT_COLOUR, FLOAT_VALUES, FLOAT_CHANNELS)
)

# Modes of PAD.
PADDINGS = ("constant", "edge", "reflect", "symmetric")

# Pillow's modes, and how many bytes a pixel has.
CHANNELS = {"L": 1, "P": 1, "LA": 2, "RGB": 3, "RGBA": 4, "YCbCr": 3}
# By the number that CONVERT has: but for the last, that of its channels.
MODE_OF = {1: "L", 2: "LA", 3: "RGB", 4: "RGBA", 5: "YCbCr"}


def _channels(steps: Steps, mode: str) -> int:
    """Of an image of a file of that mode, behind these steps."""
    for number, values, _ in reversed(steps):
        if number == SELECT:
            return len(values)
        if number == CONVERT:
            return CHANNELS[MODE_OF[int(values[0])]]
        if number in (GRAYSCALE, TENSOR_GRAYSCALE):
            return int(values[0])
        if number == CV_COLOUR and values[0] in (6, 7):  # to gray
            return 1
    return CHANNELS[mode]


# Steps of one channel of an image, whose number is the first value.
OF_ONE = frozenset((CV_EQUALIZE, CV_CLAHE))


def parted(steps: Steps) -> Tuple[Steps, Steps]:
    """(steps, those at the end that are of one channel each)."""
    end = len(steps)
    while end and steps[end - 1][0] in OF_ONE:
        end -= 1
    return steps[:end], steps[end:]


def of_channel(steps: Steps, channel: int, now: int) -> List[Step]:
    """Of those at the end, what is done to a channel, which has another number
    now."""
    return [
        (number, (now, *values[1:]), data)
        for number, values, data in steps
        if values[0] == channel
    ]


def select(steps: Steps, mode: str, chosen: Sequence[int]) -> Steps:
    """The channels `chosen` of what steps make of a file of that mode: no step
    where those are all of them, and one for several choices in a row."""
    if len(steps) <= 1 and not (steps and steps[0][2]):
        return _first_select(steps, mode, tuple(chosen))
    return _select(steps, mode, chosen)


def _select(steps: Steps, mode: str, chosen: Sequence[int]) -> Steps:
    steps, behind = parted(steps)
    then: List[Step] = []
    for now, channel in enumerate(chosen):
        then += of_channel(behind, channel, now)
    if steps and steps[-1][0] == SELECT:
        before = steps[-1][1]
        chosen, steps = [int(before[n]) for n in chosen], steps[:-1]
    whole = list(chosen) == list(range(_channels(steps, mode)))
    if whole and not (steps and steps[-1][:2] == (CONVERT, (5,))):
        # Of YCbCr the step says that bytes are taken as they are.
        return (*steps, *then)
    return (*steps, (SELECT, tuple(chosen), None), *then)


# As most programs do with each image that they read.
_first_select = lru_cache(maxsize=256)(_select)
