#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The Python examples of pages of documentation, found and run.

    markdown_examples.py PAGE... [--with MODULES] [--without MODULES]

runs each ```python block of the pages as a program of its own, in the current
folder, and prints what they print; those that say why they cannot run are left
out. MODULES, with commas between, chooses the blocks that import one of them,
or those that import none. Exit status 1 as soon as one fails, or where the
choice leaves none at all.
"""

from __future__ import annotations

import argparse
import atexit
import importlib.util
import linecache
import re
import sys
from pathlib import Path
from typing import List, Sequence

import forks

sys.path.append(str(Path(__file__).resolve().parents[1] / "docs"))

import code_blocks  # noqa: E402


def examples(page: Path) -> List[str]:
    """The text of every ```python block of a Markdown file that can be run, in
    order."""
    found = code_blocks.blocks(page.read_text(encoding="utf-8"))
    return [
        block.text
        for block in found
        if block.language == "python" and block.reason is None
    ]


def imports_any(text: str, modules: Sequence[str]) -> bool:
    """Whether an example imports one of the modules, also `feedline.torch`,
    which needs torch, and the method numpy(), which needs numpy."""
    for name in modules:
        word = re.escape(name)
        if re.search(r"^\s*(import|from)\s.*\b%s\b" % word, text, re.M):
            return True
        if re.search(r"\.%s\(" % word, text):
            return True
    return False


# What an example imports -> the package that it needs for that.
FRAMEWORKS = {
    "accelerate": "accelerate",
    "ffcv": "ffcv",
    "nvidia.dali": "nvidia.dali",
    "opentelemetry": "opentelemetry",
    "prometheus": "prometheus_client",
    "tensorboard": "tensorboard",
    "tensorflow": "tensorflow",
    "timm": "timm",
    "webdataset": "webdataset",
}


def installed(name: str) -> bool:
    """Whether a module can be imported; it may be one of a package."""
    try:
        return importlib.util.find_spec(name) is not None
    except ModuleNotFoundError:  # no package either
        return False


# What a call needs without an import of it in the example.
CALLS = {"feedline.progress(": "tqdm"}


def can_run(text: str) -> bool:
    """Whether the frameworks that an example imports are installed."""
    needed = [
        package
        for name, package in FRAMEWORKS.items()
        if imports_any(text, [name])
    ]
    needed += [module for call, module in CALLS.items() if call in text]
    return all(map(installed, needed))


def run(text: str) -> int:
    """Runs an example as a file would be run; its exit status.

    In a child of this process, so that what is imported here (torch takes
    seconds) need not be once more. Its text is kept for what reads the source
    of functions, as TensorFlow does, and for tracebacks.
    """
    code = compile(text, "<example>", "exec")
    lines = text.splitlines(True)
    linecache.cache["<example>"] = (len(text), None, lines, "<example>")

    def example() -> None:
        try:
            exec(code, {"__name__": "__main__"})
        finally:
            atexit._run_exitfuncs()  # what a program does at its end

    return forks.run(example)


def chosen(page: Path, wanted: List[str], unwanted: List[str]) -> List[str]:
    """Those that import one of `wanted`, if there are any, and none of
    `unwanted`."""
    return [
        text
        for text in examples(page)
        if (not wanted or imports_any(text, wanted))
        and not imports_any(text, unwanted)
    ]


def run_page(page: Path, texts: List[str]) -> int:
    """1 if one of the examples of a page fails."""
    for text in filter(can_run, texts):
        if run(text) != 0:
            print("%s: this fails:\n%s" % (page, text), file=sys.stderr)
            return 1
    return 0


def main() -> int:
    parser = argparse.ArgumentParser(description="run examples of pages")
    parser.add_argument("pages", type=Path, nargs="+")
    parser.add_argument("--with", dest="wanted", default="")
    parser.add_argument("--without", dest="unwanted", default="")
    args = parser.parse_args()
    wanted = [name for name in args.wanted.split(",") if name]
    unwanted = [name for name in args.unwanted.split(",") if name]
    for name in filter(installed, wanted):
        importlib.import_module(name)
    found = {page: chosen(page, wanted, unwanted) for page in args.pages}
    if not any(found.values()):
        print("%s: no such example" % args.pages[0], file=sys.stderr)
        return 1
    return max(run_page(page, texts) for page, texts in found.items())


if __name__ == "__main__":
    sys.exit(main())
