# SPDX-License-Identifier: Apache-2.0
"""Dataset.huggingface: the stream of the same images in a folder."""

from __future__ import annotations

import os
import pickle
import shutil
from pathlib import Path
from typing import Any, Callable, Dict, List

import pytest

os.environ.setdefault("HF_HUB_OFFLINE", "1")
images = pytest.importorskip("images")
streams = pytest.importorskip("streams", reason="no numpy")
hf = pytest.importorskip("datasets", reason="no Hugging Face datasets")
pa = pytest.importorskip("pyarrow")

import cuts  # noqa: E402
import feedline  # noqa: E402
from feedline import InvalidArgument  # noqa: E402

hf.disable_progress_bars()
from_hf = feedline.Dataset.huggingface
CLASSES = ["class_0", "class_1", "class_2"]
LABELS = [i // 8 for i in range(24)]
EMBED = r"embed_table_storage, batched=True\)"


def features(**more: Any) -> Any:
    label = hf.ClassLabel(names=CLASSES)
    return hf.Features({"image": hf.Image(), "label": label, **more})


def of_bytes(paths: List[str]) -> Any:
    rows = [{"bytes": Path(path).read_bytes(), "path": None} for path in paths]
    columns = {"image": rows, "label": LABELS}
    return hf.Dataset.from_dict(columns, features=features())


def of_paths(paths: List[str]) -> Any:
    columns = {"image": paths, "label": LABELS}
    return hf.Dataset.from_dict(columns, features=features())


@pytest.fixture(scope="module")
def paths(image_folder: Path) -> List[str]:
    return images.paths_of(image_folder)


@pytest.fixture(scope="module")
def made(
    paths: List[str], tmp_path_factory: pytest.TempPathFactory
) -> Dict[str, Any]:
    """The same images in every way that `datasets` has them."""
    root = tmp_path_factory.mktemp("arrow")
    memory, files = of_bytes(paths), of_paths(paths)
    memory.save_to_disk(str(root / "saved"), num_shards=3)
    saved = hf.load_from_disk(str(root / "saved"))
    cached = memory.map(
        lambda rows: rows,
        batched=True,
        cache_file_name=str(root / "cached it.arrow"),
        writer_batch_size=5,
        new_fingerprint="one",
    )
    parts = [saved.select(range(9)), of_paths(paths).select(range(9, 24))]
    return {
        "in memory": memory,
        "by paths": files,
        "saved": saved,
        "saved, read into memory": hf.load_from_disk(
            str(root / "saved"), keep_in_memory=True
        ),
        "cached": cached,
        "files and paths": hf.concatenate_datasets(parts),
        "files and memory": hf.concatenate_datasets(
            [saved.select(range(9)), memory.select(range(9, 24))]
        ),
    }


KINDS = [
    "in memory",
    "by paths",
    "saved",
    "saved, read into memory",
    "cached",
    "files and paths",
    "files and memory",
]


@pytest.mark.parametrize("kind", KINDS)
def test_the_stream_of_the_folder(
    made: Dict[str, Any], kind: str, image_folder: Path
) -> None:
    whole = feedline.Dataset.open("folder:%s" % image_folder)
    ours = from_hf(made[kind])
    assert ours.classes == CLASSES
    in_files = not kind.endswith("memory")
    assert ours.path(10).startswith("memory:") != in_files
    streams.assert_same(ours, whole)
    copy = pickle.loads(pickle.dumps(ours))
    assert copy.classes == CLASSES
    assert streams.stream_hash(copy) == streams.stream_hash(whole)


def rearranged(ds: Any) -> Any:
    """`datasets` keeps this as a list of rows of the table."""
    some = ds.shuffle(seed=4).select(range(3, 22))
    some = some.filter(
        lambda row: row["label"] != 1, keep_in_memory=True, new_fingerprint="f"
    )
    return some.sort("label").shard(2, 1)


@pytest.mark.parametrize("kind", KINDS)
def test_rows_in_another_order(made: Dict[str, Any], kind: str) -> None:
    some = rearranged(made[kind])
    assert some._indices is not None
    rows = some.cast_column("image", hf.Image(decode=False))[:]
    data = [
        row["bytes"] or Path(row["path"]).read_bytes() for row in rows["image"]
    ]
    theirs = feedline.Dataset.memory(data, rows["label"])
    ours = from_hf(some)
    assert streams.stream_hash(ours, shuffle=True) == streams.stream_hash(
        theirs, shuffle=True
    )


def test_an_epoch_goes_on_in_another_form(
    made: Dict[str, Any], image_folder: Path
) -> None:
    """Saved from one, and gone on with from the other."""
    options = {"shuffle": True, "world": 2, "rank": 0}
    with streams.loader_of(from_hf(made["saved"]), **options) as loader:
        loader.next(), loader.next()
        saved = loader.save()
    whole = feedline.Dataset.open("folder:%s" % image_folder)
    found = streams.stream_hash(
        from_hf(made["cached"]), position=saved, **options
    )
    assert found == streams.resumed(whole, **options)


def test_a_file_that_was_replaced_is_read_from_memory(
    paths: List[str], tmp_path: Path
) -> None:
    of_bytes(paths).save_to_disk(str(tmp_path / "saved"))
    ds = hf.load_from_disk(str(tmp_path / "saved"))
    wanted = streams.stream_hash(from_hf(ds))
    (file,) = [Path(f["filename"]) for f in ds.cache_files]
    content = file.read_bytes()
    file.unlink()
    file.write_bytes(content[::-1])
    ours = from_hf(ds)
    assert ours.path(0) == "memory:0"
    assert streams.stream_hash(ours) == wanted


OPENED: Dict[str, Callable[[Path], Any]] = {
    "saved": lambda file: hf.load_from_disk(str(file.parent)),
    "cached": lambda file: hf.Dataset.from_file(str(file)),
}


@pytest.mark.parametrize("kind", OPENED)
def test_cut_anywhere(made: Dict[str, Any], tmp_path: Path, kind: str) -> None:
    """Before `datasets` opens it, once it is mapped, once it was looked at."""
    made["cached"].save_to_disk(str(tmp_path / "saved"))
    file = next((tmp_path / "saved").glob("*.arrow"))
    if kind == "cached":
        file = tmp_path / "cached.arrow"
        shutil.copy(made["cached"].cache_files[0]["filename"], file)
    opened = OPENED[kind]

    def before(cut: cuts.Cut) -> Any:
        cut()
        try:
            ds = opened(file)
        except (pa.ArrowException, OSError):
            return None
        return from_hf(ds)

    def mapped(cut: cuts.Cut) -> Any:
        ds = opened(file)
        cut()
        return from_hf(ds)

    def made_of(cut: cuts.Cut) -> Any:
        data = from_hf(opened(file))
        cut()
        return data

    cuts.check(file, before)
    cuts.check(file, mapped)
    cuts.check(file, made_of)


def test_columns(made: Dict[str, Any], paths: List[str]) -> None:
    saved = made["saved"]
    assert from_hf(saved, label=False).label(23) == 0
    assert from_hf(saved.remove_columns("label")).label(23) == 0
    number = saved.cast_column("label", hf.Value("int16"))
    assert from_hf(number).label(23) == 2 and from_hf(number).classes == []
    renamed = saved.rename_column("label", "kind")
    assert from_hf(renamed).label(23) == 2
    two = saved.add_column("more", LABELS[::-1])
    assert from_hf(two, label="more").label(23) == 0
    data = [Path(path).read_bytes() for path in paths]
    plain = hf.Dataset.from_dict(
        {"jpg": data}, hf.Features({"jpg": hf.Value("large_binary")})
    )
    ours = from_hf(plain, image="jpg")
    theirs = feedline.Dataset.memory(data)
    assert streams.stream_hash(ours) == streams.stream_hash(theirs)


def test_what_cannot_be(
    made: Dict[str, Any], paths: List[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    # A streamed set would import torch to be one of torch's.
    monkeypatch.setattr(hf.config, "TORCH_AVAILABLE", False)
    saved = made["saved"]
    names = hf.ClassLabel(names=CLASSES)
    two = saved.add_column("fine", LABELS).cast_column("fine", names)
    mixed = hf.concatenate_datasets([made["in memory"], made["by paths"]])
    empty = of_paths([*paths[:5], None, *paths[6:]])  # type: ignore[list-item]
    remote = of_paths(["https://example.com/%d.jpg" % i for i in range(24)])
    text = hf.Dataset.from_dict({"image": paths, "label": ["a"] * 24})
    gaps = of_paths(paths).remove_columns("label")
    gaps = gaps.add_column("label", [None, *LABELS[1:]])
    pictures = of_paths(paths).add_column("more", paths)
    pictures = pictures.cast_column("more", hf.Image())
    cases: List[Any] = [
        (saved.to_iterable_dataset(), {}, "without streaming=True"),
        (hf.DatasetDict(test=saved), {}, r"splits: ds\['test'\]"),
        ([1, 2], {}, "a list is no datasets.Dataset"),
        (saved.with_transform(dict), {}, r"ds.with_format\(None\)"),
        (saved, {"image": "picture"}, "no such column; it has image, label"),
        (saved, {"image": "label"}, "no encoded images"),
        (text, {}, "no column of type Image; name one"),
        (text, {"image": "image"}, r"cast_column\('image', datasets.Image"),
        (pictures, {}, "image, more; name one"),
        (two, {}, "label, fine; name one: label=COLUMN"),
        (
            text.cast_column("image", hf.Image()),
            {"label": "label"},
            "class_enc",
        ),
        (mixed, {}, EMBED),
        (empty, {}, "row 5 has neither"),
        (remote, {}, "row 0 is the remote file https.*" + EMBED),
        (gaps, {}, "without a label"),
        (saved.select([]), {}, "no"),
    ]
    for ds, arguments, cure in cases:
        with pytest.raises(InvalidArgument, match=cure):
            from_hf(ds, **arguments)
    whole = mixed.with_format("arrow").map(
        hf.table.embed_table_storage, batched=True, keep_in_memory=True
    )
    assert len(from_hf(whole.with_format(None))) == 48
