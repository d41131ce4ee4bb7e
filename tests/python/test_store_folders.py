# SPDX-License-Identifier: Apache-2.0
"""Folders in stores of every kind: class folders and folders of shards are
those of a copy on this machine."""

from __future__ import annotations

import tarfile
from pathlib import Path
from typing import Iterator, List

import pytest

streams = pytest.importorskip("streams", reason="no numpy")

import feedline  # noqa: E402
import cloud_servers  # noqa: E402
import store_servers  # noqa: E402
from feedline import Dataset, InvalidArgument, NotFound, ReadError  # noqa: E402
from remote_sets import open_remote  # noqa: E402

# Samples in an order that no store lists them in, and what is none.
FOLDERS = (
    "b/1.jpg",
    "a-b/2.JPG",
    "a/z/3.jpg",
    "a/z-y/4.jpg",
    "a/5.jpg",
    "a/z/.6.jpg",
    "a/x y+%41&=#.jpg",
    "a/z/10.jpg",
    "a/z/9.jpg",
    ".hidden/7.jpg",
    "\u00fc\U0001f600/8.jpg",
    "\u00fc/8.jpg",
)
OTHERS = ("a/notes.txt", "cover.jpg", "a/z/jpg", "b/1.jpg.txt", "other.md")


@pytest.fixture(scope="module")
def tree(image_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("tree")
    photos = [p.read_bytes() for p in sorted(image_folder.rglob("*.jpg"))]
    for i, name in enumerate(FOLDERS):
        write(folder / "classes" / name, photos[i % len(photos)])
    for name in OTHERS:
        write(folder / "classes" / name, b"no image")
    for i in range(3):
        path = folder / "shards" / ("%d.tar" % i)
        path.parent.mkdir(exist_ok=True)
        with tarfile.open(path, "w") as tar:
            for photo in sorted(image_folder.rglob("*.jpg"))[i::3]:
                tar.add(photo, photo.relative_to(image_folder))
    write(folder / "shards/.part.tar", b"no shard")
    write(folder / "shards/more/9.tar", b"no shard of this folder")
    write(folder / "flat/1.jpg", photos[0])
    write(folder / "empty/a/1.jpg", photos[0])
    write(folder / "empty/b/notes.txt", b"no image")
    return folder


def write(path: Path, data: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)


@pytest.fixture(scope="module", params=sorted(cloud_servers.PLACES))
def filled(
    request: pytest.FixtureRequest,
    tree: Path,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[cloud_servers.Place]:
    folder = tmp_path_factory.mktemp(request.param)
    with cloud_servers.PLACES[request.param](folder) as place:
        for path in tree.rglob("*"):
            if path.is_file():
                place.put(str(path.relative_to(tree)), path.read_bytes())
        yield place


@pytest.fixture
def place(
    filled: cloud_servers.Place,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> cloud_servers.Place:
    monkeypatch.setenv("no_proxy", "127.0.0.1,localhost")
    monkeypatch.setenv("FEEDLINE_CACHE_DIR", str(tmp_path / "cache"))
    for name, value in filled.environment.items():
        monkeypatch.setenv(name, value)
    return filled


def samples(data: Dataset, root: str) -> List[object]:
    assert data.path(0).startswith(root)
    return [
        (data.path(i)[len(root) :], data.label(i)) for i in range(len(data))
    ]


# ---- As on this machine ------------------------------------------------------


@pytest.mark.parametrize(
    "uri", ["%s/classes/", "%s/classes", "folder:%s/classes"]
)
def test_class_folders(
    place: cloud_servers.Place, tree: Path, uri: str
) -> None:
    ours = open_remote(uri % place.root)
    theirs = Dataset.open("folder:%s/classes" % tree)
    assert len(ours) == len(FOLDERS)
    assert samples(ours, place.root) == samples(theirs, str(tree))
    assert list(ours.classes) == list(theirs.classes)


def test_their_stream(place: cloud_servers.Place, tree: Path) -> None:
    ours = open_remote(place.root + "/classes/")
    theirs = Dataset.open("folder:%s/classes" % tree)
    streams.assert_same(ours, theirs)
    assert [ours.read(i) for i in range(4)] == [
        theirs.read(i) for i in range(4)
    ]


def test_positions_of_one_are_the_other_s(
    place: cloud_servers.Place, tree: Path
) -> None:
    """Where the files are is no part of the data set."""
    ours = open_remote(place.root + "/classes/")
    theirs = Dataset.open("folder:%s/classes" % tree)
    with streams.loader_of(theirs, shuffle=True) as loader:
        loader.next()
        state = loader.save()
    assert streams.stream_hash(
        ours, position=state, shuffle=True
    ) == streams.stream_hash(theirs, position=state, shuffle=True)


@pytest.mark.parametrize("uri", ["%s/shards/", "%s/shards", "tar:%s/shards/"])
def test_folders_of_shards(
    place: cloud_servers.Place, tree: Path, uri: str
) -> None:
    ours = open_remote(uri % place.root)
    streams.assert_same(ours, Dataset.open(str(tree / "shards")))


def test_folders_of_shards_with_options(
    place: cloud_servers.Place, tree: Path
) -> None:
    ours = open_remote(place.root + "/shards?label=none&fields=jpg")
    theirs = Dataset.open("%s/shards?label=none&fields=jpg" % tree)
    assert ours.fields == theirs.fields
    streams.assert_same(ours, theirs)


# ---- Lists that are kept -----------------------------------------------------


def test_a_list_that_is_kept(place: cloud_servers.Place, tree: Path) -> None:
    """Until it is listed anew."""
    if place.server is None:
        pytest.skip("a server of our own is needed")
    where, there = place.root + "/classes/", place.files()
    theirs = samples(Dataset.open("folder:%s/classes" % tree), str(tree))

    def pages_of(uri: str) -> int:
        before = place.server.pages
        found = samples(open_remote(uri), place.root)
        assert [s for s in found if s[0] != "/classes/b/2.jpg"] == theirs
        assert len(found) - len(theirs) == came
        return int(place.server.pages - before)

    came = False
    assert pages_of(where + "?list=kept") > 0
    assert pages_of(where + "?list=kept") == 0
    there["classes/b/2.jpg"] = there["classes/b/1.jpg"]
    try:
        assert pages_of("folder:%s?list=kept" % where) == 0
        came = True
        assert pages_of(where) > 0
        assert pages_of(where + "?list=kept") == 0
    finally:
        del there["classes/b/2.jpg"]


# ---- What goes wrong ---------------------------------------------------------


def test_nothing_there(place: cloud_servers.Place) -> None:
    with pytest.raises(NotFound) as raised:
        open_remote(place.root + "/nowhere/")
    assert place.root + "/nowhere/" in str(raised.value)
    with pytest.raises(NotFound) as raised:
        open_remote("tar:%s/classes/" % place.root)
    assert place.root + "/classes/: no shards (*.tar)" in str(raised.value)


def test_images_in_no_class(place: cloud_servers.Place) -> None:
    with pytest.raises(NotFound, match="only 1 images"):
        open_remote(place.root + "/flat/")
    with pytest.raises(NotFound, match="1 of 2 class folders .* b$"):
        open_remote(place.root + "/empty/")


def test_options_of_class_folders(place: cloud_servers.Place) -> None:
    with pytest.raises(InvalidArgument, match="list=kept, not label=none"):
        open_remote(place.root + "/classes/?label=none")


def test_wrong_credentials(
    place: cloud_servers.Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not place.wrong:
        pytest.skip("whoever asks is let in")
    data = open_remote(place.root + "/classes/")
    for name, value in place.wrong.items():
        monkeypatch.setenv(name, value)
    for uri in ("/classes/", "/shards/0.tar"):
        with pytest.raises(ReadError) as raised:
            open_remote(place.root + uri)
        message = str(raised.value)
        assert place.root + uri in message
        assert place.refusal in message
        assert "clock" not in message  # it is right
        assert not any(secret in message for secret in place.hidden)
        assert place.host in message or uri != "/classes/"
    assert data.read(0)  # it has what it was opened with


def test_a_server_that_is_gone(
    place: cloud_servers.Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The message says which one."""
    for name, value in place.environment.items():
        if place.host in value:
            monkeypatch.setenv(name, value.replace(place.host, "127.0.0.1:9"))
    with pytest.raises(ReadError) as raised:
        open_remote(place.root + "/classes/")
    assert place.root + "/classes/ at 127.0.0.1:9: " in str(raised.value)


def test_an_object_that_goes(place: cloud_servers.Place, tree: Path) -> None:
    """Between the list and its turn."""
    if place.server is None:
        pytest.skip("a server of our own is needed")
    files = place.files()
    data = open_remote(place.root + "/classes/")
    kept = files.pop("classes/a/5.jpg")
    try:
        with streams.loader_of(data, on_error="raise") as loader:
            with pytest.raises(feedline.Error) as raised:
                for batch in loader:
                    batch.release()
    finally:
        files["classes/a/5.jpg"] = kept
    assert place.root + "/classes/a/5.jpg" in str(raised.value)


def test_what_was_kept_is_not_asked_for(
    place: cloud_servers.Place, tmp_path: Path
) -> None:
    """The list says which objects they are (remote_cache)."""
    if not place.root.startswith("az:"):
        pytest.skip("one server that counts is enough")
    kept = {"remote_cache": str(tmp_path / "kept")}
    first = streams.stream_hash(open_remote(place.root + "/classes/"), **kept)
    place.server.reads.clear()
    again = open_remote(place.root + "/classes/")
    assert streams.stream_hash(again, **kept) == first
    assert place.server.reads == []
    there = place.files()
    photo = there["classes/b/1.jpg"]
    there["classes/b/1.jpg"] = there["classes/a/5.jpg"]
    try:
        streams.stream_hash(open_remote(place.root + "/classes/"), **kept)
    finally:
        there["classes/b/1.jpg"] = photo
    assert set(place.server.reads) == {"classes/b/1.jpg"}


# ---- The hub -----------------------------------------------------------------


def test_the_token_stays_with_the_hub(place: cloud_servers.Place) -> None:
    """The host that it redirects to gets the signed address alone."""
    if not place.root.startswith("hf:"):
        pytest.skip("the hub's")
    far = place.server.far
    before = far.requests
    data = open_remote(place.root + "/classes/")
    with streams.loader_of(data) as loader:
        for batch in loader:
            batch.release()
    assert far.requests >= before + len(FOLDERS)
    assert far.authorizations == []


def test_lists_are_in_pages(place: cloud_servers.Place) -> None:
    if place.server is None:
        pytest.skip("a server of our own is needed")
    before = place.server.pages
    open_remote(place.root + "/classes/")
    pages = place.server.pages - before
    assert pages > len(FOLDERS) / store_servers.PER_PAGE
