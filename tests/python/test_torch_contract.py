# SPDX-License-Identifier: Apache-2.0
"""The DataLoader as an object: arguments, errors, attributes, copies."""

from __future__ import annotations

import copy
import gc
import inspect
import os
import pickle
import warnings
import weakref
from pathlib import Path
from typing import Any, Dict, Iterator, List, Tuple

import pytest

from torch_cases import T, Ours, Theirs, assert_same, data, folder, torch

import feedline
from feedline.torch.arguments import AutoInt, cores, is_auto
from feedline.torch.handover import copied


class Numbers(data.Dataset):  # type: ignore[misc]
    def __len__(self) -> int:
        return 10

    def __getitem__(self, index: int) -> int:
        return index


class Stream(data.IterableDataset):  # type: ignore[misc]
    def __iter__(self) -> Iterator[int]:
        return iter(range(5))


# ---- Errors ----------------------------------------------------------------

SEQUENCE = data.SequentialSampler(range(10))
BATCHES = data.BatchSampler(SEQUENCE, 2, False)
WRONG: List[Dict[str, Any]] = [
    {"num_workers": -1},
    {"timeout": -1},
    {"num_workers": 0, "prefetch_factor": 3},
    {"num_workers": 1, "prefetch_factor": -1},
    {"persistent_workers": True},
    {"sampler": SEQUENCE, "shuffle": True},
    {"batch_sampler": BATCHES, "batch_size": 2},
    {"batch_sampler": BATCHES, "shuffle": True},
    {"batch_sampler": BATCHES, "drop_last": True},
    {"batch_sampler": BATCHES, "sampler": SEQUENCE},
    {"batch_size": None, "drop_last": True},
    {"batch_size": 0},
    {"batch_size": 1.5},
    {"drop_last": 3},
    {"multiprocessing_context": "fork"},
    {"multiprocessing_context": "threads", "num_workers": 1},
    {"multiprocessing_context": object(), "num_workers": 1},
    {"num_workers": "many"},
    {"num_workers": 1.5, "prefetch_factor": "2"},
]


def without_addresses(error: BaseException) -> str:
    return str(error).split(" at 0x")[0]


def outcome(loader_type: Any, *args: Any, **kwargs: Any) -> Tuple[Any, str]:
    try:
        loader_type(*args, **kwargs)
    except Exception as error:
        return type(error), without_addresses(error)
    return None, ""


@pytest.mark.parametrize("wrong", WRONG, ids=str)
def test_wrong_arguments(wrong: Dict[str, Any]) -> None:
    """torch's exception with torch's text, whatever this torch says."""
    theirs = outcome(Theirs, Numbers(), **wrong)
    assert outcome(Ours, Numbers(), **wrong) == theirs
    assert theirs[0] is not None or "num_workers" in wrong


@pytest.mark.parametrize(
    "wrong",
    [{"shuffle": True}, {"sampler": SEQUENCE}, {"batch_sampler": BATCHES}],
    ids=lambda wrong: next(iter(wrong)),
)
def test_arguments_of_streams(wrong: Dict[str, Any]) -> None:
    theirs = outcome(Theirs, Stream(), **wrong)
    assert theirs[0] is ValueError
    assert outcome(Ours, Stream(), **wrong) == theirs


@pytest.mark.parametrize(
    "name",
    "batch_size batch_sampler sampler drop_last dataset "
    "persistent_workers".split(),
)
def test_attributes_that_may_not_be_set(name: str) -> None:
    loader = Ours(Numbers())
    with pytest.raises(
        ValueError,
        match="^%s attribute should not be set after DataLoader is "
        "initialized$" % name,
    ):
        setattr(loader, name, None)


@pytest.mark.filterwarnings(
    "ignore::pytest.PytestUnraisableExceptionWarning"  # torch's own iterator
)
def test_errors_that_come_at_iter(dataset: Any) -> None:
    for arguments in ({"timeout": 1}, {"num_workers": 1, "prefetch_factor": 0}):
        try:
            theirs = Theirs(dataset, **arguments)
        except AssertionError:  # torch 1.13 refuses it in the constructor
            with pytest.raises(AssertionError):
                Ours(dataset, **arguments)
            continue
        with pytest.raises(AssertionError) as expected:
            iter(theirs)
        with pytest.raises(AssertionError) as found:
            iter(Ours(dataset, **arguments))
        assert str(found.value) == str(expected.value)
        del found, expected
    gc.collect()  # torch's iterators that were never finished


@pytest.mark.parametrize(
    "ours,words",
    [
        ({"on_error": "ignore"}, "raise, skip, zero"),
        ({"dtype": "f64"}, "u8, f16, bf16, f32"),
        ({"dtype": torch.float64}, "u8, f16, bf16, f32"),
        ({"layout": "hwcn"}, "nchw, nhwc"),
        ({"device": "meta"}, "CUDA"),
        ({"seed": -1}, "non-negative"),
        ({"seed": True}, "non-negative"),
        ({"options": {"order": "own"}}, "sampler"),
        ({"options": {"workers": 3}}, "num_workers"),
        ({"options": {"held": "refuse"}}, "held"),
    ],
    ids=str,
)
def test_wrong_arguments_of_ours(ours: Dict[str, Any], words: str) -> None:
    """A ValueError that says what is allowed."""
    with pytest.raises(ValueError, match=words):
        Ours(Numbers(), **ours)


def test_wrong_values_that_the_engine_judges(dataset: Any) -> None:
    for ours in (
        {"reader": "tape"},
        {"options": {"io_depth": 1000}},
        {"tuner": "sometimes"},
    ):
        with pytest.raises(ValueError):
            iter(Ours(dataset, num_workers=1, **ours))
    with pytest.raises(LookupError, match="io_dept"):
        iter(Ours(dataset, num_workers=1, options={"io_dept": 3}))
    with pytest.raises(TypeError, match="options"):
        Ours(dataset, options=3)
    with pytest.raises(ValueError, match="transforms make u8"):
        iter(Ours(dataset, num_workers=1, dtype="f32"))


def test_no_such_device() -> None:
    with pytest.raises(RuntimeError):
        Ours(Numbers(), device="gpu")


# ---- Arguments and attributes ----------------------------------------------


def test_every_argument_of_torch_in_its_place() -> None:
    """The same names, places, kinds and defaults as this torch has."""
    ours = inspect.signature(Ours.__init__).parameters
    for place, (name, theirs) in enumerate(
        inspect.signature(Theirs.__init__).parameters.items()
    ):
        assert ours[name].kind is theirs.kind
        if theirs.kind is theirs.POSITIONAL_OR_KEYWORD:
            assert list(ours)[place] == name
        if name != "prefetch_factor":  # torch 1.13 has 2
            assert ours[name].default == theirs.default


def test_arguments_by_place(dataset: Any) -> None:
    loader = Ours(dataset, 4, False, None, None, 1, None, False, True, 5.0)
    assert (loader.batch_size, loader.num_workers) == (4, 1)
    assert (loader.drop_last, loader.timeout) == (True, 5.0)
    assert len(list(loader)) == 6


ATTRIBUTES = (
    "dataset batch_size num_workers pin_memory drop_last timeout sampler "
    "batch_sampler generator collate_fn worker_init_fn "
    "multiprocessing_context prefetch_factor persistent_workers "
    "pin_memory_device _iterator _dataset_kind _auto_collation "
    "_index_sampler _DataLoader__initialized"
).split()


@pytest.mark.parametrize("workers", [0, 2])
def test_attributes(dataset: Any, workers: int) -> None:
    """Those of torch's, with torch's values."""
    ours = Ours(dataset, batch_size=3, num_workers=workers)
    theirs = Theirs(dataset, batch_size=3, num_workers=workers)
    for name in ATTRIBUTES:
        a, b = getattr(ours, name), getattr(theirs, name)
        assert a == b or type(a) is type(b), name
    assert isinstance(ours, Theirs) and ours.in_order is True
    assert ours.batch_sampler.sampler is ours.sampler


def test_arguments_are_attributes_of_their_names() -> None:
    """So that Lightning can make the loader once more."""
    names = set(inspect.signature(Ours.__init__).parameters)
    hidden = {"self", "shuffle", "multiprocessing_context"}
    assert names - hidden <= set(vars(Ours(Numbers())))


def rebuilt(loader: Any) -> Any:
    """As Lightning does it: from the attributes, with another sampler."""
    parameters = inspect.signature(type(loader).__init__).parameters
    kwargs = {
        name: value
        for name, value in vars(loader).items()
        if name in parameters and parameters[name].default is not value
    }
    kwargs.update(
        sampler=data.SequentialSampler(loader.dataset),
        shuffle=False,
        batch_sampler=None,
        batch_size=loader.batch_size,
        drop_last=loader.drop_last,
        multiprocessing_context=loader.multiprocessing_context,
    )
    return type(loader)(**kwargs)


def test_rebuilding_keeps_everything(dataset: Any) -> None:
    loader = Ours(
        dataset,
        batch_size=5,
        num_workers="auto",
        on_error="zero",
        tuner="observe",
        options={"io_depth": 3},
        seed=9,
    )
    again = rebuilt(rebuilt(loader))
    assert is_auto(again.num_workers) and is_auto(again.prefetch_factor)
    assert (again.on_error, again.tuner, again.seed) == ("zero", "observe", 9)
    assert again.options == {"io_depth": 3}
    assert again.native and len(list(again)) == 5


def test_auto_is_a_number() -> None:
    loader = Ours(Numbers(), num_workers="auto", prefetch_factor="auto")
    assert loader.num_workers == cores() and loader.num_workers >= 1
    assert isinstance(loader.num_workers, int)
    assert "%d" % loader.num_workers == str(int(loader.num_workers))
    assert is_auto(pickle.loads(pickle.dumps(AutoInt(3))))
    assert is_auto(copy.deepcopy(AutoInt(3)))
    assert not is_auto(3) and not is_auto(AutoInt(3) + 1)


def test_auto_shows_what_the_engine_has(dataset: Any) -> None:
    loader = Ours(
        dataset, batch_size=2, num_workers="auto", options={"workers_start": 3}
    )
    assert len(list(loader)) == 12
    assert loader.num_workers == loader.engine.get("workers")


def test_iterators_are_torchs(dataset: Any) -> None:
    iterator = iter(Ours(dataset, num_workers=1))
    kind = torch.utils.data.dataloader._BaseDataLoaderIter
    assert isinstance(iterator, kind)
    assert iterator._workers == [] and iterator._pin_memory_thread is None
    assert iter(iterator) is iterator and len(iterator) == 24
    with pytest.raises(NotImplementedError):
        pickle.dumps(iterator)


class Endless:
    """timm's way to keep workers: a batch sampler that never ends."""

    def __init__(self, sampler: Any) -> None:
        self.sampler = sampler

    def __iter__(self) -> Iterator[Any]:
        while True:
            yield from iter(self.sampler)


class MultiEpochs(Ours):  # type: ignore[misc]
    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._DataLoader__initialized = False
        self.batch_sampler = Endless(self.batch_sampler)
        self._DataLoader__initialized = True
        self.iterator = super().__iter__()

    def __len__(self) -> int:
        return len(self.batch_sampler.sampler)

    def __iter__(self) -> Iterator[Any]:
        for _ in range(len(self)):
            yield next(self.iterator)


def test_loaders_that_never_end(dataset: Any) -> None:
    loader = MultiEpochs(dataset, batch_size=5, num_workers=2)
    expected = list(Theirs(dataset, batch_size=5))
    assert loader.native
    for _ in range(3):
        assert_same(list(loader), expected)


# ---- Copies ----------------------------------------------------------------


def test_pickling_keeps_the_configuration(dataset: Any) -> None:
    loader = Ours(dataset, batch_size=5, num_workers=2, on_error="zero")
    iterator = iter(loader)
    next(iterator)
    again = pickle.loads(pickle.dumps(loader))
    assert again.engine is None and again._iterator is None
    assert (again.batch_size, again.on_error) == (5, "zero")
    assert len(list(again)) == 5 and again.native
    with pytest.raises(ValueError, match="batch_size"):
        again.batch_size = 3


def by_pickle(loader: Any) -> Any:
    return pickle.loads(pickle.dumps(loader))


@pytest.mark.parametrize("copied", [by_pickle, copy.copy, copy.deepcopy])
def test_copies_do_not_share_engines(dataset: Any, copied: Any) -> None:
    """The original, in mid-epoch, does not notice."""
    loader = Ours(dataset, batch_size=5, num_workers=1)
    whole = list(loader)
    epoch = iter(loader)
    first = next(epoch)
    again = copied(loader)
    assert type(again) is Ours
    assert_same(list(again), whole)
    assert again.native and again.engine is not loader.engine
    assert_same([first, *epoch], whole)


def test_a_copied_dict_shares_the_pool(dataset: Any) -> None:
    """Fabric's loader takes over the attributes of the one it wraps."""

    class Wrapped:
        pass

    loader = Ours(dataset, batch_size=5, num_workers=1)
    other: Any = Wrapped()
    other.__dict__.update(loader.__dict__)
    assert len(list(loader)) == 5
    assert other._feedline.epochs.engines.engine is loader.engine
    del other
    assert len(list(loader)) == 5


def test_engines_are_used_again(dataset: Any) -> None:
    loader = Ours(dataset, batch_size=5, num_workers=1)
    list(loader)
    first = loader.engine
    list(loader)
    assert loader.engine is first
    nested = [iter(loader), iter(loader)]
    assert loader.engine is not first
    del nested


def test_more_batches_ahead_than_memory_has(dataset: Any) -> None:
    """The depth is a wish; torch would have taken the memory."""
    loader = Ours(
        dataset,
        batch_size=8,
        num_workers=1,
        prefetch_factor=500,
        memory_budget="64k",
    )
    assert_same(list(loader), list(Theirs(dataset, batch_size=8)))
    assert loader.engine.get("depth") < 500
    loader = Ours(
        dataset, batch_size=8, num_workers=1, device_memory_budget="1g"
    )
    batches = iter(loader)
    assert loader.engine.get("device_memory_budget") == 1 << 30
    del batches
    with pytest.raises(ValueError, match="memory_budget"):
        iter(Ours(dataset, num_workers=1, batch_size=24, memory_budget="4k"))


def test_workers_run_where_they_are_told_to(dataset: Any) -> None:
    cpu = min(os.sched_getaffinity(0))
    loader = Ours(dataset, batch_size=8, num_workers=2, affinity=str(cpu))
    assert_same(list(loader), list(Theirs(dataset, batch_size=8)))
    placement = loader.stats()["placement"]
    assert placement["bound"] and placement["cpus"] == str(cpu)
    with pytest.raises(ValueError, match="affinity='both'"):
        iter(Ours(dataset, num_workers=1, affinity="both"))
    with pytest.raises(ValueError, match="affinity"):
        Ours(dataset, options={"affinity": "none"})


def test_batches_larger_than_the_usual_budget(
    dataset: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A budget that nobody gave is not in the way of one batch."""
    made: List[Any] = []
    real = feedline.Loader

    def narrow(*args: Any, **options: Any) -> Any:
        """As on a machine where a tenth of the memory is 8 KiB."""
        made.append(options)
        return real(*args, **{"memory_budget": "8k", **options})

    monkeypatch.setattr(feedline, "Loader", narrow)
    loader = Ours(dataset, batch_size=24, num_workers=2)
    assert_same(list(loader), list(Theirs(dataset, batch_size=24)))
    assert len(made) == 3 and made[-1]["depth"] == 1


def test_batches_larger_than_the_data_set(dataset: Any) -> None:
    loader = Ours(dataset, batch_size=10**7, num_workers=1)
    assert len(list(loader)) == 1 and loader.native
    assert loader.engine.get("batch_size") == 24


@pytest.mark.parametrize("workers", [0, 2])
def test_a_dropped_iterator_gives_its_engine_back(
    dataset: Any, workers: int
) -> None:
    """At once, not when the garbage collector comes by."""
    loader = Ours(dataset, batch_size=2, num_workers=workers)
    iterator = iter(loader)
    next(iterator)
    engine, gone = loader.engine, weakref.ref(iterator)
    del iterator
    assert gone() is None
    again = iter(loader)
    next(again)
    assert loader.engine is engine


def test_a_loader_ends_its_engine(dataset: Any) -> None:
    loader = Ours(dataset, batch_size=2, num_workers=1)
    list(loader)
    engine = weakref.ref(loader.engine)
    del loader
    assert engine() is None


def plain_empty(shape: Any, strides: Any, dtype: Any) -> torch.Tensor:
    return torch.empty_strided(shape, strides, dtype=dtype)


def test_batches_in_memory_of_torchs_own(dataset: Any) -> None:
    """As they are made for a GPU, and for pinned memory."""
    expected = list(Theirs(dataset, batch_size=5))
    for layout in ("nchw", "nhwc"):
        loader = Ours(dataset, batch_size=5, num_workers=1, layout=layout)
        iterator = iter(loader)
        iterator._take = lambda batch: copied(batch, plain_empty)
        assert_same(list(iterator), expected)


def test_batches_on_a_gpu(dataset: Any) -> None:
    if not torch.cuda.is_available():
        pytest.skip("no CUDA device")
    for arguments in ({"device": "cuda"}, {"pin_memory": True}):
        loader = Ours(dataset, batch_size=5, num_workers=1, **arguments)
        found = list(loader)
        assert loader.native
        assert found[0][0].is_cuda or found[0][0].is_pinned()
        for batch, theirs in zip(found, Theirs(dataset, batch_size=5)):
            assert torch.equal(batch[0].cpu(), theirs[0])
            assert torch.equal(batch[1].cpu(), theirs[1])


def test_what_it_says_of_itself(dataset: Any) -> None:
    loader = Ours(dataset, batch_size=5, num_workers=1)
    assert "ImageFolder" in repr(loader)
    assert loader.native and loader.fallback_reason is None
    assert "native" in repr(loader)
    other = Ours(Numbers())
    assert not other.native and "torch's: " in repr(other)


def test_pinned_memory_without_a_gpu(dataset: Any) -> None:
    """The same warnings as torch's, and the same batches."""
    if torch.cuda.is_available():
        pytest.skip("this machine has a GPU")
    said = []
    for loader_type in (Theirs, Ours):
        with warnings.catch_warnings(record=True) as found:
            warnings.simplefilter("always")
            loader = loader_type(dataset, batch_size=8, pin_memory=True)
            batches = list(loader)
        said.append(sorted(str(w.message) for w in found))
        assert type(batches[0]) is list
    assert said[0] == said[1]


def test_transforms_are_not_copied(tmp_path: Path) -> None:
    chain = T.Compose([T.Resize((8, 8)), T.PILToTensor()])
    ours = folder(tmp_path / "images", chain, classes=1, per_class=2)
    assert Ours(ours).dataset is ours and ours.transform is chain


# ---- Subclasses ------------------------------------------------------------

NAMES = [
    name
    for name in (*dir(Ours), *vars(feedline.torch.arguments.Given()))
    if not name.startswith("__") and not hasattr(Theirs, name)
]
# What a loader does, and its class must have.
METHODS = ("state_dict", "load_state_dict", "_is_accelerate_prepared")


@pytest.mark.parametrize("name", sorted({*NAMES, "options", "_progress"}))
def test_a_subclass_has_attributes_of_any_name(dataset: Any, name: str) -> None:
    """Set before, behind, or read only: the loader goes on without a word."""
    if name in METHODS:
        pytest.skip("%s is part of the interface" % name)

    class Before(Ours):  # type: ignore[misc,valid-type]
        def __init__(self, value: Any, *args: Any, **more: Any) -> None:
            setattr(self, name, value)
            super().__init__(*args, **more)

    class Behind(Ours):  # type: ignore[misc,valid-type]
        def __init__(self, value: Any, *args: Any, **more: Any) -> None:
            super().__init__(*args, **more)
            setattr(self, name, value)

    read_only = {name: property(lambda self: self._value_of_mine)}

    class ReadOnly(Ours):  # type: ignore[misc,valid-type]
        locals().update(read_only)

        def __init__(self, value: Any, *args: Any, **more: Any) -> None:
            self._value_of_mine = value
            super().__init__(*args, **more)

    expected = list(Theirs(dataset, 5))
    for kind in (Before, Behind, ReadOnly):
        mine = kind(["mine"], dataset, 5, on_error="raise", seed=7)
        assert_same(list(mine), expected)
        assert getattr(mine, name) == ["mine"]
        state = mine.state_dict()
        again = pickle.loads(pickle.dumps(Plain(dataset, 5)))
        again.load_state_dict(state)
        assert_same(list(again), expected)


class Plain(Ours):  # type: ignore[misc,valid-type]
    """One that pickle finds."""
