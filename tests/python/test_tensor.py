# SPDX-License-Identifier: Apache-2.0
"""Batches in other libraries' hands: the same memory, held, never another's.

A batch's slot is used again at once when nobody has it any more, so each test
that keeps something reads it again after a few hundred further batches.
"""

from __future__ import annotations

import ctypes
import gc
import threading
from typing import Any, Iterator, List

import pytest

import feedline
from feedline import _c, dlpack

numpy = pytest.importorskip("numpy")
images = pytest.importorskip("images")

COUNT = 24


@pytest.fixture(scope="module")
def pixels() -> Any:
    rng = numpy.random.RandomState(0)
    return rng.randint(0, 256, (COUNT, 8, 12, 3), dtype=numpy.uint8)


@pytest.fixture
def batches(pixels: Any) -> feedline.Loader:
    return make(pixels)


def make(pixels: Any, **options: Any) -> feedline.Loader:
    usual = dict(batch_size=4, dtype="u8", layout="nhwc", held="grow")
    data = feedline.Dataset.pixels(pixels, numpy.arange(COUNT))
    return feedline.Loader(
        data, **{**usual, "workers": 2, "depth": 2, **options}
    )


def use_slots_again(batches: feedline.Loader) -> None:
    for _ in range(8):
        for batch in batches:
            batch.release()


# ---- numpy ------------------------------------------------------------------


def as_array(tensor: Any) -> Any:
    return numpy.asarray(tensor)


def from_dlpack(tensor: Any) -> Any:
    return numpy.from_dlpack(tensor)


def by_method(tensor: Any) -> Any:
    return tensor.numpy()


@pytest.mark.parametrize("convert", [as_array, from_dlpack, by_method])
def test_arrays_hold_their_batch(
    convert: Any, batches: feedline.Loader, pixels: Any
) -> None:
    kept = []
    for batch in batches:
        kept.append((convert(batch.images), convert(batch.labels)))
        batch.release()
    use_slots_again(batches)
    batches.close()
    gc.collect()
    found = numpy.concatenate([array for array, _ in kept])
    labels = numpy.concatenate([array for _, array in kept])
    assert found.dtype == numpy.uint8 and (found == pixels).all()
    assert labels.dtype == numpy.int64 and (labels == range(COUNT)).all()


def test_arrays_share_the_memory(batches: feedline.Loader) -> None:
    batch = batches.next()
    array = batch.images.numpy()
    assert array.__array_interface__["data"][0] == batch.images.data_ptr()
    array[0, 0, 0] = (1, 2, 3)
    assert batch.images.numpy()[0, 0, 0].tolist() == [1, 2, 3]
    assert array.flags.writeable and array.flags.c_contiguous


def test_released_memory_is_used_again(batches: feedline.Loader) -> None:
    """Otherwise the tests above would say nothing."""
    addresses = set()
    for _ in range(4):
        for batch in batches:
            addresses.add(batch.images.data_ptr())
            batch.release()
    assert len(addresses) < 4 * len(batches)


def test_memory_comes_back_when_arrays_go(batches: feedline.Loader) -> None:
    """Of 120 batches that were kept for an epoch each, 12 at a time."""
    addresses = set()
    kept: List[Any] = []
    for _ in range(20):
        kept = [batch.images.numpy() for batch in batches]
        addresses |= {a.__array_interface__["data"][0] for a in kept}
    assert len(addresses) < 60


@pytest.mark.parametrize(
    "dtype, name", [("u8", "uint8"), ("f16", "float16"), ("f32", "float32")]
)
@pytest.mark.parametrize("layout", ["nchw", "nhwc"])
def test_types_and_layouts(
    dtype: str, name: str, layout: str, pixels: Any
) -> None:
    tensor = make(pixels, dtype=dtype, layout=layout).next().images
    wanted = pixels[:4]
    if layout == "nchw":
        wanted = wanted.transpose(0, 3, 1, 2)
    assert tensor.dtype == name and tensor.shape == wanted.shape
    assert tensor.itemsize == numpy.dtype(name).itemsize
    assert tensor.nbytes == wanted.size * tensor.itemsize
    array = tensor.numpy()
    assert array.dtype == name and array.shape == wanted.shape
    strides = tuple(s * tensor.itemsize for s in tensor.strides)
    assert array.strides == strides
    assert array.flags.c_contiguous
    scale = 255 if dtype == "u8" else 1
    if scale == 1 and float(array.max()) <= 1:
        scale = 255
        array = array.astype(numpy.float64) * 255
    assert numpy.abs(array.astype(numpy.float64) - wanted).max() < 0.2
    assert (tensor.device, tensor.is_pinned, len(tensor)) == ("cpu", False, 4)
    assert repr(tensor) == "<feedline.Tensor %s %s on cpu>" % (
        list(wanted.shape),
        name,
    )


def test_bfloat16_is_not_numpys(pixels: Any) -> None:
    tensor = make(pixels, dtype="bf16").next().images
    assert (tensor.dtype, tensor.itemsize) == ("bfloat16", 2)
    with pytest.raises(TypeError, match="bfloat16"):
        tensor.numpy()
    assert read(tensor.__dlpack__(), False).tensor.code == 4


# ---- After release ----------------------------------------------------------


@pytest.mark.parametrize(
    "use",
    [
        "images",
        "labels",
        "count",
        "epoch",
        "sequence",
        "position",
        "views",
        "sample_index",
        "sample_status",
        "wait_ns",
        "device",
        "image_bytes",
    ],
)
def test_a_released_batch_raises(use: str, batches: feedline.Loader) -> None:
    batch = batches.next()
    getattr(batch, use)
    batch.release()
    batch.release()
    assert repr(batch) == "<feedline.Batch, released>"
    with pytest.raises(feedline.ReleasedError, match="released"):
        getattr(batch, use)
    for call in (batch.export, batch.wait, batch.copy_to, batch.__len__):
        with pytest.raises(feedline.ReleasedError):
            call()


def test_a_released_tensor_raises(batches: feedline.Loader) -> None:
    batch = batches.next()
    tensor, labels = batch.images, batch.labels
    array = tensor.numpy()
    with batch:
        pass
    assert repr(tensor) == "<feedline.Tensor, released>"
    for use in (tensor.numpy, tensor.__dlpack__, labels.tolist):
        with pytest.raises(feedline.ReleasedError):
            use()
    for name in ("shape", "dtype", "strides", "device", "nbytes"):
        with pytest.raises(feedline.ReleasedError):
            getattr(tensor, name)
    assert array.shape == (4, 8, 12, 3)


# ---- DLPack -----------------------------------------------------------------

_api = ctypes.PyDLL(None)
_pointer = _api["PyCapsule_GetPointer"]
_pointer.restype = ctypes.c_void_p
_pointer.argtypes = [ctypes.py_object, ctypes.c_char_p]


def read(made: Any, versioned: bool) -> Any:
    """The struct in a capsule, which must live meanwhile."""
    name = b"dltensor_versioned" if versioned else b"dltensor"
    cls = dlpack.DLManagedTensor
    if versioned:
        cls = dlpack.DLManagedTensorVersioned  # type: ignore[assignment]
    return cls.from_address(_pointer(made, name))


@pytest.mark.parametrize(
    "asked, versioned",
    [(None, False), ((0, 8), False), ((1, 0), True), ((2, 3), True)],
)
def test_capsules_of_both_versions(
    asked: Any, versioned: bool, batches: feedline.Loader
) -> None:
    batch = batches.next()
    made = batch.images.__dlpack__(max_version=asked)
    managed = read(made, versioned)
    tensor = managed.tensor
    assert (tensor.device_type, tensor.device_id) == (1, 0)
    assert batch.images.__dlpack_device__() == (1, 0)
    assert (tensor.code, tensor.bits, tensor.lanes) == (1, 8, 1)
    assert tuple(tensor.shape[: tensor.ndim]) == (4, 8, 12, 3)
    assert tensor.data + tensor.byte_offset == batch.images.data_ptr()
    if versioned:
        assert (managed.major, managed.flags) == (1, 0)


def test_copies(batches: feedline.Loader, pixels: Any) -> None:
    batch = batches.next()
    for versioned, asked in ((False, None), (True, (1, 0))):
        made = batch.images.__dlpack__(copy=True, max_version=asked)
        managed = read(made, versioned)
        assert managed.tensor.data != batch.images.data_ptr()
        assert managed.tensor.data % 256 == 0
        n = batch.images.nbytes
        found = ctypes.string_at(managed.tensor.data, n)
        assert found == pixels[:4].tobytes()
        if versioned:
            assert managed.flags == 2  # is copied
    same = batch.images.__dlpack__(copy=False)
    assert read(same, False).tensor.data == batch.images.data_ptr()


class Exporter:
    """A tensor of which consumers can only have a copy."""

    def __init__(self, tensor: feedline.Tensor) -> None:
        self.tensor = tensor

    def __dlpack_device__(self) -> Any:
        return self.tensor.__dlpack_device__()

    def __dlpack__(self, **arguments: Any) -> Any:
        arguments.pop("copy", None)
        return self.tensor.__dlpack__(copy=True, **arguments)


def test_numpy_takes_a_copy(batches: feedline.Loader, pixels: Any) -> None:
    batch = batches.next()
    array = numpy.from_dlpack(Exporter(batch.images))
    labels = numpy.from_dlpack(Exporter(batch.labels))
    batch.images.numpy()[:] = 0
    batch.release()
    assert (array == pixels[:4]).all() and labels.tolist() == [0, 1, 2, 3]


def test_what_cannot_be_exported(batches: feedline.Loader) -> None:
    tensor = batches.next().images
    with pytest.raises(BufferError, match="device"):
        tensor.__dlpack__(dl_device=(2, 0))
    assert tensor.__dlpack__(dl_device=(1, 0), stream=-1) is not None
    for stream in (0, 1, 2, 77):
        with pytest.raises(feedline.InvalidArgument, match="stream"):
            tensor.__dlpack__(stream=stream)
    assert not hasattr(tensor, "__cuda_array_interface__")
    with pytest.raises(feedline.InvalidArgument):
        batches.next().export(2)


def test_capsules_that_nobody_takes(
    batches: feedline.Loader, pixels: Any
) -> None:
    """Each gives its hold back, or the loader would come to an end: 48 batches
    with a capsule each, and no more memory than two need."""
    strict = make(pixels, held="refuse")
    for _ in range(8):
        for batch in strict:
            batch.export(0), batch.export(1, True)
            batch.images.__dlpack__(max_version=(1, 0))
            batch.release()
    kept = strict.next().export(0, True)
    strict.close()
    assert read(kept, True).tensor.shape[0] == 4


def test_capsules_dropped_on_other_threads(
    batches: feedline.Loader, pixels: Any
) -> None:
    wrong: List[Any] = []

    def drop(array: Any, wanted: Any) -> None:
        if not (array == wanted).all():
            wrong.append(array)

    threads = []
    for _ in range(5):
        for batch in batches:
            array = numpy.from_dlpack(batch.images)
            wanted = pixels[batch.sample_index]
            batch.release()
            threads.append(threading.Thread(target=drop, args=(array, wanted)))
            del array
            threads[-1].start()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_copy_to(batches: feedline.Loader, pixels: Any) -> None:
    batch = batches.next()
    mine = numpy.zeros((4, 8, 12, 3), numpy.uint8)
    labels = numpy.full(4, -1)
    batch.copy_to(mine.ctypes.data)
    assert labels.tolist() == [-1] * 4
    batch.copy_to(0, labels.ctypes.data)
    batch.release()
    assert (mine == pixels[:4]).all() and labels.tolist() == [0, 1, 2, 3]


def test_one_image(batches: feedline.Loader, pixels: Any) -> None:
    batch = batches.next()
    assert (batch.image(-1) == pixels[3]).all()
    with pytest.raises(IndexError):
        batch.image(4)


@pytest.mark.parametrize("layout", ["nchw", "nhwc"])
def test_images_of_their_own_sizes(layout: str) -> None:
    sizes = [(40, 32), (24, 48), (16, 16)]
    data = [images.encoded(size, kind="PNG") for size in sizes]
    batches = feedline.Loader(
        feedline.Dataset.memory(data),
        batch_size=3,
        dtype="u8",
        layout=layout,
        max_sample_bytes="64k",
    )
    batch = batches.next()
    for i, encoded in enumerate(data):
        wanted = images.decoded(encoded)
        if layout == "nchw":
            wanted = wanted.transpose(2, 0, 1)
        assert (batch.image(i) == wanted).all()
    with pytest.raises(feedline.InvalidArgument):
        batch.export(_c.IMAGES)
    assert batch.labels.numpy().tolist() == [0, 0, 0]


# ---- torch ------------------------------------------------------------------


@pytest.fixture(scope="module")
def torch() -> Iterator[Any]:
    yield pytest.importorskip("torch")


def test_torch_takes_tensors(
    torch: Any, batches: feedline.Loader, pixels: Any
) -> None:
    kept = []
    for batch in batches:
        found = torch.from_dlpack(batch.images)
        assert found.data_ptr() == batch.images.data_ptr()
        kept.append((found, torch.utils.dlpack.from_dlpack(batch.export(1))))
        batch.release()
    use_slots_again(batches)
    batches.close()
    assert (torch.cat([i for i, _ in kept]).numpy() == pixels).all()
    assert torch.cat([n for _, n in kept]).tolist() == list(range(COUNT))


def test_torch_has_bfloat16(torch: Any, pixels: Any) -> None:
    found = torch.from_dlpack(make(pixels, dtype="bf16").next().images)
    exact = torch.from_dlpack(make(pixels, dtype="f32").next().images)
    assert found.dtype == torch.bfloat16
    assert torch.equal(found, exact.to(torch.bfloat16))


def test_data_sets_of_torch_tensors(torch: Any, pixels: Any) -> None:
    tensor = torch.from_numpy(pixels[..., 0].copy())
    found = feedline.Loader(
        feedline.Dataset.pixels(tensor),
        channels=1,
        batch_size=COUNT,
        dtype="u8",
    ).next()
    assert (found.images.numpy()[:, 0] == pixels[..., 0]).all()
