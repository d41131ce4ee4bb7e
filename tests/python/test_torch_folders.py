# SPDX-License-Identifier: Apache-2.0
"""Our data sets in torch's own DataLoader: batched native decoding.

Frameworks that build the loader themselves only see the data set, so here it is
in every form of torch's loader: in this process, in forked and in spawned ones.
"""
from __future__ import annotations

import os
import pickle
import threading
from pathlib import Path
from typing import Any, List

import pytest

from images import Image
from torch_cases import T as transforms, Theirs as DataLoader
from torch_cases import assert_same, data, torch, torchvision

import feedline
from feedline.torch.folders import IMAGE_ENDINGS, ImageFolder, ImageList

np = pytest.importorskip("numpy")
datasets, Subset = torchvision.datasets, data.Subset

SMALL = transforms.Compose(
    [transforms.Resize((16, 12)), transforms.PILToTensor()]
)
DRAWING = transforms.Compose(
    [transforms.RandomResizedCrop(12), transforms.PILToTensor()]
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Classes, folders in them, names that sort in their own way."""
    rng = np.random.default_rng(1)
    names = [
        "b/10.jpg",
        "b/9.JPG",
        "b/deep/er/1.png",
        "b/deep/2.png",
        "a b/x.jpeg",
        "C/y.png",
        "C/notes.txt",
    ]
    for name in names:
        path = tmp_path / "data" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if name.endswith("txt"):
            path.write_text("not an image")
            continue
        pixels = rng.integers(0, 256, (20, 30, 3), dtype=np.uint8)
        Image.fromarray(pixels).save(path)
    return tmp_path / "data"


def theirs(folder: Path, transform: Any = SMALL) -> Any:
    return datasets.ImageFolder(str(folder), transform)


# ---- What is in it ----------------------------------------------------------


def test_order_and_labels_are_torchvisions(folder: Path) -> None:
    ours, wanted = ImageFolder(folder, SMALL), theirs(folder)
    assert ours.samples == wanted.samples == ours.imgs
    assert ours.targets == wanted.targets
    assert ours.classes == wanted.classes
    assert ours.class_to_idx == wanted.class_to_idx
    assert len(ours) == len(wanted) == 6
    assert ours.fallback_reason is None
    assert_same([ours[i] for i in range(6)], [wanted[i] for i in range(6)])
    assert_same([ours[-1]], [wanted[5]])
    assert_same(ours.__getitems__([4, 0, 4]), [wanted[i] for i in (4, 0, 4)])
    assert ours.__getitems__([]) == []
    assert "6 samples, 3 classes" in repr(ours)


def test_links_are_followed(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    (folder / "C" / "y.png").rename(tmp_path / "other" / "y.png")
    (folder / "C" / "link").symlink_to(tmp_path / "other")
    assert ImageFolder(folder).samples == theirs(folder).samples


def test_which_files_count(folder: Path) -> None:
    def valid(path: str) -> bool:
        return path.lower().endswith("jpg") or path.endswith("txt")

    with pytest.raises(FileNotFoundError, match="classes: C, a b"):
        ImageFolder(folder, is_valid_file=lambda p: p.endswith("10.jpg"))
    ours = ImageFolder(folder, is_valid_file=valid, allow_empty=True)
    assert len(ours) == 3 and ours.classes == ["C", "a b", "b"]


def test_folders_that_are_none(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        ImageFolder(tmp_path / "none")
    with pytest.raises(FileNotFoundError, match="no folders of classes"):
        ImageFolder(tmp_path)


def test_a_list(folder: Path) -> None:
    paths = [Path(p) for p, _ in theirs(folder).samples]
    ours = ImageList(zip(paths, range(6, 0, -1)), SMALL, classes=["x"])
    assert ours.targets == [6, 5, 4, 3, 2, 1] and ours.class_to_idx == {"x": 0}
    image, label = ours[2]
    assert label == 4 and torch.equal(image, theirs(folder)[2][0])
    with pytest.raises(IndexError, match="sample 6 of 6"):
        ours[6]
    with pytest.raises(IndexError):
        ours.__getitems__([0, -7])
    assert ImageList([("a.jpg", "b"), ("b.jpg", True)]).targets == ["b", True]


# ---- In torch's loader ------------------------------------------------------


def batches(dataset: Any, **options: Any) -> List[Any]:
    loader = DataLoader(dataset, batch_size=4, **options)
    return [(images.clone(), labels) for images, labels in loader]


def test_in_this_process(folder: Path) -> None:
    assert_same(batches(ImageFolder(folder, SMALL)), batches(theirs(folder)))
    subset = [5, 1, 3]
    assert_same(
        batches(Subset(ImageFolder(folder, SMALL), subset)),
        batches(Subset(theirs(folder), subset)),
    )


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_in_worker_processes(folder: Path, method: str) -> None:
    ours = ImageFolder(folder, SMALL)
    ours[0]  # this process has an engine, which the workers must not touch
    workers = 2 if method == "fork" else 1  # which imports torch, slowly
    found = batches(ours, num_workers=workers, multiprocessing_context=method)
    assert_same(found, batches(theirs(folder)))
    assert_same([ours[1]], [theirs(folder)[1]])


def test_in_threads(folder: Path) -> None:
    ours, wanted = ImageFolder(folder, SMALL), theirs(folder)
    wrong: List[Any] = []

    def look(first: int) -> None:
        for i in range(12):
            index = (first + i) % 6
            image, label = ours[index]
            if not torch.equal(image, wanted[index][0]):
                wrong.append(index)

    threads = [threading.Thread(target=look, args=(n,)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_samples_outlive_everything(folder: Path) -> None:
    """Tensors that are kept hold their memory."""
    ours = ImageFolder(folder, SMALL)
    kept = [ours[i][0] for i in range(6)] + [
        s[0] for s in ours.__getitems__(range(6))
    ]
    del ours
    wanted = [image for image, _ in theirs(folder)] * 2
    assert all(torch.equal(a, b) for a, b in zip(kept, wanted))


def test_draws_are_of_seed_epoch_and_index(folder: Path) -> None:
    def images(dataset: Any, indices: Any = range(6)) -> Any:
        return torch.stack([s[0] for s in dataset.__getitems__(indices)])

    ours = ImageFolder(folder, DRAWING, seed=3)
    first = images(ours)
    assert torch.equal(images(ours), first)
    assert torch.equal(images(ours, range(5, -1, -1)).flip(0), first)
    assert torch.equal(torch.stack([ours[i][0] for i in range(6)]), first)
    found = batches(ours, num_workers=2)
    assert torch.equal(torch.cat([b[0] for b in found]), first)
    ours.set_epoch(1)
    assert not torch.equal(images(ours), first)
    ours.set_epoch(0)
    assert torch.equal(images(ours), first)
    other = ImageFolder(folder, DRAWING, seed=4)
    assert not torch.equal(images(other), first)


def test_a_loader_with_persistent_workers(folder: Path) -> None:
    loader = DataLoader(
        ImageFolder(folder, SMALL),
        batch_size=2,
        num_workers=2,
        persistent_workers=True,
    )
    for _ in range(2):
        assert_same(list(loader), list(DataLoader(theirs(folder), 2)))


# ---- Changes and other transforms -------------------------------------------


def test_replaced_parts_are_noticed(folder: Path) -> None:
    ours, wanted = ImageFolder(folder, SMALL), theirs(folder)
    ours[0]
    ours.transform = wanted.transform = transforms.Compose(
        [transforms.CenterCrop(9), transforms.ToTensor()]
    )
    image, other = ours[3][0], wanted[3][0]
    assert torch.allclose(image, other, rtol=0, atol=1e-6)
    ours.samples = ours.samples[3:]
    assert torch.equal(ours[0][0], image)
    ours.samples.append(ours.samples[0])
    assert len(ours) == 4 and torch.equal(ours[3][0], image)
    ours.samples[1] = ours.samples[0]
    ours.set_epoch(1)
    assert torch.equal(ours[1][0], image)


def turned(image: Any) -> Any:
    return image.rotate(180)


def test_other_transforms_run_in_python(folder: Path) -> None:
    chain = transforms.Compose(
        [transforms.CenterCrop(9), turned, transforms.PILToTensor()]
    )
    ours, wanted = ImageFolder(folder, chain), theirs(folder, chain)
    assert "turned" in str(ours.fallback_reason)
    assert_same([ours[2]], [wanted[2]])
    assert_same(batches(ours, num_workers=1), batches(wanted))
    named = ImageFolder(folder, SMALL, target_transform=str)
    assert named.fallback_reason is None
    assert named[5][1] == "2"
    plain = ImageFolder(folder)
    assert plain[0][0].mode == "RGB" and "no transform" in str(
        plain.fallback_reason
    )


def test_webp_where_it_is_built_in(folder: Path) -> None:
    path = folder / "C" / "z.webp"
    try:
        Image.new("RGB", (20, 10), (1, 200, 30)).save(path, lossless=True)
    except (OSError, KeyError):
        pytest.skip("this Pillow writes no WebP")
    ours, wanted = ImageFolder(folder, SMALL), theirs(folder)
    native = ours.fallback_reason is None
    assert native == ("webp" in feedline.features())
    assert_same([ours[i] for i in range(7)], [wanted[i] for i in range(7)])


def test_bad_files_name_themselves(folder: Path) -> None:
    ours = ImageFolder(folder, SMALL)
    path = ours.samples[2][0]
    Path(path).write_bytes(b"\xff\xd8nonsense")
    with pytest.raises(OSError) as caught:
        ours.__getitems__([0, 2, 1])
    assert path in str(caught.value)
    assert_same([ours[1]], [theirs(folder)[1]])  # and it goes on
    os.remove(path)
    with pytest.raises(FileNotFoundError):
        ours[2]


def test_a_copy_has_its_own_engine(folder: Path) -> None:
    ours = ImageFolder(folder, SMALL, seed=5)
    ours[0]
    ours.set_epoch(2)
    copy = pickle.loads(pickle.dumps(ours))
    assert copy.samples == ours.samples and copy.epoch == 2 and copy.seed == 5
    assert_same([copy[3]], [ours[3]])


def test_the_endings_are_torchvisions() -> None:
    assert set(IMAGE_ENDINGS) == set(datasets.folder.IMG_EXTENSIONS)
