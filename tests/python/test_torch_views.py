# SPDX-License-Identifier: Apache-2.0
"""feedline.torch: transforms that make several views of an image.

Classes are as the published code has them. Views without draws are compared
with torch's own, random ones with the shapes that they must have.
"""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any, List

import pytest

pytest.importorskip("torchvision")

import torch  # noqa: E402
from torchvision import transforms  # noqa: E402
from torchvision.datasets import ImageFolder  # noqa: E402

import images  # noqa: E402
from feedline.torch import DataLoader  # noqa: E402
from feedline.transforms import Views  # noqa: E402

COUNT = 12


def chain(*steps: Any) -> Any:
    return transforms.Compose([*steps, transforms.ToTensor()])


LARGE = chain(
    transforms.RandomResizedCrop(24), transforms.RandomHorizontalFlip()
)
SMALL = chain(transforms.RandomResizedCrop(10))
FIXED = chain(transforms.Resize((20, 16)))
OTHER = chain(transforms.Resize(18), transforms.CenterCrop(12))


class TwoCropsTransform:
    """MoCo v2."""

    def __init__(self, base_transform: Any) -> None:
        self.base_transform = base_transform

    def __call__(self, x: Any) -> Any:
        q = self.base_transform(x)
        k = self.base_transform(x)
        return [q, k]


class TwoDifferent:
    """MoCo v3."""

    def __init__(self, one: Any, two: Any) -> None:
        self.base_transform1 = one
        self.base_transform2 = two

    def __call__(self, x: Any) -> Any:
        im1 = self.base_transform1(x)
        im2 = self.base_transform2(x)
        return [im1, im2]


class Generator:
    """SimCLR in torch."""

    def __init__(self, base_transform: Any, n_views: int = 2) -> None:
        self.base_transform = base_transform
        self.n_views = n_views

    def __call__(self, x: Any) -> Any:
        return [self.base_transform(x) for i in range(self.n_views)]


class MultiView:
    """lightly."""

    def __init__(self, transforms: Any) -> None:
        self.transforms = transforms

    def __call__(self, image: Any) -> Any:
        """All of them."""
        return [transform(image) for transform in self.transforms]


class MultiCrop:
    """DINO."""

    def __init__(self) -> None:
        self.global_transfo1 = LARGE
        self.global_transfo2 = FIXED
        self.local_crops_number = 3
        self.local_transfo = OTHER

    def __call__(self, image: Any) -> Any:
        crops = []
        crops.append(self.global_transfo1(image))
        crops.append(self.global_transfo2(image))
        for _ in range(self.local_crops_number):
            crops.append(self.local_transfo(image))
        return crops


class Apart:
    """DINOv2: geometry, and what follows it."""

    def __init__(self, geometry: Any, rest: Any) -> None:
        self.geometry = geometry
        self.rest = rest

    def __call__(self, image: Any) -> Any:
        base = self.geometry(image)
        return self.rest(base), self.rest(base)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: Any) -> Path:
    root: Path = tmp_path_factory.mktemp("views")
    return images.make_folder(root, per_class=COUNT // 3)


def ours(folder: Path, transform: Any, **options: Any) -> List[Any]:
    options.setdefault("batch_size", 5)
    loader = DataLoader(ImageFolder(str(folder), transform), **options)
    assert loader.fallback_reason is None, loader.fallback_reason
    return [
        ([view.clone() for view in views], labels.clone())
        for views, labels in loader
    ]


def theirs(folder: Path, transform: Any) -> List[Any]:
    data = ImageFolder(str(folder), transform)
    return list(torch.utils.data.DataLoader(data, batch_size=5))


SHAPES = [
    (TwoCropsTransform(LARGE), [24, 24]),
    (TwoDifferent(LARGE, SMALL), [24, 10]),
    (Generator(SMALL, 4), [10] * 4),
    (MultiView([LARGE, LARGE, SMALL]), [24, 24, 10]),
    (Views([LARGE, (SMALL, 3)]), [24, 10, 10, 10]),
    (transforms.Compose([Generator(LARGE)]), [24, 24]),
]


@pytest.mark.parametrize("transform, sides", SHAPES, ids=str)
def test_views_have_their_own_sizes(
    folder: Path, transform: Any, sides: List[int]
) -> None:
    for views, labels in ours(folder, transform):
        assert [list(view.shape[1:]) for view in views] == [
            [3, side, side] for side in sides
        ]
        assert all(len(view) == len(labels) for view in views)
        assert all(view.is_contiguous() for view in views)
        if sides[0] == sides[1]:
            assert not torch.equal(views[0], views[1])


EXACT = [
    (MultiCrop(), [1, 2, 3, 4]),
    (TwoDifferent(FIXED, OTHER), [0, 1]),
    (Views([OTHER, (FIXED, 2)]), [0, 1, 2]),
    (Apart(transforms.Resize((14, 14)), transforms.ToTensor()), [0, 1]),
    (
        transforms.Compose(
            [transforms.RandomVerticalFlip(1.0), MultiView([FIXED, OTHER])]
        ),
        [0, 1],
    ),
]


@pytest.mark.parametrize("workers", [0, 2])
@pytest.mark.parametrize("transform, exact", EXACT, ids=str)
def test_views_without_draws_are_torch_s(
    folder: Path, transform: Any, exact: List[int], workers: int
) -> None:
    made = ours(folder, transform, num_workers=workers)
    wanted = theirs(folder, transform)
    assert len(made) == len(wanted)
    for (views, labels), (their_views, their_labels) in zip(made, wanted):
        assert len(views) == len(their_views)
        assert torch.equal(labels, their_labels)
        for v in exact:
            assert torch.equal(views[v], their_views[v])


def test_channels_last(folder: Path) -> None:
    wanted = ours(folder, Views([FIXED, OTHER]))
    made = ours(folder, Views([FIXED, OTHER]), layout="nhwc")
    for (views, _), (same, _) in zip(made, wanted):
        for view, other in zip(views, same):
            assert torch.equal(view, other)
            assert view.stride(1) == 1


def test_draws_repeat_with_the_seed(folder: Path) -> None:
    def run(**options: Any) -> List[Any]:
        return ours(folder, TwoCropsTransform(LARGE), seed=3, **options)

    for (views, _), (same, _) in zip(run(), run(num_workers=3)):
        assert all(map(torch.equal, views, same))


def test_an_image_that_pillow_reads_has_all_views(folder: Path) -> None:
    """The engine cannot; the data set makes its views."""
    path = sorted(folder.rglob("*.jpg"))[4]
    before = path.read_bytes()
    images.picture((40, 30), 7).save(path, "BMP")
    try:
        transform = Views([FIXED, (OTHER, 2)])
        for (views, _), (their_views, _) in zip(
            ours(folder, transform), theirs(folder, transform)
        ):
            assert all(map(torch.equal, views, their_views))
    finally:
        path.write_bytes(before)


class Rotated:
    def __init__(self) -> None:
        self.base = FIXED

    def __call__(self, x: Any) -> Any:
        return [self.base(x), self.base(x.rotate(90))]


class Drawn:
    def __init__(self) -> None:
        self.base = FIXED

    def __call__(self, x: Any) -> Any:
        n = int(torch.randint(1, 3, ()))
        return [self.base(x) for _ in range(n)]


class Changed(TwoCropsTransform):
    @property
    def other(self) -> Any:
        return self.base_transform

    def __call__(self, x: Any) -> Any:
        return [self.other(x), self.other(x)]


class Lenient(TwoCropsTransform):
    def __call__(self, x: Any) -> Any:
        try:
            x = x.rotate(90)
        except AttributeError:
            pass
        return [self.base_transform(x)]


class Counting(TwoCropsTransform):
    count = 0

    def __call__(self, x: Any) -> Any:
        self.count = 1
        return [self.base_transform(x)]


@pytest.mark.usefixtures("known_only")
@pytest.mark.parametrize(
    "transform",
    [Rotated(), Drawn(), Changed(FIXED), Lenient(FIXED), Counting(FIXED)],
)
def test_whatever_else_a_class_does_is_torch_s(
    folder: Path, transform: Any
) -> None:
    data = ImageFolder(str(folder), transform)
    loader = DataLoader(data, batch_size=1, backend="auto")
    assert type(transform).__name__ in (loader.fallback_reason or "")


@pytest.mark.usefixtures("known_only")
def test_reasons(folder: Path) -> None:
    def reason(transform: Any, **options: Any) -> str:
        data = ImageFolder(str(folder), transform)
        return DataLoader(data, **options).fallback_reason or ""

    to_bytes = transforms.Compose(
        [transforms.Resize((8, 8)), transforms.PILToTensor()]
    )
    assert "different channels or types" in reason(Views([FIXED, to_bytes]))
    assert "own sizes" in reason(
        Views([FIXED, transforms.ToTensor()])
    ) or "sizes of their own" in reason(Views([FIXED, transforms.ToTensor()]))
    assert "in batches" in reason(Views([FIXED]), batch_size=None)


def test_views_as_a_transform() -> None:
    views = pickle.loads(pickle.dumps(Views([FIXED, (OTHER, 2)])))
    made = views(images.picture((40, 30)))
    assert [list(view.shape) for view in made] == [
        [3, 20, 16],
        [3, 12, 12],
        [3, 12, 12],
    ]
    with pytest.raises(TypeError, match="pairs of a transform"):
        Views([(FIXED, 0)])
    with pytest.raises(ValueError, match="one transform"):
        Views([])


class Shares:
    """The second view is written over the first."""

    def __init__(self) -> None:
        self.first = FIXED
        self.last = transforms.Normalize([0.5] * 3, [0.5] * 3, inplace=True)

    def __call__(self, x: Any) -> Any:
        first = self.first(x)
        return [first, self.last(first)]


class Notes:
    """It keeps the images that it saw."""

    def __init__(self) -> None:
        self.seen: List[Any] = []
        self.note = self.seen.append
        self.base = FIXED

    def __call__(self, x: Any) -> Any:
        self.note(x)
        return [self.base(x), self.base(x)]


@pytest.mark.usefixtures("known_only")
@pytest.mark.filterwarnings("ignore::feedline.torch.FallbackWarning")
def test_what_is_done_beside_the_views_is_not_lost(folder: Path) -> None:
    for made in (Shares(), Notes()):
        data = ImageFolder(str(folder), made)
        loader = DataLoader(data, 4)
        assert not loader.native
        theirs = torch.utils.data.DataLoader(data, 4)
        for (mine, _), (other, _) in zip(loader, theirs):
            assert all(map(torch.equal, mine, other))
    notes = Notes()
    list(DataLoader(ImageFolder(str(folder), notes), 4))
    assert len(notes.seen) == COUNT
