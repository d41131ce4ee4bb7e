# SPDX-License-Identifier: Apache-2.0
"""Native in part: the engine inside of torch's loader, as far as it knows the
chain; the same samples, and the rest called as torch calls it."""

from __future__ import annotations

import copy
import pickle
from pathlib import Path
from typing import Any, Dict, List

import pytest

from images import Image, make_folder
from torch_cases import T, Ours, Theirs, assert_same, data, torch
from torch_cases import torchvision, v2

from feedline.torch import FallbackWarning, decision
from feedline.torch.native import head_of
from feedline.torch.partial import Partial

pytestmark = [
    pytest.mark.filterwarnings("ignore::feedline.torch.FallbackWarning"),
    pytest.mark.usefixtures("known_only"),
]
SMALL = [T.Resize((8, 8)), T.CenterCrop(6)]


class Odd:
    """Unknown to anybody; does nothing to a tensor but add."""

    def __call__(self, sample: Any) -> Any:
        if isinstance(sample, torch.Tensor):
            return sample + 1
        return sample.point(lambda level: 255 - level)


class Preset:
    def __init__(self, chain: Any) -> None:
        self.transforms = chain

    def __call__(self, img: Any) -> Any:
        return self.transforms(img)


ODD = Odd()
CHAINS: Dict[str, List[Any]] = {
    "image": [*SMALL, ODD, T.ToTensor(), T.Normalize([0.5], [0.2])],
    "gray at the end": [T.Grayscale(), *SMALL, ODD, T.PILToTensor()],
    "another size": [*SMALL, lambda x: x.resize((5, 4)), T.ToTensor()],
    "another mode": [*SMALL, lambda x: x.convert("L"), T.ToTensor()],
    "two": [*SMALL, ODD, T.RandomRotation((9, 9)), ODD, T.Pad(2), T.ToTensor()],
    "bytes": [*SMALL, T.PILToTensor(), ODD],
    "floats": [*SMALL, T.ToTensor(), T.Normalize([0.5], [0.2]), ODD],
    "gray": [T.Grayscale(), *SMALL, ODD, T.ToTensor()],
    "inside": [T.Compose([*SMALL, T.Compose([ODD, T.ToTensor()])]), ODD],
    "preset": [Preset(T.Compose([*SMALL, T.ToTensor(), ODD]))],
    "own sizes": [T.Resize(9), ODD, T.CenterCrop(8), T.ToTensor()],
    "half": [*SMALL, T.ToTensor(), lambda x: x.half(), ODD],
    "gate": [*SMALL, T.RandomApply([ODD], 1.0), T.PILToTensor()],
}
if v2 is not None:
    CHAINS["tv_tensor"] = [v2.Resize((8, 8)), v2.ToImage(), lambda x: x.clone()]


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("partial") / "images"
    return make_folder(folder, 2, 6, None, gray=True)


def folder(root: Path, chain: List[Any]) -> Any:
    return torchvision.datasets.ImageFolder(str(root), T.Compose(chain))


def closed(*unused: Any, **more: Any) -> Any:
    raise AssertionError("Pillow opened an image")


@pytest.mark.parametrize("name", CHAINS)
def test_equal_and_by_the_engine(
    root: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = folder(root, CHAINS[name])
    theirs = list(Theirs(made, 5))
    loader = Ours(made, 5)
    assert loader.partly_native and not loader.native
    monkeypatch.setattr(Image, "open", closed)
    assert_same(list(loader), theirs)


def test_large_batches(root: Path) -> None:
    made = data.ConcatDataset([folder(root, CHAINS["image"])] * 7)
    assert_same(list(Ours(made, 80)), list(Theirs(made, 80)))


@pytest.mark.parametrize("persistent", [False, True])
def test_in_workers(
    root: Path, persistent: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = data.Subset(folder(root, CHAINS["image"]), [7, 0, 3, 11, -1])
    theirs = list(Theirs(made, 2))
    loader = Ours(made, 2, num_workers=2, persistent_workers=persistent)
    monkeypatch.setattr(Image, "open", closed)
    for _ in range(2):
        assert_same(list(loader), theirs)
    assert loader.partly_native and loader.engine is None


def listed(samples: List[Any]) -> Any:
    return [type(image) for image, _ in samples], [n for _, n in samples]


def test_a_collate_fn_of_ones_own(root: Path) -> None:
    """It gets what torch gives it: also Pillow images, and exact labels."""
    for chain in (SMALL, [*SMALL, T.ToTensor()]):
        made = folder(root, chain)
        loader = Ours(made, 4, collate_fn=listed)
        assert loader.partly_native and "collate_fn" in loader.fallback_reason
        found = list(loader)
        labels = [n for _, part in found for n in part]
        assert labels == made.targets and type(labels[0]) is int
        kind = Image.Image if chain is SMALL else torch.Tensor
        assert all(issubclass(k, kind) for kinds, _ in found for k in kinds)
    made.samples = [(p, torch.tensor(n).numpy()[()]) for p, n in made.samples]
    assert not Ours(made, 4, collate_fn=listed).partly_native


def drawing(root: Path) -> Any:
    crop = T.RandomResizedCrop(8, scale=(0.1, 0.5))
    return folder(root, [crop, ODD, T.PILToTensor()])


@pytest.mark.parametrize("workers", [0, 2])
def test_draws(root: Path, workers: int) -> None:
    """They repeat with the seed; a sample that comes again has others."""
    made = data.Subset(drawing(root), [4] * 6)
    epochs = []
    for seed in (1, 1, 2):
        torch.manual_seed(seed)
        loader = Ours(
            made, 3, num_workers=workers, persistent_workers=workers > 0
        )
        epochs.append([image for _ in "ab" for b in loader for image in b[0]])
    assert_same(epochs[0], epochs[1])
    pixels = [bytes(image.numpy()) for image in epochs[0] + epochs[2]]
    assert len(set(pixels)) == 24


def test_draws_leave_the_generator_alone(root: Path) -> None:
    """Without workers as native epochs do."""
    states = []
    for made in (folder(root, CHAINS["image"]), drawing(root)):
        torch.manual_seed(3)
        list(Ours(made, 4))
        states.append(torch.get_rng_state())
    assert torch.equal(states[0], states[1])


@pytest.mark.parametrize("workers", [0, 2])
def test_the_quality_is_the_engines(tmp_path: Path, workers: int) -> None:
    large = make_folder(tmp_path / "large", 1, 4, (640, 480))
    small = [T.Resize((30, 40)), T.ToTensor()]
    made = {}
    for quality in "exact", "fast":
        loader = Ours(
            folder(large, [*small, ODD]),
            batch_size=4,
            num_workers=workers,
            quality=quality,
        )
        ((made[quality], _),) = list(loader)
        assert loader.partly_native
    native = Ours(folder(large, small), batch_size=4, quality="fast")
    ((expected, _),) = list(native)
    assert native.native and torch.equal(made["fast"], expected + 1)
    assert not torch.equal(made["fast"], made["exact"])


def test_damaged_files(tmp_path: Path) -> None:
    """What torch raises, in place of the batch."""
    bad = folder(
        make_folder(tmp_path / "bad", 2, 4, damaged=1), CHAINS["image"]
    )
    errors = []
    for loader in (Ours(bad, 3), Theirs(bad, 3)):
        batches = iter(loader)
        assert len(next(batches)[1]) == 3
        with pytest.raises(OSError) as caught:
            next(batches)
        errors.append(str(caught.value))
        assert len(next(batches)[1]) == 2
    assert errors[0] == errors[1]


def test_other_processes(root: Path) -> None:
    """One that was not forked makes its own engine."""

    class Begun:
        batches = seed = 0

    made = folder(root, CHAINS["image"][:3] + [T.ToTensor()])
    parts = Partial(made, head_of(made), Begun())
    copied = pickle.loads(pickle.dumps(parts))
    assert len(copied) == 12 and copied.classes == made.classes
    assert torch.equal(copied[-1][0], parts[11][0])
    with pytest.raises(IndexError):
        copied[12]


def init(worker: int) -> None:
    open("/dev/null").close()


def test_what_is_all_torchs(root: Path) -> None:
    made = folder(root, CHAINS["image"])
    for arguments in (
        {"backend": "torch"},
        {"batch_size": None},
        {"worker_init_fn": init, "num_workers": 1},
    ):
        assert not Ours(made, **arguments).partly_native
    for chain in ([ODD, *CHAINS["image"]], [ODD], [T.ToTensor(), ODD]):
        assert not Ours(folder(root, chain)).partly_native
    assert not Ours(folder(root, [*SMALL, T.ToTensor()])).partly_native
    other = copy.copy(made)
    other.transform = T.Compose(CHAINS["image"])
    assert not Ours(data.ConcatDataset([made, other])).partly_native
    assert Ours(data.ConcatDataset([made, made])).partly_native


def test_what_is_said(root: Path) -> None:
    loader = Ours(folder(root, CHAINS["image"]), 5)
    reason = str(loader.fallback_reason)
    assert (
        reason.startswith("transforms[2] Odd: ") and "PIL(Odd(...))" in reason
    )
    with pytest.warns(FallbackWarning, match="engine makes the images up to"):
        list(loader)
    assert "in torch's workers" in loader.explain()


@pytest.mark.parametrize("least", [0.0, 1e9])
def test_what_deciding_took_is_said(
    root: Path, monkeypatch: Any, least: float
) -> None:
    monkeypatch.setattr(decision, "_TOLD_FROM_S", least)
    loader = Ours(folder(root, CHAINS["image"]), 5)
    list(loader)
    assert ("finding out what the engine" in loader.explain()) == (least == 0)
