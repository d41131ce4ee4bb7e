# SPDX-License-Identifier: Apache-2.0
"""Functions of the user's, known by what they are compiled to.

A function may do anything, but many are one of a few lines that tutorials and
reference scripts show. One is such a line if its instructions are, whatever its
names; it is not called.
"""

from __future__ import annotations

import dis
import sys
from dataclasses import dataclass
from types import CodeType, FunctionType
from typing import Any, Callable, Dict, Generic, Iterable, Iterator, List
from typing import Mapping, Optional, Tuple, TypeVar

from .callables import MISSING, Plain, plain, stored, value_of

__all__ = ["MISSING", "Forms", "Known", "Names", "value_of"]

T = TypeVar("T")
Names = Dict[str, Any]

# Parameters of forms that the caller gives; others are bound beforehand.
_INPUTS = ("x_", "y_", "b_")
# Of functions that hand everything on to the next: they go round in a circle.
_LONGEST = 16


@dataclass
class Known(Generic[T]):
    """What a function means, and what it calls the names of the form."""

    meaning: T
    names: Names
    plain: Plain

    def value(self, name: str) -> Any:
        """What a name of the form stands for, now."""
        return self.plain.value(self.names[name])

    def attribute(self, name: str) -> Any:
        """What an attribute of `self_` is, as it was stored."""
        return stored(self.value("self_"), self.names[name])


class Forms(Generic[T]):
    """Functions that are known: sources that define `f`, and what each means.

    Names with a "_" at their end stand for any; modules: what some of these
    have to be, "module" or "module:name in it". Of the parameters of `f`, x_,
    y_ and b_ are the caller's; a partial, method or default has to have bound
    the others.
    """

    def __init__(
        self,
        sources: Callable[[], Iterable[Tuple[str, T]]],
        modules: Optional[Mapping[str, str]] = None,
    ) -> None:
        self._sources = sources
        self._modules = modules or {}
        self._forms: List[Tuple[CodeType, T]] = []

    def known(self, function: Any) -> Iterator[Known[T]]:
        """All that a callable means, or what it only hands its arguments to."""
        for _ in range(_LONGEST):
            found = plain(function)
            if found is None:
                return
            yield from self.matches(found)
            _, function = _handed_to(found)

    def like(self, function: Any) -> Iterator[Tuple[T, Names]]:
        """What `known` finds for a plain function; nothing for others."""
        found = plain(function) if type(function) is FunctionType else None
        if found is not None:
            for known in self.matches(found):
                yield known.meaning, known.names

    def matches(self, found: Plain) -> Iterator[Known[T]]:
        for form, meaning in self._compiled():
            names: Names = {}
            if not _alike(form, found.function.__code__, names):
                continue
            inputs = [names[n] for n in _arguments(form) if n in _INPUTS]
            if inputs == list(found.inputs) and all(
                found.value(names[name]) is _named(module)
                for name, module in self._modules.items()
                if name in names
            ):
                yield Known(meaning, names, found)

    def _compiled(self) -> List[Tuple[CodeType, T]]:
        """With and without the modules imported in the same file: Python
        compiles calls of what it sees imported in another way."""
        if not self._forms:
            imports = [f"import sys as {name}\n" for name in self._modules]
            for text, meaning in self._sources():
                for before in dict.fromkeys(("".join(imports), "")):
                    self._forms.append((_code(before + text), meaning))
        return self._forms


def _named(what: str) -> Any:
    """A module, or something in it; what nobody has where it is not there."""
    module, _, name = what.partition(":")
    found = sys.modules.get(module, _NOBODYS)
    return getattr(found, name, _NOBODYS) if name else found


_NOBODYS = object()


def _code(source: str) -> CodeType:
    made: Dict[str, Any] = {}
    exec(source, made)
    code: CodeType = made["f"].__code__
    return code


def _alike(wanted: CodeType, code: CodeType, names: Names) -> bool:
    """Whether these are the same instructions; notes what the names are."""
    if (
        len(wanted.co_code) != len(code.co_code)
        or wanted.co_flags & _FLAGS != code.co_flags & _FLAGS
        or wanted.co_argcount != code.co_argcount
        or wanted.co_kwonlyargcount != code.co_kwonlyargcount
        or not _same(_arguments(wanted), _arguments(code), names)
    ):
        return False
    ours, theirs = (list(dis.get_instructions(some)) for some in (wanted, code))
    return len(ours) == len(theirs) and all(
        a.opcode == b.opcode and _same(a.argval, b.argval, names)
        for a, b in zip(ours, theirs)
    )


def _arguments(code: CodeType) -> Tuple[str, ...]:
    return code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]


# All but CO_NESTED, and what its module imported from __future__.
_FLAGS = 0xFFEF


def _same(wanted: Any, found: Any, names: Names) -> bool:
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


# ---- Functions of one sample ------------------------------------------------

# What a function does -> lines that do it; {mode}: "RGB", somehow.
_CONVERT = "x_.convert({mode})"
_LINES: Dict[str, Tuple[str, ...]] = {
    "same": ("return x_",),
    "rgb": (
        f"return {_CONVERT}",
        f"x_ = {_CONVERT}\n return x_",
        f"return {_CONVERT} if x_.mode != {{mode}} else x_",
        f"return x_ if x_.mode == {{mode}} else {_CONVERT}",
        f"if x_.mode != {{mode}}:\n  x_ = {_CONVERT}\n return x_",
        f"if x_.mode != {{mode}}:\n  return {_CONVERT}\n return x_",
        f"if x_.mode == {{mode}}:\n  return x_\n return {_CONVERT}",
    ),
    "float16": ("return x_.half()", "return x_.to(torch_.float16)"),
    "bfloat16": ("return x_.bfloat16()", "return x_.to(torch_.bfloat16)"),
}
# The parameters, and the mode.
_ARGUMENTS = (
    ("x_", '"RGB"'),
    ("self_, x_", '"RGB"'),
    ("self_, x_", "self_.mode_"),
    ("x_, mode_", "mode_"),
)


def _of_one_sample() -> Iterator[Tuple[str, str]]:
    for what, lines in _LINES.items():
        for line in lines:
            for parameters, mode in _ARGUMENTS:
                body = line.format(mode=mode)
                yield f"def f({parameters}):\n {body}", what


_ON_SAMPLES = Forms(_of_one_sample, {"torch_": "torch"})


def what_it_does(function: Any) -> Optional[str]:
    """A key of _LINES; None for a callable that is not known."""
    for found in _ON_SAMPLES.known(function):
        mode: Any = "RGB"
        if "mode_" in found.names:
            of_object = "self_" in found.names
            mode = (found.attribute if of_object else found.value)("mode_")
        if type(mode) is str and mode == "RGB":
            return found.meaning
    return None


# ---- Loaders of files -------------------------------------------------------


def _of_paths() -> Iterator[Tuple[str, None]]:
    rgb = [line.format(mode='"RGB"') for line in _LINES["rgb"]]
    whole = 'Image_.open({}).convert("RGB")'
    bodies = ["return " + whole.format("x_")]
    bodies.append(f"i_ = {whole.format('x_')}\n return i_")
    opened = 'with open_(x_, "rb") as f_:\n  '
    bodies.append(opened + "return " + whole.format("f_"))
    for line in rgb:
        line = line.replace("x_", "i_")
        bodies.append(f"i_ = Image_.open(x_)\n {line}")
        deep = line.replace("\n", "\n ")
        bodies.append(f"with Image_.open(x_) as i_:\n  {deep}")
        bodies.append(f"{opened}i_ = Image_.open(f_)\n  {deep}")
        deeper = deep.replace("\n", "\n ")
        bodies.append(f"{opened}with Image_.open(f_) as i_:\n   {deeper}")
    for body in bodies:
        for parameters in ("x_", "self_, x_"):
            text = f"def f({parameters}):\n {body}"
            yield text, None
            yield text.replace("Image_", "PIL_.Image"), None


_ON_PATHS = Forms(
    _of_paths,
    {"Image_": "PIL.Image", "PIL_": "PIL", "open_": "builtins:open"},
)


def loads_rgb(function: Any) -> bool:
    """Whether it opens a file with Pillow and makes an RGB image of it."""
    return any(True for _ in _ON_PATHS.known(function))


# ---- Functions that only hand on --------------------------------------------
#
# lambda x: transform(x), what is left of a decorator that does nothing, and
# classes in which torchvision's reference scripts keep their chains:
#
#     class ClassificationPresetTrain:
#         def __init__(self, ...):
#             self.transforms = Compose(...)
#         def __call__(self, img):
#             return self.transforms(img)
#
# or with a target beside the image.

_PARAMETERS = ("x_", "x_, inner_", "inner_, x_")


def _handing_on() -> Iterator[Tuple[str, None]]:
    for given, call in [(p, "inner_(x_)") for p in _PARAMETERS] + [
        ("self_, x_", "self_.inner_(x_)"),
        ("self_, x_, y_", "self_.inner_(x_, y_)"),
        ("x_, y_", "inner_(x_, y_)"),
        ("*a_", "inner_(*a_)"),
        ("*a_, **k_", "inner_(*a_, **k_)"),
    ]:
        for line in (f"return {call}", f"r_ = {call}\n return r_"):
            yield f"def f({given}):\n {line}", None
            if "inner_" not in given:
                inside = f"def f({given}):\n  {line}".replace("\n r", "\n  r")
                yield f"def o(inner_):\n {inside}\n return f\nf = o(0)", None


_HANDING_ON = Forms(_handing_on)


def _handed_to(found: Plain) -> Tuple[str, Any]:
    """The attribute of the object, if it is one, and what is called."""
    for known in _HANDING_ON.matches(found):
        if "self_" in known.names:
            return known.names["inner_"], known.attribute("inner_")
        return "", known.value("inner_")
    return "", None


def handed_to(function: Any, inputs: int = 1) -> Tuple[str, Any]:
    """What a callable calls with its arguments, so many, and returns the result
    of, and the attribute that has it, or ""; None where it does anything else.
    """
    found = plain(function)
    if found is None or len(found.inputs) > inputs:
        return "", None
    name, inner = _handed_to(found)
    usable = callable(inner) and inner is not function
    return name, inner if usable else None


def in_the_end(function: Any) -> Any:
    """What is called with the very arguments that a callable is called with."""
    for _ in range(_LONGEST):
        _, inner = handed_to(function)
        if inner is None:
            break
        function = inner
    found = plain(function)
    return function if found is None or found.bound else found.function
