# SPDX-License-Identifier: Apache-2.0
"""Ctrl-C: a wait ends at once, and the loader goes on after it."""

from __future__ import annotations

import signal
import time
from pathlib import Path

import pytest

from child_process import TIME_LIMIT_S, begin, check_clean, finish
from child_process import interrupt_when, read_line, run_clean

pytest.importorskip("PIL")
pytest.importorskip("numpy")

BLOCKED = """
    loader, gate = blocked_loader()
    assert loader.next() is not None
    print("blocking", flush=True)
    try:
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
        loader, gate = blocked_loader()
        loader.next()
        threading.Timer(1.0, gate.set).start()
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
                    time.sleep(0.002)
        except KeyboardInterrupt:
            pass
        del batch
        print(sum(batch.count for batch in loader))
    """
    child = begin(code, [str(image_folder)])
    interrupt_when(child, "training")
    check_clean(finish(child, TIME_LIMIT_S), "24")


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
    child = begin(code, [str(image_folder)])
    interrupt_when(child, "blocking", signal.SIGUSR1)
    # The batch came because the handler ran while next() waited.
    assert read_line(child) == "handled"
    check_clean(finish(child, TIME_LIMIT_S), "done")


def test_ctrl_c_ends_the_wait_of_close(image_folder: Path) -> None:
    """A transform under way cannot be ended; it need not be waited for."""
    code = """
        from feedline import engine

        engine.EXIT_WAIT_S = 0.3
        loader, gate = blocked_loader()
        loader.next()
        print("blocking", flush=True)
        try:
            loader.close()
        except KeyboardInterrupt:
            print("interrupted", flush=True)
        assert loader.closed
        print("done")
    """
    child = begin(code, [str(image_folder)])
    interrupt_when(child, "blocking")
    assert read_line(child) == "interrupted"
    check_clean(finish(child, TIME_LIMIT_S), "done")


def test_signals_go_to_the_threads_of_the_program(image_folder: Path) -> None:
    """A worker that took the signal would keep sigwait() waiting."""
    run_clean(
        """
        loader = make()
        next(iter(loader))
        signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR2])
        os.kill(os.getpid(), signal.SIGUSR2)
        info = signal.sigtimedwait([signal.SIGUSR2], 30)
        print("done" if info is not None else "a worker took it")
        """,
        image_folder,
    )
