# SPDX-License-Identifier: Apache-2.0
"""Where an image's bytes are, and what Pillow said when it opened them.

Opening a file takes Pillow 35 us. What it found out is remembered by path, and
is good as long as the file's last change, size and inode are the same: from the
second epoch on an image costs one stat(). The engine, which reads the file some
time later, compares them, too.
"""

from __future__ import annotations

import io
import os
import stat
import struct
import sys
import threading
import time
from collections import deque
from typing import IO, Any, Callable, Deque, Dict, FrozenSet, Optional, Tuple
from typing import Union

from . import data_headers

Path = Union[str, bytes]

# Files whose header is remembered. One takes 0.4 KB.
MOST_HEADERS = 1 << 20
# EXIF data and colour profiles beyond it are read again where they are needed.
MOST_INFO_BYTES = 512

# What the engine decodes as Pillow does, by Pillow's format.
MODES: Dict[Optional[str], FrozenSet[str]] = {
    "JPEG": frozenset(("L", "RGB")),
    "PNG": frozenset(("L", "LA", "P", "RGB", "RGBA")),
    "WEBP": frozenset(("RGB", "RGBA")),
}


class Header:
    """What Pillow knows of an image before it decodes it."""

    __slots__ = (
        "kind",
        "mode",
        "size",
        "format",
        "info",
        "transparent",
        "names",
        "layers",
    )

    def __init__(self, opened: Any) -> None:
        self.kind = type(opened)
        self.mode: str = opened.mode
        self.size: Tuple[int, int] = opened.size
        self.format: str = opened.format
        info = opened.info
        self.transparent = "transparency" in info
        # None: to be read again.
        self.info = dict(info) if _bytes_of(info) <= MOST_INFO_BYTES else None
        # What newer versions pickle of a JPEG file.
        n, each = getattr(opened, "layers", 0), getattr(opened, "layer", ())
        self.layers: Tuple[int, Tuple[Any, ...]] = n, tuple(each)
        # What it has beyond any image.
        self.names = _names_of(self.kind, frozenset(vars(opened)))


_names: Dict[Any, FrozenSet[str]] = {}


def _names_of(kind: type, own: FrozenSet[str]) -> FrozenSet[str]:
    found = _names.get((kind, own))
    if found is None:
        found = _names[kind, own] = own.union(dir(kind))
    return found


def _bytes_of(info: Dict[Any, Any]) -> int:
    return sum(len(v) for v in info.values() if isinstance(v, (bytes, str)))


# A file's inode, bytes and last change, which no program can set; (0, 0, 0)
# where there is no file.
About = Tuple[int, int, int]
NOT_COMPARED: About = (0, 0, 0)

# The clock of these times ticks every 1 to 10 ms: a file that changed less long
# ago may change once more without a sign of it.
YOUNG_NS = 50_000_000


# One at a time makes an object real, and asks a source: two threads may have
# the same one.
lock = threading.RLock()
os.register_at_fork(after_in_child=lock._at_fork_reinit)  # type: ignore


class Source:
    """The bytes of one image: of a file, or given."""

    # Most images never have anything else here, and a source for each sample
    # is made in a third of the time.
    offset, length = 0, -1
    seen: About = NOT_COMPARED
    wanted = False  # the program has asked for pixels
    sound = False  # Pillow has decoded it
    born = 0  # in which call of a stream
    blank = False  # it is of one colour, and no pixels are lost
    # It has read them as an array: the engine has nothing left to gain.
    read = False
    # Of arrays that the program keeps: by steps, their number and size.
    kept: Dict[Any, Tuple[int, Tuple[int, int]]] = {}
    _info: Optional[Dict[Any, Any]] = None
    _opened: Any = None
    _decoded: Any = None
    _converted: Tuple[Any, Any] = (None, None)

    def __init__(
        self, path: Optional[Path], data: Optional[bytes], header: Header
    ) -> None:
        self.path = path
        self.data = data
        self.filename: Path = "" if path is None else path  # as it was given
        self.header = header

    def keep(self, opened: Any) -> None:
        """The image as Pillow opened it, until forget(): its file may be gone
        before pixels are asked for."""
        self._opened = opened

    def info(self) -> Dict[Any, Any]:
        """Pillow's. Not to be changed."""
        known = self.header.info
        if known is not None:
            return known
        if self._info is None:
            self._info = self.ask("info")
        return self._info

    def open_again(self) -> Any:
        """Pillow's image, not decoded, of whoever asks for it. Under lock."""
        opened, self._opened = self._opened, None
        if opened is None:
            given = self.path if self.data is None else io.BytesIO(self.data)
            try:
                # Not Image.open, which would judge its size once more.
                opened = self.header.kind(given)
            except SyntaxError:  # it is another file now
                opened = pillow.open(given)
            try:
                self.compare()
            except OSError:
                opened.close()
                raise
        opened.filename = self.filename
        return opened

    def compare(self) -> None:
        """As the engine does: the pixels that the program has seen the header
        of are gone with the file that was here then."""
        if self.data is not None or self.seen == NOT_COMPARED:
            return
        if self.seen != _about(os.stat(self.path)):  # type: ignore[arg-type]
            raise OSError(
                "%s is another file than the one that was opened here before: "
                "its pixels had been put off, and are lost"
                % os.fsdecode(self.path or "")
            )

    def ask(self, name: str, *args: Any, **kwargs: Any) -> Any:
        """An attribute of Pillow's image, not decoded; what a method returns.
        Not to be changed."""
        with lock:
            if self._opened is None:
                self._opened = self.open_again()
            found = getattr(self._opened, name)
            return found(*args, **kwargs) if callable(found) else found

    def pixels(self) -> Any:
        """Pillow's image, decoded. Not to be changed."""
        with lock:
            if self._decoded is None:
                image = self.open_again()
                image.load()
                self._decoded, self.sound = image, True
            return self._decoded

    def converted(self, step: Any, convert: Callable[[Any], Any]) -> Any:
        """convert(the pixels), which is what most programs do first: several
        views of an image share it. Not to be changed."""
        if self._converted[0] != step:
            self._converted = step, convert(self.pixels())
        return self._converted[1]

    def take(self) -> Any:
        """The decoded image, to be changed by whom it is for."""
        image = self.pixels()
        if self.wanted:
            kind: Any = type(image)
            taken = kind.__new__(kind)
            taken.__dict__.update(image.__dict__)
            taken.im = image.im.copy()
            return taken
        self._decoded = None
        return image

    def forget(self) -> None:
        """Lets go of files and pixels, which can be had again."""
        if self._opened is None and self._decoded is None:
            return
        with lock:
            if self._opened is not None:
                self._opened.close()
            self._opened = self._decoded = None
            self._converted = (None, None)


class _Pillow:
    open: Callable[[Any], Any]
    image: Any = None  # the module


pillow = _Pillow()  # its own Image.open; given by the hooks


def _about(found: os.stat_result) -> About:
    return found.st_ino, found.st_size, found.st_ctime_ns


def is_bomb(width: int, height: int) -> bool:
    """Whether Pillow warns of so many pixels, or refuses them, today."""
    limit = pillow.image.MAX_IMAGE_PIXELS
    return limit is not None and width * height > limit


# ---- Headers ----------------------------------------------------------------

_headers: Dict[Path, Tuple[About, Header]] = {}
_shared: Dict[Any, Header] = {}
_of_bytes = data_headers.Remembered()
_switches: Any = None


Found = Tuple[Optional[Source], Any, str]


def find(given: Any) -> Found:
    """(the source, None, "") of what a program gives to Image.open; or (None,
    Pillow's image, why it is not deferred)."""
    kind = type(given)
    _look_at_switches()
    if kind is io.BytesIO:
        return _of_data(given)
    try:
        if kind is str:
            return _of_file(given, os.stat(given), None)
        if isinstance(given, (str, bytes, os.PathLike)):
            path = os.fspath(given)
            return _of_file(path, os.stat(path), None)
        if kind is io.BufferedReader and type(given.raw) is io.FileIO:
            found = os.fstat(given.fileno())
            if os.path.samestat(os.stat(given.name), found):
                return _of_file(given.name, found, given)
    except (OSError, ValueError, TypeError):
        return None, pillow.open(given), "unusual files"
    if not hasattr(given, "read"):
        return None, pillow.open(given), "unusual files"
    return _of_data(given)


def _look_at_switches() -> None:
    """What Pillow said of files holds as long as it would say the same."""
    global _switches
    image = pillow.image
    text = sys.modules.get("PIL.PngImagePlugin")
    now = (
        image.MAX_IMAGE_PIXELS,
        len(image.ID),
        *map(image.OPEN.get, MODES),
        getattr(text, "MAX_TEXT_CHUNK", 0),
        getattr(text, "MAX_TEXT_MEMORY", 0),
    )
    if now != _switches:
        _switches = now
        _headers.clear()
        _shared.clear()
        _of_bytes.clear()


def _of_file(path: Any, found: os.stat_result, file: Any) -> Found:
    """file: that the program has opened, or None."""
    about = found.st_ino, found.st_size, found.st_ctime_ns
    known = _headers.get(path)
    if known is not None and known[0] == about:
        source = _of_header(path, about, known[1])
        if file is not None:
            source.filename = ""
        return source, None, ""
    began = time.perf_counter()
    opened = pillow.open(path if file is None else file)
    _took(time.perf_counter() - began)
    if not stat.S_ISREG(found.st_mode) or isinstance(path, int):
        return None, opened, "unusual files"
    why = why_not(opened, lambda: open(path, "rb"))
    if why:
        return None, opened, why
    header = _remember(path, about, opened)
    source = _of_header(path, about, header)
    if file is None and source.data is None:
        source.keep(opened)
    elif file is None:
        opened.close()
    else:
        source.filename = ""
    return source, None, ""


def _remember(path: Any, about: About, opened: Any) -> Header:
    header = _share(Header(opened))
    if len(_headers) >= MOST_HEADERS:
        _headers.pop(next(iter(_headers)), None)
    _headers[path] = about, header
    return header


# Of the last headers that were read. A file that is at hand takes 35 us, and
# one of a disk or a network some milliseconds.
_opening_s: Deque[float] = deque(maxlen=15)
SLOW_S = 0.0005


_median_s = 0.0


def _took(seconds: float) -> None:
    global _median_s
    _opening_s.append(seconds)
    if len(_opening_s) >= 5:
        _median_s = sorted(_opening_s)[len(_opening_s) // 2]


def are_slow() -> bool:
    """Whether storage is what opening images waits for."""
    return _median_s > SLOW_S


def is_known(path: str) -> bool:
    return path in _headers


def look_ahead(path: str, kind: Any) -> bool:
    """Remembers the header of a file that may be opened soon, and whether that
    was new. Any thread; nothing is raised or warned of.

    kind: the class of Pillow's that files have here.
    """
    if is_known(path):
        return False
    try:
        found = os.stat(path)
        if not stat.S_ISREG(found.st_mode):
            return False
        began = time.perf_counter()
        with kind(path) as opened:
            _took(time.perf_counter() - began)
            if not why_not(opened, lambda: open(path, "rb")):
                _remember(path, _about(found), opened)
        return True
    except Exception:
        return False  # the program will see what it is


def _of_header(path: Any, about: About, header: Header) -> Source:
    """The bytes themselves where a file with other ones could not be told
    from this: the engine reads it later."""
    if -YOUNG_NS < time.time_ns() - about[2] < YOUNG_NS:
        with open(path, "rb") as file:
            source = Source(None, file.read(), header)
        source.filename = path
        return source
    known = type(path) is str and path[:1] == "/"
    source = Source(path if known else os.path.abspath(path), None, header)
    source.filename = path
    source.seen = about
    return source


def _of_data(given: Any) -> Found:
    data = given.getvalue() if type(given) is io.BytesIO else _all_of(given)
    if type(data) is not bytes:
        return None, pillow.open(given), "unusual files"
    key = data_headers.key_of(data)
    header = _of_bytes.get(key)
    if header is None:
        opened = pillow.open(io.BytesIO(data))
        why = why_not(opened, lambda: io.BytesIO(data))
        if why:
            return None, opened, why
        header = _share(Header(opened))
        _of_bytes.put(key, header)
    return Source(None, data, header), None, ""


def _all_of(file: Any) -> Any:
    try:
        file.seek(0)
    except (AttributeError, io.UnsupportedOperation):
        pass
    return file.read()


def _share(header: Header) -> Header:
    """One for all files that say the same: most of a data set."""
    if header.info is None:
        return header
    key = (header.kind, header.size, header.mode, header.names, header.layers)
    try:
        whole = (*key, tuple(header.info.items()))
        if len(_shared) < MOST_HEADERS:
            return _shared.setdefault(whole, header)
    except TypeError:  # a list in its info
        pass
    return header


def why_not(opened: Any, file: Callable[[], IO[bytes]]) -> str:
    """Why the engine does not decode an image as Pillow does; "" if it does.

    file: opens it once more.
    """
    modes = MODES.get(opened.format)
    if modes is None:
        return "%s files" % opened.format
    if opened.mode not in modes:
        return "%s files of mode %s" % (opened.format, opened.mode)
    if getattr(opened, "is_animated", False):
        return "files of several images"
    if is_bomb(*opened.size):
        return "images that Pillow warns of"
    if opened.format == "PNG":
        if any("16" in str(tile[3]) for tile in opened.tile):
            return "PNG files of 16 bits"
        with file() as again:
            if _says_more_at_end(again):
                return "PNG files with EXIF or text behind the pixels"
    return ""


def _says_more_at_end(file: Any) -> bool:
    """Whether a PNG file has chunks behind its pixels that Pillow reads into
    `info` with the pixels. Anything unusual counts."""
    file.seek(8)
    behind = False
    while True:
        head = file.read(8)
        if len(head) < 8:
            return False  # cut off: decoding says so
        length, name = struct.unpack(">I4s", head)
        if name == b"IDAT":
            behind = True
        elif name == b"IEND":
            return False
        elif behind:
            return True
        file.seek(length + 4, io.SEEK_CUR)
