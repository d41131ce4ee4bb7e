# SPDX-License-Identifier: Apache-2.0
"""Options as keyword arguments, checked by the library's own tables.

A value is what one would write in Python and becomes the text that the library
parses: True is "true", (0.08, 1.0) is "0.08,1.0", a pathlib.Path its path, None
the default. Times are seconds, sizes bytes; "250ms" and "64k" are understood as
everywhere else. docs/options.md lists all options.
"""

from __future__ import annotations

import ctypes
import numbers
import os
import sys
from functools import lru_cache
from typing import Any, Dict, List, Mapping, NamedTuple, Optional, Tuple, Union

from . import _c
from ._library import lib
from .errors import Error, UnknownName, check, error, read_text

Number = Union[int, float]
Value = Union[None, bool, int, float, str, "os.PathLike[str]", Tuple[Any, ...]]


class Option(NamedTuple):
    """A row of a table of options.

    kind: "int", "size" (bytes), "time" (ns), "double", "bool", "enum", "string"
    or "doubles". minimum and maximum are in base units, None where there are
    none. live: may change while a loader runs. auto: takes "auto".
    """

    name: str
    kind: str
    default: str
    minimum: Union[Number, None]
    maximum: Union[Number, None]
    unit: str
    choices: Tuple[str, ...]
    help: str
    live: bool
    auto: bool


_KINDS = {
    _c.T_INT: "int",
    _c.T_SIZE: "size",
    _c.T_TIME: "time",
    _c.T_DOUBLE: "double",
    _c.T_BOOL: "bool",
    _c.T_ENUM: "enum",
    _c.T_STRING: "string",
    _c.T_DOUBLES: "doubles",
}


def _option(info: _c.option_info) -> Option:
    kind = _KINDS[info.type]
    minimum = maximum = None
    if kind in ("int", "size", "time"):
        minimum, maximum = info.min, info.max
    elif kind in ("double", "doubles"):
        minimum, maximum = info.double_min, info.double_max
    choices = info.choices.decode() if info.choices else ""
    return Option(
        name=info.name.decode(),
        kind=kind,
        default=info.default_text.decode(),
        minimum=minimum,
        maximum=maximum,
        unit=info.unit.decode(),
        choices=tuple(choices.split("|")) if choices else (),
        help=info.help.decode(),
        live=bool(info.flags & _c.OPT_LIVE),
        auto=bool(info.flags & _c.OPT_AUTO),
    )


@lru_cache(maxsize=None)
def option_table(scope: str = "loader") -> Dict[str, Option]:
    """Options by name, with their types, ranges and help.

    scope: "loader", or an operation such as "resize".

    Raises UnknownName for an operation that is none.
    """
    encoded = scope.encode()
    count = check(lib.option_count(encoded), UnknownName)
    rows = {}
    for index in range(count):
        info = _c.option_info()
        check(lib.option_get_info(encoded, index, info))
        rows[info.name.decode()] = _option(info)
    return rows


def operations() -> Tuple[str, ...]:
    """The names of the built-in operations."""
    found: List[str] = []
    while (name := lib.op_name(len(found))) is not None:
        found.append(name.decode())
    return tuple(found)


def to_text(value: Any) -> str:
    """A value as one would type it.

    TypeError: the type stands for nothing that can be typed.
    """
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, numbers.Integral):
        return str(int(value))
    if isinstance(value, numbers.Real):
        return repr(float(value))
    if isinstance(value, os.PathLike):
        return os.fsdecode(value)
    if isinstance(value, (tuple, list)):
        return ",".join(to_text(item) for item in value)
    if hasattr(value, "item") and not isinstance(
        value, type
    ):  # a number of numpy's or torch's
        return to_text(value.item())
    raise TypeError(
        "an option is a str, a number, a bool, a path or a tuple of numbers, "
        "not %s" % type(value).__name__
    )


def _time_text(value: Any) -> str:
    """Seconds, in nanoseconds, so that no digit is lost on the way."""
    if isinstance(value, numbers.Real) and value is not True:
        return "%dns" % round(float(value) * 1e9)
    return to_text(value)


def _text_of(name: str, value: Any, option: Optional[Option]) -> str:
    is_time = option is not None and option.kind == "time"
    try:
        return _time_text(value) if is_time else to_text(value)
    except TypeError as wrong:
        raise TypeError("%s=%r: %s" % (name, value, wrong)) from None


# What torch's DataLoader calls an option, and where it is none.
_OF_TORCH = {
    "num_workers": "workers=4, or leave it out: it is tuned",
    "prefetch_factor": "depth=8, batches in all, or leave it out: it is tuned",
    "sampler": 'order="given", and Loader.append for each batch',
    "batch_sampler": 'order="given", and Loader.append for each batch',
    "pin_memory": 'device="cuda:0", which delivers to the GPU',
    "collate_fn": "batch.images and batch.labels, for any function of them",
    "generator": "seed=0",
}


def _named(wrong: Error, name: str) -> Error:
    """With what a user of torch looks for."""
    if isinstance(wrong, UnknownName) and name in _OF_TORCH:
        wrong.text += "; where torch has %s, a feedline.Loader has %s" % (
            name,
            _OF_TORCH[name],
        )
    return wrong


class Config:
    """A feedline_config that lives as long as this object."""

    def __init__(self, options: Mapping[str, Any]) -> None:
        """options: by name; a value of None leaves the default.

        Raises UnknownName for an option that is none, with the closest one;
        InvalidArgument, RangeError or TypeError for a value.
        """
        self.handle: ctypes.c_void_p = ctypes.c_void_p()
        check(lib.config_create(self.handle))
        known = option_table()
        for name, value in options.items():
            if value is None:
                continue
            option = known.get(name.replace("-", "_"))
            text = _text_of(name, value, option)
            status = lib.config_set(
                self.handle, name.encode(), os.fsencode(text)
            )
            if status < 0:
                raise _named(error(status, UnknownName), name)

    def json(self) -> str:
        """All options and their values, as JSON."""
        return read_text(lib.config_json, self.handle)

    def __del__(self) -> None:
        lib.config_destroy(self.handle)


# ---- The option pillow ------------------------------------------------------
#
# Pillow 13 resamples in another order than earlier versions, and a few pixels
# differ by one level (docs/pixels.md). A loader reproduces the installed
# Pillow, whether or not the program has imported it.

_SECOND_ORDER = 13  # the first version with the other order


def option_pillow() -> Optional[str]:
    """The value of the option: "12" or "13"; None where there is no Pillow."""
    module = sys.modules.get("PIL")
    version = getattr(module, "__version__", None) or _installed_version()
    if version is None:
        return None
    major = str(version).split(".", 1)[0]
    later = major.isdigit() and int(major) >= _SECOND_ORDER
    return "13" if later else "12"


@lru_cache(maxsize=None)
def _installed_version() -> Optional[str]:
    """From the package's metadata, without importing it."""
    import importlib.metadata  # takes milliseconds, and only here

    try:
        return importlib.metadata.version("pillow")
    except importlib.metadata.PackageNotFoundError:
        return None
