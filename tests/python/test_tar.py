# SPDX-License-Identifier: Apache-2.0
"""Tar archives as people have them: headers of all ages, webdataset's grouping,
labels from everywhere, and what is refused. test_shards.py has the rest."""

from __future__ import annotations

import io
import json
import os
import shutil
import subprocess
import tarfile
import warnings
from pathlib import Path
from typing import Any, Dict, List, Tuple

import pytest

import feedline
from feedline import Dataset, log_lines
from shard_writers import refused, write_tar

PAX, USTAR, GNU = (tarfile.PAX_FORMAT, tarfile.USTAR_FORMAT, tarfile.GNU_FORMAT)


def write(
    path: Path, members: Dict[str, bytes], *change: Any, **options: Any
) -> Path:
    return write_tar(path, members.items(), *change, **options)


def patched(path: Path, header: int, at: int, data: bytes) -> None:
    """Changes a header, and its checksum."""
    content = bytearray(path.read_bytes())
    content[header + at : header + at + len(data)] = data
    content[header + 148 : header + 156] = b" " * 8
    total = sum(content[header : header + 512])
    content[header + 148 : header + 156] = b"%06o\0 " % total
    path.write_bytes(content)


def found(uri: object) -> List[Tuple[str, bytes, int]]:
    """Names, bytes and labels of the samples."""
    dataset = Dataset.open("tar:%s" % uri)
    samples = []
    for i in range(len(dataset)):
        info = dataset._sample(i)
        with open(info.file, "rb") as file:
            file.seek(info.offset)
            data = file.read(info.bytes)
        name = dataset.path(i)[len(os.fsdecode(info.file)) + 1 :]
        samples.append((name, data, dataset.label(i)))
    return samples


def labels_of(uri: object) -> List[int]:
    return [label for _, _, label in found(uri)]


def error_of(uri: object, kind: Any = feedline.Error) -> str:
    with pytest.raises(kind) as caught:
        found(uri)
    return str(caught.value)


# ---- Headers -----------------------------------------------------------------

LONG = "%s/d/%s.jpg" % ("/".join(["n" * 200] * 19), "x" * 200)


@pytest.mark.parametrize("form", [PAX, USTAR, GNU])
@pytest.mark.parametrize(
    "name",
    [
        "d/a.jpg",
        "d/b\udcff\udce9.jpg",
        "d/c\nq e.jpg",
        "./d/%s.jpg" % ("f" * 95),
    ]
    + [LONG],
    ids=["plain", "bytes", "line", "prefix", "long"],
)
def test_names(tmp_path: Path, form: int, name: str) -> None:
    if form == USTAR and name == LONG:
        return
    path = tmp_path / "x.tar"
    names = ("d/0.jpg", name, "d/z.jpg")
    write(path, dict.fromkeys(names, b"abc"), format=form)
    assert found(path) == [(one, b"abc", 0) for one in names]


def test_old_and_odd_headers(tmp_path: Path) -> None:
    """Version 7 (no magic, type NUL, names of folders end in '/'), numbers in
    base 256, sums of signed bytes, and a prefix that is none."""
    path = tmp_path / "x.tar"
    members = {"a/1.jpg": b"one", "a/2.jpg": b"two"}
    wanted = [(name, data, 0) for name, data in members.items()]
    write(path, members, format=USTAR)
    patched(path, 1024, 257, bytes(8))
    patched(path, 1024, 156, b"\0")
    assert found(path) == wanted
    patched(path, 1024, 124, b"\x80" + (3).to_bytes(11, "big"))
    assert found(path) == wanted
    patched(path, 1024, 257, b"ustar  \0")
    patched(path, 1024, 345, b"12345670123")  # GNU's times of a backup
    assert found(path) == wanted
    patched(path, 0, 265, b"\xfc" * 4)  # the owner's name
    content = bytearray(path.read_bytes())
    content[148:156] = b"%06o\0 " % (int(content[148:154], 8) - 4 * 256)
    path.write_bytes(content)
    assert found(path) == wanted
    content[1024 + 124 : 1024 + 136] = b"\xff" * 12
    path.write_bytes(content)
    assert "at 1024: the checksum" in error_of(path)
    patched(path, 1024, 124, b"\xff" * 12)
    assert "at 1024: the size of a member is no number" in error_of(path)


def test_records_for_all_members(tmp_path: Path) -> None:
    headers = {"comment": "of git archive", "size": "2"}
    members = {"1.jpg": b"ab", "2.jpg": b"ab"}
    path = write(tmp_path / "x.tar", members, format=PAX, pax_headers=headers)
    assert found(path) == [("1.jpg", b"ab", 0), ("2.jpg", b"ab", 0)]


def test_end(tmp_path: Path) -> None:
    path = write(tmp_path / "x.tar", {"1.jpg": b"1", "2.jpg": b"2" * 600})
    whole = path.read_bytes()
    path.write_bytes(whole[: 2048 + 512] + b"whatever there is")
    assert "no end mark" in error_of(path)
    path.write_bytes(whole[: 2560 + 512] + b"whatever there is")
    assert len(found(path)) == 2
    path.write_bytes(whole[: 1536 + 90])
    text = "at 1536: 2.jpg: 510 of its 600 bytes are missing"
    assert text in error_of(path)


def test_links(tmp_path: Path) -> None:
    """A hard link is the image that it names; others are left out."""
    kinds = {
        "a/1.jpg": (tarfile.REGTYPE, ""),
        "b/2.jpg": (tarfile.LNKTYPE, "a/1.jpg"),
        "b/3.jpg": (tarfile.LNKTYPE, "a/9.jpg"),
        "b/4.jpg": (tarfile.SYMTYPE, "a/1.jpg"),
        "b/5.jpg": (tarfile.FIFOTYPE, ""),
        "b": (tarfile.DIRTYPE, ""),
        "b/6.jpg": (tarfile.LNKTYPE, "b/2.jpg"),
    }

    def linked(info: tarfile.TarInfo) -> None:
        info.type, info.linkname = kinds[info.name]
        info.size = 3 if info.type == tarfile.REGTYPE else 0

    path = write(tmp_path / "x.tar", dict.fromkeys(kinds, b"one"), linked)
    assert found(path) == [
        ("a/1.jpg", b"one", 0),
        ("b/2.jpg", b"one", 1),
        ("b/6.jpg", b"one", 1),
    ]


def test_links_to_other_parts(tmp_path: Path) -> None:
    """A label that several samples share, as files of one inode are packed."""

    def linked(info: tarfile.TarInfo) -> None:
        if info.name in ("b.cls", "d.cls"):
            info.type, info.size = tarfile.LNKTYPE, 0
            info.linkname = "a.cls" if info.name == "b.cls" else "nothing"

    parts = {}
    for name in "abcd":
        parts[name + ".cls"] = b"7" if name == "a" else b"8"
        parts[name + ".jpg"] = name.encode()
    path = write(tmp_path / "links.tar", parts, linked)
    assert found("%s?missing=skip" % path) == [
        ("a.jpg", b"a", 7),
        ("b.jpg", b"b", 7),
        ("c.jpg", b"c", 8),
    ]
    assert "1 no label (d)" in error_of(path)


def test_archives_in_a_row(tmp_path: Path) -> None:
    first = write(tmp_path / "0.tar", {"a.jpg": b"a", "a.cls": b"0"})
    second = write(tmp_path / "1.tar", {"b.jpg": b"b", "b.cls": b"1"})
    both = tmp_path / "both.tar"
    both.write_bytes(first.read_bytes() + second.read_bytes())
    assert labels_of(both) == [0]
    with pytest.warns(feedline.EngineWarning, match="another archive.*ignore"):
        log_lines.tell()
    assert labels_of("%s?ignore_zeros=true" % both) == [0, 1]
    both.write_bytes(both.read_bytes()[:-1])
    assert labels_of("%s?ignore_zeros=true" % both) == [0, 1]
    both.write_bytes(first.read_bytes() + second.read_bytes()[:700])
    assert "cut" in error_of("%s?ignore_zeros=true" % both)


def test_no_labels_are_told(tmp_path: Path) -> None:
    path = write(tmp_path / "x.tar", {"a.jpg": b"a", "b.jpg": b"b"})
    log_lines.tell()
    assert labels_of(path) == [0, 0]
    with pytest.warns(feedline.EngineWarning, match="so all are 0; label=none"):
        log_lines.tell()
    assert labels_of("%s?label=none" % path) == [0, 0]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        log_lines.tell()


def test_variables(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As webdataset: ${NAME} is WDS_NAME, which may have others in it."""
    for i in range(3):
        write(tmp_path / ("%d.tar" % i), {"a.jpg": b"a", "a.cls": b"%d" % i})
    monkeypatch.setenv("WDS_ROOT", str(tmp_path))
    monkeypatch.setenv("WDS_TRAIN", "${ROOT}/{0..1}.tar::${ROOT}/2.tar")
    assert labels_of("${TRAIN}") == [0, 1, 2]
    assert labels_of("${ROOT}") == [0, 1, 2]
    assert "WDS_NONE, and there is none" in error_of("${NONE}/0.tar")
    monkeypatch.setenv("WDS_LOOP", "${LOOP}" * 200)
    assert "too long a name" in error_of("${LOOP}")
    assert "No such file" in error_of("$ROOT${}${a-b}/0.tar")


@pytest.mark.skipif(not shutil.which("tar"), reason="no tar")
@pytest.mark.parametrize(
    "form", ["gnu", "oldgnu", "pax", "posix", "ustar", "v7"]
)
def test_of_the_tar_command(
    tmp_path: Path, image_folder: Path, form: str
) -> None:
    path = tmp_path / "x.tar"
    subprocess.run(
        ["tar", "-C", str(image_folder), "--format", form, "--sort=name"]
        + ["-cf", str(path), "."],
        check=True,
    )
    folder = Dataset.open("folder:%s" % image_folder)
    samples = found(path)
    assert len(samples) == len(folder)
    for i, (name, data, label) in enumerate(samples):
        assert Path(folder.path(i)) == image_folder / name
        assert Path(folder.path(i)).read_bytes() == data
        assert folder.label(i) == label
    assert Dataset.open(path).classes == folder.classes


# ---- Samples -----------------------------------------------------------------


def test_groups(tmp_path: Path) -> None:
    """Neighbours with the same key; the last extension makes the image."""
    path = tmp_path / "x.tar"
    members = {
        "__info__/a.jpg": b"",
        "a.b/c.input.JPG": b"first",
        "README": b"",
        "a.b/c.cls": b" 7\n",
        "a.b/._c.jpg": b"",
        "a.b/d.cls": b"-1",
        "a.b/d.output.png": b"second",
        "a.b/d.json": b"{}",
    }
    write(path, members)
    assert found(path) == [
        ("a.b/c.input.JPG", b"first", 7),
        ("a.b/d.output.png", b"second", -1),
    ]
    members["a.b/d.jpg"] = b"third"
    write(path, members)
    assert "?image=jpg" in error_of(path)
    for option in ("image=input.jpg;jpg", "image=jpg&missing=skip"):
        assert found("%s?%s" % (path, option))[-1][1] == b"third"
    assert len(found("%s?group=none&label=none" % path)) == 3
    write(path, {"1.cls": b"1", "1.jpg": b"", "1.CLS": b"2"})
    assert "1.CLS: a second label" in error_of(path)


def test_missing_parts(tmp_path: Path) -> None:
    """`tar c folder` writes in the folder's own order."""
    names = ["%d.%s" % (i, part) for part in ("jpg", "cls") for i in range(9)]
    path = write(
        tmp_path / "x.tar", {name: name[:1].encode() for name in names}
    )
    message = error_of(path, feedline.NotFound)
    assert "of 18 samples 9 have no image and 9 no label (0, 1, 2" in message
    assert labels_of("%s?group=key" % path) == list(range(9))
    write(path, {"1.cls": b"1", "1.jpg": b"", "2.jpg": b"", "3.cls": b"3"})
    assert "(2, 3)" in error_of(path)
    assert labels_of("%s?missing=skip" % path) == [1]
    assert labels_of("%s?label=none&missing=skip" % path) == [0, 0]


@pytest.mark.parametrize(
    "label, wanted",
    [
        ("auto", [5, 4]),
        ("cls", [5, 4]),
        ("json:id", [12, 7]),
        ("json:name", [1, 0]),
        ("json:deep.er", [3, -3]),
        ("txt", [1, 0]),
        ("folder", [0, 0]),
        ("none", [0, 0]),
        ("json:no", "no label"),
        ("json:list", "neither an integer"),
        ("json:half", "neither an integer"),
        ("pyd", "a pickle is a program"),
        ("class", "use auto, cls"),
    ],
)
def test_labels(tmp_path: Path, label: str, wanted: Any) -> None:
    members = {
        "d/1.cls": b"5",
        "d/1.jpg": b"",
        "d/1.json": b'{"id": 12, "name": "wren", "deep": {"er": 3}, '
        b'"list": [1], "half": 0.5, "no": null, "er": 9}',
        "d/1.txt": b" wren\n",
        "d/2.cls": b"4\n",
        "d/2.jpg": b"",
        "d/2.json": b'{"deep": {"id": 0, "er": -3}, "id": 7, '
        b'"name": "\\u0061uk", "list": {"0": 1}, "half": 1.5}',
        "d/2.txt": b"auk",
    }
    uri = "%s?label=%s" % (write(tmp_path / "x.tar", members), label)
    if isinstance(wanted, str):
        assert wanted in error_of(uri)
    else:
        assert labels_of(uri) == wanted


def test_what_auto_means(tmp_path: Path) -> None:
    path = tmp_path / "x.tar"
    folders = {"b/1.jpg": b"", "a/2.jpg": b"", "notes.txt": b""}
    assert labels_of(write(path, folders)) == [1, 0]
    # Parts beside the images: the folder is no class.
    write(path, {"b/1.jpg": b"", "b/1.txt": b"", "a/2.jpg": b""})
    assert labels_of(path) == [0, 0]
    assert labels_of(write(path, {"1.jpg": b"", ".//2.jpg": b""})) == [0, 0]
    assert "is no integer" in error_of(
        write(path, {"1.jpg": b"", "1.cls": b"wren"})
    )


def test_archives_in_an_archive(tmp_path: Path) -> None:
    """As ILSVRC2012_img_train.tar."""
    outer = {}
    for name in ("n02", "n01"):
        images = {"%s_%d.JPEG" % (name, i): b"%d" % i for i in range(3)}
        inner = write(tmp_path / "inner", images)
        outer[name + ".tar"] = inner.read_bytes()
    path = write(tmp_path / "x.tar", outer)
    assert found(path) == [
        ("%s/%s_%d.JPEG" % (name, name, i), b"%d" % i, label)
        for name, label in (("n02", 1), ("n01", 0))
        for i in range(3)
    ]
    outer["n02.tar"] = outer["n02.tar"][:1024]
    assert "no end mark" in error_of(write(path, outer))


def test_index_of_wids(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    shards = []
    for i in range(3):
        path = write(tmp_path / "data" / ("%d.tar" % i), {"%d.jpg" % i: b""})
        size = path.stat().st_size
        shards.append({"url": path.name, "nsamples": 1, "filesize": size})
    whole = {"wids_version": 1, "shardlist": shards[::-1]}
    index = tmp_path / "data" / "index.json"
    index.write_text(json.dumps(whole))
    names = ["2.jpg", "1.jpg", "0.jpg"]
    assert [name for name, _, _ in found(index)] == names
    other = tmp_path / "other.json"
    other.write_text(json.dumps({**whole, "base": str(tmp_path / "data")}))
    assert [name for name, _, _ in found(other)] == names
    shards[1]["filesize"] = 512
    for wrong, text in (
        (whole, "1.tar has 512 bytes, and it has 10240"),
        ({**whole, "base": "hdfs://host"}, "no store that is read here"),
        ({**whole, "shardlist": [{}]}, "without a url"),
        ({**whole, "shardlist": []}, "no shards"),
        ({**whole, "wids_version": 2}, "version 1"),
        ([], "no object"),
    ):
        index.write_text(json.dumps(wrong))
        message = error_of(index)
        assert text in message
    index.write_bytes(b"")
    assert "no object" in error_of(index)


@pytest.mark.parametrize("end", ["", "\n"])
def test_names_of_numbers(tmp_path: Path, end: str) -> None:
    """As beside sets for CLIP, and as loaderbench pack writes them."""
    for i in range(3):
        write(tmp_path / ("%d.tar" % i), {"a.cls": b"%d" % i, "a.jpg": b""})
    names = tmp_path / "classnames.txt"
    names.write_text("great white shark\r\n\\#2\\n\n\u00fc" + end)
    dataset = Dataset.open("tar:%s" % tmp_path)
    assert dataset.classes == ["great white shark", "#2\n", "\u00fc"]
    assert [dataset.label(i) for i in range(3)] == [0, 1, 2]
    names.write_text("only\ntwo\n")
    with pytest.warns(log_lines.EngineWarning, match="2 names, and a label"):
        assert Dataset.open("tar:%s" % tmp_path).classes == []
        log_lines.tell()
    names.unlink()
    names.mkdir()
    refused("tar:%s" % tmp_path, "classnames.txt", feedline.ReadError)


# ---- Refused -----------------------------------------------------------------


@pytest.mark.parametrize("kind", ["gz", "bz2", "xz", "zst"])
def test_compressed(tmp_path: Path, kind: str) -> None:
    path = tmp_path / ("x.tar." + kind)
    if kind == "zst":
        path.write_bytes(b"\x28\xb5\x2f\xfd" + bytes(600))
    else:
        with tarfile.open(path, "w:" + kind) as archive:
            info = tarfile.TarInfo("1.jpg")
            info.size = 5000
            archive.addfile(info, io.BytesIO(os.urandom(5000)))
    for uri in (path, tmp_path, "%s?damaged=skip" % path):
        assert "compressed with" in error_of(uri)
    refused(path, "compressed", feedline.Error)


def test_sparse_files(tmp_path: Path) -> None:
    path = write(tmp_path / "x.tar", {"1.jpg": b"1", "2.jpg": b"2"})
    patched(path, 1024, 156, b"S")
    assert "2.jpg is a sparse file" in error_of(path)

    def sparse(info: tarfile.TarInfo) -> None:
        info.pax_headers = {"GNU.sparse.major": "1"}

    write(path, {"1.jpg": b"1"}, sparse)
    assert "1.jpg is a sparse file" in error_of(path)


@pytest.mark.parametrize(
    "uri, text",
    [
        ("pipe:cat x.tar", "cannot be read at random"),
        ("ceph://b/x.tar", "no store that is read here"),
    ],
)
def test_streams(uri: str, text: str) -> None:
    assert text in error_of(uri)
    refused(uri, text, feedline.Error)


@pytest.mark.parametrize(
    "record",
    [b"9 path=x", b"99 path=x\n", b"0 path=x\n", b"x path=x\n", b"6 pa\n\n"]
    + [b"11 size=-1\n", b"30 size=99999999999999999999\n\n", b"2\n"],
)
def test_records_that_lie(tmp_path: Path, record: bytes) -> None:
    def pax(info: tarfile.TarInfo) -> None:
        info.type = tarfile.XHDTYPE

    path = write(tmp_path / "x.tar", {"x": record}, pax)
    assert " pax record" in error_of(path)


# ---- DALI's index ----------------------------------------------------------


def indexed(path: Path, named: bool = True) -> Tuple[Path, List[str]]:
    """What wds2idx makes of an archive: the file, and its lines."""
    rows: Dict[str, List[str]] = {}
    with tarfile.open(path) as archive:
        for member in archive:
            key, _, extension = member.name.partition(".")
            row = "%s %d %d" % (extension, member.offset_data, member.size)
            rows.setdefault(key, []).append(
                "%s %s" % (row, member.name) if named else row
            )
    lines = ["v1.%d %d" % (2 if named else 1, len(rows))]
    lines += [" ".join(row) for row in rows.values()]
    index = path.with_name(path.name.partition(".")[0] + ".idx")
    index.write_text("\n".join(lines) + "\n")
    return index, lines


@pytest.fixture
def shard(tmp_path: Path) -> Path:
    members = {}
    for i in range(9):
        members["a/%03d.jpg" % i] = b"image %d" % i
        members["a/%03d.cls" % i] = b"%d" % (i % 4)
    return write(tmp_path / "s.0.tar", members)


@pytest.mark.parametrize("named", [True, False])
def test_dali_s_index_in_place_of_headers(shard: Path, named: bool) -> None:
    wanted = found(shard)
    indexed(shard, named)
    made = found("%s?index=idx" % shard)
    assert [sample[1:] for sample in made] == [s[1:] for s in wanted]
    assert (made == wanted) == named


def test_an_index_that_is_not_of_the_shard(shard: Path) -> None:
    index, lines = indexed(shard)

    def unusable(text: str, words: str) -> None:
        index.write_text(text + "\n")
        refused("tar:%s?index=idx" % shard, words)

    moved = [lines[0], lines[1].replace("1536", "2048"), *lines[2:]]
    shorter = lines[1].replace("jpg 512 7", "jpg 512 6")
    assert shorter != lines[1]
    unusable("\n".join(lines[:-1]), "line 9: it ends early")
    unusable("\n".join(["v1.2 8", *lines[1:]]), "more samples")
    unusable("\n".join([lines[0], shorter, *lines[2:]]), "line 2.*another")
    unusable("\n".join(moved), "line 2.*another")
    unusable("v1.0 3", "line 1: not an index of wds2idx")
    unusable("", "line 1: not an index")
    unusable(lines[0] + "\njpg x 7 a", "line 2: not .extension offset")
    unusable(lines[0] + "\njpg 513 7 a.jpg", "line 2: a member is not in")
    unusable(lines[0] + "\njpg 51200 7 a.jpg", "line 2: a member is not in")
    unusable(lines[0] + "\njpg 512 7 a b.jpg", "line 2")
    for end in range(0, len("\n".join(lines)), 7):
        index.write_text("\n".join(lines)[:end])
        refused("tar:%s?index=idx" % shard, "s.idx, line", feedline.Error)

    index.write_text("\n".join(lines) + "\n")
    os.utime(index, (1, 1))
    refused("tar:%s?index=idx" % shard, "older than its shard")
    index.unlink()
    refused("tar:%s?index=idx" % shard, "s.idx", feedline.NotFound)
