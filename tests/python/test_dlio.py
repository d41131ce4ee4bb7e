# SPDX-License-Identifier: Apache-2.0
"""bench/dlio: what the plugin hands to DLIO, the benchmark of MLPerf Storage,
and a run of it. Skipped where dlio_benchmark is not installed, as in CI: it
brings torch, TensorFlow and MPI."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import zlib
from pathlib import Path
from typing import Any, Dict, List

import pytest

os.environ["DFTRACER_ENABLE"] = "0"  # its tracer, which is on by default
numpy = pytest.importorskip("numpy", reason="no numpy")
Image = pytest.importorskip("PIL.Image", reason="no Pillow")
pytest.importorskip("dlio_benchmark", reason="no dlio_benchmark")
pytest.importorskip("torch", reason="no torch")

ROOM = Path(__file__).resolve().parents[2] / "bench" / "dlio"
sys.path.insert(0, str(ROOM))

from dlio_benchmark.common import enumerations  # noqa: E402
from dlio_benchmark.utils.config import ConfigArguments  # noqa: E402
from dlio_benchmark.utils.utility import DLIOMPI  # noqa: E402
from feedline_dlio import FeedlineDataLoader  # noqa: E402
from shard_writers import bytes_feature, write_examples  # noqa: E402

RANKS = 2


def arguments(rank: int, files: List[Path], samples: int) -> Any:
    """What DLIO has of a run when it makes its loaders."""
    DLIOMPI.reset()
    ConfigArguments.reset()
    DLIOMPI.get_instance().set_parent_values(rank, RANKS)
    args = ConfigArguments.get_instance()
    args.num_samples_per_file = samples
    args.record_length = 24 * 24
    args.sample_shuffle = enumerations.Shuffle.SEED
    args.batch_size = 3
    args.derive_configurations([str(f) for f in files], [])
    return args


def delivered(kind: Any, epochs: int) -> List[List[Any]]:
    train = enumerations.DatasetType.TRAIN
    loader = FeedlineDataLoader(kind, train, 1)
    loader.read()
    found = []
    for _ in range(epochs):
        samples: List[Any] = []
        for batch in loader.next():
            if kind is enumerations.FormatType.TFRECORD:
                samples += [batch.bytes(i) for i in range(len(batch))]
            else:
                samples += [zlib.crc32(pixels.tobytes()) for pixels in batch]
        loader.finalize()
        found.append(samples)
    return found


def write_images(folder: Path, ending: str, mode: str) -> Dict[Path, int]:
    """Files with the checksum of their pixels."""
    rng = numpy.random.default_rng(3)
    shape = (24, 24) if mode == "L" else (24, 24, 3)
    found = {}
    for i in range(12):
        path = folder / ("%02d.%s" % (i, ending))
        Image.fromarray(rng.integers(0, 255, shape, "u1")).save(path)
        with Image.open(path) as image:
            found[path] = zlib.crc32(numpy.asarray(image).tobytes())
    return found


@pytest.mark.parametrize(
    "ending, mode", [("jpeg", "L"), ("jpeg", "RGB"), ("png", "L")]
)
def test_pixels_of_each_file_once(
    tmp_path: Path, ending: str, mode: str
) -> None:
    images = write_images(tmp_path, ending, mode)
    kind = enumerations.FormatType(ending)
    for_each_rank = []
    for rank in range(RANKS):
        arguments(rank, list(images), 1)
        for_each_rank.append(delivered(kind, 2))
    for epoch in range(2):
        seen = for_each_rank[0][epoch] + for_each_rank[1][epoch]
        assert sorted(seen) == sorted(images.values())
    assert for_each_rank[0][0] != for_each_rank[0][1]  # shuffled anew


def test_records_as_they_are_written(tmp_path: Path) -> None:
    images = [b"image %d" % i for i in range(12)]
    files = [tmp_path / ("%d.tfrecord" % i) for i in range(2)]
    for i, path in enumerate(files):
        mine = images[6 * i : 6 * i + 6]
        write_examples(path, [{"image": bytes_feature(one)} for one in mine])
    seen: List[bytes] = []
    for rank in range(RANKS):
        arguments(rank, files, 6)
        seen += delivered(enumerations.FormatType.TFRECORD, 1)[0]
    assert sorted(seen) == sorted(images)


def test_what_is_no_image_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.npz").write_bytes(b"")
    arguments(0, [tmp_path / "a.npz"], 1)
    with pytest.raises(NotImplementedError, match="this data set is npz"):
        delivered(enumerations.FormatType.NPZ, 1)


def test_work_that_is_slept_is_refused(tmp_path: Path) -> None:
    images = write_images(tmp_path, "png", "L")
    arguments(0, list(images), 1).preprocess_time = 0.1
    with pytest.raises(NotImplementedError, match="preprocess_time"):
        delivered(enumerations.FormatType.PNG, 1)


def test_a_run(tmp_path: Path) -> None:
    """DLIO itself, in one process that mpirun need not start."""
    pytest.importorskip("mpi4py", reason="no mpi4py")
    settings = {
        "framework": "pytorch",
        "dataset.format": "jpeg",
        "dataset.num_files_train": 12,
        "dataset.num_files_eval": 0,
        "dataset.num_subfolders_train": 0,
        "dataset.num_subfolders_eval": 0,
        "dataset.num_samples_per_file": 1,
        "dataset.record_length": 24 * 24,
        "dataset.data_folder": tmp_path / "data",
        "checkpoint.checkpoint_folder": tmp_path / "checkpoint",
        "reader.batch_size": 3,
        "reader.data_loader": "custom",
        "reader.data_loader_classname": "feedline_dlio.FeedlineDataLoader",
        "reader.data_loader_sampler": "iterative",
        "train.epochs": 2,
        "train.computation_time": 0.01,
        "workflow.evaluation": False,
    }
    for generate in (True, False):
        settings["workflow.generate_data"] = generate
        settings["workflow.train"] = not generate
        command = [sys.executable, str(ROOM / "one_accelerator.py")]
        command += ["++workload.%s=%s" % pair for pair in settings.items()]
        command += ["hydra.run.dir=%s" % (tmp_path / "out")]
        done = subprocess.run(
            command,
            cwd=tmp_path,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            encoding="utf-8",
        )
        assert done.returncode == 0, done.stdout
    summary = json.loads((tmp_path / "out" / "summary.json").read_text())
    assert summary["epochs"] == 2
    assert 0 < summary["metric"]["train_au_mean_percentage"] <= 100
    account = json.loads((tmp_path / "out" / "0_cpu.json").read_text())
    assert account["samples"] == 2 * 3 * 3  # 2 epochs of 4 steps but the first
    assert account["clock_s"] > 0
