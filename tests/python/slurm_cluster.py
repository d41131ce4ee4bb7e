# SPDX-License-Identifier: Apache-2.0
"""A Slurm cluster of two nodes on this machine, of Debian's packages slurmctld,
slurmd, slurm-client and munge: real daemons, on ports and in a folder of their
own."""

from __future__ import annotations

import contextlib
import getpass
import os
import shutil
import signal
import subprocess
import time
from pathlib import Path
from typing import Dict, Iterator

import pytest

import ranks

PROGRAMS = ("munged", "slurmctld", "slurmd", "srun", "sinfo")
START_S = 60.0

CONF = """\
ClusterName=test
SlurmctldHost=localhost
SlurmUser={user}
SlurmdUser={user}
AuthType=auth/munge
CredType=cred/munge
AuthInfo=socket={folder}/munge.socket
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool-%n
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd-%n.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd-%n.log
SlurmctldPort={port}
ProctrackType=proctrack/pgid
TaskPlugin=task/none
SwitchType=switch/none
MpiDefault=none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SlurmdParameters=config_overrides
ReturnToService=2
NodeName=one NodeHostname=localhost NodeAddr=127.0.0.1 Port={one} CPUs=4
NodeName=two NodeHostname=localhost NodeAddr=127.0.0.1 Port={two} CPUs=4
PartitionName=all Nodes=ALL Default=YES State=UP
"""


def _program(name: str) -> str:
    """Daemons are where only root looks for them."""
    path = os.pathsep.join([os.environ.get("PATH", ""), "/usr/sbin"])
    return shutil.which(name, path=path) or ""


def _write_conf(folder: Path) -> Dict[str, str]:
    for name in ("state", "spool-one", "spool-two"):
        (folder / name).mkdir()
    text = CONF.format(
        user=getpass.getuser(),
        folder=folder,
        port=ranks.free_port(),
        one=ranks.free_port(),
        two=ranks.free_port(),
    )
    (folder / "slurm.conf").write_text(text)
    return {**os.environ, "SLURM_CONF": str(folder / "slurm.conf")}


def _start(folder: Path, environment: Dict[str, str]) -> None:
    key = folder / "key"
    key.write_bytes(os.urandom(1024))
    key.chmod(0o400)
    files = ("socket", "key-file", "pid-file", "log-file", "seed-file")
    names = ("munge.socket", "key", "munged.pid", "munged.log", "munge.seed")
    munged = [
        "--%s=%s" % (option, folder / name)
        for option, name in zip(files, names)
    ]
    for command in (
        ["munged", "--force", *munged],
        ["slurmctld"],
        ["slurmd", "-N", "one"],
        ["slurmd", "-N", "two"],
    ):
        subprocess.run(
            [_program(command[0]), *command[1:]], env=environment, check=True
        )


def _is_up(environment: Dict[str, str]) -> bool:
    """Both nodes wait for work."""
    found = subprocess.run(
        ["sinfo", "--noheader", "--states=idle", "--format=%D"],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    return found.stdout.strip() == "2"


def _stop(folder: Path) -> None:
    for file in folder.glob("*.pid"):
        with contextlib.suppress(ValueError, OSError):
            os.kill(int(file.read_text()), signal.SIGTERM)


@contextlib.contextmanager
def cluster(folder: Path) -> Iterator[Dict[str, str]]:
    """The environment in which srun finds it; skips where there is none."""
    missing = [name for name in PROGRAMS if not _program(name)]
    if missing:
        pytest.skip("no Slurm: %s is not installed" % ", ".join(missing))
    environment = _write_conf(folder)
    try:
        _start(folder, environment)
        end = time.monotonic() + START_S
        while not _is_up(environment):
            if time.monotonic() > end:
                logs = [file.read_text() for file in folder.glob("*.log")]
                pytest.skip("Slurm does not start here: " + "\n".join(logs))
            time.sleep(0.2)
        yield environment
    finally:
        _stop(folder)
