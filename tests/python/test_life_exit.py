# SPDX-License-Identifier: Apache-2.0
"""The end of the interpreter, with everything alive: status 0, no word."""

from __future__ import annotations

from pathlib import Path

import pytest

from child_process import run, run_clean

pytest.importorskip("PIL")

PROGRAMS = {
    "a loader that never began": "loader = make()",
    "a loader in mid-epoch": "loader = make(); next(iter(loader))",
    "an iterator": "epoch = iter(make()); next(epoch)",
    "a batch alone": "batch = next(iter(make()))",
    "a tensor alone": "images = next(iter(make())).images",
    "an array alone": "a = next(iter(make())).images.numpy()",
    "everything": """
        loader = make()
        epoch = iter(loader)
        batch = next(epoch)
        images = batch.images
    """,
    "a cycle": """
        class Node: pass
        node = Node()
        node.self, node.loader = node, make()
        node.batch = next(iter(node.loader))
        del node
    """,
    "a module's attribute": """
        sys.modules["os"].kept = make()
        next(iter(os.kept))
    """,
    "twenty loaders": """
        loaders = [make() for i in range(20)]
        batches = [next(iter(loader)) for loader in loaders]
    """,
    "a Python transform under way": """
        def slow(image):
            time.sleep(0.05)
        loader = make(pipeline().python(slow))
        batch = next(iter(loader))
    """,
    "an exit inside a Python transform's wait": """
        loader, gate = blocked_loader()
        loader.next()
        threading.Timer(0.3, gate.set).start()
    """,
    "a daemon thread is in next": """
        loader, gate = blocked_loader()
        began = threading.Event()

        def use():
            loader.next()
            began.set()
            while loader.next() is not None:
                pass

        threading.Thread(target=use, daemon=True).start()
        began.wait()
        threading.Timer(0.3, gate.set).start()
    """,
    "a daemon thread iterates at full speed": """
        loader = make()
        began = threading.Event()

        def use():
            while True:
                for batch in loader:
                    began.set()

        threading.Thread(target=use, daemon=True).start()
        began.wait()
    """,
    "a daemon thread iterates a watch at full speed": """
        watch = feedline.watch(iter(list, None))
        began = threading.Event()

        def use():
            for batch in watch:
                began.set()

        threading.Thread(target=use, daemon=True).start()
        began.wait()
    """,
    "a handler at exit asks a watch": """
        import atexit

        watch = feedline.watch([[0]] * 9)

        def ask():
            batches = watch.stats()["stats"]["batches"]
            os._exit(0 if batches == 9 else 1)

        atexit.register(ask)
        list(watch)
    """,
    "a subinterpreter is refused": """
        try:
            import _interpreters as interpreters
        except ImportError:
            import _xxsubinterpreters as interpreters
        code = '''
        try:
            import feedline
        except ImportError as error:
            assert "subinterpreter" in str(error), error
        else:
            raise AssertionError("imported")
        '''
        import textwrap
        inner = interpreters.create()
        failed = interpreters.run_string(inner, textwrap.dedent(code))
        assert failed is None, failed
        interpreters.destroy(inner)
        assert sum(batch.count for batch in make()) == 24
    """,
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs(image_folder: Path, name: str) -> None:
    run_clean(PROGRAMS[name], image_folder)


def test_an_exception_in_the_loop_is_all_that_is_said(
    image_folder: Path,
) -> None:
    ended = run(
        """
        for batch in make():
            raise LookupError("mine")
        """,
        image_folder,
    )
    assert ended.status == 1
    assert ended.err.rstrip().endswith("LookupError: mine")
    assert ended.err.count("Traceback") == 1


@pytest.mark.parametrize("status", ["sys.exit(5)", "os._exit(5)"])
def test_status_of_the_program_is_kept(image_folder: Path, status: str) -> None:
    ended = run("batch = next(iter(make()))\n" + status, image_folder)
    assert (ended.status, ended.err) == (5, "")


def test_a_watch_says_its_last(image_folder: Path, tmp_path: Path) -> None:
    log = tmp_path / "log"
    code = "watch = feedline.watch([[0]], stats_log=sys.argv[2]); list(watch)"
    run_clean(code, image_folder, [str(log)])
    assert log.read_text().count("\n") == 1


def test_a_transform_that_does_not_end_holds_up_the_end_for_a_time(
    image_folder: Path,
) -> None:
    run_clean(
        """
        from feedline import lifetime

        lifetime.EXIT_WAIT_S = 0.3
        loader, gate = blocked_loader()  # for 60 s
        loader.next()
        """,
        image_folder,
        limit=50,
    )


def test_nor_does_it_where_no_thread_starts_at_the_end(
    image_folder: Path,
) -> None:
    """As in Python 3.12.0: what ends a loader aside has no thread by then."""
    run_clean(
        """
        import _thread, atexit
        from feedline import lifetime

        def refuse(*_):
            raise RuntimeError("can't create new thread")

        lifetime.EXIT_WAIT_S = 0.3
        lifetime.NO_THREAD_AT_EXIT = True
        loader, gate = blocked_loader()  # for 60 s
        loader.next()
        atexit.register(setattr, _thread, "start_new_thread", refuse)
        """,
        image_folder,
        limit=50,
    )
