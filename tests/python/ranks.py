# SPDX-License-Identifier: Apache-2.0
"""Runs a function of a test module in several processes, as torchrun would.

    results = ranks.launch("test_with_x:share", 2, folder=str(folder))

calls share(folder=...) in two processes with the environment variables of
torch.distributed, and returns what each returned, by rank. Arguments and
results are JSON. A new interpreter imports the module and then forks, once for
each rank: imports are most of the time that such a test takes.
"""

from __future__ import annotations

import functools
import importlib
import json
import os
import socket
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any, Callable, Dict, List

import forks

SECONDS = 400


def free_port() -> int:
    """A port of this machine that nobody listens on."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


def environment(rank: int, world: int, port: int) -> Dict[str, str]:
    """What torchrun sets, for one machine without GPUs."""
    return {
        "RANK": str(rank),
        "LOCAL_RANK": str(rank),
        "GROUP_RANK": "0",
        "WORLD_SIZE": str(world),
        "LOCAL_WORLD_SIZE": str(world),
        "MASTER_ADDR": "127.0.0.1",
        "MASTER_PORT": str(port),
    }


def quiet() -> Dict[str, str]:
    """The environment of children: no GPU, and one thread for sums."""
    return {**os.environ, "OMP_NUM_THREADS": "1", "CUDA_VISIBLE_DEVICES": ""}


def launch(function: str, world: int, **arguments: Any) -> List[Any]:
    """What "module:name" returned in each of `world` processes."""
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(
            [sys.executable, __file__, function, str(world), folder]
            + [json.dumps(arguments)],
            env=quiet(),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=SECONDS,
            check=False,
        )
        assert done.returncode == 0, done.stdout
        files = [Path(folder) / str(rank) for rank in range(world)]
        return [json.loads(file.read_text()) for file in files]


def answer(call: Callable[[], Any], file: Path, rank: Dict[str, str]) -> None:
    """Writes what call() returns, in an environment of that rank."""
    os.environ.update(rank)
    file.write_text(json.dumps(call()))


def main() -> int:
    """The interpreter that imports: status 1 if a rank failed."""
    function, world, folder, arguments = sys.argv[1:]
    module, _, name = function.partition(":")
    target = getattr(importlib.import_module(module), name)
    call = functools.partial(target, **json.loads(arguments))
    port = free_port()
    children = []
    for rank in range(int(world)):
        variables = environment(rank, int(world), port)
        file = Path(folder) / str(rank)
        work = functools.partial(answer, call, file, variables)
        children.append(forks.begin(work))
    statuses = [os.waitpid(child, 0)[1] for child in children]
    return int(any(statuses))


if __name__ == "__main__":
    sys.exit(main())
