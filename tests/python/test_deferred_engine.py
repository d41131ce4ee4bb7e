# SPDX-License-Identifier: Apache-2.0
"""The engine makes of recorded steps what the program makes."""

from __future__ import annotations

from typing import Any, Callable, Dict, List

import deferred_cases as cases
import images
import pytest

torch = cases.torch
np = cases.np

import feedline  # noqa: E402
import test_deferred_programs as programs  # noqa: E402
from feedline._library import lib  # noqa: E402
from feedline.deferred import Recorder, deferred_of, pack  # noqa: E402
from feedline.deferred.canvas import one_sample  # noqa: E402

files = programs.files


def engine_made(found: List[Any]) -> List[bytes]:
    """The memory of each, as the engine fills it."""
    outs = [bytearray(one.nbytes) for one in found]
    places = [np.frombuffer(out, np.uint8).ctypes.data for out in outs]

    def record(call: Any, address: int) -> int:
        at = call.index
        every = one_sample(found[at], places[at])
        memory, images_at = pack(*every)
        assert memory  # which is kept until it has been read
        return int(lib.read_recorded(address, images_at, len(every[0])))

    dataset = feedline.Dataset.recorded(record, len(found))
    with feedline.Loader(
        dataset, feedline.Pipeline("none"), batch_size=4, epochs=1
    ) as loader:
        for _ in loader:
            pass
    return [bytes(out) for out in outs]


def memory_of(found: Any, real: Any) -> bytes:
    """What the memory of a real one has, in the engine's order."""
    if isinstance(real, torch.Tensor):
        plain = real.as_subclass(torch.Tensor).contiguous()
        return bytes(plain.view(torch.uint8).numpy().tobytes())
    return bytes(np.ascontiguousarray(np.asarray(real)).tobytes())


def check(runs: List[Callable[[], Any]]) -> None:
    found = []
    for n, run in enumerate(runs):
        cases.seed(n)
        for leaf in cases.leaves(Recorder().run(run)):
            one = deferred_of(leaf)
            if one is not None:
                found.append((one, n))
    if not found:  # none of them is deferred to the end
        return
    made = engine_made([one for one, _ in found])
    for (one, n), memory in zip(found, made):
        steps = one.steps
        want = memory_of(one, one.real())
        assert memory == want, (n, [s[:2] for s in steps], one.source.path)


def each(files: Dict[str, str], run: Callable[[str], Any]) -> List[Any]:
    return [lambda path=path: run(path) for path in files.values()]


@pytest.mark.parametrize("name", programs.KEPT)
def test_images(name: str, files: Dict[str, str]) -> None:
    method = programs.KEPT[name]
    check(each(files, lambda path: method(programs.rgb(path))))


@pytest.mark.parametrize("name", programs.KEPT)
def test_images_as_they_are_opened(name: str, files: Dict[str, str]) -> None:
    def run(path: str) -> Any:
        try:
            return programs.KEPT[name](images.Image.open(path))
        except Exception:  # of this mode Pillow makes none
            return None

    check(each(files, run))


@pytest.mark.parametrize("name", programs.TENSORS)
def test_tensors(name: str, files: Dict[str, str]) -> None:
    method = programs.TENSORS[name]
    check(each(files, lambda path: method(programs.rgb(path))))


@pytest.mark.parametrize("name", programs.CHAINS)
def test_chains(name: str, files: Dict[str, str]) -> None:
    chain = programs.CHAINS[name]
    floats = programs.to_floats(chain)
    check(
        each(files, lambda path: chain(programs.rgb(path)))
        + each(files, lambda path: floats(programs.rgb(path)))
    )


@pytest.mark.parametrize("name", programs.v2_of_tensors())
def test_v2_of_tensors(name: str, files: Dict[str, str]) -> None:
    chain = programs.v2_of_tensors()[name]

    def run(path: str) -> Any:
        return chain(programs.F2.to_image(programs.rgb(path)))

    check(each(files, run))


@pytest.mark.parametrize("program", programs.PROGRAMS, ids=lambda p: p.__name__)
def test_programs(program: Any, files: Dict[str, str]) -> None:
    check(each(files, program))
