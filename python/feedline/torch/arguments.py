# SPDX-License-Identifier: Apache-2.0
"""The arguments of the DataLoader: torch's for torch, ours for the engine.

torch's own constructor judges its arguments, so every error has its type and
its words. What is here turns "auto" into numbers that it understands, leaves
out what an older torch does not know, and makes of ours the options of an
engine.
"""

from __future__ import annotations

import inspect
import os
from dataclasses import dataclass, fields
from typing import Any, Dict, Mapping, Optional, Union

import torch
import torch.utils.data

import feedline

from .block_sampler import BlockSampler

AUTO = "auto"
# What torch takes where prefetch_factor is not given.
TORCH_PREFETCH = 2
# Batches that an engine prepares ahead at most (option depth).
DEPTH_MAX = 1024

DTYPES = {
    "u8": torch.uint8,
    "f16": torch.float16,
    "bf16": torch.bfloat16,
    "f32": torch.float32,
}
LAYOUTS = {"nchw": torch.contiguous_format, "nhwc": torch.channels_last}
ON_ERROR = ("raise", "skip", "zero")
DRAWS = ("engine", "torch")
BACKENDS = ("auto", "native", "torch")
# Arguments that torch does not have and the engine gets as they are.
PASSED_ON = (
    "tuner tuner_profile memory_budget device_memory_budget reader quality "
    "affinity"
).split()
# Options that the DataLoader sets, and the argument that says the same.
OURS: Dict[str, str] = {
    **{name: name for name in PASSED_ON},
    **{
        name: name
        for name in (
            "batch_size shuffle drop_last seed device dtype layout on_error"
        ).split()
    },
    "workers": "num_workers",
    "depth": "prefetch_factor",
    **dict.fromkeys(
        "order rank world shard_tail repeats epoch_samples epochs".split(),
        "sampler",
    ),
    **dict.fromkeys(
        "handover held terms channels max_sample_bytes decode".split(), ""
    ),
}


@dataclass
class Given:
    """The arguments that torch does not have, as they were given."""

    device: Union[None, str, int, torch.device] = None
    dtype: Union[None, str, torch.dtype] = None
    layout: Union[None, str, torch.memory_format] = None
    on_error: str = "raise"
    tuner: Optional[str] = None
    tuner_profile: Optional[str] = None
    memory_budget: Union[None, int, str] = None
    device_memory_budget: Union[None, int, str] = None
    reader: Optional[str] = None
    quality: Optional[str] = None
    affinity: Optional[str] = None
    seed: Optional[int] = None
    options: Optional[Mapping[str, Any]] = None
    backend: str = "auto"
    snapshot_every_n_steps: int = 1
    draws: str = "engine"
    verify: int = 2
    helpers: Union[int, str] = AUTO


OURS_ALONE = tuple(one.name for one in fields(Given))
# torch's own; for_torch leaves out what an older one does not have.
THEIRS = (
    "dataset batch_size shuffle sampler batch_sampler num_workers collate_fn "
    "pin_memory drop_last timeout worker_init_fn multiprocessing_context "
    "generator prefetch_factor persistent_workers pin_memory_device in_order"
).split()


class AutoInt(int):
    """A number that stands for "auto": what the tuner has, or begins with.

    It counts and prints as a number, for frameworks that read `num_workers`;
    given back to a constructor, as Lightning does, it still means "auto".
    """

    def __reduce__(self) -> Any:
        return AutoInt, (int(self),)


def is_auto(value: object) -> bool:
    """Whether an argument leaves the number to the tuner."""
    return isinstance(value, AutoInt) or (
        isinstance(value, str) and value == AUTO
    )


def cores() -> int:
    """The cores this process may use, by its affinity and the quota of its
    control group; a fair share of them for each rank of the machine."""
    try:
        ranks = max(1, int(os.environ.get("LOCAL_WORLD_SIZE", "1")))
    except ValueError:
        ranks = 1
    return max(1, int(feedline.machine()["cpus_usable"]) // ranks)


def as_number(value: Union[int, str, None], number: int) -> Any:
    """`value`, or for "auto" a number that remembers what it is."""
    if isinstance(value, str) and value == AUTO:
        return AutoInt(number)
    return value


# ---- torch's ---------------------------------------------------------------

KNOWN_TO_TORCH = frozenset(
    inspect.signature(torch.utils.data.DataLoader.__init__).parameters
)


def for_torch(given: Dict[str, Any]) -> Dict[str, Any]:
    """What this torch's constructor is called with, of torch's arguments.

    ValueError where an older torch cannot do what is asked for.
    """
    arguments = dict(given)
    if arguments["prefetch_factor"] is None:
        del arguments["prefetch_factor"]  # each torch has its own default
    elif is_auto(arguments["prefetch_factor"]) and not arguments["num_workers"]:
        del arguments["prefetch_factor"]
    if "in_order" not in KNOWN_TO_TORCH:
        if not arguments.pop("in_order"):
            raise ValueError(
                "in_order=False needs torch 2.6 or later, this is torch %s"
                % torch.__version__
            )
    return arguments


# ---- Ours ------------------------------------------------------------------


def device_name(device: Union[None, str, int, torch.device]) -> Optional[str]:
    """The engine's name of a device: "host", "cuda:0"; None where not given.

    torch's own error for what is no device, ValueError for one of another kind.
    """
    if device is None:
        return None
    wanted = torch.device(device)
    if wanted.type == "cpu":
        return "host"
    if wanted.type != "cuda":
        raise ValueError(
            "device should be the CPU or a CUDA device, but got device=%r"
            % (device,)
        )
    index = wanted.index
    return "cuda:%d" % (torch.cuda.current_device() if index is None else index)


def dtype_name(dtype: Union[None, str, torch.dtype]) -> Optional[str]:
    """The engine's name of a dtype, given by that name or as torch's."""
    return _named("dtype", dtype, DTYPES)


def layout_name(layout: Union[None, str, torch.memory_format]) -> Optional[str]:
    """The engine's name of a memory order, given so or as torch's."""
    return _named("layout", layout, LAYOUTS)


def _named(what: str, value: Any, names: Mapping[str, Any]) -> Optional[str]:
    if value is None:
        return None
    for name, theirs in names.items():
        if value is theirs or (isinstance(value, str) and value == name):
            return name
    raise ValueError(
        "%s should be one of %s, or torch's name of it, but got %s=%r"
        % (what, ", ".join(names), what, value)
    )


def blocks(given: Mapping[str, Any]) -> Dict[str, Any]:
    """What shuffle="block" stands for, as arguments of torch's.

    ValueError for any other word.
    """
    shuffle, dataset = given["shuffle"], given["dataset"]
    if shuffle != "block":
        raise ValueError(
            'shuffle should be True, False or "block", but got shuffle=%r'
            % (shuffle,)
        )
    stream = isinstance(dataset, torch.utils.data.IterableDataset)
    samplers = given["sampler"], given["batch_sampler"]
    if stream or any(sampler is not None for sampler in samplers):
        return {"shuffle": True}  # torch judges what it goes with
    options = given["options"] or {}
    shape = {k: options[k] for k in ("block", "lanes") if k in options}
    sampler = BlockSampler(dataset, **shape, generator=given["generator"])
    return {"shuffle": None, "sampler": sampler}


def check_ours(given: Given) -> None:
    """Refuses wrong values of the arguments that torch does not have.

    What only the engine can judge is refused when it is made, by a ValueError
    too.
    """
    if given.on_error not in ON_ERROR:
        raise ValueError(
            "on_error should be one of %s, but got on_error=%r"
            % (", ".join(ON_ERROR), given.on_error)
        )
    if given.backend not in BACKENDS:
        raise ValueError(
            "backend should be one of %s, but got backend=%r"
            % (", ".join(BACKENDS), given.backend)
        )
    if given.draws not in DRAWS:
        raise ValueError(
            "draws should be one of %s, but got draws=%r"
            % (", ".join(DRAWS), given.draws)
        )
    if type(given.verify) is not int or given.verify < 0:
        raise ValueError(
            "verify should be a number of samples, but got verify=%r"
            % (given.verify,)
        )
    _check_helpers(given)
    dtype_name(given.dtype)
    layout_name(given.layout)
    if given.device is not None:
        if torch.device(given.device).type != "cuda":
            device_name(given.device)
    _check_seed(given.seed)
    _check_options(given.options)


def _check_helpers(given: Given) -> None:
    number = given.helpers
    if number == AUTO:
        return
    if type(number) is not int or number < 0:
        raise ValueError(
            'helpers should be "auto" or a number of processes, but got '
            "helpers=%r" % (number,)
        )
    if number > 0 and given.draws == "torch":
        raise ValueError(
            'draws="torch" is the order of one process; helpers should be 0 or '
            '"auto", but got helpers=%d' % number
        )


def _check_seed(seed: Any) -> None:
    if seed is None:
        return
    if isinstance(seed, bool) or not isinstance(seed, int) or seed < 0:
        raise ValueError(
            "seed should be None or a non-negative integer, but got seed=%r"
            % (seed,)
        )


def _check_options(options: Any) -> None:
    if options is None:
        return
    if not isinstance(options, Mapping):
        raise TypeError(
            "options should be a mapping of names to values, but got %s"
            % type(options).__name__
        )
    for name in options:
        if name not in OURS:
            continue
        instead = OURS[name]
        raise ValueError(
            "options may not set %r%s"
            % (
                name,
                ": use the argument %s" % instead
                if instead
                else ", which follows from the data set",
            )
        )


# ---- The engine's ----------------------------------------------------------


def engine_options(
    loader: Any,
    planned: Mapping[str, Any],
    batch_size: int,
    looks_ahead: bool = True,
) -> Dict[str, Any]:
    """The options of an engine for batches of up to batch_size samples.

    planned: what the data set and its transforms ask for. looks_ahead: batches
    may be asked for before the program takes them.
    """
    ours: Given = loader._feedline.given
    options: Dict[str, Any] = dict(planned)
    options.update(_concurrency(loader.num_workers, loader.prefetch_factor))
    if not looks_ahead:
        options["depth"] = 1
    options.update(
        batch_size=batch_size,
        order="given",
        handover="copy",
        held="grow",
        terms="torch",
        on_error="zero" if ours.on_error == "raise" else ours.on_error,
    )
    given = {
        "device": device_name(ours.device),
        "dtype": dtype_name(ours.dtype),
        "layout": layout_name(ours.layout),
        **{name: getattr(ours, name) for name in PASSED_ON},
    }
    options.update(
        (name, os.fspath(value) if isinstance(value, os.PathLike) else value)
        for name, value in given.items()
        if value is not None
    )
    options.update(ours.options or {})
    return options


def _concurrency(workers: int, prefetch: Optional[int]) -> Dict[str, Any]:
    """Options workers and depth.

    num_workers=0 asks for no processes, and there are none: the number of
    threads is the tuner's, as with "auto".
    """
    if workers == 0:
        return {"workers": AUTO, "depth": AUTO}
    if is_auto(workers) and (prefetch is None or is_auto(prefetch)):
        return {"workers": AUTO, "depth": AUTO}
    if prefetch is None or is_auto(prefetch):
        depth: Any = AUTO
    else:
        depth = min(DEPTH_MAX, workers * prefetch)
    return {
        "workers": AUTO if is_auto(workers) else int(workers),
        "depth": depth,
    }
