# SPDX-License-Identifier: Apache-2.0
"""Processes that a program starts on a thread of the engine's: signals reach
them, as any other."""

from __future__ import annotations

from pathlib import Path

import needs
import pytest

from child_process import begin, check_clean, finish, TIME_LIMIT_S

pytest.importorskip("PIL")
pytest.importorskip("numpy")

STARTED = """
    import multiprocessing, subprocess

    def ended():
        "How three processes end that are told to."
        one = subprocess.Popen(["sleep", "60"])
        one.terminate()
        other = multiprocessing.get_context("fork").Process(
            target=time.sleep, args=(60,))
        other.start()
        other.terminate()
        other.join(20)
        blocked = signal.pthread_sigmask(signal.SIG_BLOCK, [])
        return one.wait(20), other.exitcode, blocked == usual

    usual = signal.pthread_sigmask(signal.SIG_BLOCK, [])
    found = []
"""


@pytest.mark.parametrize("where", ["operation", "reader", "data set"])
def test_processes_can_be_terminated(image_folder: Path, where: str) -> None:
    operation = """
    def hold(image):
        if not found:
            found.append(ended())

    list(make(pipeline().python(hold), workers=1))
    """
    reader = """
    class Bytes:
        files = sorted(
            os.path.join(at, name) for at, _, names in os.walk(FOLDER)
            for name in names)

        def __len__(self):
            return 4

        def read(self, index):
            if not found:
                found.append(ended())
            return open(self.files[index], "rb").read()

    data = feedline.Dataset.source(Bytes())
    list(feedline.Loader(data, pipeline(), batch_size=4))
    """
    own = """
    import torch
    from PIL import Image
    from torchvision.transforms.functional import to_tensor
    from feedline.torch import DataLoader

    class Own(torch.utils.data.Dataset):
        files = sorted(
            os.path.join(at, name) for at, _, names in os.walk(FOLDER)
            for name in names)

        def __len__(self):
            return 8

        def __getitem__(self, index):
            if threading.current_thread() is not threading.main_thread():
                found.append(ended())
            return to_tensor(Image.open(self.files[index]).resize((8, 8)))

    loader = DataLoader(Own(), batch_size=8, num_workers=1, verify=1)
    list(loader)
    assert loader.recorded, loader.fallback_reason
    """
    if where == "data set":
        needs.deferred_tensors()
        pytest.importorskip("torchvision")
    code = {"operation": operation, "reader": reader, "data set": own}[where]
    code = STARTED + code + "\n    print(set(found))\n"
    child = begin(code, [str(image_folder)])
    check_clean(finish(child, TIME_LIMIT_S), "{(-15, -15, True)}")
