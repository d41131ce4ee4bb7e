# SPDX-License-Identifier: Apache-2.0
"""What this process was given to work with, and what will hurt it."""

from __future__ import annotations

import ctypes
import json
from typing import Any, Dict, List, NamedTuple, Tuple

from . import _c
from ._library import lib
from .errors import NotSupported, check, read_text


class Device(NamedTuple):
    """A GPU.

    driver_version: of CUDA, 12040 is 12.4. runtime_version: 0, as feedline uses
    the driver alone. numa_node: -1 where it is not known, or there is only one.
    pci: "0000:1b:00.0". copy_engines: 0 where it is not known without CUDA.
    """

    id: int
    name: str
    pci: str
    runtime_version: int
    driver_version: int
    numa_node: int
    copy_engines: int


def machine() -> Dict[str, Any]:
    """Cores, quota, memory and kernel, as far as this process may use them."""
    found: Dict[str, Any] = json.loads(read_text(lib.machine_json))
    return found


def doctor(device: str = "host") -> Dict[str, Any]:
    """What in this environment will hurt a training run, with remedies.

    device: "host", or "cuda:N" to look at a GPU too. Returns {"findings":
    [{"id", "level", "text", "remedy"}], "facts": {...}}; level is "ok",
    "note", "warning" or "error". Takes up to about a second. With "cuda:N" it
    starts CUDA, to see whether that works: afterwards this process cannot use
    it in children that it forks. `loaderbench doctor --device cuda:N` is a
    process of its own.
    """
    text = read_text(lib.doctor_json, device.encode())
    found: Dict[str, Any] = json.loads(text)
    return found


def _look(device: bytes) -> _c.device_info:
    info = _c.device_info()
    try:
        check(lib.device_look(device, info))
    except NotSupported:  # only CUDA can tell
        check(lib.device_get_info(device, info))
    return info


def devices() -> List[Device]:
    """The GPUs that can be used; none where CUDA is not there.

    As torch.cuda.device_count, this asks NVML, so that CUDA is not started: a
    process in which it was cannot use it in children that it forks. Where NVML
    cannot tell (it is missing, a GPU is split by MIG, GPUs differ and
    CUDA_DEVICE_ORDER is not PCI_BUS_ID, or CUDA_VISIBLE_DEVICES repeats one),
    CUDA is started, but no context is made.
    """
    try:
        count = check(lib.device_count())
    except NotSupported:
        return []
    found = []
    for number in range(count):
        info = _look(b"cuda:%d" % number)
        found.append(
            Device(
                id=info.id,
                name=info.name.decode(errors="replace"),
                pci=info.pci.decode(errors="replace"),
                runtime_version=info.runtime_version,
                driver_version=info.driver_version,
                numa_node=info.numa_node,
                copy_engines=info.copy_engines,
            )
        )
    return found


def image_endings(flag: int) -> Tuple[str, ...]:
    """The endings of image files that have a flag, _c.ENDING_*."""
    found: List[str] = []
    flags = ctypes.c_uint32()
    index = 0
    while (ending := lib.image_ending(index, flags)) is not None:
        if flags.value & flag:
            found.append(ending.decode())
        index += 1
    return tuple(found)


def features() -> List[str]:
    """What is built into the library: "uring", "cuda", "webp", and "packed": it
    decodes packed JPEGs, and others by a Huffman decoder of its own."""
    bits = lib.features()
    names = (
        (_c.FEATURE_URING, "uring"),
        (_c.FEATURE_CUDA, "cuda"),
        (_c.FEATURE_WEBP, "webp"),
        (_c.FEATURE_PACKED, "packed"),
    )
    return [name for bit, name in names if bits & bit]
