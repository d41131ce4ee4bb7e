# SPDX-License-Identifier: Apache-2.0
"""Images whose pixels are made later: see README.md in this folder."""

from .description import Deferred, deferred_of
from .packing import pack
from .recording import Recorder, Touch
from .image_source import Source

__all__ = ["Deferred", "Recorder", "Source", "Touch", "deferred_of", "pack"]
