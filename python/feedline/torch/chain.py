# SPDX-License-Identifier: Apache-2.0
"""From a chain of transforms to the operations of a pipeline.

A chain is read, never run: each transform is looked up by its exact type, and
the reader for that type tells a `Builder` what it does in terms of feedline's
operations. The builder knows what the samples are at this point (a Pillow
image, a tensor of bytes, of 0 to 1, or normalised), because the same transform
means other arithmetic on a tensor than on an image. Whatever is not known to
give the same pixels ends in `NotNative`, with its place and the reason.

Reading takes some ten microseconds and is done for every epoch: chains are
compared by value, so a transform that was changed or replaced is noticed.
"""

from __future__ import annotations

import copy
import inspect
import operator
from contextlib import contextmanager
from dataclasses import dataclass
from enum import IntEnum
from types import FunctionType, MethodType
from typing import Any, Callable, Dict, FrozenSet, Iterator, List, NoReturn
from typing import Optional, Sequence, Tuple

from .callables import WRAPPERS, call_of, has_hooks
from .compiled import handed_to, what_it_does
from .user_classes import reader_of_class

# ---- Refusing ---------------------------------------------------------------


class NotNative(Exception):
    """The engine cannot reproduce these samples pixel for pixel.

    reasons: each a sentence for the user: which object, where, what about it,
    and what would work instead.
    """

    def __init__(self, *reasons: str) -> None:
        super().__init__(*reasons)
        self.reasons: List[str] = list(dict.fromkeys(reasons))
        self.cut: Optional[Cut] = None
        # It is about a transform that is not known, whatever it is given;
        # with what would help, images are what they were before it.
        self.of_unknown = self.keeps = False

    @property
    def reason(self) -> str:
        """All of them in one text."""
        if len(self.reasons) == 1:
            return self.reasons[0]
        return "; ".join(f"({i}) {r}" for i, r in enumerate(self.reasons, 1))

    def __str__(self) -> str:
        return self.reason


class Reasons(List[str]):
    """All that stands in the way, not only what is seen first."""

    @contextmanager
    def noted(self) -> Iterator[None]:
        """What is refused inside ends there."""
        try:
            yield
        except NotNative as no:
            self.extend(no.reasons)

    def check(self) -> None:
        """Raises NotNative if there are any."""
        if self:
            raise NotNative(*self)


# (operation, its arguments, which transform asked for it)
Op = Tuple[str, Tuple[Tuple[str, Any], ...], str]
Size = Tuple[int, int]  # width, height in pixels

PILLOW_FIRST = (
    "on tensors torchvision computes it differently from images; put it "
    "before the transform that makes the tensor"
)

# Operations that only move pixels, so that a conversion of colours may change
# places with them.
_MOVES = frozenset(
    "center_crop random_crop random_crop_or_pad pad trim_border "
    "random_zoom_out horizontal_flip vertical_flip".split()
)
_GEOMETRY = _MOVES | frozenset(
    "resize random_resized_crop resize_keep_ratio scale_jitter "
    "random_shortest_size random_resize".split()
)
_DECIDE = frozenset(("random_apply", "random_choice", "random_order"))


class Stage(IntEnum):
    """What a sample is between two transforms."""

    IMAGE = 0  # a Pillow image
    BYTES = 1  # a uint8 tensor, 0 to 255
    UNIT = 2  # a float32 tensor, 0 to 1
    NORMAL = 3  # a float32 tensor behind Normalize


@dataclass(frozen=True)
class Chain:
    """What a whole chain does; equal chains give equal samples."""

    ops: Tuple[Op, ...]
    channels: int  # 1 or 3
    dtype: str  # "u8" or "f32"
    rounding: str  # of floats, as option rounding of the engine has it
    random: bool  # torch would draw random numbers for it
    size: Optional[Size]  # of every sample, None where images differ
    # Chains of several views, and of how many each; then there are no ops.
    views: Tuple[Tuple["Chain", int], ...] = ()
    as_stored: bool = False  # each image has to be of the first one's mode
    pair: Any = None  # of targets that move with the images: a Pair


@dataclass
class Cut:
    """Where a chain can be cut in two, before a transform that is unknown.

    of: the transform, or what holds it. head: what the transforms before it
    do. tail: it, and those behind it.
    """

    of: Any
    head: "Builder"
    tail: List[Any]


Read = Callable[["Builder", Any], None]


@dataclass(frozen=True)
class Reader:
    """How to read one type of transform."""

    read: Read
    # Its public attributes, all of which are read; None: no others matter.
    fields: Optional[FrozenSet[str]]
    # The class that it was written for, of a subclass with its own __init__.
    base: Optional[type] = None


# ("v1" | "v2" | "timm" | "feedline", name of the class) -> reader
READERS: Dict[Tuple[str, str], Reader] = {}


def reads(families: str, name: str, fields: str = "") -> Callable[[Read], Read]:
    """Registers a function as the reader of the class `name`.

    An attribute that is not in `fields` was added by a version of the library
    that this file does not know, so the transform is refused.
    """

    def register(function: Read) -> Read:
        for family in families.split():
            READERS[family, name] = Reader(function, frozenset(fields.split()))
        return function

    return register


_TIMM = frozenset(
    "timm.data." + name
    for name in ("transforms", "auto_augment", "random_erasing")
)


def _family(module: str) -> str:
    if module in (
        "torchvision.transforms.transforms",
        "torchvision.transforms.autoaugment",
    ):
        return "v1"
    if module == "torchvision.transforms._presets":
        return "preset"
    if module.startswith("torchvision.transforms.v2."):
        return "v2"
    if module in _TIMM:
        return "timm"
    if module.startswith("torch.nn.modules."):
        return "nn"
    return "feedline" if module == "feedline.transforms" else ""


_found: Dict[type, Optional[Reader]] = {}


def _reader_of(transform: Any) -> Optional[Reader]:
    """By exact type: a subclass may do anything."""
    cls = type(transform)
    if cls in WRAPPERS:
        return _CALLED
    if cls not in _found:
        key = _family(cls.__module__), cls.__qualname__
        reader = READERS.get(key)
        if reader is None and not key[0]:
            reader = _inherited(cls) or _written(cls)
        _found[cls] = reader
    reader = _found[cls]
    if reader is None and (
        what_it_does(transform) or handed_to(transform)[1] is not None
    ):
        return _CALLED
    return reader


# What a subclass may define and still do what its base does, beside what
# Python puts into every class.
_HARMLESS = frozenset(("__init__", "__repr__", "extra_repr"))
_IN_EVERY_CLASS = frozenset(
    (
        "__module__ __qualname__ __doc__ __dict__ __weakref__ __annotations__ "
        "__static_attributes__ __firstlineno__ __annotate_func__ "
        "__annotations_cache__ __orig_bases__ __parameters__"
    ).split()
)


def overridden(cls: type, base: type) -> List[str]:
    """What a subclass does differently from its base."""
    mine = cls.__mro__[: cls.__mro__.index(base)]
    names = {name for one in mine for name in one.__dict__}
    names -= _HARMLESS | _IN_EVERY_CLASS
    # v2 puts get_params of v1 into each subclass, the same one.
    return sorted(
        name
        for name in names
        if getattr(cls, name) is not getattr(base, name, None)
    )


def _inherited(cls: type) -> Optional[Reader]:
    """For a subclass that only has another constructor."""
    for base in cls.__mro__[1:]:
        reader = READERS.get((_family(base.__module__), base.__qualname__))
        if reader is not None and not overridden(cls, base):
            return Reader(reader.read, reader.fields, base)
    return None


def _written(cls: type) -> Optional[Reader]:
    """For a class of the user's whose __call__ is one that is known."""
    call = call_of(cls)
    read = reader_of_class(MethodType(call, cls)) if call else None
    return Reader(read, None) if read else None


_CALLED = Reader(lambda b, function: b.call(function), None)


def is_read(transform: Any) -> bool:
    """There is a reader for it."""
    return _reader_of(transform) is not None


class Builder:
    """Collects what the transforms of one chain do.

    channels: of the images that the data set gives, 1 (mode L) or 3 (RGB).
    size: their width and height where all are alike, else None. as_stored:
    they are not converted, so that some may have another mode; the engine then
    leaves those to the data set. made_gray: colours were taken out of them, and
    are still in the files.
    """

    def __init__(
        self,
        channels: int,
        size: Optional[Size],
        as_stored: bool = False,
        made_gray: bool = False,
    ) -> None:
        self.as_stored: bool = as_stored
        self.made_gray: bool = made_gray
        self.stage: Stage = Stage.IMAGE
        self.channels: int = channels
        self.size: Optional[Size] = size
        self.random: bool = False
        self.rounding: str = "once"
        self.ended: str = ""  # by a transform behind which the engine has none
        self.tv_tensor: bool = (
            False  # tensors are of the type of torchvision's own
        )
        self.typed: bool = True  # so are targets that move
        self.half: str = ""  # the type of 16 bits that the samples have by now
        self.bordered: bool = False  # small images may have a border by now
        self.unsure: bool = (
            False  # what samples are by now, behind a refused one
        )
        self._deciding = ""  # the transform that draws whether this is done
        self._ops: List[Op] = []
        self._last: List[Op] = []  # normalize, then random_erasing
        self._place = ""
        self._transform: Any = None

    # ---- Reading ------------------------------------------------------------

    def read(self, transform: Any, place: str) -> None:
        """Reads one transform, which may hold others."""
        outer = self._place, self._transform
        self._place, self._transform = place, transform
        reader = _reader_of(transform)
        if reader is None:
            self.fail_unknown()
        if has_hooks(transform):
            self.fail(
                "it has hooks or a 'forward' of its own, which the engine "
                "cannot call"
            )
        if reader.fields is not None:
            self._check_fields(transform, reader.fields, reader.base)
        reader.read(self, transform)
        self._place, self._transform = outer

    def read_all(self, transforms: Sequence[Any]) -> None:
        """Reads the transforms inside of the present one, in order."""
        for i, transform in enumerate(transforms):
            self.read_inside(f"transforms[{i}]", transform)

    def read_chain(self, transforms: Sequence[Any]) -> None:
        """Reads the transforms that the present one does nothing but call; from
        some place on, others may do that. One that is refused is as if it was
        not there for those behind it, which may be refused, too."""
        me, refused = self._transform, None
        for i, transform in enumerate(transforms):
            head = self._copy()
            try:
                self.read_inside(f"transforms[{i}]", transform)
            except NotNative as no:
                unsure = self.unsure
                self.__dict__.update(vars(head._copy()))
                self.unsure = unsure or not no.keeps
                if refused is not None:
                    if no.of_unknown or not unsure:
                        refused.reasons += no.reasons
                    continue
                refused, inner = no, no.cut
                if inner is None or inner.of is not transform:
                    inner = Cut(transform, head, [transform])
                tail = inner.tail + list(transforms[i + 1 :])
                no.cut = Cut(me, inner.head, tail)
        if refused is not None:
            raise refused

    def _copy(self) -> "Builder":
        made = copy.copy(self)
        made._ops, made._last = self._ops[:], self._last[:]
        return made

    def read_inside(self, name: str, transform: Any) -> None:
        """Reads what the present transform has under this name."""
        self.read(transform, f"{self._place}.{name}" if self._place else name)

    def read_instead(self, name: str, transform: Any) -> None:
        """Reads what the present transform has under this name and does nothing
        but call."""
        me = self._transform
        try:
            if name:
                self.read_inside(name, transform)
            else:
                self.read(transform, self._place)
        except NotNative as no:
            if no.cut is not None and no.cut.of is transform:
                no.cut.of = me
            raise

    def _check_fields(
        self, transform: Any, fields: FrozenSet[str], base: Optional[type]
    ) -> None:
        values: Dict[str, Any] = getattr(transform, "__dict__", {})
        known = fields | {"training"}
        for name in values:
            if name[0] != "_" and name not in known and _means(base, name):
                self.fail(
                    f"it has an attribute '{name}', which feedline does not "
                    "know; torch prepares the samples"
                )

    def fail(self, why: str) -> NoReturn:
        """Raises NotNative, with the place and name of this transform."""
        raise NotNative(f"{self._where()}: {why}")

    def fail_unknown(self) -> NoReturn:
        why, in_pil = _unknown(self._transform, self.stage)
        no = NotNative(f"{self._where()}: {why}")
        no.of_unknown, no.keeps = True, in_pil
        raise no

    def _where(self) -> str:
        name = type(self._transform).__name__
        if isinstance(self._transform, FunctionType):
            name += " " + self._transform.__name__
        return f"{self._place} {name}" if self._place else name

    def expect(self, name: str, *allowed: Any) -> None:
        """Refuses a value of an attribute that is none of `allowed`."""
        value = getattr(self._transform, name, allowed[0])
        if not any(value is a or value == a for a in allowed):
            words = " or ".join(repr(a) for a in allowed)
            self.fail(
                f"{name}={value!r} is not supported natively; use {words}"
            )

    def finish(self, images: bool = False) -> Chain:
        """The whole chain, when it ends in a tensor; images: or in images."""
        if self.stage == Stage.IMAGE and not images:
            raise NotNative(
                "the transforms end in Pillow images, which torch cannot put "
                "into a batch; add ToTensor() or PILToTensor() at the end"
            )
        return Chain(
            ops=tuple(self._ops + self._last),
            channels=self.channels,
            dtype="u8" if self.stage <= Stage.BYTES else self.half or "f32",
            rounding=self.rounding,
            random=self.random,
            size=self.size,
            as_stored=self.as_stored,
        )

    @property
    def form(self) -> str:
        """What samples are, as Head has it."""
        if self.ended == "ToNumpy":
            return "array"
        if self.stage == Stage.IMAGE:
            return "image"
        return "tv_tensor" if self.tv_tensor else "tensor"

    # ---- Adding operations --------------------------------------------------

    def call(self, function: Any) -> None:
        """A callable of the user's, in place of the present transform."""
        what = what_it_does(function)
        if what is None:
            name, inner = handed_to(function)
            if _reader_of(function) not in (None, _CALLED):
                name, inner = "", function
            if inner is None:
                self.fail_unknown()
            self.read_instead(name, inner)
        elif what == "rgb":
            self.to_rgb()
        elif what != "same":
            self.to_half(what)

    def _check_open(self) -> None:
        if self.ended:
            self.fail(f"it comes after {self.ended}; put it before")

    def add(self, op: str, **arguments: Any) -> None:
        """An operation on pixels, in place of the present transform."""
        self._check_open()
        if self._last and self._last[-1][0] == "random_erasing":
            self.fail("RandomErasing goes last; put this transform before it")
        self._ops.append((op, tuple(arguments.items()), self._where()))

    def decide(
        self, op: str, parts: Sequence[Sequence[Any]], **arguments: Any
    ) -> None:
        """A transform that draws which of its parts are done; they follow its
        operation, each of them one or a group."""
        outer, self._deciding = self._deciding, type(self._transform).__name__
        self.draws()
        start, size, sizes, number = len(self._ops), self.size, [], 0
        before = self._kind()
        for part in parts:
            first, self.size = len(self._ops), size
            for transform in part:
                self.read_inside(f"transforms[{number}]", transform)
                number += 1
            if self._kind() != before:
                self.fail(
                    "what it draws about changes more than pixels; put that "
                    "transform outside"
                )
            if len(parts) > 1:
                self._group(first, "random_apply", p=1)
            sizes.append(self.size)
        if op != "random_choice":
            sizes.append(size)
        self.size = sizes[0] if len(set(sizes)) == 1 else None
        if op == "random_order" and set(sizes) != {size}:
            self.fail("what it draws about changes the size of images")
        self._group(start, op, **arguments)
        self._deciding = outer

    def _kind(self) -> Tuple[Any, ...]:
        """What all samples have in common here."""
        return (
            self.stage,
            self.channels,
            self.as_stored,
            self.ended,
            len(self._last),
        )

    def _group(self, first: int, op: str, **arguments: Any) -> None:
        """Puts an operation before those from `first` on, which it is about."""
        count, place = 0, first
        while place < len(self._ops):
            place = self._behind(place)
            count += 1
        if op == "random_apply" and arguments == {"p": 1} and count == 1:
            return
        arguments = {"count": count, **arguments}
        made = op, tuple(arguments.items()), self._where()
        self._ops.insert(first, made)

    def _behind(self, place: int) -> int:
        """Of an operation and those that it is about."""
        name, arguments, _ = self._ops[place]
        place += 1
        if name in _DECIDE:
            for _ in range(dict(arguments)["count"]):
                place = self._behind(place)
        return place

    def on_bytes(self) -> bool:
        """It is one of v2's, on a uint8 tensor."""
        families = [
            _family(c.__module__) for c in type(self._transform).__mro__
        ]
        return self.stage == Stage.BYTES and "v2" in families

    def need_image(self) -> None:
        """Refuses a transform that is another one on tensors."""
        if self.stage != Stage.IMAGE:
            self.fail(PILLOW_FIRST)

    def resamples(self, tensors: bool = False) -> None:
        """The present transform changes the size of what is in the image;
        tensors: or in a uint8 tensor."""
        if not (tensors and self.on_bytes()):
            self.need_image()
        if self._deciding:
            self.fail(
                f"inside of {self._deciding}: the engine resamples every "
                "image; put it outside"
            )
        if self.bordered:
            self.fail(
                "CenterCrop before it adds a border to small images, and the "
                "engine resamples while it decodes; put CenterCrop after it"
            )

    def draws(self) -> None:
        """The present transform takes random numbers in torch."""
        self.random = True

    def need_black(self, fill: Sequence[int], what: str) -> None:
        """A border on floats: only black, and not behind Normalize."""
        if self.stage == Stage.IMAGE or self.on_bytes():
            return
        if self.stage == Stage.NORMAL or any(fill):
            self.fail(f"{what} of a tensor; put it before ToTensor")

    def add_center_crop(self, width: int, height: int, **border: Any) -> None:
        """A window in the middle, with a border where it is larger."""
        self.bordered = self.bordered or self.is_smaller(width, height)
        self.add("center_crop", width=width, height=height, **border)
        self.size = width, height

    def is_smaller(self, width: int, height: int) -> bool:
        """Images may be smaller than that here."""
        if self.size is None:
            return True
        return self.size[0] < width or self.size[1] < height

    # ---- Colours ------------------------------------------------------------

    def to_gray(self, channels: int) -> None:
        """Grayscale with 1 or 3 channels as its result."""
        self.need_image()
        self._check_open()
        if channels == 3 and self.channels == 3:
            self.add("grayscale")
        elif channels == 3:
            as_stored = self.as_stored
            self.to_rgb()
            self.as_stored = as_stored
        elif channels != 1:
            self.fail(f"num_output_channels={channels!r} is neither 1 nor 3")
        elif self.channels == 3:
            self._only(
                _MOVES,
                "the engine converts images to gray before anything else; put "
                "it first, or use num_output_channels=3",
            )
            self.channels = 1
            self.made_gray = True

    def to_rgb(self) -> None:
        """Gray images become RGB images that look the same."""
        self.need_image()
        if not self._ops:
            self.as_stored = False
        if self.channels == 1:
            if self.made_gray:
                self.fail(
                    "it follows a conversion to gray, and the engine would "
                    "find the colours again; use Grayscale(3) alone"
                )
            self._only(
                _GEOMETRY,
                "the engine converts images to RGB before anything else; put "
                "it first",
            )
            self.channels = 3

    def _only(self, allowed: FrozenSet[str], why: str) -> None:
        """Refuses a change of channels behind what would notice it."""
        for name, arguments, _ in self._ops:
            fill = dict(arguments).get("fill", ())
            if name not in allowed or len(fill) > 1:
                self.fail(f"after {name}, {why}")

    # ---- Tensors ------------------------------------------------------------

    def to_bytes(self) -> None:
        """A Pillow image becomes a uint8 tensor."""
        self._check_open()
        self.stage = Stage.BYTES

    def to_half(self, name: str) -> None:
        """Floats become such of 16 bits, each rounded once."""
        if self.stage < Stage.UNIT:
            self.fail("it needs floats of 0 to 1; put ToTensor() before it")
        self._check_open()
        self.half = {"float16": "f16", "bfloat16": "bf16"}[name]
        self.ended = f"a conversion to {name}"

    def to_unit(self, rounding: str = "divide") -> None:
        """Bytes become floats of 0 to 1: v2's by a product with 1 / 255
        ("multiply"), all others' by a quotient."""
        self._check_open()
        if self._last:
            self.fail("RandomErasing goes last; convert before it")
        self.stage = Stage.UNIT
        self.rounding = rounding

    def normalize(self, mean: Sequence[float], std: Sequence[float]) -> None:
        """Normalize, with a number for all channels or one for each."""
        self._check_open()
        if self.stage == Stage.NORMAL:
            self.fail("it is the second one; fold it into the first")
        if self.stage != Stage.UNIT:
            self.fail("it needs floats of 0 to 1; put ToTensor() before it")
        if self._last:
            self.fail("RandomErasing goes last; put this transform before it")
        for name, numbers in (("mean", mean), ("std", std)):
            if len(numbers) not in (1, self.channels):
                self.fail(
                    f"{name} has {len(numbers)} numbers for images of "
                    f"{self.channels} channels"
                )
        self.stage = Stage.NORMAL
        arguments = (("mean", tuple(mean)), ("std", tuple(std)))
        self._last.append(("normalize", arguments, self._where()))

    def erase(self, **arguments: Any) -> None:
        """RandomErasing, on the finished tensor."""
        self._check_open()
        if self.stage == Stage.IMAGE:
            self.fail("it needs a tensor; put ToTensor() before it")
        self._last.append(
            ("random_erasing", tuple(arguments.items()), self._where())
        )

    # ---- Values of attributes -----------------------------------------------

    def number(self, name: str, value: Any) -> float:
        """A finite number, else NotNative."""
        try:
            result = float(value)
        except (TypeError, ValueError):
            self.fail(f"{name}={value!r} is not a number")
        if result != result or result in (float("inf"), float("-inf")):
            self.fail(f"{name}={value!r} is not finite")
        return result

    def numbers(self, name: str, value: Any) -> Tuple[float, ...]:
        """One number or a sequence, array or tensor of some."""
        if hasattr(value, "tolist"):
            value = value.tolist()
        if isinstance(value, (int, float)):
            value = (value,)
        if not isinstance(value, (list, tuple)):
            self.fail(f"{name}={value!r} is not a sequence of numbers")
        return tuple(self.number(name, v) for v in value)

    def pair(self, name: str, value: Any) -> Tuple[float, float]:
        """Two numbers, the smaller one first."""
        found = self.numbers(name, value)
        if len(found) != 2 or found[0] > found[1]:
            self.fail(f"{name}={value!r} are not two numbers in order")
        return found[0], found[1]

    def integers(self, name: str, value: Any) -> Tuple[int, ...]:
        """One whole number or a sequence of some."""
        if not isinstance(value, (list, tuple)):
            value = (value,)
        found = []
        for v in value:
            if isinstance(v, float) and v == int(v):
                v = int(v)
            try:
                found.append(operator.index(v))
            except TypeError:
                self.fail(f"{name}={value!r} is not of whole numbers")
        return tuple(found)

    def side_pair(self, name: str, value: Any) -> Size:
        """torchvision's size: (height, width) or one number -> (w, h)."""
        found = self.integers(name, value)
        if len(found) == 1:
            found = found * 2
        if len(found) != 2 or min(found) < 1:
            self.fail(f"{name}={value!r} is not a size")
        return found[1], found[0]

    def of_image(self, name: str, value: Any) -> Any:
        """An argument that may be a dict by type: that of the image."""
        if isinstance(value, dict):
            self.fail(
                f"{name} as a dict is not supported natively; give one value"
            )
        return value

    def fill(self, transform: Any) -> Tuple[int, ...]:
        """Its colour for borders: one number, or one for each channel."""
        value = transform.fill
        kept = getattr(transform, "_fill", None)  # v2 looks at this one
        if isinstance(kept, dict) and list(kept) == ["others"]:
            value = kept["others"]
        value = self.of_image("fill", value)
        found = self.integers("fill", 0 if value is None else value)
        if len(found) not in (1, self.channels):
            self.fail(f"fill={value!r} for images of {self.channels} channels")
        if min(found) < 0 or max(found) > 255:
            self.fail(f"fill={value!r} is not of 0 to 255")
        return found


def _means(base: Optional[type], name: str) -> bool:
    """Whether an attribute may change what a transform does. Methods of the
    base do not read what a subclass adds under a name of its own."""
    if base is None or hasattr(base, name):
        return True
    return name in inspect.signature(base.__init__).parameters  # type: ignore


def _unknown(transform: Any, stage: Stage) -> Tuple[str, bool]:
    """Why, and whether it is of no consequence to the transforms behind it."""
    cls = type(transform)
    name = getattr(transform, "__name__", cls.__name__)
    if not name.isidentifier():
        name = "transform"
    call = name if hasattr(transform, "__name__") else name + "(...)"
    remedy = (
        "if it keeps the size of images, feedline.transforms.PIL(%s) runs "
        "natively, with random numbers that repeat with the seed" % call
    )
    if stage != Stage.IMAGE:
        remedy = (
            "before ToTensor, feedline.transforms.PIL(transform) runs "
            "natively, for a transform of Pillow images that keeps their size"
        )
    for base in cls.__mro__[1:]:
        if (_family(base.__module__), base.__qualname__) in READERS:
            names = ", ".join(overridden(cls, base)) or "methods"
            return (
                f"it is a subclass of {base.__name__} that has its own {names} "
                f"and may do anything; use {base.__name__} itself"
            ), False
    if _family(cls.__module__) or cls.__module__.startswith("torchvision."):
        why = "the engine has no such operation; "
    else:
        why = "it is not a transform that feedline knows; "
    return why + remedy, stage == Stage.IMAGE


# ---- feedline.transforms ----------------------------------------------------
#
# Nobody can see whether a function in Python draws, so it is assumed to: a
# repeated sample draws again.


@reads("feedline", "Python", "fn name thread_safe")
def python(b: Builder, t: Any) -> None:
    b.need_image()
    b.draws()
    b.add("python", fn=t.fn, name=t.name, thread_safe=t.thread_safe)


@reads("feedline", "PIL", "transform name thread_safe")
def pil(b: Builder, t: Any) -> None:
    b.need_image()
    b.draws()
    b.add("python", fn=t.of_pixels, name=t.name, thread_safe=t.thread_safe)
