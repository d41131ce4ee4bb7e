# SPDX-License-Identifier: Apache-2.0
"""An image of Pillow's without pixels, which records what is done to it.

It knows its size, mode and info. Methods that the engine has a step for return
another one with one step more; whatever else is asked of it makes it real: the
same object is then one of Pillow's, with Pillow's class and attributes, for
good.
"""

from __future__ import annotations

import operator
import time
from functools import lru_cache
from typing import Any, Callable, Dict, Optional, Tuple

from PIL import Image, ImageFilter

from . import pillow_steps as replay
from . import steps as op
from .description import Deferred, Form
from .kinds import metaclass_of
from .recording import Run, lock, no_run, state
from .image_source import Source, is_bomb
from .steps import Steps

# Attributes of ours in an instance; others are the program's.
OWN = "_source _steps _size _mode _run _base_info _array".split()

# (from, to) of the conversions that are recorded, if nothing is transparent.
_TO = {"L": 1, "RGB": 3, "RGBA": 4, "YCbCr": 5}
_CONVERT: Dict[Tuple[str, Any], int] = {
    (mode, to): n
    for mode in ("L", "P", "LA", "RGB", "RGBA")
    for to, n in _TO.items()
    if mode != to
}
# A palette's colours may be transparent, and LA becomes RGBA by Pillow's rules.
del _CONVERT["P", "RGBA"]

_BANDS = {mode: tuple(mode) for mode in op.CHANNELS}
_BANDS["YCbCr"] = "Y", "Cb", "Cr"
# Those of ImageOps; and those with colours, not indices.
PLAIN = frozenset(("L", "RGB"))
COLORS = frozenset(("L", "LA", "RGB", "RGBA"))
# Those that may be more than moved and resized.
MAPPED = COLORS.union("P")

_PIXELS_MOST = 1 << 26  # beyond it Pillow may warn

_make = object.__new__


class _Info:
    """`info`: made when it is asked for, and then the program's to change."""

    def __get__(self, image: Any, kind: Any = None) -> Any:
        if image is None:
            return self
        own = {
            key: value.copy() if isinstance(value, list) else value
            for key, value in image._shared_info().items()
        }
        image.__dict__["info"] = own
        return own


class _Pixels:
    """What load() returns: reads pixels once it is used."""

    def __init__(self, image: Any) -> None:
        self._image = image

    def _real(self) -> Any:
        touch(self._image, "load")
        return self._image.load()

    def __getitem__(self, place: Any) -> Any:
        return self._real()[place]

    def __setitem__(self, place: Any, value: Any) -> None:
        self._real()[place] = value

    def __getattr__(self, name: str) -> Any:
        return getattr(self._real(), name)


_Meta: Any = metaclass_of(Image.Image)


class DeferredImage(Image.Image, metaclass=_Meta):  # type: ignore[metaclass]
    _kind: Any = Image.Image  # the class that it passes for
    # What a real one has in each instance.
    _im: Any = None
    _exif: Any = None
    _readonly = 0

    _source: Source
    _steps: Steps
    _run: Run
    _base_info: Optional[Dict[Any, Any]]  # None: the source's

    info = _Info()

    # ---- What it knows

    size = property(operator.attrgetter("_size"))
    mode = property(operator.attrgetter("_mode"))
    width = property(lambda self: self._size[0])
    height = property(lambda self: self._size[1])
    if not isinstance(getattr(Image.Image, "readonly", None), property):
        readonly = 0

    def getbands(self) -> Tuple[str, ...]:
        return _BANDS[self._mode]

    def _shared_info(self) -> Dict[Any, Any]:
        """`info`, not to be changed."""
        own: Any = self.__dict__.get("info", self._base_info)
        return self._source.info() if own is None else own

    def __repr__(self) -> str:
        kind = self._kind
        return "<%s.%s image mode=%s size=%dx%d at 0x%X>" % (
            kind.__module__,
            kind.__name__,
            self._mode,
            *self._size,
            id(self),
        )

    # ---- What becomes of it

    @property
    def _feedline_deferred(self) -> Any:
        """How the engine makes it; None once it is real."""
        late = self._run is not state.run and self._run is not state.last
        if late or self._source.read:
            touch(self, "kept")
            return None
        form = _form_of(self._mode, self._size)
        return Deferred(self, self._source, self._steps, form)

    def _make_real(self) -> None:
        array = self.__dict__.get("_array")
        if array is not None:  # whose memory this one has, from now on
            array._make_real()
        if isinstance(self, DeferredImage):
            self._become(replay.image_of(self._source, self._steps))

    def _give(self, memory: Any) -> None:
        info = self.info
        make, args = self.maker()
        self._become(make(*args, bytes(memory)))
        self.__dict__["info"] = info

    def maker(self) -> Any:
        """A function, and its arguments in front of the pixels, that makes a
        real image: here or in another process."""
        return Image.frombytes, (self._mode, self._size)

    def _become(self, real: Any) -> None:
        """Takes the place of a real image; `info`, EXIF and attributes that the
        program has changed stay."""
        own, added = self.__dict__, self.added()
        self.__class__ = real.__class__
        own.clear()
        own.update(real.__dict__)
        own.update(added)

    def added(self) -> Dict[str, Any]:
        """Attributes that it has beyond its pixels."""
        own, base = self.__dict__, self._base_info
        found = {key: own[key] for key in own if key not in OWN}
        if base is not None and base is not self._source.header.info:
            found.setdefault("info", dict(base))
        return found

    def _again(self, steps: Steps, size: Tuple[int, int], mode: str) -> Any:
        """Another image of the same source."""
        new: Any = _make(DeferredImage)
        source = new._source = self._source
        source.wanted = True
        new._steps = steps
        new._size = size
        new._mode = mode
        new._run = self._run
        own = self.__dict__.get("info")
        new._base_info = self._base_info if own is None else dict(own)
        return new

    def then(
        self,
        number: int,
        values: Tuple[float, ...] = (),
        size: Any = None,
        mode: Any = None,
        data: Optional[bytes] = None,
    ) -> Any:
        """The image one step on. Ask records() first."""
        return self._again(
            (*self._steps, (number, values, data)),
            size or self._size,
            mode or self._mode,
        )

    def without_info(self) -> Any:
        """Itself, as if it had been made anew of pixels: it has no EXIF."""
        self._base_info = {}
        return self

    def padded(
        self, sides: Tuple[int, int, int, int], mode: int, fill: Any = ()
    ) -> Any:
        """sides: left, top, right, bottom. Ask records() first."""
        w, h = self._size
        size = w + sides[0] + sides[2], h + sides[1] + sides[3]
        return self.then(op.PAD, (*sides, mode, *fill), size)

    # ---- Steps

    def load(self) -> Any:
        if records(self):
            self._source.wanted = True
            return _Pixels(self)
        touch(self, "load")
        return self.load()

    def copy(self) -> Any:
        if records(self):
            return self._again(self._steps, self._size, self._mode)
        touch(self, "copy")
        return self.copy()

    __copy__ = copy

    def convert(self, mode: Any = None, *args: Any, **kwargs: Any) -> Any:
        if records(self) and not args and not kwargs:
            own = self._mode
            if mode == own or (mode is None and own != "P"):
                return self.copy()
            channels = _CONVERT.get((own, mode))
            if channels is not None and not self._is_transparent():
                return self.then(op.CONVERT, (channels,), mode=mode)
        touch(self, "convert")
        return self.convert(mode, *args, **kwargs)

    def _is_transparent(self) -> bool:
        """Whether a colour is, by `info`, which conversions look at, or by the
        file: the engine looks there, and does not know what became of info."""
        own: Any = self.__dict__.get("info", self._base_info)
        if self._source.header.transparent or own is None:
            return self._source.header.transparent
        return "transparency" in own

    def split(self) -> Any:
        if records(self):
            bands = range(op.CHANNELS[self._mode])
            if len(bands) == 1:
                return (self.copy(),)
            return tuple(map(self._band, bands))
        touch(self, "split")
        return self.split()

    def getchannel(self, channel: Any) -> Any:
        if records(self) and self._mode != "P":
            names = self.getbands()
            if isinstance(channel, str) and channel in names:
                channel = names.index(channel)
            if type(channel) is int and 0 <= channel < len(names):
                return self.copy() if len(names) == 1 else self._band(channel)
        touch(self, "getchannel")
        return self.getchannel(channel)

    def _band(self, channel: int) -> Any:
        return self.then(op.SELECT, (channel,), mode="L")

    def crop(self, box: Any = None) -> Any:
        if box is not None and records(self):
            try:
                x0, y0, x1, y1 = map(int, map(round, box))
            except (TypeError, ValueError):
                x0 = x1 = y0 = y1 = 0
            w, h = x1 - x0, y1 - y0
            if w > 0 and h > 0 and w * h < _PIXELS_MOST and not is_bomb(w, h):
                return self.then(op.CROP, (x0, y0, x1, y1), (w, h))
        elif box is None and records(self):
            return self.copy()
        touch(self, "crop")
        return self.crop(box)

    def resize(
        self,
        size: Any,
        resample: Any = None,
        box: Any = None,
        reducing_gap: Any = None,
    ) -> Any:
        if reducing_gap is None and records(self):
            found = self._resized(size, resample, box)
            if found is not None:
                return found
        touch(self, "resize")
        return self.resize(size, resample, box, reducing_gap)

    def _resized(self, size: Any, resample: Any, box: Any) -> Any:
        """None: this is for Pillow."""
        try:
            w, h = map(operator.index, size)
            method = 3 if resample is None else operator.index(resample)
        except (TypeError, ValueError):
            return None
        if w <= 0 or h <= 0 or w * h >= _PIXELS_MOST or not 0 <= method <= 5:
            return None
        if box is not None:
            # To Pillow a list is never the whole image.
            alpha = self._mode in ("LA", "RGBA")
            whole = type(box) is tuple or not alpha
            box = _box(box, self._size) if whole else None
            if box is None:
                return None
        if self._mode == "P":
            method = 0
        if (w, h) == self._size and (box is None or box == (0, 0, w, h)):
            return self.copy()
        values = (w, h, method) if box is None else (w, h, method, *box)
        return self.then(op.RESIZE, values, (w, h))

    def transpose(self, method: Any) -> Any:
        if records(self):
            try:
                number = operator.index(method)
            except TypeError:
                number = -1
            if 0 <= number <= 6:
                w, h = self._size
                size = (h, w) if number in (2, 4, 5, 6) else (w, h)
                return self.then(op.TRANSPOSE, (number,), size)
        touch(self, "transpose")
        return self.transpose(method)

    def transform(
        self,
        size: Any,
        method: Any,
        data: Any = None,
        resample: Any = 0,
        fill: Any = 1,
        fillcolor: Any = None,
    ) -> Any:
        if records(self, MAPPED):
            found = self._transformed(size, method, data, resample, fillcolor)
            if found is not None:
                return found
        touch(self, "transform")
        return self.transform(size, method, data, resample, fill, fillcolor)

    def _transformed(
        self, size: Any, method: Any, data: Any, resample: Any, color: Any
    ) -> Any:
        """None: this is for Pillow."""
        number, n = {0: (op.AFFINE, 6), 2: (op.PERSPECTIVE, 8)}.get(
            method if isinstance(method, int) else -1, (0, 0)
        )
        if not number:
            return None
        try:
            w, h = map(operator.index, size)
            filter = operator.index(resample)
            numbers = tuple(map(float, data))
        except (TypeError, ValueError):
            return None
        if w <= 0 or h <= 0 or w * h >= _PIXELS_MOST or len(numbers) < n:
            return None
        if filter not in (0, 2, 3):
            return None
        if self._mode == "P":
            filter = 0
        fill = color_of(self._mode, color)
        if fill is None:
            return None
        values = (w, h, filter, *numbers[:n], *fill)
        return self.then(number, values, (w, h))

    def point(self, lut: Any, mode: Any = None) -> Any:
        if mode is None and records(self, COLORS):
            return self.then(op.POINT, data=_table_of(self._mode, lut))
        touch(self, "point")
        return self.point(lut, mode)

    def filter(self, filter: Any) -> Any:
        if type(filter) is ImageFilter.GaussianBlur and records(self, COLORS):
            radius: Any = filter.radius
            if not isinstance(radius, (tuple, list)):
                radius = (radius, radius)
            if len(radius) == 2 and all(_is_positive(r) for r in radius):
                return self.then(op.GAUSSIAN_BLUR, (radius[0], radius[1]))
        touch(self, "filter")
        return self.filter(filter)

    # ---- What makes it real, or ends it

    @property
    def im(self) -> Any:
        touch(self)
        return self.im

    @im.setter
    def im(self, im: Any) -> None:
        touch(self)
        self.im = im

    @property
    def palette(self) -> Any:
        if self._mode != "P":
            return None
        touch(self, "palette")
        return self.palette

    @palette.setter
    def palette(self, palette: Any) -> None:
        touch(self, "palette")
        self.palette = palette

    def close(self) -> None:
        if isinstance(self, DeferredImage):
            real = _make(Image.Image)
            Image.Image.__init__(real)
            real._size, real._mode = self._size, self._mode
            self._become(real)
        self.close()

    def _reopen(self) -> None:
        """What Pillow opened and has not read takes its place."""
        touch(self)

    def draft(self, mode: Any, size: Any) -> Any:
        self._reopen()
        return self.draft(mode, size)

    def seek(self, frame: int) -> None:
        self._reopen()
        self.seek(frame)

    def verify(self) -> None:
        self._reopen()
        self.verify()

    def __eq__(self, other: object) -> bool:
        touch(self, "==")
        touch(other, "==")
        return bool(self == other)

    __hash__ = None  # type: ignore[assignment]

    def __reduce_ex__(self, protocol: Any) -> Any:
        touch(self, "pickle")
        return self.__reduce_ex__(protocol)


@lru_cache(maxsize=256)
def _form_of(mode: str, size: Tuple[int, int]) -> Form:
    (w, h), n = size, op.CHANNELS[mode]
    shape = (h, w) if n == 1 else (h, w, n)
    return Form(shape, (n, h, w), mode=mode)


def records(image: Any, modes: Any = op.CHANNELS) -> bool:
    """Whether a step may be added to it."""
    return (
        isinstance(image, DeferredImage)
        and image._run is state.run
        and image._mode in modes
        and len(image._steps) < op.MOST_STEPS - 4
    )


def records_opaque(image: Any, modes: Any) -> bool:
    """Also no colour is transparent: what Pillow makes of `info` then differs
    by function and version."""
    return records(image, modes) and not image._is_transparent()


def touch(image: Any, asked: str = "") -> None:
    """From here on it is real."""
    with lock, no_run():
        if isinstance(image, DeferredImage):
            began, run = time.monotonic_ns(), image._run
            blank = image._source.blank
            image._make_real()
            if not blank:
                run.recorder.count(asked, began)


def _is_positive(number: Any) -> bool:
    return isinstance(number, (int, float)) and number > 0


def _box(box: Any, size: Tuple[int, int]) -> Optional[Tuple[float, ...]]:
    try:
        x0, y0, x1, y1 = map(float, box)
    except (TypeError, ValueError):
        return None
    inside = 0 <= x0 < x1 <= size[0] and 0 <= y0 < y1 <= size[1]
    return (x0, y0, x1, y1) if inside else None


_colors: Dict[Any, Tuple[int, ...]] = {}


def color_of(mode: str, color: Any) -> Optional[Tuple[int, ...]]:
    """The bytes that Pillow fills with; None if it has to say."""
    n = op.CHANNELS[mode]
    if color is None or color == 0:
        return (0,) * n
    try:
        key = (mode, color)
        found = _colors.get(key)
        if found is None:
            pixel = Image.new(mode, (1, 1), color).tobytes()
            if len(_colors) > 4096:
                _colors.clear()
            found = _colors[key] = tuple(pixel)
        return found
    except Exception:  # Pillow raises it again
        return None


_EVERY_BYTE = bytes(range(256))
_probes: Dict[str, Any] = {}


def _table_of(mode: str, lut: Any) -> bytes:
    """What Pillow makes of each byte, channel after channel."""
    probe = _probes.get(mode)
    if probe is None:
        gray = Image.frombytes("L", (256, 1), _EVERY_BYTE)
        probe = Image.merge(mode, [gray] * len(mode)) if mode != "L" else gray
        _probes[mode] = probe
    made = probe.point(lut)
    return b"".join(band.tobytes() for band in made.split())


def _touching(name: str) -> Callable[..., Any]:
    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        touch(self, name.strip("_"))
        return getattr(self, name)(*args, **kwargs)

    method.__name__ = name
    return method


# These are right as they are: they ask for nothing but size, mode, info, or use
# the methods above.
_KEPT = frozenset(
    "__enter__ __exit__ __getattr__ __init__ __init_subclass__ "
    "__subclasshook__ getexif getxmp rotate tell thumbnail "
    "_copy_info _get_safe_box".split()
)
for _name in dir(Image.Image):
    _value = getattr(Image.Image, _name)
    if (
        callable(_value)
        and not isinstance(_value, type)
        and _value is not getattr(object, _name, None)
        and _name not in _KEPT
        and _name not in DeferredImage.__dict__
    ):
        setattr(DeferredImage, _name, _touching(_name))
