# SPDX-License-Identifier: Apache-2.0
"""Images as they were opened pass for those of Pillow's class: their
attributes, their `with`, switches of Pillow's that change, other threads."""

from __future__ import annotations

import copy
import io
import os
import pickle
import resource
import threading
import warnings
from pathlib import Path
from typing import Any, Callable, Dict, List

import images
import pytest

Image = images.Image

from feedline.deferred import Recorder, deferred_of  # noqa: E402
from feedline.deferred import image_source  # noqa: E402
from PIL import ImageFile, JpegImagePlugin, PngImagePlugin  # noqa: E402

KINDS = {
    "JPEG": JpegImagePlugin.JpegImageFile,
    "PNG": PngImagePlugin.PngImageFile,
}


@pytest.fixture(params=KINDS)
def file(request: Any, tmp_path: Path) -> str:
    path = tmp_path / "a"
    exif = Image.Exif()
    exif[0x0112] = 3
    images.picture((60, 44)).save(path, request.param, exif=exif)
    return str(path)


@pytest.fixture
def jpeg(tmp_path: Path) -> str:
    path = tmp_path / "a.jpg"
    path.write_bytes(images.encoded((60, 44)))
    return str(path)


# ---- The class and its attributes -------------------------------------------

WAYS: Dict[str, Callable[[str], Any]] = {
    "path": Image.open,
    "file": lambda path: Image.open(open(path, "rb")),
    "bytes": lambda path: Image.open(io.BytesIO(Path(path).read_bytes())),
}
ASKED = (
    "format format_description filename mode size width height info readonly "
    "tile decoderconfig app applist quantization layers layer bits icclist "
    "text n_frames is_animated custom_mimetype is_animated private_chunks "
    "nothing fp.read get_format_mimetype _getexif tell getbands getexif"
).split()


def asked(image: Any, name: str) -> Any:
    """An attribute, or what a method returns."""
    try:
        for part in name.split("."):
            image = getattr(image, part)
        found = image() if callable(image) else image
        return dict(found) if hasattr(found, "get_ifd") else found
    except AttributeError as error:
        return type(error)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", ASKED)
def test_attributes_are_the_real_ones(file: str, way: str, name: str) -> None:
    get = WAYS[way]

    def program() -> Any:
        image = get(file)
        found = asked(image, name)
        if name == "fp.read":  # which leaves nothing to decode
            return found
        return found, image.resize((9, 8)).tobytes()

    assert Recorder().run(program) == program()


def test_it_is_of_pillows_class(file: str) -> None:
    kind = type(Image.open(file))

    def program() -> Any:
        image = Image.open(file)
        assert isinstance(image, kind)
        assert sum(isinstance(image, one) for one in KINDS.values()) == 1
        assert type(image).__name__ == kind.__name__
        assert type(image).__module__ == kind.__module__
        small = image.resize((9, 8))
        assert not isinstance(small, ImageFile.ImageFile)
        assert small.format is None and not hasattr(small, "filename")
        return image

    recorder = Recorder()
    image = recorder.run(program)
    assert deferred_of(image) is not None and not recorder.touches
    assert type(deferred_of(image).real()) is kind


def test_what_is_given_is_as_from_a_pickle(file: str) -> None:
    """A sample that is the image as it was opened."""
    true = pickle.loads(pickle.dumps(Image.open(file)))
    image = Recorder().run(Image.open, file)
    deferred_of(image).give(true.tobytes())
    assert type(image) is type(true)
    for name in ("format", "mode", "size", "info", "filename", "tile", "layer"):
        assert getattr(image, name, None) == getattr(true, name, None)
    assert image.tobytes() == true.tobytes() and image == true


def test_tiles_that_are_changed_are_read_so(jpeg: str) -> None:
    def program() -> Any:
        image = Image.open(jpeg)
        image.tile = []
        return image.convert("L").tobytes()

    assert warned(lambda: Recorder().run(program)) == warned(program)


def test_lists_of_an_image_are_its_own(jpeg: str) -> None:
    def program() -> Any:
        image = Image.open(jpeg)
        image.quantization[0][:] = [1] * 64
        image.applist.append(("mine", b""))
        image.mine = 5
        assert image.quantization[0][3] == 1 and image.mine == 5
        out = io.BytesIO()
        image.save(out, "JPEG", qtables=image.quantization)
        return image.applist[-1], out.getvalue(), Image.open(jpeg).quantization

    assert Recorder().run(program) == program()


def test_behind_its_with_it_is_closed(file: str) -> None:
    def used() -> Any:
        with Image.open(file) as image:
            small = image.convert("L")
        return small.tobytes(), image.size, image.resize((9, 8)).tobytes()

    def unused() -> Any:
        with Image.open(file) as image:
            size = image.size
        return size, image.size, warned(lambda: image.resize((9, 8)))

    for program in (used, unused):
        assert Recorder().run(program) == program()


# ---- Switches of Pillow's ----------------------------------------------------


def warned(program: Callable[[], Any]) -> Any:
    """What it returns or raises, and warns of."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        warnings.simplefilter("ignore", ResourceWarning)
        try:
            found = program()
        except Exception as error:
            found = type(error), str(error)
    return found, [(one.category, str(one.message)) for one in caught]


@pytest.mark.parametrize("limit", [None, 60 * 44, 60 * 44 - 1, 500, 100])
def test_a_limit_that_is_set_later(
    jpeg: str, limit: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def whole() -> Any:
        return Image.open(jpeg).convert("RGB").tobytes()

    def crop() -> Any:
        image = Image.open(jpeg)
        Image.MAX_IMAGE_PIXELS = limit
        return image.crop((0, 0, 40, 40)).tobytes()

    recorder = Recorder()
    before = Image.MAX_IMAGE_PIXELS
    for program in (whole, crop):
        found = []
        for run in (lambda: recorder.run(program), program):
            Image.MAX_IMAGE_PIXELS = before
            recorder.run(whole)  # its header is known
            if program is whole:
                Image.MAX_IMAGE_PIXELS = limit
            try:
                found.append(warned(run))
            finally:
                Image.MAX_IMAGE_PIXELS = before
        assert found[0] == found[1]


def test_text_that_is_limited_later(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, text = tmp_path / "a.png", PngImagePlugin.PngInfo()
    text.add_text("Comment", "x" * 5000, zip=True)
    images.picture((9, 8)).save(path, pnginfo=text)

    def program() -> Any:
        return Image.open(path).convert("L").tobytes()

    recorder = Recorder()
    assert recorder.run(program) == program()
    monkeypatch.setattr(PngImagePlugin, "MAX_TEXT_CHUNK", 100)
    found = [warned(program), warned(lambda: recorder.run(program))]
    assert found[0] == found[1] and found[0][0][0] is ValueError


def test_another_opener_that_is_registered_later(jpeg: str) -> None:
    class Mine(JpegImagePlugin.JpegImageFile):
        pass

    recorder = Recorder()
    recorder.run(Image.open, jpeg)
    before = Image.OPEN["JPEG"]
    Image.register_open("JPEG", Mine, before[1])
    try:
        found = recorder.run(lambda: isinstance(Image.open(jpeg), Mine))
    finally:
        Image.OPEN["JPEG"] = before
    assert found


def test_truncated_files_that_are_allowed_later(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a.jpg"
    path.write_bytes(images.encoded((160, 120))[:2500])

    def program() -> Any:
        image = Image.open(path)
        ImageFile.LOAD_TRUNCATED_IMAGES = True
        try:
            return image.convert("RGB").tobytes()
        finally:
            ImageFile.LOAD_TRUNCATED_IMAGES = False

    recorder = Recorder()
    with pytest.raises(OSError):
        recorder.run(lambda: Image.open(path).tobytes())
    assert recorder.run(program) == program()


# ---- Files -------------------------------------------------------------------


def test_a_kept_image_whose_file_has_changed(
    jpeg: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No pixels of another file, ever; gone ones are an error in words."""
    monkeypatch.setattr(image_source, "YOUNG_NS", 0)
    for use in (lambda im: im.getpixel((0, 0)), lambda im: im.tobytes()):
        for get in (Image.open, lambda path: Image.open(path).convert("L")):
            kept = Recorder().run(get, jpeg)
            Path(jpeg).write_bytes(images.encoded((60, 44), seed=9))
            with pytest.raises(OSError, match="another file than"):
                use(kept)
            kept = Recorder().run(get, jpeg)
            Path(jpeg).unlink()
            with pytest.raises(FileNotFoundError):
                use(kept)
            Path(jpeg).write_bytes(images.encoded((60, 44)))


def test_hundreds_of_files(tmp_path: Path) -> None:
    """More than may be open at a time."""
    files = [str(tmp_path / ("%d.png" % n)) for n in range(300)]
    for n, path in enumerate(files):
        Image.new("L", (4, 3), n % 256).save(path)

    def program() -> Any:
        small = [Image.open(path) for path in files]
        return [image.getpixel((1, 1)) for image in small]

    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    few = len(os.listdir("/proc/self/fd")) + 100
    resource.setrlimit(resource.RLIMIT_NOFILE, (few, before[1]))
    try:
        found = Recorder().run(program)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)
    assert found == program()


# ---- Threads -----------------------------------------------------------------


def test_many_threads_have_the_same_image(jpeg: str) -> None:
    """The run's own thread, too, which lets go of its files meanwhile."""
    ways: List[Callable[[Any], Any]] = [
        lambda image: image.convert("L").tobytes(),
        lambda image: image.resize((9, 8)).tobytes(),
        lambda image: image.quantization,
        lambda image: image.getexif().get(1),
        lambda image: image.getpixel((1, 2)),
        lambda image: image.crop((1, 2, 30, 30)).copy().tobytes(),
        lambda image: copy.copy(image).tobytes(),
    ]
    want = [way(Image.open(jpeg)) for way in ways]
    errors: List[Any] = []

    def use(image: Any, start: threading.Barrier, first: int) -> None:
        start.wait()
        for n in range(len(ways)):
            place = (first + n) % len(ways)
            try:
                assert ways[place](image) == want[place]
            except BaseException as error:
                errors.append(error)

    def program() -> Any:
        image = Image.open(jpeg)
        start = threading.Barrier(4)
        threads = [
            threading.Thread(target=use, args=(image, start, n))
            for n in (0, 2, 4)
        ]
        for thread in threads:
            thread.start()
        use(image, start, 5)
        return threads

    for _ in range(40):
        for thread in Recorder().run(program):
            thread.join()
        assert not errors, errors[0]
