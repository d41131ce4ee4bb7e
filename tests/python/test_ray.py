# SPDX-License-Identifier: Apache-2.0
"""feedline.ray on a real cluster of three nodes, on this machine: the stream is
that of a feedline.Loader, whoever makes it and whatever is lost meanwhile."""

from __future__ import annotations

import gc
import hashlib
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, Iterator, List, Tuple

import pytest

pytest.importorskip("numpy", reason="no numpy")
os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
os.environ["RAY_raylet_start_wait_time_s"] = "200"  # on a busy machine
ray = pytest.importorskip("ray", reason="no ray")

import feedline  # noqa: E402
import feedline.ray  # noqa: E402

STORE = 100 << 20
OPTIONS = dict(batch_size=4, dtype="u8", shuffle=True, seed=7, workers=1)
START_S = 120.0


def pipeline() -> feedline.Pipeline:
    return (
        feedline.Pipeline()
        .add("random_resized_crop", size=32)
        .add("horizontal_flip")
    )


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    """A head for the trainer, without cores, and two nodes for makers."""
    from ray.cluster_utils import Cluster

    made = Cluster(
        initialize_head=True,
        head_node_args=dict(
            num_cpus=0, object_store_memory=STORE, include_dashboard=False
        ),
    )
    for _ in range(2):
        add_node(made)
    ray.init(address=made.address, log_to_driver=False, logging_level="ERROR")
    yield made
    ray.shutdown()
    made.shutdown()


def add_node(cluster: Any) -> Any:
    return cluster.add_node(
        num_cpus=2, resources={"maker": 2}, object_store_memory=STORE
    )


@pytest.fixture
def data(image_folder: Path) -> feedline.Dataset:
    return feedline.Dataset.open("folder:%s" % image_folder)


def actors(count: int = 2) -> feedline.ray.Actors:
    return feedline.ray.Actors(count, num_cpus=1, resources={"maker": 1})


def remote(data: Any, share: Any = 1.0, **options: Any) -> feedline.ray.Loader:
    made = feedline.ray.Loader(
        data,
        pipeline(),
        actors=actors(),
        share=share,
        **{**OPTIONS, **options},
    )
    assert made.wait_for_actors(START_S) == 2
    return made


def local(data: Any, **options: Any) -> feedline.Loader:
    return feedline.Loader(data, pipeline(), **{**OPTIONS, **options})


def contents(batch: feedline.Batch) -> Tuple[Any, ...]:
    """All of a batch but when it was made."""
    found = (
        batch.epoch,
        batch.sequence,
        batch.position,
        hashlib.sha1(batch.images.numpy().tobytes()).hexdigest(),
        batch.labels.tolist(),
        batch.sample_index,
        batch.sample_status,
    )
    batch.release()
    return found


def epochs(loader: Any, n: int) -> List[Any]:
    return [[contents(batch) for batch in loader] for _ in range(n)]


@pytest.mark.parametrize("share", [1.0, 0.4, 0.0, None])
def test_the_stream_is_the_local_one(
    cluster: Any, data: Any, share: Any
) -> None:
    with local(data) as own, remote(data, share) as loader:
        assert len(loader) == len(own)
        assert epochs(loader, 3) == epochs(own, 3)
        assert loader.save() == own.save()
        assert len(loader.actors["nodes"]) == 2
        assert loader.actors["remade"] == 0


@pytest.mark.parametrize(
    "more",
    [
        dict(world=3, rank=1),
        dict(repeats=2, drop_last=True),
        dict(dtype="f32", layout="nhwc", channels=1),
        dict(shuffle="block", block=3, lanes=2, depth=1),
    ],
)
def test_any_order_and_type(cluster: Any, data: Any, more: Any) -> None:
    with local(data, **more) as own, remote(data, 0.7, **more) as loader:
        assert epochs(loader, 2) == epochs(own, 2)
        assert loader.epoch_info == own.epoch_info


def test_a_node_is_lost(cluster: Any, data: Any) -> None:
    """In the middle of an epoch, with batches under way; what it was making is
    made elsewhere, and a new node gets the actor."""
    third = add_node(cluster)
    with local(data, repeats=20, epoch_samples=480) as own:
        wanted = epochs(own, 1)[0]
    with remote(data, 1.0, repeats=20, epoch_samples=480) as loader:
        found = []
        for i, batch in enumerate(loader):
            found.append(contents(batch))
            if i == 10:
                for node in cluster.worker_nodes - {third}:
                    cluster.remove_node(node, allow_graceful=False)
        assert found == wanted
    add_node(cluster)


def test_an_actor_is_lost(cluster: Any, data: Any) -> None:
    with local(data) as own:
        wanted = epochs(own, 3)
    with remote(data, 1.0) as loader:
        found = epochs(loader, 1)
        for member in loader._supply._members:
            os.kill(ray.get(member.handle.pid.remote()), signal.SIGKILL)
        assert found + epochs(loader, 2) == wanted
        assert loader.wait_for_actors(START_S) == 2
        assert epochs(loader, 1)[0][0][0] == 3


def test_a_loader_that_is_dropped_ends_its_actors(
    cluster: Any, data: Any
) -> None:
    loader = remote(data, 1.0)
    loader.next()
    handles = [member.handle for member in loader._supply._members]
    del loader
    gc.collect()
    for handle in handles:
        with pytest.raises(ray.exceptions.RayActorError):
            end = time.monotonic() + START_S
            while time.monotonic() < end:
                ray.get(handle.pid.remote())
                time.sleep(0.05)


@pytest.mark.parametrize("first, second", [(remote, local), (local, remote)])
def test_resumed_with_and_without(
    cluster: Any, data: Any, first: Any, second: Any
) -> None:
    with local(data) as own:
        wanted = [one[3:] for one in epochs(own, 2)[1]]
    with first(data) as loader:
        loader.start(1)
        iterator = iter(loader)
        found = [contents(next(iterator))[3:] for _ in range(2)]
        state = loader.save()
        assert loader.position == (1, 8)
    with second(data) as loader:
        loader.restore(state)
        assert loader.position == (1, 8)
        found += [contents(batch)[3:] for batch in loader]
    assert found == wanted


def test_an_epoch_that_was_left(cluster: Any, data: Any) -> None:
    with local(data) as own, remote(data, 0.5) as loader:
        for one in (own, loader):
            for batch in one:
                batch.release()
                break
        assert loader.position == own.position
        assert epochs(loader, 1) == epochs(own, 1)
        loader.seek(5, 12)
        own.seek(5, 12)
        left = [[c[3:] for c in epochs(one, 1)[0]] for one in (own, loader)]
        assert left[0] == left[1]


def test_missing_data_names_node_and_folder(
    cluster: Any, image_folder: Path, tmp_path: Path
) -> None:
    """The trainer has listed it before it is gone."""
    gone = tmp_path / "photos"
    shutil.copytree(image_folder, gone)
    data = feedline.Dataset.open("folder:%s" % gone)
    shutil.rmtree(gone)
    loader = feedline.ray.Loader(
        data, pipeline(), actors=actors(), share=1.0, **OPTIONS
    )
    with loader, pytest.raises(feedline.NotFound) as error:
        loader.wait_for_actors(START_S)
        loader.next()
    assert str(gone) in str(error.value)
    assert str(error.value).startswith("node ")


def test_other_data_is_refused(
    cluster: Any, image_folder: Path, tmp_path: Path
) -> None:
    other = tmp_path / "photos"
    shutil.copytree(image_folder, other)
    data = feedline.Dataset.open("folder:%s" % other)
    sorted(other.rglob("*.jpg"))[0].unlink()
    loader = feedline.ray.Loader(
        data, pipeline(), actors=actors(), share=1.0, **OPTIONS
    )
    with loader, pytest.raises(
        feedline.InvalidArgument, match="node .*other files, labels or sizes"
    ):
        loader.wait_for_actors(START_S)


def test_a_damaged_file_is_the_error_of_its_batch(
    cluster: Any, image_folder: Path, tmp_path: Path
) -> None:
    bad = tmp_path / "photos"
    shutil.copytree(image_folder, bad)
    damaged = sorted(bad.rglob("*.jpg"))[9]
    damaged.write_bytes(b"no image at all")
    data = feedline.Dataset.open("folder:%s" % bad)
    with remote(data, 1.0, shuffle=False) as loader:
        taken = 0
        with pytest.raises(feedline.DecodeError) as error:
            for batch in loader:
                taken += 1
                batch.release()
        assert taken == 2
        assert str(damaged) in str(error.value)
        assert str(error.value).startswith("node ")
        with pytest.raises(feedline.StateError):
            loader.next()
        loader.start(0)
        assert loader.next() is not None


def explode(image: Any) -> Any:
    raise ValueError("this function fails")


def test_a_function_that_raises(cluster: Any, data: Any) -> None:
    """A function of a module that actors do not have travels as Ray's do."""
    ray.cloudpickle.register_pickle_by_value(sys.modules[__name__])
    chain = pipeline().python(explode)
    loader = feedline.ray.Loader(
        data, chain, actors=actors(), share=1.0, **OPTIONS
    )
    with loader, pytest.raises(feedline.UserError, match="this function fails"):
        loader.wait_for_actors(START_S)
        loader.next()


def test_what_cannot_be_made_elsewhere(cluster: Any, data: Any) -> None:
    def make(chain: feedline.Pipeline, **options: Any) -> None:
        feedline.ray.Loader(
            data, chain, actors=actors(), **{**OPTIONS, **options}
        )

    with pytest.raises(feedline.InvalidArgument, match="order"):
        make(pipeline(), order="given")
    with pytest.raises(feedline.NotSupported, match="different sizes"):
        make(feedline.Pipeline(), max_sample_bytes=1 << 20)
    with pytest.raises(feedline.InvalidArgument, match="share"):
        make(pipeline(), share=1.5)
    with pytest.raises(feedline.InvalidArgument, match="count"):
        feedline.ray.Actors(0)


def test_ray_data(cluster: Any, data: Any) -> None:
    """The rows of an epoch are those of the loader."""
    pytest.importorskip("pyarrow", reason="no pyarrow")
    rows = feedline.ray.read(
        data,
        pipeline(),
        epoch=1,
        concurrency=2,
        ray_remote_args={"resources": {"maker": 1}},
        **OPTIONS,
    )
    found = {
        row["index"]: (row["label"], row["image"].tobytes())
        for row in rows.iter_rows()
    }
    wanted = {}
    with local(data) as own:
        own.start(1)
        for batch in own:
            labels, images = batch.labels.tolist(), batch.images.numpy()
            for i, index in enumerate(batch.sample_index):
                wanted[index] = labels[i], images[i].tobytes()
    assert found == wanted


def test_the_page_runs(
    cluster: Any, image_folder: Path, tmp_path: Path
) -> None:
    """The examples of docs/ray.md, as programs on this cluster."""
    (tmp_path / "photos").symlink_to(image_folder)
    here = Path(__file__).resolve()
    page = here.parents[2] / "docs" / "ray.md"
    done = subprocess.run(
        [
            sys.executable,
            str(here.with_name("markdown_examples.py")),
            str(page),
            "--with",
            "ray",
        ],
        cwd=tmp_path,
        env={**os.environ, "RAY_ADDRESS": cluster.address},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout
    assert "remade" in done.stdout
