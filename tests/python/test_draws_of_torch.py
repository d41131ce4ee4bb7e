# SPDX-License-Identifier: Apache-2.0
"""Each function of torch, random and numpy that draws, by itself: inside of an
operation from that one's generator, elsewhere as ever."""

from __future__ import annotations

import pickle
import random
import warnings
from typing import Any, Callable, Dict, List

import pytest

torch = pytest.importorskip("torch")
numpy = pytest.importorskip("numpy")

from child_process import check_clean, run_bare  # noqa: E402

import feedline  # noqa: E402
from feedline import thread_draws, torch_draws  # noqa: E402

HALVES = torch.full((8,), 0.5)
ONES = torch.ones(8)
TABLE = torch.arange(64.0).reshape(8, 8).sin()

FUNCTIONS: Dict[str, Callable[[], Any]] = {
    "bernoulli": lambda: torch.bernoulli(HALVES),
    "binomial": lambda: torch.binomial(ONES * 9, HALVES),
    "multinomial": lambda: torch.multinomial(ONES, 4),
    "normal": lambda: torch.normal(0.0, 1.0, (8,)),
    "poisson": lambda: torch.poisson(ONES * 9),
    "rand": lambda: torch.rand(8),
    "randint": lambda: torch.randint(0, 1000, (8,)),
    "randn": lambda: torch.randn(8),
    "randperm": lambda: torch.randperm(16),
    "rrelu": lambda: torch.rrelu(-ONES, 0.1, 0.9, True),
    "rrelu_": lambda: torch.rrelu_(-ONES, 0.1, 0.9, True),
    "_sample_dirichlet": lambda: torch._sample_dirichlet(ONES),
    "_standard_gamma": lambda: torch._standard_gamma(ONES),
    "rand_like": lambda: torch.rand_like(ONES),
    "randn_like": lambda: torch.randn_like(ONES),
    "randint_like": lambda: torch.randint_like(ONES, 1000),
}
METHODS: Dict[str, Callable[[], Any]] = {
    "bernoulli": lambda: HALVES.bernoulli(),
    "bernoulli_": lambda: torch.empty(8).bernoulli_(0.5),
    "cauchy_": lambda: torch.empty(8).cauchy_(),
    "exponential_": lambda: torch.empty(8).exponential_(),
    "geometric_": lambda: torch.empty(8).geometric_(0.1),
    "log_normal_": lambda: torch.empty(8).log_normal_(),
    "multinomial": lambda: ONES.multinomial(4),
    "normal_": lambda: torch.empty(8).normal_(),
    "random_": lambda: torch.empty(8).random_(1000),
    "uniform_": lambda: torch.empty(8).uniform_(),
}
# What draws by those.
OTHERS: Dict[str, Callable[[], Any]] = {
    "gumbel_softmax": lambda: torch.nn.functional.gumbel_softmax(ONES),
    "rrelu of nn": lambda: torch.nn.functional.rrelu(-ONES, training=True),
    "init": lambda: torch.nn.init.trunc_normal_(torch.empty(8)),
    "a module": lambda: torch.nn.Linear(2, 2).weight.detach(),
    "svd_lowrank": lambda: torch.svd_lowrank(TABLE, 2)[0],
    "Beta": lambda: torch.distributions.Beta(ONES, ONES).sample(),
    "Categorical": lambda: torch.distributions.Categorical(ONES).sample((9,)),
    "keywords": lambda: torch.randint(high=1000, size=(8,), dtype=torch.int32),
    "no generator": lambda: torch.rand(8, generator=None),
}


def inside(fn: Callable[[], Any], seed: int) -> Any:
    return thread_draws.run(lambda unused: fn(), None, lambda: seed)


@pytest.mark.parametrize("of", ["torch", "Tensor", "others"])
def test_of_torch(of: str) -> None:
    draws = {"torch": FUNCTIONS, "Tensor": METHODS, "others": OTHERS}[of]
    for name, fn in draws.items():
        before = torch.get_rng_state()
        first, again, other = (inside(fn, seed) for seed in (3, 3, 4))
        assert torch.equal(first, again), name
        assert not torch.equal(first, other), name
        assert torch.equal(torch.get_rng_state(), before), name
        torch.manual_seed(3)
        before = torch.get_rng_state()
        assert torch.equal(fn(), first), "the same numbers: " + name
        assert not torch.equal(torch.get_rng_state(), before), name


def test_every_one_of_torch_is_here() -> None:
    """All operators of torch's that take a generator."""
    tried = {*FUNCTIONS, *METHODS}
    inner = {"_fused_dropout"}  # of native_dropout, on GPUs
    for schema in torch._C._jit_get_all_schemas():
        space, _, name = schema.name.partition("::")
        kinds = (str(argument.type) for argument in schema.arguments)
        if space != "aten" or not any("Generator" in kind for kind in kinds):
            continue
        for owner in (torch, torch.Tensor):
            if callable(getattr(owner, name, None)) and name not in inner:
                assert name in tried or name in SEEDING, name


SEEDING = ("manual_seed", "seed", "initial_seed")


def test_those_without_a_generator_warn() -> None:
    spaces = torch, torch.nn.functional
    torch_draws._warned.clear()
    for name in torch_draws.UNREACHED:
        found = [space for space in spaces if hasattr(space, name)]
        for space in found[-1:]:
            ones = torch.ones((1, 2, 2, 2)[: 3 if name == "dropout1d" else 5])
            with pytest.warns(feedline.EngineWarning, match="^%s " % name):
                inside(lambda: getattr(space, name)(ones, 0.5, True), 1)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        torch_draws._warned.clear()
        torch.nn.functional.dropout(torch.ones(4))


def bound_to(module: Any, owner: Any) -> List[str]:
    return [
        name
        for name, value in sorted(vars(module).items())
        if getattr(getattr(value, "__wrapped__", value), "__self__", 0) is owner
    ]


ARGUMENTS: Dict[str, Any] = {
    "betavariate": (1, 1),
    "binomialvariate": (9, 0.5),
    "choice": ([1, 2, 3],),
    "choices": ([1, 2, 3],),
    "expovariate": (1,),
    "gammavariate": (1, 1),
    "gauss": (0, 1),
    "getrandbits": (30,),
    "lognormvariate": (0, 1),
    "normalvariate": (0, 1),
    "paretovariate": (1,),
    "randbytes": (8,),
    "randint": (0, 9),
    "randrange": (9,),
    "sample": ([1, 2, 3], 2),
    "uniform": (0, 1),
    "vonmisesvariate": (0, 1),
    "weibullvariate": (1, 1),
}


def test_of_random() -> None:
    names = bound_to(random, getattr(random, "_inst"))
    assert len(names) > 20
    for name in names:
        if name in ("seed", "setstate", "getstate", "shuffle"):
            continue
        fn = lambda: getattr(random, name)(*ARGUMENTS.get(name, ()))  # noqa
        before = random.getstate()
        found = inside(lambda: [fn() for _ in range(9)], 3)
        assert found == inside(lambda: [fn() for _ in range(9)], 3), name
        assert found != inside(lambda: [fn() for _ in range(9)], 4), name
        assert random.getstate() == before, name


OF_NUMPY: Dict[str, Any] = {
    "binomial": (9, 0.5),
    "bytes": (8,),
    "choice": (9,),
    "dirichlet": ([1, 1],),
    "f": (2, 2),
    "beta": (1, 1),
    "hypergeometric": (9, 9, 9),
    "logseries": (0.9,),
    "multinomial": (9, [0.5, 0.5]),
    "multivariate_normal": ([0], [[1]]),
    "negative_binomial": (9, 0.5),
    "noncentral_chisquare": (2, 1),
    "noncentral_f": (2, 2, 1),
    "permutation": (9,),
    "randint": (9,),
    "random_integers": (9,),
    "triangular": (0, 1, 2),
    "vonmises": (0, 1),
    "wald": (1, 1),
    "zipf": (1.1,),
    "chisquare": (2,),
    "gamma": (2,),
    "geometric": (0.1,),
    "pareto": (1,),
    "power": (1,),
    "standard_gamma": (1,),
    "standard_t": (2,),
    "tomaxint": (),
    "weibull": (1,),
}


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_of_numpy() -> None:
    names = bound_to(numpy.random, numpy.random.mtrand._rand)
    assert len(names) > 40
    for name in (*names, "sample", "ranf"):
        if name in ("seed", "get_state", "set_state", "shuffle"):
            continue
        fn = getattr(numpy.random, name)
        many = lambda: [fn(*OF_NUMPY.get(name, ())) for _ in range(9)]  # noqa
        before = str(numpy.random.get_state(legacy=False))
        found = str(inside(many, 3))
        assert found == str(inside(many, 3)), name
        assert found != str(inside(many, 4)), name
        assert str(numpy.random.get_state(legacy=False)) == before, name


def test_nothing_is_seeded_unless_it_draws() -> None:
    def never() -> int:
        raise AssertionError

    def no_draw(unused: Any) -> float:
        return float(torch.ones(3).add_(1).sum()) + numpy.zeros(2).sum()

    assert thread_draws.run(no_draw, None, never) == 6


# ---- Who knows torch's functions by what they are ---------------------------


def test_pickled_by_name() -> None:
    thread_draws.install()
    for function in (
        torch.rand,
        torch.Tensor.uniform_,
        torch.nn.functional.dropout,
    ):
        assert hasattr(function, "__wrapped__") and function.__doc__
        assert pickle.loads(pickle.dumps(function)) is function


SCRIPTED = """
import warnings
warnings.simplefilter("ignore")
import torch
{before}
import feedline
from feedline import thread_draws
thread_draws.install()
def draws(x):
    # type: (torch.Tensor) -> torch.Tensor
    x = x + torch.rand([3]) + torch.empty(3).uniform_(0.0, 1.0)
    return torch.nn.functional.dropout(x, 0.5, True) + torch.randn_like(x)
scripted = torch.jit.script(draws)
torch.manual_seed(0)
expected = draws(torch.ones(3))
torch.manual_seed(0)
assert torch.equal(scripted(torch.ones(3)), expected)
"""


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("before", ["", "torch.jit.script(torch.nn.ReLU())"])
def test_torchscript_compiles_the_originals(before: str, tmp_path: Any) -> None:
    file = tmp_path / "program.py"  # TorchScript reads the source
    file.write_text(SCRIPTED.format(before=before))
    check_clean(run_bare("import runpy; runpy.run_path(%r)" % str(file)))


COMPILED = """
import torch
import torch.nn.functional as F
{before}
import feedline
from feedline import thread_draws
thread_draws.install()
def draws(x):
    x = x + torch.rand(3) + torch.empty(3).uniform_(0, 1) + torch.randperm(3)
    x = x + torch.bernoulli(torch.full((3,), 0.5)) + torch.rand_like(x)
    x = F.dropout(x, 0.5, True) + torch.nn.Dropout(0.5)(x)
    return x + torch.normal(x, 1)
compiled = torch.compile(draws, backend="eager", fullgraph=True)
torch.manual_seed(0)
expected = draws(torch.ones(3))
torch.manual_seed(0)
assert torch.equal(compiled(torch.ones(3)), expected)
"""
COMPILED_BEFORE = (
    "torch.compile(lambda x: torch.rand(3) + x, backend='eager')(1)"
)


@pytest.mark.skipif(not hasattr(torch, "compile"), reason="of torch 2")
@pytest.mark.parametrize("before", ["", COMPILED_BEFORE])
def test_a_compiled_program_is_one_graph(before: str) -> None:
    check_clean(run_bare(COMPILED.format(before=before)))


@pytest.mark.skipif(
    not hasattr(torch, "set_default_device"), reason="of torch 2"
)
def test_a_default_device_is_that_of_draws() -> None:
    program = (
        "import torch\n"
        "from feedline import thread_draws\n"
        "thread_draws.install()\n"
        "with torch.device('meta'):\n"
        "    assert torch.rand(3).is_meta and torch.randperm(3).is_meta\n"
        "assert torch.rand(3).is_cpu\n"
    )
    check_clean(run_bare(program))
