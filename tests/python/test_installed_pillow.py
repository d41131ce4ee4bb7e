# SPDX-License-Identifier: Apache-2.0
"""feedline.Loader rounds as the Pillow that is installed, unless told."""

from __future__ import annotations

import importlib.metadata
import sys
import types
from typing import Any, Iterator

import pytest

import feedline
from feedline import options

EXPECTED = {"9.4.0": "12", "12.3.0.post1": "12", "13.0.0": "13", "14.1": "13"}


@pytest.fixture(autouse=True)
def unasked(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Nothing is remembered of the metadata, and no variable is set."""
    monkeypatch.delenv("FEEDLINE_PILLOW", raising=False)
    options._installed_version.cache_clear()
    yield
    options._installed_version.cache_clear()


def in_force(**options: Any) -> str:
    data = feedline.Dataset.memory([b"not looked at"])
    small = feedline.Pipeline().add("resize", width=4, height=4)
    with feedline.Loader(data, small, **options) as loader:
        return str(loader.config["pillow"])


@pytest.mark.parametrize("version", EXPECTED)
def test_one_that_is_imported(
    monkeypatch: pytest.MonkeyPatch, version: str
) -> None:
    module = types.SimpleNamespace(__version__=version)
    monkeypatch.setitem(sys.modules, "PIL", module)  # type: ignore[arg-type]
    assert in_force() == EXPECTED[version]


@pytest.mark.parametrize("version", EXPECTED)
def test_one_that_is_installed(
    monkeypatch: pytest.MonkeyPatch, version: str
) -> None:
    """By its metadata: a program that never imports Pillow gets its pixels."""
    monkeypatch.delitem(sys.modules, "PIL", raising=False)
    monkeypatch.setattr(importlib.metadata, "version", lambda name: version)
    assert in_force() == EXPECTED[version]
    assert "PIL" not in sys.modules


def test_none(monkeypatch: pytest.MonkeyPatch) -> None:
    def version(name: str) -> str:
        raise importlib.metadata.PackageNotFoundError(name)

    monkeypatch.delitem(sys.modules, "PIL", raising=False)
    monkeypatch.setattr(importlib.metadata, "version", version)
    assert options.option_pillow() is None
    assert in_force() == "12"


def test_what_is_given_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.metadata, "version", lambda name: "13.0")
    monkeypatch.setitem(sys.modules, "PIL", types.ModuleType("PIL"))
    assert in_force(pillow="12") == "12"
    assert in_force(pillow=13) == "13"
    monkeypatch.setenv("FEEDLINE_PILLOW", "12")
    assert in_force() == "12"
