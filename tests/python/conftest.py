# SPDX-License-Identifier: Apache-2.0
"""What the Python tests share: the package under test, its library, images.

The package is that of this checkout, with the library that FEEDLINE_LIBRARY
names, else with the newest one that was built here. With
FEEDLINE_TEST_INSTALLED=1 it is what the interpreter has installed, as the user
of a wheel has it. Children of a test inherit the choice through their
environment.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any, Callable, Iterator, List, Optional

import pytest

ROOT = Path(__file__).resolve().parents[2]
HERE = str(Path(__file__).resolve().parent)


def built_libraries() -> List[Path]:
    """Every libfeedline.so of a build folder in this checkout."""
    return [
        path
        for folder in sorted(ROOT.glob("build*"))
        for path in folder.glob("**/libfeedline.so*")
        if path.is_file()
    ]


def newest_library() -> Optional[Path]:
    """The library that was linked last; None where nothing was built."""
    return max(built_libraries(), key=lambda p: p.stat().st_mtime, default=None)


def choose_package() -> str:
    """Makes `import feedline` find what is to be tested; says what it is."""
    if HERE not in sys.path:
        sys.path.insert(0, HERE)  # helpers that tests import by name
    sys.path.append(str(ROOT / "tests" / "decode" / "ops"))  # ops_parity
    if os.environ.get("FEEDLINE_TEST_INSTALLED") == "1":
        return "installed"
    package = str(ROOT / "python")
    sys.path.insert(0, package)
    old = os.environ.get("PYTHONPATH")
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, (package, old)))
    if not os.environ.get("FEEDLINE_LIBRARY"):
        newest = newest_library()
        if newest:
            os.environ["FEEDLINE_LIBRARY"] = str(newest)
    return os.environ.get("FEEDLINE_LIBRARY") or "the system's library"


CHOSEN = choose_package()


def pytest_report_header() -> str:
    return "feedline: " + CHOSEN


@pytest.fixture(scope="session")
def image_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder per class as ImageFolder wants it: 3 classes of 8 photos.

    JPEG files with sizes of their own, between 64 and 160 pixels a side. Read
    only: a test that changes files makes its own.
    """
    images = pytest.importorskip("images")
    root = tmp_path_factory.mktemp("images")
    images.make_folder(root, classes=3, per_class=8, size=None)
    return root


@pytest.fixture
def no_proxy(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """For servers of this machine; and no index of another test."""
    monkeypatch.setenv("no_proxy", "127.0.0.1,localhost")
    monkeypatch.setenv("FEEDLINE_CACHE_DIR", str(tmp_path / "cache"))


@pytest.fixture(scope="module")
def shards(
    image_folder: Path, tmp_path_factory: pytest.TempPathFactory
) -> Path:
    """The images in three tar files, and as they are."""
    remote_sets = pytest.importorskip("remote_sets")
    made: Path = remote_sets.make_shards(
        image_folder, tmp_path_factory.mktemp("shards")
    )
    return made


@pytest.fixture(scope="module")
def address(shards: Path) -> Iterator[str]:
    """Of a server that has them, and fails on demand."""
    import web_servers

    with web_servers.faults(shards) as found:
        yield found


@pytest.fixture()
def known_only(monkeypatch: pytest.MonkeyPatch) -> None:
    """What feedline does not know is torch's, as where pixels cannot wait."""
    proof = pytest.importorskip("feedline.torch.recorded_proof")

    def refuse(*unused: Any) -> Any:
        raise proof.NotNative()

    monkeypatch.setattr(proof.Recording, "plan", refuse)


@pytest.fixture(scope="module")
def dataset(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """torchvision's ImageFolder of 24 images; its transforms draw nothing."""
    cases = pytest.importorskip("torch_cases")
    return cases.folder(tmp_path_factory.mktemp("plain") / "images")


@pytest.fixture(scope="module")
def drawn(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """The same with transforms that draw."""
    cases = pytest.importorskip("torch_cases")
    root = tmp_path_factory.mktemp("drawn") / "images"
    return cases.folder(root, cases.augmented())


@pytest.fixture(scope="module")
def samples(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Files of every kind that the engine reads, and labels, for replay.py."""
    for needed in ("numpy", "torchvision"):
        pytest.importorskip(needed)
    replay = pytest.importorskip("replay")
    return replay.make_samples(tmp_path_factory.mktemp("pixels"))


@pytest.fixture
def make(image_folder: Path) -> Iterator[Callable[..., Any]]:
    """Makes loaders with six batches of four in an epoch, on two workers; they
    are closed behind the test."""
    import feedline

    made: List[Any] = []

    def loader(**options: Any) -> Any:
        pipeline = feedline.Pipeline().add("resize", width=16, height=16)
        options = {"batch_size": 4, "workers": 2, **options}
        data = feedline.Dataset.open("folder:%s" % image_folder)
        made.append(feedline.Loader(data, pipeline, **options))
        return made[-1]

    yield loader
    for one in made:
        one.close()


@pytest.fixture(scope="session")
def real_images() -> Path:
    """The folder of real photos, where this machine has one."""
    named = os.environ.get("FEEDLINE_TEST_IMAGES")
    folder = Path(named) if named else ROOT.parent / "shared" / "data"
    if not folder.is_dir():
        pytest.skip("no real images: %s is no folder" % folder)
    return folder
