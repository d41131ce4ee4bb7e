# SPDX-License-Identifier: Apache-2.0
"""What the recorded steps of an image mean: calls of Pillow, torchvision and
OpenCV.

It makes a deferred image real, and is what the engine is held against.
"""

from __future__ import annotations

import importlib
import sys
from typing import Any, Callable, Dict, Sequence, Tuple

from . import steps as op
from .image_source import Source

Values = Tuple[Any, ...]


def image_of(source: Source, steps: op.Steps) -> Any:
    """The image, of whoever asks for it."""
    if not steps:
        return source.pixels().copy()
    first = steps[0]
    if first[0] == op.CONVERT:
        image = source.converted(first, lambda image: _apply(image, first))
        rest = steps[1:]
        if not rest:
            return image.copy()
    else:
        image, rest = source.pixels(), steps
    for step in rest:
        image = _apply(image, step)
    return image


def _apply(image: Any, step: op.Step) -> Any:
    number, values, data = step
    if number == op.POINT:
        return image.point(list(data or b""))
    return APPLY[number](image, values if data is None else (*values, data))


def _pillow(name: str) -> Any:
    return sys.modules["PIL." + name]


def _fill(image: Any, numbers: Sequence[float]) -> Any:
    whole = tuple(int(n) for n in numbers)
    return whole[0] if len(image.getbands()) == 1 else whole


def _resize(image: Any, v: Values) -> Any:
    return image.resize((v[0], v[1]), v[2], tuple(v[3:]) or None)


def _pad(image: Any, v: Values) -> Any:
    left, top, right, bottom = v[:4]
    if v[4] == 0:
        fill = _fill(image, v[5:])
        size = image.width + left + right, image.height + top + bottom
        padded = _pillow("Image").new(image.mode, size, fill)
        padded.paste(image, (left, top))
        if image.mode == "P":
            padded.putpalette(image.getpalette())
        return padded
    numpy: Any = importlib.import_module("numpy")
    sides = ((top, bottom), (left, right), (0, 0))
    pixels = numpy.asarray(image)
    pixels = numpy.pad(pixels, sides[: pixels.ndim], op.PADDINGS[v[4]])
    return _pillow("Image").fromarray(pixels)


def _transform(method: int, n: int) -> Callable[[Any, Values], Any]:
    def transform(image: Any, v: Values) -> Any:
        fill = _fill(image, v[3 + n :])
        size = v[0], v[1]
        return image.transform(size, method, v[3 : 3 + n], v[2], fillcolor=fill)

    return transform


def _enhance(name: str) -> Callable[[Any, Values], Any]:
    def enhance(image: Any, v: Values) -> Any:
        return getattr(_pillow("ImageEnhance"), name)(image).enhance(v[0])

    return enhance


def _select(image: Any, v: Values) -> Any:
    bands = image.split()
    chosen = [bands[int(channel)] for channel in v]
    if len(chosen) == 1:
        return chosen[0]
    return _pillow("Image").merge(op.MODE_OF[len(chosen)], chosen)


def _ops(name: str) -> Callable[[Any, Values], Any]:
    def apply(image: Any, v: Values) -> Any:
        return getattr(_pillow("ImageOps"), name)(image, *v)

    return apply


def _blur(image: Any, v: Values) -> Any:
    radius = v[0] if v[0] == v[1] else v
    return image.filter(_pillow("ImageFilter").GaussianBlur(radius))


def _vision(name: str) -> Any:
    return getattr(sys.modules["torchvision.transforms.functional"], name)


def _tensor(name: str) -> Callable[[Any, Values], Any]:
    """A function of torchvision's v2, of the image as a tensor."""

    def apply(image: Any, v: Values) -> Any:
        functional = sys.modules["torchvision.transforms.v2.functional"]
        tensor = _vision("pil_to_tensor")(image)
        return _vision("to_pil_image")(getattr(functional, name)(tensor, *v))

    return apply


def _tensor_resize(image: Any, v: Values) -> Any:
    transforms = sys.modules["torchvision.transforms"]
    mode = {0: "NEAREST", 2: "BILINEAR", 3: "BICUBIC"}[v[2]]
    method = getattr(transforms.InterpolationMode, mode)
    return _tensor("resize")(image, ([v[1], v[0]], method))


def _opencv(function: Callable[[Any, Any, Values], Any]) -> Any:
    """function(cv2, an array, values), of an image."""

    def apply(image: Any, v: Values) -> Any:
        numpy: Any = importlib.import_module("numpy")
        made = function(sys.modules["cv2"], numpy.array(image), v)
        return _pillow("Image").fromarray(made)

    return apply


def _cv_resize(cv2: Any, array: Any, v: Values) -> Any:
    if len(v) == 3:
        return cv2.resize(array, v[:2], interpolation=v[2])
    return cv2.resize(array, None, fx=v[3], fy=v[4], interpolation=v[2])


def _numbers(data: bytes, kind: str) -> Any:
    return importlib.import_module("numpy").frombuffer(data, kind)


def _cv_affine(cv2: Any, array: Any, v: Values) -> Any:
    matrix = importlib.import_module("numpy").reshape(v[5:11], (2, 3))
    border = {"borderMode": v[3], "borderValue": v[11:]}
    return cv2.warpAffine(array, matrix, v[:2], flags=v[2], **border)


def _cv_perspective(cv2: Any, array: Any, v: Values) -> Any:
    matrix = _numbers(v[-1], "f8").reshape(3, 3)
    border = {"borderMode": v[3], "borderValue": v[5:-1]}
    return cv2.warpPerspective(array, matrix, v[:2], flags=v[2], **border)


def _cv_remap(cv2: Any, array: Any, v: Values) -> Any:
    maps = _numbers(v[-1], "f4").reshape(2, v[1], v[0])
    border = {"borderMode": v[3], "borderValue": v[5:-1]}
    return cv2.remap(array, *maps, v[2], **border)


def _of_channel(function: Callable[[Any, Any, Values], Any]) -> Any:
    """function(cv2, a channel, values), of the one that values begin with."""

    def apply(cv2: Any, array: Any, v: Values) -> Any:
        if array.ndim == 2:
            return function(cv2, array, v)
        array[..., v[0]] = function(cv2, array[..., v[0]].copy(), v)
        return array

    return _opencv(apply)


def _cv_clahe(cv2: Any, array: Any, v: Values) -> Any:
    return cv2.createCLAHE(v[1], tuple(v[2:])).apply(array)


def _cv_border(v: Values, at: int) -> Dict[str, Any]:
    """Of value `at`, if there is one."""
    return {"borderType": v[at]} if len(v) > at else {}


def _cv_filter(cv2: Any, array: Any, v: Values) -> Any:
    kernel = _numbers(v[-1], "f4").reshape(v[1], v[0])
    return cv2.filter2D(array, -1, kernel, **_cv_border(v[:-1], 3))


def _cv_gauss(cv2: Any, array: Any, v: Values) -> Any:
    border = _cv_border(v, 4)
    return cv2.GaussianBlur(array, v[:2], v[2], sigmaY=v[3], **border)


def _cv_separable(cv2: Any, array: Any, v: Values) -> Any:
    numbers = _numbers(v[-1], "f4")
    kernels = numbers[: v[0]], numbers[v[0] :]
    return cv2.sepFilter2D(array, -1, *kernels, borderType=v[2])


_ADDED = {0: "u1", 3: "i2", 5: "f4", 6: "f8"}


def _add(image: Any, v: Values) -> Any:
    numpy: Any = importlib.import_module("numpy")
    array, added = numpy.array(image), _numbers(v[-1], _ADDED[v[2]])
    if v[2] in (5, 6) and not v[3]:
        added = numpy.rint(added)  # as OpenCV does it
    kind = added.dtype if v[3] else numpy.float64
    made = array.astype(kind) + added.reshape(array.shape).astype(kind)
    made = numpy.clip(made, 0, 255).astype(numpy.uint8)
    return _pillow("Image").fromarray(made)


def _cv_add_gray(cv2: Any, array: Any, v: Values) -> Any:
    gray = cv2.cvtColor(cv2.cvtColor(array, 7), 8)
    return cv2.addWeighted(array, v[0], gray, v[1], 0)


def _cv_contrast(cv2: Any, array: Any, v: Values) -> Any:
    numpy: Any = importlib.import_module("numpy")
    gray = array if array.ndim == 2 else cv2.cvtColor(array, 7)
    added = float(gray.mean() * (1 - v[0]))
    kind = numpy.float64 if len(v) > 1 and v[1] else numpy.float32
    table = numpy.arange(256, dtype=kind) * v[0] + added
    return numpy.clip(table, 0, 255).astype(numpy.uint8)[array]


def _cv_recompress(cv2: Any, array: Any, v: Values) -> Any:
    _, file = cv2.imencode(".jpg", array, (1, v[0]))
    return cv2.imdecode(file, -1)


APPLY: Dict[int, Callable[[Any, Values], Any]] = {
    op.CONVERT: lambda image, v: image.convert(op.MODE_OF[v[0]]),
    op.CROP: lambda image, v: image.crop(v),
    op.RESIZE: _resize,
    op.TRANSPOSE: lambda image, v: image.transpose(v[0]),
    op.PAD: _pad,
    op.AFFINE: _transform(0, 6),
    op.PERSPECTIVE: _transform(2, 8),
    op.BRIGHTNESS: _enhance("Brightness"),
    op.CONTRAST: _enhance("Contrast"),
    op.COLOR: _enhance("Color"),
    op.SHARPNESS: _enhance("Sharpness"),
    op.TENSOR_RESIZE: _tensor_resize,
    op.TENSOR_BRIGHTNESS: _tensor("adjust_brightness"),
    op.TENSOR_CONTRAST: _tensor("adjust_contrast"),
    op.TENSOR_SATURATION: _tensor("adjust_saturation"),
    op.TENSOR_HUE: _tensor("adjust_hue"),
    op.TENSOR_SHARPNESS: _tensor("adjust_sharpness"),
    op.TENSOR_GRAYSCALE: _tensor("rgb_to_grayscale"),
    op.TENSOR_AUTOCONTRAST: _tensor("autocontrast"),
    op.HUE: lambda image, v: _vision("adjust_hue")(image, v[0]),
    op.GRAYSCALE: lambda image, v: _vision("to_grayscale")(image, v[0]),
    op.POSTERIZE: _ops("posterize"),
    op.SOLARIZE: _ops("solarize"),
    op.INVERT: _ops("invert"),
    op.AUTOCONTRAST: _ops("autocontrast"),
    op.EQUALIZE: _ops("equalize"),
    op.GAUSSIAN_BLUR: _blur,
    op.SELECT: _select,
    op.EXPECT: lambda image, v: image,
    op.CV_RESIZE: _opencv(_cv_resize),
    op.CV_COLOUR: _opencv(lambda cv2, a, v: cv2.cvtColor(a, v[0])),
    op.CV_GAUSSIAN_BLUR: _opencv(_cv_gauss),
    op.CV_BOX_BLUR: _opencv(
        lambda cv2, a, v: cv2.blur(a, v[:2], **_cv_border(v, 2))
    ),
    op.CV_WARP_AFFINE: _opencv(_cv_affine),
    op.CV_WARP_PERSPECTIVE: _opencv(_cv_perspective),
    op.CV_REMAP: _opencv(_cv_remap),
    op.CV_EQUALIZE: _of_channel(lambda cv2, a, v: cv2.equalizeHist(a)),
    op.CV_CLAHE: _of_channel(_cv_clahe),
    op.CV_FILTER2D: _opencv(_cv_filter),
    op.CV_SEP_FILTER2D: _opencv(_cv_separable),
    op.CV_ADD: _add,
    op.CV_ADD_GRAY: _opencv(_cv_add_gray),
    op.CV_CONTRAST: _opencv(_cv_contrast),
    op.CV_RECOMPRESS: _opencv(_cv_recompress),
    op.CV_MEDIAN_BLUR: _opencv(lambda cv2, a, v: cv2.medianBlur(a, v[0])),
}
