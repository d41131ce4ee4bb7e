# SPDX-License-Identifier: Apache-2.0
"""Shards wherever fsspec reaches.

A shard is listed by the library from a copy that lives as long as that takes;
from then on each sample is a range of the shard that fsspec fetches, as
Dataset.source has it. So every start reads all shards once, and a pickled data
set reads none again.
"""

from __future__ import annotations

import hashlib
import os
import posixpath
import re
import tempfile
from array import array
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, Dict, Iterator, List, Optional, Sequence

from . import _c
from ._library import lib
from .errors import InvalidArgument, check
from .remote_files import shown, version_of

# Of shards that are one file each (docs/options.md).
_ENDINGS = (
    ".tar .zip .tfrecord .tfrecords .tfrec .mds .rec .recordio .beton"
).split()
_AT_ONCE = 8  # shards that are listed
_BRACES = re.compile(r"\{([^{}]*)\}")
_RANGE = re.compile(r"(-?\d+)\.\.(-?\d+)")


def is_shard(path: str) -> bool:
    return _is_shown(path) and path.endswith(tuple(_ENDINGS))


def _is_shown(path: str) -> bool:
    return posixpath.basename(path)[:1] != "."


def expanded(pattern: str) -> Iterator[str]:
    """Of braces: {000..146}, {a,b}; all others stay."""
    for found in _BRACES.finditer(pattern):
        items = _items(found.group(1))
        if items:
            before, after = pattern[: found.start()], pattern[found.end() :]
            for item in items:
                yield from expanded(before + item + after)
            return
    yield pattern


def _items(inside: str) -> List[str]:
    ends = _RANGE.fullmatch(inside)
    if not ends:
        return inside.split(",") if "," in inside else []
    first, last = ends.groups()
    zeros = any(re.match(r"-?0\d", end) for end in ends.groups())
    width = max(len(first), len(last)) if zeros else 0
    step = 1 if int(first) <= int(last) else -1
    every = range(int(first), int(last) + step, step)
    return [str(i).zfill(width) for i in every]


def find_shards(fs: Any, path: str) -> List[str]:
    """What a pattern or a folder names, in order; of a folder that has no shard
    nothing."""
    if fs.isdir(path):
        inside = (name.rstrip("/") for name in fs.ls(path, detail=False))
        return sorted(name for name in inside if is_shard(name))
    found: List[str] = []
    for name in expanded(path):
        many = re.search(r"[*?\[]", name)
        found += sorted(filter(_is_shown, fs.glob(name))) if many else [name]
    return found


@dataclass
class _Listed:
    """A shard's samples."""

    names: List[str]
    offsets: "array[int]"
    lengths: "array[int]"
    labels: "array[int]"
    classes: List[str]


class RemoteShards:
    """Reads sample i of shards, for Dataset.source."""

    def __init__(self, fs: Any, paths: Sequence[str], kind: str, options: str):
        """kind: "tar:", or "" where names tell; options: "?a=b" or ""."""
        self.fs, self.paths = fs, list(paths)
        if "fields=" in options:
            raise InvalidArgument(
                "fields of samples do not come through fsspec: %s" % options
            )

        def listed(path: str) -> _Listed:
            return _list(fs, path, kind, options)

        with ThreadPoolExecutor(_AT_ONCE) as threads:
            shards = list(threads.map(listed, self.paths))
        self.classes = _all_classes(shards, self.paths)
        self.file, self.labels = array("I"), array("q")
        self.offsets, self.lengths = array("Q"), array("Q")
        self._names: List[str] = []
        for number, shard in enumerate(shards):
            self._add(number, shard)
        self.fingerprint = _fingerprint(fs, self.paths, options)

    def _add(self, number: int, shard: _Listed) -> None:
        self.file.extend([number] * len(shard.names))
        self.offsets += shard.offsets
        self.lengths += shard.lengths
        self._names += shard.names
        if shard.classes:
            place = {name: i for i, name in enumerate(self.classes)}
            to = [place[name] for name in shard.classes]
            self.labels.extend(to[label] for label in shard.labels)
        else:
            self.labels += shard.labels

    def __len__(self) -> int:
        return len(self.offsets)

    def read(self, i: int) -> bytes:
        path, at, n = self.paths[self.file[i]], self.offsets[i], self.lengths[i]
        data: bytes = self.fs.cat_file(path, start=at, end=at + n)
        if len(data) != n:
            raise OSError("%d of %d bytes came" % (len(data), n))
        return data

    def sizes(self) -> List[int]:
        return list(self.lengths)

    def names(self) -> List[str]:
        """In messages, as those of shards on a disk."""
        paths = [shown(self.fs, path) for path in self.paths]
        return [
            "%s:%s" % (paths[file], name)
            if name
            else "%s@%d" % (paths[file], at)
            for file, name, at in zip(self.file, self._names, self.offsets)
        ]


def _list(fs: Any, path: str, kind: str, options: str) -> _Listed:
    from .dataset import Dataset

    with tempfile.TemporaryDirectory(prefix="feedline-shard-") as folder:
        copy = os.path.join(folder, posixpath.basename(path))
        try:
            fs.get_file(path, copy)
        except OSError as error:
            raise type(error)("%s: %s" % (shown(fs, path), error)) from error
        try:
            with Dataset.open(kind + copy + options) as data:
                return _samples(data, copy + ":")
        except InvalidArgument as error:
            text = str(error).replace(copy, shown(fs, path))
            raise InvalidArgument(text) from None


def _samples(data: Any, begin: str) -> _Listed:
    """begin: of names."""
    info = _c.sample_info()
    classes = list(data.classes)
    listed = _Listed([], array("Q"), array("Q"), array("q"), classes)
    for i in range(len(data)):
        check(lib.dataset_get_sample(data.handle, i, info))
        name = os.fsdecode(info.name)
        named = name.startswith(begin)
        listed.names.append(name[len(begin) :] if named else "")
        listed.offsets.append(info.offset)
        listed.lengths.append(info.bytes)
        listed.labels.append(info.label)
    return listed


def _all_classes(shards: List[_Listed], paths: List[str]) -> List[str]:
    named = [bool(shard.classes) for shard in shards]
    if any(named) and not all(named):
        raise InvalidArgument(
            "%s: its labels are of another kind than those of %s (names, "
            "numbers, none)"
            % (paths[named.index(False)], paths[named.index(True)])
        )
    return sorted({name for shard in shards for name in shard.classes})


def _fingerprint(fs: Any, paths: List[str], options: str) -> str:
    digest = hashlib.sha256(options.encode())
    for path in paths:
        info: Dict[str, Any] = fs.info(path)
        size: Optional[int] = info.get("size")
        parts = [posixpath.basename(path), size, version_of(info)]
        digest.update(repr(parts).encode())
    return digest.hexdigest()[:32]
