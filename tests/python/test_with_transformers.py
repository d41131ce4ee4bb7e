# SPDX-License-Identifier: Apache-2.0
"""Hugging Face Trainer: native loaders, and unmodified over our data set."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Dict, List

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("torchvision")
pytest.importorskip("accelerate")
transformers = pytest.importorskip("transformers")

import ranks  # noqa: E402
import training  # noqa: E402
from feedline.integrations.transformers import (  # noqa: E402
    NativeLoaders,
    image_collator,
)
from feedline.torch import ImageFolder  # noqa: E402

transformers.logging.set_verbosity_error()


class Recording(transformers.Trainer):
    """Writes down the labels that its model is trained with."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.labels: List[List[int]] = []
        self.losses: List[float] = []

    def training_step(self, model: Any, inputs: Any, *more: Any) -> Any:
        self.labels.append(inputs["labels"].tolist())
        loss = super().training_step(model, inputs, *more)
        self.losses.append(float(loss))
        return loss


class NativeTrainer(NativeLoaders, Recording):
    """The same with native loaders."""

    loader_options = {"num_workers": 2}


def settings(out: Any, **more: Any) -> Any:
    return transformers.TrainingArguments(
        **{
            "output_dir": str(out),
            "use_cpu": True,
            "num_train_epochs": 2,
            "per_device_train_batch_size": 4,
            "per_device_eval_batch_size": 5,
            "report_to": [],
            "save_strategy": "no",
            "logging_strategy": "no",
            "disable_tqdm": True,
            "seed": 3,
            **more,
        }
    )


def trainer(kind: Any, out: Any, data: Any, **more: Any) -> Any:
    collator = more.pop("data_collator", None)
    return kind(
        training.Classifier(),
        settings(out, **more),
        train_dataset=data,
        eval_dataset=data,
        data_collator=collator,
    )


def test_trains_as_with_torch(image_folder: Path, tmp_path: Path) -> None:
    data = training.dataset(image_folder)
    ours = trainer(NativeTrainer, tmp_path, data)
    with training.natively():
        ours.train()
        loader = ours.callback_handler.train_dataloader
        mine = ours.evaluate()["eval_loss"]
    theirs = trainer(Recording, tmp_path, data, data_collator=image_collator())
    theirs.train()
    assert training.delivered(loader) == 48
    assert ours.labels == theirs.labels
    assert ours.labels[:6] != ours.labels[6:]
    assert ours.losses == pytest.approx(theirs.losses, abs=1e-5)
    assert mine == pytest.approx(theirs.evaluate()["eval_loss"], abs=1e-5)


def test_evaluation_is_native(image_folder: Path, tmp_path: Path) -> None:
    data = training.dataset(image_folder)
    ours = trainer(NativeTrainer, tmp_path, data)
    loader = ours.get_eval_dataloader()
    with training.natively():
        labels = [b["labels"].tolist() for b in loader]
    assert sum(labels, []) == data.targets
    assert training.delivered(loader) == 24
    assert len(ours.predict(data).predictions) == 24


def test_resume_in_the_middle_of_an_epoch(
    image_folder: Path, tmp_path: Path
) -> None:
    data = training.dataset(image_folder)
    saving = {"save_strategy": "steps", "save_steps": 4}
    whole = trainer(NativeTrainer, tmp_path, data, **saving)
    whole.train()
    rest = trainer(NativeTrainer, tmp_path, data, **saving)
    with training.natively():
        rest.train(resume_from_checkpoint=str(tmp_path / "checkpoint-4"))
    assert rest.labels == whole.labels[4:]
    assert rest.losses == pytest.approx(whole.losses[4:], abs=1e-5)


def test_collator_of_the_users(image_folder: Path, tmp_path: Path) -> None:
    def collate(samples: Any) -> Dict[str, Any]:
        images, labels = zip(*samples)
        return {
            "pixel_values": torch.stack(images),
            "labels": torch.tensor(labels),
        }

    data = training.dataset(image_folder)
    ours = trainer(
        NativeTrainer, tmp_path, data, data_collator=collate, max_steps=2
    )
    ours.loader_options = {}
    ours.train()
    loader = ours.callback_handler.train_dataloader
    assert loader.native and loader.recorded
    assert len(ours.labels) == 2


def test_unmodified_trainer_over_our_data_set(
    image_folder: Path, tmp_path: Path
) -> None:
    theirs = training.dataset(image_folder)
    data = ImageFolder(str(image_folder), transform=theirs.transform)
    first = trainer(Recording, tmp_path, data, data_collator=image_collator())
    first.train()
    second = trainer(
        Recording, tmp_path, theirs, data_collator=image_collator()
    )
    second.train()
    assert first.labels == second.labels
    assert first.losses == pytest.approx(second.losses, abs=1e-5)
    assert data.fallback_reason is None
    assert data._decoder._engine.stats()["stats"]["samples"] == 48


def share(folder: str, out: str) -> Dict[str, Any]:
    """One rank of a distributed run."""
    ours = trainer(NativeTrainer, out, training.dataset(folder))
    with training.natively():
        ours.train()
    loader = ours.callback_handler.train_dataloader
    return {
        "world": ours.args.world_size,
        "labels": ours.labels,
        "samples": training.delivered(loader),
    }


def test_two_processes(image_folder: Path, tmp_path: Path) -> None:
    results = ranks.launch(
        "test_with_transformers:share",
        2,
        folder=str(image_folder),
        out=str(tmp_path),
    )
    for result in results:
        assert result["world"] == 2
        assert result["samples"] == 24
    for epoch in (slice(0, 3), slice(3, 6)):
        came = [i for r in results for b in r["labels"][epoch] for i in b]
        assert sorted(came) == sorted([0, 1, 2] * 8)


def test_scalars_are_where_the_trainer_reports(
    image_folder: Path, tmp_path: Path
) -> None:
    pytest.importorskip("tensorboard")
    import sinks
    from feedline.integrations.transformers import LoaderScalars

    data = training.dataset(image_folder)
    ours = trainer(
        NativeTrainer,
        tmp_path,
        data,
        report_to=["tensorboard"],
        logging_strategy="steps",
        logging_steps=4,
        eval_strategy="epoch",
    )
    ours.add_callback(LoaderScalars(ours))
    with training.natively():
        ours.train()
    found = sinks.tensorboard(tmp_path)
    name = "train/feedline/%s"  # as the Trainer's own callback calls them
    assert [s for s, _ in found[name % "wait_fraction"]] == [4, 8, 12]
    assert [v for _, v in found[name % "workers"]] == [2, 2, 2]
    # The log that is shown and kept stays as it is.
    assert not any(
        "feedline" in k for row in ours.state.log_history for k in row
    )
