# SPDX-License-Identifier: Apache-2.0
"""Data sets behind a web server give the stream of the same files here."""

from __future__ import annotations

import shutil
import subprocess
import tarfile
from pathlib import Path
from typing import Iterator

import pytest

streams = pytest.importorskip("streams", reason="no numpy")

import feedline  # noqa: E402
import store_servers  # noqa: E402
import web_servers  # noqa: E402
from feedline import Dataset, InvalidArgument, NotFound, ReadError  # noqa: E402
from remote_sets import SECRET, open_remote, urls, write_list  # noqa: E402


pytestmark = pytest.mark.usefixtures("no_proxy")


# ---- The same stream ---------------------------------------------------------


def test_shards(shards: Path, address: str) -> None:
    ours = open_remote(address + "/{0..2}.tar")
    streams.assert_same(ours, Dataset.open(str(shards / "{0..2}.tar")))


def test_shards_with_options(shards: Path, address: str) -> None:
    ours = open_remote("tar:%s/0.tar?label=none" % address)
    streams.assert_same(ours, Dataset.open("tar:%s/0.tar?label=none" % shards))


def test_blocks(shards: Path, address: str) -> None:
    """Neighbours come with one request."""
    ours = open_remote(address + "/{0..2}.tar")
    theirs = Dataset.open(str(shards / "{0..2}.tar"))
    options = {"shuffle": "block"}
    assert streams.stream_hash(ours, **options) == streams.stream_hash(
        theirs, **options
    )


def test_list(shards: Path, address: str, tmp_path: Path) -> None:
    there = urls(shards, address)
    here = urls(shards, str(shards))
    streams.assert_same(
        open_remote("list:%s" % write_list(tmp_path / "there", there)),
        Dataset.open("list:%s" % write_list(tmp_path / "here", here)),
    )


def test_paths(shards: Path, address: str) -> None:
    labels = list(range(24))
    ours = Dataset.paths(urls(shards, address), labels)
    photo = sorted((shards / "photos").rglob("*.jpg"))[7]
    assert ours.read(7) == photo.read_bytes()
    streams.assert_same(ours, Dataset.paths(urls(shards, str(shards)), labels))


def test_parts(shards: Path, address: str, tmp_path: Path) -> None:
    """A list of parts of objects, whose text lies in the list."""
    rows = ["path\tlabel\toffset\tlength\tcaption"]
    local = list(rows)
    with tarfile.open(shards / "1.tar") as tar:
        for i, member in enumerate(m for m in tar if m.isfile()):
            row = "%s/1.tar\t%d\t%d\t%d\tphoto %d"
            rest = (i, member.offset_data, member.size, i)
            rows.append(row % ((address,) + rest))
            local.append(row % ((str(shards),) + rest))
    (tmp_path / "there").write_text("\n".join(rows))
    (tmp_path / "here").write_text("\n".join(local))
    streams.assert_same(
        open_remote("list:%s?fields=caption" % (tmp_path / "there")),
        Dataset.open("list:%s?fields=caption" % (tmp_path / "here")),
    )


def test_memory(shards: Path, address: str) -> None:
    ours = open_remote(address + "/{0..2}.tar")
    theirs = Dataset.open(str(shards / "{0..2}.tar"))
    assert streams.stream_hash(ours, reader="memory") == streams.stream_hash(
        theirs
    )


def test_an_index_is_kept(shards: Path, address: str, tmp_path: Path) -> None:
    """The second start lists nothing, and a changed shard anew."""
    copy = tmp_path / "copy"
    copy.mkdir()
    shutil.copy(shards / "0.tar", copy / "0.tar")
    with web_servers.faults(copy) as found:
        first = open_remote(found + "/0.tar")
        again = open_remote(found + "/0.tar")
        assert streams.stream_hash(first) == streams.stream_hash(again)
        shutil.copy(shards / "1.tar", copy / "0.tar")
        changed = open_remote(found + "/0.tar")
        assert streams.stream_hash(changed) == streams.stream_hash(
            Dataset.open(str(shards / "1.tar"))
        )


@pytest.mark.parametrize("tls", [False, True])
def test_nginx(
    shards: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tls: bool
) -> None:
    certificate = make_certificate(tmp_path) if tls else None
    own = tmp_path / "nginx"
    own.mkdir()
    with web_servers.nginx(shards, own, certificate) as address:
        if certificate:
            with pytest.raises(ReadError, match="(?i)certificate"):
                open_remote(address + "/{0..2}.tar")
            monkeypatch.setenv("CURL_CA_BUNDLE", str(certificate))
        ours = open_remote(address + "/{0..2}.tar")
        streams.assert_same(ours, Dataset.open(str(shards / "{0..2}.tar")))
        with pytest.raises(NotFound, match="404"):
            open_remote(address + "/3.tar")
    # None of it is left to answer.
    assert not web_servers.answers(int(address.rsplit(":", 1)[1]))


def make_certificate(folder: Path) -> Path:
    if not shutil.which("openssl"):
        pytest.skip("no openssl")
    command = "openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=x"
    subprocess.run(
        command.split()
        + ["-addext", "subjectAltName=DNS:localhost"]
        + ["-keyout", "key.pem", "-out", "cert.pem"],
        cwd=folder,
        check=True,
        stderr=subprocess.DEVNULL,
    )
    both = folder / "both.pem"
    parts = [(folder / name).read_text() for name in ("cert.pem", "key.pem")]
    both.write_text("".join(parts))
    return both


# ---- What goes wrong ---------------------------------------------------------


def test_faults_pass(shards: Path, address: str, tmp_path: Path) -> None:
    faults = ["reset", "cut=500", "status=503", "garbage", "delay=50"]
    there = urls(shards, address)
    there = [
        "%s?%s" % (url, faults[i % len(faults)]) if i % 4 == 0 else url
        for i, url in enumerate(there)
    ]
    here = urls(shards, str(shards))
    ours = open_remote("list:%s" % write_list(tmp_path / "there", there))
    theirs = Dataset.open("list:%s" % write_list(tmp_path / "here", here))
    assert streams.stream_hash(ours) == streams.stream_hash(theirs)


def test_a_sample_that_is_missing(
    shards: Path, address: str, tmp_path: Path
) -> None:
    there = urls(shards, address)
    there[5] = address + "/none.jpg?" + SECRET
    data = open_remote("list:%s" % write_list(tmp_path / "l", there))
    with streams.loader_of(data, on_error="raise") as loader:
        with pytest.raises(feedline.Error) as error:
            for _ in loader:
                pass
    assert "/none.jpg" in str(error.value)
    assert "HTTP 404" in str(error.value)
    assert "Signature" not in str(error.value)
    with streams.loader_of(data, on_error="skip") as loader:
        assert sum(len(batch.labels) for batch in loader) == 24
        assert "Signature" not in loader.explain()
        assert "Signature" not in repr(loader.stats())


def test_signed_urls_are_sent_and_not_shown(
    shards: Path, address: str, tmp_path: Path
) -> None:
    """The fault shows that the query arrives."""
    there = [url + "?" + SECRET for url in urls(shards, address)]
    there[3] += "&status=404&times=99"
    data = open_remote("list:%s" % write_list(tmp_path / "l", there))
    assert "Signature" not in data.path(3)
    with streams.loader_of(data, on_error="raise") as loader:
        with pytest.raises(feedline.Error, match="HTTP 404"):
            for _ in loader:
                pass


def test_a_shard_that_is_replaced(shards: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    copy.mkdir()
    shutil.copy(shards / "0.tar", copy / "0.tar")
    with web_servers.faults(copy) as found:
        data = open_remote(found + "/0.tar")
        shutil.copy(shards / "1.tar", copy / "0.tar")
        with streams.loader_of(data, on_error="raise") as loader:
            with pytest.raises(feedline.Error, match="replaced") as error:
                for _ in loader:
                    pass
        assert "0.tar" in str(error.value)


def test_readers_of_files_are_refused(address: str) -> None:
    data = open_remote(address + "/0.tar")
    with pytest.raises(InvalidArgument, match="other machines"):
        with streams.loader_of(data, reader="pread") as loader:
            loader.next()


def test_what_is_no_data_set(address: str) -> None:
    with pytest.raises(InvalidArgument, match="not named like a shard"):
        open_remote(address + "/photos?" + SECRET)
    with pytest.raises(InvalidArgument, match="password"):
        open_remote("https://me:word@localhost/0.tar")
    with pytest.raises(feedline.Error):
        open_remote("https://nowhere.invalid/0.tar")


def test_without_libcurl(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """In a process that has not loaded it."""
    import sys

    program = (
        "import feedline, os\n"
        "try: feedline.Dataset.open('%s/0.tar')\n"
        "except feedline.Error as e: print(e)\n" % address
    )
    monkeypatch.setenv("FEEDLINE_LIBCURL", "/nowhere/libcurl.so")
    done = subprocess.run(
        [sys.executable, "-c", program],
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    assert "FEEDLINE_LIBCURL=/nowhere/libcurl.so" in done.stdout


# ---- Object stores that check signatures -------------------------------------


@pytest.fixture(scope="module", params=sorted(store_servers.STORES))
def store(
    request: pytest.FixtureRequest,
    shards: Path,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[store_servers.Store]:
    """With the shards and the photos in a bucket."""
    folder = tmp_path_factory.mktemp(request.param)
    with store_servers.STORES[request.param](folder) as found:
        client = found.client()
        client.create_bucket(Bucket="photos")
        for path in shards.rglob("*.*"):
            name = str(path.relative_to(shards))
            client.put_object(Bucket="photos", Key=name, Body=path.read_bytes())
        yield found


@pytest.fixture
def reader(
    store: store_servers.Store, monkeypatch: pytest.MonkeyPatch
) -> store_servers.Store:
    for name, value in store.environment().items():
        monkeypatch.setenv(name, value)
    return store


def test_shards_in_a_store(shards: Path, reader: store_servers.Store) -> None:
    ours = open_remote("s3://photos/{0..2}.tar")
    streams.assert_same(ours, Dataset.open(str(shards / "{0..2}.tar")))


def test_objects_in_a_store(
    shards: Path, reader: store_servers.Store, tmp_path: Path
) -> None:
    there = urls(shards, "s3://photos")
    ours = write_list(tmp_path / "there.txt", there)
    here = write_list(tmp_path / "here.txt", urls(shards, str(shards)))
    streams.assert_same(
        open_remote("list:%s" % ours), Dataset.open("list:%s" % here)
    )


def test_a_store_that_does_not_know_us(
    reader: store_servers.Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "wrong-and-never-shown")
    with pytest.raises(ReadError, match="s3://photos/0.tar") as raised:
        open_remote("s3://photos/0.tar")
    message = str(raised.value)
    assert "SignatureDoesNotMatch" in message
    assert "never-shown" not in message and reader.key_id not in message
