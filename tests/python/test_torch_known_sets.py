# SPDX-License-Identifier: Apache-2.0
"""The data sets of torchvision that hold lists of files, each in its layout on
disk with a few small images: native, and equal to torch's loader."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from types import ModuleType
from typing import Any, Callable, Dict, List

import pytest

from images import Image, picture
from torch_cases import T, Ours, Theirs, assert_same, data, torch, torchvision

datasets = torchvision.datasets
CHAIN = T.Compose([T.Resize((8, 8)), T.PILToTensor()])
RGB = T.Compose([T.Lambda(lambda image: image.convert("RGB")), CHAIN])
CLASSES = ("ant", "bee")


def image(path: Path, seed: int, mode: str = "RGB") -> str:
    path.parent.mkdir(parents=True, exist_ok=True)
    picture((16 + seed, 12), seed, mode).save(path)
    return path.name


def images(root: Path, names: str = "%d.jpg") -> List[str]:
    """The paths of four."""
    paths = [root / (names % n) for n in range(4)]
    for n, path in enumerate(paths):
        image(path, n)
    return [str(path) for path in paths]


def text(path: Path, content: Any) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(
        content if isinstance(content, str) else json.dumps(content)
    )


def bare(cls: Any, **attributes: Any) -> Any:
    """Without its constructor, which compares sums of the real files."""
    made = cls.__new__(cls)
    made.transform, made.target_transform = CHAIN, None
    for name, value in attributes.items():
        setattr(made, name, value)
    return made


def food(root: Path) -> Any:
    base = root / "food-101"
    lists: Any = {name: [f"{name}/{i}" for i in range(3)] for name in CLASSES}
    for n, part in enumerate(sum(lists.values(), [])):
        image(base / "images" / (part + ".jpg"), n)
    text(base / "meta" / "train.json", lists)
    return datasets.Food101(str(root), transform=CHAIN)


def textures(root: Path) -> Any:
    base = root / "dtd" / "dtd"
    names = [f"{name}/{i}.jpg" for i in range(2) for name in CLASSES]
    for n, name in enumerate(names):
        image(base / "images" / name, n)
    text(base / "labels" / "train1.txt", "\n".join(names))
    return datasets.DTD(str(root), transform=CHAIN)


def aircraft(root: Path) -> Any:
    base = root / "fgvc-aircraft-2013b" / "data"
    images(base / "images")
    lines = "".join(f"{n} {CLASSES[n % 2]} 7\n" for n in range(4))
    text(base / "images_variant_trainval.txt", lines)
    text(base / "variants.txt", "ant 7\nbee 7\n")
    return datasets.FGVCAircraft(str(root), transform=CHAIN)


def pets(root: Path, **arguments: Any) -> Any:
    base = root / "oxford-iiit-pet"
    images(base / "images", "Cat_%d.jpg")
    lines = "".join(f"Cat_{n} {n % 2 + 1} {n // 2 + 1} 1\n" for n in range(4))
    text(base / "annotations" / "trainval.txt", lines)
    arguments.setdefault("transform", CHAIN)
    return datasets.OxfordIIITPet(str(root), **arguments)


def scenes(root: Path) -> Any:
    base = root / "SUN397"
    for n in range(4):
        image(base / "a" / CLASSES[n % 2] / f"sun_{n}.jpg", n)
    text(base / "ClassName.txt", "/a/ant\n/a/bee\n")
    return datasets.SUN397(str(root), transform=CHAIN)


def sentences(root: Path) -> Any:
    for n in range(4):
        name = ("negative", "positive")[n % 2]
        image(root / "rendered-sst2" / "train" / name / f"{n}.png", n)
    for split in ("test", "valid"):
        (root / "rendered-sst2" / split).mkdir()
    return datasets.RenderedSST2(str(root), transform=CHAIN)


def clevr(root: Path) -> Any:
    base = root / "clevr" / "CLEVR_v1.0"
    names = [image(base / "images" / "train" / f"{n}.png", n) for n in range(3)]
    found = [{"image_filename": x, "objects": list(x)[:2]} for x in names]
    text(base / "scenes" / "CLEVR_train_scenes.json", {"scenes": found})
    return datasets.CLEVRClassification(str(root), transform=CHAIN)


def imagenette(root: Path) -> Any:
    for n in range(4):
        wnid = ("n01440764", "n02102040")[n % 2]
        image(root / "imagenette2" / "train" / wnid / f"{n}.jpeg", n)
    return datasets.Imagenette(str(root), transform=CHAIN)


def eurosat(root: Path) -> Any:
    for n in range(4):
        image(root / "eurosat" / "2750" / CLASSES[n % 2] / f"{n}.jpg", n)
    return datasets.EuroSAT(str(root), transform=CHAIN)


def places(root: Path) -> Any:
    files = images(root)
    made = bare(datasets.Places365, loader=datasets.folder.default_loader)
    made.imgs = [(file, n % 2) for n, file in enumerate(files)]
    made.transforms = datasets.vision.StandardTransform(CHAIN, None)
    return made


def flowers(root: Path) -> Any:
    made = bare(datasets.Flowers102, _labels=[3, 1, 0, 2])
    made._image_files = [Path(file) for file in images(root)]
    made.loader = datasets.folder.default_loader
    return made


def cars(root: Path) -> Any:
    files = images(root)
    made = bare(datasets.StanfordCars)
    made._samples = [(file, 3 - n) for n, file in enumerate(files)]
    made.loader = datasets.folder.default_loader
    return made


def faces(root: Path) -> Any:
    files = images(root)
    made = bare(datasets.LFWPeople, data=files, targets=[5, 5, 1, 0])
    if not hasattr(type(made), "_loader"):
        made._loader = datasets.folder.default_loader
    return made


def celebrities(root: Path, *kinds: str) -> Any:
    base = root / "celeba" / "img_align_celeba"
    names = [Path(file).name for file in images(base)]
    made = bare(datasets.CelebA, root=str(root), filename=names)
    made.target_type = list(kinds)
    made.attr = torch.arange(12).reshape(4, 3)
    made.identity = torch.tensor([[7], [9], [7], [8]])
    return made


def omniglot(root: Path) -> Any:
    letters = ["a/1", "b/1"]
    found = [
        (image(root / letters[n % 2] / f"{n}.png", n, "L"), n % 2)
        for n in range(4)
    ]
    made = bare(datasets.Omniglot, target_folder=str(root), loader=None)
    made._characters, made._flat_character_images = letters, found
    return made


def caltech101(root: Path) -> Any:
    """Some of its files are gray."""
    base = root / "caltech101" / "101_ObjectCategories"
    for n in range(4):
        name = f"{CLASSES[n % 2]}/image_{n // 2 + 1:04d}.jpg"
        image(base / name, n, "L" if n == 1 else "RGB")
    (base / "BACKGROUND_Google").mkdir()
    (root / "caltech101" / "Annotations").mkdir()
    return datasets.Caltech101(str(root), transform=RGB)


def caltech256(root: Path) -> Any:
    base = root / "caltech256" / "256_ObjectCategories"
    for n in range(4):
        name = f"{n % 2 + 1:03d}_{n // 2 + 1:04d}.jpg"
        image(base / CLASSES[n % 2] / name, n, "L" if n == 1 else "RGB")
    return datasets.Caltech256(str(root), transform=RGB)


def species(root: Path, *kinds: str) -> Any:
    for n in range(4):
        rank = "_".join(["x%d" % (n % 2)] * 6)
        image(root / "2021_train" / f"{n % 2:05d}_{rank}_a" / f"{n}.jpg", n)
    return datasets.INaturalist(
        str(root), target_type=list(kinds), transform=RGB
    )


LAYOUTS: Dict[str, Callable[[Path], Any]] = {
    "Food101": food,
    "DTD": textures,
    "FGVCAircraft": aircraft,
    "OxfordIIITPet": pets,
    "OxfordIIITPet, both": lambda root: pets(
        root, target_types=["category", "binary-category"]
    ),
    "SUN397": scenes,
    "RenderedSST2": sentences,
    "CLEVRClassification": clevr,
    "Imagenette": imagenette,
    "EuroSAT": eurosat,
    "Places365": places,
    "Flowers102": flowers,
    "StanfordCars": cars,
    "LFWPeople": faces,
    "CelebA, identity": lambda root: celebrities(root, "identity"),
    "CelebA, attr": lambda root: celebrities(root, "attr"),
    "CelebA, both": lambda root: celebrities(root, "attr", "identity"),
    "Omniglot": omniglot,
    "Caltech101": caltech101,
    "Caltech256": caltech256,
    "INaturalist": lambda root: species(root, "full"),
    "INaturalist, ranks": lambda root: species(root, "class", "full"),
}


@pytest.mark.parametrize("name", LAYOUTS)
def test_native_and_equal(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in ("scipy", "scipy.io"):  # which Caltech101 imports
        monkeypatch.setitem(sys.modules, module, ModuleType(module))
    cls = getattr(datasets, name.partition(",")[0], None)
    if cls is None:
        pytest.skip("this torchvision has no " + name)
    try:
        made = LAYOUTS[name](tmp_path)
    except ValueError as error:
        pytest.skip("this torchvision refuses it: %s" % error)
    loader = Ours(made, batch_size=3)
    assert loader.fallback_reason is None
    assert_same(list(loader), list(Theirs(made, batch_size=3)))
    made.target_transform = lambda label: {"label": label}
    part = data.Subset(data.ConcatDataset([made, made]), [5, 0, 2])
    assert_same(list(Ours(part, 2)), list(Theirs(part, 2)))


def reason(made: Any) -> str:
    return str(Ours(made).fallback_reason)


def test_images_that_may_be_gray(tmp_path: Path) -> None:
    """They are as in their files: the second one is gray. torch can collate it
    with others if the chain makes them alike, and else raises."""
    made = caltech256(tmp_path)
    convert = T.Lambda(lambda image: image.convert("RGB"))
    for chain in (
        T.Compose([T.Resize((8, 8)), convert, T.PILToTensor()]),
        T.Compose([T.Grayscale(), CHAIN]),
        T.Compose([T.Resize((8, 8)), T.Grayscale(3), T.ToTensor()]),
    ):
        made.transform = chain
        loader = Ours(made, batch_size=4)
        assert loader.fallback_reason is None
        assert_same(list(loader), list(Theirs(made, batch_size=4)))
    made.transform = CHAIN
    with pytest.raises(RuntimeError, match="equal size"):
        list(Theirs(made, batch_size=4))
    loader = Ours(made, batch_size=4)
    assert loader.fallback_reason is None
    remedy = r'convert\("RGB"\).*002_0001.jpg.*mode L'
    with pytest.raises(RuntimeError, match=remedy):
        list(loader)


def test_a_batch_of_another_mode(tmp_path: Path) -> None:
    """torch delivers it; natively there is an exception, which names the one
    sample, what images of the loader are, and what delivers it."""
    made = caltech256(tmp_path)
    made.transform = CHAIN
    theirs = list(Theirs(made, batch_size=1))
    assert len({image.shape for image, _ in theirs}) == 2
    loader = Ours(made, batch_size=1)
    assert loader.fallback_reason is None
    found: List[Any] = []
    iterator = iter(loader)
    while len(found) < len(theirs):
        try:
            found.append(next(iterator))
        except RuntimeError as error:
            found.append(error)
    (odd,) = [i for i, (image, _) in enumerate(theirs) if image.shape[1] == 1]
    message = str(found[odd])
    assert message.startswith("sample %d is torch." % odd)
    assert "images of this loader are torch." in message
    assert 'backend="torch"' in message
    rest = [i for i in range(len(theirs)) if i != odd]
    assert_same([found[i] for i in rest], [theirs[i] for i in rest])
    assert_same(list(Ours(made, batch_size=1, backend="torch")), theirs)


@pytest.mark.usefixtures("known_only")
def test_images_that_were_made_gray(tmp_path: Path) -> None:
    """Where they become RGB again, the colours of the files do not return."""
    timm = pytest.importorskip("timm.data.dataset", reason="no timm")
    for n in range(4):
        image(tmp_path / "class" / f"{n}.png", n)
    rgb = T.Lambda(lambda image: image.convert("RGB"))
    for last in (rgb, T.Grayscale(3)):
        chain = T.Compose([T.Resize((8, 8)), last, T.ToTensor()])
        gray = timm.ImageDataset(
            str(tmp_path), transform=chain, input_img_mode="L"
        )
        first = T.Compose([T.Grayscale(), *chain.transforms])
        both = datasets.ImageFolder(str(tmp_path), first)
        for made in (gray, both):
            loader = Ours(made, batch_size=4)
            assert "conversion to gray" in str(loader.fallback_reason)
            assert_same(list(loader), list(Theirs(made, batch_size=4)))


@pytest.mark.usefixtures("known_only")
def test_reasons(tmp_path: Path) -> None:
    pet = pets(tmp_path / "a", target_types=["category", "segmentation"])
    assert "segmentation" in reason(pet)
    both = pets(tmp_path / "b", transform=None, transforms=lambda *pair: pair)
    assert "transforms of image and target together" in reason(both)
    assert "no transform" in reason(pets(tmp_path / "c", transform=None))
    car = cars(tmp_path / "d")
    car.loader = Image.open
    assert "loader of its own" in reason(car)
    assert "no target_type" in reason(celebrities(tmp_path / "e"))


@pytest.mark.usefixtures("known_only")
def test_changes_are_noticed(tmp_path: Path) -> None:
    flower = flowers(tmp_path)
    loader = Ours(flower, batch_size=4)
    for change in (
        lambda: flower._labels.reverse(),
        lambda: flower._image_files.reverse(),
        lambda: setattr(flower, "transform", T.PILToTensor()),
    ):
        before = list(loader) if loader.fallback_reason is None else []
        change()
        if flower.transform is CHAIN:
            found = list(loader)
            assert_same(found, list(Theirs(flower, batch_size=4)))
            with pytest.raises(AssertionError):
                assert_same(found, before)
    assert "sizes of their own" in reason(flower)
