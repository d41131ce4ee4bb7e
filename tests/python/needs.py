# SPDX-License-Identifier: Apache-2.0
"""What some tests need and not every machine has: they are skipped without."""

import pytest


def deferred_tensors() -> None:
    """Tensors without memory; in a test, or above the tests of a file."""
    pytest.importorskip("torch", reason="no torch")
    from feedline.deferred.tensor import POSSIBLE, WANTED

    if not POSSIBLE:
        pytest.skip("deferred tensors need " + WANTED, allow_module_level=True)
