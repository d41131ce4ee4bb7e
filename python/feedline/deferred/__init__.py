# SPDX-License-Identifier: Apache-2.0
"""Images whose pixels are made later: see README.md in this folder."""

from .description import Deferred, deferred_of
from .packing import pack
from .recording import Recorder, Touch
from .image_source import Source
from .stream_recording import StreamRecording, key_of

__all__ = [
    "Deferred",
    "Recorder",
    "Source",
    "StreamRecording",
    "Touch",
    "deferred_of",
    "key_of",
    "pack",
]
