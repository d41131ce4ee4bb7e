# SPDX-License-Identifier: Apache-2.0
"""Programs that read by OpenCV, many of them with albumentations."""
