# SPDX-License-Identifier: Apache-2.0
"""feedline.torch: batches of images and their fields are torch's own."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any, Dict, List

import pytest

pytest.importorskip("torchvision")

import torch  # noqa: E402
from torch.utils.data import Subset, default_collate  # noqa: E402
from torchvision import transforms  # noqa: E402

import feedline  # noqa: E402
import images  # noqa: E402
from feedline.torch import DataLoader, Images  # noqa: E402
from shard_writers import write_tar  # noqa: E402
from torch_cases import assert_same  # noqa: E402

COUNT = 19
OUTPUT = ("image", "txt", "id", "json", "label", "bin")


def sample(i: int) -> Dict[str, bytes]:
    return {
        "jpg": images.encoded((30, 20), seed=i),
        "txt": ("caption %d" % i).encode(),
        "cls": b"%d" % (i % 3),
        "json": json.dumps({"i": i, "half": i / 2}).encode(),
        "bin": bytes(i),
        **({} if i == 4 else {"id": b"%d" % (100 + i)}),
    }


def write(path: Path, samples: List[Dict[str, bytes]]) -> None:
    write_tar(
        path,
        [
            ("%03d.%s" % (i, extension), data)
            for i, parts in enumerate(samples)
            for extension, data in parts.items()
        ],
    )


def opened(path: Path, **more: Any) -> Any:
    chain = transforms.Compose(
        [transforms.CenterCrop(16), transforms.ToTensor()]
    )
    uri = "tar:%s?fields=txt,id,json,bin" % path
    return Images(feedline.Dataset.open(uri), chain, output=OUTPUT, **more)


@pytest.fixture(scope="module")
def archive(tmp_path_factory: Any) -> Path:
    path: Path = tmp_path_factory.mktemp("fields") / "s.tar"
    write(path, [sample(i) for i in range(COUNT)])
    return path


@pytest.mark.parametrize("workers", [0, 2])
def test_batches_are_torch_s_own(archive: Path, workers: int) -> None:
    data = opened(archive)
    for whole in (data, Subset(data, [3, 4, 1, 18, 4])):
        loader = DataLoader(whole, batch_size=4, num_workers=workers)
        assert loader.fallback_reason is None
        ours = list(loader)
        theirs = list(torch.utils.data.DataLoader(whole, batch_size=4))
        assert_same(ours, theirs)
        assert [len(batch) for batch in ours] == [len(OUTPUT)] * len(ours)


def test_a_shuffled_loop_of_image_and_text(archive: Path) -> None:
    dataset = feedline.Dataset.open("tar:%s?fields=txt" % archive)
    chain = transforms.Compose(
        [transforms.Resize((8, 8)), transforms.ToTensor()]
    )
    data = Images(dataset, chain, output=("image", "txt"))
    seen = set()
    for pixels, text in DataLoader(data, batch_size=5, shuffle=True):
        assert len(pixels) == len(text)
        for image, caption in zip(pixels, text):
            index = int(caption.split()[1])
            assert torch.equal(image, data[index][0])
            seen.add(index)
    assert len(seen) == COUNT


def test_an_image_that_pillow_reads_keeps_its_fields(tmp_path: Path) -> None:
    """The engine cannot, so its batch has no fields of that sample."""
    out = io.BytesIO()
    images.picture((30, 20), 3).save(out, "BMP")
    samples = [sample(i) for i in range(6)]
    samples[2]["jpg"] = samples[4]["jpg"] = out.getvalue()
    write(tmp_path / "s.tar", samples)
    data = opened(tmp_path / "s.tar")
    loader = DataLoader(data, batch_size=3)
    assert loader.fallback_reason is None
    theirs = [
        default_collate([data[i] for i in range(first, first + 3)])
        for first in (0, 3)
    ]
    assert_same(list(loader), theirs)


@pytest.mark.parametrize("workers", [0, 2])
def test_several_numbers_are_a_tensor(tmp_path: Path, workers: int) -> None:
    """Also of images that Pillow reads, and of samples that have none."""
    rows = ["path\tlabel\tbox:floats\tids:ints"]
    for i in range(7):
        kind = "BMP" if i == 5 else "PNG"
        images.picture((30, 20), i).save(tmp_path / str(i), kind)
        numbers = "\t" if i == 2 else "%d.1 2 3\t%d %d" % (i, i, 2**53 + 1)
        rows.append("%d\t%d\t%s" % (i, i, numbers))
    (tmp_path / "l.tsv").write_text("\n".join(rows))
    dataset = feedline.Dataset.open(
        "list:%s?fields=box,ids" % (tmp_path / "l.tsv")
    )
    output = ("image", "box", "ids", "label")
    chain = transforms.Compose(
        [transforms.Resize((8, 8)), transforms.ToTensor()]
    )
    data = Images(dataset, chain, output=output)
    loader = DataLoader(data, batch_size=3, num_workers=workers)
    assert loader.fallback_reason is None
    ours = list(loader)
    for first, mine in zip((0, 3, 6), ours):
        its = default_collate(
            [data[i] for i in range(first, min(first + 3, 7))]
        )
        for a, b in zip(mine, its):
            assert a.dtype == b.dtype
            assert torch.equal(a.nan_to_num(), b.nan_to_num())
    assert ours[0][1].dtype == torch.float32
    assert [list(batch[2].shape) for batch in ours] == [[3, 2]] * 2 + [[1, 2]]


def test_what_the_data_set_does_not_have(archive: Path) -> None:
    dataset = feedline.Dataset.open("tar:%s?fields=txt" % archive)
    with pytest.raises(ValueError, match="'json'.*image, label, txt"):
        Images(dataset, output=("image", "json"))
    with pytest.raises(ValueError, match="no image"):
        Images(dataset, output=("txt",))
    assert Images(dataset, output=("image", "label")).output is None


def test_another_collate_fn_is_torch_s(archive: Path) -> None:
    loader = DataLoader(opened(archive), batch_size=2, collate_fn=list)
    assert "default_collate" in (loader.fallback_reason or "")
    assert len(next(iter(loader))) == 2
