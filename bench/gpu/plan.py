# SPDX-License-Identifier: Apache-2.0
"""The steps of bench/gpu_check, in their order: what must be right comes first.

Each is step_NAME.py. Its limit ends it if it hangs. All limits together, that
of the build included, stay below ten minutes, so the whole does, whichever
steps hang.
"""
from typing import NamedTuple, Tuple

WHOLE_S = 600
BUILD_S = 100
PROBE_S = 15  # that the interpreter is waited for, once the build is done


class Plan(NamedTuple):
    """A step. needs: "gpu" and what else must be there; see NEEDS."""

    name: str
    limit_s: int
    needs: Tuple[str, ...]
    title: str


# Why a step that needs it is skipped where it is missing.
NEEDS = {
    "torch": "no torch in {python}",
    "torchvision": "no torchvision in {python}",
    "loaderbench": "loaderbench was not built: it needs jansson",
    "images": "there are no images: the step `images` has made none",
}

_TORCH = ("torch", "torchvision", "images")
_TOOL = ("loaderbench", "images")

STEPS = (
    Plan("load", 15, (), "The driver is found, kernels load"),
    Plan("images", 15, (), "Photographs to decode"),
    Plan("tests", 40, (), "The tests of device batches"),
    Plan("sanitizer", 20, _TOOL, "compute-sanitizer"),
    Plan("batches", 35, _TORCH, "torch's batches on the GPU and on the CPU"),
    Plan("decode", 30, ("images",), "Batches that the GPU decodes"),
    Plan("capture", 35, _TORCH, "Graphs captured beside a filling loader"),
    Plan("idle", 35, _TORCH, "Device idle against the truth"),
    Plan("bus", 25, (), "The bus, over time"),
    Plan("memory", 25, (), "Device memory by depth"),
    Plan("depth", 20, (), "A depth that changes, and the compute stream"),
    Plan("fork", 20, (), "A forked child that sleeps"),
    Plan("ranks", 20, (), "Two GPUs"),
    Plan("copies", 20, _TOOL, "Copies beside kernels"),
    Plan("cases", 20, _TOOL, "The two regimes of the bus"),
    Plan("example", 10, ("images",), "A C program that trains"),
    Plan("training", 80, ("torch", "images"), "ResNet-50 with real decoding"),
)

# A rehearsal may run on a machine that has other things to do.
REHEARSAL_PATIENCE = 10
