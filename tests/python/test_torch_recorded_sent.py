# SPDX-License-Identifier: Apache-2.0
"""What a worker process of torch's sends: copies of a batch in which objects
that samples have in common stay in common, and are of the classes they were."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any, Dict, List

import pytest

import recorded_sets as sets
from recorded_sets import Files, batches_of, torchs
from torch_cases import Ours, Theirs, data, torch

from feedline.torch.recorded_draws import SeededDraws

from PIL import Image


def as_they_are(samples: List[Any]) -> Any:
    return samples


def compared(dataset: Any, **more: Any) -> List[Any]:
    """Ours, which are equal to those of torch's worker."""
    arguments: Dict[str, Any] = {"dataset": dataset, "batch_size": 5, **more}
    theirs = torchs(arguments)
    for workers in (2, 0):
        given = {**arguments, "num_workers": workers, "draws": "torch"}
        ours = batches_of(Ours, given)
        assert len(ours) == len(theirs)
        for number, (a, b) in enumerate(zip(ours, theirs)):
            assert equal(a, b), "batch %d of %d workers" % (number, workers)
    return ours


def equal(ours: Any, theirs: Any) -> bool:
    """As that of recorded_sets, of arrays, too."""
    kind = sets.np.ndarray
    if isinstance(theirs, list) and theirs and isinstance(theirs[0], dict):
        return all(map(equal, ours, theirs))
    if isinstance(theirs, dict) and type(theirs.get("numbers")) is kind:
        ours, theirs = dict(ours), dict(theirs)
        one, other = ours.pop("numbers"), theirs.pop("numbers")
        if type(one) is not kind or one.tolist() != other.tolist():
            return False
    return sets.equal(ours, theirs)


# ---- What samples have in common -------------------------------------------


class Reusing(Files):
    """Hands out the same dict, array and tensor each time, filled anew."""

    def __init__(self, root: Path) -> None:
        super().__init__(root)
        self.numbers = sets.np.zeros(2)
        self.boxes = torch.zeros(2)
        self.sample: Dict[str, Any] = {"list": [0, 0]}

    def __getitem__(self, index: int) -> Any:
        self.numbers[:] = index
        self.boxes.fill_(index)
        self.sample["list"][index % 2 :] = [index]
        self.sample["image"] = self.transform(Image.open(self.files[index]))
        self.sample["numbers"] = self.numbers
        self.sample["sum"] = self.numbers.sum()
        self.sample["boxes"] = self.boxes
        return self.sample


# torch's worker pickles a batch while it makes the next one: what it sends of
# an object that the data set goes on changing is another thing each time.
@pytest.mark.parametrize("collate", [copy.deepcopy, None])
def test_one_object_that_is_filled_anew(tmp_path: Path, collate: Any) -> None:
    """A batch has what its last sample left there."""
    dataset = Reusing(tmp_path / "images")
    compared(dataset, collate_fn=collate)


class Defaults(Files):
    """Has the same target for all, and one image for several samples."""

    def __init__(self, root: Path) -> None:
        super().__init__(root)
        self.target = {"boxes": torch.ones(2, 4), "names": ["none"]}
        self.blank = None

    def __getitem__(self, index: int) -> Any:
        if index % 5 == 0:
            self.blank = self.transform(Image.open(self.files[index]))
        return self.blank, self.target, self.target["boxes"]


def test_objects_stay_in_common(tmp_path: Path) -> None:
    dataset = Defaults(tmp_path / "images")
    for batch in compared(dataset, collate_fn=as_they_are)[:-1]:
        image, target, boxes = batch[0]
        assert target["boxes"] is boxes
        for sample in batch:
            assert sample[0] is image and sample[1] is target
    compared(Plain(tmp_path / "images"))


class Plain(Defaults):
    def __getitem__(self, index: int) -> Any:
        image, _, boxes = super().__getitem__(index)
        return image, boxes


class Failing(Defaults):
    """The file of the image that others share is damaged, and its sample has a
    substitute."""

    def __getitem__(self, index: int) -> Any:
        try:
            image = Image.open(self.files[index - index % 5]).convert("RGB")
            if index % 5 == 0:
                self.blank = sets.F.to_tensor(image)
        except OSError:
            self.blank = torch.zeros(3, 32, 40)
        return self.blank, index


def test_what_failed_is_in_no_other_sample(tmp_path: Path) -> None:
    dataset = Failing(tmp_path / "images")
    path = Path(dataset.files[5])
    path.write_bytes(path.read_bytes()[:-200])
    compared(dataset)
    arguments = {"dataset": dataset, "batch_size": 5, "num_workers": 2}
    mine = batches_of(Ours, arguments)
    assert all(map(equal, mine, torchs(arguments)))


# ---- What class they are of -------------------------------------------------


class Mine(torch.Tensor):  # type: ignore[misc]
    pass


class Classes(Files):
    """Tensors and images of other classes than the plain ones."""

    def __getitem__(self, index: int) -> Any:
        image = Image.open(self.files[index])
        small = sets.F.to_tensor(image.resize((9, 8)))
        marked = small.clone()
        marked.mark = index
        return {
            "parameter": torch.nn.Parameter(small),
            "fixed": torch.nn.Parameter(small, requires_grad=False),
            "wanting": small.clone().requires_grad_(),
            "mine": small.as_subclass(Mine),
            "real": torch.ones(2).as_subclass(Mine),
            "marked": marked,
            "matrix": sets.np.ones((2, 2)).view(sets.np.matrix) * index,
            "opened": image,
            "touched": touched(Image.open(self.files[index])),
            "image": image.resize((5, 4)),
        }


def touched(image: Any) -> Any:
    image.getpixel((0, 0))
    return image


def about(thing: Any) -> Any:
    """What tells it from another one."""
    found: List[Any] = [type(thing)]
    if isinstance(thing, torch.Tensor):
        found += [thing.requires_grad, getattr(thing, "mark", None)]
        found += [thing.detach().as_subclass(torch.Tensor).tolist()]
    elif isinstance(thing, Image.Image):
        found += [thing.mode, thing.size, thing.info, thing.tobytes()]
        found += [thing.format, getattr(thing, "filename", None)]
    else:
        found += [thing.tolist()]
    return found


def test_classes_are_kept(tmp_path: Path) -> None:
    dataset = Classes(tmp_path / "images")
    arguments = {"dataset": dataset, "batch_size": 8, "num_workers": 1}
    theirs, ours = (
        kind(**arguments, collate_fn=as_they_are) for kind in (Theirs, Ours)
    )
    for mine, their in zip(ours, theirs):
        for one, other in zip(mine, their):
            for name in other:
                assert about(one[name]) == about(other[name]), name
    assert ours.recorded


# ---- Draws of the engine's, without the engine -------------------------------


class Drawing(sets.Steps):
    """Python draws, call by call, from all three generators."""

    def __getitem__(self, index: int) -> Any:
        image, _ = super().__getitem__(index)
        box = sets.T.RandomCrop.get_params(image, (8, 8))
        image = sets.F.crop(image, *box) + 0.25 * torch.rand(1).item()
        return image, torch.randn(2), sets.np.random.rand(), index


ORDER = [3, 7, 3, 21, 0, 3, 11, 7, 5, 5]


@pytest.mark.parametrize("kind", [Drawing, sets.Pairs])
def test_draws_follow_from_seed_epoch_index_and_copy(
    tmp_path: Path, kind: Any
) -> None:
    """The data set alone, with the same draws, makes the same samples, for any
    number of workers."""
    dataset = kind(tmp_path / "images")
    for workers in (1, 2, 7, 0):
        loader = Ours(dataset, 4, sampler=ORDER, num_workers=workers, seed=11)
        for epoch in range(3):
            batches = list(loader)
            assert loader.recorded
            copies = [ORDER[:n].count(index) for n, index in enumerate(ORDER)]
            draws = SeededDraws(11, epoch)
            plain = [
                draws.run(dataset.__getitem__, *one)
                for one in zip(ORDER, copies)
            ]
            for n, batch in enumerate(batches):
                want = data.default_collate(plain[4 * n : 4 * n + 4])
                assert all(map(equal, batch, want)), (workers, epoch, n)
