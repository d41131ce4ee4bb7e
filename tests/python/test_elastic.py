# SPDX-License-Identifier: Apache-2.0
"""torchrun's elastic restart: a worker that is killed costs the steps since the
last save, and nothing else."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any, Dict, List, Tuple

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("torchvision")
images = pytest.importorskip("images")

import ranks  # noqa: E402

if torch.__version__ < "2" and sys.version_info >= (3, 11):
    pytest.skip(
        "torchrun of torch 1 does not start on Python 3.11",
        allow_module_level=True,
    )

JOB = Path(__file__).with_name("elastic_rank.py")
SAMPLES, BATCH, RANKS, EPOCHS = 24, 2, 2, 2
STEPS = SAMPLES // (BATCH * RANKS) * EPOCHS
SAVED, DIES = 4, 9  # every so many steps; behind this one
SECONDS = 400

Steps = Dict[int, List[int]]


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A label for each image: it names the sample."""
    root = tmp_path_factory.mktemp("elastic")
    images.make_folder(root, classes=SAMPLES, per_class=1, size=(24, 20))
    return str(root)


def train(data: str, folder: Path, dies: int) -> Tuple[str, Any]:
    """What torchrun said, and the checkpoint at the end."""
    notes, checkpoint = folder / "notes", folder / "state.pt"
    notes.mkdir(parents=True)
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone"]
    command += ["--max-restarts", "2", "--nproc_per_node", str(RANKS)]
    command += ["--monitor-interval", "0.1", str(JOB), str(notes), str(dies)]
    command += ["--data", data, "--checkpoint", str(checkpoint)]
    command += ["--save-every", str(SAVED), "--epochs", str(EPOCHS)]
    command += ["--batch-size", str(BATCH), "--size", "16"]
    done = subprocess.run(
        command,
        env=ranks.quiet(),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    assert done.returncode == 0, done.stdout
    return done.stdout, torch.load(checkpoint)


def steps_of(folder: Path, start: int) -> Steps:
    """The samples that all ranks had in each step of a start."""
    found: Steps = {}
    for rank in range(RANKS):
        file = folder / "notes" / ("%d-%d" % (start, rank))
        for line in file.read_text().splitlines() if file.exists() else ():
            step, *labels = map(int, line.split())
            found.setdefault(step, []).extend(labels)
    return found


def test_a_killed_worker_costs_what_was_not_saved(
    data: str, tmp_path: Path
) -> None:
    _, whole = train(data, tmp_path / "whole", 0)
    said, mended = train(data, tmp_path / "mended", DIES)
    usual = steps_of(tmp_path / "whole", 0)
    first = steps_of(tmp_path / "mended", 0)
    second = steps_of(tmp_path / "mended", 1)
    assert not steps_of(tmp_path / "whole", 1)
    assert sorted(usual) == list(range(1, STEPS + 1))
    assert max(first) in (DIES, DIES + 1), said
    # It goes on behind the last save, in the middle of an epoch ...
    saved = DIES // SAVED * SAVED
    assert sorted(second) == list(range(saved + 1, STEPS + 1))
    # ... with the samples that come there: each once an epoch.
    counted = {**{s: first[s] for s in range(1, saved + 1)}, **second}
    assert counted == usual
    per_epoch = STEPS // EPOCHS
    for epoch in range(EPOCHS):
        came = [
            sample
            for step in range(per_epoch)
            for sample in counted[epoch * per_epoch + step + 1]
        ]
        assert sorted(came) == list(range(SAMPLES))
    # The network is the one that nothing happened to.
    assert whole["steps"] == mended["steps"] == STEPS
    for name, weights in whole["network"].items():
        assert torch.equal(weights, mended["network"][name]), name
