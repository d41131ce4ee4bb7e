# SPDX-License-Identifier: Apache-2.0
"""A chain of transforms on a deferred image, recorded as one step.

Whoever knows transforms (`Recorder.chains`) says what a pipeline of the
engine's makes of an image, and what it draws from. The result is a deferred
tensor that can be handed on, and asked for all but its pixels; whatever else is
done to it makes it real, by the engine, with the same draws.
"""

from __future__ import annotations

import sys
from operator import methodcaller
from typing import Any, Callable, Dict, Optional

import torch

from .. import replaced, thread_draws
from .alone import made_alone
from .description import Deferred, Draws, Form
from .image import records
from .image_source import Source
from .pillow_steps import image_of
from .recording import Run, state
from .steps import Steps
from .tensor import CODES, POSSIBLE, wrap


class Result:
    """What a pipeline gives, whatever the image.

    value: what the pipeline is made of. like: a tensor as it gives. again: the
    chain, of a real image. before, behind: steps around the pipeline. random:
    it draws. touched: a program asked for pixels.
    """

    def __init__(
        self,
        value: Any,
        pipeline: Any,
        like: torch.Tensor,
        again: Callable[[Any], Any],
        before: Steps = (),
        behind: Steps = (),
        random: bool = True,
    ) -> None:
        self.value = value
        self.pipeline = pipeline
        self.handle: int = pipeline.handle
        self.again = again
        self.before, self.behind = before, behind
        self.random = random
        self.shape: Any = tuple(like.shape)
        self.strides = tuple(like.stride())
        self.dtype = like.dtype
        self.kind = type(like)
        self.touched = False
        wrap: Optional[Callable[[Any], Any]] = None
        if self.kind is not torch.Tensor:
            wrap = methodcaller("as_subclass", self.kind)
        self.form = Form(
            self.shape,
            self.shape,
            dtype=like.dtype,
            nhwc=False,
            code=CODES[like.dtype],
            element_bytes=like.element_size(),
            wrap=wrap,
        )


class Chained:
    """A deferred tensor's record: that of a pipeline's result."""

    __slots__ = (
        "source steps run result draws kind shape strides dtype"
    ).split()
    whole = True  # nothing is recorded on it

    def __init__(self, image: Any, result: Result, draws: Draws) -> None:
        self.source: Source = image._source
        self.steps: Steps = image._steps
        self.run: Run = image._run
        self.result = result
        self.draws = draws
        # What it needs to be taken for a Record that is not recorded on.
        self.kind, self.dtype = result.kind, result.dtype
        self.shape, self.strides = result.shape, result.strides

    call = property(lambda self: self)

    def deferred(self, leaf: Any) -> "FromPipeline":
        result = self.result
        steps = self.steps + result.before + result.behind
        made = FromPipeline(leaf, self.source, steps, result.form, self.draws)
        made.result = result
        return made

    def again(self) -> Any:
        """The real tensor."""
        self.result.touched = True
        made = made_alone(self.deferred(None))
        if made is not None:
            return made
        # Its error is the program's.
        image, seed = image_of(self.source, self.steps), hash(self.draws[1:])
        return thread_draws.run(self.result.again, image, lambda: seed)


class FromPipeline(Deferred):
    result: Result


def chained(image: Any, result: Result, draws: Draws) -> Any:
    """The tensor that a pipeline makes of an image."""
    image._source.wanted = True
    record: Any = Chained(image, result, draws)
    return wrap(record)


# ---- Where programs call chains ---------------------------------------------

# Methods that get an image and do all of a chain.
_CALLS = (
    ("torchvision.transforms.transforms", "Compose", "__call__"),
    ("torchvision.transforms.v2._container", "Compose", "forward"),
    ("torchvision.transforms._presets", "ImageClassification", "forward"),
)


def install() -> None:
    """Of those modules that are loaded. Again for others, later."""
    for module, name, method in _CALLS:
        cls = getattr(sys.modules.get(module), name, None)
        original = getattr(cls, method, None)
        if original is None or original in _ours or not POSSIBLE:
            continue
        function = _recording(original)
        _ours[function] = original
        qualified = "%s.%s" % (name, method)
        replaced.disguise(function, original, module, qualified)
        setattr(cls, method, function)


_ours: Dict[Any, Any] = {}


def _recording(original: Any) -> Any:
    def call(self: Any, *inputs: Any, **named: Any) -> Any:
        run = state.run
        if run is not None and len(inputs) == 1 and not named:
            image, chains = inputs[0], run.recorder.chains
            if chains is not None and records(image):
                made = chains(self, image)
                if made is not None:
                    return made
        return original(self, *inputs, **named)

    return call
