# SPDX-License-Identifier: Apache-2.0
"""Tuners of ranks that tell each other what they know: by a folder, a store, in
processes of their own; and what dies, or is not there."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any, Dict, List

import pytest

images = pytest.importorskip("images")

import feedline  # noqa: E402
from feedline import tuner_talk  # noqa: E402

RANK = Path(__file__).with_name("talking_rank.py")
SECONDS = 300
NOTE = "feedline_job=1 ranks=1 stall_ppm=%d step_ns=100 depth=%d reads=3"


class Loader:
    """Of one rank: it tells a line, and keeps what it hears."""

    closed = False

    def __init__(self, stall: int, depth: int) -> None:
        self.told = NOTE % (stall, depth)
        self.heard: List[str] = []

    def text(self, _: Any) -> str:
        return self.told

    def hear(self, told: str) -> None:
        self.heard.append(told)


@pytest.fixture(params=["folder", "store"])
def places(request: pytest.FixtureRequest, tmp_path: Path) -> Any:
    """Makes the place of each of `world` ranks."""

    def make(world: int) -> List[tuner_talk.Place]:
        if request.param == "folder":
            return [
                tuner_talk.FolderPlace(tmp_path / "a") for _ in range(world)
            ]
        dist = pytest.importorskip("torch.distributed")
        store = dist.FileStore(str(tmp_path / "store"), world)
        return [tuner_talk.StorePlace(store, "0", world) for _ in range(world)]

    return make


def test_all_hear_of_all(places: Any) -> None:
    loaders = [Loader(1000, 4), Loader(2000, 9), Loader(3000, 5)]
    talks = [tuner_talk.Talk(p, r) for r, p in enumerate(places(3))]
    for _ in range(2):
        for talk, loader in zip(reversed(talks), reversed(loaders)):
            talk.go(loader)
    merged = "feedline_job=1 ranks=3 stall_ppm=6000 step_ns=100 depth=9 reads=3"
    for talk, loader in zip(talks, loaders):
        talk.go(loader)
        assert loader.heard[-1] == merged
    for talk in talks:
        talk.leave()


def test_a_rank_that_is_gone(places: Any) -> None:
    """Its note does not change any more; the others go on."""
    loaders = [Loader(1000, 4), Loader(2000, 9)]
    talks = [tuner_talk.Talk(p, r) for r, p in enumerate(places(2))]
    talks[1].go(loaders[1])
    for _ in range(4):
        talks[0].go(loaders[0])
        assert "ranks=2 " in loaders[0].heard[-1]
    for _ in range(4):
        talks[0].go(loaders[0])
    assert "ranks=1 stall_ppm=1000 " in loaders[0].heard[-1]


def test_without_rank_0_nothing_is_heard(places: Any) -> None:
    loader = Loader(2000, 9)
    talk = tuner_talk.Talk(places(2)[1], 1)
    for _ in range(3):
        talk.go(loader)
    assert loader.heard == []


def test_the_folder_is_left_clean(tmp_path: Path) -> None:
    places = [tuner_talk.FolderPlace(tmp_path / "a") for _ in range(2)]
    for rank, place in enumerate(places):
        place.put(rank, "1 x")
    places[0].put_all("1 x")
    places[0].leave(0)
    assert (tmp_path / "a" / "rank-1").exists()
    places[1].leave(1)
    assert not (tmp_path / "a").exists()


def test_no_place(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("FEEDLINE_JOB_FOLDER", raising=False)
    monkeypatch.delenv("TORCHELASTIC_USE_AGENT_STORE", raising=False)
    assert tuner_talk.find(0, 2) is None
    assert tuner_talk.seconds_between(2) == 1
    assert tuner_talk.seconds_between(4096) == 4


def test_a_folder_that_cannot_be(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No reason not to load."""
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("FEEDLINE_JOB_FOLDER", str(tmp_path / "file"))
    monkeypatch.setenv("FEEDLINE_JOB_SECONDS", "0")
    images.make_folder(tmp_path / "data", classes=1, per_class=4, size=(24, 20))
    with feedline.Loader(
        feedline.Dataset.open("folder:%s" % (tmp_path / "data")),
        feedline.Pipeline().add("random_resized_crop", width=16, height=16),
        world=2,
        epochs=1,
    ) as loader:
        assert sum(1 for _ in loader) == 1


def start(rank: int, world: int, data: Path, folder: Path) -> Any:
    environment: Dict[str, str] = {**os.environ, "OMP_NUM_THREADS": "1"}
    environment["FEEDLINE_JOB_FOLDER"] = str(folder)
    environment["FEEDLINE_JOB_SECONDS"] = "0"  # which is another test's
    arguments = [str(data), str(rank), str(world), str(world)]
    return subprocess.Popen(
        [sys.executable, str(RANK), *arguments],
        env=environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


def test_processes_in_a_folder(tmp_path: Path) -> None:
    """Each hears of all three, through nothing but the folder."""
    data, folder = tmp_path / "data", tmp_path / "meet"
    images.make_folder(data, classes=1, per_class=12, size=(24, 20))
    folder.mkdir()
    ranks = [start(rank, 3, data, folder) for rank in range(3)]
    try:
        for one in ranks:
            assert one.stdout.readline() == "heard\n"
        for one in ranks:
            said, _ = one.communicate("", timeout=SECONDS)
            assert (one.returncode, said) == (0, "gone\n")
    finally:
        for one in ranks:
            one.kill()
            one.wait()
