# SPDX-License-Identifier: Apache-2.0
"""Chains of transforms that data sets of the program's own call: the engine has
them whole, and draws as for ImageFolder."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any, Callable, List

import pytest

import needs

needs.deferred_tensors()

import recorded_sets as sets  # noqa: E402
from recorded_sets import Files, chain  # noqa: E402
from test_torch_views import TwoCropsTransform  # noqa: E402
from torch_cases import Ours, T, Theirs, data, folder  # noqa: E402
from torch_cases import same, torch, v2  # noqa: E402

from PIL import Image  # noqa: E402

EPOCHS = 3


def stream(loader: Any, epochs: int = EPOCHS) -> List[Any]:
    return [batch for _ in range(epochs) for batch in loader]


def seeded(dataset: Any, **arguments: Any) -> Any:
    torch.manual_seed(5)
    return Ours(dataset, **{"batch_size": 5, "shuffle": True, **arguments})


def of_folder(root: Path, transform: Any, **arguments: Any) -> List[Any]:
    """The native stream."""
    loader = seeded(folder(root, transform, size=(40, 32)), **arguments)
    found = stream(loader)
    assert loader.native and not loader.recorded, loader.fallback_reason
    return [images for images, _ in found]


def of_own(dataset: Any, **arguments: Any) -> List[Any]:
    loader = seeded(dataset, **arguments)
    found = stream(loader)
    assert loader.recorded, loader.fallback_reason
    return [batch[0] for batch in found]


def wholes(dataset: Any, **arguments: Any) -> int:
    """Images of an epoch that were recorded with a whole chain."""
    loader = seeded(dataset, **arguments)
    stream(loader, 1)
    assert loader.recorded, loader.fallback_reason
    return int(loader._feedline.decision.recorded.chains.count)


class With(Files):
    """With another chain."""

    def __init__(self, root: Path, transform: Any) -> None:
        super().__init__(root)
        self.transform = transform


def modern(side: int = 16) -> Any:
    return v2.Compose(
        [
            v2.ToImage(),
            v2.RandomResizedCrop(side, antialias=True),
            v2.RandomHorizontalFlip(),
            v2.ToDtype(torch.float32, scale=True),
            v2.Normalize((0.5, 0.4, 0.3), (0.2, 0.3, 0.4)),
        ]
    )


def several(T: Any) -> Any:
    jitter = T.ColorJitter(0.4, 0.4, 0.4, 0.1)
    return T.Compose(
        [
            T.RandomCrop(24, padding=4, pad_if_needed=True),
            T.RandomApply([jitter], p=0.8),
            T.Compose([T.RandomGrayscale(0.2), T.RandomVerticalFlip()]),
            T.RandomChoice([T.RandomRotation(10), T.RandomHorizontalFlip(1)]),
            T.PILToTensor(),
        ]
    )


CHAINS = {
    "usual": chain,
    "tensors": modern,
    "v1": lambda: several(T),
    "v2": lambda: several(v2),
    "policy": lambda: T.Compose(
        [T.RandomResizedCrop(16), T.TrivialAugmentWide(), T.ToTensor()]
    ),
    "gray": lambda: T.Compose(
        [T.Grayscale(1), T.RandomResizedCrop(16), T.ToTensor()]
    ),
    "erased": lambda: T.Compose(
        [*chain().transforms, T.RandomErasing(0.5, value=0.5)]
    ),
}


# ---- The stream of ImageFolder ---------------------------------------------


@pytest.mark.parametrize("name", CHAINS)
def test_the_stream_of_a_folder(tmp_path: Path, name: str) -> None:
    if name in ("tensors", "v2") and v2 is None:
        pytest.skip("this torchvision has no transforms.v2")
    root = tmp_path / "images"
    theirs = of_folder(root, CHAINS[name]())
    ours = of_own(With(root, CHAINS[name]()))
    assert same(ours, theirs)
    assert wholes(With(root, CHAINS[name]())) >= 24


@pytest.mark.parametrize("workers", [1, 2, 7])
@pytest.mark.parametrize(
    "more", [{}, {"seed": 11}, {"persistent_workers": True}]
)
def test_for_any_workers(tmp_path: Path, workers: int, more: Any) -> None:
    root = tmp_path / "images"
    more = {**more, "num_workers": workers}
    assert same(of_own(Files(root), **more), of_folder(root, chain(), **more))


def test_samples_that_come_again(tmp_path: Path) -> None:
    root, order = tmp_path / "images", [3, 5, 3, 3, 5, 8, 3, 11, 5, 3]
    more = {"sampler": order, "shuffle": False, "num_workers": 2}
    ours = of_own(Files(root), **more)
    assert same(ours, of_folder(root, chain(), **more))
    assert not torch.equal(ours[0][0], ours[0][2])


def test_resumed(tmp_path: Path) -> None:
    root = tmp_path / "images"
    theirs = of_folder(root, chain())
    loader = seeded(Files(root), num_workers=2)
    list(loader)
    batches = iter(loader)
    next(batches), next(batches)
    saved = json.dumps(loader.state_dict())
    for workers in (0, 1, 7):
        resumed = seeded(Files(root), num_workers=workers)
        resumed.load_state_dict(json.loads(saved))
        assert same([images for images, _ in resumed], theirs[7:10])


class TwoViews(Files):
    def __getitem__(self, index: int) -> Any:
        image = Image.open(self.files[index]).convert("RGB")
        return [self.transform(image), self.transform(image)], index


def test_two_views(tmp_path: Path) -> None:
    root = tmp_path / "images"
    theirs = of_folder(root, TwoCropsTransform(chain()))
    assert same(of_own(TwoViews(root)), theirs)


class Together(Files):
    """As Hugging Face's sets and their functions: a batch at a time."""

    def __getitems__(self, indices: List[int]) -> List[Any]:
        images = [Image.open(self.files[index]) for index in indices]
        images = [image.convert("RGB") for image in images]
        made = [self.transform(image) for image in images]
        return list(zip(made, indices))


def test_a_batch_at_a_time(tmp_path: Path) -> None:
    root = tmp_path / "images"
    assert same(of_own(Together(root)), of_folder(root, chain()))


class OfRows(data.Dataset):  # type: ignore[misc]
    """Of a data set of Hugging Face's."""

    def __init__(self, rows: Any) -> None:
        self.rows = rows

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, index: int) -> Any:
        return self.rows[index]

    def __getitems__(self, indices: List[int]) -> List[Any]:
        return self.rows.__getitems__(indices)  # type: ignore[no-any-return]


def test_functions_of_hugging_faces(tmp_path: Path) -> None:
    hf = pytest.importorskip("datasets", reason="no Hugging Face datasets")
    files = sets.images_in(tmp_path / "images")
    transform = chain()

    def function(batch: Any) -> Any:
        images = [image.convert("RGB") for image in batch.pop("image")]
        batch["pixels"] = [transform(image) for image in images]
        return batch

    rows = hf.Dataset.from_dict({"image": files, "label": [0] * len(files)})
    rows = rows.cast_column("image", hf.Image()).with_transform(function)
    theirs = of_folder(tmp_path / "images", chain())
    loader = seeded(OfRows(rows))
    ours = [batch["pixels"] for batch in stream(loader)]
    assert loader.recorded, loader.fallback_reason
    assert same(ours, theirs)


class InFront(Files):
    """What may be done before a chain."""

    def __getitem__(self, index: int) -> Any:
        image = Image.open(self.files[index]).crop((2, 1, 30, 31))
        image = image.transpose(Image.FLIP_LEFT_RIGHT).convert("RGB")
        return self.transform(image), index


def test_steps_in_front(tmp_path: Path) -> None:
    """A whole chain behind a crop and a flip is what it is of files that are
    made so."""
    root, flipped = tmp_path / "images", tmp_path / "cut"
    for file in map(Path, sets.images_in(root)):
        made = flipped / file.parent.name / (file.stem + ".png")
        made.parent.mkdir(parents=True, exist_ok=True)
        image = Image.open(file).crop((2, 1, 30, 31))
        image.transpose(Image.FLIP_LEFT_RIGHT).convert("RGB").save(made)
    assert same(of_own(InFront(root)), of_folder(flipped, chain()))
    assert wholes(InFront(root)) >= 24


class Unconverted(Files):
    """The chain makes colours of gray files."""

    def __init__(self, root: Path) -> None:
        super().__init__(root)
        self.transform = T.Compose(
            [chain().transforms[0], to_rgb, T.ToTensor()]
        )

    def __getitem__(self, index: int) -> Any:
        return self.transform(Image.open(self.files[index])), index // 8


def to_rgb(image: Any) -> Any:
    return image.convert("RGB")


def test_gray_files_among_coloured(tmp_path: Path) -> None:
    root = tmp_path / "images"
    for file in sets.images_in(root)[1::3]:
        Image.open(file).convert("L").save(file)
    dataset = Unconverted(root)
    loader = Ours(dataset, 5, num_workers=1)
    found = list(loader)
    assert "made in Python" not in loader.explain()
    assert sum(len(labels) for _, labels in found) == 24
    assert same(of_own(dataset), of_folder(root, dataset.transform))
    assert wholes(dataset) >= 24


# ---- Chains are kept and changed as programs do ----------------------------


class BySplit(Files):
    def __init__(self, root: Path) -> None:
        super().__init__(root)
        self.chains = {"train": chain(), "val": fixed()}
        self.split = "train"

    def __getitem__(self, index: int) -> Any:
        image = Image.open(self.files[index]).convert("RGB")
        return self.chains[self.split](image), index


def fixed(side: int = 16, T: Any = T) -> Any:
    return T.Compose([T.Resize(20), T.CenterCrop(side), T.PILToTensor()])


def test_chains_by_split(tmp_path: Path) -> None:
    root = tmp_path / "images"
    dataset = BySplit(root)
    assert same(of_own(dataset), of_folder(root, chain()))
    dataset.split = "val"
    assert same(of_own(dataset), of_folder(root, fixed()))


def test_a_chain_that_changes_between_epochs(tmp_path: Path) -> None:
    root = tmp_path / "images"
    own, known = Files(root), folder(root, chain(), size=(40, 32))
    for num_workers in (0, 2):
        loaders = [seeded(one, num_workers=num_workers) for one in (own, known)]
        for side in (16, 12, 16):
            for one in (own, known):
                one.transform.transforms[0].size = (side, side)
            found = []
            for loader in loaders:
                torch.manual_seed(side)
                found.append([images for images, _ in loader])
            assert found[0][0].shape[-1] == side
            assert same(*found)


class EachSize(Files):
    """The size of what comes is another in each batch."""

    def __init__(self, root: Path) -> None:
        super().__init__(root)
        self.transform = fixed()

    def __getitem__(self, index: int) -> Any:
        side = 8 + index // 5
        self.transform.transforms[1].size = (side, side)
        image = Image.open(self.files[index]).convert("RGB")
        return self.transform(image), index


class MadeEachTime(Files):
    def __getitem__(self, index: int) -> Any:
        image = Image.open(self.files[index]).convert("RGB")
        return fixed(8 + index // 5)(image), index


@pytest.mark.parametrize("kind", [EachSize, MadeEachTime])
def test_a_chain_that_changes_in_an_epoch(tmp_path: Path, kind: Any) -> None:
    dataset = kind(tmp_path / "images")
    theirs = list(Theirs(dataset, 5))
    assert same(list(seeded(dataset, shuffle=False)), theirs)
    assert wholes(dataset, shuffle=False) >= 24


# ---- Those that run call by call -------------------------------------------


class Brighter(T.Compose):  # type: ignore[misc]
    def __call__(self, image: Any) -> Any:
        return super().__call__(image) + 1


def with_lambda() -> Any:
    offset = 3
    return T.Compose([*fixed().transforms, T.Lambda(lambda x: x + offset)])


def patched() -> Any:
    made = fixed(T=v2)
    plain = made.transforms[-1].forward
    made.transforms[-1].forward = lambda image: plain(image) + 1
    return made


def hooked(inner: bool) -> Any:
    made = fixed(T=v2)
    module = made.transforms[-1] if inner else made
    module.register_forward_hook(lambda module, args, image: image + 1)
    return made


NOT_WHOLE = {
    "subclass": lambda: Brighter(fixed().transforms),
    "lambda": with_lambda,
    "patched": patched,
    "hooked": lambda: hooked(False),
    "hooked inside": lambda: hooked(True),
}


@pytest.mark.parametrize("name", NOT_WHOLE)
def test_what_else_happens_is_not_lost(tmp_path: Path, name: str) -> None:
    if name not in ("subclass", "lambda") and v2 is None:
        pytest.skip("this torchvision has no transforms.v2")
    dataset = With(tmp_path / "images", NOT_WHOLE[name]())
    theirs = list(Theirs(dataset, 5))
    assert same(list(seeded(dataset, shuffle=False)), theirs)


def test_a_hook_that_comes_later(tmp_path: Path) -> None:
    if v2 is None:
        pytest.skip("this torchvision has no transforms.v2")
    dataset = With(tmp_path / "images", fixed(T=v2))
    loader = seeded(dataset, shuffle=False)
    assert same(list(loader), list(Theirs(dataset, 5)))
    crop = dataset.transform.transforms[1]
    crop.register_forward_hook(lambda module, args, image: image.rotate(180))
    assert same(list(loader), list(Theirs(dataset, 5)))


class Seeding(Files):
    """The same draws for two images, as recipes have it."""

    def __init__(self, root: Path, ways: str) -> None:
        super().__init__(root)
        self.ways = ways

    def __getitem__(self, index: int) -> Any:
        image = Image.open(self.files[index]).convert("RGB")
        if self.ways == "seed":
            seed = random.getrandbits(30)
            torch.manual_seed(seed)
            first = self.transform(image)
            torch.manual_seed(seed)
        else:
            state = torch.get_rng_state()
            first = self.transform(image)
            torch.set_rng_state(state)
        return first, self.transform(image)


@pytest.mark.parametrize("ways", ["seed", "state"])
def test_draws_that_are_to_be_the_same(tmp_path: Path, ways: str) -> None:
    for first, second in seeded(Seeding(tmp_path / "images", ways)):
        assert torch.equal(first, second)


# ---- What the program does with the result ---------------------------------


class Used(Files):
    """The tensor is used, of all samples or of a few."""

    def __init__(self, root: Path, use: Callable[[Any], Any], first: int):
        super().__init__(root)
        self.use, self.first = use, first

    def __getitem__(self, index: int) -> Any:
        image, label = super().__getitem__(index)
        return (self.use(image) if index >= self.first else image), label


def halved(image: Any) -> Any:
    return image * 0.5


def written(image: Any) -> Any:
    image[:, 2:5, 3:6] = 0
    return image


def cut(image: Any) -> Any:
    return image.flip(-1)[..., :8, :]


def read(image: Any) -> Any:
    return image + float(image.mean())


@pytest.mark.parametrize("use", [halved, written, read])
def test_a_tensor_that_is_used_late(tmp_path: Path, use: Any) -> None:
    """The proof does not see it: it is the tensor that it would have been."""
    root = tmp_path / "images"
    theirs = of_folder(root, chain(), shuffle=False)
    ours = of_own(Used(root, use, 13), shuffle=False)
    expected = [image.clone() for batch in theirs for image in batch]
    expected = [
        use(image) if n % 24 >= 13 else image
        for n, image in enumerate(expected)
    ]
    for a, b in zip([image for batch in ours for image in batch], expected):
        assert torch.equal(a, b)


@pytest.mark.parametrize("helpers", [0, 1])
@pytest.mark.parametrize("before, now", [(2, 24), (24, 2)])
def test_resumed_with_other_samples_tried(
    tmp_path: Path, before: int, now: int, helpers: int
) -> None:
    """Whether chains are recorded as wholes is in the state, also in that of an
    epoch that has ended."""

    def loader(verify: int) -> Any:
        dataset = Used(tmp_path / "images", halved, 13)
        more = {"verify": verify, "helpers": helpers}
        return seeded(dataset, num_workers=1, **more)

    theirs = stream(loader(before), 2)
    assert not same(theirs, stream(loader(now), 2))
    for batches in (2, 5):  # of 5
        first, second = loader(before), loader(now)
        it = iter(first)
        assert same([next(it) for _ in range(batches)], theirs[:batches])
        if batches == 5:
            assert next(it, None) is None
        second.load_state_dict(json.loads(json.dumps(first.state_dict())))
        rest = stream(second, 2 if batches == 2 else 1)
        assert same(rest, theirs[batches:])


@pytest.mark.parametrize("use", [halved, written, cut])
def test_a_tensor_that_is_always_used(tmp_path: Path, use: Any) -> None:
    """Recorded call by call, with draws that do not depend on workers."""
    dataset = Used(tmp_path / "images", use, 0)
    loader = seeded(dataset, num_workers=2)
    first = stream(loader)
    assert same(first, stream(seeded(dataset, num_workers=7)))
    usual = With(tmp_path / "images", fixed())
    late = Used(tmp_path / "images", lambda x: use(x * 1.0), 0)
    late.transform = usual.transform
    theirs = list(Theirs(late, 5))
    assert same(list(Ours(late, 5)), theirs)


class Failing(Files):
    def __getitem__(self, index: int) -> Any:
        try:
            image = Image.open(self.files[index]).convert("RGB")
            return self.transform(image), index
        except OSError:
            return torch.zeros(3, 16, 16), -1


def test_files_that_are_broken(tmp_path: Path) -> None:
    """Substitutes are the program's."""
    dataset = Failing(tmp_path / "images")
    broken = Path(dataset.files[17])
    broken.write_bytes(broken.read_bytes()[:200])
    batches = list(seeded(dataset, shuffle=False))
    labels = [int(n) for _, batch in batches for n in batch]
    assert labels == [n if n != 17 else -1 for n in range(24)]


class Caching(Files):
    """Keeps what it opened, as if it was small."""

    def __init__(self, root: Path) -> None:
        super().__init__(root)
        self.opened: Any = {}

    def __getitem__(self, index: int) -> Any:
        if index not in self.opened:
            self.opened[index] = Image.open(self.files[index]).convert("RGB")
        return self.transform(self.opened[index]), index


def test_images_that_are_kept(tmp_path: Path) -> None:
    """From the second epoch on they are real ones."""
    dataset = Caching(tmp_path / "images")
    dataset.transform = fixed()
    theirs = list(Theirs(dataset, 5))
    loader = Ours(dataset, 5)
    for _ in range(3):
        dataset.opened.clear()
        assert same(list(loader), theirs)
        assert same(list(loader), theirs)
