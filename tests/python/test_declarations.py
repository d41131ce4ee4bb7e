# SPDX-License-Identifier: Apache-2.0
"""python/feedline/_c.py agrees with the headers.

It is the output of python/make_c.py, which is run again here. What that script
makes of the headers is then compared with what a C++ compiler makes of them: a
program takes each function, member and constant apart with templates and prints
its type. The last tests put a wrong declaration in, to show that it is found.
"""

from __future__ import annotations

import ctypes
import os
import re
import runpy
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any, Dict, Iterator, List, Tuple

import pytest

from feedline import _c

ROOT = Path(__file__).resolve().parents[2]
HEADERS = sorted((ROOT / "include" / "feedline").glob("*.h"))
MAKE_C = ROOT / "python" / "make_c.py"

STRUCTS = {
    name: kind
    for name, kind in vars(_c).items()
    if isinstance(kind, type)
    and issubclass(kind, ctypes.Structure)
    and hasattr(kind, "_fields_")
}

# What a type is made of, as text: "u4" is an unsigned integer of 4 bytes,
# "*i8" a pointer to a signed one of 8, "a4 i8" four of these in a row.
REFLECTION = r"""
#include <cstddef>
#include <cstdio>
#include <string>
#include <type_traits>
template <class T> struct name_of {
    static std::string text()
    {
        std::string kind = std::is_floating_point<T>::value ? "f"
                           : std::is_enum<T>::value         ? "e"
                           : std::is_class<T>::value        ? "s"
                           : std::is_signed<T>::value       ? "i"
                                                            : "u";
        return kind + std::to_string(sizeof(T));
    }
};
template <> struct name_of<void> {
    static std::string text() { return "v"; }
};
template <> struct name_of<char> {
    static std::string text() { return "c"; }
};
OPAQUE
template <class T> struct name_of<T &> : name_of<T> {}; // of x->member
template <class T> struct name_of<const T> : name_of<T> {};
template <class T> struct name_of<T *> {
    static std::string text() { return "*" + name_of<T>::text(); }
};
template <class T, size_t n> struct name_of<T[n]> {
    static std::string text()
    {
        return "a" + std::to_string(n) + " " + name_of<T>::text();
    }
};
template <class T, size_t n> struct name_of<const T[n]> : name_of<T[n]> {};
template <class R, class... A> struct name_of<R(A...)> {
    static std::string text()
    {
        std::string parts[] = {name_of<R>::text(), name_of<A>::text()...};
        std::string all = "(";
        for (const std::string &part : parts)
            all += part + ",";
        return all + ")";
    }
};
template <class T> void show(const char *what, const char *name, long at)
{
    std::printf("%s %s %ld %s\n", what, name, at, name_of<T>::text().c_str());
}
"""


# ---- What ctypes has --------------------------------------------------------

PLAIN = {
    None: "v",
    ctypes.c_void_p: "*v",
    ctypes.c_char_p: "*c",
    ctypes.c_char: "c",
    ctypes.c_double: "f8",
    ctypes.c_float: "f4",
    ctypes.c_int32: "i4",
    ctypes.c_int64: "i8",
    ctypes.c_uint8: "u1",
    ctypes.c_uint32: "u4",
    ctypes.c_uint64: "u8",
}


def text_of(kind: Any) -> str:
    """A type of ctypes in the words of the program above."""
    if kind in PLAIN:
        return PLAIN[kind]
    if issubclass(kind, ctypes.Structure):
        return "s%d" % ctypes.sizeof(kind)
    if issubclass(kind, ctypes.Array):
        return "a%d %s" % (kind._length_, text_of(kind._type_))
    if issubclass(kind, ctypes._Pointer):
        return "*" + text_of(kind._type_)
    if issubclass(kind, ctypes._CFuncPtr):
        return "*" + signature_of(kind._restype_, kind._argtypes_)
    raise AssertionError("%r is a type that this test does not know" % kind)


def signature_of(result: Any, arguments: Any) -> str:
    parts = [text_of(result)] + [text_of(kind) for kind in arguments]
    return "(%s)" % "".join(part + "," for part in parts)


def members_of(struct: Any) -> Iterator[Tuple[str, int, str]]:
    """Name, offset and type of each member."""
    for name, kind in struct._fields_:
        yield name, getattr(struct, name).offset, text_of(kind)


def constants() -> Dict[str, int]:
    return {
        name: value
        for name, value in vars(_c).items()
        if re.fullmatch("[A-Z][A-Z0-9_]*", name) and isinstance(value, int)
    }


# ---- What the headers have --------------------------------------------------


def header_text() -> str:
    texts = [path.read_text(encoding="utf-8") for path in HEADERS]
    return re.sub(r"/\*.*?\*/", "", "\n".join(texts), flags=re.S)


def opaque_types() -> str:
    """Handles are addresses to ctypes: void, one level down."""
    names = re.findall(
        r"^typedef struct feedline_\w+ (feedline_\w+);", header_text(), re.M
    )
    return "\n".join(
        "template <> struct name_of<%s> {"
        ' static std::string text() { return "v"; } };' % name
        for name in names
    )


def program() -> str:
    lines = ["#include <feedline/%s>" % path.name for path in HEADERS]
    lines.append(REFLECTION.replace("OPAQUE", opaque_types()))
    lines.append("int main() {")
    for name in sorted(_c.FUNCTIONS):
        lines.append(
            'show<decltype(feedline_%s)>("function", "%s", 0);' % (name, name)
        )
    for name, struct in sorted(STRUCTS.items()):
        full = "feedline_" + name
        # A struct has the name of a function now and then.
        lines.append("{ typedef struct %s type;" % full)
        lines.append('show<type>("struct", "%s", (long)sizeof(type));' % name)
        for member, _, _ in members_of(struct):
            lines.append(
                'show<decltype(((type *)0)->%s)>("member", "%s.%s", '
                "(long)offsetof(type, %s));" % (member, name, member, member)
            )
        lines.append("}")
    for name in sorted(constants()):
        lines.append(
            'show<int>("constant", "%s", (long)FEEDLINE_%s);' % (name, name)
        )
    lines.append("}")
    return "\n".join(lines)


Answers = Dict[Tuple[str, str], Tuple[int, str]]


@pytest.fixture(scope="module")
def answers(tmp_path_factory: pytest.TempPathFactory) -> Answers:
    compiler = os.environ.get("CXX") or "g++"
    if not shutil.which(compiler):
        pytest.skip("no C++ compiler: %s" % compiler)
    if not HEADERS:
        pytest.skip("the headers are not here")
    folder = tmp_path_factory.mktemp("declarations")
    source, binary = folder / "declarations.cpp", folder / "declarations"
    source.write_text(program())
    made = subprocess.run(
        [compiler, "-std=c++11", "-w", "-I", str(ROOT / "include")]
        + ["-Wno-invalid-offsetof", str(source), "-c", "-o"]
        + [str(binary) + ".o"],
        stderr=subprocess.PIPE,
        text=True,
    )
    assert made.returncode == 0, made.stderr[:4000]
    # decltype of a function does not call it, so nothing has to be linked but
    # what the program itself needs.
    subprocess.run(
        [compiler, str(binary) + ".o", "-o", str(binary)], check=True
    )
    out = subprocess.run([str(binary)], check=True, stdout=subprocess.PIPE)
    found: Answers = {}
    for line in out.stdout.decode().splitlines():
        what, name, number, text = line.split(" ", 3)
        found[what, name] = (int(number), text)
    return found


# ---- Comparing --------------------------------------------------------------


def same(ours: str, theirs: str) -> bool:
    """Equal; an address (c_void_p) may stand for any pointer."""
    if ours == theirs:
        return True
    pattern = re.escape(ours).replace(re.escape("*v"), r"\*[^,()]+")
    return re.fullmatch(pattern, theirs) is not None


def differences(answers: Answers) -> List[str]:
    faults = []
    for name, (result, arguments) in _c.FUNCTIONS.items():
        ours = signature_of(result, arguments)
        theirs = answers["function", name][1]
        if not same(ours, theirs):
            faults.append("feedline_%s: %s, C %s" % (name, ours, theirs))
    for name, struct in STRUCTS.items():
        size = answers["struct", name][0]
        if ctypes.sizeof(struct) != size:
            faults.append(
                "%s: %d bytes, C %d" % (name, ctypes.sizeof(struct), size)
            )
        for member, offset, kind in members_of(struct):
            at, theirs = answers["member", "%s.%s" % (name, member)]
            if at != offset or not same(kind, theirs):
                faults.append(
                    "%s.%s: %s at %d, C %s at %d"
                    % (name, member, kind, offset, theirs, at)
                )
    for name, value in constants().items():
        if answers["constant", name][0] != value:
            faults.append("%s is not %d" % (name, value))
    return faults


def test_everything_is_as_in_the_headers(answers: Answers) -> None:
    assert differences(answers) == []


def test_it_is_made_from_these_headers() -> None:
    made = subprocess.run(
        [sys.executable, str(MAKE_C), "--check"], stdout=subprocess.PIPE
    )
    assert made.returncode == 0, made.stdout.decode()


def test_option_types_are_made_from_this_library() -> None:
    script = MAKE_C.with_name("make_option_types.py")
    made = subprocess.run(
        [sys.executable, str(script), "--check"], stdout=subprocess.PIPE
    )
    assert made.returncode == 0, made.stdout.decode()


def test_what_is_declared_is_exported() -> None:
    lines = (ROOT / "tests" / "abi" / "symbols.txt").read_text().split("\n")
    assert {"feedline_" + name for name in _c.FUNCTIONS} <= set(lines)


@pytest.mark.parametrize(
    "text",
    [
        "FEEDLINE_API int32_t feedline_x(long n);",
        "FEEDLINE_API int32_t feedline_x(uint32_t);",
        "struct feedline_x { uint32_t struct_size; long n; };",
        "union feedline_x { uint32_t a; };",
        "extern int feedline_x;",
    ],
)
def test_a_declaration_of_a_new_kind_is_an_error(text: str) -> None:
    script = runpy.run_path(str(MAKE_C))
    with pytest.raises(script["NotUnderstood"]):
        script["Headers"]().read(text)


def test_structs_of_the_table_set_their_size() -> None:
    for name, struct in STRUCTS.items():
        calls = ("op_call", "read_call")  # the library's own
        if struct._fields_[0][0] == "struct_size" and name not in calls:
            assert struct().struct_size == ctypes.sizeof(struct), name


@pytest.mark.parametrize(
    "name, wrong",
    [
        ("loader_next", (ctypes.c_int32, (ctypes.c_void_p, ctypes.c_int64))),
        ("loader_start", (ctypes.c_int32, (ctypes.c_void_p, ctypes.c_int64))),
        ("version", (ctypes.c_int32, ())),
        ("device_count", (ctypes.c_uint32, ())),
        (
            "loader_get_stats",
            (ctypes.c_int32, (ctypes.c_void_p, ctypes.c_uint64)),
        ),
    ],
    ids=["too few", "signed", "result", "unsigned", "no pointer"],
)
def test_a_wrong_function_is_seen(
    answers: Answers, monkeypatch: pytest.MonkeyPatch, name: str, wrong: Any
) -> None:
    monkeypatch.setitem(_c.FUNCTIONS, name, wrong)
    (fault,) = differences(answers)
    assert "feedline_%s:" % name in fault


def changed(struct: Any, fields: Any) -> Any:
    return type(struct.__name__, (ctypes.Structure,), {"_fields_": fields})


def test_a_wrong_struct_is_seen(
    answers: Answers, monkeypatch: pytest.MonkeyPatch
) -> None:
    right = list(_c.failure._fields_)
    swapped = [right[0], right[1], right[3], right[2]] + right[4:]
    kind = right[:1] + [("status", ctypes.c_uint32)] + right[2:]
    for fields in (swapped, right[:-1], kind):
        wrong = changed(_c.failure, fields)
        monkeypatch.setitem(STRUCTS, "failure", wrong)
        assert any("failure" in fault for fault in differences(answers))


def test_a_wrong_number_is_seen(
    answers: Answers, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_c, "EDECODE", -6)
    assert differences(answers) == ["EDECODE is not -6"]
