# SPDX-License-Identifier: Apache-2.0
"""Batch: a lease on the memory of one batch. Tensor: one of its two parts.

The memory is reused once the batch was released and every tensor made from it
is gone: a numpy array or a torch tensor holds it by itself. So they always show
this batch, in whatever order things are released.
"""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING, Any, Dict, List, NoReturn, Optional, Tuple

from . import _c, dlpack
from ._library import lib
from .annotations import Masks, Mix, Objects, mixes_of, targets_of
from .errors import InvalidArgument, NotSupported, ReleasedError, check
from .fields import Field, array_at, fields_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

_get_info = lib.quick.batch_get_info
_export = lib.quick.batch_export

# Name, bytes of an element, numpy's name for it.
_TYPES: Dict[int, Tuple[str, int, Optional[str]]] = {
    _c.U8: ("uint8", 1, "|u1"),
    _c.F16: ("float16", 2, "<f2"),
    _c.F32: ("float32", 4, "<f4"),
    _c.I64: ("int64", 8, "<i8"),
    _c.BF16: ("bfloat16", 2, None),
}

Axes = Tuple[int, int, int]  # of an image

# Streams as the protocols of Python number them.
_LEGACY_STREAM = 1


class Batch:
    """Images and labels of some samples. One thread at a time.

    Released by release(), at the end of `with batch:`, or when deleted.
    """

    __slots__ = ("_handle", "_info", "_give_back", "__weakref__")

    def __init__(self, give_back: Any) -> None:
        """give_back: the library's batch_release. It is the loader that sets
        the handle."""
        self._handle = 0  # released
        self._info: Optional[_c.batch_info] = None
        self._give_back = give_back

    # ---- What is in it ----------------------------------------------------

    @property
    def handle(self) -> int:
        """The feedline_batch, as an address. Raises ReleasedError."""
        handle = self._handle
        if not handle:
            raise ReleasedError("the batch was released")
        return handle

    @property
    def info(self) -> _c.batch_info:
        """The library's batch info; its pointers die with the batch."""
        handle = self.handle
        if self._info is None:
            info = _c.batch_info()
            check(_get_info(handle, info))
            self._info = info
        return self._info

    def _arrays(self) -> _c.batch_info:
        """The info, asked for again: in a child of fork() that is a ForkError,
        where pinned memory and so its arrays are missing."""
        self._info = None
        return self.info

    # A tensor holds its batch, so the batch must not hold its tensors: memory
    # in a cycle would come back when the garbage collector gets to it.

    @property
    def images(self) -> "Tensor":
        """[count, C, H, W] or, with layout="nhwc", [count, H, W, C], of the
        option dtype: "f32" by default, normalised as the pipeline says; "u8" is
        0 to 255. C is the option channels, 3 for RGB. On `device`."""
        return Tensor(self, _c.IMAGES, self.info.images)

    @property
    def labels(self) -> "Tensor":
        """[count] of int64, on `device`: of a folder, the place of the class
        among the sorted names (Dataset.classes)."""
        return Tensor(self, _c.LABELS, self.info.labels)

    @property
    def targets(self) -> "Tensor":
        """[count, classes] of float32: soft targets, of a pipeline that mixes.

        Raises StateError without one.
        """
        found = targets_of(self.handle)
        return Tensor(self, _c.TARGETS, found.soft)

    @property
    def mixes(self) -> List[Mix]:
        """What each image became. Raises as `targets`."""
        return mixes_of(self.handle, self.count)

    @property
    def fields(self) -> Dict[str, Field]:
        """What the data set has beside images and labels ("?fields="), by
        name."""
        handle = self.handle
        return fields_of(handle, self.count, self.export(_c.LABELS))

    @property
    def masks(self) -> Masks:
        """The mask of each image, of a loader with the option masks. Raises
        InvalidArgument without it."""
        return Masks(self.handle, self.info, self.export(_c.LABELS))

    @property
    def objects(self) -> Objects:
        """Boxes, labels and keypoints of each image, of a data set that has
        some (Dataset.set_objects). Raises StateError of others."""
        return Objects(self.handle, self.count, self.export(_c.LABELS))

    @property
    def count(self) -> int:
        """Images; the last batch of an epoch may be short."""
        return int(self.info.count)

    def __len__(self) -> int:
        return self.count

    @property
    def epoch(self) -> int:
        """Its number, from 0."""
        return int(self.info.epoch)

    @property
    def sequence(self) -> int:
        """Of the batch in its epoch, from 0."""
        return int(self.info.sequence)

    @property
    def position(self) -> int:
        """Of its first sample in the epoch, counted on this rank."""
        return int(self.info.position)

    @property
    def place(self) -> int:
        """Of its first sample in the epoch, over all ranks; those behind it
        have every world-th place."""
        return int(self.info.place)

    @property
    def views(self) -> int:
        """Images of each sample: 5 or 10 with five_crop, ten_crop, or as many
        as Pipeline.views made."""
        return int(self.info.views)

    def view(self, index: int) -> "Tensor":
        """View `index` of all samples: [samples, C, H, W] or [samples, H, W,
        C], where samples is count / views. With Pipeline.views `images` is
        view 0, and tables (labels, sample_index) have a row for each image,
        view after view of one sample.

        Raises RangeError, and InvalidArgument for images of different sizes.
        """
        raw = _c.tensor()
        check(lib.batch_get_view(self.handle, index, raw))
        return Tensor(self, _c.VIEW + index, raw)

    @property
    def wait_ns(self) -> int:
        """How long next() waited for it, in nanoseconds."""
        return int(self.info.wait_ns)

    @property
    def sample_index(self) -> List[int]:
        """Each image's position in the data set."""
        info = self._arrays()
        return list(info.sample_index[: info.count])

    @property
    def sample_status(self) -> List[int]:
        """Of each image: 0, 4 (replaced), or the error of one that is zero."""
        info = self._arrays()
        return list(info.sample_status[: info.count])

    @property
    def device(self) -> str:
        """ "cpu" or "cuda:N"."""
        return self.images.device

    def image(self, index: int) -> NDArray[Any]:
        """One image as a numpy array, a copy: [C, H, W] or [H, W, C]; also of
        batches whose images have sizes of their own (option max_sample_bytes).

        index: of the image in the batch, from 0; negative ones count from the
        end.

        Raises IndexError, and NotSupported for a batch on a GPU.
        """
        info = self.info
        if not -info.count <= index < info.count:
            raise IndexError("image %d of %d" % (index, info.count))
        index %= info.count
        if not info.image_offset:
            whole: NDArray[Any] = self.images.numpy()[index]
            return whole.copy()
        if info.images.device == _c.CUDA:
            raise NotSupported(
                "images of different sizes on a GPU: copy_to first"
            )
        name, _, typestr = _TYPES[info.images.dtype]
        if typestr is None:
            raise NotSupported("numpy has no %s" % name)
        found, axes = image_bytes(info, index, self)
        pixels: NDArray[Any] = found.view(typestr).reshape(axes).copy()
        return pixels

    # ---- Handing it over --------------------------------------------------

    def export(self, part: int = _c.IMAGES, versioned: bool = False) -> Any:
        """A DLPack capsule that shares this memory and keeps it alive.

        part: 0 images, 1 labels, 2 targets. versioned: of DLPack 1.0 or
        later. Without a stream: for a batch on a GPU, call wait() for the
        stream first.
        """
        return exported(self.handle, part, versioned)

    def wait(self, stream: int = 0) -> None:
        """Work queued on `stream` (a cudaStream_t) from now on sees the batch.

        Does nothing for a batch in host memory. StateError: the stream is
        being captured into a graph.
        """
        check(lib.batch_wait(self.handle, stream))

    def copy_to(
        self, images: int = 0, labels: int = 0, stream: int = 0
    ) -> None:
        """Copies into memory on the batch's device; 0 leaves a part out.

        images, labels: addresses of image_bytes and 8 * count bytes. On a GPU
        the copies are queued on `stream`, and the batch may be released at
        once. StateError as in wait: copy before each replay of a graph. With
        the option handover="copy" this is the only way to take images, which
        a GPU may then finish on their way.
        """
        check(lib.batch_copy(self.handle, images, labels, stream))

    @property
    def image_bytes(self) -> int:
        """Bytes of all images, from images.data_ptr() on."""
        return int(self.info.image_bytes)

    def release(self, stream: Optional[int] = None) -> None:
        """Returns the memory, once exported tensors over it are gone too.

        stream: a cudaStream_t whose queued work still reads the batch, without
        having waited for it itself. A second call does nothing.
        """
        handle = self._handle
        if not handle:
            return
        self._handle = 0
        self._info = None
        if stream is None:
            self._give_back(handle)
        else:
            lib.batch_release_on(handle, stream)

    def __enter__(self) -> "Batch":
        return self

    def __exit__(self, *unused: Any) -> None:
        self.release()

    def __del__(self) -> None:
        handle = self._handle
        if handle:
            self._handle = 0
            self._give_back(handle)

    def __reduce__(self) -> NoReturn:
        raise TypeError(
            "cannot pickle 'Batch': it is memory of this process; pickle "
            "arrays that were copied from it"
        )

    def __repr__(self) -> str:
        if not self._handle:
            return "<feedline.Batch, released>"
        return "<feedline.Batch %d of epoch %d: images %s %s on %s>" % (
            self.sequence,
            self.epoch,
            list(self.images.shape),
            self.images.dtype,
            self.device,
        )


def exported(handle: int, part: int, versioned: bool = False) -> Any:
    """The capsule of Batch.export, of a feedline_batch."""
    managed = ctypes.c_void_p()
    status = _export(handle, part, 1 if versioned else 0, managed)
    if status < 0:
        check(status)
    return dlpack.wrap(managed.value or 0, versioned)


def image_bytes(info: _c.batch_info, index: int, hold: Any) -> Tuple[Any, Axes]:
    """The bytes of one image, an array over memory that `hold` keeps, and its
    shape; also where each has a size of its own."""
    axes = list(info.images.shape[1:4])  # with height and width 0, then
    at = index * (info.image_bytes // info.count)
    if info.image_offset:
        at = info.image_offset[index]
        first = 1 if axes[0] else 0
        axes[first : first + 2] = info.image_size[index]
    count = axes[0] * axes[1] * axes[2] * _TYPES[info.images.dtype][1]
    found = array_at(hold, info.images.data + at, "|u1", count)
    return found, (axes[0], axes[1], axes[2])


class Tensor:
    """Images or labels of a batch, for any library of arrays.

    numpy.asarray(tensor), torch.from_dlpack(tensor), cupy.asarray(tensor) and
    the like share its memory and keep it alive, so the batch may be released.
    Made by a Batch, which `batch`, `part` and `raw` name with its place there.
    """

    __slots__ = ("_batch", "_part", "_hold", "_raw", "__weakref__")

    def __init__(self, batch: Batch, part: int, raw: _c.tensor) -> None:
        self._batch = batch
        self._part = part
        # A copy: the batch's own is gone when it is released.
        self._raw = _c.tensor.from_buffer_copy(raw)
        self._hold: Any = None

    def _alive(self) -> _c.tensor:
        if not self._batch._handle:
            raise ReleasedError("the batch of this tensor was released")
        return self._raw

    # ---- What it is -------------------------------------------------------

    @property
    def shape(self) -> Tuple[int, ...]:
        """Elements along each axis."""
        raw = self._alive()
        return tuple(raw.shape[: raw.ndim])

    @property
    def strides(self) -> Tuple[int, ...]:
        """In elements."""
        raw = self._alive()
        return tuple(raw.stride[: raw.ndim])

    @property
    def dtype(self) -> str:
        """ "uint8", "float16", "bfloat16", "float32" or "int64"."""
        return _TYPES[self._alive().dtype][0]

    @property
    def itemsize(self) -> int:
        """Bytes of an element."""
        return _TYPES[self._alive().dtype][1]

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return int(self._alive().ndim)

    @property
    def nbytes(self) -> int:
        """Bytes of all elements."""
        n = self.itemsize
        for axis in self.shape:
            n *= axis
        return n

    @property
    def device(self) -> str:
        """ "cpu" or "cuda:N"."""
        raw = self._alive()
        return "cuda:%d" % raw.device_id if raw.device == _c.CUDA else "cpu"

    @property
    def is_pinned(self) -> bool:
        """Whether it is pinned (page-locked) host memory."""
        return bool(self._alive().device == _c.CPU_PINNED)

    def data_ptr(self) -> int:
        """Its address, on its device."""
        return int(self._alive().data or 0)

    def __len__(self) -> int:
        return self.shape[0]

    # ---- DLPack -----------------------------------------------------------

    def __dlpack_device__(self) -> Tuple[int, int]:
        """Pinned memory counts as plain host memory, which it is as well."""
        raw = self._alive()
        if raw.device == _c.CUDA:
            return dlpack.KDL_CUDA, int(raw.device_id)
        return dlpack.KDL_CPU, 0

    def __dlpack__(
        self,
        *,
        stream: Optional[int] = None,
        max_version: Optional[Tuple[int, int]] = None,
        dl_device: Optional[Tuple[int, int]] = None,
        copy: Optional[bool] = None,
    ) -> Any:
        """A capsule, as the standard of array libraries has it.

        stream (GPU only): None or 1 is the legacy default stream, 2 that of
        the thread, others a cudaStream_t; it waits for the data. -1: nobody
        waits. copy=True makes one of a tensor in host memory.

        BufferError: what is asked for needs a copy that cannot be made.
        """
        versioned = max_version is not None and max_version[0] >= 1
        here = self.__dlpack_device__()
        if dl_device is not None and tuple(dl_device) != here:
            raise BufferError(
                "the tensor is on device %s and cannot be exported to %s"
                % (here, tuple(dl_device))
            )
        self._order_behind_copy(stream, here[0] == dlpack.KDL_CUDA)
        if copy:
            return self._copied(versioned)
        return self._batch.export(self._part, versioned)

    def _order_behind_copy(self, stream: Optional[int], on_gpu: bool) -> None:
        if not on_gpu:
            if stream not in (None, -1):
                raise InvalidArgument(
                    "a tensor in host memory has no stream; got %r" % stream
                )
        elif stream is None:
            self._batch.wait(_LEGACY_STREAM)
        elif stream == 0 or stream < -1:
            raise InvalidArgument(
                "stream %d is ambiguous: 1 is the legacy default stream, 2 the "
                "thread's, -1 none" % stream
            )
        elif stream != -1:
            self._batch.wait(stream)

    def _copied(self, versioned: bool) -> Any:
        raw = self._alive()
        if raw.device == _c.CUDA:
            raise BufferError("a copy of a tensor on a GPU: copy_to makes one")
        code, bits = dlpack.TYPES[raw.dtype]
        head = dlpack.DLTensor(
            device_type=dlpack.KDL_CPU, code=code, bits=bits, lanes=1
        )
        made, address = dlpack.copied(head, self.nbytes, self.shape, versioned)
        ctypes.memmove(address, self.data_ptr(), self.nbytes)
        return made

    # ---- Interfaces of numpy and of CUDA's libraries ----------------------

    def _interface(self) -> Dict[str, Any]:
        raw = self._alive()
        name, size, typestr = _TYPES[raw.dtype]
        if typestr is None:
            raise TypeError(
                "numpy has no %s; torch.from_dlpack has, or ask the loader for "
                "another dtype" % name
            )
        if self._hold is None:
            # Who uses the interface keeps this object, so it must keep the
            # memory, whatever becomes of the batch.
            self._hold = self._batch.export(self._part)
        return {
            "shape": self.shape,
            "typestr": typestr,
            "data": (raw.data or 0, False),
            "strides": tuple(stride * size for stride in self.strides),
            "version": 3,
        }

    @property
    def __array_interface__(self) -> Dict[str, Any]:
        if self._alive().device == _c.CUDA:
            # hasattr() has to say no.
            raise AttributeError("the tensor is on %s" % self.device)
        return self._interface()

    @property
    def __cuda_array_interface__(self) -> Dict[str, Any]:
        if self._alive().device != _c.CUDA:
            raise AttributeError("the tensor is in host memory")
        found = self._interface()
        # The reader waits for this stream, which waits for the copy.
        self._batch.wait(_LEGACY_STREAM)
        found["stream"] = _LEGACY_STREAM
        return found

    def numpy(self) -> NDArray[Any]:
        """A numpy array that shares the memory and keeps it alive.

        TypeError: on a GPU, or a type that numpy does not have.
        """
        import numpy

        if self._alive().device == _c.CUDA:
            raise TypeError(
                "the tensor is on %s; numpy is for host memory" % self.device
            )
        self._interface()
        return numpy.asarray(self)

    def tolist(self) -> List[Any]:
        """The values of a 1-D tensor (labels) in host memory."""
        raw = self._alive()
        if raw.device == _c.CUDA or raw.ndim != 1:
            raise TypeError("tolist() is for one axis in host memory")
        values = (ctypes.c_int64 * raw.shape[0]).from_address(raw.data)
        return list(values)

    def __reduce__(self) -> NoReturn:
        raise TypeError(
            "cannot pickle 'Tensor': it is memory of this process; pickle an "
            "array that was copied from it"
        )

    def __repr__(self) -> str:
        if not self._batch._handle:
            return "<feedline.Tensor, released>"
        return "<feedline.Tensor %s %s on %s>" % (
            list(self.shape),
            self.dtype,
            self.device,
        )
