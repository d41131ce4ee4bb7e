# SPDX-License-Identifier: Apache-2.0
"""Jobs of real launchers: torchrun, Open MPI, MPICH and Slurm. Each process
takes its rank from them; together they deliver what one process does."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any, Callable, Dict, Iterator, List

import pytest

import slurm_cluster

images = pytest.importorskip("images")
pytest.importorskip("numpy", reason="no numpy")

JOB = Path(__file__).with_name("launched_job.py")
SAMPLES = 31
SECONDS = 300

Launch = Callable[[int], List[str]]


def torchrun(processes: int) -> List[str]:
    torch = pytest.importorskip("torch", reason="no torch")
    if torch.__version__ < "2" and sys.version_info >= (3, 11):
        pytest.skip("torchrun of torch 1 does not start under Python 3.11")
    return [sys.executable, "-m", "torch.distributed.run", "--standalone"] + [
        "--nproc_per_node=%d" % processes
    ]


def open_mpi(processes: int) -> List[str]:
    return ["mpirun.openmpi", "--allow-run-as-root", "--oversubscribe"] + [
        "-np",
        str(processes),
        sys.executable,
    ]


def mpich(processes: int) -> List[str]:
    return ["mpiexec.hydra", "-np", str(processes), sys.executable]


def slurm(processes: int) -> List[str]:
    """Over both nodes, if there are processes for them."""
    nodes = str(min(processes, 2))
    return ["srun", "-n", str(processes), "-N", nodes, sys.executable]


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> str:
    root = tmp_path_factory.mktemp("launched")
    images.make_folder(root, classes=1, per_class=SAMPLES, size=(24, 20))
    return str(root)


@pytest.fixture(scope="module")
def slurm_environment(
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Dict[str, str]]:
    with slurm_cluster.cluster(tmp_path_factory.mktemp("slurm")) as found:
        yield found


@pytest.fixture(params=[torchrun, open_mpi, mpich, slurm])
def launch(request: pytest.FixtureRequest) -> Any:
    """Runs launched_job.py by a launcher: what each rank wrote, by rank."""
    environment = dict(os.environ)
    if request.param is slurm:
        environment = request.getfixturevalue("slurm_environment")
    command = request.param(1)[0]
    if not shutil.which(command):
        pytest.skip("%s is not installed" % command)

    def run(processes: int, out: Path, *arguments: str) -> List[Any]:
        out.mkdir()
        done = subprocess.run(
            [*request.param(processes), str(JOB), str(out), *arguments],
            env={**environment, "OMP_NUM_THREADS": "1"},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=SECONDS,
            check=False,
        )
        assert done.returncode == 0, done.stdout
        files = [out / ("%d.json" % rank) for rank in range(processes)]
        assert len(list(out.iterdir())) == processes
        return [json.loads(file.read_text()) for file in files]

    return run


@pytest.fixture(scope="module")
def alone(
    data: str, tmp_path_factory: pytest.TempPathFactory
) -> Dict[str, List[int]]:
    """What a process that nobody launched sees at each place of an epoch."""
    out = tmp_path_factory.mktemp("alone")
    command = [sys.executable, str(JOB), str(out), data, "99"]
    subprocess.run(command, check=True, timeout=SECONDS)
    seen: Dict[str, List[int]] = json.loads((out / "0.json").read_text())[
        "seen"
    ]
    assert sorted(index for index, _ in seen.values()) == list(range(SAMPLES))
    return seen


def together(job: List[Any]) -> Dict[str, List[int]]:
    """What all ranks saw; behind the epoch's end places begin anew."""
    seen: Dict[str, List[int]] = {}
    for rank, one in enumerate(job):
        assert (one["rank"], one["world"]) == (rank, len(job))
        assert one["state"] == job[0]["state"]
        for place, sample in one["seen"].items():
            if int(place) < SAMPLES:
                assert place not in seen
                seen[place] = sample
    return seen


@pytest.mark.parametrize("processes", [1, 2, 4])
def test_union(
    launch: Any, data: str, alone: Any, tmp_path: Path, processes: int
) -> None:
    """Each place once, with the sample and the pixels of one process."""
    assert together(launch(processes, tmp_path / "out", data, "99")) == alone


def test_resumed(launch: Any, data: str, alone: Any, tmp_path: Path) -> None:
    """Four ranks, then three, then two: the same epoch to its end."""
    seen: Dict[str, List[int]] = {}
    state: List[str] = []
    for processes, batches in ((4, "1"), (3, "1"), (2, "99")):
        out = tmp_path / str(processes)
        job = launch(processes, out, data, batches, *state)
        part = together(job)
        assert not seen.keys() & part.keys()
        seen.update(part)
        file = tmp_path / ("state-%d" % processes)
        file.write_text(job[0]["state"])
        state = [str(file)]
    assert seen == alone


@pytest.fixture(scope="module")
def mpi_program(tmp_path_factory: pytest.TempPathFactory) -> str:
    """examples/mpi.c, as its first lines say."""
    compiler, library = "mpicc.openmpi", os.environ.get("FEEDLINE_LIBRARY")
    if not shutil.which(compiler) or not library:
        pytest.skip("no %s, or no library of a build" % compiler)
    root = JOB.parents[2]
    program = str(tmp_path_factory.mktemp("mpi") / "mpi")
    source = str(root / "examples" / "mpi.c")
    flags = ["-std=c11", "-Wall", "-Wextra", "-Werror"]
    flags += ["-I%s" % (root / "include"), library]
    flags.append("-Wl,-rpath,%s" % Path(library).parent)
    subprocess.run([compiler, source, *flags, "-o", program], check=True)
    return program


def test_example_in_c(mpi_program: str, tmp_path: Path) -> None:
    """The same epochs by one, two and four ranks: the loader's are MPI's."""
    images.make_folder(tmp_path, classes=2, per_class=16, size=(24, 20))
    lines = {}
    for processes in (1, 2, 4):
        done = subprocess.run(
            [*open_mpi(processes)[:-1], mpi_program, str(tmp_path)],
            stdout=subprocess.PIPE,
            text=True,
            check=True,
            timeout=SECONDS,
        )
        found = re.findall(
            r"epoch (\d): 32 images on %d ranks, sum (\S+)" % processes,
            done.stdout,
        )
        lines[processes] = [float(number) for _, number in found]
    assert len(lines[1]) == 2 and lines[1][0] != lines[1][1]
    for processes in (2, 4):
        assert lines[processes] == pytest.approx(lines[1], rel=1e-9)


def test_ranks_in_c_that_disagree(mpi_program: str, tmp_path: Path) -> None:
    """Rank 2 has another folder: all end before a batch, and rank 0 says it."""
    folders = [tmp_path / "usual", tmp_path / "other"]
    for folder, images_each in zip(folders, (16, 15)):
        images.make_folder(
            folder, classes=2, per_class=images_each, size=(24, 20)
        )
    launch = open_mpi(2)[:-1]
    usual, other = ([mpi_program, str(folder)] for folder in folders)
    command = [*launch, *usual, ":", "-np", "1", *other, ":"]
    done = subprocess.run(
        [*command, "-np", "1", *usual],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        check=False,
        timeout=SECONDS,
    )
    assert done.returncode == 1 and "epoch" not in done.stdout
    said = [line for line in done.stderr.splitlines() if "do not agree" in line]
    assert len(said) == 1
    assert "rank 0 has samples=32 (process " in said[0]
    assert "and rank 2 has samples=30 (process " in said[0]
