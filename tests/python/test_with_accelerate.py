# SPDX-License-Identifier: Apache-2.0
"""Hugging Face accelerate: shards, seeds, metrics and resuming, natively."""

from __future__ import annotations

import copy
import warnings
from pathlib import Path
from typing import Any, Dict, List

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("torchvision")
pytest.importorskip("accelerate")

from accelerate import Accelerator  # noqa: E402
from accelerate import skip_first_batches as plain_skip  # noqa: E402
from accelerate.utils import DataLoaderConfiguration, set_seed  # noqa: E402

import ranks  # noqa: E402
import training  # noqa: E402
from feedline.integrations.accelerate import (  # noqa: E402
    prepare_loader,
    skip_first_batches,
)
from feedline.torch import DataLoader, FallbackWarning  # noqa: E402

TorchLoader = torch.utils.data.DataLoader
WAYS_TO_SHARE = (
    {"split_batches": True},
    {"even_batches": False},
    {"use_seedable_sampler": True},
    {"dispatch_batches": True},
)


def pair(folder: Any, accelerator: Any, **arguments: Any) -> Any:
    """Our loader and torch's with the same arguments, both prepared."""
    dataset = training.dataset(folder)
    ours = DataLoader(dataset, num_workers=2, **arguments)
    theirs = TorchLoader(dataset, **arguments)
    set_seed(9)
    first = prepare_loader(ours, accelerator)
    set_seed(9)
    second = accelerator.prepare(theirs)
    return first, second


def ends(loader: Any) -> List[Any]:
    """What accelerate asks the loader for during an epoch, batch by batch."""
    state = loader.gradient_state
    return [(state.end_of_dataloader, state.remainder) for _ in loader]


def test_prepared_loader_is_native_and_equal(image_folder: Path) -> None:
    accelerator = Accelerator(cpu=True)
    ours, theirs = pair(image_folder, accelerator, batch_size=5, shuffle=True)
    training.assert_equal_epochs(ours, theirs)
    assert isinstance(ours, DataLoader)
    assert len(ours) == len(theirs) == 5
    assert training.delivered(ours) == 48


def prepared(arguments: Dict[str, Any]) -> Any:
    """Two epochs of a loader as accelerate prepares it, all natively."""
    accelerator = Accelerator(cpu=True)
    set_seed(9)
    loader = prepare_loader(DataLoader(**arguments), accelerator)
    with training.natively():
        batches = training.copies(loader) + training.copies(loader)
    assert training.delivered(loader) == 48
    return batches


def test_without_workers_random_transforms_are_native(
    image_folder: Path,
) -> None:
    """torch's default, num_workers=0."""
    epochs = [
        prepared(
            {
                "dataset": training.drawing(image_folder),
                "batch_size": 4,
                "shuffle": True,
                "num_workers": workers,
            }
        )
        for workers in (0, 0, 2)
    ]
    for other in epochs[1:]:
        training.assert_equal_batches(epochs[0], other)
    assert not torch.equal(epochs[0][0][0], epochs[0][6][0])


def test_the_recipe_for_reproducibility_is_native(image_folder: Path) -> None:
    """worker_init_fn and generator of PyTorch's notes."""
    first, second = (prepared(training.recipe(image_folder)) for _ in range(2))
    training.assert_equal_batches(first, second)


def test_prepare_leaves_it_alone(image_folder: Path) -> None:
    accelerator = Accelerator(cpu=True)
    ours, _ = pair(image_folder, accelerator, batch_size=5, shuffle=True)
    model = training.network()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    model, optimizer, again = accelerator.prepare(model, optimizer, ours)
    assert again is ours
    assert accelerator._dataloaders.count(ours) == 1
    with training.natively():
        for images, labels in again:
            loss = torch.nn.functional.cross_entropy(model(images), labels)
            accelerator.backward(loss)
            optimizer.step()
            optimizer.zero_grad()
    assert training.delivered(ours) == 24


def test_without_the_adapter_it_says_so(image_folder: Path) -> None:
    """accelerate makes torch's own loader of ours: one warning, not silence."""
    accelerator = Accelerator(cpu=True)
    dataset = training.dataset(image_folder)
    loader = DataLoader(dataset, batch_size=5, num_workers=1)
    with pytest.warns(FallbackWarning, match="prepare_loader"):
        prepared = accelerator.prepare(loader)
    assert type(prepared.base_dataloader) is TorchLoader
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        accelerator.prepare(loader)
        adapted = prepare_loader(
            DataLoader(dataset, batch_size=5, num_workers=1), accelerator
        )
        assert accelerator.prepare(adapted) is adapted and adapted.native


def test_epoch_end_and_remainder(image_folder: Path) -> None:
    accelerator = Accelerator(cpu=True)
    ours, theirs = pair(image_folder, accelerator, batch_size=7)
    assert ends(ours) == ends(theirs)
    assert ends(ours)[-1] == (True, 24 % 7)
    ours, theirs = pair(image_folder, accelerator, batch_size=7, drop_last=True)
    assert ends(ours) == ends(theirs)


def test_skip_first_batches(image_folder: Path) -> None:
    accelerator = Accelerator(cpu=True)
    ours, theirs = pair(image_folder, accelerator, batch_size=5, shuffle=True)
    rest, expected = skip_first_batches(ours, 2), plain_skip(theirs, 2)
    assert len(rest) == len(expected) == 3
    training.assert_equal_epochs(rest, expected, epochs=1)
    training.assert_equal_epochs(ours, theirs)
    assert training.delivered(rest) == 14


def test_skip_first_batches_of_other_loaders(image_folder: Path) -> None:
    accelerator = Accelerator(cpu=True)
    _, theirs = pair(image_folder, accelerator, batch_size=5)
    rest = skip_first_batches(theirs, 4)
    assert [len(labels) for _, labels in rest] == [4]
    assert not isinstance(rest, DataLoader)


def test_own_arguments_are_kept(image_folder: Path) -> None:
    loader = DataLoader(
        training.dataset(image_folder), 4, num_workers=1, on_error="skip"
    )
    prepared = prepare_loader(loader, Accelerator(cpu=True))
    assert prepared.on_error == "skip"
    assert prepared.num_workers == 1


def test_saved_state_goes_on(image_folder: Path, tmp_path: Path) -> None:
    pytest.importorskip("torchdata.stateful_dataloader")
    accelerator = Accelerator(
        cpu=True,
        dataloader_config=DataLoaderConfiguration(
            use_stateful_dataloader=True, use_seedable_sampler=True
        ),
    )
    whole, _ = pair(image_folder, accelerator, batch_size=4, shuffle=True)
    torch.manual_seed(1)
    expected = training.copies(whole)
    torch.manual_seed(1)
    ours, _ = pair(image_folder, accelerator, batch_size=4, shuffle=True)
    accelerator._dataloaders[:] = [ours]
    for number, _ in enumerate(ours):
        if number == 1:
            accelerator.save_state(str(tmp_path))
            break
    again, _ = pair(image_folder, accelerator, batch_size=4, shuffle=True)
    accelerator._dataloaders[:] = [again]
    accelerator.load_state(str(tmp_path))
    training.assert_equal_batches(training.copies(again), expected[2:])


@pytest.mark.parametrize("behind", [False, True])
def test_the_epochs_go_on(image_folder: Path, behind: bool) -> None:
    """accelerate counts epochs from 0 when a state was loaded; the seedable
    sampler is told this number."""
    accelerator = Accelerator(
        cpu=True,
        dataloader_config=DataLoaderConfiguration(use_seedable_sampler=True),
    )

    def loader() -> Any:
        torch.manual_seed(1)
        return pair(image_folder, accelerator, batch_size=4, shuffle=True)[0]

    first = loader()
    training.copies(first)
    for number, _ in enumerate(first):
        if number == 1 and not behind:
            state = copy.deepcopy(first.state_dict())
    if behind:
        state = copy.deepcopy(first.state_dict())
    expected = training.copies(first)
    again = loader()
    again.load_state_dict(state)
    if not behind:
        training.copies(again)
    training.assert_equal_batches(training.copies(again), expected)


STATES = (
    {},
    {"dispatch_batches": True},
    {"split_batches": True},
    {"dispatch_batches": True, "split_batches": True},
    {"use_seedable_sampler": True},
)


def goes_on(folder: Any, ways: Dict[str, Any], stateful: bool) -> None:
    """States that accelerate's wrapper keeps, of the middle and the end."""
    config = DataLoaderConfiguration(use_stateful_dataloader=stateful, **ways)
    accelerator = Accelerator(cpu=True, dataloader_config=config)

    def loader() -> Any:
        made, _ = pair(folder, accelerator, batch_size=4, shuffle=True)
        return made

    torch.manual_seed(1)
    whole = loader()
    first, second = training.copies(whole), training.copies(whole)
    torch.manual_seed(1)
    states = []
    again = loader()
    for _ in again:
        states.append(copy.deepcopy(again.state_dict()))
    assert len(states) == len(first)
    last = len(states) - 1
    for number in (0, 1, last):
        state = states[number]
        again = loader()
        again.load_state_dict(state)
        rest = training.copies(again)
        if number < last:
            training.assert_equal_batches(rest, first[number + 1 :])
        elif not ways.get("use_seedable_sampler"):  # its epoch is the wrapper's
            training.assert_equal_batches(rest, second)
        assert again.native


@pytest.mark.parametrize("stateful", [False, True])
@pytest.mark.parametrize("ways", STATES)
def test_states_of_the_wrapper(
    image_folder: Path, ways: Dict[str, Any], stateful: bool
) -> None:
    """With use_stateful_dataloader and without: ours has a state either way."""
    if stateful:
        pytest.importorskip("torchdata.stateful_dataloader")
    goes_on(image_folder, ways, stateful)


@pytest.mark.parametrize("workers", [0, 2])
@pytest.mark.parametrize(
    "kind", ["SkipDataLoader", "DataLoaderShard", "DataLoaderDispatcher"]
)
def test_its_adapters_on_our_class(
    image_folder: Path, kind: str, workers: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where they ask for torchdata's class, ours has all that they rely on."""
    module = pytest.importorskip("torchdata.stateful_dataloader")
    from accelerate import data_loader as wrappers

    Accelerator(cpu=True)
    monkeypatch.setattr(module, "StatefulDataLoader", DataLoader)
    dataset = training.dataset(image_folder)

    def made(**more: Any) -> Any:
        return getattr(wrappers, kind)(
            dataset,
            use_stateful_dataloader=True,
            batch_size=4,
            num_workers=workers,
            generator=torch.Generator().manual_seed(4),
            **more,
        )

    plain = DataLoader(
        dataset,
        batch_size=4,
        num_workers=workers,
        generator=torch.Generator().manual_seed(4),
    )
    adapter, batches = made(), iter(plain)
    assert isinstance(adapter, DataLoader)
    for number, _ in enumerate(adapter):
        next(batches)
        assert adapter.state_dict() == plain.state_dict()
        if number == 2:
            break
    again = made()
    again.load_state_dict(adapter.state_dict())
    training.assert_equal_batches(training.copies(again), batches)


def share(folder: str) -> Dict[str, Any]:
    """One rank: prepared loaders of both kinds, and gathered metrics."""
    accelerator = Accelerator(cpu=True)
    ours, theirs = pair(folder, accelerator, batch_size=5, shuffle=True)
    training.assert_equal_epochs(ours, theirs)
    for ways in WAYS_TO_SHARE:
        config = DataLoaderConfiguration(**ways)
        other = Accelerator(cpu=True, dataloader_config=config)
        first, second = pair(folder, other, batch_size=6)
        training.assert_equal_batches(first, second)
        assert isinstance(first, DataLoader) and len(first) == len(second)
    model = accelerator.prepare(training.network())
    gathered, own = [], []
    for images, labels in ours:
        assert len(model(images)) == len(labels)
        own.append(labels.tolist())
        gathered += accelerator.gather_for_metrics(labels).tolist()
    return {
        "gathered": gathered,
        "own": own,
        "length": len(ours),
        "samples": training.delivered(ours),
        "processes": accelerator.num_processes,
    }


def rank(folder: str) -> Dict[str, Any]:
    """What each of two processes does: also states, as one alone has them."""
    result = share(folder)
    for ways in STATES[:3]:
        goes_on(folder, ways, False)
    return result


def test_two_processes(image_folder: Path) -> None:
    results = ranks.launch(
        "test_with_accelerate:rank", 2, folder=str(image_folder)
    )
    for result in results:
        assert result["processes"] == 2
        assert result["length"] == 3
        assert sorted(result["gathered"]) == sorted([0, 1, 2] * 8)
        assert result["samples"] == 45  # three epochs of 15, padded
    assert results[0]["own"] != results[1]["own"]


def test_scalars_are_in_its_trackers(
    image_folder: Path, tmp_path: Path
) -> None:
    """Through `log` of the Accelerator, which is a sink as it is."""
    pytest.importorskip("tensorboard")
    import sinks
    from feedline.integrations.scalars import Scalars

    accelerator = Accelerator(
        cpu=True, log_with="tensorboard", project_dir=str(tmp_path)
    )
    accelerator.init_trackers("runs")
    data = training.dataset(image_folder)
    loader = prepare_loader(DataLoader(data, 4, num_workers=2), accelerator)
    scalars = Scalars(loader, accelerator, every=2)
    for step, _ in enumerate(loader):
        scalars.step(step)
    accelerator.end_training()
    found = sinks.tensorboard(tmp_path)
    assert [step for step, _ in found["feedline/wait_fraction"]] == [2, 4]
    assert [value for _, value in found["feedline/workers"]] == [2, 2]
