# SPDX-License-Identifier: Apache-2.0
"""The one way in which recognition says no.

A data set or a transform that the engine cannot reproduce pixel for pixel is
left to torch. Why is a sentence for the user: which object, at which place,
what about it, and what would work instead.
"""
from __future__ import annotations


class NotNative(Exception):
    """Torch has to prepare these samples; ``reason`` says why."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason
