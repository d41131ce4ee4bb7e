# SPDX-License-Identifier: Apache-2.0
"""isolate="decode": the same batches, and a decoder that is killed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any, List, Tuple

import pytest

np = pytest.importorskip("numpy")
pytest.importorskip("PIL.Image")

import feedline  # noqa: E402
from feedline.maker import batch_options  # noqa: E402
from test_stored_mode import FILES  # noqa: E402

TRAIN = (
    feedline.Pipeline()
    .add("random_resized_crop", width=24, height=24)
    .add("horizontal_flip")
)


def decoders(user: int) -> List[int]:
    """The decoders of a process, and who keeps them."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = path.read_bytes().split(b"\0")
        except OSError:
            continue
        if words[0].endswith(b"feedline-decode"):
            if words[3] == str(user).encode():
                found.append(int(path.parent.name))
    return found


def loader(**options: Any) -> feedline.Loader:
    data = feedline.Dataset.memory(list(FILES.values()))
    return feedline.Loader(data, TRAIN, batch_size=4, epochs=2, **options)


def everything(**options: Any) -> List[Tuple[bytes, List[int]]]:
    with loader(**options) as batches:
        return [
            (np.asarray(b.images).tobytes(), b.labels.tolist())
            for _ in range(2)
            for b in batches
        ]


@pytest.mark.parametrize("channels", [1, 3, 4])
def test_batches_are_the_same(channels: int) -> None:
    expected = everything(channels=channels)
    for workers in (1, 3):
        got = everything(channels=channels, workers=workers, isolate="decode")
        assert got == expected
    assert not decoders(os.getpid())


def test_makers_elsewhere_isolate_as_the_loader_does() -> None:
    with loader(isolate="decode") as batches:
        assert batch_options(batches)["isolate"] == "decode"
    with loader() as batches:
        assert batch_options(batches)["isolate"] == "off"


def test_subprocesses_go_on_as_before() -> None:
    with loader(isolate="decode") as batches:
        next(iter(batches))
        assert decoders(os.getpid())
        done = subprocess.run([sys.executable, "-c", "raise SystemExit(3)"])
        assert done.returncode == 3
        with pytest.raises(ChildProcessError):
            os.waitpid(-1, 0)


def test_killed_decoders_cost_samples_and_no_more() -> None:
    with loader(isolate="decode", on_error="zero", workers=2) as batches:
        count = 0
        for batch in batches:
            count += len(batch.images)
            for pid in decoders(os.getpid()):
                try:
                    os.kill(pid, signal.SIGKILL)
                except ProcessLookupError:
                    pass
        assert count == len(FILES)
        for failure in batches.failures():
            assert "the decoder of this file" in failure.reason


def test_torch_takes_it_as_an_option() -> None:
    torch = pytest.importorskip("torch")
    transforms = pytest.importorskip("torchvision.transforms")
    from feedline.torch import DataLoader, Images

    data = feedline.Dataset.memory(list(FILES.values()))
    steps = transforms.Compose(
        [transforms.RandomResizedCrop(16), transforms.ToTensor()]
    )

    def batches(**options: Any) -> Any:
        made = DataLoader(
            Images(data, steps), batch_size=4, seed=3, options=options
        )
        assert made.fallback_reason is None
        return torch.cat([images for images, _ in made])

    assert torch.equal(batches(), batches(isolate="decode"))
