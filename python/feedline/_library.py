# SPDX-License-Identifier: Apache-2.0
"""Finds libfeedline.so and loads it: `lib` is what the package calls.

Looked for in this order: the file that the environment variable
FEEDLINE_LIBRARY names, the folder of the package (where a wheel has it), then
where the system's loader looks. A library of another interface is refused by
name. Loading it starts no thread and touches no GPU.

There are two ways to call a function:

* `lib.x(...)` releases the interpreter's lock for the call, so other threads
  of the program run while it waits or works;
* `lib.quick.x(...)` keeps it. For calls of less than a microsecond, where
  releasing it means queueing for it again behind every other Python thread, up
  to 5 ms.

Both convert each argument at each call, which is half of what a call takes on
cold caches. `unconverted("x")` takes what `converted("x", ...)` made once.
"""

from __future__ import annotations

import ctypes
import os
from pathlib import Path
from typing import Any, Iterator, List, Tuple

from . import _c

ENVIRONMENT = "FEEDLINE_LIBRARY"
FILE = "libfeedline.so"


class Functions:
    """The functions of one loaded library, without the prefix `feedline_`.

    A function that the library lacks raises NotSupported when it is called: a
    package may be newer than the library it is used with.
    """

    def __init__(self, library: ctypes.CDLL) -> None:
        self._library = library
        self.missing: List[str] = []
        for name, (result, arguments) in _c.FUNCTIONS.items():
            setattr(self, name, self._find(library, name, result, arguments))

    def _find(
        self, library: ctypes.CDLL, name: str, result: Any, arguments: Any
    ) -> Any:
        try:
            # Unlike an attribute, an item is a new object with types of its
            # own.
            function = library["feedline_" + name]
        except AttributeError:
            self.missing.append(name)
            return _missing(str(library._name), name)
        function.restype = result
        function.argtypes = arguments
        return function

    def unconverted(self, name: str) -> Any:
        """The function, for arguments of `converted`; it checks none."""
        return self._find(self._library, name, _c.FUNCTIONS[name][0], None)

    def __getattr__(self, name: str) -> Any:
        raise AttributeError("_c.py has no function feedline_" + name)


def _missing(path: str, name: str) -> Any:
    def refuse(*arguments: Any) -> Any:
        from .errors import NotSupported

        raise NotSupported(
            "%s has no feedline_%s: it is older than this package"
            % (path, name)
        )

    return refuse


def converted(name: str, *values: Any) -> Tuple[Any, ...]:
    """The arguments of any number of calls: `unconverted(name)(*these)`."""
    kinds = _c.FUNCTIONS[name][1]
    return tuple(kind.from_param(value) for kind, value in zip(kinds, values))


class Library(Functions):
    """A loaded library; `quick` has the same functions, see above."""

    def __init__(self, path: str) -> None:
        super().__init__(ctypes.CDLL(path))
        self.path = path
        self.quick = Functions(ctypes.PyDLL(path))


_process = ctypes.PyDLL(None)


def of_process(name: str, result: Any, *arguments: Any) -> Any:
    """A function of the interpreter or the C library, called with the
    interpreter's lock. AttributeError: there is none.

    A new object: the types of ctypes.pythonapi's functions are everybody's.
    """
    function = _process[name]
    function.restype, function.argtypes = result, arguments
    return function


def refuse_subinterpreter() -> None:
    """ImportError in any interpreter of the process but its first.

    The library belongs to the process, and its threads enter Python through
    PyGILState_Ensure, which knows the first interpreter only.
    """
    current = of_process("PyInterpreterState_Get", ctypes.c_void_p)
    number_of = of_process(
        "PyInterpreterState_GetID", ctypes.c_int64, ctypes.c_void_p
    )
    number = number_of(current())
    if number != 0:
        raise ImportError(
            "feedline works in the main interpreter only, and this is "
            "subinterpreter %d: its threads could not call back into it"
            % number
        )


def candidates() -> Iterator[str]:
    """Files to try, the best first."""
    named = os.environ.get(ENVIRONMENT)
    if named:
        yield named
        return
    package = Path(__file__).resolve().parent
    for folder in (package / "lib", package):
        if (folder / FILE).is_file():
            yield str(folder / FILE)
    yield "%s.%d" % (FILE, _c.VERSION_MAJOR)
    yield FILE


def load() -> Library:
    """ImportError: what was tried, and why each did not do."""
    refuse_subinterpreter()
    reasons: List[str] = []
    for path in candidates():
        try:
            library = Library(path)
        except OSError as error:
            reasons.append(str(error))
            continue
        except AttributeError as error:
            reasons.append("%s is no feedline: %s" % (path, error))
            continue
        check_version(library)
        return library
    hint = "%s may name the file" % ENVIRONMENT
    if os.environ.get(ENVIRONMENT):
        hint = "%s names it" % ENVIRONMENT
    raise ImportError(
        "%s cannot be loaded (%s): %s" % (FILE, hint, "; ".join(reasons))
    )


def check_version(library: Library) -> None:
    """Before 1.0 the second number is that of the interface."""
    if "version_number" in library.missing:
        raise ImportError("%s is no feedline library" % library.path)
    number = int(library.version_number())
    theirs = (number >> 16, number >> 8 & 0xFF)
    ours = (_c.VERSION_MAJOR, _c.VERSION_MINOR)
    if theirs != ours:
        raise ImportError(
            "%s is feedline %s and this package needs %d.%d"
            % ((library.path, library.version().decode()) + ours)
        )


lib = load()
