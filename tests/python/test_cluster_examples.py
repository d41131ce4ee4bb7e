# SPDX-License-Identifier: Apache-2.0
"""examples/cluster: the Slurm script by a real Slurm, the manifest as far as it
can be without a cluster."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Dict, Iterator, List

import pytest

import ranks
import slurm_cluster

images = pytest.importorskip("images")

CLUSTER = Path(__file__).resolve().parents[2] / "examples" / "cluster"
SECONDS = 400


@pytest.fixture
def slurm(tmp_path: Path) -> Iterator[Dict[str, str]]:
    with slurm_cluster.cluster(tmp_path) as found:
        yield found


def test_slurm_script(slurm: Dict[str, str], tmp_path: Path) -> None:
    """Two nodes, a worker each; again with the state of the first time."""
    torch = pytest.importorskip("torch")
    pytest.importorskip("torchvision")
    if torch.__version__ < "2" and sys.version_info >= (3, 11):
        pytest.skip("torchrun of torch 1 does not start on Python 3.11")
    if not shutil.which("sbatch"):
        pytest.skip("no sbatch")
    data, state = tmp_path / "data", tmp_path / "state.pt"
    images.make_folder(data, classes=2, per_class=8, size=(24, 20))
    environment = {
        **slurm,
        **{"OMP_NUM_THREADS": "1", "CUDA_VISIBLE_DEVICES": ""},
        **{"DATA": str(data), "CHECKPOINT": str(state)},
        **{"EXAMPLES": str(CLUSTER.parent), "PYTHON": sys.executable},
        **{"PROCESSES": "1", "SAVE_EVERY": "2"},
    }
    said = []
    for epochs in (1, 2):
        environment["PORT"] = str(ranks.free_port())
        output = tmp_path / ("output-%d" % epochs)
        command = ["sbatch", "--wait", "--output=%s" % output]
        command += [str(CLUSTER / "train.sbatch"), "--batch-size=4"]
        command += ["--size=16", "--epochs=%d" % epochs]
        done = subprocess.run(
            command,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=SECONDS,
            check=False,
        )
        text = output.read_text() if output.exists() else ""
        assert done.returncode == 0, done.stdout + text
        said.append(text)
    for rank in range(2):
        # Steps count over both runs: the second began where the first ended.
        assert "rank %d of 2: 8 samples, step 2," % rank in said[0]
        assert "rank %d of 2: 8 samples, step 4," % rank in said[1]
        assert "step 2," not in said[1]


def test_manifest() -> None:
    """One Service and one Job that fit together, and the command that it runs
    is one that the example takes."""
    yaml = pytest.importorskip("yaml")
    text = (CLUSTER / "kubernetes.yaml").read_text()
    service, job = list(yaml.safe_load_all(text))
    assert (service["kind"], job["kind"]) == ("Service", "Job")
    spec = job["spec"]
    pod = spec["template"]["spec"]
    (container,) = pod["containers"]
    name = service["metadata"]["name"]
    options: Dict[str, str] = {}
    plain: List[str] = []
    for word in container["command"]:
        key, _, value = word.partition("=")
        if key.startswith("--"):
            options[key[2:]] = value
        else:
            plain.append(word)
    assert pod["subdomain"] == name
    assert service["spec"]["selector"] == {"job-name": job["metadata"]["name"]}
    assert spec["completions"] == spec["parallelism"] == int(options["nnodes"])
    # Pods of an indexed Job are JOB-INDEX.
    first = "%s-0.%s" % (job["metadata"]["name"], name)
    port = container["ports"][0]["containerPort"]
    assert options["rdzv-endpoint"] == "%s:%d" % (first, port)
    gpus = container["resources"]["limits"]["nvidia.com/gpu"]
    assert options["nproc-per-node"] == gpus
    mounted = {m["name"]: m["mountPath"] for m in container["volumeMounts"]}
    assert sorted(mounted) == sorted(v["name"] for v in pod["volumes"])
    assert options["data"] == mounted["photos"]
    assert os.path.dirname(options["checkpoint"]) == mounted["states"]
    program, script = plain
    assert program == "torchrun"
    assert (CLUSTER.parent / script.split("/examples/")[1]).exists()
    help_text = (CLUSTER.parent / "python" / "ddp.py").read_text()
    for option in ("data", "checkpoint", "save-every"):
        assert '"--%s"' % option in help_text and option in options
