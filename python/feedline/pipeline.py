# SPDX-License-Identifier: Apache-2.0
"""Pipeline: what is done to each image, operation by operation.

    Pipeline().add("resize", size=256).add("center_crop", width=224, height=224)

Operations have torchvision's names and meanings (docs/options.md); functions in
Python stand between them. A loader copies its pipeline when it is made.
"""

from __future__ import annotations

import ctypes
import json
import os
import weakref
from typing import Any, Callable, Dict, List, Optional, Tuple

from ._library import lib
from .errors import InvalidArgument, StateError, UnknownName, check, read_text
from .options import to_text
from .python_op import PythonOp, check_name


def _quoted(text: str) -> str:
    """A value of an argument list, in quotes where a blank would end it."""
    if text and not any(c in ' \t"\\' for c in text):
        return text
    return '"%s"' % text.replace("\\", "\\\\").replace('"', '\\"')


def arguments_text(arguments: Dict[str, Any]) -> str:
    """{"scale": (0.1, 1)} as "scale=0.1,1"; None leaves the default."""
    return " ".join(
        "%s=%s" % (name, _quoted(to_text(value)))
        for name, value in arguments.items()
        if value is not None
    )


class Pipeline:
    """A list of operations. One thread at a time."""

    def __init__(self, recipe: Optional[str] = "none") -> None:
        """recipe: "none", "train" (random_resized_crop 224, horizontal_flip,
        normalize), "eval" (resize 256, center_crop 224, normalize), or
        another of docs/recipes.md, such as "timm-a1". With "_u8" behind its
        name a recipe does not normalize, for dtype="u8".
        Operations on pixels that are added later go before that normalize.

        Raises UnknownName or InvalidArgument for another one.
        """
        # Before it is made, for an exception may come up meanwhile.
        cell = ctypes.c_void_p()
        self._finalizer = weakref.finalize(self, _destroy, cell)
        self._finalizer.atexit = False
        name = None if recipe is None else recipe.encode()
        check(lib.pipeline_create(name, cell), UnknownName)
        self._handle: Optional[int] = cell.value
        self._python: List[PythonOp] = []
        self._recipe = recipe
        self._steps: List[Tuple[str, Tuple[Any, ...]]] = []

    @property
    def handle(self) -> int:
        """The feedline_pipeline, as an address."""
        if self._handle is None:
            raise StateError("the pipeline was closed")
        return self._handle

    @property
    def python_operations(self) -> Tuple[PythonOp, ...]:
        """Those in Python, which every loader of this pipeline holds."""
        return tuple(self._python)

    def add(self, op: str, **arguments: Any) -> "Pipeline":
        """Appends an operation and returns the pipeline.

        op: its name, one of feedline.operations(), such as "resize". arguments:
        those of feedline.option_table(op), with Python's values: scale=(0.08,
        1.0), padding=4, pad_if_needed=True; None is the default. Raises
        UnknownName for an unknown operation or argument, InvalidArgument or
        RangeError for a value or an unsupported order of operations.
        """
        self._add_text(op, arguments_text(arguments))
        return self

    def _add_text(self, op: str, arguments: str) -> None:
        status = lib.pipeline_add(self.handle, op.encode(), arguments.encode())
        check(status, UnknownName)
        self._steps.append(("_add_text", (op, arguments)))

    def python(
        self,
        fn: Callable[..., Any],
        name: str = "python",
        thread_safe: bool = True,
    ) -> "Pipeline":
        """Appends a function in Python and returns the pipeline.

        fn: is called as fn(image) on the library's threads, on several at once,
        with an array of uint8, [H, W, C], that is its own: a numpy array, or
        without numpy a memoryview. It changes it and returns None, or returns
        uint8 of the same shape. If it has a parameter `rng`, it gets its random
        numbers as rng.uniform(), rng.below(n), rng.u32(), which repeat with the
        seed. What it raises becomes the failure of that sample.

        name: in statistics and messages, lower_snake; a second function of one
        name gets a number. thread_safe=False: one call at a time.
        """
        name = self._free_name(check_name(name))
        operation = PythonOp(fn, name, thread_safe)
        check(lib.pipeline_register(self.handle, operation.definition))
        # From here on C has its address.
        self._python.append(operation)
        check(lib.pipeline_add(self.handle, name.encode(), None), UnknownName)
        self._steps.append(("python", (fn, name, thread_safe)))
        return self

    def _free_name(self, name: str) -> str:
        taken = {operation.name for operation in self._python}
        free, number = name, 1
        while free in taken:
            number += 1
            free = "%s_%d" % (name, number)
        return free

    def views(self, chain: "Pipeline", count: int = 1) -> "Pipeline":
        """Appends `count` views of each sample, made by `chain` as it is now,
        and returns the pipeline, which has no operations of its own:

            Pipeline().views(large, 2).views(small, 8)

        Each view has draws of its own; `Batch.view` has each as a tensor.
        Raises InvalidArgument for a chain that makes views itself or has
        functions in Python, RangeError above 64 views.
        """
        check(lib.pipeline_add_views(self.handle, chain.handle, count))
        self._steps.append(("views", (chain, count)))
        return self

    def load(self, path: "str | os.PathLike[str]") -> "Pipeline":
        """Makes the operations of a shared object known to `add`, and returns
        the pipeline.

        path: of the shared object (feedline/op.h). Raises NotFound or
        InvalidArgument, with the system's message.
        """
        check(lib.pipeline_load(self.handle, os.fsencode(path)))
        self._steps.append(("load", (os.fspath(path),)))
        return self

    def json(self) -> str:
        """The operations and their arguments, as JSON."""
        return read_text(lib.pipeline_json, self.handle)

    def __repr__(self) -> str:
        if self._handle is None:
            return "<feedline.Pipeline, closed>"
        found = json.loads(self.json())
        names = [
            operation.get("op") or "%d views" % operation["views"]
            for operation in found
        ]
        return "<feedline.Pipeline: %s>" % (" -> ".join(names) or "nothing")

    def copy(self) -> "Pipeline":
        """One of its own, with the same operations."""
        return _rebuilt(self._recipe, tuple(self._steps))

    def __reduce__(self) -> Tuple[Any, ...]:
        """Pickled as what it was made of; functions go by their names."""
        return _rebuilt, (self._recipe, tuple(self._steps))

    def close(self) -> None:
        """Frees it; loaders made from it have their own copy."""
        self._handle = None
        self._finalizer()


def _destroy(cell: ctypes.c_void_p) -> None:
    lib.pipeline_destroy(cell)


def _rebuilt(recipe: Optional[str], steps: Any) -> Pipeline:
    """A pickled pipeline."""
    pipeline = Pipeline(recipe)
    for method, arguments in steps:
        getattr(pipeline, method)(*arguments)
    return pipeline


def as_pipeline(value: Any) -> Pipeline:
    """A pipeline, or the name of a recipe, or None for nothing."""
    if value is None or isinstance(value, str):
        return Pipeline(value)
    if isinstance(value, Pipeline):
        return value
    raise InvalidArgument(
        "a pipeline is a feedline.Pipeline, the name of a recipe or None, not "
        "%s" % type(value).__name__
    )
