# SPDX-License-Identifier: Apache-2.0
"""Batches come in torch's order, with torch's contents, in torch's form."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any, Iterator, List

import pytest

from torch_cases import SAMPLERS, Ours, T, Theirs, assert_same, both, data
from torch_cases import BlockSampler, folder, same, torch


class Listed:
    """A sampler of the user's own, without a base class."""

    def __init__(self, items: List[Any]) -> None:
        self.items = items

    def __iter__(self) -> Iterator[Any]:
        return iter(self.items)

    def __len__(self) -> int:
        return len(self.items)


ORDERS = {
    **SAMPLERS,
    "distributed": lambda d: {
        "sampler": data.distributed.DistributedSampler(d, 5, 3)
    },
    "own": lambda d: {"sampler": Listed([5, 5, 0, 23, -1, -24, 5])},
}


@pytest.mark.parametrize("layout", [None, "nhwc"])
def test_floats_are_torchs_to_the_bit(tmp_path: Path, layout: Any) -> None:
    normal = T.Normalize((0.485, 0.456, 0.406), (0.229, 0.224, 0.225))
    for last in ([], [normal]):
        chain = T.Compose([T.Resize((8, 8)), T.ToTensor()] + last)
        images = folder(tmp_path / "images", chain)
        loader = Ours(images, 7, num_workers=1, layout=layout)
        for (ours, _), (theirs, _) in zip(loader, Theirs(images, 7)):
            assert torch.equal(ours, theirs)
        assert loader.native


@pytest.mark.parametrize("workers", [0, 2])
@pytest.mark.parametrize("drop_last", [False, True])
@pytest.mark.parametrize("name", ORDERS)
def test_samplers(
    dataset: Any, name: str, drop_last: bool, workers: int
) -> None:
    both(
        dataset,
        epochs=2,
        sampler=ORDERS[name],
        batch_size=5,
        drop_last=drop_last,
        num_workers=workers,
    )


@pytest.mark.parametrize("workers", [0, 2])
@pytest.mark.parametrize("name", ["sequential", "shuffled", "own"])
def test_samples_without_batches(dataset: Any, name: str, workers: int) -> None:
    """batch_size=None: [image, int], as default_convert makes of a sample."""
    batches = both(
        dataset, sampler=ORDERS[name], batch_size=None, num_workers=workers
    )
    assert type(batches[0]) is list and type(batches[0][1]) is int


@pytest.mark.parametrize("workers", [0, 3])
def test_batches_of_all_sizes(dataset: Any, workers: int) -> None:
    """Also ones that are larger than every one before."""
    sizes = [1, 3, 2, 9, 1, 20, 4]
    order = itertools.cycle([7, 0, 23, 11, 4])
    batches = [[next(order) for _ in range(size)] for size in sizes]
    both(
        dataset,
        epochs=2,
        sampler=lambda d: {"batch_sampler": Listed(batches)},
        num_workers=workers,
    )


def test_kinds_of_indices(dataset: Any) -> None:
    """What list indexing takes: negative, numpy's, tensors, bool."""
    numpy = pytest.importorskip("numpy")
    items = [-1, numpy.int64(3), torch.tensor(5), True, numpy.uint8(9)]
    both(
        dataset,
        sampler=lambda d: {"sampler": Listed(items)},
        batch_size=2,
        num_workers=1,
    )
    both(
        dataset,
        sampler=lambda d: {
            "batch_sampler": Listed([torch.tensor([1, 2]), (3, 4), range(2)])
        },
        num_workers=1,
    )


@pytest.mark.parametrize("workers", [0, 2])
def test_index_out_of_range(dataset: Any, workers: int) -> None:
    """IndexError at its place; the batches around it come."""
    expected: List[Any] = []
    for loader_type in (Theirs, Ours):
        loader = loader_type(
            dataset,
            batch_size=2,
            sampler=Listed([0, 1, 2, 24, -25, 3, 4, 5]),
            num_workers=workers,
        )
        iterator, found = iter(loader), []
        for _ in range(4):
            try:
                found.append(next(iterator)[1].tolist())
            except IndexError:
                found.append("IndexError")
        assert next(iterator, None) is None
        expected.append(found)
    assert expected[0] == expected[1]
    assert expected[0].count("IndexError") == 2


def test_wrong_indices_raise_what_torch_raises(dataset: Any) -> None:
    for wrong in ("a", 1.5, None, 1 << 70):
        raised = []
        for loader_type in (Theirs, Ours):
            loader = loader_type(dataset, sampler=Listed([wrong]))
            with pytest.raises(Exception) as error:
                next(iter(loader))
            raised.append((error.type, str(error.value)))
        assert raised[0] == raised[1]


def test_nothing_to_deliver(dataset: Any) -> None:
    assert list(Ours(dataset, sampler=Listed([]), num_workers=1)) == []
    with pytest.raises(Exception) as ours:
        list(Ours(dataset, batch_sampler=Listed([[]])))
    with pytest.raises(Exception) as theirs:
        list(Theirs(dataset, batch_sampler=Listed([[]])))
    assert ours.type is theirs.type


class Counted(Listed):
    """Notes how many indices were pulled."""

    def __init__(self, items: List[Any]) -> None:
        super().__init__(items)
        self.pulled = 0

    def __iter__(self) -> Iterator[Any]:
        for item in self.items:
            self.pulled += 1
            yield item


@pytest.mark.parametrize("workers,prefetch", [(0, None), (1, 1), (2, 3)])
def test_pulls_ahead_as_torch_does(
    dataset: Any, workers: int, prefetch: Any
) -> None:
    """Samplers see the same calls at the same moments."""
    seen = []
    for loader_type in (Theirs, Ours):
        sampler = Counted(list(range(20)))
        loader = loader_type(
            dataset,
            batch_size=2,
            sampler=sampler,
            num_workers=workers,
            **({"prefetch_factor": prefetch} if workers else {}),
        )
        iterator = iter(loader)
        counts = [sampler.pulled]
        for _ in iterator:
            counts.append(sampler.pulled)
        seen.append(counts)
    assert seen[0] == seen[1]


class Failing(Listed):
    """Raises in the middle."""

    def __iter__(self) -> Iterator[Any]:
        yield from self.items
        raise KeyError("the sampler's own")


@pytest.mark.parametrize("workers", [0, 1, 3])
def test_sampler_that_raises(dataset: Any, workers: int) -> None:
    seen = []
    for loader_type in (Theirs, Ours):
        events: List[Any] = []
        loader = loader_type(
            dataset,
            batch_size=2,
            sampler=Failing(list(range(8))),
            num_workers=workers,
        )
        try:
            iterator = iter(loader)
            while True:
                try:
                    events.append(next(iterator)[1].tolist())
                except KeyError:
                    events.append("KeyError")
        except KeyError:
            events.append("KeyError at iter()")
        except StopIteration:
            pass
        seen.append(events)
    assert seen[0] == seen[1] and "KeyError" in str(seen[0])


@pytest.mark.parametrize("workers", [0, 2])
def test_two_iterators_and_nested_loops(dataset: Any, workers: int) -> None:
    expected = list(Theirs(dataset, batch_size=6))
    loader = Ours(dataset, batch_size=6, num_workers=workers)
    assert loader.native
    for a, b in zip(loader, loader):
        assert same(a, b)
    inner = []
    for outer in itertools.islice(loader, 2):
        inner.append(list(loader))
        assert same(outer, expected[len(inner) - 1])
    for found in inner:
        assert_same(found, expected)


@pytest.mark.parametrize("persistent", [False, True])
def test_leaving_an_epoch_early(dataset: Any, persistent: bool) -> None:
    expected = list(Theirs(dataset, batch_size=4))
    loader = Ours(
        dataset, batch_size=4, num_workers=2, persistent_workers=persistent
    )
    for left in (1, 3, 2):
        for number, batch in enumerate(loader):
            assert same(batch, expected[number])
            if number == left:
                break
    with pytest.raises(LookupError):
        for _ in loader:
            raise LookupError
    assert_same(list(loader), expected)


def test_new_iterators_and_persistent_ones(dataset: Any) -> None:
    loader = Ours(dataset, num_workers=1)
    assert iter(loader) is not iter(loader)
    loader = Ours(dataset, num_workers=1, persistent_workers=True)
    assert iter(loader) is iter(loader)
    loader._iterator = None
    assert len(list(loader)) == 24


def test_persistent_workers_over_epochs(dataset: Any) -> None:
    both(
        dataset,
        epochs=3,
        batch_size=5,
        num_workers=2,
        shuffle=True,
        persistent_workers=True,
    )


def test_the_end_is_the_end(dataset: Any) -> None:
    for workers in (0, 2):
        iterator = iter(Ours(dataset, batch_size=12, num_workers=workers))
        assert len(list(iterator)) == 2
        for _ in range(3):
            assert next(iterator, None) is None


def test_batches_that_are_kept(dataset: Any) -> None:
    """list(loader) holds more batches than are ever prepared ahead."""
    big = data.ConcatDataset([dataset] * 8)
    loader = Ours(big, batch_size=2, num_workers=1, prefetch_factor=1)
    assert_same(list(loader), list(Theirs(big, batch_size=2)))


def test_batches_outlive_the_loader(dataset: Any) -> None:
    expected = list(Theirs(dataset, batch_size=8))
    loader = Ours(dataset, batch_size=8, num_workers=2)
    found = list(loader)
    del loader
    for batch in found:
        batch[0] += 0  # the memory is the user's to write to, too
    assert_same(found, expected)


def test_nothing_of_a_batch_is_written_again(dataset: Any) -> None:
    """A batch keeps its pixels whatever comes behind it."""
    loader = Ours(dataset, batch_size=2, num_workers=2, shuffle=True)
    kept = [(batch[0], batch[0].clone()) for batch in loader]
    for _ in range(2):
        for _ in loader:
            pass
    assert all(torch.equal(a, b) for a, b in kept)


def test_a_data_set_that_grows(tmp_path: Path) -> None:
    """len() and the order are those of the moment, as torch's are."""
    ours = folder(tmp_path / "images", classes=2, per_class=3)
    loader = Ours(ours, num_workers=1)
    assert len(loader) == 6
    assert len(list(loader)) == 6
    ours.samples.append(ours.samples[0])
    ours.imgs = ours.samples
    assert len(loader) == 7
    assert_same(list(loader), list(Theirs(ours)))
    assert loader.native


def test_a_transform_that_is_replaced(tmp_path: Path) -> None:
    ours = folder(tmp_path / "images", classes=2, per_class=3)
    loader = Ours(ours, batch_size=3, num_workers=1)
    assert next(iter(loader))[0].shape[2:] == (8, 8)
    ours.transform = T.Compose([T.Resize((6, 4)), T.PILToTensor()])
    assert_same(list(loader), list(Theirs(ours, batch_size=3)))
    assert loader.native


def test_in_order_is_kept(dataset: Any) -> None:
    """in_order=False allows another order and does not ask for one."""
    try:
        loader = Ours(dataset, batch_size=5, num_workers=2, in_order=False)
    except ValueError as error:
        assert "torch 2.6" in str(error)
        return
    assert_same(list(loader), list(Theirs(dataset, batch_size=5)))


def test_tuned_numbers_do_not_show_in_batches(dataset: Any) -> None:
    expected = list(Theirs(dataset, batch_size=5))
    for arguments in (
        {"num_workers": "auto"},
        {"num_workers": "auto", "prefetch_factor": "auto"},
        {"num_workers": "auto", "prefetch_factor": 3},
        {"num_workers": 2, "prefetch_factor": "auto"},
        {"num_workers": 0, "prefetch_factor": "auto"},
    ):
        loader = Ours(dataset, batch_size=5, **arguments)
        assert_same(list(loader), expected)


@pytest.mark.parametrize("kind", ["subset", "concatenated", "mixed"])
def test_subsets_and_sums(dataset: Any, kind: str) -> None:
    made = {
        "subset": data.Subset(dataset, [4, 2, 2, 19, -1]),
        "concatenated": data.ConcatDataset([dataset, dataset]),
        "mixed": data.ConcatDataset([data.Subset(dataset, [3]), dataset]),
    }[kind]
    both(made, epochs=2, batch_size=4, shuffle=True, num_workers=2)


def test_layout_changes_memory_and_not_meaning(dataset: Any) -> None:
    loader = Ours(dataset, batch_size=5, num_workers=1, layout="nhwc")
    images = next(iter(loader))[0]
    assert images.is_contiguous(memory_format=torch.channels_last)
    assert_same(list(loader), list(Theirs(dataset, batch_size=5)))


# ---- Blocks -----------------------------------------------------------------


def order_of(loader: Any) -> List[int]:
    return [int(i) for i in loader.sampler]


def test_shuffle_block_is_a_sampler(dataset: Any) -> None:
    """Each sample once, another order in each epoch, and natively."""
    loader = Ours(dataset, 5, "block", options={"block": 3, "lanes": 2})
    assert (loader.sampler.block, loader.sampler.lanes) == (3, 2)
    orders = [order_of(loader) for _ in range(2)]
    assert orders[0] != orders[1]
    assert all(sorted(order) == list(range(24)) for order in orders)
    theirs = Theirs(dataset, 5, sampler=BlockSampler(dataset, 3, 2))
    labels = []
    for batches in (loader, theirs):
        torch.manual_seed(3)
        labels.append([int(y) for _, ys in batches for y in ys])
    assert labels[0] == labels[1]
    assert loader.native


def test_blocks_of_ranks(dataset: Any) -> None:
    """Together they give the order of one; it goes on at its start."""
    one = BlockSampler(dataset, 3, 2, seed=7)
    one.set_epoch(4)
    order = list(one)
    for drop_last, length in ((False, 25), (True, 20)):
        found: List[Any] = [None] * length
        for rank in range(5):
            part = BlockSampler(
                dataset,
                3,
                2,
                num_replicas=5,
                rank=rank,
                seed=7,
                drop_last=drop_last,
            )
            part.set_epoch(4)
            found[rank::5] = list(part)
            assert len(part) == length // 5
        assert found == (order + order)[:length]


def test_blocks_that_are_refused(dataset: Any) -> None:
    with pytest.raises(ValueError, match="shuffle='rows'"):
        Ours(dataset, 2, "rows")
    with pytest.raises(ValueError, match="exclusive"):
        Ours(dataset, 2, "block", sampler=range(3))
    with pytest.raises(ValueError, match="lanes=0"):
        Ours(dataset, 2, "block", options={"lanes": 0})
    with pytest.raises(ValueError, match="need a seed"):
        BlockSampler(dataset, num_replicas=2)
    with pytest.raises(ValueError, match="rank=2"):
        BlockSampler(dataset, num_replicas=2, rank=2, seed=1)
