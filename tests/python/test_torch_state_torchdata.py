# SPDX-License-Identifier: Apache-2.0
"""States as torchdata's StatefulDataLoader has them: the same scripts, on that
loader where it is installed, on ours natively, and on ours in fallback.

Only what a script may rely on: which batches come behind a load. What is in a
state differs, and orders do, for torchdata shuffles by a generator of its own.
"""

from __future__ import annotations

import copy
import json
from typing import Any, Callable, Dict, Iterator, List

import pytest

from torch_cases import Ours, augmented, data, folder, torch

pytestmark = [
    pytest.mark.filterwarnings("ignore::feedline.torch.FallbackWarning"),
    pytest.mark.filterwarnings("ignore::UserWarning:torchdata.*"),
    pytest.mark.filterwarnings("ignore:.*set_vital.*:UserWarning"),
]


class Own(data.Dataset):  # type: ignore[misc]
    """Draws from the global generator, and saves its state."""

    def __init__(self, samples: int = 12) -> None:
        self.samples = samples

    def __len__(self) -> int:
        return self.samples

    def __getitem__(self, index: int) -> Any:
        return torch.tensor([index, int(torch.randint(1000, (1,)))])

    def state_dict(self) -> Dict[str, Any]:
        return {"drawn": torch.get_rng_state().tolist()}

    def load_state_dict(self, state: Dict[str, Any]) -> None:
        drawn = torch.tensor(state["drawn"], dtype=torch.uint8)
        torch.set_rng_state(drawn)


class Stream(data.IterableDataset):  # type: ignore[misc]
    """Counts, and saves how far it is; of each epoch another ten."""

    def __init__(self) -> None:
        self.epoch = 0
        self.read = 0
        self.resume = 0
        self.asked = 0

    def __iter__(self) -> Iterator[int]:
        self.read, self.resume = self.resume, 0
        for number in range(self.read, 10):
            self.read += 1
            self.asked += 1
            yield 100 * self.epoch + number
        self.epoch += 1
        self.read = 0

    def state_dict(self) -> Dict[str, Any]:
        return {"epoch": self.epoch, "read": self.read}

    def load_state_dict(self, state: Dict[str, Any]) -> None:
        self.epoch, self.resume = state["epoch"], state["read"]


class Numbers(Iterator[int]):
    """The iterator of a stream, with a state."""

    def __init__(self) -> None:
        self.at = 0

    def __next__(self) -> int:
        if self.at == 10:
            raise StopIteration
        self.at += 1
        return self.at + int(torch.randint(1000, (1,))) * 100

    def state_dict(self) -> Dict[str, Any]:
        return {"at": self.at, "drawn": torch.get_rng_state().tolist()}

    def load_state_dict(self, state: Dict[str, Any]) -> None:
        self.at = state["at"]
        drawn = torch.tensor(state["drawn"], dtype=torch.uint8)
        torch.set_rng_state(drawn)


class StreamOfNumbers(data.IterableDataset):  # type: ignore[misc]
    def __iter__(self) -> Iterator[int]:
        return Numbers()


class IsItsIterator(data.IterableDataset, Numbers):  # type: ignore[misc]
    def __init__(self) -> None:
        Numbers.__init__(self)

    def __iter__(self) -> Iterator[int]:
        return self


class Letters(data.Sampler):  # type: ignore[misc]
    """The iterator of this sampler has a state, and the sampler has none."""

    class Order(Iterator[int]):
        def __init__(self) -> None:
            self.at = 0

        def __next__(self) -> int:
            if self.at == 12:
                raise StopIteration
            self.at += 1
            return self.at * 5 % 12

        def state_dict(self) -> Dict[str, Any]:
            return {"at": self.at}

        def load_state_dict(self, state: Dict[str, Any]) -> None:
            self.at = state["at"]

    def __init__(self) -> None:
        pass  # that of torch 1.13 asks for a data set

    def __iter__(self) -> Iterator[int]:
        return Letters.Order()

    def __len__(self) -> int:
        return 12


# ---- Loaders ----------------------------------------------------------------


def theirs() -> Any:
    module = pytest.importorskip(
        "torchdata.stateful_dataloader", reason="no torchdata"
    )
    return module.StatefulDataLoader


@pytest.fixture(scope="module")
def images(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Twelve images, each of which draws."""
    made = folder(tmp_path_factory.mktemp("torchdata") / "images", augmented())
    return data.Subset(made, range(0, 24, 2))


KINDS = ("torchdata", "native", "fallback")


@pytest.fixture(params=KINDS)
def make(request: Any, images: Any) -> Callable[..., Any]:
    """Makes a loader of batches of two, of the kind under test."""
    kind = theirs() if request.param == "torchdata" else Ours

    def made(dataset: Any = None, **arguments: Any) -> Any:
        if dataset is None and request.param == "native":
            dataset = images
            arguments["num_workers"] = max(1, arguments.get("num_workers", 1))
        elif dataset is None:
            dataset = Own()
        return kind(dataset, **{"batch_size": 2, **arguments})

    made.kind = request.param  # type: ignore[attr-defined]
    return made


def plain(batches: Any) -> List[Any]:
    """Batches that == compares."""
    found = []
    for batch in batches:
        parts = batch if isinstance(batch, list) else [batch]
        found.append([part.tolist() for part in parts])
    return found


def order_of(batch: Any) -> List[int]:
    """Which samples it has: their numbers, or their labels."""
    if isinstance(batch, list):
        return list(batch[1].tolist())
    return list(batch[:, 0].tolist())


def head(iterator: Any, count: int) -> List[Any]:
    return plain(next(iterator) for _ in range(count))


SHUFFLES: Dict[str, Callable[[], Dict[str, Any]]] = {
    "in order": lambda: {},
    "shuffled": lambda: {"shuffle": True},
    "generator": lambda: {
        "shuffle": True,
        "generator": torch.Generator().manual_seed(3),
    },
    "sampler": lambda: {"sampler": Letters()},
}
# Orders are drawn here: of the processes that workers are, two say what all do.
RUNS = [(order, 0) for order in SHUFFLES] + [("shuffled", 2), ("sampler", 2)]


def with_workers(make: Any, workers: int, **more: Any) -> Any:
    return lambda order: make(num_workers=workers, **SHUFFLES[order](), **more)


def skip_where_ours_is_better(make: Any, order: str) -> None:
    if make.kind == "torchdata" and order == "generator":
        pytest.skip("torchdata takes its base seed twice from the generator")


# ---- Scripts ----------------------------------------------------------------


@pytest.mark.parametrize("order", SHUFFLES)
def test_behind_a_finished_epoch(make: Any, order: str) -> None:
    """The state is loaded by another loader, in whatever state the generators
    are, and the next epoch is the one that would have come."""
    skip_where_ours_is_better(make, order)
    torch.manual_seed(5)
    first = make(num_workers=0, **SHUFFLES[order]())
    plain(first)
    state = copy.deepcopy(first.state_dict())
    expected = plain(first)
    again = make(num_workers=0, **SHUFFLES[order]())
    again.load_state_dict(state)
    assert plain(again) == expected


@pytest.mark.parametrize("order, workers", RUNS)
def test_four_epochs(make: Any, order: str, workers: int) -> None:
    """Two, and two more of another loader: those of one loader."""

    def epochs(loader: Any, count: int) -> List[Any]:
        return [[order_of(b) for b in loader] for _ in range(count)]

    skip_where_ours_is_better(make, order)
    made = with_workers(make, workers)
    torch.manual_seed(0)
    first = made(order)
    batches = epochs(first, 2)
    again = made(order)
    again.load_state_dict(first.state_dict())
    batches += epochs(again, 2)
    torch.manual_seed(0)
    assert batches == epochs(made(order), 4)


@pytest.mark.parametrize("order", ["in order", "shuffled"])
def test_an_interrupted_epoch_in_one_loader(make: Any, order: str) -> None:
    """From its start and its middle, each by the same loader; with a data set
    whose numbers come from the generator that the order was drawn from."""
    loader = make(num_workers=0, **SHUFFLES[order]())
    iterator = iter(loader)
    start = copy.deepcopy(loader.state_dict())
    expected = head(iterator, 2)
    middle = copy.deepcopy(loader.state_dict())
    loader.load_state_dict(middle)
    expected += plain(loader)
    loader.load_state_dict(start)
    assert plain(loader) == expected


@pytest.mark.parametrize("order, workers", RUNS)
def test_before_the_first_batch(make: Any, order: str, workers: int) -> None:
    made = with_workers(make, workers)
    first = made(order)
    state = copy.deepcopy(first.state_dict())
    expected = plain(first)
    again = made(order)
    head(iter(again), 3)
    again.load_state_dict(state)
    assert again.state_dict()["_iterator_finished"] is False
    assert plain(again) == expected


@pytest.mark.parametrize("order, workers", RUNS)
def test_the_last_batch_is_no_end(make: Any, order: str, workers: int) -> None:
    """Before the end was read nothing is left; behind it, an epoch."""
    made = with_workers(make, workers)
    loader = made(order)
    states = []
    for _ in loader:
        states.append(copy.deepcopy(loader.state_dict()))
    states.append(copy.deepcopy(loader.state_dict()))
    for state, left in zip(states[-3:], (1, 0, 6)):
        again = made(order)
        again.load_state_dict(state)
        assert len(plain(again)) == left
        assert len(plain(again)) == 6


@pytest.mark.parametrize("after", [0, 1, 3, 5])
@pytest.mark.parametrize("kind", [Stream, StreamOfNumbers, IsItsIterator])
def test_streams_with_a_state(make: Any, kind: Any, after: int) -> None:
    first = make(kind())
    iterator = iter(first)
    head(iterator, after)
    state = copy.deepcopy(first.state_dict())
    expected = plain(iterator)
    again = make(kind())
    again.load_state_dict(state)
    assert plain(again) == expected


def test_a_stream_is_not_read_again(make: Any) -> None:
    first = make(Stream())
    head(iter(first), 4)
    stream = Stream()
    again = make(stream)
    again.load_state_dict(first.state_dict())
    assert plain(again) == [[[8, 9]]]
    assert stream.asked == 2


def test_epochs_of_a_stream(make: Any) -> None:
    first = make(Stream())
    plain(first)
    state = copy.deepcopy(first.state_dict())
    expected = [plain(first), plain(first)]
    again = make(Stream())
    head(iter(again), 2)
    again.load_state_dict(state)
    assert [plain(again), plain(again)] == expected


def test_through_json(make: Any) -> None:
    first = make(Stream())
    iterator = iter(first)
    head(iterator, 2)
    state = json.loads(json.dumps(first.state_dict()))
    again = make(Stream())
    again.load_state_dict(state)
    assert plain(again) == plain(iterator)


def test_no_state_begins_anew(make: Any) -> None:
    loader = make(Stream())
    loader.load_state_dict({})
    assert len(plain(loader)) == 5
