# SPDX-License-Identifier: Apache-2.0
"""torch.profiler with what the loader's threads did, in one trace.

    with feedline.torch.profile(loader, on_trace_ready=handler) as prof:
        for images, labels in loader:
            train(images, labels)
            prof.step()
"""

from __future__ import annotations

import os
import tempfile
from typing import Any, Dict, Optional

import torch.profiler

from .. import profiling
from ..merged_traces import load, merge


class profile(torch.profiler.profile):  # named as torch.profiler.profile is
    """torch.profiler.profile, whose traces have the loader's threads as well.

    loader: feedline.torch.DataLoader, feedline.Loader or feedline.watch.
    arguments: torch's, and so are tables and handlers such as
    torch.profiler.tensorboard_trace_handler. export_chrome_trace writes reads,
    decoding, augmentation and copies beside the operators, on the same clock.
    As with feedline.profile, statistics begin anew with each recording.
    """

    def __init__(self, loader: Any, **arguments: Any) -> None:
        super().__init__(**arguments)
        self._feedline = profiling.profile(
            loader, schedule=arguments.get("schedule")
        )

    @property
    def loader_profile(self) -> profiling.profile:
        """The loader's part: its stats, key_averages() and events()."""
        return self._feedline

    def start(self) -> None:
        """Starts both."""
        super().start()
        self._feedline.start()

    def step(self) -> None:
        """The loader's part ends first: torch's ends with the handler."""
        self._feedline.step()
        super().step()

    def stop(self) -> None:
        """Stops both."""
        self._feedline.stop()
        super().stop()

    def export_chrome_trace(self, path: str, *how: Any, **more: Any) -> None:
        """Writes both as one trace, or torch's alone where the loader was not
        iterated; a warning said so.

        path: of the file. how, more: further arguments of torch's.
        """
        if not self._feedline.recorded:
            super().export_chrome_trace(path, *how, **more)
            return
        target = os.fspath(path)
        with tempfile.TemporaryDirectory(prefix="feedline-") as folder:
            theirs = os.path.join(folder, "torch.json")
            ours = os.path.join(folder, "feedline.json")
            super().export_chrome_trace(theirs, *how, **more)
            self._feedline.export_chrome_trace(ours)
            merge([theirs, ours], self._starts(theirs), target)

    def _starts(self, path: str) -> Dict[str, int]:
        """When torch's times began, for a torch that does not write it."""
        document, _ = load(path)
        if "baseTimeNanoseconds" in document:
            return {}
        results: Any = getattr(self.profiler, "kineto_results", None)
        start: Optional[Any] = getattr(results, "trace_start_us", None)
        return {} if start is None else {path: start() * 1000}
