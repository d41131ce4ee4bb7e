# SPDX-License-Identifier: Apache-2.0
"""What data sets save of themselves, in torchdata's sense.

A data set, or the iterator of a stream, may have state_dict and
load_state_dict: how far it has read, or its random numbers. Their states go
into that of the loader under torchdata's keys, and are given back before the
next batch:

    dataset_state    of the data set; None where its iterator is the data set
    fetcher_state    of the iterator of a stream

Asked is the data set of this process, as it is now. The copies that torch's
worker processes have are not asked.
"""

from __future__ import annotations

from typing import Any, Dict, Mapping, Optional

from .order_trace import is_stateful, load_state, state_of

DATASET = "dataset_state"
FETCHER = "fetcher_state"
_ITERATOR = "dataset_iter_state"
_ENDED = "fetcher_ended"


def saved(dataset: Any, fetcher: Any) -> Dict[str, Any]:
    """The states of a data set and its iterator, None where there is none.

    dataset: None where worker processes have it. fetcher: torch's, in which
    the iterator of a stream is; None where the samples are not loaded by torch
    in this process.
    """
    iterator = getattr(fetcher, "dataset_iter", None)
    found: Dict[str, Any] = {DATASET: None, FETCHER: None}
    if iterator is not dataset:
        found[DATASET] = state_of(dataset)
    if iterator is not None:
        found[FETCHER] = {
            _ITERATOR: state_of(iterator),
            _ENDED: bool(fetcher.ended),
        }
    return found


def load_dataset(dataset: Any, state: Mapping[str, Any]) -> None:
    """Before its iterator is made, and in no sandbox: the state may be that of
    a global generator."""
    own = state.get(DATASET)
    if own is not None and is_stateful(dataset):
        load_state(dataset, own)


def load_iterator(fetcher: Any, state: Mapping[str, Any]) -> bool:
    """Whether a stream goes on by a state of its own; if not, what was
    delivered has to be read past."""
    noted: Optional[Mapping[str, Any]] = state.get(FETCHER)
    iterator = getattr(fetcher, "dataset_iter", None)
    if noted is None or iterator is None:
        return False
    if noted.get(_ITERATOR) is not None and is_stateful(iterator):
        load_state(iterator, noted[_ITERATOR])
    elif state.get(DATASET) is None or not is_stateful(fetcher.dataset):
        return False
    fetcher.ended = bool(noted.get(_ENDED))
    return True
