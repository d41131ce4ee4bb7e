# SPDX-License-Identifier: Apache-2.0
"""Shards by the formats' own writers hold the samples of the folder.

Order, labels, names and bytes are those of the folder that was packed; a shard
that is cut anywhere is an error that names it, or is kept up to there.
"""

from __future__ import annotations

import json
import random
import re
import struct
import zipfile
from pathlib import Path
from typing import Any, Callable, Dict, List, Tuple

import pytest

import feedline
import shard_writers
from feedline import Dataset, log_lines
from shard_writers import RECORDIO_MAGIC, Row, beton_image, bytes_feature
from shard_writers import int_feature, message, recordio_image, refused
from shard_writers import varint
from shard_writers import write_beton_fields, write_examples, write_litdata
from shard_writers import write_mds_rows

Member = Tuple[str, bytes, int]  # name in the folder, contents, label
CUTS = 50


@pytest.fixture(scope="module")
def members(tmp_path_factory: Any) -> List[Member]:
    """A folder's images, in its order. Nothing here is decoded."""
    draw = random.Random(5)
    return [
        ("%s/%03d.jpg" % (name, i), draw.randbytes(draw.randrange(1, 9000)), k)
        for k, name in enumerate(("ant", "bee", "cat"))
        for i in range(9)
    ]


# ---- Writers: PATH, members -> None ------------------------------------------


def write_tar(path: Path, members: List[Member]) -> None:
    """As webdataset's TarWriter: a time with a fraction, so that there are pax
    records, and the fields of a sample by name."""
    parts = [
        (name[:-3] + field, content)
        for name, data, label in members
        for field, content in (("cls", b"%d" % label), ("jpg", data))
    ]
    shard_writers.write_tar(
        path, parts, lambda info: setattr(info, "mtime", 1e9 + 0.5)
    )


def write_beton(path: Path, members: List[Member]) -> None:
    write_beton_fields(
        path,
        [(2, "image"), (1, "label")],
        [
            (beton_image(), bytes(3), struct.pack("<q", label))
            for _, _, label in members
        ],
        [(data,) for _, data, _ in members],
    )


def write_mds(path: Path, members: List[Member]) -> None:
    write_mds_rows(
        path,
        [
            {
                "filename": ("str", name),
                "image": ("jpeg", data),
                "label": ("int", label),
            }
            for name, data, label in members
        ],
    )


def write_zip(path: Path, members: List[Member]) -> None:
    with zipfile.ZipFile(path, "w") as archive:
        for name, data, _ in members:
            archive.writestr(zipfile.ZipInfo(name), data)


def write_recordio(path: Path, members: List[Member]) -> None:
    path.write_bytes(
        b"".join(
            recordio_image(i, [float(label)] * (1 + i % 2), data)
            for i, (_, data, label) in enumerate(members)
        )
    )


def write_tfrecord(path: Path, members: List[Member]) -> None:
    write_examples(
        path,
        [
            {
                "image/encoded": bytes_feature(data),
                "image/class/label": int_feature(label),
                "image/filename": bytes_feature(name.encode()),
            }
            for name, data, label in members
        ],
    )


WRITERS: Dict[str, Callable[[Path, List[Member]], None]] = {
    "beton": write_beton,
    "mds": write_mds,
    "recordio": write_recordio,
    "tar": write_tar,
    "zip": write_zip,
    "tfrecord": write_tfrecord,
}
NUMBERED = {"beton", "recordio"}  # samples have a number in place of a name
each_format = pytest.mark.parametrize("kind", sorted(WRITERS))


def packed(folder: Path, kind: str, members: List[Member]) -> List[Path]:
    """Two shards of them."""
    half = len(members) // 2
    paths = [folder / ("%d.%s" % (i, kind)) for i in range(2)]
    WRITERS[kind](paths[0], members[:half])
    WRITERS[kind](paths[1], members[half:])
    return paths


def bytes_of(dataset: Dataset, index: int) -> bytes:
    info = dataset._sample(index)
    with open(info.file, "rb") as file:
        file.seek(info.offset)
        return file.read(info.bytes)


# ---- Tests -------------------------------------------------------------------


@each_format
def test_the_samples_are_those_packed(
    tmp_path: Path, members: List[Member], kind: str
) -> None:
    paths = packed(tmp_path, kind, members)
    for uri in (
        str(tmp_path),
        "%s:%s" % (kind, tmp_path),
        "%s/{0..1}.%s" % (tmp_path, kind),
        "%s:%s::%s?damaged=skip" % (kind, *paths),
    ):
        dataset = Dataset.open(uri)
        assert len(dataset) == len(members)
        for i, (name, data, label) in enumerate(members):
            assert bytes_of(dataset, i) == data
            assert dataset.label(i) == label
            shard, number = divmod(i, len(members) // 2)
            if shard == len(paths):  # of an odd number of members
                shard, number = shard - 1, number + len(members) // 2
            if kind in NUMBERED:
                name = str(number)
            assert dataset.path(i) == "%s:%s" % (paths[shard], name)


@each_format
def test_the_stream_is_that_of_the_folder(
    tmp_path: Path, image_folder: Path, kind: str
) -> None:
    images = pytest.importorskip("images")
    streams = pytest.importorskip("streams", reason="no numpy")
    folder = Dataset.open("folder:%s" % image_folder)
    packed(
        tmp_path,
        kind,
        [
            (
                str(Path(path).relative_to(image_folder)),
                Path(path).read_bytes(),
                folder.label(i),
            )
            for i, path in enumerate(images.paths_of(image_folder))
        ],
    )
    shards = Dataset.open("%s:%s" % (kind, tmp_path))
    streams.assert_same(shards, folder)


@each_format
def test_options_without_a_scheme(
    tmp_path: Path, members: List[Member], kind: str
) -> None:
    """Where the kind is found by contents, name, pattern or folder."""
    paths = packed(tmp_path, kind, members)
    shard = tmp_path / "shard"
    shard.write_bytes(paths[0].read_bytes())
    for path, count in (
        (shard, len(members) // 2),
        (paths[0], len(members) // 2),
        (tmp_path / ("{0..1}.%s" % kind), len(members)),
        (tmp_path, len(members)),
    ):
        assert len(Dataset.open("%s?damaged=skip" % path)) == count
        refused("%s?damagd=skip" % path, "damagd", feedline.NotFound)
    (tmp_path / "folder").mkdir()
    refused("%s/folder?fields=txt" % tmp_path, "only shards and lists")
    refused("%s/nowhere?fields=txt" % tmp_path, "nowhere", feedline.NotFound)


@each_format
def test_cut_anywhere(tmp_path: Path, members: List[Member], kind: str) -> None:
    path = packed(tmp_path, kind, members)[0]
    whole = path.read_bytes()
    draw = random.Random(7)
    for cut in [0, 1] + [draw.randrange(len(whole)) for _ in range(CUTS)]:
        path.write_bytes(whole[:cut])
        kept = 0
        try:
            Dataset.open("%s:%s" % (kind, path))
        except feedline.Error as error:
            assert str(path) in str(error)
        try:
            dataset = Dataset.open("%s:%s?damaged=skip" % (kind, path))
            kept = len(dataset)
        except feedline.Error as error:
            assert "no samples" in str(error)
        assert kept < len(members)
        for i in range(kept):
            assert bytes_of(dataset, i) == members[i][1]


@each_format
def test_changed_anywhere(
    tmp_path: Path, members: List[Member], kind: str
) -> None:
    """No crash and no extent outside the file."""
    path = packed(tmp_path, kind, members)[0]
    whole = path.read_bytes()
    draw = random.Random(11)
    for _ in range(4 * CUTS):
        changed = bytearray(whole)
        for _ in range(draw.randrange(1, 20)):
            changed[draw.randrange(len(whole))] = draw.randrange(256)
        path.write_bytes(changed)
        try:
            dataset = Dataset.open("%s:%s?damaged=skip" % (kind, path))
        except feedline.Error:
            continue
        for i in range(len(dataset)):
            info = dataset._sample(i)
            assert info.offset + info.bytes <= len(whole)


# ---- FFCV --------------------------------------------------------------------


def test_beton_fields(tmp_path: Path) -> None:
    """Where values lie follows from the types before them."""
    path = tmp_path / "x.beton"
    fields = [(1, "id"), (2, "image"), (3, "raw"), (0, "f"), (1, "class")]
    row = (
        struct.pack("<q", 5),
        beton_image(),
        struct.pack("<8sQ", b"{at....}", 2),
        bytes(3),
        struct.pack("<dq", 0.5, -6),
    )
    write_beton_fields(path, fields, [row], [(b"data", b"da")])
    refused(path, "'id' and 'class' may")
    for options, data, label in (
        ("label=class", b"data", -6),
        ("label=id&image=raw", b"da", 5),
        ("label=none", b"data", 0),
    ):
        dataset = Dataset.open("beton:%s?%s" % (path, options))
        assert bytes_of(dataset, 0) == data
        assert dataset.label(0) == label
    for options, why in (
        ("label=image", "is a RGBImageField, which cannot be the label"),
        ("label=x", "no field 'x'"),
        ("label=none&image=f", "is a FloatField, which cannot be the image"),
    ):
        refused("beton:%s?%s" % (path, options), why)


def test_beton_that_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "x.beton"
    fields = [(2, "image"), (255, "mine")]
    write_beton_fields(path, fields, [(beton_image(),)], [(b"data",)])
    refused(path, "'mine' is of a type")
    write_beton_fields(path, fields[:1], [(beton_image(1),)], [(b"data",)])
    refused(path, "raw pixels.*write_mode", feedline.NotSupported)
    path.write_bytes(b"\1" + path.read_bytes()[1:])
    refused(path, "version 1")
    write_beton_fields(path, [(0, "f")], [(struct.pack("<d", 0.5),)], [()])
    refused(path, "no field.*the first is 'f', a FloatField")


# ---- LitData -----------------------------------------------------------------


def litdata_members(folder: Path, members: List[Member]) -> List[Path]:
    samples = [[data, struct.pack("<q", k)] for _, data, k in members]
    half = len(samples) // 2
    return write_litdata(
        folder, [samples[:half], samples[half:]], ["jpeg", "int"]
    )


def test_litdata(tmp_path: Path, members: List[Member]) -> None:
    paths = litdata_members(tmp_path, members)
    dataset = Dataset.open("litdata:%s" % tmp_path)
    assert [bytes_of(dataset, i) for i in range(len(dataset))] == [
        data for _, data, _ in members
    ]
    labels = [dataset.label(i) for i in range(len(dataset))]
    assert labels == [label for _, _, label in members]
    assert dataset.path(1) == "%s:1" % paths[0]
    chunk = Dataset.open("litdata:%s?label=none" % paths[1])
    assert bytes_of(chunk, 0) == members[len(members) // 2][1]
    assert chunk.label(len(chunk) - 1) == 0


def test_litdata_values(tmp_path: Path) -> None:
    row = [b"text", b"image", struct.pack("<q", -4), struct.pack("<q", 9)]
    kinds = ["str", "bytes", "int", "int"]
    write_litdata(tmp_path, [[row]], kinds)
    for options, label in (("", -4), ("?label=3", 9), ("?image=1", -4)):
        dataset = Dataset.open("litdata:%s%s" % (tmp_path, options))
        assert bytes_of(dataset, 0) == b"image"
        assert dataset.label(0) == label
    for options, why in (
        ("image=0", "no value of a sample is the image .the first is str"),
        ("label=1", "value 1 of a sample is no int"),
        ("label=x", "label=x is no number"),
        ("label=-1", "label=-1 is no number"),
    ):
        refused("litdata:%s?%s" % (tmp_path, options), why)


@pytest.mark.parametrize(
    "config, why",
    [
        ({"compression": "zstd"}, "compressed .zstd.*without compression"),
        ({"encryption": {"level": "chunk"}}, "encrypted"),
        ({"item_loader": "TokensLoader"}, "litdata's TokensLoader"),
    ],
)
def test_litdata_that_is_refused(
    tmp_path: Path, config: Dict[str, Any], why: str
) -> None:
    write_litdata(tmp_path, [[[b"image"]]], ["jpeg"], **config)
    refused("litdata:%s" % tmp_path, why, feedline.NotSupported)


def test_litdata_of_nothing(tmp_path: Path) -> None:
    write_litdata(tmp_path, [[[b"image"]]], [])
    refused("litdata:%s" % tmp_path, "it has no data_format")
    write_litdata(tmp_path, [[[b"x"]]], ["str"] * 99)
    refused("litdata:%s" % tmp_path, "too many values in a sample")


def test_litdata_tables_of_arrow(tmp_path: Path) -> None:
    (path,) = write_litdata(tmp_path, [[[b"image"]]], ["jpeg"])
    path.write_bytes(path.read_bytes() + b"ARROW1" + b"LDARW01\0")
    refused("litdata:%s" % tmp_path, "a table of Arrow", feedline.NotSupported)


def test_litdata_cut_or_changed(tmp_path: Path, members: List[Member]) -> None:
    path = litdata_members(tmp_path, members)[0]
    whole = path.read_bytes()
    draw = random.Random(13)
    for number in range(4 * CUTS):
        changed = bytearray(whole)
        if number < CUTS:
            del changed[draw.randrange(len(whole)) :]
        else:
            changed[draw.randrange(100)] = draw.randrange(256)
        path.write_bytes(changed)
        try:
            dataset = Dataset.open("litdata:%s?damaged=skip" % path)
        except feedline.Error as error:
            assert str(path) in str(error) or "no samples" in str(error)
            continue
        for i in range(len(dataset)):
            info = dataset._sample(i)
            assert info.offset + info.bytes <= len(changed)
            if number < CUTS:
                assert bytes_of(dataset, i) == members[i][1]
    index = tmp_path / "index.json"
    text = index.read_text()
    for cut in range(0, len(text), 7):
        index.write_text(text[:cut])
        refused("litdata:%s" % tmp_path, "index.json", feedline.Error)


# ---- RecordIO ----------------------------------------------------------------


def test_recordio_split_records(tmp_path: Path) -> None:
    """Where the data has the magic number there is no one extent."""
    path = tmp_path / "train.rec"
    split = b"four" + RECORDIO_MAGIC + b"more" + RECORDIO_MAGIC
    path.write_bytes(
        recordio_image(0, [3.0], b"one")
        + recordio_image(1, [4.0], split)
        + recordio_image(2, [5.0], b"x" + RECORDIO_MAGIC)  # not aligned
    )
    dataset = Dataset.open(path)
    assert [bytes_of(dataset, i) for i in range(len(dataset))] == [
        b"one",
        b"x" + RECORDIO_MAGIC,
    ]
    assert [dataset.label(i) for i in range(2)] == [3, 5]
    with pytest.warns(
        feedline.EngineWarning,
        match="several parts are left out: 1, the first: at",
    ):
        log_lines.tell()
    refused("recordio:%s?split=raise" % path, "several parts")


def test_recordio_insightface(tmp_path: Path) -> None:
    """Records that only say where whose images are."""
    path = tmp_path / "train.rec"
    path.write_bytes(
        recordio_image(0, [3.0, 4.0], b"")
        + recordio_image(1, [7.0, 1.0], b"face")
        + recordio_image(2, [8.0], b"other")
        + recordio_image(3, [1.0, 2.0], b"")
    )
    dataset = Dataset.open(path)
    assert [dataset.label(i) for i in range(len(dataset))] == [7, 8]
    assert [bytes_of(dataset, i) for i in range(2)] == [b"face", b"other"]
    with pytest.warns(
        feedline.EngineWarning, match="without an image are left out: 2"
    ):
        log_lines.tell()


def test_recordio_labels(tmp_path: Path) -> None:
    path = tmp_path / "train.rec"
    path.write_bytes(
        recordio_image(0, [0.5, 2.0], b"a")
        + recordio_image(1, [0.5, 3.0], b"b")
    )
    refused(path, "no whole number.*label_ind")
    dataset = Dataset.open("recordio:%s?label_index=1" % path)
    assert [dataset.label(i) for i in range(2)] == [2, 3]
    refused("recordio:%s?label_index=2" % path, "2 labels has no label_index")
    dataset = Dataset.open("recordio:%s?label_index=-1" % path)
    assert [dataset.label(i) for i in range(2)] == [0, 0]


# ---- MDS ---------------------------------------------------------------------


def mds_index(folder: Path, *shards: Dict[str, Any]) -> None:
    (folder / "index.json").write_text(
        json.dumps({"version": 2, "shards": list(shards)})
    )


def mds_shard(name: str, **more: Any) -> Dict[str, Any]:
    return {"format": "mds", "raw_data": {"basename": name}, **more}


def test_mds_index_names_the_shards(
    tmp_path: Path, members: List[Member]
) -> None:
    packed(tmp_path, "mds", members)
    mds_index(tmp_path, mds_shard("1.mds"))
    dataset = Dataset.open(tmp_path)
    assert bytes_of(dataset, 0) == members[len(members) // 2][1]
    assert len(dataset) == len(members) - len(members) // 2
    text = (tmp_path / "index.json").read_text()
    for cut in range(len(text)):
        (tmp_path / "index.json").write_text(text[:cut])
        refused(tmp_path, "index.json", feedline.Error)


@pytest.mark.parametrize(
    "shard, why",
    [
        ({"format": "csv", "raw_data": {"basename": "0.csv"}}, "'csv'.*MDSWr"),
        (mds_shard("../0.mds"), "no file of this folder"),
        (mds_shard("a/../../0.mds"), "no file of this folder"),
        (
            mds_shard(
                "s.mds",
                zip_data={"basename": "s.mds.zstd"},
                compression="zstd:3",
            ),
            r"s.mds.zstd is compressed \(zstd:3\): decompress",
        ),
    ],
)
def test_mds_refused(tmp_path: Path, shard: Dict[str, Any], why: str) -> None:
    (tmp_path / "s.mds.zstd").write_bytes(b"")
    mds_index(tmp_path, shard)
    refused(tmp_path, why)


def test_mds_splits_are_named(tmp_path: Path) -> None:
    (tmp_path / "train").mkdir()
    mds_index(tmp_path / "train")
    refused("mds:%s" % tmp_path, "mds:.*/train", feedline.NotFound)


@pytest.mark.parametrize(
    "row, options, label",
    [
        ({"i": ("int", 7), "x": ("jpeg", b"x"), "y": ("int", 3)}, "", 3),
        ({"a": ("uint8", 200), "z": ("bytes", b"x")}, "", 200),
        ({"a": ("int16", -2), "z": ("bytes", b"x")}, "", -2),
        ({"a": ("str_int", "-12"), "z": ("png", b"x")}, "", -12),
        ({"a": ("int", 1), "b": ("int", 2), "c": ("png", b"x")}, "?label=b", 2),
        ({"a": ("int", 1), "p": ("pkl", b"?"), "z": ("png", b"x")}, "", 1),
        ({"a": ("int", 1), "z": ("png", b"x")}, "?label=none", 0),
        ({"a": ("str", "ant"), "z": ("png", b"x")}, "?label=a", 0),
        (
            {"a": ("bytes", b"x"), "b": ("png", b"y"), "c": ("int", 1)},
            "?image=a",
            1,
        ),
        (
            {"a": ("jpeg", b"x"), "b": ("png", b"y"), "c": ("int", 1)},
            "?image=a",
            1,
        ),
    ],
)
def test_mds_columns(
    tmp_path: Path, row: Row, options: str, label: int
) -> None:
    write_mds_rows(tmp_path / "s.mds", [row, row])
    dataset = Dataset.open("mds:%s/s.mds%s" % (tmp_path, options))
    assert [dataset.label(i) for i in range(2)] == [label] * 2
    assert [bytes_of(dataset, i) for i in range(2)] == [b"x"] * 2
    if "str" in (encoding for encoding, _ in row.values()):
        assert dataset.classes == ["ant"]


@pytest.mark.parametrize(
    "row, options, why",
    [
        ({"a": ("png", b""), "b": ("jpeg", b"")}, "", "'a' and 'b' may both"),
        ({"a": ("int", 1), "b": ("int", 1), "x": ("png", b"")}, "", "label=)"),
        ({"a": ("pil", b"")}, "", "no column is jpeg.*'a', pil"),
        ({"a": ("pkl", b"")}, "?image=a", "is pkl, which cannot"),
        ({"a": ("uint64", 1 << 63), "x": ("png", b"")}, "", "not fit"),
        ({"a": ("png", b"")}, "?label=b", "no column 'b'"),
        ({"a": ("png", b"")}, "?label=a", "to be an integer or str"),
        ({"a": ("png", b""), "b": ("int", 1)}, "?name=b", "to be str"),
        ({"a": ("png", b"")}, "?image=none", "no column 'none'"),
    ],
)
def test_mds_columns_refused(
    tmp_path: Path, row: Row, options: str, why: str
) -> None:
    write_mds_rows(tmp_path / "s.mds", [row])
    with pytest.raises(feedline.InvalidArgument) as caught:
        Dataset.open("mds:%s/s.mds%s" % (tmp_path, options))
    assert re.search(why.replace(")", r"\)"), str(caught.value))


def unpacked_feature(*values: int) -> bytes:
    """As writers older than packed lists make it."""
    return message(3, b"".join(b"\x08" + varint(value) for value in values))


@pytest.mark.parametrize(
    "features, options, label",
    [
        (
            {"pic": bytes_feature(b"x"), "n": int_feature(3)},
            "?image=pic&label=n",
            3,
        ),
        ({"jpg": bytes_feature(b"x"), "label": unpacked_feature(200)}, "", 200),
        (
            {
                "image": bytes_feature(b"z"),
                "image/encoded": bytes_feature(b"x"),
                "label": int_feature(1),
                "image/class/label": int_feature(2),
            },
            "",
            2,
        ),
        (
            {
                "image/encoded": bytes_feature(b"x"),
                "image": bytes_feature(b"z"),
                "label": int_feature(1),
            },
            "",
            1,
        ),
        ({"jpg": bytes_feature(b"x"), "label": message(3, b"")}, "", 0),
        (
            {
                "jpg": bytes_feature(b"x"),
                "image": message(1, b""),
                "label": int_feature(5),
            },
            "?label_base=2",
            3,
        ),
    ],
)
def test_tfrecord_features(
    tmp_path: Path, features: Dict[str, bytes], options: str, label: int
) -> None:
    named = {**features, "key": bytes_feature(b"a.jpg")}
    write_examples(tmp_path / "s.tfrecord", [named])
    dataset = Dataset.open("tfrecord:%s/s.tfrecord%s" % (tmp_path, options))
    assert (dataset.label(0), bytes_of(dataset, 0)) == (label, b"x")
    assert dataset.path(0).endswith("a.jpg")


def test_shards_of_two_kinds(tmp_path: Path) -> None:
    for name, label, field in (
        ("0", ("int", 1), ("int", 2)),
        ("1", ("str", "ant"), ("str", "b")),
    ):
        row = {"a": label, "f": field, "x": ("png", b"x")}
        write_mds_rows(tmp_path / (name + ".mds"), [row])
    both = "mds:%s/{0..1}.mds" % tmp_path
    refused(both + "?label=a", "1.mds: its labels are of another kind")
    refused(
        both + "?label=none&fields=f", "1.mds: its field 'f' is of another kind"
    )


@each_format
def test_no_samples_is_explained(
    tmp_path: Path, members: List[Member], kind: str
) -> None:
    """Damage that is skipped comes up again where nothing else is left."""
    path = packed(tmp_path, kind, members)[0]
    path.write_bytes(b"neither this nor that, whatever the format" * 20)
    refused(
        "%s:%s?damaged=skip" % (kind, path),
        "no samples in it; damaged",
        feedline.NotFound,
    )
