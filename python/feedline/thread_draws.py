# SPDX-License-Identifier: Apache-2.0
"""Random numbers of a Python operation, apart from those of the program.

`random`, `numpy.random` and torch each keep one generator for the whole
process. Operations run on several of the engine's threads, beside each other
and beside the training loop. Drawing from those generators there, an operation
would get numbers that depend on which thread came first, and would take
numbers away from the program. A lock does not help: the program draws without
asking for it.

So each thread draws from generators of its own while it is in an operation,
seeded for the sample:

    random.random()  -- in an operation -->  this thread's, of the sample's seed
                     -- anywhere else ---->  the process's, as ever

For that the functions of these modules are replaced by ones that ask which
thread calls them: once, when the first operation is made that has no `rng`, and
in every module that has imported them by name. Functions of torch that draw get
the generator as an argument (torch_draws.py). Generators are seeded when a call
first draws, so an operation that draws nothing pays 1 us.

Out of reach are the shared generators where they are not used through these
functions: an object that had such a function before (a default argument, an
attribute of a class), `numpy.random.mtrand._rand` itself, as scipy.stats uses
it, and draws inside TorchScript. An operation that needs those takes `rng`.
"""

from __future__ import annotations

import importlib
import os
import random
import sys
import threading
from types import ModuleType
from typing import Any, Callable, Dict, Iterator, Optional, Tuple

from . import replaced

# (module, name of a function, name of the generator's method)
Function = Tuple[ModuleType, str, str]


class _Call(threading.local):
    """The operation that this thread is in."""

    new_seed: Optional[Callable[[], int]] = None  # None: in no operation
    told = False  # it has seeded a generator, or read its state

    def __init__(self) -> None:
        self.seed: Optional[int] = None  # of the sample, once it is needed
        self.seeded: Dict["Library", Any] = {}  # in this call
        self.kept: Dict["Library", Any] = {}  # for the next call


_call = _Call()
_install_lock = threading.Lock()
_installed: Dict[str, "Library"] = {}
_absent = ["random", "numpy", "torch"]  # not installed yet


def _new_lock() -> None:
    global _install_lock
    _install_lock = threading.Lock()


os.register_at_fork(after_in_child=_new_lock)


class Library:
    """One of the modules with a generator for the whole process."""

    call = _call

    def __init__(
        self, make: Callable[[], Any], give_seed: Callable[[Any, int], object]
    ) -> None:
        self._make = make
        self._give_seed = give_seed

    def generator(self) -> Any:
        """That of the operation this thread is in; None if it is in none."""
        call = _call
        if call.new_seed is None:
            return None
        found = call.seeded.get(self)
        if found is None:
            found = call.kept.get(self)
            if found is None:
                found = call.kept[self] = self._make()
            if call.seed is None:
                call.seed = call.new_seed()
            self._give_seed(found, call.seed)
            call.seeded[self] = found
        return found


def run(
    fn: Callable[..., Any],
    image: Any,
    new_seed: Callable[[], int],
    generators: "Optional[Dict[Library, Any]]" = None,
) -> Any:
    """fn(image), with generators of this thread's own.

    new_seed: gives 64 random bits, and is called at most once, if fn draws.
    generators: those to draw from, as they are, where they are given.
    """
    for name in _absent:
        if name in sys.modules:  # since the last call
            install()
            break
    call = _call
    outer = call.new_seed, call.seed, call.seeded, call.told
    call.new_seed, call.seed, call.told = new_seed, None, False
    call.seeded = {} if generators is None else generators
    try:
        return fn(image)
    finally:
        call.new_seed, call.seed, call.seeded, call.told = outer


def told() -> bool:
    """Whether the operation that this thread is in has seeded a generator, or
    read the state of one: two draws may be meant to be the same."""
    return _call.told


def library(name: str) -> "Optional[Library]":
    """That of "random", "numpy" or "torch", where it is loaded."""
    install()
    return _installed.get(name)


# ---- Putting it in place ---------------------------------------------------


def install() -> None:
    """Makes the loaded libraries ask which thread draws. Any thread."""
    with _install_lock:
        _install("random", _python)
        if "numpy" in sys.modules:
            # Newer versions of numpy put this off.
            importlib.import_module("numpy.random")
            _install("numpy", _numpy)
        if hasattr(sys.modules.get("torch"), "overrides"):
            _install("torch", _torch)


def _install(
    name: str, describe: Callable[[], Tuple[Library, Iterator[Function]]]
) -> None:
    if name in _installed:
        return
    library, functions = describe()
    instead = {}
    for module, function, method in functions:
        original = getattr(module, function)
        instead[id(original)] = original, _by_thread(
            library, original, module.__name__, function, method
        )
    replaced.replace_drawing(instead)
    _installed[name] = library
    if name == "torch":
        importlib.import_module(".torch_draws", __package__).install(library)
    _absent.remove(name)


# Methods after which a program knows what comes, or may have it again.
_TELLING = frozenset(
    "manual_seed seed initial_seed get_state set_state getstate "
    "setstate".split()
)


def _by_thread(
    library: Library,
    original: Callable[..., Any],
    module: str,
    name: str,
    method: str,
) -> Callable[..., Any]:
    """`original` outside of operations, `method` of the generator inside."""

    tells = method in _TELLING

    def function(*args: Any, **kwargs: Any) -> Any:
        generator = library.generator()
        if generator is None:
            return original(*args, **kwargs)
        if tells:
            _call.told = True
        return getattr(generator, method)(*args, **kwargs)

    return replaced.disguise(function, original, module, name)


def _bound_to(module: ModuleType, owner: object) -> Iterator[Function]:
    """The functions of a module that are methods of its one generator."""
    for name, value in list(vars(module).items()):
        if getattr(value, "__self__", None) is owner:
            yield module, name, value.__name__


def _python() -> Tuple[Library, Iterator[Function]]:
    shared = getattr(random, "_inst")
    library = Library(random.Random, random.Random.seed)
    return library, _bound_to(random, shared)


def _numpy() -> Tuple[Library, Iterator[Function]]:
    module: Any = sys.modules["numpy.random"]
    shared = module.mtrand._rand

    def functions() -> Iterator[Function]:
        found = set()
        for function in _bound_to(module, shared):
            found.add(function[1])
            yield function
        # Functions that call methods, in some versions of numpy.
        for name, method in (
            ("seed", "seed"),
            ("ranf", "random_sample"),
            ("sample", "random_sample"),
        ):
            if name not in found:
                yield module, name, method

    def give_seed(generator: Any, seed: int) -> None:
        generator.seed(seed & 0xFFFFFFFF)

    return Library(lambda: module.RandomState(0), give_seed), functions()


def _torch() -> Tuple[Library, Iterator[Function]]:
    torch: Any = sys.modules["torch"]

    def give_seed(generator: Any, seed: int) -> None:
        generator.manual_seed(seed & 0x7FFFFFFFFFFFFFFF)

    methods = (
        ("manual_seed", "manual_seed"),
        ("seed", "seed"),
        ("initial_seed", "initial_seed"),
        ("get_rng_state", "get_state"),
        ("set_rng_state", "set_state"),
    )
    # torch.manual_seed is another one than torch.random's once torch.compile's
    # part of torch has been imported.
    functions = [(m, *both) for m in (torch.random, torch) for both in methods]
    return Library(torch.Generator, give_seed), iter(functions)
