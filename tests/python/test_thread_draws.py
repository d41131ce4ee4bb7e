# SPDX-License-Identifier: Apache-2.0
"""Operations in Python that draw from random, numpy and torch: seeded for each
sample on any number of threads, and the program's own generators left alone."""

from __future__ import annotations

import pickle
import random
import sys
import threading
from typing import Any, Callable, Dict, List

import pytest

from child_process import check_clean, run_bare

import feedline
from feedline import thread_draws

numpy = pytest.importorskip("numpy")

COUNT = 48
SIDE = 6


def draw_python(image: Any) -> None:
    image[0, 0] = [random.randrange(256) for _ in range(3)]
    image[1, 1] = int(random.random() * 256)
    image[2, 2] = int(random.gauss(128, 20)) & 255
    values = [1, 2, 3]
    random.shuffle(values)
    image[3, 3] = values


def draw_numpy(image: Any) -> None:
    image[0] = numpy.random.randint(0, 256, image[0].shape, numpy.uint8)
    image[1, 1] = int(numpy.random.rand() * 256)
    image[2, 2] = int(numpy.random.normal(128, 20)) & 255
    image[3, 3] = int(numpy.random.sample() * 256)
    # An odd number of gaussians leaves one behind.
    image[4, 4] = int(numpy.random.randn() * 20) & 255


def draw_torch(image: Any) -> None:
    import torch

    image[0, 0] = torch.randint(0, 256, (3,)).numpy()
    image[1, 1] = int(torch.rand(()) * 256)
    image[2, 2] = int(torch.empty(()).uniform_(0, 256))
    image[3, 3] = int(torch.normal(128.0, 20.0, (1,))) & 255
    image[4, 4] = int(torch.rand_like(torch.zeros(())) * 256)
    image[5, 5] = int(torch.randint_like(torch.zeros(()), 256))
    image[5, 4] = torch.initial_seed() & 255


def draw_all(image: Any) -> None:
    draw_python(image)
    numpy.random.shuffle(image[1])
    draw_numpy(image)
    if "torch" in sys.modules:
        draw_torch(image)


def seed_again(image: Any) -> None:
    """Seeding is the operation's own affair, too."""
    random.seed(int(image[0, 0, 0]))
    numpy.random.seed(int(image[0, 0, 0]))
    draw_python(image)
    draw_numpy(image)


OPERATIONS: Dict[str, Callable[[Any], None]] = {
    "random": draw_python,
    "numpy": draw_numpy,
    "torch": draw_torch,
    "all": draw_all,
    "seeding": seed_again,
}


@pytest.fixture(params=OPERATIONS)
def operation(request: Any) -> Any:
    if request.param == "torch":
        pytest.importorskip("torch")
    return OPERATIONS[request.param]


def epochs(fn: Any, workers: int, seed: int = 3, count: int = 2) -> Any:
    pixels = numpy.zeros((COUNT, SIDE, SIDE, 3), numpy.uint8)
    with feedline.Loader(
        feedline.Dataset.pixels(pixels),
        feedline.Pipeline().python(fn),
        batch_size=4,
        dtype="u8",
        layout="nhwc",
        workers=workers,
        seed=seed,
    ) as loader:
        return numpy.stack(
            [
                numpy.concatenate([b.images.numpy().copy() for b in loader])
                for _ in range(count)
            ]
        )


def program_state() -> List[Any]:
    """Of all generators that are the program's."""
    found = [
        random.getstate(),
        [part.tolist() for part in numpy.random.get_state()[1:2]],
        numpy.random.get_state()[2:],
    ]
    if "torch" in sys.modules:
        found.append(sys.modules["torch"].get_rng_state().tolist())
    return found


def test_draws_follow_from_the_seed(operation: Any) -> None:
    found = epochs(operation, 1)
    for workers in (2, 8):
        assert (epochs(operation, workers) == found).all()
    if operation is not seed_again:
        assert not (found[0] == found[1]).all(), "of each epoch anew"
        assert not (epochs(operation, 2, seed=4) == found).all()
        each = {image.tobytes() for epoch in found for image in epoch}
        assert len(each) == 2 * COUNT, "of each sample"


def test_the_program_keeps_its_generators(operation: Any) -> None:
    epochs(operation, 4)  # the first one may import what it needs
    before = program_state()
    epochs(operation, 4)
    assert program_state() == before


def program_draws() -> List[float]:
    """A training loop that draws between any two draws of an operation."""
    found = [random.random(), random.gauss(0, 1), float(random.randrange(99))]
    found += [numpy.random.rand(), numpy.random.randn()]
    if "torch" in sys.modules:
        torch = sys.modules["torch"]
        found += [float(torch.rand(())), float(torch.randn(()))]
        found.append(float(torch.nn.functional.dropout(torch.ones(9)).sum()))
    return found


def seed_program() -> None:
    random.seed(1)
    numpy.random.seed(1)
    if "torch" in sys.modules:
        sys.modules["torch"].manual_seed(1)


def test_program_and_operations_draw_at_once(operation: Any) -> None:
    """Neither notices the other: operations wait for the program in the middle
    of a call, which draws meanwhile; as often as they come in an epoch."""
    alone = epochs(operation, 1, count=1)
    seed_program()
    expected = [program_draws() for _ in range(2 * COUNT)]
    turns = threading.Semaphore(0), threading.Semaphore(0)
    over = threading.Event()

    def let_the_program_draw() -> None:
        if not over.is_set():
            turns[0].release()
            turns[1].acquire()

    def interrupted(image: Any) -> None:
        let_the_program_draw()
        operation(image)
        let_the_program_draw()

    found: List[Any] = []
    loading = threading.Thread(
        target=lambda: found.append(epochs(interrupted, 4, count=1))
    )
    seed_program()
    loading.start()
    drawn = []
    for _ in range(2 * COUNT):
        turns[0].acquire()
        drawn.append(program_draws())
        turns[1].release()
    over.set()  # the loader has begun the next epoch
    for _ in range(4):
        turns[1].release()
    loading.join()
    assert drawn == expected
    assert (found[0] == alone).all()


def test_free_running_threads_draw_apart() -> None:
    """As above, with nothing that takes turns."""
    alone = epochs(draw_all, 1)
    seed_program()
    expected = [program_draws() for _ in range(400)]
    seed_program()
    drawn: List[Any] = []
    program = threading.Thread(
        target=lambda: drawn.extend(program_draws() for _ in range(400))
    )
    program.start()
    assert (epochs(draw_all, 8) == alone).all()
    program.join()
    assert drawn == expected


def test_an_operation_with_rng_is_left_alone() -> None:
    seen = []

    def own(image: Any, rng: Any) -> None:
        seen.append(thread_draws._call.new_seed)
        image[0] = rng.below(256)

    assert (epochs(own, 1) == epochs(own, 4)).all()
    assert set(seen) == {None}


def test_an_exception_leaves_the_operation() -> None:
    def failing(image: Any) -> None:
        random.random()
        raise KeyError

    with pytest.raises(feedline.UserError):
        epochs(failing, 1)
    assert thread_draws._call.new_seed is None


# ---- What is put in place --------------------------------------------------


def test_functions_are_what_they_were() -> None:
    thread_draws.install()
    for function in (random.random, random.uniform, numpy.random.rand):
        assert pickle.loads(pickle.dumps(function)) is function
        assert function.__doc__
    assert random.uniform.__name__ == "uniform"
    random.seed(7)
    expected = random.Random(7)
    assert random.random() == expected.random()
    assert random.gauss(0, 1) == expected.gauss(0, 1)
    numpy.random.seed(7)
    assert numpy.random.rand() == numpy.random.RandomState(7).rand()


def test_names_imported_before_are_found() -> None:
    """In a program that has them before the first operation is made."""
    program = (
        "from random import random, getrandbits\n"
        "from numpy.random import rand\n"
        "import sys, types\n"
        "other = types.ModuleType('other')\n"
        "other.drawn = random\n"
        "sys.modules['other'] = other\n"
        "import feedline\n"
        "def fn(image):\n"
        "    image[0, 0] = int(random() * 256), getrandbits(8), 0\n"
        "    image[1, 1] = int(rand() * 256), int(other.drawn() * 256), 0\n"
        "before = [random]\n"
        "pipeline = feedline.Pipeline().python(fn)\n"
        "assert random is not before[0] and other.drawn is random\n"
        "import numpy\n"
        "pixels = numpy.zeros((32, 4, 4, 3), numpy.uint8)\n"
        "def epoch(workers):\n"
        "    with feedline.Loader(feedline.Dataset.pixels(pixels), pipeline,\n"
        "        batch_size=4, dtype='u8', layout='nhwc', workers=workers,\n"
        "        seed=1) as loader:\n"
        "        return b''.join(bytes(b.images.numpy()) for b in loader)\n"
        "assert epoch(1) == epoch(8) == epoch(4)\n"
    )
    check_clean(run_bare(program))


def test_what_cannot_be_seeded_is_warned_of() -> None:
    torch = pytest.importorskip("torch")
    from feedline import torch_draws

    def drops(image: Any) -> None:
        ones = torch.ones(4)
        torch.nn.functional.dropout(ones, training=False)
        torch.nn.functional.dropout2d(ones.reshape(1, 1, 2, 2))

    torch_draws._warned.clear()
    with pytest.warns(feedline.EngineWarning, match="^dropout2d draws"):
        epochs(drops, 1)
    assert torch_draws._warned == {"dropout2d"}
