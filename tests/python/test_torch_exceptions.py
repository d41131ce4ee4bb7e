# SPDX-License-Identifier: Apache-2.0
"""Exceptions that a program may catch from torch's loader come from ours with
the same type, or one below it, and the same contents: errno, filename, args."""

from __future__ import annotations

import copy
import os
import pickle
import re
import warnings
from pathlib import Path
from typing import Any, Callable, Dict

import pytest

from torch_cases import Ours, T, Theirs, events, folder, torch

import feedline
from feedline.transforms import PIL
from images import encoded
from PIL import Image
from torchvision.datasets import ImageFolder

PATH = "class_1/image_001.jpg"  # sample 5 of 8
BAD = 5
KEYS = {0: "zero"}


def of_files(
    change: Callable[[Path], None]
) -> Callable[[Path], Dict[str, Any]]:
    def make(root: Path) -> Dict[str, Any]:
        data = folder(root, classes=2, per_class=4)
        change(root / PATH)
        return {"dataset": data, "batch_size": 2}

    return make


def a_folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


def a_loop(path: Path) -> None:
    path.unlink()
    path.symlink_to(path.name)


def below_a_file(path: Path) -> None:
    os.rename(path.parent, str(path.parent) + "_away")
    path.parent.write_bytes(b"")


def forbidden(path: Path) -> None:
    if os.getuid() == 0:
        pytest.skip("root may read everything")
    path.chmod(0)


def cut(path: Path) -> None:
    whole = encoded((200, 200), seed=3)
    path.write_bytes(whole[: len(whole) // 3])


def cut_png(path: Path) -> None:
    whole = encoded((200, 200), seed=3, kind="PNG")
    path.write_bytes(whole[: len(whole) // 2])


def huge(path: Path) -> None:
    """More pixels than Pillow accepts, in few bytes."""
    Image.new("1", (20000, 10000)).save(path, "PNG")


def large(path: Path) -> None:
    """More than it does without a warning."""
    Image.new("1", (10000, 10000)).save(path, "PNG")


def with_transform(*transforms: Any, **of_set: Any) -> Any:
    def make(root: Path) -> Dict[str, Any]:
        data = folder(root, classes=2, per_class=4)
        chain = T.Compose([T.Resize((8, 8)), *transforms, T.ToTensor()])
        data = ImageFolder(data.root, chain, **of_set)
        return {"dataset": data, "batch_size": 2}

    return make


def raising(error: BaseException) -> Any:
    def function(value: Any) -> Any:
        raise copy.copy(error)

    return function


class Own(Exception):
    def __init__(self, code: int, where: str) -> None:
        super().__init__(code, where)
        self.code = code
        self.where = where


def with_order(**arguments: Any) -> Any:
    def make(root: Path) -> Dict[str, Any]:
        return {"dataset": folder(root, classes=2, per_class=4), **arguments}

    return make


class Sampler:
    def __init__(self, error: BaseException) -> None:
        self.error = error

    def __iter__(self) -> Any:
        yield 0
        raise self.error


CASES: Dict[str, Callable[[Path], Dict[str, Any]]] = {
    "missing": of_files(Path.unlink),
    "folder": of_files(a_folder),
    "loop": of_files(a_loop),
    "below a file": of_files(below_a_file),
    "forbidden": of_files(forbidden),
    "empty": of_files(lambda path: path.write_bytes(b"") and None),
    "text": of_files(lambda path: path.write_bytes(b"text" * 99) and None),
    "cut": of_files(cut),
    "cut PNG": of_files(cut_png),
    "huge": of_files(huge),
    **{
        f"label {type(error).__name__}": with_transform(
            target_transform=raising(error)
        )
        for error in (
            KeyError("key"),
            IndexError(3),
            ValueError("value", 3),
            OSError(5, "Input/output error", "labels.txt"),
            ZeroDivisionError(),
            AssertionError("label"),
            MemoryError(),
            Own(3, "here"),
        )
    },
    "label lookup": with_transform(target_transform=KEYS.__getitem__),
    **{
        f"transform {type(error).__name__}": with_transform(PIL(raising(error)))
        for error in (
            KeyError("key"),
            ValueError("value", 3),
            OSError(5, "Input/output error", "lut.bin"),
            AssertionError("image"),
            FileNotFoundError(2, "No such file or directory", "a", None, "b"),
            UnicodeDecodeError("ascii", b"abc", 1, 2, "why"),
            RuntimeError("now"),
        )
    },
    "index": with_order(sampler=[0, 1, 99], batch_size=1),
    "index -99": with_order(sampler=[0, -99], batch_size=1),
    "index text": with_order(sampler=[0, "a"], batch_size=1),
    "index none": with_order(sampler=[0, None], batch_size=1),
    "index float": with_order(batch_sampler=[[0, 1], [1.5]]),
    "batch": with_order(batch_sampler=[[0, 1], 3]),
    "sampler ValueError": with_order(sampler=Sampler(ValueError("order"))),
    "sampler KeyError": with_order(sampler=Sampler(KeyError("order"))),
    "sampler is none": with_order(sampler=3),
    "sizes": lambda root: {
        "dataset": folder(
            root, T.Compose([T.ToTensor()]), size=None, classes=2, per_class=4
        ),
        "batch_size": 4,
    },
    "images": lambda root: {
        "dataset": folder(root, T.Compose([T.Resize((8, 8))])),
        "batch_size": 4,
    },
    "workers": with_order(num_workers=-1),
    "workers text": with_order(num_workers="3"),
    "prefetch": with_order(prefetch_factor=0, num_workers=1),
    "timeout": with_order(timeout=-1),
    "batch size": with_order(batch_size=0),
    "batch size text": with_order(batch_size="4"),
    "both": with_order(shuffle=True, sampler=[1]),
    "batches twice": with_order(batch_sampler=[[1]], drop_last=True),
    "context": with_order(multiprocessing_context="none", num_workers=1),
    "persistent": with_order(persistent_workers=True, num_workers=0),
    "collate": with_order(collate_fn=raising(KeyError("collate"))),
    "collate None": with_order(collate_fn=3),
    "generator": with_order(shuffle=True, generator=3),
    "argument": with_order(unknown=3),
    "pin": with_order(pin_memory_device="nowhere", pin_memory=True),
}
if torch.__version__.startswith("1."):
    del CASES["pin"]  # which fails there in other words


def first_error(loader: Any, arguments: Dict[str, Any], **more: Any) -> Any:
    """Of making a loader and of an epoch; whether it was native."""
    made: Any = None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            made = loader(**{**more, **arguments})
            found = [e for e in events(made) if isinstance(e, BaseException)]
            return (found or [None])[0], getattr(made, "native", False)
    except Exception as error:
        return error, False


def contents(error: Any) -> Dict[str, Any]:
    names = "errno strerror filename filename2 code where encoding object start"
    found = {
        name: getattr(error, name)
        for name in (names + " end reason").split()
        if hasattr(error, name)
    }
    # Pillow names the file object, and torch where in its workers it was.
    args = [re.sub(r"<.*|( |\n).*", "", str(one)) for one in error.args]
    return {**found, "args": args}


@pytest.mark.parametrize("workers", [0, 2])
@pytest.mark.parametrize("case", CASES)
def test_as_torchs(tmp_path: Path, case: str, workers: int) -> None:
    arguments = CASES[case](tmp_path / "images")
    arguments.setdefault("num_workers", workers)
    theirs, _ = first_error(Theirs, arguments)
    ours, native = first_error(Ours, arguments)
    if native:
        # torch has to make the exceptions of its workers anew, and loses much.
        theirs, _ = first_error(Theirs, {**arguments, "num_workers": 0})
    assert isinstance(ours, type(theirs)), (ours, theirs)
    has = contents(ours) if theirs else {}
    for name, value in contents(theirs).items() if theirs else ():
        assert has[name] == value, (name, has, value)
    if isinstance(ours, feedline.Error):
        assert ours.path and ours.path in str(ours)
        assert type(ours.__cause__) is type(theirs)


@pytest.mark.parametrize(
    "case", ["missing", "text", "transform OSError", "transform KeyError"]
)
def test_copies(tmp_path: Path, case: str) -> None:
    """Processes send exceptions to each other by pickle."""
    error, _ = first_error(Ours, CASES[case](tmp_path / "images"))
    for again in (pickle.loads(pickle.dumps(error)), copy.copy(error)):
        assert type(again) is type(error) and str(again) == str(error)
        assert contents(again) == contents(error)
        assert (again.status, again.path) == (error.status, error.path)


def test_warnings_that_are_errors(tmp_path: Path) -> None:
    arguments = of_files(large)(tmp_path / "images")
    with warnings.catch_warnings():
        warnings.simplefilter("error", Image.DecompressionBombWarning)
        theirs = events(Theirs(**arguments))
        ours = events(Ours(**arguments))
    found = [isinstance(one, Image.DecompressionBombWarning) for one in theirs]
    assert found == [False, False, True, False]
    assert isinstance(ours[2], Image.DecompressionBombWarning)
    assert str(tmp_path / "images" / PATH) in str(ours[2])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert not any(
            isinstance(e, Exception) for e in events(Ours(**arguments))
        )


def test_the_ends_of_iterators_do_not_end_an_epoch(tmp_path: Path) -> None:
    make = with_transform(PIL(raising(StopIteration(3))))
    loader = Ours(**make(tmp_path / "images"))
    with pytest.raises(feedline.UserError) as caught:
        next(iter(loader))
    assert isinstance(caught.value.__cause__, StopIteration)


# ---- Without torch -----------------------------------------------------------

OF_CORE = {
    Path.unlink: FileNotFoundError,
    a_folder: IsADirectoryError,
    below_a_file: NotADirectoryError,
    a_loop: OSError,
}


@pytest.mark.parametrize("change", OF_CORE)
def test_of_the_engine(tmp_path: Path, change: Any) -> None:
    folder(tmp_path / "images", classes=2, per_class=4)
    photos = feedline.Dataset.open("folder:%s" % (tmp_path / "images"))
    path = tmp_path / "images" / PATH
    names = [photos.path(i) for i in range(len(photos))]
    change(path)
    with feedline.Loader(
        photos, feedline.Pipeline("none").add("resize", width=8, height=8)
    ) as loader:
        with pytest.raises(OSError) as caught:
            for _ in loader:
                pass
    error: Any = caught.value
    with pytest.raises(OSError) as wanted:
        open(error.path, "rb")
    assert error.path in names and isinstance(error, feedline.Error)
    assert isinstance(error, OF_CORE[change])
    assert isinstance(error, type(wanted.value))
    assert contents(error) == contents(wanted.value)
    assert error.path in str(error)


def test_of_a_source(tmp_path: Path) -> None:
    """What read() of an object of the program's raised."""

    class Source:
        def __len__(self) -> int:
            return 4

        def read(self, i: int) -> bytes:
            if i == 2:
                raise Own(3, "here")
            return encoded((24, 20))

    made = feedline.Dataset.source(Source())
    with feedline.Loader(made, feedline.Pipeline("train")) as loader:
        with pytest.raises(Own) as caught:
            for _ in loader:
                pass
    assert isinstance(caught.value, feedline.UserError)
    assert (caught.value.code, caught.value.where) == (3, "here")
