# SPDX-License-Identifier: Apache-2.0
"""Chains of transforms that recorded samples call, as pipelines.

A `Compose` that chain.py can read is one step of a deferred image: the engine
does all of it, and draws as it does for a data set that is known to the end.
So a data set of the program's own has the very samples that ImageFolder with
the same chain has. A chain runs call by call instead, transform by transform in
Python, where

- it is not known, is no fixed size, or has Python in it;
- what is done to the image before is nothing that goes before a pipeline;
- the program seeds a generator in that sample or reads its state, so that two
  chains may be meant to draw the same;
- samples draw as torch's do (draws="torch");
- its tensor was used in the samples of the proof: the engine makes such a
  tensor at once, and one that is recorded on is faster.

What a chain consists of is compared at every call, with copies of the
attributes of its transforms.
"""

from __future__ import annotations

from collections import OrderedDict
from enum import Enum
from functools import partial
from hashlib import blake2b
from types import BuiltinFunctionType, FunctionType, MethodType, ModuleType
from typing import Any, Dict, List, Mapping, Optional, Sequence, Set, Tuple
from zlib import crc32

import torch

from .. import thread_draws
from ..deferred import steps as op
from ..deferred.chained import Result, chained
from .chain import Builder, Chain, NotNative
from .native import pipeline_of
from .recorded_draws import number_of

# Chains that are remembered, by object and by what they do.
MOST = 64
_VIEWS = 64  # of a sample, that the engine tells apart
_COPIES = 1 << 16
_SAMPLES = 1 << 48
_CHANNELS = {"L": 1, "RGB": 3}


class Known:
    """A transform that was called, on images of one kind. result: None where
    it runs call by call."""

    __slots__ = ("transform", "live", "kept", "result")

    def __init__(self, transform: Any) -> None:
        self.transform = transform  # so that no other object has its id
        self.live: List[Any] = []
        self.kept: List[Any] = []
        self.result: Optional[Result] = None

    def is_kept(self) -> bool:
        """Nothing of it has changed."""
        try:
            return self.live == self.kept
        except RuntimeError:  # there is another tensor now
            return False


class Chains:
    """Of one data set. One thread at a time, that which has its lock."""

    def __init__(self, decided: Optional[Mapping[str, Any]] = None) -> None:
        self.on = False  # until a proof has tried it
        self.count = 0  # images that were recorded with a chain
        self._known: Dict[Tuple[int, str, bool], Known] = {}
        # Of images of a mode: a gray one is made RGB first.
        self._results: "OrderedDict[Tuple[Chain, str], Result]" = OrderedDict()
        self._refused: Set[str] = set()  # by name
        if decided is not None:
            self.decide(decided)
        self._key: Optional[Tuple[int, int]] = None
        self._samples: List[int] = []
        self._copies: Sequence[int] = ()
        self._views: List[int] = []

    def decided(self) -> Dict[str, Any]:
        """For another one, which is to do as this one does: in a helper, or
        where an epoch is resumed. JSON can hold it."""
        return {"whole": self.on, "refused": sorted(self._refused)}

    def decide(self, decided: Mapping[str, Any]) -> None:
        """As another one has."""
        self.on = bool(decided["whole"])
        self._refused = set(decided["refused"])
        self.forget()

    # ---- Which sample it is ------------------------------------------------

    def begin(
        self,
        key: Optional[Tuple[int, int]],
        indices: Sequence[Any],
        copies: Sequence[int],
    ) -> None:
        """Samples that are made from here on, together. key: seed and epoch;
        None: nothing is recorded as a whole."""
        self._key = key if self.on else None
        if self._key is None:
            return
        self._samples = [
            index
            if type(index) is int and 0 <= index < _SAMPLES
            else _sample_of(index)
            for index in indices
        ]
        self._copies = copies
        self._views = [0] * len(self._samples)

    def _draws(self, result: Result, image: Any) -> Any:
        """What the engine draws from; None: it is out of numbers.

        Of samples made together, each has as many images: the first ones, in
        turn, then the second ones.
        """
        key, place = self._key, 0
        if key is None:
            return None
        if len(self._samples) > 1:
            sources = image._run.sources
            place = sources.index(image._source) % len(self._samples)
        view, copy = self._views[place], self._copies[place]
        if view >= _VIEWS or copy >= _COPIES:
            return None
        self._views[place] = view + 1
        return (result.handle, *key, self._samples[place], copy, view)

    # ---- A call ------------------------------------------------------------

    def __call__(self, transform: Any, image: Any) -> Any:
        """The tensor of a chain; None: it runs call by call."""
        if self._key is None:
            return None
        steps = image._steps
        made_gray = image._mode == "L" and len(steps) > 0
        key = id(transform), image._mode, made_gray
        known = self._known.get(key)
        if known is None or not known.is_kept():
            known = self._read(transform, image._mode, made_gray)
            if len(self._known) >= MOST:
                self._known.clear()
            self._known[key] = known
        result = known.result
        if result is None or (result.random and thread_draws.told()):
            return None
        if steps and not _goes_before(steps, image):
            return None
        if torch.get_default_dtype() is not torch.float32:
            return None
        draws = self._draws(result, image)
        if draws is None:
            return None
        self.count += 1
        return chained(image, result, draws)

    # ---- What a chain does -------------------------------------------------

    def forget(self) -> None:
        """Chains are read anew, as for each epoch."""
        self._known.clear()

    def _read(self, transform: Any, mode: str, made_gray: bool) -> Known:
        known = Known(transform)
        if mode not in _CHANNELS or not _watch(transform, known, set()):
            return known
        # A dict compares with an ordered one in a tenth of the time.
        known.kept = [
            dict(each) if isinstance(each, dict) else list(each)
            for each in known.live
        ]
        try:
            chain = _chain_of(transform, _CHANNELS[mode], made_gray)
        except NotNative:
            return known
        if not self._refused or _name_of(chain) not in self._refused:
            known.result = self.result_of(chain, transform, mode)
        return known

    def result_of(
        self, chain: Chain, transform: Any, mode: str
    ) -> Optional[Result]:
        """What the engine makes of a chain; None: it is not what the chain
        makes."""
        found = self._results.pop((chain, mode), None)
        if found is None:
            try:
                found = _result(chain, transform, mode)
            except NotNative:
                return None
            if found is None:
                self._refused.add(_name_of(chain))
                return None
            if len(self._results) >= MOST:
                self._results.popitem(last=False)
        self._results[chain, mode] = found
        return found

    def refuse_touched(self) -> None:
        """Those whose tensors the program has used run call by call."""
        for (chain, _), result in list(self._results.items()):
            if result.touched:
                self._refused.add(_name_of(chain))
        self.forget()


def _sample_of(index: Any) -> int:
    index = number_of(index)
    if type(index) is int and 0 <= index < _SAMPLES:
        return index
    return crc32(repr(index).encode())


def _name_of(chain: Chain) -> str:
    """The same in every process."""
    return blake2b(repr(chain).encode(), digest_size=8).hexdigest()


_TURNS = (2, 4, 5, 6)  # those that change width and height


def _goes_before(steps: Any, image: Any) -> bool:
    """Whether the engine can do these steps in front of a pipeline."""
    w, h = image._source.header.size
    for place, (number, values, _) in enumerate(steps):
        if number == op.CROP:
            left, top, right, bottom = values
            if left < 0 or top < 0 or right > w or bottom > h:
                return False
            w, h = right - left, bottom - top
        elif number == op.TRANSPOSE:
            if values[0] > 1 and place > 0:
                return False
            if values[0] in _TURNS:
                w, h = h, w
        elif number != op.CONVERT:
            return False
    return True


def _chain_of(transform: Any, channels: int, made_gray: bool) -> Chain:
    """Raises NotNative."""
    builder = Builder(channels, None, False, made_gray)
    builder.read(transform, "")
    chain = builder.finish()
    python = any(name == "python" for name, _, _ in chain.ops)
    if chain.size is None or python or builder.form == "array":
        raise NotNative("it runs call by call")
    try:
        hash(chain)
    except TypeError:
        raise NotNative("it runs call by call") from None
    return chain


_DTYPES = {
    "u8": torch.uint8,
    "f32": torch.float32,
    "f16": torch.float16,
    "bf16": torch.bfloat16,
}


def _result(chain: Chain, transform: Any, mode: str) -> Optional[Result]:
    """None where the chain gives something else than it was read to do, which
    one image tells."""
    assert chain.size is not None
    w, h = chain.size
    like = _rehearsed(transform, mode, (2 * w + 64, 2 * h + 64))
    shape = (chain.channels, h, w)
    if not isinstance(like, torch.Tensor) or tuple(like.shape) != shape:
        return None
    if like.dtype != _DTYPES[chain.dtype]:
        return None
    before: Any = ()
    if chain.channels != _CHANNELS[mode]:
        before = ((op.CONVERT, (chain.channels,), None),)
    behind: Any = ()
    if chain.dtype != "u8":
        rounding = (1,) if chain.rounding == "multiply" else ()
        behind = ((op.SCALE, rounding, None),)
    pipeline = pipeline_of(chain)
    return Result(
        chain, pipeline, like, transform, before, behind, chain.random
    )


def _rehearsed(transform: Any, mode: str, size: Tuple[int, int]) -> Any:
    """What a chain makes of a black image; None if it raises."""
    from PIL import Image

    image = Image.new(mode, size)
    try:
        return thread_draws.run(transform, image, lambda: 0)
    except Exception:
        return None


# ---- Noticing that it has changed -------------------------------------------

# What nothing changes, and what is compared by being the same object.
_FIXED = (int, float, complex, bool, str, bytes, type(None), type, Enum) + (
    torch.dtype,
    FunctionType,
    BuiltinFunctionType,
    ModuleType,
)
# Of a module of torch, whatever a call of it does not look at.
_UNUSED = frozenset(
    "_parameters _buffers _non_persistent_buffers_set _backward_pre_hooks "
    "_backward_hooks _forward_hooks_with_kwargs _forward_hooks_always_called "
    "_forward_pre_hooks_with_kwargs _state_dict_hooks _state_dict_pre_hooks "
    "_load_state_dict_pre_hooks _load_state_dict_post_hooks".split()
)


def _watch(thing: Any, known: Known, seen: Set[int]) -> bool:
    """Collects the dicts and lists that a transform consists of; False where
    one of its parts may change and cannot be compared."""
    if isinstance(thing, _FIXED) or id(thing) in seen:
        return True
    seen.add(id(thing))
    kind: Any = type(thing)
    parts = None
    if kind in (list, tuple):
        if kind is list:
            known.live.append(thing)
        parts = list(thing)
    elif kind in (dict, OrderedDict):
        known.live.append(thing)
        parts = list(thing.values())
    elif kind is MethodType:
        parts = [thing.__self__]
    elif kind is partial:
        parts = [thing.func, thing.args, thing.keywords]
    elif isinstance(thing, torch.Tensor):
        return False
    elif hasattr(thing, "__dict__") and kind.__eq__ is object.__eq__:
        known.live.append(thing.__dict__)
        parts = [
            value
            for name, value in thing.__dict__.items()
            if name not in _UNUSED and not _is_derived(name, value)
        ]
    return parts is not None and all(
        [_watch(part, known, seen) for part in parts]
    )


def _is_derived(name: str, value: Any) -> bool:
    """v2's random crop keeps the logarithm of an attribute."""
    return name[0] == "_" and isinstance(value, torch.Tensor)
