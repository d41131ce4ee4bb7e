# SPDX-License-Identifier: Apache-2.0
"""Dataset: what to read. Files and parts of files, encoded images in memory, or
decoded ones.

Immutable, and shared freely between loaders and threads. The library borrows
the bytes of images in memory, so a data set holds the objects they belong to,
and so does each loader that was made from it.
"""

from __future__ import annotations

import ctypes
import operator
import os
import weakref
from typing import Any, Callable, Dict, Iterable, List, Mapping, Optional
from typing import Sequence, Tuple

from . import _c
from ._library import lib, of_process
from .annotations import Arrays, arrays_of, set_objects
from .buffers import HeldBuffer
from .errors import InvalidArgument, NotSupported, RangeError, StateError, check
from .extents import TO_END, Extents
from .fields import bytes_in_file, is_whole_file, or_none, value_in_file
from .options import Config
from .source import Recorded, Source
from .vectors import each_of, joined, labels_for, numbers

_free = of_process("free", None, ctypes.c_void_p)


class Dataset:
    """Samples with labels, at positions from 0 to len() - 1.

    Made by open, paths, extents, memory, pixels, huggingface, lmdb, parquet or
    source.
    """

    TO_END = TO_END  # a length: all from the offset on

    def __init__(
        self,
        kind: str,
        name: str,
        buffers: Sequence[Any],
        make: Callable[..., int],
        *arguments: Any,
    ) -> None:
        """Use the functions below instead. kind, name: the method, and what it
        opened. buffers: what the library reads from, kept. make, arguments: the
        function of the library that makes it."""
        self._kind = kind  # the method that made it
        self._buffers = buffers
        self._name = name
        self._classes: List[str] = []  # that the library does not know
        self._files: Dict[str, List[Optional[bytes]]] = {}  # that were added
        self._objects: Optional[Arrays] = None  # that were set here
        # Before it is made, for an exception may come up meanwhile.
        cell = ctypes.c_void_p()
        self._finalizer = weakref.finalize(self, _close, cell, tuple(buffers))
        self._finalizer.atexit = False
        check(make(*arguments, cell))
        self._handle: Optional[int] = cell.value
        count = ctypes.c_uint64()
        check(lib.dataset_get_count(cell, count))
        self._count = int(count.value)

    # ---- Making one -------------------------------------------------------

    @classmethod
    def open(
        cls, uri: "str | os.PathLike[str]", *, filesystem: Any = None
    ) -> "Dataset":
        """Files named by a folder, a list, shards or a pair of IDX files.

        uri: "folder:DIR" (a folder per class, ordered and labelled as
        torchvision's ImageFolder), "list:FILE" (path, blank, label on each
        line; or parts of files: path, label, offset, length, TABs between
        them, under a first line of these words, and columns that ?fields=
        chooses: text, or "NAME:json", ":int", ":floats"), "idx:DIR" (MNIST),
        "coco:FILE.json?images=DIR" (batch.objects; its label is an image's id),
        shards such as "zip:DIR/{000..146}.zip" (docs/options.md lists their
        formats), or a bare path, whose kind is detected. Shards, and lines of
        a list, may be "https://..." or in a store ("s3://bucket/key"), folders
        in a store ("s3://bucket/train/", docs/remote.md); what only fsspec
        reads ("memory://...", or a path of `filesystem`, a file system of its)
        is as in Dataset.fsspec. "URI?quarantine=FILE" leaves out the samples
        that FILE names (`loaderbench scan`).
        "tar:...?fields=txt,json" also delivers those parts of each sample, by
        the format's names for them (batch.fields).

        Raises NotFound, ReadError or InvalidArgument, which name the file.
        """
        from .remote_files import is_fsspec_s

        text = os.fsencode(uri)
        name = os.fsdecode(text)
        if filesystem is not None or is_fsspec_s(name):
            return cls.fsspec(name, filesystem=filesystem)
        return cls("open", name, (), lib.dataset_open, text)

    @classmethod
    def paths(
        cls,
        paths: Iterable["str | os.PathLike[str]"],
        labels: Optional[Iterable[int]] = None,
    ) -> "Dataset":
        """Files by name.

        paths: of images, in the order of the samples; they are opened when they
        are read. labels: an int64 for each, or None for all 0.

        Raises InvalidArgument for a path with a NUL in it.
        """
        if isinstance(paths, (str, bytes, os.PathLike)):
            raise InvalidArgument(
                "paths takes a list of paths, not one; of a folder of classes "
                "Dataset.open('folder:...') makes a data set"
            )
        found = list(paths)
        count = len(found)
        names = joined(found)
        return cls(
            "paths",
            "%d paths" % count,
            (),
            lib.dataset_open_paths,
            each_of(names, count),
            labels_for(labels, count),
            count,
        )

    @classmethod
    def extents(
        cls,
        files: Iterable["str | os.PathLike[str]"],
        file: Any,
        offset: Any,
        length: Any,
        labels: Optional[Iterable[int]] = None,
        names: Optional[Sequence[str]] = None,
        classes: Optional[Sequence[str]] = None,
        fields: Optional[Mapping[str, Any]] = None,
    ) -> "Dataset":
        """Parts of files, for formats that feedline does not know.

        file, offset, length: for each sample which one of `files`, its first
        byte and the number of its bytes; TO_END: all from there on. As arrays
        (numpy or whatever has a buffer) of uint32, uint64 and uint32 they are
        taken as bytes; other integers cost some 20 ns each. labels: an int64
        for each, or None for all 0. names: for messages, which say FILE:NAME,
        and else FILE@OFFSET. classes: names by label. fields: what batch.fields
        has of each sample, by name: ("text", file, offset, length), where a
        length of 0 is none, or so "json" and "bytes"; ("int", values), where
        -2**63 is none; ("float", values): NaN.

        Raises InvalidArgument for vectors of different lengths, a file that is
        not in the list, a field of no such form, or no samples; RangeError for
        a number that does not fit. That files are long enough is seen when they
        are read.
        """
        found = list(files)
        table = Extents(
            found, file, offset, length, labels, names, classes, fields
        )
        return cls._of_table(table)

    @classmethod
    def _of_table(cls, table: Extents) -> "Dataset":
        text = "%d parts of %d files" % (table.count, len(table.files))
        return cls("_of_table", text, (table,), table.open)

    @classmethod
    def memory(
        cls,
        images: Iterable[Any],
        labels: Optional[Iterable[int]] = None,
        classes: Optional[Sequence[str]] = None,
    ) -> "Dataset":
        """Encoded images (JPEG, PNG, WebP) in memory.

        images: bytes, or any objects with a buffer. They are held, not copied,
        and must not change. Sample i is called "memory:i" in messages. labels:
        an int64 for each, or None for all 0. classes: names by label.
        """
        found = list(images)
        for item in found:
            if isinstance(item, (str, os.PathLike)):
                raise InvalidArgument(
                    "memory takes the bytes of images, not %r; "
                    "Dataset.paths takes names of files" % (item,)
                )
        buffers = [HeldBuffer(item) for item in found]
        addresses = [buffer.address for buffer in buffers]
        sizes = [buffer.nbytes for buffer in buffers]
        return cls._at(addresses, sizes, labels, buffers, classes)

    @classmethod
    def _at(
        cls,
        addresses: Any,
        sizes: Any,
        labels: Any,
        owners: Sequence[Any],
        classes: Optional[Sequence[str]],
    ) -> "Dataset":
        """Encoded images at addresses that `owners` keep."""
        at = numbers("Q", addresses, "addresses")
        nbytes = numbers("Q", sizes, "sizes")
        count = len(at)
        made = cls(
            "memory",
            "%d images in memory" % count,
            (at, nbytes, *owners),
            lib.dataset_open_memory,
            (ctypes.c_void_p * count).from_buffer(at),
            (ctypes.c_uint64 * count).from_buffer(nbytes),
            labels_for(labels, count),
            count,
        )
        made._classes = list(classes or ())
        return made

    @classmethod
    def huggingface(
        cls,
        ds: Any,
        image: Optional[str] = None,
        label: "str | bool | None" = None,
    ) -> "Dataset":
        """The images of a datasets.Dataset, where they lie in its Arrow files.

        ds: loaded, from the cache, from disk or in memory, selected, shuffled,
        sorted or sharded; its rows are the samples. No image is read or copied
        for it. image: the column, where there are several. label: a column of
        integers; None: that of type ClassLabel, else `label`, else all are 0;
        False: all are 0. Images in memory must not change, and ds is held.

        `datasets` turns images as their EXIF orientation says, which here is
        the loader's apply_exif=True.

        Raises InvalidArgument, with the cure, for what is streamed, remote, has
        a transform of its own, or rows without an image or label, and for a
        file that was cut short since.
        """
        from .huggingface import Choice, Images, labels_of

        choice = Choice(ds, image, label)
        labels, found = labels_of(ds, choice.label), Images(ds, choice.image)
        if not found.in_memory():
            table = Extents(*found.table(), labels, None, choice.classes)
            return cls._of_table(table)
        address, length = found.address, found.length
        return cls._at(address, length, labels, (ds.data,), choice.classes)

    @classmethod
    def fsspec(
        cls,
        url: str,
        storage_options: Optional[Mapping[str, Any]] = None,
        filesystem: Any = None,
    ) -> "Dataset":
        """Class folders of images, or shards, wherever fsspec reaches.

        url: "sftp://host/train", "github://owner:name@/images", "zip://train::"
        "https://host/photos.zip", with the package that fsspec needs for it; a
        folder of images for each class, or shards: a folder of them, a name, a
        pattern ("{000..146}.tar", "*.tar"), with a format in front and options
        behind them as for open, but no fields. storage_options: as for
        fsspec.open. filesystem: in place of both url's scheme and these; url
        is then a path of it.

        Files are listed now, ordered and labelled as ImageFolder's, and each is
        fetched whole when it is needed, io_depth of them at once, which is
        tuned; of shards, each of which is copied once now to list it, a range
        for each sample. What is fetched again in the next epoch is fsspec's to
        keep ("filecache::sftp://..."). What feedline reads itself (s3, gs, az,
        hf, https: Dataset.open) is faster there.

        A file of another length than was listed has failed. Saved positions
        are refused if names, lengths, or the tags or times that the file system
        lists are others. Raises InvalidArgument if there is no image, and what
        fsspec does.
        """
        from .remote_files import find, protocol_of

        files = find(url, storage_options, filesystem)
        return cls.source(
            files,
            name="fsspec's %s" % protocol_of(files.fs),
            names=files.names(),
            sizes=files.sizes(),
            fingerprint=files.fingerprint,
        )

    @classmethod
    def lmdb(
        cls, env: Any, labels: Optional[Iterable[int]] = None
    ) -> "Dataset":
        """The values of an environment of LMDB, where they lie in its file.

        env: an lmdb.Environment.

        Each is an encoded image, or a pickle of (image, label), which is read
        and not run. In the order of their keys, by number if all are numbers;
        keys that begin with "__" are left out. labels: of the samples, in place
        of those of pickles, or of 0. Nothing may be written to the environment
        while the data set is used, and it may be closed.

        Raises InvalidArgument, which names the key, for any other value, and
        for a file that was cut short.
        """
        from .lmdb_values import table_of

        return cls._of_table(table_of(env, labels))

    @classmethod
    def source(
        cls,
        reader: Any,
        labels: Optional[Iterable[int]] = None,
        name: Optional[str] = None,
        *,
        names: Optional[Sequence[str]] = None,
        sizes: Optional[Iterable[int]] = None,
        classes: Optional[Sequence[str]] = None,
        fingerprint: Optional[str] = None,
        quarantine: "str | os.PathLike[str] | None" = None,
        one_at_a_time: bool = False,
    ) -> "Dataset":
        """Encoded images that an object reads: from a store, a database.

        reader: has __len__, and read(i) (or [i]), which returns bytes or
        anything with a buffer. It is called on several threads at once (as many
        as io_depth, which is tuned), unless one_at_a_time: what it waits for
        overlaps, and workers decode meanwhile. Its cancel(i), if it has one, is
        called when a loader closes while read(i) runs, which should then
        return soon: closing waits for it.

        What it raises fails that sample, as on_error says, and is the cause of
        the loader's error; it is called once, so it tries again itself.
        labels, classes: None: those of the object, if it has any (labels or
        targets). name: what verdicts call it; None: its class. names: of the
        samples, in messages. sizes: in bytes, if known. fingerprint: of the
        contents, say a version: saved positions are refused where it differs.
        quarantine: a file with samples to leave out. Pickled with the object.

        Raises InvalidArgument for an object that cannot be read from.
        """
        options = dict(
            labels=labels,
            names=names,
            sizes=sizes,
            classes=classes,
            fingerprint=fingerprint,
            quarantine=quarantine,
            one_at_a_time=one_at_a_time,
        )
        return cls._of_source(reader, name, options)

    @classmethod
    def _of_source(cls, *made_of: Any) -> "Dataset":
        return cls._of_calls("_of_source", Source(*made_of))

    @classmethod
    def _of_calls(cls, kind: str, made: "Source | Recorded") -> "Dataset":
        text = "%d samples of %s" % (made.count, made.name)
        return cls(kind, text, (made,), made.open)

    @classmethod
    def recorded(
        cls,
        record: Callable[[_c.read_call, int], int],
        count: int,
        labels: Optional[Iterable[int]] = None,
        name: str = "recorded",
        *,
        in_order: bool = False,
        one_at_a_time: bool = False,
        names: Optional[Sequence[str]] = None,
        classes: Optional[Sequence[str]] = None,
        fingerprint: Optional[str] = None,
        cancel: Optional[Callable[[_c.read_call, int], object]] = None,
    ) -> "Dataset":
        """Samples whose images the program draws itself, down to the last
        parameter: for packages that build on this one (feedline/recorded.h).

        count: how many samples. record: gets feedline_read_call, valid until it
        returns, and its address, on a reading thread. It ends with `return
        lib.quick.read_recorded(address, images, n)`, where images is the
        address of n structs feedline_recorded_image; their files are read when
        it has returned. What they name as `out`, and tables of steps, it keeps
        until the sample's batch has been delivered or the loader was closed.
        What it raises fails the sample, as on_error says.

        in_order: calls begin one at a time in the order of the stream. cancel:
        gets the same, on another thread, when the loader closes while record
        runs. labels, name, names, classes, fingerprint, one_at_a_time: as for
        source. Batches have no pixels of their own.
        """
        options = dict(
            labels=None if labels is None else list(labels),
            names=None if names is None else list(names),
            classes=None if classes is None else list(classes),
            fingerprint=fingerprint,
            in_order=in_order,
            one_at_a_time=one_at_a_time,
            cancel=cancel,
        )
        return cls._of_recorded(record, count, name, options)

    @classmethod
    def _of_recorded(cls, *made_of: Any) -> "Dataset":
        return cls._of_calls("_of_recorded", Recorded(*made_of))

    @classmethod
    def parquet(
        cls,
        files: Any,
        image: Optional[str] = None,
        label: "str | bool | None" = None,
    ) -> "Dataset":
        """The images of a column of Parquet files, where they lie in them.

        files: a file, a folder, or a list of these. image, label: as for
        huggingface; images are binary, or structs of bytes and path. The column
        of images is neither compressed nor a dictionary, as `datasets` writes
        it; others may be. pyarrow is needed.

        Raises InvalidArgument, with the cure, for any other file.
        """
        from .parquet_values import table_of

        return cls._of_table(table_of(files, image, label))

    @classmethod
    def pixels(
        cls, images: Any, labels: Optional[Iterable[int]] = None
    ) -> "Dataset":
        """Decoded images, all of one size.

        images: uint8, [N, H, W, C] with 1 or 3 channels (gray, RGB) or
        [N, H, W] (gray): a numpy array, a tensor in host memory, or anything
        with a buffer. Held and not copied if it is dense, and must not change.
        labels: an int64 for each, or None for all 0.

        Raises InvalidArgument for another type or shape.
        """
        buffer = HeldBuffer.of_array(images)
        count, height, width, channels = _pixel_shape(buffer)
        return cls(
            "pixels",
            "%d images of %d x %d pixels" % (count, width, height),
            (buffer,),
            lib.dataset_open_pixels,
            buffer.address,
            labels_for(labels, count),
            count,
            height,
            width,
            channels,
        )

    # ---- What is in it ----------------------------------------------------

    def __len__(self) -> int:
        return self._count

    def _sample(self, index: int) -> _c.sample_info:
        position = operator.index(index)
        if position < 0:
            position += self._count
        if not 0 <= position < self._count:
            raise IndexError("sample %d of %d samples" % (index, self._count))
        info = _c.sample_info()
        check(lib.dataset_get_sample(self.handle, position, info))
        return info

    def path(self, index: int) -> str:
        """A sample's file, or its name in messages.

        index: of the sample, from 0; negative ones count from the end.
        """
        return os.fsdecode(self._sample(index).path)

    def label(self, index: int) -> int:
        """The label of a sample; 0 where there are none.

        index: as for path.
        """
        return int(self._sample(index).label)

    def read(self, index: int) -> bytes:
        """A sample's bytes, as they are in its file or in memory.

        index: as for path.

        Raises NotSupported for decoded pixels, OSError for a file, DecodeError
        where a shard's checksum says that they are damaged, and what a source
        raises.
        """
        info = self._sample(index)
        for source in self.sources:
            return source.bytes_of(info.offset)
        if self._kind == "memory":
            position = index % self._count
            address, size = (column[position] for column in self._buffers[:2])
            return ctypes.string_at(address, size)
        if not info.file:
            raise NotSupported("%s is no encoded image" % self.path(index))
        if is_whole_file(info) and b"://" not in info.file:
            return bytes_in_file(info)
        return self._read_part(operator.index(index) % self._count)

    def _read_part(self, position: int) -> bytes:
        data, size = ctypes.c_void_p(), ctypes.c_uint64()
        check(lib.dataset_read(None, self.handle, position, data, size))
        try:
            return ctypes.string_at(data.value or 0, size.value)
        finally:
            _free(data)

    def mixing(self, **options: Any) -> Dict[str, float]:
        """How well shuffle="block" would mix (docs/shuffle.md).

        options: block, lanes, batch_size and world, as of a Loader. variance
        and buffer_variance: of a batch's labels, with the blocks and with a
        buffer of as many samples; a full shuffle has 1, and nan means that
        nothing can be told. The rest is as in feedline/shuffle.h.
        """
        found = _c.mixing()
        config = Config(options)
        check(lib.dataset_get_mixing(self.handle, config.handle, found))
        return {
            name: getattr(found, name)
            for name, *_ in found._fields_
            if name != "struct_size"
        }

    @property
    def fields(self) -> List[str]:
        """Names of what each sample has beside image and label (?fields=)."""
        info = _c.sample_field()
        names: List[str] = []
        while lib.dataset_get_field(self.handle, 0, len(names), info) >= 0:
            names.append(os.fsdecode(info.name))
        return names

    def add_files(
        self, field: str, paths: Iterable["str | os.PathLike[str] | None"]
    ) -> None:
        """Adds a field: the bytes of a file of each sample, such as its mask.

        paths: for each sample; None: it has none. Before a loader is made of
        the data set. Raises InvalidArgument for another number of paths, and
        if there is such a field.
        """
        found = list(paths)
        if len(found) != self._count:
            raise InvalidArgument(
                "%d paths for %d samples" % (len(found), self._count)
            )
        names = [None if p is None else os.fsencode(p) for p in found]
        table = (ctypes.c_char_p * self._count)(*names)
        check(lib.dataset_add_files(self.handle, os.fsencode(field), table))
        self._files[field] = names

    def set_objects(
        self,
        boxes: Optional[Sequence[Any]],
        labels: Optional[Sequence[Any]] = None,
        keypoints: Optional[Sequence[Any]] = None,
    ) -> None:
        """Gives samples boxes, which move with their images (batch.objects).

        boxes: for each sample an array of float32 [n, 4]: left, top, right,
        bottom in pixels of the image; n may be 0. labels: int64 [n] for each,
        or None for all 0. keypoints: float32 [n, k, 2]. boxes=None takes them
        all away. Before a loader is made of the data set. Raises
        InvalidArgument for other shapes, and numbers that are not finite.
        """
        found = None
        if boxes is not None:
            found = arrays_of(self._count, boxes, labels, keypoints)
        set_objects(self.handle, found)
        self._objects = found

    def field(self, index: int, name: str) -> Any:
        """A field of a sample: bytes, text, parsed JSON, an int or a float.

        index: as for path. name: one of `fields`.

        Of one that is missing b"", "" or None. Raises KeyError for a name that
        is not in `fields`, ValueError for text or JSON that is none.
        """
        return or_none(self._value(index, name))

    def _value(self, index: int, name: str) -> Any:
        """The same, with -2**63 or NaN for a number that is missing."""
        names = self.fields
        if name not in names:
            raise KeyError(name)
        info = _c.sample_field()
        position = operator.index(index) % self._count
        check(
            lib.dataset_get_field(
                self.handle, position, names.index(name), info
            )
        )
        return value_in_file(info)

    @property
    def classes(self) -> List[str]:
        """Class names by label; empty if there are none."""
        count = check(lib.dataset_class_count(self.handle))
        return self._classes or [
            os.fsdecode(lib.dataset_class_name(self.handle, label))
            for label in range(count)
        ]

    # ---- Life -------------------------------------------------------------

    @property
    def handle(self) -> int:
        """The feedline_dataset, as an address."""
        if self._handle is None:
            raise StateError("the data set was closed")
        return self._handle

    @property
    def sources(self) -> "Tuple[Source | Recorded, ...]":
        """The program's own that reads it, if one does."""
        both = (Source, Recorded)
        return tuple(x for x in self._buffers if isinstance(x, both))

    @property
    def buffers(self) -> Sequence[Any]:
        """What has to outlive every loader that is made from this."""
        return self._buffers

    def __reduce__(self) -> Tuple[Any, ...]:
        """Pickled as what it was made of: names of files, or bytes."""
        made = self._made_of()
        if not self._files and self._objects is None:
            return made
        return (*made, (self._files, self._objects))

    def __setstate__(self, added: Tuple[Any, Optional[Arrays]]) -> None:
        files, objects = added
        for field, names in files.items():
            self.add_files(
                field, [None if n is None else os.fsdecode(n) for n in names]
            )
        set_objects(self.handle, objects)
        self._objects = objects

    def _made_of(self) -> Tuple[Any, ...]:
        if self._kind == "open":
            made_of: Tuple[Any, ...] = (self._name,)
        elif self._kind == "paths":
            every = range(len(self))
            made_of = [self.path(i) for i in every], self._all_labels()
        elif self._kind == "_of_table":
            made_of = (self._buffers[0],)
        elif self._kind in ("_of_source", "_of_recorded"):
            made_of = self._buffers[0].made_of
        elif self._kind == "memory":
            pieces = zip(*self._buffers[:2])
            images = [ctypes.string_at(*piece) for piece in pieces]
            made_of = images, self._all_labels(), self._classes
        else:
            (pixels,) = self._buffers
            made_of = pixels.tobytes(), pixels.shape, self._all_labels()
        return _rebuilt, (self._kind, made_of)

    def _all_labels(self) -> List[int]:
        return [self.label(i) for i in range(len(self))]

    def __copy__(self) -> "Dataset":
        return self  # nothing of it changes

    def __deepcopy__(self, memo: Any) -> "Dataset":
        return self

    def close(self) -> None:
        """Closes it. Loaders made from it continue and keep the bytes."""
        self._handle = None
        self._buffers = ()
        self._finalizer()

    def __enter__(self) -> "Dataset":
        return self

    def __exit__(self, *unused: Any) -> None:
        self.close()

    def __repr__(self) -> str:
        if self._handle is None:
            return "<feedline.Dataset %r, closed>" % self._name
        return "<feedline.Dataset %r: %d samples>" % (self._name, self._count)


def _close(cell: ctypes.c_void_p, buffers: Tuple[Any, ...]) -> None:
    """The buffers are arguments so that they live until this has run."""
    lib.dataset_close(cell)


def _rebuilt(kind: str, made_of: Tuple[Any, ...]) -> Dataset:
    """A pickled data set."""
    if kind == "pixels":
        data, shape, labels = made_of
        view = memoryview(data).cast("B", list(shape))
        return Dataset.pixels(view, labels)
    made: Dataset = getattr(Dataset, kind)(*made_of)
    return made


def _pixel_shape(buffer: HeldBuffer) -> Tuple[int, int, int, int]:
    """Count, height, width, channels."""
    shape = buffer.shape
    if len(shape) == 3:
        shape = shape + (1,)
    if len(shape) != 4 or buffer.itemsize != 1:
        raise InvalidArgument(
            "pixels are uint8 of shape [N, H, W] or [N, H, W, C], not %d-byte "
            "items of shape %s" % (buffer.itemsize, list(buffer.shape))
        )
    if shape[3] not in (1, 3) and shape[1] in (1, 3):
        raise InvalidArgument(
            "pixels with %d channels: [N, H, W, C] has 1 or 3; of [N, C, H, W] "
            "give images.transpose(0, 2, 3, 1)" % shape[3]
        )
    if max(shape[1:]) > 0x7FFFFFFF:
        raise RangeError("an image of %d x %d pixels" % (shape[2], shape[1]))
    return shape
