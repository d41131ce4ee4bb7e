# SPDX-License-Identifier: Apache-2.0
"""Pickling and spawning: a loader goes to another process as its configuration;
what cannot go along says so."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from child_process import PRELUDE, Ended, check_clean, environment, run_clean

pytest.importorskip("PIL")

PROGRAMS = {
    "a loader comes back as configured": """
        import copy, pickle

        loader = make(seed=9, batch_size=3, workers=1)
        epoch = iter(loader)
        order = [list(next(epoch).sample_index)]
        for again in (
            pickle.loads(pickle.dumps(loader)),
            copy.deepcopy(loader),
            copy.copy(loader),
        ):
            assert again is not loader
            assert again.get("batch_size") == 3 and again.get("seed") == 9
            there = [list(batch.sample_index) for batch in again]
            assert len(there) == 8
            assert there[0] == order[0]
            again.close()
        assert sum(1 for batch in epoch) == 7  # the original did not notice
    """,
    "every kind of data set": """
        import pickle

        import numpy as np

        opened = dataset()
        paths = [opened.path(i) for i in range(3)]
        files = [open(path, "rb").read() for path in paths]
        pixels = np.arange(3 * 8 * 8 * 3, dtype=np.uint8).reshape(3, 8, 8, 3)
        sets = [
            opened,
            feedline.Dataset.paths(paths, [2, 1, 0]),
            feedline.Dataset.memory(files, [2, 1, 0]),
        ]
        try:
            sets.append(feedline.Dataset.pixels(pixels, [2, 1, 0]))
        except feedline.NotSupported:
            pass
        for data in sets:
            again = pickle.loads(pickle.dumps(data))
            labels = [data.label(i) for i in range(len(data))]
            assert [again.label(i) for i in range(len(again))] == labels
            assert again.classes == data.classes
            first, second = (
                feedline.Loader(d, pipeline(), batch_size=3, shuffle=False)
                for d in (data, again)
            )
            one, two = next(iter(first)), next(iter(second))
            assert (one.images.numpy() == two.images.numpy()).all()
    """,
    "what is of this process is refused": """
        import pickle

        loader = make()
        epoch = iter(loader)
        batch = next(epoch)
        for mine in (batch, batch.images, epoch):
            name = type(mine).__name__
            refused(TypeError, name, lambda: pickle.dumps(mine))
    """,
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs(image_folder: Path, name: str) -> None:
    run_clean(PROGRAMS[name], image_folder)


def test_a_module_function_goes_along_as_a_transform(
    image_folder: Path, tmp_path: Path
) -> None:
    (tmp_path / "my_transforms.py").write_text(
        "def blacken(image):\n    image[:] = 0\n"
    )
    run_clean(
        """
        import pickle

        sys.path.insert(0, sys.argv[2])
        import my_transforms

        loader = make(pipeline().python(my_transforms.blacken))
        again = pickle.loads(pickle.dumps(loader))
        assert not next(iter(again)).images.numpy().any()

        local = make(pipeline().python(lambda image: None))
        errors = pickle.PicklingError, AttributeError, TypeError
        refused(errors, "lambda", lambda: pickle.dumps(local))
        assert sum(batch.count for batch in local) == N
        """,
        image_folder,
        arguments=[str(tmp_path)],
    )


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


def test_a_spawned_child_iterates_what_it_was_given(
    image_folder: Path, tmp_path: Path
) -> None:
    program = tmp_path / "spawning.py"
    program.write_text(PRELUDE + MAIN)
    done = subprocess.run(
        [sys.executable, str(program), str(image_folder)],
        capture_output=True,
        text=True,
        timeout=60,
        env=environment(),
    )
    check_clean(Ended(done.returncode, done.stdout, done.stderr), "done")
