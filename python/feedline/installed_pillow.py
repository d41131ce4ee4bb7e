# SPDX-License-Identifier: Apache-2.0
"""Which Pillow this process would decode with, for the option `pillow`.

Pillow 13 resamples in another order than the versions before it, and a few
pixels differ by one level (docs/pixels.md). A loader gives those of the Pillow
that is installed, whether or not the program has imported it.
"""

from __future__ import annotations

import sys
from functools import lru_cache
from typing import Optional

_SECOND_ORDER = 13  # the first version with the other order


def option_pillow() -> Optional[str]:
    """The value of the option: "12" or "13"; None where there is no Pillow."""
    module = sys.modules.get("PIL")
    version = getattr(module, "__version__", None) or _installed_version()
    if version is None:
        return None
    major = str(version).split(".", 1)[0]
    later = major.isdigit() and int(major) >= _SECOND_ORDER
    return "13" if later else "12"


@lru_cache(maxsize=None)
def _installed_version() -> Optional[str]:
    """From the package's metadata, without importing it."""
    import importlib.metadata  # takes milliseconds, and only here

    try:
        return importlib.metadata.version("pillow")
    except importlib.metadata.PackageNotFoundError:
        return None
