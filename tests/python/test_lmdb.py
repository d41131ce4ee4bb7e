# SPDX-License-Identifier: Apache-2.0
"""Dataset.lmdb: the stream of the same images in a folder."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any, Callable, Dict, List

import pytest

images = pytest.importorskip("images")
streams = pytest.importorskip("streams", reason="no numpy")
lmdb = pytest.importorskip("lmdb", reason="no lmdb")

import cuts  # noqa: E402
import feedline  # noqa: E402
from feedline import InvalidArgument  # noqa: E402

LABELS = [i * 40000 - 3 for i in range(24)]


@pytest.fixture
def write(tmp_path: Path) -> Callable[[Dict[bytes, bytes]], Any]:
    """Makes an environment of some values, and opens it for reading."""

    def written(values: Dict[bytes, bytes]) -> Any:
        path = str(tmp_path / "env")
        with lmdb.open(path, map_size=1 << 24) as env:
            with env.begin(write=True) as transaction:
                for key, value in values.items():
                    transaction.put(key, value)
        return lmdb.open(path, readonly=True, lock=False)

    return written


def in_order(data: List[bytes]) -> Dict[bytes, bytes]:
    """Large values and small ones, which share a page; what scripts add."""
    values = {b"%d" % i: value for i, value in enumerate(data)}
    return {**values, b"__len__": pickle.dumps(24), b"__keys__": b"[]"}


@pytest.mark.parametrize("protocol", [None, 3, 4, 5])
def test_the_stream_of_the_folder(
    write: Any, image_folder: Path, protocol: Any
) -> None:
    paths = images.paths_of(image_folder)
    data = [Path(path).read_bytes() for path in paths]
    values = data
    if protocol is not None:
        pairs = zip(data, LABELS)
        values = [pickle.dumps(pair, protocol=protocol) for pair in pairs]
    with write(in_order(values)) as env:
        labels = LABELS if protocol is None else None
        ours = feedline.Dataset.lmdb(env, labels)
    assert ours.path(11).endswith("data.mdb:11")
    streams.assert_same(ours, feedline.Dataset.paths(paths, LABELS))


def test_labels_of_any_size(write: Any) -> None:
    data = images.encoded()
    labels = [0, 255, 256, 65535, 65536, -1, 1 << 31, -(1 << 62), 1 << 40]
    pairs = [pickle.dumps((data, label)) for label in labels]
    with write({b"%d" % i: pair for i, pair in enumerate(pairs)}) as env:
        some = feedline.Dataset.lmdb(env)
    assert [some.label(i) for i in range(len(labels))] == labels
    assert some.read(8) == data


def test_names_as_keys(write: Any) -> None:
    data = [images.encoded(seed=i) for i in range(3)]
    keys = [b"dog\0", b"cat", b"ant"]
    with write(dict(zip(keys, data))) as env:
        some = feedline.Dataset.lmdb(env)
    assert [some.read(i) for i in range(3)] == data[::-1]
    assert some.label(1) == 0 and "@" in some.path(0)


@pytest.mark.parametrize(
    "value, text",
    [
        (pickle.dumps((b"image", 3), protocol=2), "3 or later"),
        (pickle.dumps([b"image", 3]), "b'0' is a pickle, but not of"),
        (pickle.dumps((b"image", 3, 4)), "not of"),
        (pickle.dumps((b"image", "dog")), "not of"),
        (pickle.dumps((b"image", 3))[:-3], "not of"),
        (pickle.dumps(print), "pickles are not run"),
        (b"text", "neither .* begins with b'text'"),
        (b"", "neither"),
    ],
)
def test_what_is_no_image(write: Any, value: bytes, text: str) -> None:
    with write({b"0": value}) as env:
        with pytest.raises(InvalidArgument, match=text):
            feedline.Dataset.lmdb(env)


def test_labels_of_some(write: Any) -> None:
    """An image alone has no label, which is not 0 beside those of others."""
    data = images.encoded()
    pair = pickle.dumps((data, 3))
    for values in ([pair, pair, data], [data, data, pair]):
        with write(in_order(values)) as env:
            with pytest.raises(InvalidArgument, match="keys b'0' and b'2'"):
                feedline.Dataset.lmdb(env)
            given = feedline.Dataset.lmdb(env, [7, 8, 9])
            assert [given.label(i) for i in range(3)] == [7, 8, 9]


def test_nothing(write: Any) -> None:
    with write({b"__len__": b"0"}) as env:
        with pytest.raises(InvalidArgument, match="no values"):
            feedline.Dataset.lmdb(env)


def test_cut_anywhere(write: Any, image_folder: Path) -> None:
    """Before lmdb opens it, once it is mapped, once it was looked at."""
    paths = images.paths_of(image_folder)
    with write(in_order([Path(path).read_bytes() for path in paths])) as env:
        folder = env.path()

    def opened() -> Any:
        return lmdb.open(folder, readonly=True, lock=False)

    def before(cut: cuts.Cut) -> Any:
        cut()
        try:
            env = opened()
        except lmdb.Error:
            return None
        return feedline.Dataset.lmdb(env)

    def mapped(cut: cuts.Cut) -> Any:
        env = opened()
        cut()
        return feedline.Dataset.lmdb(env)

    def made_of(cut: cuts.Cut) -> Any:
        data = feedline.Dataset.lmdb(opened())
        cut()
        return data

    file = Path(folder, "data.mdb")
    cuts.check(file, before)
    cuts.check(file, mapped)
    cuts.check(file, made_of)
