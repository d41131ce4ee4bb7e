# SPDX-License-Identifier: Apache-2.0
"""Functions given to `with_transform` of Hugging Face's datasets, known by what
they are compiled to.

Such a function takes a batch as a dict of lists and may do anything with it. In
practice it is one of the few that the documentation of `datasets` shows, which
hand each image to a transform:

    def transforms(batch):
        batch["image"] = [transform(x.convert("RGB")) for x in batch["image"]]
        return batch

A function is one of these if its instructions are, whatever its names; it is
not called.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from types import CodeType, FunctionType
from typing import Any, Dict, Iterator, List, Optional, Tuple

from .compiled import MISSING, alike, value_of


@dataclass
class BatchFunction:
    """What such a function does: `image` of the batch becomes `made`."""

    image: str
    made: str
    transform: Any
    to_rgb: bool
    keeps: Optional[str]  # the one other column of the result; None: all


# Names with a "_" at their end stand for any.
_FORMS = (
    'b_["image_"] = [{x} for x_ in b_["image_"]]\n return b_',
    'b_["made_"] = [{x} for x_ in b_["image_"]]\n del b_["image_"]\n return b_',
    'b_["made_"] = [{x} for x_ in b_.pop("image_")]\n return b_',
    'return {{"image_": [{x} for x_ in b_["image_"]], "keeps_": b_["keeps_"]}}',
    'return {{"made_": [{x} for x_ in b_["image_"]], "keeps_": b_["keeps_"]}}',
)
_CALLS = ("transform_(x_)", 'transform_(x_.convert("RGB"))')
_WHERE = (
    "def f(b_):\n {body}",
    "def outer(transform_):\n def f(b_):\n  {body}\n return f\nf = outer(0)",
)


def _templates() -> Iterator[Tuple[CodeType, bool]]:
    for form, call, where in product(_FORMS, _CALLS, _WHERE):
        body = form.format(x=call)
        if "outer" in where:
            body = body.replace("\n ", "\n  ")
        made: Dict[str, Any] = {}
        exec(where.format(body=body), made)
        yield made["f"].__code__, call is _CALLS[1]


_TEMPLATES: List[Tuple[CodeType, bool]] = []


def read_batch_function(function: Any) -> Optional[BatchFunction]:
    """What it does; None for one that is not known."""
    if not isinstance(function, FunctionType) or function.__defaults__:
        return None
    if not _TEMPLATES:
        _TEMPLATES.extend(_templates())
    for code, to_rgb in _TEMPLATES:
        names: Dict[str, Any] = {}
        if not alike(code, function.__code__, names):
            continue
        transform = value_of(function, names["transform_"])
        if transform is not MISSING and _keys_differ(code, names):
            return BatchFunction(
                image=names["image_"],
                made=names.get("made_", names["image_"]),
                transform=transform,
                to_rgb=to_rgb,
                keeps=names.get("keeps_"),
            )
    return None


def _keys_differ(form: CodeType, names: Dict[str, Any]) -> bool:
    """Keys that are two in the form are: what is deleted is not what was made.
    An image that is taken out may be put back."""
    keys = [names[key] for key in ("image_", "made_", "keeps_") if key in names]
    return len(set(keys)) == len(keys) or "pop" in form.co_names
