# SPDX-License-Identifier: Apache-2.0
"""Recorder, hooks and what becomes of deferred objects: kept, pickled, printed,
of files that are gone, on other threads; and memory that nothing pretends to
have."""

from __future__ import annotations

import copy
import ctypes
import gc
import inspect
import io
import pickle
import threading
import weakref
from pathlib import Path
from typing import Any, Callable, Dict

import images
import needs
import pytest

Image = images.Image

from feedline import _c  # noqa: E402
from feedline.deferred import Recorder, deferred_of, pack  # noqa: E402
from feedline.deferred import image_source, packing  # noqa: E402
from feedline.deferred import steps as op  # noqa: E402
from PIL import ImageDraw, ImageEnhance, ImageFile, ImageOps  # noqa: E402


@pytest.fixture
def path(tmp_path: Path) -> str:
    file = tmp_path / "a.jpg"
    file.write_bytes(images.encoded((60, 44)))
    return str(file)


def rgb(path: Any) -> Any:
    return Image.open(path).convert("RGB")


def test_the_structs_are_those_of_the_header() -> None:
    image, step = _c.recorded_image, _c.recorded_step
    assert packing.IMAGE.size == ctypes.sizeof(image)
    assert packing.STEP_BYTES == ctypes.sizeof(step)
    for n, one in enumerate(packing.STEPS):
        assert one.size == step.value.offset + 8 * n


def test_packed_structs_say_what_was_recorded(
    path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(image_source, "YOUNG_NS", 0)

    def views() -> Any:
        return [
            rgb(path).crop((1, 2, 30, 40)).point(lambda v: 255 - v),
            Image.open(io.BytesIO(Path(path).read_bytes())),
        ]

    for _ in range(3):
        found = [deferred_of(leaf) for leaf in Recorder().run(views)]
        memory, address = pack(found, [4096, 8192])
        a, b = (_c.recorded_image * 2).from_address(address)
        assert len(memory) > 2 * a.struct_size == 2 * ctypes.sizeof(a)
        assert ctypes.string_at(a.path) == path.encode()
        now = Path(path).stat()
        assert a.seen_inode == now.st_ino and a.seen_bytes == now.st_size
        assert a.seen_ctime_ns == now.st_ctime_ns
        assert (a.n_steps, a.out, a.out_bytes) == (2, 4096, 29 * 38 * 3)
        assert (a.channels, a.height, a.width, a.nhwc) == (3, 38, 29, 1)
        steps = a.steps
        assert (steps[0].op, steps[0].n) == (op.CROP, 4)
        assert list(steps[0].value[:4]) == [1, 2, 30, 40]
        table = ctypes.string_at(steps[1].data, 768)
        assert table == bytes(range(255, -1, -1)) * 3
        assert b.n_steps == 0 and not b.path
        assert ctypes.string_at(b.data, b.length) == Path(path).read_bytes()
        assert b.seen_inode == 0


def test_a_file_that_may_still_change_is_read_at_once(path: str) -> None:
    Path(path).write_bytes(images.encoded((60, 44)))
    young = deferred_of(Recorder().run(lambda: rgb(path)))
    assert young.source.path is None
    assert young.source.data == Path(path).read_bytes()


# ---- Runs -------------------------------------------------------------------


def test_only_the_recorders_thread_records(path: str) -> None:
    seen = []

    def program() -> Any:
        thread = threading.Thread(target=lambda: seen.append(rgb(path)))
        thread.start()
        thread.join()
        return rgb(path)

    leaf = Recorder().run(program)
    assert deferred_of(leaf) is not None
    assert type(seen[0]) is Image.Image
    assert isinstance(Image.open(path), ImageFile.ImageFile)


def test_errors_pass_and_runs_nest(path: str) -> None:
    recorder = Recorder()
    with pytest.raises(ZeroDivisionError):
        recorder.run(lambda: 1 // 0)
    leaf = recorder.run(lambda: Recorder().run(rgb, path).resize((9, 9)))
    assert deferred_of(leaf).shape == (9, 9, 3)
    assert type(rgb(path)) is Image.Image


def test_touches_name_the_line_of_the_program(path: str) -> None:
    recorder = Recorder()

    def program() -> Any:
        image = rgb(path)
        image.getpixel((0, 0))
        return image

    for _ in range(3):
        assert type(recorder.run(program)) is not None
    (touch,) = recorder.touches
    assert touch.file == __file__ and touch.function == "program"
    line = inspect.getsourcelines(program)[1] + 2
    assert (touch.line, touch.asked, touch.count) == (line, "getpixel", 3)
    assert touch.ns > 0 and recorder.images == 3


def test_a_kept_image_becomes_real(path: str) -> None:
    """A cache in the data set has decoded images in it."""
    cache: Dict[str, Any] = {}

    def program() -> Any:
        if path not in cache:
            cache[path] = rgb(path)
        return cache[path].resize((20, 20))

    recorder = Recorder()
    assert deferred_of(recorder.run(program)) is not None
    second = recorder.run(program)
    assert type(second) is type(cache[path]) is Image.Image
    assert second.tobytes() == rgb(path).resize((20, 20)).tobytes()


def test_what_was_asked_for_and_is_in_no_sample_is_read(tmp_path: Path) -> None:
    file = tmp_path / "cut.jpg"
    file.write_bytes(images.encoded((160, 120))[:2000])

    def program() -> Any:
        Image.open(file).load()
        return Image.open(file).size

    recorder = Recorder()
    with pytest.raises(OSError) as plain:
        program()
    assert recorder.run(program) == (160, 120)
    ((part, error),) = recorder.unfinished([], [1, 2])
    assert part == 0 and str(error) == str(plain.value)

    # In a sample it is for whoever makes the sample's pixels.
    leaf = recorder.run(rgb, file)
    found = deferred_of(leaf)
    assert not list(recorder.unfinished([found], [1]))
    with pytest.raises(OSError) as touched:
        found.real()
    assert str(plain.value) == str(touched.value)


# ---- Files ------------------------------------------------------------------


def test_a_changed_file_is_looked_at_again(path: str) -> None:
    recorder = Recorder()
    assert recorder.run(rgb, path).size == (60, 44)
    Path(path).write_bytes(images.encoded((31, 32)))
    assert recorder.run(rgb, path).size == (31, 32)


def test_a_file_that_is_gone_was_open(tmp_path: Path) -> None:
    def program() -> Any:
        file = tmp_path / "gone.png"
        file.write_bytes(images.encoded((30, 20), kind="PNG"))
        image = Image.open(file)
        file.unlink()
        return image.getpixel((3, 3))

    assert Recorder().run(program) == program()


@pytest.mark.parametrize(
    "kind, mode",
    [
        ("BMP", "RGB"),
        ("TIFF", "RGB"),
        ("GIF", "P"),
        ("PPM", "L"),
        ("JPEG", "CMYK"),
        ("PNG", "1"),
        ("PNG", "I;16"),
    ],
)
def test_other_files_are_pillows(kind: str, mode: str, tmp_path: Path) -> None:
    Image.new(mode, (20, 10)).save(tmp_path / "a", kind)
    recorder = Recorder()
    found = recorder.run(Image.open, tmp_path / "a")
    assert type(found) is type(Image.open(tmp_path / "a"))
    assert sum(recorder.real_images.values()) == 1 and recorder.images == 0


def test_errors_of_open_are_pillows(tmp_path: Path) -> None:
    (tmp_path / "text").write_text("no image")
    for given in (
        tmp_path / "none",
        tmp_path / "text",
        tmp_path,
        3.5,
        None,
        io.BytesIO(b"no"),
        io.StringIO("no"),
    ):
        with pytest.raises(Exception) as plain:
            Image.open(given)
        with pytest.raises(type(plain.value)):
            Recorder().run(Image.open, given)


def test_truncated_files_that_are_allowed_are_pillows(
    path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ImageFile, "LOAD_TRUNCATED_IMAGES", True)
    assert deferred_of(Recorder().run(rgb, path)) is None


@pytest.mark.parametrize("mode", ["L", "RGB"])
def test_a_transparent_colour_that_was_forgotten(
    tmp_path: Path, mode: str
) -> None:
    file = tmp_path / "a.png"
    colour = 7 if mode == "L" else (7, 7, 7)
    image = Image.new(mode, (9, 6), colour)
    image.save(file, transparency=colour)

    def program() -> Any:
        image = Image.open(file)
        del image.info["transparency"]
        return image.convert("RGBA")

    found = Recorder().run(program)
    assert deferred_of(found) is None
    assert found.getchannel("A").getextrema() == (255, 255)
    assert found.tobytes() == program().tobytes()


def test_metadata_is_the_files(tmp_path: Path) -> None:
    exif = Image.Exif()
    exif[0x0112], exif[0x010E] = 3, "x" * 700  # more than is remembered
    images.picture((30, 20)).save(tmp_path / "a.jpg", exif=exif, dpi=(72, 72))
    plain = Image.open(tmp_path / "a.jpg")

    def program() -> Any:
        image = Image.open(tmp_path / "a.jpg")
        assert image.filename == str(tmp_path / "a.jpg")
        assert (image.format, image.mode) == ("JPEG", "RGB")
        assert image.info == plain.info
        assert dict(image.getexif()) == dict(plain.getexif())
        assert image.quantization == plain.quantization
        assert not hasattr(image, "n_frames") or image.n_frames == 1
        assert repr(image)[:48] == repr(plain)[:48]
        assert image.format_description == plain.format_description
        with pytest.raises(AttributeError):
            image.nothing
        turned = ImageOps.exif_transpose(image)
        assert turned.info == ImageOps.exif_transpose(plain).info
        image.info["mine"] = 1
        assert image.copy().info["mine"] == 1
        assert "mine" not in turned.info
        return image

    for _ in range(2):
        recorder = Recorder()
        image = recorder.run(program)
        assert not recorder.touches
        assert deferred_of(image).real().info == {**plain.info, "mine": 1}


# ---- What becomes of an image ------------------------------------------------

USES: Dict[str, Callable[[Any], Any]] = {
    "pickle": lambda im: pickle.loads(pickle.dumps(im)).tobytes(),
    "deepcopy": lambda im: copy.deepcopy(im).tobytes(),
    "copy": lambda im: copy.copy(im).tobytes(),
    "save": lambda im: _saved(im),
    "notebook": lambda im: im._repr_png_(),
    "equal": lambda im: (im == im.copy(), im == im.convert("L"), im != im),
    "hash": lambda im: hash(im) if im.__class__.__hash__ else "none",
    "array": lambda im: __import__("numpy").asarray(im).tobytes(),
    "text": lambda im: str(im).partition(" at ")[0],
    "getbbox": lambda im: im.getbbox(),
    "draw": lambda im: (
        ImageDraw.Draw(im).line((0, 0, 9, 9), fill=0),
        im.tobytes(),
    ),
    "paste": lambda im: (im.paste(0, (1, 1, 9, 9)), im.tobytes()),
    "putpixel": lambda im: (im.putpixel((1, 2), 0), im.tobytes()),
    "pixel access": lambda im: (
        im.load().__setitem__((1, 1), im.load()[2, 2]),
        im.tobytes(),
    ),
    "thumbnail": lambda im: (im.thumbnail((20, 20)), im.size, im.tobytes()),
    "draft": lambda im: (im.draft("L", (30, 22)), im.size, im.tobytes()),
    "verify": lambda im: im.verify(),
    "enhancer": lambda im: ImageEnhance.Contrast(im).degenerate.tobytes(),
    "set im": lambda im: (
        bool(im.load()),
        setattr(im, "im", im.im.copy()),
        im.tobytes(),
    ),
    "kept method": lambda im: (
        lambda f: (im.load()[0, 0], f((9, 9)).tobytes())
    )(im.resize),
    "iterate": lambda im: [b.tobytes() for b in im.split()],
}


def _saved(image: Any) -> bytes:
    out = io.BytesIO()
    image.save(out, "PNG")
    return out.getvalue()


if "in_place" in inspect.signature(ImageOps.exif_transpose).parameters:
    USES["transpose in place"] = lambda im: (  # from Pillow 9.5 on
        ImageOps.exif_transpose(im, in_place=True),
        im.tobytes(),
    )


@pytest.mark.parametrize("name", USES)
def test_uses_of_an_image(name: str, path: str) -> None:
    use = USES[name]
    for get in (Image.open, rgb):
        assert Recorder().run(lambda: use(get(path))) == use(get(path))
        kept = Recorder().run(get, path)  # and when the run is over
        assert use(kept) == use(get(path))


def test_a_closed_image_is_closed(path: str) -> None:
    def program() -> Any:
        image = Image.open(path)
        small = image.resize((9, 9))
        image.close()
        with pytest.raises(ValueError, match="closed"):
            image.getpixel((0, 0))
        return small

    with Image.open(path) as plain:
        want = plain.resize((9, 9))
    assert deferred_of(Recorder().run(program)).real() == want


def test_changes_of_an_image_do_not_reach_what_was_made_before(
    path: str,
) -> None:
    def program() -> Any:
        image = Image.open(path)
        before = image.crop((0, 0, 20, 20))
        image.paste((1, 2, 3), (0, 0, 20, 20))
        return before, image

    for a, b in zip(Recorder().run(program), program()):
        assert a.tobytes() == b.tobytes()


def test_a_given_image_is_the_same_object(path: str) -> None:
    leaf = Recorder().run(lambda: rgb(path).crop((0, 0, 5, 4)))
    found = deferred_of(leaf)
    made = found.give(bytearray(range(60)))
    assert made is leaf and type(leaf) is Image.Image
    assert leaf.tobytes() == bytes(range(60)) and leaf.size == (5, 4)
    assert deferred_of(leaf) is None


# ---- Hooks ------------------------------------------------------------------


def test_hooks_pass_for_the_originals(path: str) -> None:
    Recorder().run(len, "")
    assert Image.open.__module__ == "PIL.Image"
    assert pickle.loads(pickle.dumps(Image.open)) is Image.open
    assert list(inspect.signature(Image.open).parameters)[0] == "fp"
    assert "identif" in (Image.open.__doc__ or "")
    Recorder().run(len, "")
    assert not hasattr(inspect.unwrap(Image.open), "__wrapped__")


def test_a_patch_on_top_is_called(
    path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    Recorder().run(len, "")
    opened = []
    before = Image.open

    def mine(*args: Any, **kwargs: Any) -> Any:
        opened.append(args)
        return before(*args, **kwargs).convert("L")

    monkeypatch.setattr(Image, "open", mine)
    leaf = Recorder().run(lambda: Image.open(path))
    assert opened and leaf.mode == "L"
    assert deferred_of(leaf).real().tobytes() == mine(path).tobytes()


# ---- Tensors ----------------------------------------------------------------


@pytest.fixture
def F() -> Any:
    pytest.importorskip("torch")
    return pytest.importorskip("torchvision.transforms.functional")


def _deferred_tensor(F: Any, path: str) -> Any:
    needs.deferred_tensors()

    return Recorder().run(lambda: F.to_tensor(rgb(path)))


TENSOR_USES: Dict[str, Callable[[Any], Any]] = {
    "numpy": lambda t: t.numpy().tobytes(),
    "data_ptr": lambda t: ctypes.string_at(t.data_ptr(), 400),
    "storage": lambda t: bytes(bytearray(t.untyped_storage())[:400]),
    "dlpack": lambda t: __import__("torch").from_dlpack(t).sum().item(),
    "pickle": lambda t: pickle.loads(pickle.dumps(t)).tolist(),
    "deepcopy": lambda t: copy.deepcopy(t).tolist(),
    "print": repr,
    "sent": lambda t: _sent(t).tolist(),
    "text": lambda t: "%s %r" % (t, [t]),
    "key": lambda t: {t: 1}[t],
    "share": lambda t: t.share_memory_().tolist(),
    "iterate": lambda t: [row.sum().item() for row in t],
    "equal": lambda t: bool((t == t.clone()).all()),
    "array": lambda t: __import__("numpy").asarray(t).tobytes(),
    "saved": lambda t: _torch_saved(t),
    "data": lambda t: t.data.tolist(),
    "as_tensor": lambda t: __import__("torch").as_tensor(t).tolist(),
    "tensor of lists": lambda t: [t.max().item(), float(t[0, 0, 0])],
    "tv": lambda t: __import__("torchvision").utils.make_grid([t, t]).tolist(),
}


def _sent(t: Any) -> Any:
    """To another process, by torch's way."""
    from multiprocessing.reduction import ForkingPickler

    return pickle.loads(ForkingPickler.dumps(t))


def _torch_saved(t: Any) -> Any:
    import torch

    out = io.BytesIO()
    torch.save({"a": t}, out)
    out.seek(0)
    return torch.load(out, weights_only=True)["a"].tolist()


@pytest.mark.parametrize("name", TENSOR_USES)
def test_uses_of_a_tensor(name: str, path: str, F: Any) -> None:
    needs.deferred_tensors()

    use = TENSOR_USES[name]
    want = use(F.to_tensor(rgb(path)))
    assert Recorder().run(lambda: use(F.to_tensor(rgb(path)))) == want
    assert use(_deferred_tensor(F, path)) == want


def test_a_touched_tensor_is_the_same_object(path: str, F: Any) -> None:
    torch = pytest.importorskip("torch")

    def program() -> Any:
        tensor = F.to_tensor(rgb(path))
        tensor.mark = "mine"
        assert float(tensor.sum()) > 0
        return tensor

    tensor = Recorder().run(program)
    assert type(tensor) is torch.Tensor and tensor.mark == "mine"
    assert deferred_of(tensor) is None
    assert tensor.add_(1) is tensor


def test_a_tensor_with_a_weak_reference_is_right(path: str, F: Any) -> None:
    """It cannot become another object, so calls are passed on."""
    tensor = _deferred_tensor(F, path)
    kept = weakref.ref(tensor)
    want = F.to_tensor(rgb(path))
    assert tensor.tolist() == want.tolist()
    tensor.mul_(2)
    assert (tensor + 1).tolist() == (want * 2 + 1).tolist()
    assert kept() is tensor and deferred_of(tensor) is None


def test_nothing_reads_memory_that_is_not_there(path: str, F: Any) -> None:
    """Without __torch_function__, as C++ sees it."""
    torch = pytest.importorskip("torch")
    tensor = _deferred_tensor(F, path)
    with torch._C.DisableTorchFunctionSubclass():
        for read in (
            lambda: tensor.data_ptr(),
            lambda: tensor.numpy(),
            lambda: tensor.untyped_storage().data_ptr(),
            lambda: tensor.untyped_storage()[0],
            lambda: torch.utils.dlpack.to_dlpack(tensor),
            lambda: tensor.tolist(),
        ):
            with pytest.raises(RuntimeError):
                read()
    # An operator gets the pixels.
    want = F.to_tensor(rgb(path))
    with torch._C.DisableTorchFunctionSubclass():
        assert float(tensor.sum()) == float(want.sum())
    scripted = torch.jit.script(_twice)
    assert torch.equal(scripted(tensor), want * 2)


def _twice(x):  # type: ignore[no-untyped-def]
    return x * 2


def test_a_given_tensor_is_the_same_object(path: str, F: Any) -> None:
    torch = pytest.importorskip("torch")
    batch = torch.rand(2, 3, 44, 60)
    leaf = _deferred_tensor(F, path)
    made = deferred_of(leaf).give(batch[1])
    assert made is leaf and type(leaf) is torch.Tensor
    assert leaf.data_ptr() == batch[1].data_ptr()
    assert torch.equal(leaf, batch[1])


def test_scripted_transforms_compile(path: str, F: Any) -> None:
    """The hooks are not in their way."""
    torch = pytest.importorskip("torch")
    T = pytest.importorskip("torchvision.transforms")
    Recorder().run(len, "")
    chain = torch.nn.Sequential(
        T.CenterCrop(20), T.Normalize([0.5] * 3, [0.2] * 3), T.GaussianBlur(3)
    )
    want = F.to_tensor(rgb(path))
    torch.manual_seed(1)
    a = chain(want)
    torch.manual_seed(1)
    assert torch.equal(torch.jit.script(chain)(want), a)


def test_nothing_is_left_behind(path: str, F: Any) -> None:
    recorder = Recorder()
    needs.deferred_tensors()

    leaf = recorder.run(lambda: F.to_tensor(rgb(path)))
    source = deferred_of(leaf).source
    deferred_of(leaf).real()
    del leaf
    recorder.run(len, "")
    gc.collect()
    assert not [
        o
        for o in gc.get_referrers(source)
        if type(o) is not list and not inspect.isframe(o)
    ]


def test_what_torch_makes_like_a_deferred_image(path: str) -> None:
    """After a function that touches the image: of its class, and usable."""
    torch = pytest.importorskip("torch")
    v2 = pytest.importorskip("torchvision.transforms.v2.functional")
    if not hasattr(v2, "to_image"):
        pytest.skip("this torchvision has no v2")

    def program() -> Any:
        made = v2.adjust_gamma(v2.to_image(Image.open(path)), 1.3)
        return made, made + 1, made.flip(-1), torch.stack([made, made])

    for ours, theirs in zip(Recorder().run(program), program()):
        assert type(ours) is type(theirs)
        assert torch.equal(ours, theirs)
