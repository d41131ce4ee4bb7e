# SPDX-License-Identifier: Apache-2.0
"""What becomes of a file of each kind, at each door: as docs/pixels.md says.

The table of that page is what is tested: its rows say "read", "error", or "by
Pillow". Whatever is read has Pillow's pixels.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
from pathlib import Path
from typing import Any, Dict, List, Optional, Tuple

import pytest

np = pytest.importorskip("numpy")
Image = pytest.importorskip("PIL.Image")

import feedline  # noqa: E402
from file_kinds import KINDS, SIDE, write  # noqa: E402

PAGE = Path(__file__).resolve().parents[2] / "docs" / "pixels.md"
TOOL = Path(os.environ.get("FEEDLINE_LIBRARY", "")).parent.joinpath(
    "bench", "loaderbench", "loaderbench"
)


def rows() -> List[List[str]]:
    """The cells of each row: file, core, feedline.torch, scan."""
    text = PAGE.read_text()
    found = re.search("<!-- kinds: begin -->\n(.*)<!-- kinds: end", text, re.S)
    assert found
    lines = found.group(1).splitlines()[2:]
    return [[c.strip() for c in line.split("|")[1:5]] for line in lines]


def row_of(kinds: str) -> List[str]:
    (row,) = [r for r in rows() if r[0].startswith(kinds)]
    return row


EACH = [
    pytest.param(row, kind, id="%s %s" % (row.strip(":"), kind[0]))
    for row, found in KINDS.items()
    for kind in found
]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "a").mkdir()
    return tmp_path


def by_pillow(path: Path) -> Optional[Any]:
    """Its pixels; None: it raises."""
    if path.is_fifo():
        return None
    try:
        with Image.open(path) as image:
            return np.asarray(image.convert("RGB"))
    except Exception:  # anything
        return None


def by_core(root: Path) -> Any:
    data = feedline.Dataset.open("folder:%s" % root)
    options = dict(batch_size=1, epochs=1, dtype="u8", layout="nhwc")
    options["max_sample_bytes"] = 1 << 20
    with feedline.Loader(data, feedline.Pipeline(), **options) as loader:
        return next(iter(loader)).image(0)


def test_each_row_is_tried() -> None:
    assert sorted(row[0] for row in rows()) == sorted(
        row_of(kinds)[0] for kinds in KINDS
    )


@pytest.mark.parametrize("row, kind", EACH)
def test_core(root: Path, row: str, kind: Tuple[Any, ...]) -> None:
    path = write(root / "a", kind)
    if row_of(row)[1] == "read":
        assert (by_core(root) == by_pillow(path)).all()
        return
    assert row_of(row)[1] == "error"
    with pytest.raises(feedline.Error, match=re.escape(str(path))) as raised:
        by_core(root)
    assert len(str(raised.value)) > len(str(path)) + 10


@pytest.mark.filterwarnings("ignore:torch loads the samples")
@pytest.mark.parametrize("row, kind", EACH)
def test_torch(root: Path, row: str, kind: Tuple[Any, ...]) -> None:
    torch = pytest.importorskip("torch")
    transforms = pytest.importorskip("torchvision.transforms")
    datasets = pytest.importorskip("torchvision.datasets")
    import feedline.torch

    path = write(root / "a", kind)
    chain = transforms.Compose(
        [transforms.CenterCrop(SIDE), transforms.PILToTensor()]
    )
    data = datasets.ImageFolder(str(root), chain)
    want, door = by_pillow(path), row_of(row)[2]
    assert door.split(",")[0] in ("read", "by Pillow", "error")
    if door.startswith("error"):
        assert want is None
    elif "if" not in door:
        assert want is not None
    loader = feedline.torch.DataLoader(data, batch_size=1)
    assert loader.native == (path.suffix not in (".bmp", ".ppm", ".tif"))
    if want is not None:
        images, _ = next(iter(loader))
        assert (images[0].permute(1, 2, 0).numpy() == want).all()
        return
    with pytest.raises(feedline.Error, match=re.escape(str(path))) as raised:
        next(iter(loader))
    if path.is_fifo():
        return  # which torch's loader waits for
    with pytest.raises(Exception) as theirs:
        next(iter(torch.utils.data.DataLoader(data)))
    assert isinstance(raised.value, theirs.type)


# ---- The tool, over all of them ---------------------------------------------


def tool(*arguments: Any) -> Tuple[int, Dict[str, Any]]:
    """Its status, and the document that it writes."""
    if not TOOL.exists():
        pytest.skip("no loaderbench beside the library")
    run = subprocess.run(
        [str(TOOL), *map(str, arguments), "--json", "-"],
        capture_output=True,
        text=True,
        env=dict(os.environ, FEEDLINE_CACHE_DIR="off"),
    )
    return run.returncode, json.loads(run.stdout)


@pytest.fixture
def everything(root: Path) -> Tuple[Path, Dict[str, List[str]]]:
    """A folder of all kinds, and the names of their files by row."""
    named: Dict[str, List[str]] = {}
    for row, kinds in KINDS.items():
        paths = [write(root / "a", kind) for kind in kinds]
        named[row] = ["a/%s" % path.name for path in paths]
    return root, named


def refused(named: Dict[str, List[str]]) -> List[str]:
    return sorted(
        name
        for row, names in named.items()
        for name in names
        if row_of(row)[1] == "error"
    )


def test_scan(everything: Tuple[Path, Dict[str, List[str]]]) -> None:
    root, named = everything
    status, found = tool("scan", "folder:%s" % root, "--show=99")
    want: Dict[str, List[str]] = {}
    for row, names in named.items():
        kind = row_of(row)[3].strip("`")
        if kind:
            want.setdefault(kind, []).extend(names)
    got = {
        finding["kind"]: [sample["name"] for sample in finding["samples"]]
        for finding in found["findings"]
        if finding["level"] == "error"
    }
    assert {k: sorted(v) for k, v in got.items()} == {
        k: sorted(v) for k, v in want.items()
    }
    assert status == 3
    assert found["samples"] - found["usable"] == len(refused(named))


def test_run(everything: Tuple[Path, Dict[str, List[str]]]) -> None:
    root, named = everything
    uri = "folder:%s" % root
    status, found = tool("run", uri, "--epochs=1", "--on-error=zero")
    names = sorted(
        os.path.relpath(failure["path"], root) for failure in found["failures"]
    )
    assert (status, names) == (0, refused(named))


@pytest.mark.parametrize("options", [[], ["--store=packed"], ["--format=jpeg"]])
def test_pack(
    everything: Tuple[Path, Dict[str, List[str]]],
    options: List[str],
    tmp_path: Path,
) -> None:
    """What is left out of shards."""
    root, named = everything
    out = tmp_path / "out.txt"
    status, found = tool(
        "pack",
        "folder:%s" % root,
        tmp_path / "shards",
        "--on-error=skip",
        "--quarantine=%s" % out,
        *options,
    )
    lines = out.read_text().splitlines()
    names = [line.split("\t")[0] for line in lines if line[0] != "#"]
    left = named["an empty"] + named["a link to nothing"]
    if "--format=jpeg" in options:
        left = refused(named)
    assert (status, sorted(names)) == (0, sorted(left))


# ---- Folders ----------------------------------------------------------------


def test_a_folder_called_as_an_image(root: Path) -> None:
    (root / "a" / "x.jpg").mkdir()
    write(root / "a" / "x.jpg", KINDS["PNG"][0])
    data = feedline.Dataset.open("folder:%s" % root)
    assert [data.path(i) for i in range(len(data))] == [
        str(root / "a/x.jpg/usual.png")
    ]


def test_a_link_to_a_folder_that_contains_it(root: Path) -> None:
    datasets = pytest.importorskip("torchvision.datasets")
    import feedline.torch

    write(root / "a", KINDS["PNG"][0])
    (root / "a" / "loop").symlink_to(".")
    with pytest.raises(feedline.InvalidArgument, match="a/loop/: links back"):
        feedline.Dataset.open("folder:%s" % root)
    theirs = datasets.ImageFolder(str(root))
    assert 30 < len(theirs) < 50
    ours = feedline.torch.DataLoader(theirs, collate_fn=len)
    assert len(ours) == len(theirs)
