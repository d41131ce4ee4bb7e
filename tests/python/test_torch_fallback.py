# SPDX-License-Identifier: Apache-2.0
"""What the engine cannot do is torch's, and says so; nothing is ever silently
different."""

from __future__ import annotations

import os
import warnings
from pathlib import Path
from typing import Any, Dict, Iterator, List, Tuple

import needs
import pytest

from PIL import Image
from torch_cases import T, Ours, Theirs, assert_same, data, folder, torch

from feedline.torch import FallbackWarning, collated
from feedline.torch import dataloader, epochs, process_count
from feedline.torch._compat import batch_is_there
from feedline.torch.process_count import Processes


class Own(data.Dataset):  # type: ignore[misc]
    def __len__(self) -> int:
        return 11

    def __getitem__(self, index: int) -> Any:
        return torch.full((3, 4, 4), float(index)), index


class Worker(Own):
    """Says which process loaded a sample."""

    def __getitem__(self, index: int) -> int:
        info = data.get_worker_info()
        return -1 if info is None else info.id


class Stream(data.IterableDataset):  # type: ignore[misc]
    def __iter__(self) -> Iterator[int]:
        return iter(range(7))


def first_sample(samples: List[Any]) -> Any:
    return samples[0]


def no_seed(worker: int) -> None:
    os.nice(0)


def through_pixels(image: Any) -> Any:
    """The same image, by way of memory that must be there."""
    return Image.frombytes(image.mode, image.size, image.tobytes())


REASONS: Dict[str, Tuple[Dict[str, Any], str]] = {
    "worker_init_fn": (
        {"worker_init_fn": no_seed, "num_workers": 1},
        "worker_init_fn",
    ),
}


@pytest.mark.parametrize("name", REASONS)
def test_arguments_that_are_torchs(dataset: Any, name: str) -> None:
    arguments, words = REASONS[name]
    loader = Ours(dataset, **arguments)
    assert not loader.native and words in loader.fallback_reason
    with pytest.warns(FallbackWarning, match=words):
        found = list(loader)
    assert_same(found, list(Theirs(dataset, **arguments)))
    assert loader.engine is None


@pytest.mark.parametrize("batch_size", [4, None])
def test_functions_that_collate_are_called(
    dataset: Any, batch_size: Any
) -> None:
    arguments = {"collate_fn": first_sample, "batch_size": batch_size}
    loader = Ours(dataset, **arguments)
    assert_same(list(loader), list(Theirs(dataset, **arguments)))
    needs.deferred_tensors()
    assert loader.native and loader.recorded


def test_data_sets_that_are_torchs(dataset: Any) -> None:
    odd = T.Compose([T.Resize((8, 8)), through_pixels, T.PILToTensor()])
    unknown = folder(Path(dataset.root), odd)
    for made in (Own(), Stream(), unknown):
        loader = Ours(made, batch_size=3)
        assert loader.fallback_reason
        with pytest.warns(FallbackWarning) as said:
            found = list(loader)
        assert loader.fallback_reason in str(said[0].message)
        assert said[0].filename == __file__
        assert_same(found, list(Theirs(made, batch_size=3)))


def test_one_warning_for_each_loader() -> None:
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        for _ in range(2):
            loader = Ours(Own())
            for _ in range(3):
                assert len(list(loader)) == 11
    assert sum(w.category is FallbackWarning for w in said) == 2


def test_no_warning_natively(dataset: Any) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        loader = Ours(dataset, batch_size=24, num_workers=1)
        assert len(list(loader)) == 1
    assert loader.fallback_reason is None


def test_processes_are_torchs() -> None:
    """With what belongs to them."""
    loader = Ours(Worker(), batch_size=1, num_workers=2)
    with pytest.warns(FallbackWarning):
        found = {int(batch) for batch in loader}
    assert found == {0, 1}


def number_of_processes(enough: float, had: Processes, epochs: int = 9) -> int:
    """After so many epochs of a program that waits with fewer than `enough`
    processes: a batch is a second of one of them."""
    for _ in range(epochs):
        waits = had.epoch(prefetch_factor=2)
        step, waited = 1 / enough, max(0.0, 1 / had.count - 1 / enough)
        for batch in range(100):
            asked = batch * (step + waited)
            waits.add(asked, asked + waited, False)
    had.epoch(prefetch_factor=2)
    return had.count


@pytest.mark.parametrize("cores", [1, 2, 7, 8])
def test_the_fewest_processes_that_are_enough(cores: int) -> None:
    for enough in range(1, cores + 1):
        had = Processes(cores)
        assert number_of_processes(enough, had) == enough
        assert "processes" in had.words() or enough == 1
        more = min(cores, enough + 2)  # the program's steps are shorter now
        assert number_of_processes(more, had) == more
    assert number_of_processes(2 * cores, Processes(cores)) == cores


def test_to_take_a_batch_is_no_waiting() -> None:
    had = Processes(4)
    waits = had.epoch(prefetch_factor=2)
    for batch in range(100):
        waits.add(batch, batch + 0.5, True)
    had.epoch(prefetch_factor=2)
    assert had.count == 2
    batches = iter(Theirs(Own(), batch_size=4, num_workers=2))
    while not batch_is_there(batches):
        pass
    assert len(list(batches)) == 3 and not batch_is_there(batches)


def test_short_epochs_say_nothing() -> None:
    had = Processes(8)
    for _ in range(3):
        waits = had.epoch(prefetch_factor=2)
        for _ in range(40):
            waits.add(0.0, 0.0, False)
    had.epoch(prefetch_factor=2)
    assert had.count == 8
    assert had.words() == "- num_workers=8 processes: one for each core"


def test_auto_is_tuned_between_epochs(monkeypatch: Any) -> None:
    monkeypatch.setattr(dataloader, "cores", lambda: 4)
    monkeypatch.setattr(epochs, "cores", lambda: 4)
    monkeypatch.setattr(process_count.Waits, "share", 0.0)
    loader = Ours(Worker(), batch_size=1, num_workers="auto", backend="torch")
    for number in (4, 2, 1, 1):
        found = [int(batch) for batch in loader]
        assert found == [b % number for b in range(11)]
        assert loader.num_workers == number
        assert "num_workers=%d process" % number in loader.explain()
    expected = list(Theirs(Own(), batch_size=4))
    loader = Ours(Own(), batch_size=4, num_workers="auto", backend="torch")
    for _ in range(3):
        assert_same(list(loader), expected)


def test_streams_keep_their_number_of_processes(monkeypatch: Any) -> None:
    """Each worker gives the whole stream."""
    monkeypatch.setattr(dataloader, "cores", lambda: 2)
    monkeypatch.setattr(process_count.Waits, "share", 0.0)
    loader = Ours(Stream(), batch_size=7, num_workers="auto", backend="torch")
    for _ in range(3):
        assert len(list(loader)) == 2


@pytest.mark.parametrize(
    "given, told",
    [
        ({"on_error": "skip"}, "on_error='skip' has no effect"),
        ({"quality": "fast"}, "quality='fast' has no effect"),
        ({"options": {"max_pixels": 9}}, "options=.* has no effect"),
        (
            {"reader": "pread", "affinity": "none", "on_error": "zero"},
            "reader='pread' and affinity='none' and on_error='zero' have no",
        ),
    ],
)
def test_arguments_without_effect_are_named(given: Any, told: str) -> None:
    with pytest.warns(FallbackWarning, match=told):
        iter(Ours(Own(), **given))


def test_arguments_with_effect_are_not() -> None:
    with pytest.warns(FallbackWarning) as warned:
        iter(Ours(Own(), dtype="f16", quality="exact", seed=3, tuner="off"))
    assert "effect" not in str(warned[0].message)


def test_the_reason_follows_the_data_set(dataset: Any) -> None:
    """It is looked for at each iter()."""
    chain = dataset.transform
    loader = Ours(dataset, batch_size=12, num_workers=1)
    assert len(list(loader)) == 2 and loader.native
    dataset.transform = lambda image: chain(through_pixels(image))
    try:
        with pytest.warns(FallbackWarning):
            found = list(loader)
        assert not loader.native
    finally:
        dataset.transform = chain
    assert_same(list(loader), found)
    assert loader.native


def test_persistent_workers_change_sides(dataset: Any) -> None:
    chain = dataset.transform
    loader = Ours(
        dataset, batch_size=12, num_workers=1, persistent_workers=True
    )
    expected = list(loader)
    dataset.transform = lambda image: chain(through_pixels(image))
    try:
        with pytest.warns(FallbackWarning):
            assert_same(list(loader), expected)
    finally:
        dataset.transform = chain
    assert_same(list(loader), expected)
    assert loader.native


def test_dtype_and_layout_are_honoured(dataset: Any) -> None:
    """Also where torch loads the samples."""
    loader = Ours(Own(), batch_size=4, dtype="f16", layout="nhwc")
    with pytest.warns(FallbackWarning):
        images, labels = next(iter(loader))
    assert images.dtype is torch.float16 and labels.dtype is torch.int64
    assert images.shape == (4, 3, 4, 4)
    assert images.is_contiguous(memory_format=torch.channels_last)
    with pytest.warns(FallbackWarning), pytest.raises(ValueError, match="f32"):
        next(iter(Ours(Own(), dtype="u8")))


@pytest.mark.parametrize("dtype", ["f16", torch.bfloat16, "f32"])
def test_dtypes_of_both_ways(dataset: Any, dtype: Any) -> None:
    """The same numbers from the engine and from torch."""
    chain = dataset.transform
    dataset.transform = T.Compose([T.Resize((8, 8)), T.ToTensor()])
    try:
        native = Ours(dataset, batch_size=24, num_workers=1, dtype=dtype)
        torchs = Ours(dataset, batch_size=24, dtype=dtype, backend="torch")
        theirs = next(iter(torchs))
        ours = next(iter(native))
    finally:
        dataset.transform = chain
    assert native.native
    assert ours[0].dtype is theirs[0].dtype
    bound = {"f16": 1e-3, "f32": 1e-6}.get(dtype, 1e-2)  # an ulp or two
    assert torch.allclose(ours[0].float(), theirs[0].float(), rtol=bound)


def test_types_that_stay(dataset: Any) -> None:
    """Of images that torchvision makes, and batches of them, if one says so."""
    v2 = pytest.importorskip(
        "torchvision.transforms.v2", reason="torchvision has no transforms.v2"
    )
    tv = pytest.importorskip(
        "torchvision.tv_tensors", reason="torchvision has no tv_tensors"
    )
    made = folder(
        Path(dataset.root), v2.Compose([v2.Resize((8, 8)), v2.ToImage()])
    )
    loader = Ours(made, batch_size=5)
    assert type(next(iter(loader))[0]) is torch.Tensor and loader.native
    with tv.set_return_type("TVTensor"), warnings.catch_warnings():
        warnings.simplefilter("ignore", FallbackWarning)
        images = next(iter(loader))[0]
        assert "set_return_type" in loader.fallback_reason
        assert type(images) is type(next(iter(Theirs(made, batch_size=5)))[0])
    assert len(list(loader)) == len(loader) and loader.native


def test_another_way_to_collate(
    dataset: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    functions = getattr(data._utils.collate, "default_collate_fn_map", None)
    if functions is None:
        pytest.skip("this torch has no default_collate_fn_map")
    monkeypatch.setitem(functions, str, lambda batch, **more: batch)
    loader = Ours(dataset, batch_size=5)
    assert loader.native  # no sample has one
    monkeypatch.setitem(functions, int, lambda batch, **more: sum(batch))
    with pytest.warns(FallbackWarning, match="default_collate_fn_map"):
        found = list(loader)
    assert_same(found, list(Theirs(dataset, batch_size=5)))


# ---- collated --------------------------------------------------------------


def doubled(images: Any, labels: Any) -> Any:
    return {"images": images.float() * 2, "labels": labels}


def noisy(images: Any, labels: Any) -> Any:
    return images.float() + torch.rand(images.shape), labels


@pytest.mark.parametrize("workers", [0, 2])
def test_functions_of_whole_batches(dataset: Any, workers: int) -> None:
    ours = Ours(
        dataset, batch_size=5, num_workers=workers, collate_fn=collated(doubled)
    )
    theirs = list(Theirs(dataset, batch_size=5, collate_fn=collated(doubled)))
    found = list(ours)
    assert ours.native and type(found[0]) is dict
    assert_same(found, theirs)


def test_functions_that_draw(dataset: Any) -> None:
    """Without workers as torch has it, from the global generator; with them
    from the epoch's seed and the batch, and the global one is left alone."""
    results = []
    for loader_type in (Theirs, Ours):
        torch.manual_seed(4)
        loader = loader_type(dataset, batch_size=5, collate_fn=collated(noisy))
        results.append((list(loader), torch.get_rng_state()))
    assert_same(results[1][0], results[0][0])
    assert torch.equal(results[0][1], results[1][1])
    seen = []
    for workers in (1, 3):
        torch.manual_seed(4)
        loader = Ours(
            dataset,
            batch_size=5,
            num_workers=workers,
            collate_fn=collated(noisy),
        )
        iterator = iter(loader)
        before = torch.get_rng_state()
        seen.append(list(iterator))
        assert torch.equal(before, torch.get_rng_state())
    assert_same(seen[0], seen[1])


def test_images_of_other_types_without_batches(dataset: Any) -> None:
    """What default_collate makes a plain tensor is one with batches only."""
    v2 = pytest.importorskip(
        "torchvision.transforms.v2", reason="torchvision has no transforms.v2"
    )
    images = [v2.Resize((8, 8)), v2.ToImage()]
    for more in ([], [v2.ToPureTensor()]):
        made = folder(Path(dataset.root), v2.Compose(images + more))
        batched = Ours(made, batch_size=4, num_workers=1)
        assert batched.native
        assert_same(list(batched), list(Theirs(made, batch_size=4)))
        single = Ours(made, batch_size=None, num_workers=1)
        assert_same(list(single), list(Theirs(made, batch_size=None)))
        assert single.native and single.recorded is not bool(more)


def test_labels_of_other_types_without_batches(dataset: Any) -> None:
    """default_convert makes tensors of numpy's numbers."""
    np = pytest.importorskip("numpy", reason="no numpy")
    dataset.samples = [(path, np.int64(n)) for path, n in dataset.samples]
    batched = Ours(dataset, batch_size=4, num_workers=1)
    assert_same(list(batched), list(Theirs(dataset, batch_size=4)))
    assert batched.native
    needs.deferred_tensors()
    single = Ours(dataset, batch_size=None)
    assert single.recorded
    assert_same(list(single), list(Theirs(dataset, batch_size=None)))


def test_torchs_names_in_a_profile() -> None:
    """Tools look for them."""
    for workers, kind in ((0, "_SingleProcess"), (1, "_MultiProcessing")):
        with pytest.warns(FallbackWarning):
            iterator = iter(Ours(Own(), num_workers=workers))
        assert kind + "DataLoaderIter" in iterator._profile_name
