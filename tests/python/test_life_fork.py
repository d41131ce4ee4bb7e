# SPDX-License-Identifier: Apache-2.0
"""fork() beside a live loader: a child cannot use it and does not harm it."""

from __future__ import annotations

from pathlib import Path

import pytest

from child_process import run_clean

pytest.importorskip("PIL")


def test_a_child_is_refused_and_ends_well(image_folder: Path) -> None:
    run_clean(
        """
        loader = make()
        epoch = iter(loader)
        held = next(epoch)
        pid = os.fork()
        if pid == 0:
            for use in (
                loader.next,
                lambda: next(epoch),
                loader.stats,
                lambda: loader.get("workers"),
                lambda: held.images.numpy(),
            ):
                try:
                    use()
                except feedline.ForkError as error:
                    assert "fork()" in str(error), error
                else:
                    os._exit(3)
            loader.close()
            held.release()
            sys.exit(0)
        assert os.waitpid(pid, 0)[1] == 0
        print(held.count + sum(batch.count for batch in epoch))
        """,
        image_folder,
        "24",
    )


def test_a_child_that_drops_everything_ends_well(image_folder: Path) -> None:
    run_clean(
        """
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
        print(sum(1 for batch in epoch))
        """,
        image_folder,
        "5",
    )


def test_a_child_makes_a_loader_of_its_own(image_folder: Path) -> None:
    run_clean(
        """
        loader = make()
        epoch = iter(loader)
        next(epoch)
        pid = os.fork()
        if pid == 0:
            own = make()
            os._exit(0 if sum(b.count for b in own) == N else 3)
        assert os.waitpid(pid, 0)[1] == 0
        print(sum(1 for batch in epoch))
        """,
        image_folder,
        "5",
    )


def test_a_program_is_run_in_mid_epoch(image_folder: Path) -> None:
    run_clean(
        """
        import subprocess

        loader = make()
        seen = 0
        for batch in loader:
            seen += batch.count
            subprocess.run(["/bin/true"], check=True)
        print(seen)
        """,
        image_folder,
        "24",
    )


def test_many_forks_while_workers_are_busy(image_folder: Path) -> None:
    run_clean(
        """
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
        print("done")
        """,
        image_folder,
    )
