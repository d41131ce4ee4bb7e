# SPDX-License-Identifier: Apache-2.0
"""Ranks that do not agree, or are not there: said by all, before a batch."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any, Dict, List

import pytest

images = pytest.importorskip("images")

import feedline  # noqa: E402
from feedline import agreement, meeting  # noqa: E402

RANK = Path(__file__).with_name("agreeing_rank.py")
SECONDS = 300


# ---- What is wrong -----------------------------------------------------------


def note(rank: int, world: int = 4, **terms: Any) -> Dict[str, Any]:
    return {
        "rank": rank,
        "world": world,
        "terms": {"seed": 7, "batch_size": 16, **terms},
        "host": "node%d" % (rank // 2),
        "pid": 100 + rank,
    }


def test_all_alike() -> None:
    assert agreement.disagreement([]) is None
    assert agreement.disagreement([note(3), note(0), note(1)]) is None


@pytest.mark.parametrize("odd", range(4))
def test_the_odd_one_is_named(odd: int) -> None:
    """Both ranks, both values; the one that differs from most."""
    notes = [note(r, seed=8 if r == odd else 7) for r in (2, 0, 3, 1)]
    text = agreement.disagreement(notes)
    usual = 1 if odd == 0 else 0
    assert text is not None
    assert "rank %d has seed=8 (process %d on " % (odd, 100 + odd) in text
    assert "rank %d has seed=7 (process %d on " % (usual, 100 + usual) in text


def test_a_rank_that_is_there_twice() -> None:
    second = {**note(1), "pid": 7, "host": "elsewhere"}
    text = agreement.disagreement([note(0), second, note(1)])
    assert text is not None and text.startswith("two processes of this job are")
    assert "rank 1: " in text
    assert "process 7 on elsewhere" in text and "process 101 on node0" in text


def test_another_world_and_a_missing_term() -> None:
    text = agreement.disagreement([note(0), note(1, world=2)])
    assert text is not None and "rank 0 has world=4" in text
    assert "rank 1 has world=2" in text
    text = agreement.disagreement([note(0), note(1), note(2, block=64)])
    assert text is not None and "rank 2 has block=64" in text
    assert "rank 0 has block=nothing" in text


# ---- Jobs of processes -------------------------------------------------------


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("agreeing")
    for name, classes in (("small", 2), ("other", 3)):
        images.make_folder(
            root / name, classes=classes, per_class=4, size=(24, 20)
        )
    return root


def run(where: str, data: Path, ranks: List[Dict[str, Any]]) -> List[str]:
    """What each process said: "came N" batches, or its error."""
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    environment["FEEDLINE_JOB_SECONDS"] = "280"
    if where != "group":
        environment["FEEDLINE_JOB_FOLDER"] = where
    folder = data / "small"
    processes = [
        subprocess.Popen(
            [sys.executable, str(RANK), json.dumps({"data": str(folder), **r})],
            env={**environment, **r.get("environment", {})},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        for r in ranks
    ]
    said = [p.communicate(timeout=SECONDS)[0].strip() for p in processes]
    return [text.splitlines()[-1] if text else "" for text in said]


@pytest.fixture(params=["loader", "group"])
def kind(request: pytest.FixtureRequest) -> Any:
    """feedline.Loader in a folder, torch's DataLoader in a process group's
    store."""
    if request.param != "loader":
        pytest.importorskip("torch")
        pytest.importorskip("torchvision")
    return request.param


@pytest.fixture
def job(kind: str, data: Path, tmp_path: Path) -> Any:
    """Runs ranks that differ as told: what each said."""
    jobs: List[int] = []

    def go(*differs: Dict[str, Any], world: int = 2) -> List[str]:
        where = "group" if kind == "group" else str(tmp_path)
        jobs.append(0)
        common = {
            "kind": "loader" if kind == "loader" else "torch",
            "world": world,
            "group": str(tmp_path / ("group%d" % len(jobs)))
            if kind == "group"
            else None,
        }
        ranks = [
            {"rank": i, "place": i, **common, **one}
            for i, one in enumerate(differs)
        ]
        said = run(where, data, ranks)
        if kind != "group":
            assert not list(tmp_path.iterdir()), "the folder is left clean"
        return said

    return go


def test_ranks_that_agree(job: Any) -> None:
    assert job({}, {}) == ["came 4", "came 4"]


def test_another_data_set(job: Any, data: Path) -> None:
    first, second = job({}, {"data": str(data / "other")})
    assert first == second
    assert "rank 0 has " in first and "=8 (process" in first
    assert "rank 1 has " in first and "=12 (process" in first


def test_another_seed_and_batch_size(job: Any) -> None:
    first, second = job({}, {"seed": 5})
    assert first == second and "seed=5 (" in first and "seed=3 (" in first
    first, second = job({}, {"batch_size": 2})
    assert first == second
    assert "rank 0 has batch_size=1 (" in first
    assert "rank 1 has batch_size=2 (" in first


def test_the_same_rank_twice(job: Any) -> None:
    first, second = job({"rank": 1}, {"rank": 1})
    assert first == second and "two processes of this job are rank 1" in first


def test_an_absent_rank_is_named(kind: str, data: Path, tmp_path: Path) -> None:
    """No hang: the others say who is missing, and how long they waited."""
    if kind == "group":
        pytest.skip("a process group does not begin without all")
    rank = {"rank": 2, "place": 0, "world": 3, "kind": kind, "group": None}
    rank["environment"] = {"FEEDLINE_JOB_SECONDS": "0.2"}
    (said,) = run(str(tmp_path), data, [rank])
    assert "rank 2 of 3 waited 0 s in the folder" in said
    assert "missing: 0, 1 (" in said


def test_nobody_is_asked(data: Path, tmp_path: Path) -> None:
    rank = {"rank": 0, "place": 0, "world": 3, "kind": "loader", "group": None}
    rank["environment"] = {"FEEDLINE_JOB_SECONDS": "0"}
    assert run(str(tmp_path), data, [rank]) == ["came 3"]


def test_a_batch_that_is_ready_at_once(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ranks are compared before it, and not where one first has to wait."""
    monkeypatch.setenv("FEEDLINE_JOB_FOLDER", str(tmp_path))
    monkeypatch.setenv("FEEDLINE_JOB_SECONDS", "0.2")
    with feedline.Loader(
        feedline.Dataset.open("folder:%s" % (data / "small")),
        feedline.Pipeline().add("random_resized_crop", width=16, height=16),
        world=2,
    ) as loader:
        loader.seek(0, 0)
        while loader._peek(0) is None:
            pass
        with pytest.raises(feedline.Timeout, match="missing: 1"):
            loader.next()


def test_seconds_that_are_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FEEDLINE_JOB_SECONDS", "soon")
    with pytest.raises(feedline.InvalidArgument, match='"soon" is no number'):
        agreement.limit()


def test_a_job_that_was_killed_is_forgotten(tmp_path: Path) -> None:
    """Its notes, who collected them, and what was concluded."""
    folder = tmp_path / "job"
    code = (
        "import os, pathlib, signal, sys\n"
        "from feedline.meeting import FolderMeeting\n"
        "place = FolderMeeting(pathlib.Path(sys.argv[1]))\n"
        "assert place.arrive({'rank': 0})\n"
        "place.conclude('old')\n"
        "os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    subprocess.run([sys.executable, "-c", code, str(folder)], check=False)
    assert len(list(folder.iterdir())) == 3
    (folder / "new-half").write_text("{")
    first = meeting.FolderMeeting(folder)
    second = meeting.FolderMeeting(folder)
    assert first.arrive({"rank": 0})
    assert not second.arrive({"rank": 1})
    assert sorted(note["rank"] for note in first.notes()) == [0, 1]
    assert second.conclusion() is None
    first.conclude("new")
    assert second.conclusion() == "new"
    first.leave()
    second.leave()
    assert not folder.exists()


def test_names_of_jobs() -> None:
    assert meeting.job_name({}) == "job"
    slurm = {"SLURM_JOB_ID": "7", "SLURM_STEP_ID": "1"}
    assert meeting.job_name(slurm) == "7-1-0"
    torchrun = {"TORCHELASTIC_RUN_ID": "a/b", "TORCHELASTIC_RESTART_COUNT": "2"}
    assert meeting.job_name({**slurm, **torchrun}) == "a_b-2"
