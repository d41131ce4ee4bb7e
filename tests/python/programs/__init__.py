# SPDX-License-Identifier: Apache-2.0
"""Programs as people have them; see README.md."""
