# SPDX-License-Identifier: Apache-2.0
"""The private names that feedline.torch._compat lists are there in this torch,
and no other module imports one."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")
from feedline.torch import DataLoader, _compat  # noqa: E402

PACKAGE = Path(__file__).resolve().parents[2] / "python" / "feedline"
BATCHES = [torch.zeros(2), torch.ones(2)]


@pytest.mark.parametrize("workers", [0, 1])
def test_torch_iterators_have_the_attributes(workers: int) -> None:
    loader = torch.utils.data.DataLoader(BATCHES, num_workers=workers)
    iterator = iter(loader)
    names = _compat.ITERATOR
    if workers:
        names += _compat.ITERATOR_OF_WORKERS
    lacking = [n for n in names if not hasattr(iterator, n)]
    assert lacking == []
    more = "_process_data" if workers else "_dataset_fetcher"
    assert hasattr(iterator, more)


class Stream(torch.utils.data.IterableDataset):  # type: ignore[misc]
    def __iter__(self) -> Any:
        return iter(BATCHES)


def test_loaders_answer_the_questions() -> None:
    plain = DataLoader(BATCHES, batch_size=2)
    single = DataLoader(BATCHES, batch_size=None)
    assert _compat.collates(plain) and not _compat.collates(single)
    assert _compat.index_sampler_of(plain) is plain.batch_sampler
    assert _compat.index_sampler_of(single) is single.sampler
    assert _compat.is_stream(DataLoader(Stream()))
    assert not _compat.is_stream(plain)


def test_a_return_type_of_torchvision_is_seen() -> None:
    tv_tensors = pytest.importorskip("torchvision.tv_tensors")
    assert not _compat.returns_tv_tensors()
    with tv_tensors.set_return_type("TVTensor"):
        assert _compat.returns_tv_tensors()
    assert not _compat.returns_tv_tensors()


def test_collate_functions_are_those_of_torch() -> None:
    if not hasattr(torch.utils.data._utils.collate, "default_collate_fn_map"):
        assert _compat.collate_functions() == {}
        pytest.skip("this torch has no default_collate_fn_map")
    assert torch.Tensor in _compat.collate_functions()


def test_no_other_module_takes_private_names() -> None:
    private = re.compile(
        r"(from torch[\w.]*|import torch[\w.]*)\._"
        r"|from torch[\w.]* import [^#\n]*\b_[A-Za-z]"
        r"|\bloader\._(?!_|feedline|iterator)\w+"
    )
    found = [
        "%s: %s" % (path.name, line.strip())
        for path in sorted((PACKAGE / "torch").glob("*.py"))
        for line in path.read_text(encoding="utf-8").split("\n")
        if path.name != "_compat.py" and private.search(line)
    ]
    assert found == []
