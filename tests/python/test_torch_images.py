# SPDX-License-Identifier: Apache-2.0
"""feedline.torch.Images: what torch's loader makes of the same images."""

from __future__ import annotations

import io
import os
import pickle
import struct
from pathlib import Path
from typing import Any, List

import pytest

from images import Image, encoded, make_folder, paths_of, picture
from torch_cases import Ours, T, Theirs, assert_same, both, events, torch

import feedline
from feedline.torch import Images, NotNative, plan

SMALL = T.Compose([T.Resize((8, 8)), T.PILToTensor()])
TURNED = 6  # of EXIF: a quarter to the right

UnidentifiedImageError = pytest.importorskip("PIL").UnidentifiedImageError


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """24 images, some of them PNG, and one on its side."""
    root = make_folder(tmp_path_factory.mktemp("images") / "all", png=True)
    exif = Image.Exif()
    exif[0x0112] = TURNED
    picture((30, 20), 5).save(root / "class_1" / "image_002.jpg", exif=exif)
    return root


@pytest.fixture(scope="module")
def shard(
    folder: Path, tmp_path_factory: pytest.TempPathFactory
) -> feedline.Dataset:
    """The same in one file."""
    data = [Path(path).read_bytes() for path in paths_of(folder)]
    path = tmp_path_factory.mktemp("shard") / "all"
    path.write_bytes(b"".join(data))
    sizes = [len(part) for part in data]
    offsets = [sum(sizes[:i]) for i in range(24)]
    labels = [i // 8 for i in range(24)]
    return feedline.Dataset.extents([path], [0] * 24, offsets, sizes, labels)


class Reference(torch.utils.data.Dataset):  # type: ignore[misc]
    """The folder as `datasets` decodes it."""

    def __init__(self, folder: Path, turned: bool) -> None:
        self.samples = [(p, i // 8) for i, p in enumerate(paths_of(folder))]
        self.turned = turned

    def __len__(self) -> int:
        return len(self.samples)

    def __getitem__(self, index: int) -> Any:
        from PIL import ImageOps

        path, label = self.samples[index]
        image = Image.open(path)
        if self.turned:
            image = ImageOps.exif_transpose(image)
        return SMALL(image.convert("RGB")), label


@pytest.mark.parametrize("turned", [False, True])
def test_as_torch_loads_them(
    folder: Path, shard: feedline.Dataset, turned: bool
) -> None:
    theirs = Reference(folder, turned)
    in_memory = [Path(path).read_bytes() for path in paths_of(folder)]
    for source in (
        feedline.Dataset.open("folder:%s" % folder),
        feedline.Dataset.memory(in_memory, [i // 8 for i in range(24)]),
        shard,
    ):
        ours = Images(source, SMALL, apply_exif=turned)
        assert ours.targets == [i // 8 for i in range(24)]
        assert_same(
            [ours[i] for i in (0, 10, -1)], [theirs[i] for i in (0, 10, 23)]
        )
        for shown in (ours, torch.utils.data.Subset(ours, [10, 2, 2, 7])):
            assert_same(
                both(shown, batch_size=5, shuffle=True),
                [batch for batch in _shuffled(shown, ours, theirs)],
            )
    with pytest.raises(NotNative, match="join them before"):
        plan(torch.utils.data.ConcatDataset([ours, ours]))


def _shuffled(shown: Any, ours: Any, theirs: Any) -> List[Any]:
    if shown is not ours:
        theirs = torch.utils.data.Subset(theirs, shown.indices)
    torch.manual_seed(5)
    return list(Theirs(theirs, batch_size=5, shuffle=True))


def test_a_transform_of_ones_own(shard: feedline.Dataset, folder: Path) -> None:
    odd = T.Compose([lambda image: image.copy(), SMALL])
    ours = Images(shard, odd, apply_exif=True)
    assert ours.fallback_reason is not None
    theirs = Reference(folder, True)
    assert_same([ours[i] for i in range(24)], [theirs[i] for i in range(24)])
    ours = Images(shard, SMALL)
    ours.target_transform = str
    assert "target_transform" in str(ours.fallback_reason)
    assert ours[23][1] == "2"


def _with_exif(entries: bytes, magic: bytes = b"II*\0") -> bytes:
    """A JPEG of 30 x 20 pixels."""
    head = struct.pack("<4sIH", magic, 8, len(entries) // 12)
    exif = b"Exif\0\0" + head + entries + bytes(4)
    file = io.BytesIO()
    picture((30, 20), 5).save(file, "JPEG", quality=95, exif=exif)
    return file.getvalue()


def test_exif_data_on_which_pillow_raises() -> None:
    """The loader and Pillow's part of it agree: turned if it says how."""
    entry = struct.pack("<HHIHH", 0x0112, 3, 1, TURNED, 0)
    number = struct.pack("<HHI4s", 0x0128, 2, 2, b"x")  # a unit that is a text
    strange = _with_exif(entry + number)
    odd = T.Compose([lambda image: image.copy(), SMALL])
    for file, turned in (
        (_with_exif(entry), True),
        (strange, True),
        (_with_exif(entry + number, b"IIII"), False),
    ):
        image = Image.open(io.BytesIO(file))
        if turned:
            image = image.transpose(Image.Transpose.ROTATE_270)
        source = feedline.Dataset.memory([file], [0])
        ours = Images(source, SMALL, apply_exif=True)
        theirs = Images(source, odd, apply_exif=True)
        assert ours.fallback_reason is None
        assert theirs.fallback_reason is not None
        assert torch.equal(ours[0][0], SMALL(image))
        assert torch.equal(theirs[0][0], SMALL(image))


def test_what_is_no_image() -> None:
    gif = io.BytesIO()
    picture((30, 20), 5).convert("P").save(gif, "GIF")
    good = encoded((24, 20))
    ours = Images(
        feedline.Dataset.memory([good, gif.getvalue(), b"text"]), SMALL
    )
    assert torch.equal(ours[1][0], SMALL(Image.open(gif).convert("RGB")))
    loader = Ours(ours, batch_size=1, num_workers=1)
    found = events(loader)
    assert loader.native
    assert torch.equal(found[1][0][0], ours[1][0])
    assert isinstance(found[2], feedline.DecodeError)
    assert isinstance(found[2], UnidentifiedImageError)


def test_a_cut_shard(shard: feedline.Dataset, tmp_path: Path) -> None:
    file = Path(shard.path(0).rpartition("@")[0])
    copy = tmp_path / "cut"
    copy.write_bytes(file.read_bytes()[:-1])
    sizes = [len(shard.read(i)) for i in range(24)]
    offsets = [sum(sizes[:i]) for i in range(24)]
    some = feedline.Dataset.extents([copy], [0] * 24, offsets, sizes)
    *good, last = events(Ours(Images(some, SMALL), batch_size=8))
    assert len(good) == 2 and isinstance(last, feedline.ReadError)
    assert not isinstance(last, FileNotFoundError)
    assert "cut@%d" % offsets[-1] in str(last)


def test_state(shard: feedline.Dataset) -> None:
    ours = Images(shard, SMALL)
    loader = Ours(ours, batch_size=4, shuffle=True, num_workers=2)
    batches = iter(loader)
    next(batches)
    state = loader.state_dict()
    again = Ours(pickle.loads(pickle.dumps(ours)), batch_size=4, shuffle=True)
    again.load_state_dict(state)
    assert_same(list(again), list(batches))
    other = Images(feedline.Dataset.memory([encoded()] * 24), SMALL)
    with pytest.raises(ValueError, match="data set"):
        list(_loaded(other, state))


def _loaded(data: Any, state: Any) -> Any:
    loader = Ours(data, batch_size=4, shuffle=True)
    loader.load_state_dict(state)
    return loader


# ---- Hugging Face -----------------------------------------------------------


@pytest.fixture(scope="module")
def ds(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Any:
    os.environ.setdefault("HF_HUB_OFFLINE", "1")
    hf = pytest.importorskip("datasets", reason="no Hugging Face datasets")
    hf.disable_progress_bars()
    rows = [
        {"bytes": Path(path).read_bytes(), "path": None}
        for path in paths_of(folder)
    ]
    label = hf.ClassLabel(names=list("abc"))
    made = hf.Dataset.from_dict(
        {"image": rows, "label": [i // 8 for i in range(24)]},
        features=hf.Features({"image": hf.Image(), "label": label}),
    )
    root = str(tmp_path_factory.mktemp("saved"))
    made.save_to_disk(root)
    return hf.load_from_disk(root)


def test_huggingface_as_torch_loads_it(ds: Any) -> None:
    def by_hand(rows: Any) -> Any:
        images = [SMALL(image.convert("RGB")) for image in rows["image"]]
        return {"image": images, "label": rows["label"]}

    some = ds.shuffle(seed=2).select(range(20))
    for rank in range(2):
        found = []
        for data in (some.with_transform(by_hand), Images(some, SMALL)):
            sampler = torch.utils.data.DistributedSampler(data, 2, rank)
            kind = Theirs if data.__class__.__name__ == "Dataset" else Ours
            loader = kind(data, batch_size=4, sampler=sampler)
            found.append(list(loader))
        assert loader.native, loader.fallback_reason
        theirs = [[batch["image"], batch["label"]] for batch in found[0]]
        assert_same(found[1], theirs)
    assert Images(ds).classes == list("abc")


def test_huggingface_with_transform(ds: Any) -> None:
    def in_place(batch: Any) -> Any:
        batch["image"] = [SMALL(x.convert("RGB")) for x in batch["image"]]
        return batch

    def anew(rows: Any) -> Any:
        return {"x": [SMALL(x) for x in rows["image"]], "label": rows["label"]}

    for function in (in_place, anew):
        known = ds.shuffle(seed=2).select(range(20)).with_transform(function)
        for data in (known, torch.utils.data.Subset(known, [3, 1, 4, 15, 9])):
            loader = Ours(data, batch_size=4, num_workers=2)
            assert loader.native, loader.fallback_reason
            assert_same(list(loader), list(Theirs(data, batch_size=4)))


@pytest.mark.usefixtures("known_only")
def test_huggingface_that_is_not_known(ds: Any) -> None:
    def both(batch: Any) -> Any:
        batch["pixels"] = [SMALL(x) for x in batch["image"]]
        return batch

    def small(batch: Any) -> Any:
        batch["image"] = [SMALL(x) for x in batch["image"]]
        return batch

    more = ds.add_column("more", list(range(len(ds)))).with_transform(small)
    for data, why in (
        (ds, "without a transform"),
        (ds.with_format("torch"), "in the format 'torch'"),
        (ds.with_transform(both), "its transform both may do anything"),
        (more, "ds.select_columns"),
    ):
        assert why in Ours(data, batch_size=4).fallback_reason
    single = Ours(ds.with_transform(small), batch_size=None)
    assert "samples are dicts" in single.fallback_reason


@pytest.mark.filterwarnings("ignore")
def test_huggingface_itself_falls_back(ds: Any) -> None:
    tensors = ds.with_transform(lambda rows: {"label": rows["label"]})
    loader = Ours(tensors, batch_size=4)
    assert "feedline.torch.Images(ds, transform)" in loader.fallback_reason
    assert_same(list(loader), list(Theirs(tensors, batch_size=4)))


def test_an_object_that_reads(folder: Path) -> None:
    class Store:
        paths = paths_of(folder)
        targets = [i // 8 for i in range(24)]

        def __len__(self) -> int:
            return 24

        def read(self, i: int) -> bytes:
            return Path(self.paths[i]).read_bytes()

    images = Images(Store(), SMALL)
    assert images.targets == Store.targets
    assert torch.equal(images[3][0], Reference(folder, False)[3][0])
    ours = Ours(images, batch_size=5)
    assert ours.fallback_reason is None
    theirs = Theirs(Reference(folder, False), batch_size=5)
    assert_same(list(ours), list(theirs))
