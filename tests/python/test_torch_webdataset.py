# SPDX-License-Identifier: Apache-2.0
"""Pipelines of webdataset that run natively: the samples of their shards."""

from __future__ import annotations

from pathlib import Path
from typing import Any, List

import pytest

from images import encoded
from shard_writers import write_tar
from torch_cases import Ours, T, Theirs, assert_same, torch

import feedline
from feedline.torch import Images

try:
    import webdataset as wds

    REAL = True
except ImportError:
    import webdataset_double as wds  # type: ignore

    REAL = False

SMALL = T.Compose([T.Resize((8, 8)), T.ToTensor()])
COUNT = 20


@pytest.fixture(scope="module")
def shards(tmp_path_factory: pytest.TempPathFactory) -> List[str]:
    """Two of ten samples, with labels from 0 to 19."""
    root = tmp_path_factory.mktemp("shards")
    members = []
    for i in range(COUNT):
        members.append(("%03d.cls" % i, b"%d" % i))
        members.append(("%03d.jpg" % i, encoded((20 + i, 30), i)))
    return [
        str(write_tar(root / "0.tar", members[:COUNT])),
        str(write_tar(root / "1.tar", members[COUNT:])),
    ]


@pytest.fixture(scope="module")
def captioned(tmp_path_factory: pytest.TempPathFactory) -> List[str]:
    """Twelve samples with everything that is not only an image."""
    members = []
    for i in range(12):
        parts = {
            "bin": b"\0%d" % i,
            "cls": b"%d" % i,
            "id": b"%d" % (100 + i),
            "jpg": encoded((20 + i, 30), i),
            "json": b'{"n": %d, "tag": "t%d"}' % (i, i),
            "txt": b"caption %d" % i,
        }
        members += [("%03d.%s" % (i, x), data) for x, data in parts.items()]
    root = tmp_path_factory.mktemp("captioned")
    return [str(write_tar(root / "c.tar", members))]


def stream(shards: List[str], **arguments: Any) -> Any:
    return wds.WebDataset(shards, shardshuffle=False, **arguments)


def pairs(shards: List[str], *functions: Any) -> Any:
    data = stream(shards).decode("pil").to_tuple("jpg", "cls")
    return data.map_tuple(*(functions or (SMALL, lambda x: x)))


def labels_of(batches: Any) -> List[int]:
    return [label for _, labels in batches for label in labels.tolist()]


def test_samples_in_order(shards: List[str]) -> None:
    cases = (
        (pairs(shards), {"batch_size": 6, "drop_last": True}),
        (pairs(shards).batched(8), {"batch_size": None}),
        (pairs(shards).batched(8, partial=False), {"batch_size": None}),
        (
            stream(shards)
            .decode("rgb")
            .rename(image="jpg;png", label="cls")
            .map_dict(image=T.Compose([T.ToTensor(), T.CenterCrop(12)]))
            .to_tuple("image", "label"),
            {"batch_size": 6},
        ),
    )
    opened = feedline.Dataset.open("tar:" + "::".join(shards))
    for number, (data, arguments) in enumerate(cases):
        loader = Ours(data, num_workers=2, **arguments)
        assert loader.native, loader.fallback_reason
        if REAL:
            theirs: Any = Theirs(data, **arguments)
        else:
            chain = T.Compose([T.ToTensor(), T.CenterCrop(12)])
            theirs = Theirs(
                Images(opened, chain if number == 3 else SMALL),
                batch_size=arguments["batch_size"] or 8,
                drop_last=number in (0, 2),
            )
        assert_same(list(loader), [list(batch) for batch in theirs])


def part(name: str, i: int) -> Any:
    """What webdataset makes of it."""
    if name == "json":
        return {"n": i, "tag": "t%d" % i}
    if name in ("id", "cls"):
        return i + 100 * (name == "id")
    return b"\0%d" % i if name == "bin" else "caption %d" % i


@pytest.mark.parametrize("batched", (False, True))
@pytest.mark.parametrize(
    "parts", ("jpg txt", "jpg json", "jpg cls txt", "txt id jpg bin cls", "jpg")
)
def test_samples_with_fields(
    captioned: List[str], parts: str, batched: bool
) -> None:
    names = parts.split()
    data = stream(captioned).decode("pil").to_tuple(*names)
    data = data.map_tuple(*(SMALL if n == "jpg" else None for n in names))
    data = data.batched(5) if batched else data
    arguments = {"batch_size": None if batched else 5}
    loader = Ours(data, num_workers=2, **arguments)
    assert loader.native, loader.fallback_reason
    found = list(loader)
    if REAL:
        assert_same(found, [list(batch) for batch in Theirs(data, **arguments)])
    opened = Images(feedline.Dataset.open("tar:" + captioned[0]), SMALL)
    for first, batch in zip(range(0, 12, 5), found):
        indices = range(first, min(first + 5, 12))
        assert len(batch) == len(names)
        for name, values in zip(names, batch):
            if name == "jpg":
                wanted: Any = torch.stack([opened[i][0] for i in indices])
            else:
                rows = [part(name, i) for i in indices]
                wanted = rows if batched else torch_default(rows)
                if name in ("id", "cls"):
                    wanted = torch.tensor(rows)
            assert_same([values], [wanted])


def torch_default(rows: List[Any]) -> Any:
    return torch.utils.data.default_collate(tuple(rows))


def test_fields_with_shuffle_and_state(captioned: List[str]) -> None:
    data = (
        stream(captioned).shuffle(9).decode("pil").to_tuple("jpg", "txt", "id")
    )
    loader = Ours(data.map_tuple(SMALL), batch_size=5)
    batches = iter(loader)
    first = next(batches)
    state, rest = loader.state_dict(), list(batches)
    for _, captions, ids in [first, *rest]:
        wanted = ["caption %d" % (i - 100) for i in ids.tolist()]
        assert list(captions) == wanted
    again = Ours(data.map_tuple(SMALL), batch_size=5)
    again.load_state_dict(state)
    assert_same(list(again), rest)


def test_shuffle_is_a_permutation(shards: List[str]) -> None:
    data = stream(shards).shuffle(5).decode("pil").to_tuple("jpg cls")
    loader = Ours(data.map_tuple(SMALL), batch_size=6, num_workers=2)
    torch.manual_seed(3)
    first, second = list(loader), labels_of(loader)
    assert sorted(labels_of(first)) == sorted(second) == list(range(COUNT))
    assert labels_of(first) != second
    torch.manual_seed(3)
    assert_same(list(loader), first)


@pytest.mark.parametrize("batched", (False, True))
def test_resumed(shards: List[str], batched: bool) -> None:
    data = stream(shards).shuffle(5).decode("pil").to_tuple("jpg", "cls")
    data = data.map_tuple(SMALL)
    data = data.batched(6) if batched else data
    arguments = {"batch_size": None if batched else 6}
    loader = Ours(data, **arguments)
    batches = iter(loader)
    next(batches)
    state, rest = loader.state_dict(), list(batches)
    again = Ours(data, **arguments)
    again.load_state_dict(state)
    assert_same(list(again), rest)
    other = Ours(pairs(shards[:1]), batch_size=6)
    with pytest.raises(ValueError, match="another data set"):
        other.load_state_dict(state)


def test_what_is_not_known_without_python(shards: List[str]) -> None:
    def no_image(sample: Any) -> Any:
        return sample

    missing = shards[:1] + ["/nowhere/1.tar"]
    whole = stream(shards).decode("pil")
    for data, arguments, why in (
        (whole, {}, "end it with to_tuple"),
        (whole.map(no_image), {}, "a map() of any function"),
        (stream(shards, handler=wds.warn_and_continue), {}, 'on_error="skip"'),
        (
            whole.to_tuple("jpg", "json").map_tuple(SMALL),
            {},
            "no sample has a field 'json'",
        ),
        (whole.to_tuple("jpg", "cls", "png"), {}, "2 images (jpg, cls, png)"),
        (whole.to_tuple("cls"), {}, "with 0 images (cls)"),
        (whole.to_tuple("jpg", "npy"), {}, "a part .npy, which decode()"),
        (whole.to_tuple("jpg", "a.pyd"), {}, "a part .a.pyd, which decode()"),
        (whole.to_tuple("jpg", "count"), {}, "a part .count, which decode()"),
        (whole.to_tuple("jpg", "__key__"), {}, "'__key__', which is no part"),
        (whole.to_tuple("jpg", "txt;text"), {}, "'txt;text', which is no part"),
        (pairs(shards, SMALL, str), {}, "functions of more than the image"),
        (pairs(shards).slice(4), {}, "a step that is not known"),
        (pairs(shards).with_epoch(8), {}, "count samples"),
        (pairs(["pipe:cat 0.tar"]), {}, "no local files"),
        (pairs(missing), {}, "/nowhere/1.tar: No such file"),
        (pairs(shards).batched(2), {}, "batch_size=None"),
        (pairs(shards), {"batch_size": None}, "without batches"),
    ):
        loader = Ours(data, **{"batch_size": 2, **arguments})
        with pytest.raises(feedline.torch.NotNative) as refused:
            loader._feedline.decision._known(loader)
        assert why in str(refused.value)


def test_ranks_are_refused(
    shards: List[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WORLD_SIZE", "2")
    loader = Ours(pairs(shards), batch_size=2)
    with pytest.raises(feedline.torch.NotNative, match="ranks"):
        loader._feedline.decision._known(loader)


@pytest.mark.filterwarnings("ignore")
def test_only_pillow_reads(tmp_path: Path) -> None:
    """An image in another format than its name says."""
    members = {
        "a.jpg": encoded((20, 20), 1),
        "a.cls": b"0",
        "b.jpg": encoded((20, 20), 2, "GIF"),
        "b.cls": b"1",
    }
    path = write_tar(tmp_path / "gif.tar", members.items())
    loader = Ours(pairs([str(path)]), batch_size=2, backend="native")
    ((images, labels),) = list(loader)
    opened = Images(feedline.Dataset.open("tar:%s" % path), SMALL)
    assert_same([images[1]], [opened[1][0]])
