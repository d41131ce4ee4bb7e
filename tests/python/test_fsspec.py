# SPDX-License-Identifier: Apache-2.0
"""Dataset.fsspec: class folders that are not on a disk give the stream of the
same files in a folder."""

from __future__ import annotations

import functools
import http.server
import pickle
import threading
import zipfile
from pathlib import Path
from typing import Any, Iterator

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
