# SPDX-License-Identifier: Apache-2.0
"""Batches on a GPU, handed to others in the order of streams, without a GPU.

Children run on the double of the CUDA driver that the C tests use
(tests/transfer/cuda_double.h): its memory cannot be touched by the host, and
whatever is read before its copy is done, or written while it is still read, is
a fault that makes the child's status 86.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from child_process import run_bare

import feedline

numpy = pytest.importorskip("numpy")
Image = pytest.importorskip("PIL.Image")

HEAD = """
import ctypes, gc, sys
import numpy
import feedline
from feedline import _c, dlpack

double = ctypes.CDLL(sys.argv[1])
double.double_read.argtypes = [
    ctypes.c_void_p, ctypes.c_void_p, ctypes.c_uint64, ctypes.c_int64]
double.double_peek.argtypes = [
    ctypes.c_void_p, ctypes.c_void_p, ctypes.c_uint64]
double.double_peek.restype = ctypes.c_bool
double.double_calls.restype = ctypes.c_uint64

lib = feedline._lib
busy = ctypes.c_void_p()
assert lib.busy_create(b"cuda:0", busy) == 0
stream = lib.busy_stream(busy)
pixels = numpy.random.RandomState(0).randint(
    0, 256, (24, 8, 12, 3), dtype=numpy.uint8)


def make(**options):
    options = {"depth": 2, "held": "grow", **options}
    return feedline.Loader(
        feedline.Dataset.pixels(pixels, range(24)), batch_size=4, dtype="u8",
        layout="nhwc", workers=2, device="cuda:0", tuner="off", **options)


def peek(address, count):
    double.double_drain()
    out = numpy.zeros(count, numpy.uint8)
    assert double.double_peek(address, out.ctypes.data, count)
    return out


def read(stream, address, count):
    assert double.double_read(stream, address, count, 200000) == 0


api = ctypes.PyDLL(None)
pointer = api["PyCapsule_GetPointer"]
pointer.restype = ctypes.c_void_p
pointer.argtypes = [ctypes.py_object, ctypes.c_char_p]


def managed(made):
    return dlpack.DLManagedTensor.from_address(pointer(made, b"dltensor"))


def end():
    lib.busy_destroy(busy)
"""


def double() -> str:
    named = os.environ.get("FEEDLINE_TEST_CUDA")
    library = Path(feedline._lib.path)
    path = Path(named or library.parent / "tests/transfer/libcuda_double.so")
    if not path.is_file():
        pytest.skip("no double of the CUDA driver: %s" % path)
    if "cuda" not in feedline.features():
        pytest.skip("the library is built without CUDA")
    return str(path)


def run(
    text: str,
    *arguments: str,
    faults: str = "",
    double_is: str = "delay_us=200",
) -> None:
    """faults: what the double is to see; by itself it must see none."""
    path = double()
    found = run_bare(
        HEAD + text + "\nend()\n",
        path,
        *arguments,
        FEEDLINE_LIBCUDA=path,
        CUDA_DOUBLE="strict=1,seed=3," + double_is,
        PYTHONWARNINGS="ignore",
    )
    if faults:
        assert faults in found.err and found.status == 86
    else:
        assert (found.err, found.status) == ("", 0)


PROGRAMS = {
    "a stream reads what it waited for": """
loader = make()
for epoch in range(4):
    for batch in loader:
        images = batch.images
        made = images.__dlpack__(stream=stream)
        tensor = managed(made).tensor
        assert (tensor.device_type, tensor.device_id) == (2, 0)
        assert tensor.data == images.data_ptr()
        read(stream, tensor.data, images.nbytes)
        wanted = pixels[batch.sample_index]
        if epoch == 3:
            found = peek(tensor.data, images.nbytes)
            assert (found == wanted.ravel()).all()
        batch.release()
        del made, images
""",
    "the legacy stream is the default": """
loader = make()
for number in (None, 1):
    for batch in loader:
        made = batch.images.__dlpack__(stream=number)
        read(1, managed(made).tensor.data, batch.images.nbytes)
        batch.release()
        del made
""",
    "minus one makes nobody wait": """
loader = make()
batch = loader.next()
before = double.double_calls(b"cuStreamWaitEvent")
made = batch.images.__dlpack__(stream=-1)
assert double.double_calls(b"cuStreamWaitEvent") == before
batch.images.__dlpack__(stream=stream)
assert double.double_calls(b"cuStreamWaitEvent") == before + 1
batch.release()
del made
loader.close()
""",
    "the array interface of cuda holds the batch": """
class Consumer:  # as cupy's and numba's arrays: they keep what they came from
    def __init__(self, tensor):
        self.interface = tensor.__cuda_array_interface__
        self.owner = tensor

loader = make()
kept = []
for batch in loader:
    one = Consumer(batch.images)
    assert one.interface["version"] == 3 and one.interface["stream"] == 1
    assert one.interface["typestr"] == "|u1"
    assert one.interface["shape"] == (4, 8, 12, 3)
    assert one.interface["strides"] == (288, 36, 3, 1)
    kept.append((one, pixels[batch.sample_index]))
    read(1, one.interface["data"][0], 4 * 288)
    batch.release()
for _ in range(4):
    for batch in loader:
        batch.release()
loader.close()
for one, wanted in kept:
    found = peek(one.interface["data"][0], 4 * 288)
    assert (found == wanted.ravel()).all()
del kept, one, loader, batch
gc.collect()
""",
    "copies into memory of the callers": """
mine, labels = ctypes.c_void_p(), ctypes.c_void_p()
double.double_use_device(0)
assert double.cuMemAlloc_v2(ctypes.byref(mine), ctypes.c_size_t(4 * 288)) == 0
assert double.cuMemAlloc_v2(ctypes.byref(labels), ctypes.c_size_t(32)) == 0
loader = make()
for epoch in range(3):
    for batch in loader:
        assert batch.image_bytes == 4 * 288
        batch.copy_to(mine.value, labels.value, stream)
        wanted, index = pixels[batch.sample_index], batch.sample_index
        batch.release()
        read(stream, mine.value, 4 * 288)
        found = peek(mine.value, 4 * 288)
        assert (found == wanted.ravel()).all()
        assert peek(labels.value, 32).view(numpy.int64).tolist() == index
loader.close()
double.cuMemFree_v2(mine)
double.cuMemFree_v2(labels)
""",
    "a graph takes no batch, and its tensors do": """
mine, graph = ctypes.c_void_p(), ctypes.c_void_p()
double.double_use_device(0)
assert double.cuMemAlloc_v2(ctypes.byref(mine), ctypes.c_size_t(4 * 288)) == 0
loader = make()
batch = loader.next()
assert double.cuStreamBeginCapture_v2(ctypes.c_void_p(stream), 0) == 0
for call in (lambda: batch.wait(stream),
             lambda: batch.copy_to(mine.value, 0, stream),
             lambda: batch.images.__dlpack__(stream=stream)):
    try:
        call()
    except feedline.StateError as error:
        assert "graph" in str(error), error
    else:
        raise AssertionError("captured")
captured = ctypes.c_void_p(stream), ctypes.byref(graph)
assert double.cuStreamEndCapture(*captured) == 0
wanted = pixels[batch.sample_index]
batch.copy_to(mine.value, 0, stream)
batch.release()
assert (peek(mine.value, 4 * 288) == wanted.ravel()).all()
loader.close()
double.cuMemFree_v2(mine)
""",
    "the stream of a thread may be marked by another": """
import threading

loader = make()
for epoch in range(3):
    for batch in loader:
        kept = []

        def take():
            double.double_use_device(0)
            made = batch.images.__dlpack__(stream=2)
            read(2, managed(made).tensor.data, batch.images.nbytes)
            kept.append(made)

        thread = threading.Thread(target=take)
        thread.start()
        thread.join()
        batch.release()
        kept.clear()
double.double_drain()
loader.close()
""",
    "others run while the driver blocks": """
import threading


def let_go():
    double.double_await_held()
    double.double_let_go()


def blocked(call):
    double.double_drain()
    assert double.double_hold(b"cuEventRecord")
    thread = threading.Thread(target=let_go)
    thread.start()
    call()
    thread.join()


loader = make(order="given")
loader.set_stream(stream)
loader.begin(0)
for how in ("release", "__del__"):
    loader.append([0, 1])
    batch = loader.next()
    blocked(lambda: batch.wait(stream))
    blocked(getattr(batch, how))
loader.end()
blocked(loader.next)
loader.close()
""",
    "idle is measured on the stream that is told": """
loader = make(order="given")
loader.set_stream(stream)
mine = ctypes.c_void_p()
double.double_use_device(0)
assert double.cuMemAlloc_v2(ctypes.byref(mine), ctypes.c_size_t(4 * 288)) == 0
loader.begin(0)
for first in range(0, 24, 4):
    loader.append(range(first, first + 4))
    batch = loader.next()
    batch.copy_to(mine.value, 0, stream)
    batch.release()
    assert lib.busy_work(busy, 1000000) == 0
loader.end()
assert loader.next() is None
double.double_drain()
while loader.stats()["transfer"]["steps"] < 6:  # the last ones are reported
    pass
loader.close()
double.cuMemFree_v2(mine)
host = feedline.Loader(feedline.Dataset.pixels(pixels, range(24)))
host.set_stream(stream)
host.close()
try:
    host.set_stream(stream)
except feedline.StateError:
    pass
else:
    raise AssertionError
""",
    "what cannot be had of a gpu": """
def refused(kind, text, call, *arguments, **more):
    try:
        call(*arguments, **more)
    except kind as error:
        assert text in str(error), error
    else:
        raise AssertionError(text)

loader = make()
batch = loader.next()
tensor = batch.images
assert tensor.device == batch.device == "cuda:0"
assert repr(tensor) == "<feedline.Tensor [4, 8, 12, 3] uint8 on cuda:0>"
assert tensor.__dlpack_device__() == (2, 0)
assert not hasattr(tensor, "__array_interface__")
refused(TypeError, "cuda:0", tensor.numpy)
refused(TypeError, "host memory", batch.labels.tolist)
refused(BufferError, "GPU", tensor.__dlpack__, copy=True)
refused(BufferError, "device", tensor.__dlpack__, dl_device=(1, 0))
refused(feedline.InvalidArgument, "ambiguous", tensor.__dlpack__, stream=0)
refused(feedline.InvalidArgument, "ambiguous", tensor.__dlpack__, stream=-2)
batch.release(stream)
assert [device.id for device in feedline.devices()] == [0, 1]
assert feedline.devices()[1].name == "Double 1"
""",
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs(name: str) -> None:
    run(PROGRAMS[name])


TORCH = """
import torch
from torchvision import transforms
from torchvision.datasets import ImageFolder
from feedline.torch import DataLoader, handover

double.double_use_device(0)
taken, asked, told = [], [], []


class Allocated:
    def __init__(self, shape, strides, dtype, device):
        size = torch.empty((), dtype=dtype).element_size()
        self.memory = ctypes.c_void_p()
        self.bytes = int(numpy.prod(shape)) * size
        assert double.cuMemAlloc_v2(
            ctypes.byref(self.memory), ctypes.c_size_t(self.bytes)) == 0
        taken.append(self.memory)

    def data_ptr(self):
        return self.memory.value


def current_stream(device):
    asked.append(device)
    return stream


handover.device_empty = Allocated
handover.current_stream = current_stream
feedline.torch.iteration.current_stream = current_stream
set_stream = feedline.Loader.set_stream


def tell(loader, number):
    told.append(number)
    set_stream(loader, number)


feedline.Loader.set_stream = tell


def loader_of(*steps, **arguments):
    data = ImageFolder(sys.argv[2], transforms.Compose([
        transforms.Resize((8, 8)), *steps]))
    return DataLoader(data, batch_size=4, device="cuda:0", num_workers=1,
                      backend="native", **arguments)


def let_go():
    gc.collect()
    double.double_drain()
    for memory in taken:
        assert double.cuMemFree_v2(memory) == 0
"""


@pytest.fixture
def grays(tmp_path: Path) -> str:
    """24 images of one colour each, in their order."""
    pytest.importorskip("torchvision")
    path = tmp_path / "images" / "class"
    path.mkdir(parents=True)
    for i in range(24):
        pixels = numpy.full((8, 8, 3), i * 10, numpy.uint8)
        Image.fromarray(pixels).save(path / ("%02d.png" % i))
    return str(tmp_path / "images")


TORCH_PROGRAMS = {
    # torch's build for the CPU cannot allocate on the double, and has no
    # streams; everything between is what runs on hardware.
    "torch tells where it computes": """
loader = loader_of(transforms.PILToTensor())
for epoch in range(2):
    for images, labels in loader:
        peek(images.data_ptr(), 4 * 192)
        assert lib.busy_work(busy, 1000000) == 0
assert told == [stream] * 12
assert asked == ["cuda:0"] * 24
del loader, images, labels
let_go()
""",
    # With torchvision's bits; no slot has finished images, and nothing but
    # labels is copied there.
    "torch's tensors are finished into": """
loader = loader_of(
    transforms.ToTensor(),
    transforms.Normalize((0.485, 0.456, 0.406), (0.229, 0.224, 0.225)),
    options={"finish": "device"})
for number, (images, labels) in enumerate(loader):
    found = peek(images.data_ptr(), images.bytes).view(numpy.float32)
    wanted = [loader.dataset[4 * number + i][0] for i in range(4)]
    assert (found == torch.stack(wanted).numpy().ravel()).all()
    if number == 0:
        transfer = loader.engine.stats()["transfer"]
        assert transfer["finish"] == "device"
        assert transfer["device_bytes"] == transfer["pinned_bytes"]
assert double.double_calls(b"cuMemcpyDtoDAsync") == 6
assert double.double_calls(b"cuLaunchKernel") == 6 + 1  # and the first, empty
del loader, images, labels
let_go()
""",
    # Each batch is finished into the same memory, and nothing is allocated.
    "torch's tensors of a graph": """
class Static:  # torch's tensor in memory of the double
    device = torch.device("cuda:0")

    def __init__(self, like, memory=None):
        self.like, self.memory = like, memory
        if memory is None:
            self.memory = Allocated(like.shape, 0, like.dtype, "cuda:0")
        self.shape, self.dtype = like.shape, like.dtype
        self.stride = like.stride

    def __len__(self):
        return len(self.like)

    def __getitem__(self, part):
        return Static(self.like[part], self.memory)

    def permute(self, *axes):
        return Static(self.like.permute(*axes), self.memory)

    def data_ptr(self):
        return self.memory.data_ptr()


for layout in ("nchw", "nhwc"):
    form = getattr(
        torch, "channels_last" if layout == "nhwc" else "contiguous_format")
    shape = torch.empty(4, 3, 8, 8).contiguous(memory_format=form)
    images, labels = Static(shape), Static(torch.empty(4, dtype=torch.int64))
    loader = loader_of(
        transforms.ToTensor(), layout=layout, options={"finish": "device"})
    for number, batch in enumerate(loader.into(images, labels)):
        assert batch[0].shape == (4, 3, 8, 8)
        found = peek(images.data_ptr(), 3072).view(numpy.float32)
        wanted = [loader.dataset[4 * number + i][0] for i in range(4)]
        wanted = torch.stack(wanted)
        if layout == "nhwc":
            wanted = wanted.permute(0, 2, 3, 1)
        assert (found == wanted.numpy().ravel()).all()
    assert number == 5
    del loader, batch
assert len(taken) == 4
let_go()
""",
}


@pytest.mark.parametrize("name", TORCH_PROGRAMS)
def test_torch_programs(name: str, grays: str) -> None:
    run(TORCH + TORCH_PROGRAMS[name], grays)


def test_an_engine_in_a_pool_has_no_device_memory() -> None:
    pytest.importorskip("torch")
    run(
        """
from feedline.torch.engine_pool import EnginePool

pool = EnginePool()
for epoch in range(3):
    lease = pool.borrow("key", make)
    engine = lease.engine
    engine.start(epoch)
    engine.next().release()
    assert engine.stats()["transfer"]["device_bytes"] >= 4 * 4 * 288
    lease.give_back()
    assert engine.stats()["transfer"]["device_bytes"] == 0
    assert engine.stats()["transfer"]["pinned_bytes"] >= 4 * 4 * 288
engine.close()
del engine, lease, pool
"""
    )


def test_the_double_sees_a_wait_that_is_missing() -> None:
    # A copy of a tenth of a second is still under way when it is read.
    run(
        """
feedline.Batch.wait = lambda batch, stream: None
loader = make()
for batch in loader:
    made = batch.images.__dlpack__(stream=stream)
    read(stream, managed(made).tensor.data, 4 * 288)
    batch.release()
    del made
loader.close()
""",
        faults="fault",
        double_is="latency_us=100000",
    )


def test_listing_starts_no_cuda() -> None:
    # A driver that does not start: only one that is not started has no error.
    nvml = Path(double()).parent.parent / "profiler/libnvml_double.so"
    if not nvml.is_file():
        pytest.skip("no double of NVML: %s" % nvml)
    found = run_bare(
        "import feedline; print([gpu.pci for gpu in feedline.devices()])",
        FEEDLINE_LIBCUDA=double(),
        FEEDLINE_NVML=str(nvml),
        CUDA_DOUBLE="init=999",
    )
    assert found == (0, "['ffff:01:00.0', 'ffff:02:00.0']\n", "")


@pytest.mark.parametrize("error", [900, 901, 906])
def test_a_call_that_a_capture_forbids_ends_no_run(error: int) -> None:
    run(
        """
loader = make(order="given")
for epoch in range(4):
    loader.begin(epoch, seed=1)
    for i in range(0, 24, 4):
        loader.append(range(i, i + 4))
    loader.end()
    count = 0
    while True:
        batch = loader.next()
        if batch is None:
            break
        batch.wait(stream)
        batch.release()
        count += 1
    assert count == 6, (epoch, count)
loader.close()
""",
        double_is="fail=cuEventSynchronize:14:%d" % error,
    )


def test_no_gpu_is_no_error() -> None:
    found = run_bare(
        "import feedline; print(feedline.devices())",
        FEEDLINE_LIBCUDA=double(),
        CUDA_DOUBLE="init=999",
    )
    assert found == (0, "[]\n", "")
