# SPDX-License-Identifier: Apache-2.0
"""Data of a server that a folder of this machine keeps: the same stream, for
fewer requests, whatever becomes of the folder."""

from __future__ import annotations

import os
import random
import shutil
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any, Dict, Tuple

import pytest

streams = pytest.importorskip("streams", reason="no numpy")

import feedline  # noqa: E402
import web_servers  # noqa: E402
from feedline import Dataset  # noqa: E402
from remote_sets import SECRET, open_remote, urls, write_list  # noqa: E402

N = 24


pytestmark = pytest.mark.usefixtures("no_proxy")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "chunks"


def run(
    data: Dataset, epochs: int = 1, **options: Any
) -> Tuple[str, Dict[str, Any], str]:
    """The hash of the stream, the statistics and the explanation."""
    found = []
    options = {"shuffle": True, "epochs": epochs, **options}
    with streams.loader_of(data, **options) as loader:
        for _ in range(epochs):
            for batch in loader:
                found.append((batch.sample_index, batch.labels.tolist()))
                found.append(batch.images.numpy().tobytes())
        return repr(found), loader.stats()["stats"], loader.explain()


def asked(stats: Dict[str, Any]) -> int:
    """Downloads; on a busy machine some are asked for twice."""
    more = stats["requests_retried"] + stats["requests_hedged"]
    return int(stats["requests"] - more)


def expected(shards: Path, **options: Any) -> str:
    return run(Dataset.open(str(shards / "{0..2}.tar")), **options)[0]


def test_statistics_of_requests(shards: Path, address: str) -> None:
    stream, stats, words = run(open_remote(address + "/{0..2}.tar"))
    assert stream == expected(shards)
    size = sum((shards / ("%d.tar" % i)).stat().st_size for i in range(3))
    assert asked(stats) == N
    assert stats["requests_failed"] == stats["cached_bytes"] == 0
    assert stats["bytes_read"] <= stats["network_bytes"] < 2 * size
    assert " requests brought " in words
    assert "remote_cache" not in words
    _, stats, words = run(Dataset.open(str(shards / "{0..2}.tar")))
    assert stats["requests"] == 0 and "requests" not in words


def test_later_epochs_need_no_server(
    shards: Path, address: str, folder: Path
) -> None:
    data = open_remote(address + "/{0..2}.tar")
    options = {"remote_cache": str(folder), "remote_cache_budget": "100m"}
    stream, stats, _ = run(data, **options)
    assert stream == expected(shards)
    assert 0 < asked(stats) <= N  # a neighbour's chunks may have a small one
    assert stats["cached_bytes"] < stats["bytes_read"] / 2
    stream, stats, words = run(data, epochs=2, **options)
    assert stream == expected(shards, epochs=2)
    assert stats["requests"] == stats["cache_errors"] == 0
    assert stats["cached_bytes"] == stats["bytes_read"]
    assert "remote_cache brought" in words and "stored" not in words
    # Nor does another run, once the data set is open.
    stream, stats, _ = run(open_remote(address + "/{0..2}.tar"), **options)
    assert stream == expected(shards)
    assert stats["requests"] == 0
    assert stats["cached_bytes"] == stats["bytes_read"]


def test_neighbours(shards: Path, address: str, folder: Path) -> None:
    """Samples that are read together, in the order of the shards."""
    data = open_remote(address + "/{0..2}.tar")
    options = {"shuffle": False, "remote_cache": str(folder)}
    stream, stats, _ = run(data, **options)
    assert stream == expected(shards, shuffle=False)
    assert asked(stats) < N
    stream, stats, _ = run(data, epochs=2, **options)
    assert stream == expected(shards, epochs=2, shuffle=False)
    assert stats["requests"] == 0


def test_single_objects(
    shards: Path, address: str, folder: Path, tmp_path: Path
) -> None:
    """The first epoch says which objects they are."""
    there = [
        "%s?%s%d" % (url, SECRET, i)
        for i, url in enumerate(urls(shards, address))
    ]
    photos = write_list(tmp_path / "here", urls(shards, str(shards)))
    theirs = run(Dataset.open("list:%s" % photos))[0]
    data = open_remote("list:%s" % write_list(tmp_path / "there", there))
    stream, stats, _ = run(data, remote_cache=str(folder))
    assert stream == theirs and asked(stats) == N
    stream, stats, _ = run(data, remote_cache=str(folder))
    assert stream == theirs and stats["requests"] == 0
    # They are signed anew.
    there = [url + "9" for url in there]
    data = open_remote("list:%s" % write_list(tmp_path / "again", there))
    before = tree(folder)
    stream, stats, _ = run(data, remote_cache=str(folder))
    assert stream == theirs and tree(folder) == before
    # A parameter that names another object does.
    there = [url + "&v=2" for url in there]
    data = open_remote("list:%s" % write_list(tmp_path / "other", there))
    assert run(data, remote_cache=str(folder))[0] == theirs
    assert len(tree(folder)) > len(before)


def tree(folder: Path) -> Dict[str, int]:
    """Sizes of the files of objects."""
    return {
        str(p.relative_to(folder)): p.stat().st_size for p in folder.glob("*/*")
    }


def test_nothing_is_shown(
    shards: Path, address: str, folder: Path, tmp_path: Path
) -> None:
    there = [url + "?" + SECRET for url in urls(shards, address)]
    data = open_remote("list:%s" % write_list(tmp_path / "there", there))
    run(data, epochs=2, remote_cache=str(folder))
    assert tree(folder)
    for path in folder.rglob("*"):
        shown = str(path).encode() + (
            path.read_bytes() if path.is_file() else b""
        )
        for secret in (b"127.0.0.1", b"localhost", b".jpg", b"0123456789abc"):
            assert secret not in shown.replace(str(tmp_path).encode(), b"")
        assert path.is_dir() or path.stat().st_mode & 0o077 == 0


def test_a_budget_that_is_too_small(
    shards: Path, address: str, folder: Path
) -> None:
    """What is in stays, in each epoch the same."""
    data = open_remote(address + "/{0..2}.tar")
    size = sum((shards / ("%d.tar" % i)).stat().st_size for i in range(3))
    options = {
        "remote_cache": str(folder),
        "remote_cache_budget": str(size // 3),
        "seed": 1,
    }
    run(data, epochs=2, **options)
    before = {p: p.read_bytes() for p in folder.glob("*/*")}
    stream, stats, words = run(data, epochs=2, **options)
    assert stream == expected(shards, epochs=2, seed=1)
    assert 0 < stats["cached_bytes"] < stats["bytes_read"]
    assert "is used up" in words
    assert before == {p: p.read_bytes() for p in folder.glob("*/*")}
    used = sum(p.stat().st_blocks * 512 for p in folder.glob("*/*"))
    assert used <= size // 3 + 8192


def test_a_damaged_folder(shards: Path, address: str, folder: Path) -> None:
    data = open_remote(address + "/{0..2}.tar")
    options = {"remote_cache": str(folder)}
    run(data, **options)
    dice = random.Random(1)
    kinds = [damage_bytes, damage_length, os.remove, damage_all]
    for kind in kinds:
        for path in sorted(folder.glob("*/*")):
            kind(path) if kind is os.remove else kind(path, dice)
        stream, stats, _ = run(data, **options)
        assert stream == expected(shards), kind
        assert stats["requests"] > 0
        stream, stats, _ = run(data, **options)
        assert stream == expected(shards)
        assert stats["requests"] == stats["cache_errors"] == 0, kind


def test_a_folder_that_goes_away(
    shards: Path, address: str, folder: Path
) -> None:
    """While it is read from and written to: the same stream."""
    data = open_remote(address + "/{0..2}.tar")
    over = threading.Event()

    def remove() -> None:
        while not over.wait(0.002):
            for path in folder.glob("*/"):
                shutil.rmtree(path, ignore_errors=True)

    remover = threading.Thread(target=remove)
    remover.start()
    try:
        stream, stats, _ = run(data, epochs=20, remote_cache=str(folder))
    finally:
        over.set()
        remover.join()
    assert stream == expected(shards, epochs=20)
    assert stats["failed_samples"] == 0
    run(data, remote_cache=str(folder))
    stream, stats, _ = run(data, remote_cache=str(folder))
    assert stream == expected(shards)
    assert stats["requests"] == 0


def damage_bytes(path: Path, dice: random.Random) -> None:
    with open(path, "r+b") as f:
        for _ in range(20):
            f.seek(dice.randrange(1 << 16, path.stat().st_size))
            f.write(b"\x55\xaa")


def damage_length(path: Path, dice: random.Random) -> None:
    os.truncate(path, dice.randrange(1 << 16, path.stat().st_size))


def damage_all(path: Path, dice: random.Random) -> None:
    path.write_bytes(dice.randbytes(path.stat().st_size))


def test_a_shard_that_is_replaced(
    shards: Path, folder: Path, tmp_path: Path
) -> None:
    copy = tmp_path / "copy"
    copy.mkdir()
    options = {"remote_cache": str(folder)}
    with web_servers.faults(copy) as found:
        for i in range(3):
            shutil.copy(shards / ("%d.tar" % i), copy / "x.tar")
            stream, stats, _ = run(open_remote(found + "/x.tar"), **options)
            theirs = Dataset.open(str(shards / ("%d.tar" % i)))
            assert stream == run(theirs)[0]
            assert stats["cached_bytes"] == 0
    assert len(tree(folder)) == 1  # the others are gone


def test_a_folder_that_cannot_be_written(
    shards: Path, address: str, tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("")
    data = open_remote(address + "/{0..2}.tar")
    stream, stats, words = run(
        data, epochs=2, remote_cache=str(tmp_path / "file" / "below")
    )
    assert stream == expected(shards, epochs=2)
    assert asked(stats) == 2 * N
    assert words.count("nothing more is stored there (open: Not a dir") == 1


CHILD = """
import sys
import feedline, streams
data = feedline.Dataset.open(sys.argv[1])
print(streams.stream_hash(data, shuffle=True, remote_cache=sys.argv[2],
                          world=2, rank=int(sys.argv[3])))
"""


def test_ranks_share_it(shards: Path, address: str, folder: Path) -> None:
    uri = address + "/{0..2}.tar"
    open_remote(uri)
    here_is = os.pathsep.join(sys.path[:2] + [os.environ["PYTHONPATH"]])
    environment = {**os.environ, "PYTHONPATH": here_is}
    children = [
        subprocess.Popen(
            [sys.executable, "-c", CHILD, uri, str(folder), str(rank % 2)],
            stdout=subprocess.PIPE,
            text=True,
            env=environment,
        )
        for rank in range(4)
    ]
    theirs = Dataset.open(str(shards / "{0..2}.tar"))
    for rank, child in enumerate(children):
        out, _ = child.communicate()
        assert out.strip() == streams.stream_hash(
            theirs, shuffle=True, world=2, rank=rank % 2
        )
    # What one of them did not store as another was at it, this run does.
    run(open_remote(uri), remote_cache=str(folder))
    stats = run(open_remote(uri), remote_cache=str(folder))[1]
    assert stats["requests"] == 0


@pytest.mark.parametrize("reader", ["memory", "remote"])
def test_readers(shards: Path, address: str, folder: Path, reader: str) -> None:
    data = open_remote(address + "/{0..2}.tar")
    options = {"remote_cache": str(folder), "reader": reader}
    # What one thread did not store as another was at it, the second run does.
    for _ in range(2):
        assert run(data, **options)[0] == expected(shards)
    stream, stats, _ = run(data, **options)
    assert stream == expected(shards)
    assert stats["requests"] == 0


@pytest.mark.parametrize("keeps", [False, True])
def test_one_in_twenty_fails(
    shards: Path, folder: Path, tmp_path: Path, keeps: bool
) -> None:
    """503, resets, cut bodies, slow answers: the same bytes."""
    options = {"remote_cache": str(folder)} if keeps else {}
    here_is = "list:%s" % write_list(
        tmp_path / "here", urls(shards, str(shards)) * 8
    )
    theirs = run(Dataset.open(here_is), epochs=2)[0]
    with web_servers.faults(shards, part=0.05) as found:
        there = write_list(tmp_path / "there", urls(shards, found) * 8)
        data = open_remote("list:%s" % there)
        stream, stats, words = run(data, epochs=2, **options)
    assert stream == theirs
    assert 0 < stats["requests_failed"] < stats["requests"] / 5
    assert stats["failed_samples"] == 0
    assert "of them failed" in words


def test_the_option_is_of_no_use_here(shards: Path, folder: Path) -> None:
    data = Dataset.open(str(shards / "0.tar"))
    _, stats, words = run(data, remote_cache=str(folder))
    assert stats["cached_bytes"] == 0 and not folder.exists()
    with pytest.raises(feedline.InvalidArgument):
        run(data, remote_cache=str(folder), remote_cache_budget="none")
