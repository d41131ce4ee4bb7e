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

import dis
from dataclasses import dataclass
from itertools import product
from types import CodeType, FunctionType
from typing import Any, Dict, Iterator, List, Optional, Tuple

_MISSING = object()


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
        if not _alike(code, function.__code__, names):
            continue
        transform = _value(function, names["transform_"])
        if transform is not _MISSING and _keys_differ(code, names):
            return BatchFunction(
                image=names["image_"],
                made=names.get("made_", names["image_"]),
                transform=transform,
                to_rgb=to_rgb,
                keeps=names.get("keeps_"),
            )
    return None


def is_identity(function: Any) -> bool:
    """Whether it returns its argument."""
    code = (lambda x_: x_).__code__
    return isinstance(function, FunctionType) and _alike(
        code, function.__code__, {}
    )


def _alike(wanted: CodeType, code: CodeType, names: Dict[str, Any]) -> bool:
    """Whether these are the same instructions; notes what the names are."""
    if (
        wanted.co_flags & _FLAGS != code.co_flags & _FLAGS
        or wanted.co_argcount != code.co_argcount
        or wanted.co_kwonlyargcount != code.co_kwonlyargcount
    ):
        return False
    ours, theirs = (list(dis.get_instructions(some)) for some in (wanted, code))
    return len(ours) == len(theirs) and all(
        a.opcode == b.opcode and _same(a.argval, b.argval, names)
        for a, b in zip(ours, theirs)
    )


# All but CO_NESTED, and what its module imported from __future__.
_FLAGS = 0xFFEF


def _keys_differ(form: CodeType, names: Dict[str, Any]) -> bool:
    """Keys that are two in the form are: what is deleted is not what was made.
    An image that is taken out may be put back."""
    keys = [names[key] for key in ("image_", "made_", "keeps_") if key in names]
    return len(set(keys)) == len(keys) or "pop" in form.co_names


def _same(wanted: Any, found: Any, names: Dict[str, Any]) -> bool:
    if isinstance(wanted, CodeType) and isinstance(found, CodeType):
        return _alike(wanted, found, names)
    if type(wanted) is not type(found):
        return False
    if isinstance(wanted, tuple):
        return len(wanted) == len(found) and all(
            _same(a, b, names) for a, b in zip(wanted, found)
        )
    if not isinstance(wanted, str):
        return bool(wanted == found)
    if wanted.endswith("<listcomp>"):  # its name, with the function's
        return True
    if not wanted.endswith("_"):
        return bool(wanted == found)
    return bool(names.setdefault(wanted, found) == found)


def _value(function: FunctionType, name: str) -> Any:
    """What a name means in a function, now."""
    code = function.__code__
    if name in code.co_freevars:
        cell = (function.__closure__ or ())[code.co_freevars.index(name)]
        try:
            return cell.cell_contents
        except ValueError:  # nothing was assigned to it yet
            return _MISSING
    return function.__globals__.get(name, _MISSING)
