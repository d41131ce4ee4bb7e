# SPDX-License-Identifier: Apache-2.0
"""The life of recorded runs: epochs that are left, iterators beside each other,
fork, Ctrl-C, threads, memory, pickling."""

from __future__ import annotations

import copy
import gc
import pickle
import weakref
from pathlib import Path
from typing import Any, List

import pytest

import forks
from child_process import signalled
from recorded_sets import Files, equal
from torch_cases import Ours, data, torch

from PIL import Image


@pytest.fixture()
def files(tmp_path: Path) -> Any:
    return Files(tmp_path / "images")


def loader_of(dataset: Any, **more: Any) -> Any:
    more = {"batch_size": 4, "num_workers": 2, "seed": 3, **more}
    return Ours(dataset, **more)


def test_an_epoch_that_is_left(files: Any) -> None:
    """Again and again, with batches under way; the next one is whole."""
    loader = loader_of(files)
    whole = list(loader)
    for number in range(30):
        for count, _ in enumerate(loader):
            if count == number % 6:
                break
    loader = loader_of(files)
    assert all(map(equal, whole, loader)) and loader.recorded


def test_two_iterators_beside_each_other(files: Any) -> None:
    loader = loader_of(files)
    whole = list(loader)
    loader = loader_of(files)
    one, two = iter(loader), iter(loader)
    first = [(next(one), next(two)) for _ in range(6)]
    assert all(equal(a, w) for (a, _), w in zip(first, whole))
    assert not equal(first[0][1], whole[0])  # another epoch's draws
    with pytest.raises(StopIteration):
        next(one)


def test_what_is_under_way_is_freed(files: Any) -> None:
    loader = loader_of(files)
    iterator = iter(loader)
    next(iterator)
    run = weakref.ref(iterator._leases[0].held)
    del iterator
    gc.collect()
    assert run() is None
    iterator = iter(loader)
    run = weakref.ref(iterator._leases[0].held)
    assert len(list(iterator)) == 6
    gc.collect()
    assert run() is None


def test_a_loader_that_goes_in_the_middle(files: Any) -> None:
    for _ in range(5):
        loader = loader_of(files)
        batches = iter(loader)
        kept = next(batches)
        del loader, batches
        gc.collect()
        assert kept[0].isfinite().all()


class Collecting(Files):
    """Cyclic garbage is collected on the reading thread, too."""

    def __getitem__(self, index: int) -> Any:
        if index % 12 == 5:
            gc.collect()
        return super().__getitem__(index)


def test_iterators_may_end_on_a_reading_thread(tmp_path: Path) -> None:
    dataset = Collecting(tmp_path / "images")
    for _ in range(3):
        loader = loader_of(dataset)
        batches = iter(loader)
        next(batches)
        ring: List[Any] = [batches]
        ring.append(ring)
        del batches, ring, loader
        assert len(list(loader_of(dataset))) == 6


def test_a_forked_child(files: Any) -> None:
    loader = loader_of(files)
    whole = list(loader_of(files))
    batches = iter(loader)
    first = next(batches)

    def use() -> None:
        with pytest.raises(RuntimeError, match="fork"):
            list(batches)
        again = loader.state_dict()
        assert len(list(loader)) == 6 and again
        assert all(map(equal, loader_of(files), whole))

    assert forks.run(use) == 0
    assert all(map(equal, [first, *batches], whole))


def test_torchs_workers_beside_it(files: Any) -> None:
    loader = loader_of(files)
    batches = iter(loader)
    next(batches)
    theirs = data.DataLoader(files, 4, num_workers=2)
    assert len(list(theirs)) == 6 and len(list(batches)) == 5


class Nested(Files):
    """A data set that has a loader of its own."""

    def __getitem__(self, index: int) -> Any:
        if not hasattr(self, "inner"):
            self.inner = next(iter(Ours(Files(self.root), 2)))[0]
        image = super().__getitem__(index)[0]
        return image, self.inner.shape[0]

    def __init__(self, root: Path) -> None:
        super().__init__(root)
        self.root = root


@pytest.mark.filterwarnings("ignore::feedline.torch.FallbackWarning")
def test_a_loader_inside_of_a_data_set(tmp_path: Path) -> None:
    """That one is torch's, as an engine's thread cannot wait for an engine."""
    loader = loader_of(Nested(tmp_path / "images"))
    assert [n.tolist() for _, n in loader] == [[2] * 4] * 6
    assert loader.recorded


def test_copies_and_pickles(files: Any) -> None:
    loader = loader_of(files)
    whole = list(loader)
    for other in (
        copy.deepcopy(loader),
        pickle.loads(pickle.dumps(loader)),
    ):
        other = loader_of(other.dataset)
        assert all(map(equal, other, whole)) and other.recorded


def test_batches_are_of_the_program(files: Any) -> None:
    """Plain tensors that may be changed, saved and trained with."""
    batch = next(iter(loader_of(files)))[0]
    assert type(batch) is torch.Tensor and batch.is_contiguous()
    batch += 1
    assert torch.equal(pickle.loads(pickle.dumps(batch)), batch)
    batch.requires_grad_()
    (batch * 2).sum().backward()
    assert batch.grad is not None and float(batch.grad.min()) == 2


class Pictures(Files):
    """Images that stay Pillow's, for a function that collates them."""

    def __getitem__(self, index: int) -> Any:
        image = Image.open(self.files[index]).convert("RGB")
        return image.resize((6, 5)), index


def in_pixels(samples: List[Any]) -> Any:
    return [(image, image.getpixel((2, 3)), n) for image, n in samples]


def test_images_of_pillow(tmp_path: Path) -> None:
    dataset = Pictures(tmp_path / "images")
    loader = loader_of(dataset, collate_fn=in_pixels)
    found = [sample for batch in loader for sample in batch]
    assert loader.recorded
    for image, pixel, index in found:
        expected = Image.open(dataset.files[index]).resize((6, 5))
        assert image.tobytes() == expected.tobytes()
        assert pixel == expected.getpixel((2, 3))
        assert image.copy().mode == "RGB" and image.size == (6, 5)


class Palettes(Files):
    """Masks as they are stored, by the number of a colour."""

    def __getitem__(self, index: int) -> Any:
        mask = Image.open(self.masks[index]).resize((6, 5))
        return mask, self.transform(Image.open(self.files[index]))

    def __init__(self, root: Path) -> None:
        super().__init__(root)
        self.masks = []
        for number, path in enumerate(self.files):
            mask = Image.open(path).quantize(4 + number)
            self.masks.append(path + ".png")
            mask.save(self.masks[-1])


def in_colours(samples: List[Any]) -> Any:
    return [(mask.mode, mask.convert("RGB").tobytes()) for mask, _ in samples]


def test_images_with_a_palette(tmp_path: Path) -> None:
    arguments = {"batch_size": 4, "collate_fn": in_colours}
    dataset = Palettes(tmp_path / "images")
    theirs = list(data.DataLoader(dataset, **arguments))
    for verify in (0, 2):
        loader = Ours(dataset, **arguments, verify=verify)
        assert list(loader) == theirs and loader.recorded


def test_ctrl_c_while_a_sample_is_made(image_folder: Path) -> None:
    code = """
        import glob, torch
        from PIL import Image
        from torchvision.transforms.functional import to_tensor
        from feedline.torch import DataLoader

        gate = threading.Event()
        files = sorted(glob.glob(FOLDER + "/*/*.jpg"))

        class Own(torch.utils.data.Dataset):
            def __len__(self):
                return N

            def __getitem__(self, index):
                if index == 9:
                    gate.wait(60)
                return to_tensor(Image.open(files[index]).resize((8, 8))), index

        loader = DataLoader(Own(), batch_size=4, num_workers=2, verify=1)
        batches = iter(loader)
        assert loader.recorded, loader.fallback_reason
        seen = len(next(batches)[1]) + len(next(batches)[1])
        try:
            print("waiting", flush=True)
            next(batches)
        except KeyboardInterrupt:
            pass
        gate.set()
        seen += sum(len(labels) for _, labels in batches)
        print(seen)
    """
    signalled(code, image_folder, "waiting", said="24")
