# SPDX-License-Identifier: Apache-2.0
"""Functions in Python between the library's operations."""

from __future__ import annotations

import ctypes
import functools
import gc
import sys
import threading
import traceback
import weakref
from typing import Any, Dict, List, Tuple

import pytest

from child_process import check_clean, run_bare

import feedline
from feedline import _c, python_op

numpy = pytest.importorskip("numpy")

COUNT = 16


@pytest.fixture(scope="module")
def pixels() -> Any:
    rng = numpy.random.RandomState(1)
    return rng.randint(0, 256, (COUNT, 6, 10, 3), dtype=numpy.uint8)


def run(pixels: Any, pipeline: feedline.Pipeline, **options: Any) -> Any:
    """A loader over these images."""
    usual = dict(batch_size=4, dtype="u8", layout="nhwc", workers=2)
    data = feedline.Dataset.pixels(pixels)
    return feedline.Loader(data, pipeline, **{**usual, **options})


def epoch(loader: feedline.Loader) -> Any:
    return numpy.concatenate([b.images.numpy().copy() for b in loader])


def invert(image: Any) -> None:
    image[:] = 255 - image


# ---- What a function gets and gives -----------------------------------------


def test_in_place(pixels: Any) -> None:
    loader = run(pixels, feedline.Pipeline().python(invert))
    assert (epoch(loader) == 255 - pixels).all()


def test_a_result(pixels: Any) -> None:
    def mirrored(image: Any) -> Any:
        assert image.dtype == numpy.uint8 and image.shape == (6, 10, 3)
        assert image.flags.writeable
        return image[:, ::-1]

    loader = run(pixels, feedline.Pipeline().python(mirrored))
    assert (epoch(loader) == pixels[:, :, ::-1]).all()


def test_gray_has_one_channel(pixels: Any) -> None:
    shapes = set()
    pipeline = feedline.Pipeline().python(lambda a: shapes.add(a.shape))
    loader = run(pixels[..., :1].copy(), pipeline, channels=1)
    assert (epoch(loader) == pixels[..., :1]).all()
    assert shapes == {(6, 10, 1)}


def test_several_in_their_places(pixels: Any) -> None:
    def add(n: int) -> Any:
        def fn(image: Any) -> None:
            image += numpy.uint8(n)

        return fn

    def double(image: Any) -> Any:
        return image * numpy.uint8(2)

    pipeline = feedline.Pipeline().python(add(3)).python(double)
    pipeline.add("center_crop", width=4, height=4).python(add(1), name="last")
    loader = run(pixels, pipeline)
    wanted = (pixels[:, 1:5, 3:7] + numpy.uint8(3)) * numpy.uint8(2)
    assert (epoch(loader) == wanted + numpy.uint8(1)).all()
    assert repr(pipeline) == (
        "<feedline.Pipeline: python -> python_2 -> center_crop -> last>"
    )
    stages = {stage["name"]: stage for stage in loader.stats()["stages"]}
    for name in ("python", "python_2", "last"):
        assert stages[name]["items"] >= COUNT


def test_statistics_name_the_function(pixels: Any) -> None:
    class Blur:
        def __call__(self, image: Any) -> None:
            pass

    def sleepy(image: Any, seconds: float) -> None:
        pass

    pipeline = feedline.Pipeline().python(Blur())
    pipeline.python(functools.partial(sleepy, seconds=0), name="nap")
    pipeline.python(lambda image: None)
    loader = run(pixels, pipeline)
    epoch(loader)
    labels = {op["name"]: op["label"] for op in loader.stats()["operations"]}
    assert labels["python"].startswith("python (`")
    assert labels["python"].endswith("Blur`)")
    assert labels["nap"] == "nap (`sleepy`)"
    assert labels["python_2"].startswith("python_2 (`lambda, test_python_")
    assert "- nap (`sleepy`): " in loader.explain()


def test_an_image_that_is_kept_stays_what_it_was(pixels: Any) -> None:
    kept: List[Any] = []
    loader = run(pixels, feedline.Pipeline().python(kept.append), workers=1)
    for _ in range(5):
        epoch(loader)
    loader.close()
    gc.collect()
    for i, image in enumerate(kept):
        assert (image == pixels[i % COUNT]).all()


# ---- Random numbers ---------------------------------------------------------


def noisy(image: Any, rng: python_op.Rng) -> None:
    image[0, 0, 0] = rng.below(256)
    image[0, 0, 1] = int(rng.uniform() * 256)
    image[0, 0, 2] = rng.u32() >> 24


def test_random_numbers_repeat(pixels: Any) -> None:
    pipeline = feedline.Pipeline().python(noisy)
    one = run(pixels, pipeline, seed=3, workers=1)
    four = run(pixels, pipeline, seed=3, workers=4)
    first = epoch(one)
    assert (first == epoch(four)).all()
    assert not (first == epoch(one)).all()
    other = run(pixels, pipeline, seed=4)
    assert not (first == epoch(other)).all()
    assert len({tuple(v) for v in first[:, 0, 0]}) == COUNT


def test_rng_by_keyword_only_where_it_is_asked_for(pixels: Any) -> None:
    seen = []

    class Callable:
        def __call__(self, image: Any, *, rng: Any) -> None:
            seen.append(type(rng))

    pipeline = feedline.Pipeline().python(Callable()).python(seen.append)
    epoch(run(pixels, pipeline, workers=1))
    assert python_op.Rng in seen and numpy.ndarray in map(type, seen)


def test_rng_ends_with_its_call(pixels: Any) -> None:
    kept: List[Any] = []

    def keep(image: Any, rng: python_op.Rng) -> None:
        with pytest.raises(ValueError):
            rng.below(0)
        kept.append(rng)

    epoch(run(pixels, feedline.Pipeline().python(keep)))
    with pytest.raises(feedline.StateError, match="its call"):
        kept[0].u32()


# ---- Exceptions -------------------------------------------------------------


class Unwanted(Exception):
    pass


def refuse_some(image: Any) -> None:
    if image[0, 0, 0] == image[0, 0, 1] == 7:
        raise Unwanted("seven")


@pytest.fixture
def seven(pixels: Any) -> Tuple[Any, int]:
    """Images of which one is refused, and which one."""
    changed = pixels.copy()
    changed[:, 0, 0, 0] = 0
    changed[6, 0, 0] = 7
    return changed, 6


def test_an_exception_is_raised_with_its_sample(seven: Any) -> None:
    images, bad = seven
    loader = run(images, feedline.Pipeline().python(refuse_some))
    assert loader.next().sample_index == [0, 1, 2, 3]
    with pytest.raises(feedline.UserError) as caught:
        loader.next()
    error = caught.value
    assert error.path == loader.dataset.path(bad)
    assert error.path in str(error) and "Unwanted: seven" in str(error)
    assert isinstance(error.__cause__, Unwanted)
    lines = "".join(
        traceback.format_exception(None, error, error.__traceback__)
    )
    assert "in refuse_some" in lines and 'raise Unwanted("seven")' in lines


@pytest.mark.parametrize("policy, status", [("zero", _c.EUSER), ("skip", 4)])
def test_the_epoch_can_go_on(seven: Any, policy: str, status: int) -> None:
    images, bad = seven
    loader = run(
        images, feedline.Pipeline().python(refuse_some), on_error=policy
    )
    found: Dict[int, int] = {}
    for batch in loader:
        statuses = batch.sample_status
        for place in range(len(batch)):
            found[batch.position + place] = statuses[place]
    assert found == {i: status if i == bad else 0 for i in range(COUNT)}
    failures = [f for f in loader.failures() if f.epoch == 0]
    assert [f.sample_index for f in failures][:1] == [bad]
    assert isinstance(failures[0].cause, Unwanted)
    made = loader.error_of(0, bad)
    assert isinstance(made, feedline.UserError)
    assert made.__cause__ is failures[0].cause


def test_a_traceback_holds_no_image(seven: Any) -> None:
    held: List[Any] = []

    class Image(numpy.ndarray):  # type: ignore[misc]
        pass

    def refuse(image: Any) -> None:
        mine = image.view(Image)
        held.append(weakref.ref(mine))
        try:
            raise KeyError("inner")
        except KeyError as error:
            raise Unwanted("outer") from error

    loader = run(seven[0], feedline.Pipeline().python(refuse), on_error="zero")
    epoch(loader)
    cause = loader.failures()[0].cause
    assert isinstance(cause, Unwanted)
    assert isinstance(cause.__cause__, KeyError)
    gc.collect()
    assert [ref() for ref in held] == [None] * len(held)


def test_even_an_exit_is_kept(pixels: Any) -> None:
    def leave(image: Any) -> None:
        sys.exit(3)

    loader = run(pixels, feedline.Pipeline().python(leave))
    with pytest.raises(feedline.UserError) as caught:
        loader.next()
    assert isinstance(caught.value.__cause__, SystemExit)


@pytest.mark.parametrize(
    "result, text",
    [
        (numpy.zeros((6, 10), numpy.uint8), r"\(6, 10\)"),
        (numpy.zeros((6, 10, 3), numpy.float32), "float32"),
        (5, "int64"),
        ("text", "str|<U"),
    ],
)
def test_results_that_are_no_images(
    result: Any, text: str, pixels: Any
) -> None:
    loader = run(pixels, feedline.Pipeline().python(lambda image: result))
    with pytest.raises(feedline.UserError, match=text) as caught:
        loader.next()
    assert isinstance(caught.value.__cause__, TypeError)


def test_errors_are_bounded() -> None:
    errors = python_op.Errors()
    for i in range(python_op.KEPT_ERRORS + 5):
        errors.add(0, i, ValueError(i))
    assert errors.find(0, 4) is None
    assert str(errors.find(0, 5)) == "5"


# ---- Definitions ------------------------------------------------------------


@pytest.mark.parametrize("name", ["", "Big", "a-b", "1a", "normalize"])
def test_names_that_are_none(name: str) -> None:
    with pytest.raises(feedline.InvalidArgument, match=name or "no name"):
        feedline.Pipeline().python(invert, name=name)


def test_what_is_no_function() -> None:
    with pytest.raises(feedline.InvalidArgument, match="callable, not int"):
        feedline.Pipeline().python(3)  # type: ignore[arg-type]


def test_eight_at_most() -> None:
    pipeline = feedline.Pipeline()
    for _ in range(8):
        pipeline.python(invert)
    with pytest.raises(feedline.RangeError):
        pipeline.python(invert)


# ---- The lock of the interpreter, and others --------------------------------


def test_waits_for_the_interpreter_are_counted(pixels: Any) -> None:
    """Two calls stand before the lock of their operation while a third has it,
    so what they waited is in the statistics of the stage."""
    gate, arrived = threading.Event(), threading.Event()

    def hold(image: Any) -> None:
        arrived.set()
        gate.wait(50)

    pipeline = feedline.Pipeline().python(hold, name="held", thread_safe=False)
    loader = run(pixels, pipeline, workers=3)
    with pytest.raises(feedline.Timeout):
        loader.next(timeout=0.05)
    assert arrived.wait(50)
    gate.set()
    epoch(loader)
    (stage,) = [s for s in loader.stats()["stages"] if s["name"] == "held"]
    assert 0 < stage["lock_seconds"] <= stage["busy_seconds"]


def test_the_verdict_names_who_has_the_lock(pixels: Any) -> None:
    """A call that sleeps and keeps the lock of the interpreter meanwhile needs
    no core, so this is so however many others use them."""
    if not getattr(sys, "_is_gil_enabled", lambda: True)():
        pytest.skip("this Python has no lock to wait for")
    sleep = ctypes.PyDLL(None).usleep
    pipeline = feedline.Pipeline().python(lambda image: None, name="quick")

    def heavy(image: Any) -> None:
        sleep(2000)

    pipeline.python(heavy, name="heavy")
    # Large batches: this thread wants the lock, too, a few times for each.
    many = numpy.concatenate([pixels] * 40)
    options = dict(workers=4, batch_size=64, depth=8, tuner="off", epochs=1)
    loader = run(many, pipeline, **options)
    # By default the interpreter takes the lock from a call after 5 ms, and that
    # call then waits where the library cannot see it. On a busy machine that
    # would happen in most calls.
    interval = sys.getswitchinterval()
    sys.setswitchinterval(0.1)
    try:
        for _ in loader:
            pass
    finally:
        sys.setswitchinterval(interval)
    found = loader.verdict
    assert found.code == "LOCK_BOUND", found
    assert found.evidence["lock_name"] == "heavy"
    assert 0.2 <= found.evidence["lock"] < found.evidence["lock_calls"] <= 1
    assert 0 < found.evidence["lock_held"] <= 1
    text = loader.explain()
    assert '"heavy" takes' in text and "goes to waiting" in text
    assert 'In place of "heavy" use' in text


def test_one_at_a_time(pixels: Any) -> None:
    inside: List[int] = []
    most = []

    def count(image: Any) -> None:
        inside.append(1)
        most.append(len(inside))
        threading.Event().wait(0.001)  # others may run
        inside.pop()

    pipeline = feedline.Pipeline().python(count, thread_safe=False)
    epoch(run(pixels, pipeline, workers=4))
    assert set(most) == {1}


def test_one_batch_gets_all_workers(pixels: Any) -> None:
    """next() wakes one worker, that one the next: each sample waits here until
    three workers have one."""
    meeting = threading.Barrier(3)

    def meet(image: Any) -> None:
        meeting.wait(50)

    pipeline = feedline.Pipeline().python(meet)
    options = dict(workers=3, batch_size=3, depth=1, epochs=1, tuner="off")
    loader = run(pixels[:15], pipeline, **options)
    assert [len(batch) for batch in loader] == [3] * 5


def test_the_loader_is_not_for_its_own_workers(pixels: Any) -> None:
    calls: List[Any] = []

    def use(image: Any) -> None:
        for call in (loader.close, loader.stop, loader.start):
            with pytest.raises(feedline.StateError, match="runs it"):
                call()
        calls.append(1)

    loader = run(pixels, feedline.Pipeline().python(use))
    epoch(loader)
    assert len(calls) >= COUNT


# ---- Life -------------------------------------------------------------------


def test_the_pipeline_may_go(pixels: Any) -> None:
    def build() -> feedline.Loader:
        bias = 1

        def add(image: Any) -> None:
            image += numpy.uint8(bias)

        return run(pixels, feedline.Pipeline().python(add))

    loader = build()
    loader.pipeline.close()
    gc.collect()
    assert (epoch(loader) == pixels + numpy.uint8(1)).all()


def test_functions_go_with_their_loader(pixels: Any) -> None:
    class Function:
        def __call__(self, image: Any) -> None:
            pass

    function = Function()
    gone = weakref.ref(function)
    loader = run(pixels, feedline.Pipeline().python(function))
    del function
    epoch(loader)
    loader.close()
    del loader
    gc.collect()
    assert gone() is None


HEAD = """
import feedline, numpy, gc, threading, time
pixels = numpy.zeros((64, 6, 10, 3), numpy.uint8)
data = feedline.Dataset.pixels(pixels)
def make(fn, **more):
    p = feedline.Pipeline().python(fn)
    return feedline.Loader(data, p, batch_size=2, workers=3, **more)
"""


def child(text: str) -> None:
    check_clean(run_bare(HEAD + text))


def test_workers_are_known_while_they_live() -> None:
    if python_op._at_thread_exit is None:
        pytest.skip("this C library does not tell the end of a thread")
    child(
        "import ctypes\n"
        "api = ctypes.PyDLL(None)\n"
        "head, after = api['PyInterpreterState_ThreadHead'], "
        "api['PyThreadState_Next']\n"
        "interpreter = api['PyInterpreterState_Get']\n"
        "for f in (interpreter, head, after):\n"
        "    f.restype, f.argtypes = ctypes.c_void_p, [ctypes.c_void_p]\n"
        "interpreter.argtypes = []\n"
        "def known():\n"
        "    state, count = head(interpreter()), 0\n"
        "    while state:\n"
        "        state, count = after(state), count + 1\n"
        "    return count\n"
        "local, calls = threading.local(), []\n"
        "def fn(image):\n"
        "    local.calls = getattr(local, 'calls', 0) + 1\n"
        "    calls.append(local.calls)\n"
        "assert known() == 1\n"
        "loader = make(fn, epochs=30)\n"
        "for number in range(10):\n"
        "    loader.start(number)\n"
        "    for batch in loader:\n"
        "        assert known() > 1\n"
        "    assert max(calls) > 64 / 3 - 1, calls\n"
        "    calls.clear()\n"
        "    loader.stop()\n"
        "    assert known() == 1, known()\n"
    )


def test_a_fork_has_none_of_the_workers() -> None:
    child(
        "import os\n"
        "from feedline import python_op\n"
        "here, go_on = threading.Event(), threading.Event()\n"
        "def hold(image):\n"
        "    here.set()\n"
        "    go_on.wait(50)\n"
        "loader = make(hold)\n"
        "try:\n"
        "    loader.next(0)\n"
        "except feedline.Timeout:\n"
        "    here.wait(50)\n"
        "assert python_op._inside\n"
        "if os.fork() == 0:\n"
        "    assert not python_op._inside and not python_op._kept\n"
        "    loader.close()\n"
        "    data = feedline.Dataset.pixels(pixels)\n"
        "    epoch = make(lambda image: None, epochs=1)\n"
        "    assert sum(batch.count for batch in epoch) == 64\n"
        "    raise SystemExit(0)\n"
        "_, status = os.wait()\n"
        "go_on.set()\n"
        "assert status == 0\n"
    )


@pytest.mark.parametrize(
    "text",
    [
        # A function that holds or wants the lock when the program ends.
        "loader = make(lambda a: sum(range(20000)) and None)\nloader.next()\n",
        # Forgotten, by its count and by the collector on whatever thread.
        "for i in range(20):\n    make(lambda a: None).next()\n",
        "for i in range(20):\n"
        "    loader = make(lambda a: [[] for _ in range(999)] and None)\n"
        "    loader.me = loader\n"
        "    loader.next()\n"
        "    del loader\n",
        # Functions that make garbage with loaders in it.
        "gc.set_threshold(10)\n"
        "for i in range(20):\n"
        "    loader = make(lambda a: [object() for _ in range(99)] and None)\n"
        "    loader.me = loader\n"
        "    loader.next()\n",
    ],
)
def test_programs_end_in_peace(text: str) -> None:
    child(text)


def test_without_numpy(pixels: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(python_op, "_numpy", lambda: None)
    results: Dict[str, Any] = {
        "place": lambda view: view.__setitem__((1, 2, 0), 9),
        "bytes": lambda view: bytes(view.nbytes),
        "view": lambda view: memoryview(bytes(view.nbytes)).cast(
            "B", view.shape
        ),
    }
    changed = pixels.copy()
    changed[:, 1, 2, 0] = 9
    loader = run(pixels, feedline.Pipeline().python(results["place"]))
    assert (epoch(loader) == changed).all()
    loader = run(pixels, feedline.Pipeline().python(results["view"]))
    assert (epoch(loader) == 0).all()
    loader = run(pixels, feedline.Pipeline().python(results["bytes"]))
    with pytest.raises(feedline.UserError, match="shape"):
        loader.next()
