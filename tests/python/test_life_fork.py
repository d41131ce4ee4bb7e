# SPDX-License-Identifier: Apache-2.0
"""fork() beside a live loader: a child cannot use it and does not harm it."""

from __future__ import annotations

from pathlib import Path

import pytest

from child_process import run_clean

pytest.importorskip("PIL")

PROGRAMS = {
    "a child is refused and ends well": """
        loader = make()
        epoch = iter(loader)
        held = next(epoch)
        pid = os.fork()
        if pid == 0:
            refused(
                feedline.ForkError,
                "fork()",
                loader.next,
                lambda: next(epoch),
                loader.stats,
                lambda: loader.get("workers"),
                lambda: held.images.numpy(),
            )
            loader.close()
            held.release()
            sys.exit(0)
        assert os.waitpid(pid, 0)[1] == 0
        assert held.count + sum(batch.count for batch in epoch) == 24
    """,
    "a child that drops everything ends well": """
        loader = make()
        epoch = iter(loader)
        batch = next(epoch)
        tensor = batch.images
        pid = os.fork()
        if pid == 0:
            del tensor, batch, epoch, loader
            gc.collect()
            sys.exit(0)
        assert os.waitpid(pid, 0)[1] == 0
        assert tensor.shape[0] == 4
        assert sum(1 for batch in epoch) == 5
    """,
    "a child makes a loader of its own": """
        loader = make()
        epoch = iter(loader)
        next(epoch)
        pid = os.fork()
        if pid == 0:
            own = make()
            os._exit(0 if sum(b.count for b in own) == N else 3)
        assert os.waitpid(pid, 0)[1] == 0
        assert sum(1 for batch in epoch) == 5
    """,
    "a program is run in mid epoch": """
        import subprocess

        loader = make()
        seen = 0
        for batch in loader:
            seen += batch.count
            subprocess.run(["/bin/true"], check=True)
        assert seen == 24
    """,
    "many forks while workers are busy": """
        loader = make()
        epochs = iter(loader)
        for round in range(20):
            if next(epochs, None) is None:
                epochs = iter(loader)
            pid = os.fork()
            if pid == 0:
                del epochs, loader
                sys.exit(0)
            assert os.waitpid(pid, 0)[1] == 0
    """,
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs(image_folder: Path, name: str) -> None:
    run_clean(PROGRAMS[name], image_folder)
