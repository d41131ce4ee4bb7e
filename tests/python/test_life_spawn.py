# SPDX-License-Identifier: Apache-2.0
"""A loader goes to another process as its configuration."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from child_process import PRELUDE, check_clean, Ended, environment

pytest.importorskip("PIL")

# A spawned child imports the main module again, so it has to be a file.
MAIN = """
import multiprocessing


def work(loader, answers):
    answers.put([list(batch.sample_index) for batch in loader])


def start(loader):
    context = multiprocessing.get_context("spawn")
    answers = context.Queue()
    child = context.Process(target=work, args=(loader, answers))
    child.start()
    there = answers.get(timeout=60)
    child.join()
    assert child.exitcode == 0, child.exitcode
    return there


if __name__ == "__main__":
    loader = make(seed=5)
    epoch = iter(loader)
    first = list(next(epoch).sample_index)
    there = start(loader)
    here = [first] + [list(batch.sample_index) for batch in epoch]
    assert len(here) == 6, here
    assert there == here, (there, here)
    print("done")
"""


def test_a_child_iterates_what_it_was_given(
    image_folder: Path, tmp_path: Path
) -> None:
    program = tmp_path / "spawning.py"
    text = MAIN
    program.write_text(PRELUDE + textwrap.dedent(text))
    done = subprocess.run(
        [sys.executable, str(program), str(image_folder)],
        capture_output=True,
        text=True,
        timeout=60,
        env=environment(),
    )
    check_clean(Ended(done.returncode, done.stdout, done.stderr), "done")
