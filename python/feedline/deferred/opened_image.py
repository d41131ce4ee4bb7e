# SPDX-License-Identifier: Apache-2.0
"""A deferred image as it was opened: it passes for the class of its file.

    isinstance(image, JpegImageFile), image.format, image.quantization

What the header says is asked of Pillow's own image, whose pixels nobody has
read. Whatever is about reading the file (`fp`, `tile`, `load_read()`) makes it
that image.
"""

from __future__ import annotations

import copy
from typing import Any, Callable, Dict, List

from PIL import Image, ImageFile

from .image import DeferredImage, touch
from .image_source import Source
from .kinds import metaclass_of
from .recording import Run, lock

# Methods that read nothing but the header.
_ASKED = ("_getexif", "_getmp", "get_format_mimetype", "get_child_images")
# Attributes of an instance that are about reading the file.
_READING = (
    "fp _fp tile map png decoderconfig decodermaxblock _exclusive_fp _decoder "
    "rawmode"
).split()


class _Left(Run):
    """Of an image whose `with` has ended, unread: no step can be added."""


class Opened(DeferredImage):
    # As Pillow has it before pixels are read.
    _readonly = 1
    if not isinstance(getattr(Image.Image, "readonly", None), property):
        readonly = 1

    def _reopen(self) -> None:
        with lock:
            kind: Any = type(self)
            if not issubclass(kind, Opened):
                return
            if self._source.wanted:
                touch(self, "file")  # it has been read
            else:
                self._become(self._source.open_again())

    def _make_real(self) -> None:
        if isinstance(self._run, _Left):
            real = self._source.open_again()
            real.__exit__(None, None, None)
            self._become(real)
        else:
            self._become(self._source.take())

    def maker(self) -> Any:
        """As it comes out of a pickle, which has no file."""
        state = [self.info, self._mode, self._size, None]
        behind: List[Any] = []
        if "__getstate__" in vars(ImageFile.ImageFile):
            behind.append(self._source.filename)
        if "__getstate__" in vars(self._kind):
            n, each = self._source.header.layers
            behind += [n, list(each)]
        return _unpickled, (self._kind, state, behind)

    def __getattr__(self, name: str) -> Any:
        """What an instance of the file's class has."""
        source = self.__dict__.get("_source")
        if name == "filename" and source is not None:
            return source.filename
        if source is None or name not in source.header.names:
            raise AttributeError(
                "%r object has no attribute %r" % (self._kind.__name__, name)
            )
        if name in _READING:
            self._reopen()
            return getattr(self, name)
        value = source.ask(name)
        if isinstance(value, (list, dict)):
            value = self.__dict__[name] = copy.deepcopy(value)
        return value

    def __setattr__(self, name: str, value: Any) -> None:
        if name in _READING:
            self._reopen()
        object.__setattr__(self, name, value)

    def tell(self) -> int:
        return 0

    def close(self) -> None:
        with lock:
            if isinstance(self, Opened):
                real = self._source.open_again()
                if self._source.wanted:
                    real.tile = []  # it has been read
                self._become(real)
        self.close()

    def __exit__(self, *args: Any) -> None:
        """Pixels that nobody has asked for so far cannot be had any more."""
        if not self._source.wanted:
            self.__dict__["_run"] = _Left(self._run.recorder)


def _unpickled(kind: Any, state: Any, behind: Any, pixels: bytes) -> Any:
    made = kind.__new__(kind)
    made.__setstate__([*state, pixels, *behind])
    return made


_classes: Dict[Any, Any] = {}
_set = object.__setattr__


def _class_of(kind: Any) -> Any:
    """The deferred class that passes for a class of Pillow's."""
    found = _classes.get(kind)
    if found is None:
        members: Dict[str, Any] = {
            "_kind": kind,
            "__module__": kind.__module__,
            "__qualname__": kind.__qualname__,
            "__doc__": kind.__doc__,
        }
        for name in dir(kind):
            if not hasattr(DeferredImage, name) and name not in _READING:
                member = _instead(name, getattr(kind, name))
                if member is not None:
                    members[name] = member
        bases = Opened, kind
        found = metaclass_of(*bases)(kind.__name__, bases, members)
        _classes[kind] = found
    return found


def _instead(name: str, value: Any) -> Any:
    """For what only a class of Pillow's has; None: that will do."""
    if isinstance(value, property):
        return property(lambda self: self._source.ask(name))
    if not callable(value) or isinstance(value, type):
        return None
    if name in _ASKED:
        return lambda self, *args, **more: self._source.ask(name, *args, **more)
    return _reading(name)


def _reading(name: str) -> Callable[..., Any]:
    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        self._reopen()
        return getattr(self, name)(*args, **kwargs)

    method.__name__ = name
    return method


def opened(source: Source, run: Run) -> Any:
    """The image of a source."""
    header = source.header
    new: Any = object.__new__(_class_of(header.kind))
    own = {
        "_source": source,
        "_steps": (),
        "_size": header.size,
        "_mode": header.mode,
        "_base_info": header.info,
        "_run": run,
    }
    _set(new, "__dict__", own)  # not Opened's own, which looks at names
    return new
