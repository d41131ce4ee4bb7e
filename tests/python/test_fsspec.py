# SPDX-License-Identifier: Apache-2.0
"""Dataset.fsspec: class folders and shards that are not on a disk give the
stream of the same files in a folder."""

from __future__ import annotations

import functools
import http.server
import pickle
import tarfile
import threading
import zipfile
from pathlib import Path
from typing import Any, Iterator, List

import pytest

fsspec = pytest.importorskip("fsspec", reason="no fsspec")
streams = pytest.importorskip("streams", reason="no numpy")

import feedline  # noqa: E402
from feedline import Dataset, InvalidArgument  # noqa: E402


@pytest.fixture
def memory(image_folder: Path) -> Iterator[Any]:
    """The folder in fsspec's own memory, with a file that is no image."""
    fs = fsspec.filesystem("memory")
    fs.put(str(image_folder), "/photos", recursive=True)
    fs.pipe("/photos/class_0/notes.txt", b"no image")
    fs.pipe("/photos/cover.jpg", b"below no class")
    yield fs
    fs.rm("/photos", recursive=True)


@pytest.fixture
def served(image_folder: Path) -> Iterator[str]:
    """The folder behind a server whose pages list what there is."""
    pytest.importorskip("aiohttp", reason="no aiohttp")

    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *unused: Any) -> None:
            pass

    handler = functools.partial(Quiet, directory=str(image_folder))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield "http://127.0.0.1:%d/" % server.server_address[1]
        server.shutdown()
        thread.join()


def check(ours: Dataset, image_folder: Path) -> None:
    streams.assert_same(ours, Dataset.open("folder:%s" % image_folder))


def test_memory(memory: Any, image_folder: Path) -> None:
    check(Dataset.fsspec("memory://photos"), image_folder)


def test_local(image_folder: Path) -> None:
    check(Dataset.fsspec(image_folder.as_uri()), image_folder)


def test_archive(image_folder: Path, tmp_path: Path) -> None:
    """Files of a zip, which fsspec inflates."""
    file = tmp_path / "photos.zip"
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as out:
        for path in sorted(image_folder.rglob("*.*")):
            out.write(path, path.relative_to(image_folder))
    check(Dataset.fsspec("zip://::%s" % file.as_uri()), image_folder)


def test_http(served: str, image_folder: Path) -> None:
    check(Dataset.fsspec(served), image_folder)


def test_pickled(memory: Any, image_folder: Path) -> None:
    """Its copy lists nothing again."""
    text = pickle.dumps(Dataset.fsspec("memory://photos"))
    memory.pipe("/photos/class_0/another.jpg", b"came later")
    check(pickle.loads(text), image_folder)


def test_a_file_that_is_gone(memory: Any) -> None:
    data = Dataset.fsspec("memory://photos")
    name = data.path(3)
    memory.rm(name.replace("memory:/", "", 1))
    with streams.loader_of(data, on_error="raise") as loader:
        with pytest.raises(feedline.Error, match="FileNotFoundError") as error:
            for batch in loader:
                batch.release()
    assert name in str(error.value)


def test_a_file_that_is_another(memory: Any) -> None:
    data = Dataset.fsspec("memory://photos")
    memory.pipe(data.path(3).replace("memory:/", "", 1), b"short")
    with streams.loader_of(data, on_error="raise") as loader:
        with pytest.raises(feedline.Error, match="5 bytes came, and it had"):
            for batch in loader:
                batch.release()


def test_state_of_other_contents(memory: Any) -> None:
    with streams.loader_of(Dataset.fsspec("memory://photos")) as loader:
        state = loader.save()
    memory.pipe("/photos/class_0/another.jpg", b"came later")
    with streams.loader_of(Dataset.fsspec("memory://photos")) as loader:
        with pytest.raises(InvalidArgument, match="data set"):
            loader.restore(state)


@pytest.mark.parametrize(
    "path", ["memory://nowhere", "memory://photos/class_0"]
)
def test_nothing_there(memory: Any, path: str) -> None:
    """No folder, or one whose images are in no folder of their own."""
    with pytest.raises(InvalidArgument, match="no folder in it has an image"):
        Dataset.fsspec(path)


def test_options_stay_secret(memory: Any) -> None:
    """What may be a key is in no text of a data set or an error."""
    data = Dataset.fsspec("memory://photos", {"token": "hush"})
    with streams.loader_of(data) as loader:
        texts = [repr(data), loader.save(), loader.explain()]
    assert not any("hush" in text for text in texts)
    with pytest.raises(InvalidArgument) as error:
        Dataset.fsspec("memory://nowhere", {"token": "hush"})
    assert "hush" not in str(error.value)


# ---- Without a method of its own ---------------------------------------------


@pytest.mark.parametrize("uri", ["memory://photos", "folder:memory://photos"])
def test_open(memory: Any, image_folder: Path, uri: str) -> None:
    check(Dataset.open(uri), image_folder)


def test_a_file_system_of_the_program_s(
    memory: Any, image_folder: Path
) -> None:
    check(Dataset.open("/photos", filesystem=memory), image_folder)
    below = fsspec.filesystem("dir", path="/photos", fs=memory)
    check(Dataset.fsspec("", filesystem=below), image_folder)


def test_schemes_that_nobody_knows() -> None:
    with pytest.raises(InvalidArgument, match="unknown kind of data set"):
        Dataset.open("nothing-like-it://photos")


# ---- Shards ------------------------------------------------------------------


@pytest.fixture(scope="module")
def shard_folder(
    image_folder: Path, tmp_path_factory: pytest.TempPathFactory
) -> Path:
    """Three tar files of class folders, with captions; not every class is in
    each."""
    folder = tmp_path_factory.mktemp("shards")
    photos = sorted(image_folder.rglob("*.jpg"))
    for i, some in enumerate((photos[:5], photos[5:9], photos[9:])):
        with tarfile.open(folder / ("%02d.tar" % i), "w") as tar:
            for photo in some:
                tar.add(photo, photo.relative_to(image_folder))
    (folder / "notes.txt").write_text("no shard")
    (folder / ".part.tar").write_text("no shard either")
    return folder


@pytest.fixture
def shards(shard_folder: Path) -> Iterator[Any]:
    fs = fsspec.filesystem("memory")
    fs.put(str(shard_folder), "/shards", recursive=True)
    yield fs
    fs.rm("/shards", recursive=True)


@pytest.mark.parametrize(
    "uri",
    [
        "memory://shards",
        "memory://shards/{00..02}.tar",
        "memory://shards/{00,01,02}.tar",
        "memory://shards/*.tar",
        "tar:memory://shards",
    ],
)
def test_shards(shards: Any, shard_folder: Path, uri: str) -> None:
    ours = Dataset.open(uri)
    theirs = Dataset.open(str(shard_folder))
    assert list(ours.classes) == list(theirs.classes)
    assert labels(ours) == labels(theirs)
    assert ours.path(7) == theirs.path(7).replace(
        str(shard_folder), "memory:///shards"
    )
    assert ours.read(7) == theirs.read(7)
    streams.assert_same(ours, theirs)


def labels(data: Dataset) -> List[int]:
    return [data.label(i) for i in range(len(data))]


def test_shards_with_options(shards: Any, shard_folder: Path) -> None:
    ours = Dataset.open("memory://shards?label=none")
    theirs = Dataset.open("%s?label=none" % shard_folder)
    assert labels(ours) == labels(theirs) == [0] * len(ours)
    with pytest.raises(InvalidArgument, match="fields=jpg"):
        Dataset.open("memory://shards?fields=jpg")


def test_shards_pickled(shards: Any, shard_folder: Path) -> None:
    """Its copy lists nothing again."""
    text = pickle.dumps(Dataset.open("memory://shards"))
    shards.pipe("/shards/03.tar", b"came later")
    streams.assert_same(
        pickle.loads(text), Dataset.open(str(shard_folder / "{00..02}.tar"))
    )


def test_shards_that_are_none(shards: Any) -> None:
    with pytest.raises(InvalidArgument, match="memory:///shards/.part.tar"):
        Dataset.open("tar:memory://shards/.part.tar")
    with pytest.raises(FileNotFoundError, match="memory:///shards/07.tar"):
        Dataset.open("memory://shards/{02,07}.tar")
    with pytest.raises(InvalidArgument, match="no shards in it"):
        Dataset.open("zip:memory://shards/*.zip")


def test_a_shard_that_was_cut(shards: Any) -> None:
    data = Dataset.open("memory://shards")
    shards.pipe("/shards/02.tar", shards.cat("/shards/02.tar")[:5000])
    with streams.loader_of(data, on_error="raise") as loader:
        with pytest.raises(feedline.Error, match="bytes came") as error:
            for batch in loader:
                batch.release()
    assert "memory:///shards/02.tar:" in str(error.value)
