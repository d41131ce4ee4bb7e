# SPDX-License-Identifier: Apache-2.0
"""Work in a child of this process, which ends with it."""

from __future__ import annotations

import gc
import os
import sys
import traceback
from typing import Any, Callable


def begin(work: Callable[[], Any]) -> int:
    """The number of a child that does `work`; its status is 1 where that
    raised. The parent's stack is none of its business."""
    gc.collect()  # else the child may end workers of loaders that are garbage
    child = os.fork()
    if child:
        return child
    status = 1
    try:
        work()
        status = 0
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)


def run(work: Callable[[], Any]) -> int:
    """The status of such a child; < 0: the signal that ended it."""
    return os.waitstatus_to_exitcode(os.waitpid(begin(work), 0)[1])
