# SPDX-License-Identifier: Apache-2.0
"""Lightning: Trainer and Fabric take the loader as it is, and it stays native.

The Trainer makes loaders anew to put samplers into them, and saves and restores
their state with its checkpoints.
"""

from __future__ import annotations

import logging
import warnings
from pathlib import Path
from typing import Any, Dict, List, Optional

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("torchvision")
lightning = pytest.importorskip("lightning")

import ranks  # noqa: E402
import training  # noqa: E402
from feedline.torch import DataLoader  # noqa: E402
from feedline.torch.arguments import is_auto  # noqa: E402

TorchLoader = torch.utils.data.DataLoader
logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)


class Module(lightning.LightningModule):
    """Trains the small network, and writes down what it was given."""

    def __init__(self) -> None:
        super().__init__()
        self.inner = training.network()
        self.labels: List[List[int]] = []
        self.losses: List[float] = []
        self.samples = 0

    def training_step(self, batch: Any, index: int) -> Any:
        images, labels = batch
        loss = torch.nn.functional.cross_entropy(self.inner(images), labels)
        self.labels.append(labels.tolist())
        self.losses.append(float(loss.detach()))
        return loss

    def on_train_epoch_end(self) -> None:
        loader = self.trainer.train_dataloader
        if isinstance(loader, DataLoader):
            self.samples = training.delivered(loader)

    def validation_step(self, batch: Any, index: int) -> None:
        images, labels = batch
        scores = self.inner(images)
        self.log("loss", torch.nn.functional.cross_entropy(scores, labels))

    def predict_step(self, batch: Any, index: int) -> Any:
        return batch[1]

    def configure_optimizers(self) -> Any:
        return torch.optim.SGD(self.parameters(), lr=0.1)


class Data(lightning.LightningDataModule):
    """Loaders made in the hooks, where Lightning watches constructors."""

    def __init__(self, folder: str) -> None:
        super().__init__()
        self.data = training.dataset(folder)

    def train_dataloader(self) -> Any:
        return DataLoader(
            self.data, 4, shuffle=True, num_workers="auto", on_error="skip"
        )


class StopAfter(lightning.Callback):
    """Saves a checkpoint behind a step, and ends."""

    def __init__(self, step: int, path: str) -> None:
        self.step = step
        self.path = path

    def on_train_batch_end(self, trainer: Any, *_: Any) -> None:
        if trainer.global_step == self.step:
            trainer.save_checkpoint(self.path)
            trainer.should_stop = True
            trainer.limit_train_batches = 0


def trainer(epochs: int = 1, **arguments: Any) -> Any:
    """A Trainer that shows and writes nothing."""
    return lightning.Trainer(
        **{
            "accelerator": "cpu",
            "devices": 1,
            "max_epochs": epochs,
            "logger": False,
            "enable_checkpointing": False,
            "enable_progress_bar": False,
            "enable_model_summary": False,
            "num_sanity_val_steps": 0,
            **arguments,
        }
    )


def fit(loader: Any, epochs: int, **arguments: Any) -> Module:
    """Trains from the same seed; the module knows what came."""
    lightning.seed_everything(7, workers=True, verbose=False)
    module = Module()
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", ".*does not have many workers.*")
        trainer(epochs, **arguments).fit(module, loader)
    return module


def pair(folder: Any, batch_size: int = 4, **arguments: Any) -> Any:
    dataset = training.dataset(folder)
    return (
        DataLoader(dataset, batch_size, num_workers=2, **arguments),
        TorchLoader(dataset, batch_size, **arguments),
    )


def test_fit_as_with_torch(image_folder: Path) -> None:
    ours, theirs = pair(image_folder, shuffle=True)
    with training.natively():
        first = fit(ours, 2)
    second = fit(theirs, 2)
    assert first.labels == second.labels
    assert first.losses == pytest.approx(second.losses, abs=1e-5)
    assert len(first.labels) == 12 and first.labels[:6] != first.labels[6:]
    assert first.samples == 48


def test_without_workers_random_transforms_are_native(
    image_folder: Path,
) -> None:
    """torch's default, num_workers=0. The Trainer adds a worker_init_fn of its
    own, as seed_everything(workers=True) asks for."""
    modules = []
    for workers in (0, 0, 2):
        loader = DataLoader(
            training.drawing(image_folder),
            batch_size=4,
            shuffle=True,
            num_workers=workers,
        )
        with training.natively():
            modules.append(fit(loader, 2))
        assert training.delivered(loader) == 48
    first, second, third = modules
    assert first.samples == 48
    assert first.losses == second.losses
    assert first.labels == second.labels == third.labels


def test_the_recipe_for_reproducibility_is_native(image_folder: Path) -> None:
    """worker_init_fn and generator of PyTorch's notes."""
    modules = []
    for _ in range(2):
        loader = DataLoader(**training.recipe(image_folder))
        with training.natively():
            modules.append(fit(loader, 2))
        assert training.delivered(loader) == 48
    assert modules[0].labels == modules[1].labels
    assert modules[0].losses == modules[1].losses
    assert modules[0].labels[:6] != modules[0].labels[6:]


def test_loader_of_a_hook_is_made_anew(image_folder: Path) -> None:
    data = Data(str(image_folder))
    module = Module()
    runner = trainer()
    with training.natively():
        runner.fit(module, datamodule=data)
    loader = runner.train_dataloader
    assert type(loader) is DataLoader
    assert loader.on_error == "skip"
    assert training.delivered(loader) == 24


def test_validate_and_predict(image_folder: Path) -> None:
    ours, theirs = pair(image_folder, batch_size=5)
    with training.natively():
        mine = trainer().validate(Module(), ours, verbose=False)
        other = trainer().validate(Module(), theirs, verbose=False)
        assert mine[0]["loss"] == pytest.approx(other[0]["loss"], abs=1e-6)
        runner = trainer()
        predicted = runner.predict(Module(), ours)
    assert torch.cat(predicted).tolist() == ours.dataset.targets
    assert training.delivered(runner.predict_dataloaders) == 24


def run(
    folder: Any, stop: Optional[int], path: Path, resume: bool = False
) -> Module:
    loader, _ = pair(folder, shuffle=True)
    lightning.seed_everything(7, verbose=False)
    module = Module()
    callbacks = [StopAfter(stop, str(path))] if stop else []
    with training.natively(), warnings.catch_warnings():
        warnings.filterwarnings("ignore", ".*", UserWarning, "lightning")
        trainer(2, callbacks=callbacks).fit(
            module, loader, ckpt_path=str(path) if resume else None
        )
    return module


def test_resume_in_the_middle_of_an_epoch(
    image_folder: Path, tmp_path: Path
) -> None:
    path = tmp_path / "stopped.ckpt"
    whole = run(image_folder, None, path)
    before = run(image_folder, 4, path)
    after = run(image_folder, None, path, resume=True)
    assert before.labels[:4] == whole.labels[:4]
    assert after.labels[:2] == whole.labels[4:6]
    assert sum(map(len, after.labels)) == 8 + 24
    assert after.losses[:2] == pytest.approx(whole.losses[4:6], abs=1e-6)


class SaveEpoch(lightning.Callback):
    """Saves a checkpoint at the end of an epoch."""

    def __init__(self, path: str) -> None:
        self.path = path

    def on_train_epoch_end(self, trainer: Any, *_: Any) -> None:
        if trainer.current_epoch == 0:
            trainer.save_checkpoint(self.path)


@pytest.mark.parametrize("workers", [0, 2])
def test_resume_behind_an_epoch(
    image_folder: Path, tmp_path: Path, workers: int
) -> None:
    """Lightning tells the sampler its epoch behind iter(), and loads no state
    of the loader."""

    def run(epochs: int, **more: Any) -> Module:
        data = training.dataset(image_folder)
        sampler = torch.utils.data.DistributedSampler(data, 2, 0)
        loader = DataLoader(data, 4, sampler=sampler, num_workers=workers)
        path = more.pop("ckpt_path", None)
        module = Module()
        trainer(epochs, use_distributed_sampler=False, **more).fit(
            module, loader, ckpt_path=path
        )
        return module

    path = str(tmp_path / "epoch.ckpt")
    whole = run(3, callbacks=[SaveEpoch(path)])
    again = run(3, ckpt_path=path)
    assert again.labels == whole.labels[-len(again.labels) :]
    assert 3 * len(again.labels) == 2 * len(whole.labels)


class AsksForSteps(Module):
    def configure_optimizers(self) -> Any:
        assert self.trainer.estimated_stepping_batches > 0
        return super().configure_optimizers()


def test_a_state_that_lightning_drops(
    image_folder: Path, tmp_path: Path
) -> None:
    path = str(tmp_path / "middle.ckpt")
    ours, _ = pair(image_folder)
    trainer(1, callbacks=[StopAfter(2, path)]).fit(AsksForSteps(), ours)
    again, _ = pair(image_folder)
    with pytest.warns(UserWarning, match="will not load the state"):
        trainer(1).fit(AsksForSteps(), again, ckpt_path=path)


def test_fabric(image_folder: Path) -> None:
    ours, theirs = pair(image_folder, shuffle=True)
    fabric = lightning.Fabric(accelerator="cpu", devices=1)
    wrapped = fabric.setup_dataloaders(ours)
    assert len(wrapped) == len(theirs) == 6
    for _ in range(2):
        torch.manual_seed(3)
        with training.natively():
            mine = training.copies(wrapped)
        torch.manual_seed(3)
        training.assert_equal_batches(mine, theirs)
    assert training.delivered(ours) == 48


def share(folder: str) -> Dict[str, Any]:
    """One of two processes that find each other by the environment."""
    ours = DataLoader(
        training.dataset(folder), 4, shuffle=True, num_workers="auto"
    )
    module = Module()
    lightning.seed_everything(7, workers=True, verbose=False)
    runner = trainer(2, devices=2, strategy="ddp")
    with training.natively():
        runner.fit(module, ours)
    loader = runner.train_dataloader
    return {
        "labels": module.labels,
        "samples": module.samples,
        "sampler": type(loader.sampler).__name__,
        "given": loader is ours,
        "auto": is_auto(loader.num_workers),
    }


def test_two_processes(image_folder: Path) -> None:
    results = ranks.launch(
        "test_with_lightning:share", 2, folder=str(image_folder)
    )
    for result in results:
        assert result["sampler"] == "DistributedSampler"
        assert result["auto"] and not result["given"]
        assert result["samples"] == 24
        assert [len(labels) for labels in result["labels"]] == [4] * 6
    for epoch in (slice(0, 3), slice(3, 6)):
        came = [i for r in results for b in r["labels"][epoch] for i in b]
        assert sorted(came) == sorted([0, 1, 2] * 8)
    assert results[0]["labels"][:3] != results[0]["labels"][3:]


# ---- Scalars ---------------------------------------------------------------


def test_scalars_are_in_tensorboard(image_folder: Path, tmp_path: Path) -> None:
    pytest.importorskip("tensorboard")
    import sinks
    from feedline.integrations.lightning import LoaderScalars

    logger = lightning.pytorch.loggers.TensorBoardLogger(str(tmp_path))
    fit(
        DataLoader(training.dataset(image_folder), 4, num_workers=2),
        2,
        logger=logger,
        log_every_n_steps=4,
        callbacks=[LoaderScalars()],
    )
    found = sinks.tensorboard(tmp_path)
    assert [step for step, _ in found["feedline/wait_fraction"]] == [4, 8, 12]
    assert [value for _, value in found["feedline/workers"]] == [2, 2, 2]


def test_scalars_of_several_loaders_have_names(
    image_folder: Path, tmp_path: Path
) -> None:
    pytest.importorskip("tensorboard")
    import sinks
    from feedline.integrations.lightning import LoaderScalars

    class Two(Module):
        def training_step(self, batch: Any, index: int) -> Any:
            return super().training_step(batch["b"], index)

    data = training.dataset(image_folder)
    loaders = {name: DataLoader(data, 4, num_workers=1) for name in "ab"}
    logger = lightning.pytorch.loggers.TensorBoardLogger(str(tmp_path))
    trainer(
        logger=logger, log_every_n_steps=6, callbacks=[LoaderScalars("x/")]
    ).fit(Two(), loaders)
    found = sinks.tensorboard(tmp_path)
    for name in "ab":
        assert [step for step, _ in found["x/%s/workers" % name]] == [6]
