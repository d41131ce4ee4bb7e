# SPDX-License-Identifier: Apache-2.0
"""The notebooks in examples/notebooks run, and conclude what they say.

Their assertions compare what a reader would: which line explain() names, who
waited more. They are committed without outputs, which would be of one machine
and one day.
"""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import Any, List

import pytest

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "examples" / "notebooks"
NOTEBOOKS = sorted(path.stem for path in FOLDER.glob("*.ipynb"))
TIME_LIMIT_S = 600  # of a cell, on a busy machine


def test_there_are_some() -> None:
    assert {"bottleneck", "explain", "own_data"} <= set(NOTEBOOKS)


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_committed_without_outputs(name: str) -> None:
    found = json.loads((FOLDER / (name + ".ipynb")).read_text())
    for cell in found["cells"]:
        assert cell["metadata"] == {}, cell["id"]
        if cell["cell_type"] == "code":
            assert cell["outputs"] == [], cell["id"]
            assert cell["execution_count"] is None, cell["id"]


def executed(name: str, folder: Path) -> List[Any]:
    """The code cells of a notebook, run by this interpreter in a folder."""
    nbformat = pytest.importorskip("nbformat")
    nbclient = pytest.importorskip("nbclient")
    pytest.importorskip("ipykernel")
    manager = pytest.importorskip("jupyter_client").AsyncKernelManager(
        transport="ipc", ip=str(folder / "kernel")
    )
    notebook = nbformat.read(FOLDER / (name + ".ipynb"), as_version=4)
    nbclient.NotebookClient(
        notebook,
        km=manager,
        timeout=TIME_LIMIT_S,
        resources={"metadata": {"path": str(folder)}},
    ).execute()
    return [c for c in notebook.cells if c["cell_type"] == "code"]


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_runs_and_concludes(
    name: str, tmp_path: Path, monkeypatch: Any
) -> None:
    for module in ("torchvision", "tqdm"):
        pytest.importorskip(module)
    program = loaderbench()
    path = "%s%s%s" % (program.parent, os.pathsep, os.environ["PATH"])
    monkeypatch.setenv("PATH", path)
    monkeypatch.setenv("PYTHONPATH", str(ROOT / "python"))
    cells = executed(name, tmp_path)
    shown = [output for cell in cells for output in cell["outputs"]]
    kinds = {kind for output in shown for kind in output.get("data", ())}
    assert "text/html" in kinds  # the displays of loader and progress
    made = "".join(o.get("text", "") for o in cells[0]["outputs"])
    assert made.count("\n") <= 1, made  # and not a line for each photo
    warned = [o["text"] for o in shown if o.get("name") == "stderr"]
    assert warned == []


def loaderbench() -> Path:
    """The program of the build whose library is tested, or an installed one."""
    library = os.environ.get("FEEDLINE_LIBRARY", "")
    built = Path(library).parent / "tools" / "loaderbench" / "loaderbench"
    found = str(built) if built.is_file() else shutil.which("loaderbench")
    if found is None:
        pytest.skip("no loaderbench, which makes the images")
    return Path(found)
