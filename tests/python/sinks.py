# SPDX-License-Identifier: Apache-2.0
"""What TensorBoard and Weights & Biases wrote, read back."""

from __future__ import annotations

import json
import struct
from pathlib import Path
from typing import Any, Dict, Iterator, List, Tuple


def tensorboard(folder: Path) -> Dict[str, List[Tuple[int, float]]]:
    """Steps and values of each tag in the event files below a folder."""
    from tensorboard.backend.event_processing import event_accumulator

    found: Dict[str, List[Tuple[int, float]]] = {}
    for path in sorted(folder.glob("**/events.out.*")):
        events = event_accumulator.EventAccumulator(str(path))
        events.Reload()
        for tag in events.Tags()["scalars"]:
            found.setdefault(tag, []).extend(
                (event.step, event.value) for event in events.Scalars(tag)
            )
    return found


BLOCK = 32768  # of a log in LevelDB's format, which W&B's are
ENDS = (1, 4)  # a whole record, or the last part of one


def _records(log: bytes) -> Iterator[bytes]:
    """Behind a header of seven bytes: checksum, length, kind, and the rest."""
    at, record = 7, b""
    while at + 7 <= len(log):
        if BLOCK - at % BLOCK < 7:
            at += BLOCK - at % BLOCK
            continue
        length, kind = struct.unpack("<HB", log[at + 4 : at + 7])
        record += log[at + 7 : at + 7 + length]
        at += 7 + length
        if kind in ENDS:
            yield record
            record = b""


def wandb(folder: Path) -> List[Dict[str, Any]]:
    """The rows of the history of the one run below a folder."""
    from wandb.proto import wandb_internal_pb2

    (path,) = folder.glob("**/run-*.wandb")
    rows = []
    for record in _records(path.read_bytes()):
        found = wandb_internal_pb2.Record()
        found.ParseFromString(record)
        if found.WhichOneof("record_type") == "history":
            row = {
                item.key
                or "/".join(item.nested_key): json.loads(item.value_json)
                for item in found.history.item
            }
            rows.append({"_step": found.history.step.num, **row})
    return rows
