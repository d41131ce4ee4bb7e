# SPDX-License-Identifier: Apache-2.0
"""Helper processes that record samples: batches are the same for every number
of them, whatever becomes of them."""

from __future__ import annotations

import json
import os
import random
import threading
from pathlib import Path
from typing import Any, Dict, List

import pytest

import recorded_sets as sets
from recorded_sets import Files, arguments_of, equal
from torch_cases import Ours, torch

import feedline
from feedline.torch import recorded_helper_count as count
from feedline.torch import recorded_helpers as helpers
from PIL import Image
from torch.utils.data import get_worker_info


@pytest.fixture()
def root(tmp_path: Path) -> Path:
    return tmp_path / "images"


@pytest.fixture()
def alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Helpers make all that they can."""
    monkeypatch.setattr(helpers, "SHARES", False)


def loader_of(dataset: Any, **more: Any) -> Any:
    more = {"batch_size": 4, "num_workers": 2, "seed": 3, **more}
    return Ours(dataset, **more)


def helpers_of(batches: Any) -> Any:
    return batches._use.helpers


def same_batches(a: List[Any], b: List[Any]) -> bool:
    return len(a) == len(b) and all(map(equal, a, b))


# ---- Who makes a sample is not seen -----------------------------------------


@pytest.mark.parametrize("name", sets.SETS)
def test_batches_are_the_same(root: Path, name: str, alone: None) -> None:
    """Over two epochs; and helpers have made them."""
    found = {}
    for number in (0, 1, 2, 5) if name == "dicts" else (0, 2):
        arguments = arguments_of(name, root, num_workers=2, seed=3)
        torch.manual_seed(5)
        loader = Ours(**arguments, helpers=number)
        found[number] = []
        for _ in range(2):
            batches = iter(loader)
            made = helpers_of(batches)
            got = list(batches)
            assert number == 0 or (made.made, made.made_here) == (len(got), 0)
            found[number] += got
        assert loader.recorded
        assert same_batches(found[number], found[0]), number


@pytest.mark.parametrize("name", ["files", "dicts", "together", "single"])
def test_the_reading_thread_takes_part(root: Path, name: str) -> None:
    found = []
    for number in (0, 2):
        torch.manual_seed(5)
        arguments = arguments_of(name, root, num_workers=2, seed=3)
        found.append(list(Ours(**arguments, helpers=number)))
    assert same_batches(*found)


@pytest.mark.parametrize("name", ["files", "dicts", "records"])
def test_resumed_with_other_helpers(root: Path, name: str) -> None:
    torch.manual_seed(3)
    loader = Ours(**arguments_of(name, root, num_workers=2), helpers=2)
    batches = iter(loader)
    for _ in range(2):
        next(batches)
    saved = json.dumps(loader.state_dict())
    rest = list(batches)
    for number in (0, 1, 5):
        arguments = arguments_of(name, root, num_workers=2, helpers=number)
        resumed = Ours(**arguments)
        resumed.load_state_dict(json.loads(saved))
        assert same_batches(list(resumed), rest)


def test_helpers_come_and_go_in_the_middle(root: Path, alone: None) -> None:
    whole = list(loader_of(Files(root), batch_size=2, helpers=0))
    batches = iter(loader_of(Files(root), batch_size=2, helpers=1))
    found = []
    for change in (batches._use._grow, helpers_of(batches).shrink):
        found.append(next(batches))
        change(*[1] if change == batches._use._grow else [])
    found.append(next(batches))
    helpers_of(batches).shrink()
    found += batches
    assert same_batches(found, whole)
    assert helpers_of(batches).made > 0 == len(helpers_of(batches))


class Mixed(Files):
    """Images of Pillow's, tensors of a class of torchvision's, arrays and
    objects that samples of a batch have in common."""

    def __init__(self, root: Path) -> None:
        super().__init__(root)
        self.common = {"numbers": torch.arange(4), "seen": []}

    def __getitem__(self, index: int) -> Any:
        image = Image.open(self.files[index]).convert("RGB")
        image = image.resize((8, 6))
        if index % 3 == 0:
            image.info["note"] = index
        many = [sets.F.to_tensor(image)] * 2
        real = sets.np.asarray(Image.open(self.files[0]))[:4, :index]
        return {"image": image, "many": many, "common": self.common, 1: real}


def as_list(samples: List[Any]) -> Any:
    return samples


def in_words(batch: List[Any]) -> Any:
    first = batch[0]["common"]
    return [
        (
            sample["image"].tobytes(),
            sample["image"].info,
            [tensor.tolist() for tensor in sample["many"]],
            sample["many"][0] is sample["many"][1],
            sample["common"] is first,
            first["numbers"].tolist(),
            sample[1].tolist(),
        )
        for sample in batch
    ]


def test_samples_of_any_kind(root: Path, alone: None) -> None:
    found = []
    for number in (0, 1):
        loader = loader_of(Mixed(root), collate_fn=as_list, helpers=number)
        batches = iter(loader)
        found.append([in_words(batch) for batch in batches])
        assert number == 0 or helpers_of(batches).made == 6
    assert found[0] == found[1]


def test_classes_of_torchvision(root: Path, alone: None) -> None:
    kinds = pytest.importorskip("torchvision.tv_tensors")
    v2 = pytest.importorskip("torchvision.transforms.v2")

    class Kinds(Files):
        def __getitem__(self, index: int) -> Any:
            image = Image.open(self.files[index]).convert("RGB")
            return v2.functional.to_image(image.resize((8, 8)))

    found = []
    for number in (0, 2):
        arguments = {"collate_fn": as_list, "helpers": number}
        batches = list(loader_of(Kinds(root), **arguments))
        assert type(batches[0][0]) is kinds.Image
        found.append([sample.tolist() for batch in batches for sample in batch])
    assert found[0] == found[1]


# ---- They are workers --------------------------------------------------------


class PutTogether(Files):
    """Of several images, of Pillow's and of NumPy's, one kind or several."""

    def __init__(self, root: Path, alike: bool) -> None:
        super().__init__(root)
        self.alike = alike

    def __getitem__(self, index: int) -> Any:
        boxed = Image.new("RGB", (64, 60), (1, 2, 3))
        for n in range(index % 3 + 1):
            other = Image.open(self.files[(index + n) % len(self.files)])
            boxed.paste(other.convert("RGB").resize((30, 25)), (n * 20, n))
        inside = sets.np.full((70, 70, 3), 7, sets.np.uint8)
        inside[3:63, 2:66] = sets.np.asarray(boxed)
        inside[60:70, :5] = 0
        sample = {
            "whole": torch.from_numpy(inside.transpose(2, 0, 1).copy()),
            "file": self.transform(Image.open(self.files[index])),
        }
        if not self.alike and index % 2:
            sample["boxed"] = boxed
        return sample


@pytest.mark.parametrize("alike", (True, False))
def test_images_of_several(root: Path, alone: None, alike: bool) -> None:
    dataset = PutTogether(root, alike)
    more: Any = {} if alike else {"collate_fn": list}
    wanted = list(loader_of(dataset, helpers=0, **more))
    loader = loader_of(dataset, helpers=2, **more)
    assert same_batches(list(loader), wanted)
    assert loader.native and loader.recorded
    assert "2 helper processes" in loader.explain()
    plain = [dataset[n] for n in range(len(dataset))]
    if alike:
        assert same_batches(
            [batch["whole"] for batch in wanted],
            [
                torch.stack([one["whole"] for one in plain[n : n + 4]])
                for n in range(0, len(plain), 4)
            ],
        )


class Asking(Files):
    def __getitem__(self, index: int) -> Any:
        info = get_worker_info()
        about = info.id, info.num_workers, info.dataset is self, os.getpid()
        return super().__getitem__(index)[0], about


def test_each_is_a_worker(root: Path, alone: None, tmp_path: Path) -> None:
    started = tmp_path / "started"

    def init(number: int) -> None:
        with started.open("a") as file:
            file.write("%d %d\n" % (number, get_worker_info().id))

    arguments = {"collate_fn": as_list, "verify": 0}
    batches = iter(loader_of(Asking(root), helpers=1, **arguments))
    made = helpers_of(batches)
    made._work = made._work._replace(init=init)
    batches._use._grow(1)
    found = {about for batch in batches for _, about in batch}
    assert {about[:3] for about in found} <= {(1, 2, True), (2, 2, True)}
    assert os.getpid() not in {about[3] for about in found}
    assert started.read_text() == "2 2\n"


def test_persistent_workers_stay(root: Path, alone: None) -> None:
    whole = loader_of(Files(root), helpers=0, persistent_workers=True)
    expected = [list(whole) for _ in range(3)]
    loader = loader_of(Files(root), helpers=2, persistent_workers=True)
    seen = set()
    for epoch in range(3):
        batches = iter(loader)
        seen.add(tuple(h.process.pid for h in helpers_of(batches)._all))
        assert same_batches(list(batches), expected[epoch])
    assert len(seen) == 1
    for batch in loader:
        break  # what is under way is nobody's
    assert len(list(loader)) == 6
    assert helpers_of(batches).lost == 0


@pytest.mark.parametrize("method", ["spawn", "forkserver"])
def test_they_begin_as_the_program_says(
    root: Path, method: str, alone: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = str(Path(__file__).parent)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(_paths_with(here)))
    whole = list(loader_of(Files(root), helpers=0))
    loader = loader_of(Files(root), helpers=1, multiprocessing_context=method)
    batches = iter(loader)
    assert same_batches(list(batches), whole)
    assert helpers_of(batches).made == 6


def _paths_with(folder: str) -> List[str]:
    return [folder, *filter(None, [os.environ.get("PYTHONPATH")])]


# ---- Where there are none ----------------------------------------------------


class Counting(Files):
    """A sample tells how many came before it."""

    def __init__(self, root: Path) -> None:
        super().__init__(root)
        self.count = 0

    def __getitem__(self, index: int) -> Any:
        self.count += 1
        return super().__getitem__(index)[0], self.count


class Caching(Files):
    """A sample is kept, and another one is not seen to be."""

    def __init__(self, root: Path) -> None:
        super().__init__(root)
        self.cache: Dict[int, Any] = {}

    def __getitem__(self, index: int) -> Any:
        if index not in self.cache:
            image = Image.open(self.files[index]).convert("RGB")
            self.cache[index] = image.resize((9, 9))
        return sets.F.to_tensor(self.cache[index].crop((1, 1, 8, 8))), index


class Drawing(Files):
    """From a generator that goes on."""

    def __init__(self, root: Path) -> None:
        super().__init__(root)
        self.random = random.Random(7)

    def __getitem__(self, index: int) -> Any:
        if index:
            self.random.random()
        return super().__getitem__(index)


class Locked(Files):
    def __init__(self, root: Path) -> None:
        super().__init__(root)
        self.lock = threading.Lock()


def reason_of(dataset: Any, asked_for: bool) -> str:
    from feedline.torch.recorded_helper_proof import reason_against
    from feedline.torch.recorded_run import RecordedSet

    recorded = RecordedSet(len(dataset), "own")
    return reason_against(recorded, dataset, True, asked_for)


def test_samples_that_depend_on_others_have_none(root: Path) -> None:
    for asked_for in (False, True):
        assert "depends on those made before" in reason_of(
            Counting(root), asked_for
        )
        assert "writes to itself (random)" in reason_of(
            Drawing(root), asked_for
        )
        assert reason_of(Files(root), asked_for) == ""
    with pytest.warns(feedline.EngineWarning, match="no helper processes"):
        batches = iter(loader_of(Counting(root), helpers=2))
    assert helpers_of(batches) is None
    assert sorted(sum((b[1].tolist() for b in batches), [])) == [*range(1, 25)]


def test_only_who_asks_for_them_has_them_with_a_cache(
    root: Path, alone: None
) -> None:
    assert "writes to itself (cache" in reason_of(Caching(root), False)
    assert "keeps a lock" in reason_of(Locked(root), False)
    found = []
    for number in (0, 2):
        batches = iter(loader_of(Caching(root), helpers=number))
        found.append(list(batches))
        assert number == 0 or helpers_of(batches).made == 6
    assert same_batches(*found)


def test_wrong_numbers_are_refused(root: Path) -> None:
    for wrong in (-1, 1.5, True, "many", None):
        with pytest.raises(ValueError, match="helpers should be"):
            loader_of(Files(root), helpers=wrong)
    with pytest.raises(ValueError, match="one process"):
        loader_of(Files(root), helpers=1, draws="torch")
    loader = loader_of(Files(root), draws="torch")
    assert len(list(loader)) == 6
    assert 'draws="torch"' in loader.explain()


# ---- How many ----------------------------------------------------------------


class Figures:
    working = True
    python_s = 0.0


def decisions(limit: int, rates: List[Any]) -> List[int]:
    """Of a tuner that sees these samples/s by the number of helpers."""
    helping = count.Helping()
    tuner = count.Tuner(helping, Figures(), limit)
    seen = []
    for _ in range(12):
        rate = rates[min(helping.count, len(rates) - 1)]
        tuner._decide(rate, 0.9, 0.95)
        seen.append(helping.count)
    return seen


def test_one_more_stays_where_it_helps() -> None:
    assert decisions(3, [100, 190, 270, 350])[-1] == 3
    assert decisions(1, [100, 190])[-1] == 1
    assert decisions(3, [100, 190, 191])[-1] == 1
    assert decisions(3, [100, 100])[-1] == 0
    assert decisions(0, [100, 200])[-1] == 0


def test_none_is_tried_where_python_is_not_the_limit() -> None:
    helping = count.Helping()
    tuner = count.Tuner(helping, Figures(), 4)
    for waiting, in_python in ((0.0, 1.0), (1.0, 0.3)):
        assert tuner._decide(100, waiting, in_python) == 0
    Figures.working = False
    try:
        assert tuner._decide(100, 1.0, 1.0) == 0  # one is still starting
    finally:
        Figures.working = True
    assert tuner._decide(100, 1.0, 1.0) == 1


def test_auto_begins_one_when_told(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(count.Tuner, "look", lambda *args: int(len(args) == 3))
    monkeypatch.setattr("feedline.torch.recorded_helper_use.cores", lambda: 2)
    whole = list(loader_of(Files(root), batch_size=2, helpers=0))
    batches = iter(loader_of(Files(root), batch_size=2))
    assert len(helpers_of(batches)) == 0
    found = [next(batches)]
    assert len(helpers_of(batches)) == 1
    monkeypatch.setattr(count.Tuner, "look", lambda *args: 0)
    assert same_batches(found + list(batches), whole)


def test_auto_asks_the_data_set(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(count.Tuner, "look", lambda *args: 1)
    monkeypatch.setattr("feedline.torch.recorded_helper_use.cores", lambda: 4)
    loader = loader_of(Caching(root))
    batches = iter(loader)
    assert len(list(batches)) == 6 and len(helpers_of(batches)) == 0
    assert "no helper processes: the data set writes" in loader.explain()
