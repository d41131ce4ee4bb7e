# SPDX-License-Identifier: Apache-2.0
"""Ctrl-C: a wait ends at once, and the loader goes on after it."""

from __future__ import annotations

import gc
import os
import signal
import time
from pathlib import Path
from typing import Any, Callable, Dict, List

import pytest

import feedline
from feedline._library import lib

from child_process import TIME_LIMIT_S, begin, check_clean, finish
from child_process import interrupt_when, read_line, run_clean, signalled

pytest.importorskip("PIL")
pytest.importorskip("numpy")

BLOCKED = """
    loader, gate = blocked_loader()
    assert loader.next() is not None
    try:
        print("blocking", flush=True)
        loader.next(%s)
        print("a batch came", flush=True)
    except KeyboardInterrupt:
        print("interrupted", flush=True)
    gate.set()
    rest = 0
    while loader.next() is not None:
        rest += 1
    print("went on with", rest)
    loader.close()
"""


@pytest.mark.parametrize("timeout", ["", "timeout=50.0"])
def test_a_blocking_next_ends_by_ctrl_c(
    image_folder: Path, timeout: str
) -> None:
    child = begin(BLOCKED % timeout, [str(image_folder)])
    sent = interrupt_when(child, "blocking")
    # The gate would have held the wait for 60 s: it ended by the signal.
    assert read_line(child) == "interrupted"
    print("latency %.0f ms" % (1e3 * (time.monotonic() - sent)))
    # Nothing was lost: five batches of the epoch were still to come.
    check_clean(finish(child, TIME_LIMIT_S), "went on with 5")


def test_an_uncaught_ctrl_c_ends_the_program_as_ever(
    image_folder: Path,
) -> None:
    code = """
        from feedline import lifetime

        lifetime.EXIT_WAIT_S = 0.3  # for the transform under way
        loader, gate = blocked_loader()
        loader.next()
        print("blocking", flush=True)
        loader.next()
        print("not reached")
    """
    child = begin(code, [str(image_folder)])
    interrupt_when(child, "blocking")
    ended = finish(child, TIME_LIMIT_S)
    assert ended.status == -signal.SIGINT
    assert ended.out == ""
    assert ended.err.rstrip().endswith("KeyboardInterrupt")


def test_ctrl_c_in_the_middle_of_training(image_folder: Path) -> None:
    code = """
        loader = make()
        step = iter(range(10**9))
        try:
            while True:
                for batch in loader:
                    if next(step) == 8:
                        print("training", flush=True)
                        time.sleep(60)
        except KeyboardInterrupt:
            pass
        del batch
        print(sum(batch.count for batch in loader))
    """
    signalled(code, image_folder, "training", said="24")


def test_a_handler_of_the_program_runs_and_the_wait_goes_on(
    image_folder: Path,
) -> None:
    code = """
        loader, gate = blocked_loader()
        loader.next()

        def handler(number, frame):
            print("handled", flush=True)
            gate.set()

        signal.signal(signal.SIGUSR1, handler)
        print("blocking", flush=True)
        assert loader.next() is not None
        print("done")
    """
    # The batch came because the handler ran while next() waited.
    signalled(code, image_folder, answer="handled", number=signal.SIGUSR1)


@pytest.mark.parametrize(
    "call, then",
    [
        ("close", "assert loader.closed"),
        ("stop", ""),
        ("stop", "threading.Thread(target=loader.close, daemon=True).start()"),
    ],
)
def test_ctrl_c_ends_the_wait_for_a_transform(
    image_folder: Path, call: str, then: str
) -> None:
    """One under way cannot be ended; it need not be waited for, not even at
    the end of the program."""
    code = """
        from feedline import lifetime

        lifetime.EXIT_WAIT_S = 0.3
        loader, gate = blocked_loader()
        loader.next()
        gate.shut.wait(60)
        say_before(lifetime.Aside, "wait_for")
        try:
            loader.%s()
        except KeyboardInterrupt:
            print("interrupted", flush=True)
        %s
        print("done", flush=True)
    """
    signalled(code % (call, then), image_folder, answer="interrupted")


@pytest.mark.parametrize(
    "call", ["loader.stop()", "loader.start(3)", "iter(loader)"]
)
def test_ctrl_c_ends_the_wait_for_a_stop(image_folder: Path, call: str) -> None:
    """And before that it is said what is waited for. What was begun is done
    when the transform ends."""
    code = """
        import warnings
        from feedline import lifetime

        lifetime.EXIT_WAIT_S = 0.3
        loader, gate = blocked_loader(stuck_after="50ms")
        next(iter(loader))
        gate.shut.wait(60)

        def show(message, category, filename, line, file=None, text=None):
            if str(message).startswith("stopping; waiting for worker"):
                print(message, flush=True)

        warnings.showwarning = show
        try:
            %s
            print("not reached", flush=True)
        except KeyboardInterrupt:
            print("interrupted", flush=True)
        gate.set()
        loader.start(5)
        print(sum(batch.count for batch in loader), "samples")
        loader.close()
    """
    child = begin(code % call, [str(image_folder)])
    said = read_line(child)
    assert ", which is in python for " in said and ": sample 4 of " in said
    os.kill(child.pid, signal.SIGINT)
    assert read_line(child) == "interrupted"
    check_clean(finish(child, TIME_LIMIT_S), "24 samples")


def test_ctrl_c_comes_up_behind_an_iterator_that_is_left(
    image_folder: Path,
) -> None:
    """Its end waits for the transform, in a place where exceptions are lost."""
    pytest.importorskip("torchvision")
    code = """
        from feedline import lifetime
        import feedline.torch, feedline.transforms
        from torchvision import datasets, transforms

        lifetime.EXIT_WAIT_S = 0.3
        seen, shut = [], threading.Event()

        def hold(image):
            seen.append(1)
            if len(seen) > 4:
                shut.set()
                threading.Event().wait()

        chain = transforms.Compose(
            [
                transforms.Resize((16, 16)),
                feedline.transforms.Python(hold),
                transforms.ToTensor(),
            ]
        )
        images = datasets.ImageFolder(FOLDER, chain)
        loader = feedline.torch.DataLoader(images, batch_size=4, num_workers=1)
        assert loader.native, loader.fallback_reason
        iterator = iter(loader)
        next(iterator)
        shut.wait(60)
        say_before(feedline.torch.iteration, "_give_back")
        try:
            del iterator
            time.sleep(60)
            print("not reached")
        except KeyboardInterrupt:
            print("interrupted", flush=True)
        print("done")
    """
    signalled(code, image_folder, answer="interrupted")


def test_signals_go_to_the_threads_of_the_program(image_folder: Path) -> None:
    """A worker that took the signal would keep sigwait() waiting."""
    run_clean(
        """
        loader = make()
        next(iter(loader))
        signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR2])
        os.kill(os.getpid(), signal.SIGUSR2)
        info = signal.sigtimedwait([signal.SIGUSR2], 30)
        assert info is not None, "a worker took it"
        """,
        image_folder,
    )


def test_what_was_made_while_ctrl_c_came_is_ended(
    image_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The interpreter raises when the library's function has returned."""
    made = {
        "dataset_open": "dataset_close",
        "pipeline_create": "pipeline_destroy",
        "config_create": "config_destroy",
        "loader_create": "loader_destroy",
    }
    dataset = feedline.Dataset.open("folder:%s" % image_folder)
    actions: Dict[str, Callable[[], object]] = {
        "dataset_open": lambda: feedline.Dataset.open(str(image_folder)),
        "pipeline_create": lambda: feedline.Pipeline("train"),
        "config_create": lambda: feedline.Loader(dataset, "train"),
        "loader_create": lambda: feedline.Loader(dataset, "train"),
    }
    for create, end in made.items():
        ends: List[Any] = []
        with monkeypatch.context() as patch:
            _interrupted(patch, create)
            _noted(patch, end, ends)
            with pytest.raises(KeyboardInterrupt):
                actions[create]()
            gc.collect()
        assert [cell.value for cell in ends if cell.value], create


def _interrupted(patch: pytest.MonkeyPatch, name: str) -> None:
    function = getattr(lib, name)

    def run(*arguments: Any) -> int:
        assert function(*arguments) == 0
        raise KeyboardInterrupt

    patch.setattr(lib, name, run)


def _noted(patch: pytest.MonkeyPatch, name: str, calls: List[Any]) -> None:
    function = getattr(lib, name)

    def run(cell: Any) -> None:
        calls.append(cell)
        function(cell)

    patch.setattr(lib, name, run)
