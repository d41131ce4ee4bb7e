#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes feedline/_c.py from the public headers, include/feedline/*.h.

The headers are regular, so a few patterns are enough to read them; anything
that none of them matches is an error. Left out is what neither the package nor
its tests or a benchmark name; a pointer to a struct that is, is an address. The
result is committed: nobody needs the headers to install the package.

    python/make_c.py             write it
    python/make_c.py --check     compare it with the headers
"""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Dict, Iterator, List, Set, Tuple

ROOT = Path(__file__).resolve().parents[1]
HEADERS = ROOT / "include" / "feedline"
PACKAGE = ROOT / "python" / "feedline"
TARGET = PACKAGE / "_c.py"
COLUMNS = 80
INDENT = "    "

HEAD = '''\
# SPDX-License-Identifier: Apache-2.0
# Made by python/make_c.py from include/feedline/*.h.
"""The declarations of the C headers, for ctypes.

Names are those of the headers without the prefix; what is not used is left out.
FUNCTIONS has the result and the arguments of each function. Handles, untyped
pointers, pointers to bytes and to structs that are left out are c_void_p, which
takes an address as an int.
"""

from __future__ import annotations

import ctypes
from ctypes import CFUNCTYPE, POINTER, Structure, c_char, c_char_p, c_double
from ctypes import c_int, c_int32, c_int64, c_uint32, c_uint64, c_void_p
from typing import Any, Dict, Tuple
'''

SIZED = '''

class SizedStructure(Structure):
    """A struct that begins with its own size, which is filled in."""

    def __init__(self, *values: Any, **members: Any) -> None:
        super().__init__(ctypes.sizeof(self), *values, **members)
'''

SCALARS = {
    "char": "c_char",
    "double": "c_double",
    "float": "ctypes.c_float",
    "int": "c_int",
    "int32_t": "c_int32",
    "int64_t": "c_int64",
    "uint32_t": "c_uint32",
    "uint64_t": "c_uint64",
    "uint8_t": "ctypes.c_uint8",
}
# Given as an address: op_call.from_address costs less than a pointer object,
# and images that were packed are bytes.
ADDRESSES = {"op_call", "read_call", "recorded_image"}
# Filled in by the library alone, which sets the size of its own struct.
UNSIZED = {"op_call", "read_call"}


class NotUnderstood(Exception):
    """A declaration that none of the patterns matches."""


# ---- What is used ------------------------------------------------------------

STRUCT = r"struct feedline_(\w+) \{((?:[^{}]|\{[^{}]*\})*)\};"


def headers() -> List[Path]:
    """In the order in which a program may include them."""
    first = HEADERS / "feedline.h"
    return [first] + sorted(set(HEADERS.glob("*.h")) - {first})


def code_of(path: Path) -> str:
    """Without comments, lines joined where the preprocessor would."""
    text = path.read_text(encoding="utf-8")
    text = re.sub(r"/\*.*?\*/", " ", text, flags=re.S)
    return re.sub(r"\\\n", " ", text)


def sources() -> str:
    """The package, its tests and the benchmarks."""
    folders = (PACKAGE, ROOT / "tests", ROOT / "bench")
    paths = {path for folder in folders for path in folder.rglob("*.py")}
    texts = (path.read_text(encoding="utf-8") for path in paths - {TARGET})
    return "".join(texts)


def used_structs() -> Set[str]:
    """Those that are named, and what is in them."""
    bodies = dict(re.findall(STRUCT, "".join(map(code_of, headers()))))
    found = set(re.findall(r"\b_c\.(\w+)", SOURCES)) & set(bodies)
    todo = list(found)
    while todo:
        inner = re.findall(r"struct feedline_(\w+) \w", bodies[todo.pop()])
        todo += set(inner) - found
        found.update(inner)
    return found


SOURCES = sources()
USED = used_structs()


def is_named(name: str, where: str = "") -> bool:
    """Whether it is a word of the sources, behind `where`."""
    return bool(re.search(r"\b%s%s\b" % (where, name), SOURCES))


# ---- Types ------------------------------------------------------------------


def pointee(kind: str) -> str:
    """What `kind *` is; kind: a C type without const."""
    if kind == "char":
        return "c_char_p"
    struct = re.fullmatch(r"struct feedline_(\w+)", kind)
    if struct and struct[1] in USED - ADDRESSES:
        return "POINTER(%s)" % struct[1]
    if struct or kind in ("void", "uint8_t") or kind.startswith("feedline_"):
        return "c_void_p"
    return "POINTER(%s)" % value_type(kind)


def value_type(kind: str) -> str:
    """What the C type is, without pointers."""
    struct = re.fullmatch(r"struct feedline_(\w+)", kind)
    if struct:
        return struct[1]
    if kind not in SCALARS:
        raise NotUnderstood("the type %r" % kind)
    return SCALARS[kind]


def type_of(text: str) -> str:
    """The type of ctypes for a C type such as "const char *const *"."""
    text = re.sub(r"\bconst\b", "", text)
    stars = text.count("*")
    kind = " ".join(text.replace("*", " ").split())
    if not stars:
        return "None" if kind == "void" else value_type(kind)
    found = pointee(kind)
    for _ in range(stars - 1):
        found = "POINTER(%s)" % found
    return found


def callback(result: str, arguments: str) -> str:
    """The type of a pointer to a function; its arguments have no names."""
    parts = [type_of(part) for part in arguments.split(",")]
    return "CFUNCTYPE(%s)" % ", ".join([type_of(result)] + parts)


CALLBACK = re.compile(r"([^()]+?)\(\*(\w+)\)\((.*)\)")


def array(kind: str, sizes: str) -> str:
    """`kind` with the sizes behind a name, "[8][128]"."""
    for size in reversed(re.findall(r"\[(\w+)\]", sizes)):
        size = size.replace("FEEDLINE_", "")
        inner = "(%s)" % kind if "*" in kind else kind
        kind = "%s * %s" % (inner, size)
    return kind


# ---- Members and arguments --------------------------------------------------


def declared(text: str) -> Iterator[Tuple[str, str]]:
    """Names and types of one declaration, "int32_t x, *y, z[4]"."""
    found = CALLBACK.fullmatch(text)
    if found:
        arguments = re.sub(r"\*\w+", "*", found[3])
        yield found[2], callback(found[1], arguments)
        return
    found = re.fullmatch(r"(.+)\(\*(\w+)\)((?:\[\w+\])+)", text)
    if found:  # a pointer to an array
        yield found[2], "POINTER(%s)" % array(type_of(found[1]), found[3])
        return
    found = re.fullmatch(r"((?:const )?(?:struct )?\w+)(\W.*)", text)
    if not found:
        raise NotUnderstood("the declaration %r" % text)
    for part in found[2].split(","):
        name = re.fullmatch(r"\s*((?:\*|const\b|\s)*)(\w+)(\S*)", part)
        if not name:
            raise NotUnderstood("the declaration %r" % text)
        yield name[2], array(type_of(found[1] + " " + name[1]), name[3])


def arguments_of(text: str) -> List[str]:
    """The types of a parameter list; callbacks may be among them."""
    if text == "void":
        return []
    parts = re.split(r",\s*(?![^()]*\))", text)
    return [kind for part in parts for _, kind in declared(part)]


# ---- Output -----------------------------------------------------------------


def laid_out(prefix: str, node: object, indent: str, end: str) -> str:
    """A tuple or list of texts as black formats it."""
    line = "%s%s%s%s" % (indent, prefix, flat(node), end)
    if len(line) <= COLUMNS or isinstance(node, str):
        return line + "\n"
    open_, close = "()" if isinstance(node, tuple) else "[]"
    assert isinstance(node, (tuple, list))
    parts = [laid_out("", part, indent + INDENT, ",") for part in node]
    return "".join(
        ["%s%s%s\n" % (indent, prefix, open_), *parts]
        + ["%s%s%s\n" % (indent, close, end)]
    )


def flat(node: object) -> str:
    if isinstance(node, tuple):
        inner = ", ".join(map(flat, node))
        return "(%s%s)" % (inner, "," if len(node) == 1 else "")
    if isinstance(node, list):
        return "[%s]" % ", ".join(map(flat, node))
    return str(node)


def struct_text(name: str, members: List[Tuple[str, str]]) -> str:
    sized = members[0][0] == "struct_size" and name not in UNSIZED
    base = "SizedStructure" if sized else "Structure"
    lines = ["\n\nclass %s(%s):\n" % (name, base), "    _fields_ = [\n"]
    for member, kind in members:
        lines.append(laid_out("", ('"%s"' % member, kind), INDENT * 2, ","))
    return "".join(lines) + "    ]\n"


# ---- Headers ----------------------------------------------------------------


class Headers:
    """What the headers declare, in their order."""

    def __init__(self) -> None:
        self.constants: List[Tuple[str, str]] = []
        self.structs: List[str] = []  # their text in Python
        self.callbacks: Dict[str, str] = {}
        self.functions: List[Tuple[str, object]] = []

    def read(self, text: str) -> None:
        statuses = re.findall(r"\bX\((\w+),\s*(-?\d+),", text)
        self.constants += statuses
        for line in re.findall(r"^#define (FEEDLINE_\w+) +(.+)$", text, re.M):
            self.define(*line)
        text = re.sub(r"^\s*#.*$", "", text, flags=re.M)
        text = re.sub(r'extern "C" \{', "", text)
        text = re.sub(r"\}\s*\Z", "", text)
        while text.strip():
            text = self.declaration(text.lstrip())

    def define(self, name: str, value: str) -> None:
        number = re.fullmatch(r"(0x[0-9a-f]+|\d+)u?", value.strip())
        if number:
            self.constants.append((name[len("FEEDLINE_") :], number[1]))

    def declaration(self, text: str) -> str:
        """Reads the first declaration; returns what follows it."""
        for pattern, take in (
            (r"typedef struct (\w+) \1;", self.skip),
            (r"enum (\w+) \{(.*?)\};", self.enum),
            (STRUCT, self.struct),
            (r"FEEDLINE_API ([^;]*?)\bfeedline_(\w+)\((.*?)\);", self.function),
        ):
            found = re.match(pattern, text, re.S)
            if found:
                take(*(" ".join(part.split()) for part in found.groups()))
                return text[found.end() :]
        raise NotUnderstood(text.splitlines()[0])

    def skip(self, name: str) -> None:
        pass  # a handle: an address

    def enum(self, name: str, body: str) -> None:
        value = -1
        for part in filter(None, (item.strip() for item in body.split(","))):
            constant, _, number = part.partition(" = ")
            value = int(number, 0) if number else value + 1
            if not constant.endswith("_FORCE_INT32"):
                self.constants.append(
                    (constant[len("FEEDLINE_") :], str(value))
                )

    def struct(self, name: str, body: str) -> None:
        text = struct_text(name, self.members(name, body))
        if name in USED:
            self.structs.append(text)

    def members(self, struct: str, body: str) -> List[Tuple[str, str]]:
        found: List[Tuple[str, str]] = []
        for inner, inner_name, plain in re.findall(
            r"struct \{([^{}]*)\} (\w+);|([^;{}]+);", body
        ):
            if inner:
                found.append(
                    (inner_name, self.inner(struct, inner_name, inner))
                )
            for name, kind in declared(plain.strip()) if plain else ():
                if kind.startswith("CFUNCTYPE"):
                    self.callbacks[name + "_function"] = kind
                    kind = name + "_function"
                found.append((name, kind))
        return found

    def inner(self, struct: str, name: str, body: str) -> str:
        """The struct of a member, which has no name in C: `verdict` of
        feedline_live_stats is live_verdict."""
        kind = "%s_%s" % (struct.split("_")[0], name)
        text = struct_text(kind, self.members(kind, body))
        if struct in USED:
            self.structs.append(text)
        return kind

    def function(self, result: str, name: str, arguments: str) -> None:
        signature = (type_of(result), tuple(arguments_of(arguments)))
        self.functions.append((name, signature))


def module() -> str:
    """The text of _c.py."""
    found = Headers()
    for path in headers():
        try:
            found.read(code_of(path))
        except NotUnderstood as error:
            raise SystemExit("%s: not understood: %s" % (path, error))
    sizes = set(re.findall(r" \* ([A-Z]\w+)", "".join(found.structs)))
    constants = [
        pair
        for pair in found.constants
        if pair[0] in sizes or is_named(pair[0], r"_c\.")
    ]
    parts = [HEAD, "\n"]
    parts += ["%s = %s\n" % pair for pair in constants]
    parts += [SIZED, "\n\n"]
    parts += ["%s = %s\n" % pair for pair in found.callbacks.items()]
    parts += found.structs
    parts += ["\n\nFUNCTIONS: Dict[str, Tuple[Any, Tuple[Any, ...]]] = {\n"]
    for name, signature in found.functions:
        if is_named(name, r'(?:\.|converted\(\s*")'):
            parts.append(laid_out('"%s": ' % name, signature, INDENT, ","))
    return "".join(parts + ["}\n"])


def main() -> int:
    text = module()
    if "--check" not in sys.argv[1:]:
        TARGET.write_text(text, encoding="utf-8")
        return 0
    if TARGET.read_text(encoding="utf-8") == text:
        return 0
    print("%s differs from the headers: run python/make_c.py" % TARGET)
    return 1


if __name__ == "__main__":
    sys.exit(main())
