# SPDX-License-Identifier: Apache-2.0
"""Class folders of image files, and shards (remote_shards.py), wherever fsspec
reaches: SSH, GitHub, archives, a file system of the program's.

fsspec is what other libraries of this field read remote files by, and what its
file systems are configured for on the machines that have them. Files are listed
once; each is fetched whole by a reading thread, as Dataset.source has it.
"""

from __future__ import annotations

import hashlib
import os
import posixpath
import re
from typing import TYPE_CHECKING, Any, Dict, List, Mapping, Optional, Tuple
from typing import Union

from .errors import InvalidArgument

if TYPE_CHECKING:
    from .remote_shards import RemoteShards

# torchvision's IMG_EXTENSIONS, as for folders on a disk.
_SUFFIXES = tuple(".jpg .jpeg .png .ppm .bmp .pgm .tif .tiff .webp".split())
# What tells one content of an object from another, as file systems call it.
_VERSIONS = ("ETag", "etag", "md5Hash", "content_md5", "sha256", "blob_id")
_TIMES = ("LastModified", "last_modified", "mtime", "updated", "created")


class RemoteFiles:
    """Reads file i of a list, for Dataset.source."""

    def __init__(self, fs: Any, root: str) -> None:
        self.fs = fs
        found = self.fs.find(root, detail=True)
        files = sorted(_images(root, found))
        if not files:
            raise InvalidArgument(
                "%s: no folder in it has an image; each folder is a class"
                % shown(self.fs, root)
            )
        self.classes = sorted({name for (name, _, _), _ in files})
        number = {name: i for i, name in enumerate(self.classes)}
        self.labels = [number[name] for (name, _, _), _ in files]
        self.paths = [path for _, path in files]
        self.lengths = [found[path].get("size") for path in self.paths]
        self.fingerprint = _fingerprint(root, self.paths, found)

    def __len__(self) -> int:
        return len(self.paths)

    def read(self, i: int) -> bytes:
        data: bytes = self.fs.cat_file(self.paths[i])
        length = self.lengths[i]
        if length is not None and len(data) != length:
            raise OSError(
                "%d bytes came, and it had %d when it was listed"
                % (len(data), length)
            )
        return data

    def sizes(self) -> Optional[List[int]]:
        """None where the file system does not list them."""
        known = [length for length in self.lengths if length is not None]
        return known if len(known) == len(self.lengths) else None

    def names(self) -> List[str]:
        """In messages."""
        return [shown(self.fs, path) for path in self.paths]


def shown(fs: Any, path: str) -> str:
    """With its protocol, and without what follows '?', which may be a key."""
    text: str = fs.unstrip_protocol(path)
    return text.partition("?")[0]


def _images(
    root: str, found: Mapping[str, Any]
) -> "List[Tuple[Tuple[str, str, str], str]]":
    """Each image as (class, folder, name), which is ImageFolder's order, and
    path."""
    images = []
    for path in found:
        folder, name = posixpath.split(_below(root, path))
        if folder and name.partition("?")[0].lower().endswith(_SUFFIXES):
            images.append(((folder.split("/")[0], folder, name), path))
    return images


def _below(root: str, path: str) -> str:
    return path[len(root) :].lstrip("/")


def _fingerprint(root: str, paths: List[str], found: Mapping[str, Any]) -> str:
    """Of names, lengths and what the file system says of contents; not of where
    they are, so that a copy elsewhere is the same data set where that says
    nothing of times alone."""
    digest = hashlib.sha256()
    for path in paths:
        info = found[path]
        parts = [_below(root, path), info.get("size"), version_of(info)]
        digest.update(repr(parts).encode())
    return digest.hexdigest()[:32]


def version_of(info: Dict[str, Any]) -> Optional[str]:
    for key in (*_VERSIONS, *_TIMES):
        if info.get(key):
            return str(info[key])
    return None


# ---- Which of them -----------------------------------------------------------

# What the library reads itself (docs/remote.md).
_OWN = ("http", "https", "s3", "gs", "az", "hf")
_URL = re.compile(
    r"((?:tar|zip|tfrecord|mds|recordio|beton|folder):)?"
    r"([a-zA-Z][\w+.-]*)://"
)


def is_fsspec_s(uri: str) -> bool:
    """A URL of a scheme that the library does not know, and fsspec does."""
    found = _URL.match(uri)
    if not found or found.group(2) in _OWN or os.path.exists(uri):
        return False
    try:
        from fsspec.registry import available_protocols
    except ImportError:
        return False
    return found.group(2) in available_protocols()


def protocol_of(fs: Any) -> str:
    protocol = fs.protocol
    return protocol if isinstance(protocol, str) else str(protocol[0])


def find(
    url: str,
    storage_options: Optional[Mapping[str, Any]] = None,
    filesystem: Any = None,
) -> "Union[RemoteFiles, RemoteShards]":
    """The reader of a URL, or of a path of a file system."""
    from .remote_shards import RemoteShards, find_shards, is_shard

    kind, url, options = _parts(url)
    if filesystem is None:
        from fsspec.core import url_to_fs

        fs, path = url_to_fs(url, **(storage_options or {}))
    else:
        fs, path = filesystem, filesystem._strip_protocol(url)
    shards: List[str] = []
    if kind != "folder:":
        shards = find_shards(fs, path) if kind else []
        if not kind and (is_shard(path) or fs.isdir(path)):
            shards = find_shards(fs, path)
    if shards:
        return RemoteShards(fs, shards, kind, options)
    if kind not in ("", "folder:") or options:
        raise InvalidArgument("%s: no shards in it" % shown(fs, path))
    return RemoteFiles(fs, path)


def _parts(url: str) -> Tuple[str, str, str]:
    """ "tar:", the URL, and "?label=none"; a web server's query stays."""
    found = _URL.match(url)
    kind = (found.group(1) or "") if found else ""
    url = url[len(kind) :]
    head, mark, tail = url.rpartition("?")
    if "=" in tail and mark and not url.startswith("http"):
        return kind, head, mark + tail
    return kind, url, ""
