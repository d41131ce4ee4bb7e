# SPDX-License-Identifier: Apache-2.0
"""albumentations' chains whose apply() functions are recorded as a whole: what
is drawn, in which order, and what is remembered of it, stays the library's; and
functions that are not the library's run as they are."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any, Callable, Dict, List

import pytest

import images
import needs
from recorded_sets import equal
from torch_cases import Ours, Theirs, torch

np = pytest.importorskip("numpy")
cv2 = pytest.importorskip("cv2", reason="no OpenCV")
os.environ.setdefault("NO_ALBUMENTATIONS_UPDATE", "1")
A = pytest.importorskip("albumentations", reason="no albumentations")

needs.deferred_tensors()

from albumentations.pytorch import ToTensorV2

from feedline.deferred import Recorder
from feedline.deferred import albumentations_hooks as hooks

tried = pytest.mark.skipif(
    A.__version__ not in hooks._TRIED, reason="another albumentations"
)


def usual() -> List[Any]:
    return [
        A.RandomResizedCrop((40, 36)),
        A.HorizontalFlip(),
        A.VerticalFlip(),
        A.ShiftScaleRotate(),
        A.HueSaturationValue(),
        A.RandomBrightnessContrast(),
        A.RandomGamma(),
        A.Normalize(),
    ]


def nested() -> List[Any]:
    return [
        A.OneOf(
            [
                A.RandomResizedCrop((40, 40), scale=(0.3, 0.9)),
                A.Sequential([A.RandomCrop(44, 44), A.Resize(40, 40)], p=0.7),
                A.RandomSizedCrop((30, 48), size=(40, 40)),
            ],
            p=1,
        ),
        A.SomeOf(
            [
                A.HorizontalFlip(),
                A.OneOf([A.VerticalFlip(), A.Affine(rotate=(-30, 30))]),
                A.HueSaturationValue(),
                A.RandomGamma(),
            ],
            n=2,
        ),
        A.OneOf(
            [
                A.OneOf([A.RandomBrightnessContrast(), A.RandomGamma()], p=0.6),
                A.Compose([A.HueSaturationValue(), A.HorizontalFlip()], p=0.5),
            ],
            p=0.8,
        ),
    ]


def colours_of_borders() -> List[Any]:
    return [
        A.Affine(
            rotate=(-40, 40),
            translate_percent=(-0.2, 0.2),
            fill=(9, 99, 200),
            fill_mask=3,
            p=0.8,
        ),
        A.Affine(scale=(0.7, 1.2), border_mode=cv2.BORDER_REFLECT_101),
        A.Affine(shear=(-9, 9), interpolation=cv2.INTER_NEAREST),
        A.Affine(),  # an identity
        A.HueSaturationValue(sat_shift_limit=0),
        A.HueSaturationValue(0, 0, 0),
        A.RandomBrightnessContrast(brightness_by_max=False),
        A.Normalize(normalization="image"),
    ]


def of_whole_images() -> List[Any]:
    """Crops that are views, or all of the image."""
    return [
        A.RandomCrop(40, 56),
        A.CenterCrop(40, 56),
        A.RandomResizedCrop((40, 56), scale=(1, 1), ratio=(1.4, 1.4)),
        A.HorizontalFlip(),
    ]


def sizes_and_borders() -> List[Any]:
    """As detectors have them, and segmenters."""
    return [
        A.OneOf(
            [
                A.LongestMaxSize(64),
                A.SmallestMaxSize(40, area_for_downscale="image"),
                A.RandomScale(0.3),
                A.Resize(60, 50, mask_interpolation=cv2.INTER_LINEAR),
                A.Resize(40, 44, area_for_downscale="image_mask"),
                A.Resize(48, 56),  # its own size
            ],
            p=1,
        ),
        A.OneOf(
            [
                A.PadIfNeeded(70, 80, fill=(9, 99, 200), fill_mask=3),
                A.PadIfNeeded(70, 80, border_mode=cv2.BORDER_REFLECT_101),
                A.Pad((3, 0, 7, 12), fill=114),
                A.Pad(0),
                A.PadIfNeeded(None, 80, pad_height_divisor=32),
            ],
            p=0.9,
        ),
        A.OneOf(
            [
                A.Rotate(30),
                A.Rotate(9, border_mode=cv2.BORDER_REFLECT_101),
                A.Rotate(20, crop_border=True),
                A.Rotate(40, fill=(1, 2, 3), fill_mask=2),
                A.Rotate((0, 0)),
            ],
            p=0.9,
        ),
        A.Resize(45, 41),
    ]


CHAINS: Dict[str, Callable[[], List[Any]]] = {
    "sizes and borders": sizes_and_borders,
    "usual": usual,
    "usual, as tensors": lambda: [*usual(), ToTensorV2()],
    "nested": nested,
    "colours of borders": colours_of_borders,
    "of whole images": of_whole_images,
}


class Pairs(torch.utils.data.Dataset):  # type: ignore[misc, type-arg]
    """Images and masks, as many of each as there are names of targets."""

    def __init__(self, root: Path, chain: Any, more: Dict[str, str]) -> None:
        self.files = sorted(map(str, root.glob("*.jpg")))
        self.chain, self.more = chain, more

    def __len__(self) -> int:
        return len(self.files)

    def __getitem__(self, index: int) -> Any:
        image = cv2.imread(self.files[index])
        mask = cv2.imread(self.files[index][:-3] + "png", 0)
        image = cv2.cvtColor(image, cv2.COLOR_BGR2RGB)
        given = {"image": image, "mask": mask}
        for name, kind in self.more.items():
            given[name] = given[kind].copy()
        made = self.chain(**given)
        return [
            part if isinstance(part, torch.Tensor) else torch.from_numpy(part)
            for name, part in sorted(made.items())
            if hasattr(part, "shape")
        ]


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("pairs")
    for n in range(10):
        image = images.picture((56, 48), n)
        image.save(folder / ("%02d.jpg" % n), quality=93)
        mask = image.convert("L").point([v // 60 for v in range(256)])
        mask.save(folder / ("%02d.png" % n))
    return folder


def epochs(loader: Any) -> List[Any]:
    return [batch for _ in range(4) for batch in loader]


def assert_torchs(make: Callable[[], Any]) -> Any:
    torch.manual_seed(3)
    theirs = epochs(Theirs(make(), 1, True, num_workers=1))
    torch.manual_seed(3)
    loader = Ours(make(), 1, True, num_workers=2, draws="torch")
    ours = epochs(loader)
    assert len(ours) == len(theirs)
    assert all(equal(a, b) for a, b in zip(ours, theirs))
    return loader


@pytest.mark.parametrize("seed", [1, 8])
@pytest.mark.parametrize("name", CHAINS)
def test_torchs_batches(root: Path, name: str, seed: int) -> None:
    def make() -> Any:
        return Pairs(root, A.Compose(CHAINS[name](), seed=seed), {})

    loader = assert_torchs(make)
    if "colours" not in name:
        assert loader.recorded and loader.native, loader.fallback_reason


@pytest.mark.parametrize("name", ["usual", "nested"])
def test_additional_targets(root: Path, name: str) -> None:
    more = {"image2": "image", "near": "mask", "image3": "image"}

    def make() -> Any:
        chain = A.Compose(CHAINS[name](), seed=5, additional_targets=more)
        return Pairs(root, chain, more)

    assert assert_torchs(make).recorded


# ---- What the library remembers ---------------------------------------------


def run_both(make: Callable[[], Any], root: Path, times: int) -> Any:
    """What each call of the chain gives but pixels, recorded and not."""
    recorder = Recorder()
    found = []
    for run in (recorder.run, lambda f, *a: f(*a)):
        chain, said = make(), []
        for index in range(times):
            n = index % 10

            def sample() -> Any:
                image = cv2.imread(str(root / ("%02d.jpg" % n)))
                mask = cv2.imread(str(root / ("%02d.png" % n)), 0)
                return chain(image=image, mask=mask)

            said.append(run(sample))
        found.append(said)
    assert not recorder.touches
    return found


def same(a: Any, b: Any) -> bool:
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(same(a[k], b[k]) for k in a)
    if isinstance(a, (list, tuple)):
        return len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, np.ndarray):
        return np.array_equal(a, b)
    return bool(a == b)


def test_parameters_that_are_saved(root: Path) -> None:
    ours, theirs = run_both(
        lambda: A.Compose(nested(), seed=2, save_applied_params=True), root, 40
    )
    for a, b in zip(ours, theirs):
        assert list(a) == list(b)
        assert same(a["applied_transforms"], b["applied_transforms"])


def test_replay(root: Path) -> None:
    def make() -> Any:
        chain = A.ReplayCompose(usual())
        chain.set_random_seed(7)
        return chain

    ours, theirs = run_both(make, root, 20)

    def of(replay: Any) -> Any:
        if isinstance(replay, dict):
            return {k: of(v) for k, v in replay.items() if k != "id"}
        return list(map(of, replay)) if isinstance(replay, list) else replay

    for a, b in zip(ours, theirs):
        assert same(of(a["replay"]), of(b["replay"]))
        image = cv2.imread(str(root / "03.jpg"))
        again = [
            A.ReplayCompose.replay(x["replay"], image=image) for x in (a, b)
        ]
        assert np.array_equal(again[0]["image"], again[1]["image"])


# ---- Whose functions are used -----------------------------------------------


def calls_of(function: Any, chain: Any, root: Path) -> int:
    """How often samples that are recorded call it, behind the first ones."""
    calls: List[Any] = []

    def profile(frame: Any, event: str, argument: Any) -> None:
        if event == "call" and frame.f_code is function.__code__:
            calls.append(frame)

    recorder, run = Recorder(), Pairs(root, chain, {}).__getitem__
    for n in range(4):  # both ways
        recorder.run(run, n)
    sys.setprofile(profile)
    for n in range(10):
        recorder.run(run, n)
    sys.setprofile(None)
    assert not recorder.touches
    return len(calls)


@tried
@pytest.mark.parametrize(
    "make",
    [
        lambda: A.HorizontalFlip(p=1),
        lambda: A.HueSaturationValue(p=1),
        lambda: A.Resize(40, 36),
        lambda: A.LongestMaxSize(40),
        lambda: A.PadIfNeeded(90, 80),
        lambda: A.Rotate((9, 10), p=1),
    ],
)
def test_apply_is_not_called(root: Path, make: Any) -> None:
    transform = make()
    function = type(transform).apply
    assert calls_of(function, A.Compose([transform]), root) == 0


@tried
@pytest.mark.parametrize("name", CHAINS)
def test_both_ways_are_alike(root: Path, name: str) -> None:
    recorder, chain = Recorder(), A.Compose(CHAINS[name](), seed=6)
    run, before = Pairs(root, chain, {}).__getitem__, set(hooks._transforms)
    for n in range(60):
        recorder.run(run, n % 10)
    found = [v for k, v in hooks._transforms.items() if k not in before]
    assert found and not any(-1 in trials.values() for _, trials in found)


@tried
def test_a_function_of_a_subclass_is_called(root: Path) -> None:
    class Own(A.HorizontalFlip):  # type: ignore[misc, name-defined]
        def apply(self, img: Any, **params: Any) -> Any:
            return cv2.flip(img, 0)

    assert calls_of(Own.apply, A.Compose([Own(p=1)]), root) == 20

    def make() -> Any:
        return Pairs(root, A.Compose([Own(p=0.5), *usual()], seed=1), {})

    # Copies of a data set find its classes by name.
    globals()["Own"] = Own
    Own.__qualname__ = "Own"
    assert_torchs(make)


@tried
def test_one_that_does_otherwise_is_found_out(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A function deep in the library is another one: the first arrays tell."""

    def resize(img: Any, shape: Any, how: int) -> Any:
        return cv2.resize(img, shape[::-1], interpolation=cv2.INTER_NEAREST)

    name = "albumentations.augmentations.geometric.functional"
    monkeypatch.setattr(sys.modules[name], "resize", resize)
    chain = A.Compose([A.RandomResizedCrop((40, 36))], seed=1)
    recorder, run = Recorder(), Pairs(root, chain, {}).__getitem__
    for n in range(3):
        made = recorder.run(run, n)
        steps = made[0]._feedline_deferred.steps
        assert any(s[0] == 70 and s[1][2] == 0 for s in steps), steps
