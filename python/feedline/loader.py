# SPDX-License-Identifier: Apache-2.0
"""Loader: data set and pipeline to batches.

In its own order a loader is a stream of epochs:

    for batch in loader:            one epoch; the next `for` is the next one
        train(batch.images, batch.labels)

With order="given" it delivers the batches it is given:

    loader.begin(epoch=0, seed=1)
    loader.append([4, 17, 9])
    loader.end()
    batch = loader.next()

Two locks stand around the library's object. Calls of the consumer (next, start,
append ...) take one, all others the other, and close() takes both, so that no
thread is in the library when its object goes. A wait is cut into pieces of 100
ms, between which signal handlers run: Ctrl-C ends it, and the loader goes on
where it was.
"""

from __future__ import annotations

import ctypes
import json
import os
import threading
import weakref
from array import array
from typing import Any, Dict, Iterator, List, NamedTuple, NoReturn
from typing import Optional, Sequence, Tuple, Type, Union

from . import _c, agreement, lifetime, log_lines, torch_ranges, tuner_talk
from ._library import converted, lib
from ._option_types import LoaderOptions, Unpack
from .batch import Batch
from .dataset import Dataset
from .errors import Error, InvalidArgument, RangeError, StateError, Timeout
from .errors import UnknownName, UserError, as_also, check, error, of_file
from .errors import of_status, read_text
from .lifetime import Aside
from .observable import Observable
from .options import Config, option_pillow
from .pipeline import Pipeline, as_pipeline
from .python_op import PythonOp, in_callback
from .source import Calls
from .vectors import numbers

# Between two looks at pending signals.
_PIECE_NS = 100_000_000


class Failure(NamedTuple):
    """A failed sample.

    status, name: -5, "EDECODE". reason: offset and the decoder's message, one
    line. cause: what a Python operation raised, else None.
    """

    status: int
    name: str
    epoch: int
    sample_index: int
    path: str
    reason: str
    cause: Optional[BaseException]


class EpochInfo(NamedTuple):
    """One epoch, for this rank.

    samples: after shard_tail. batches: after drop_last. shape: of a full batch
    of images; H and W are 0 with max_sample_bytes. batch_bytes: of its memory.
    views: images of each sample.
    """

    samples: int
    batches: int
    shape: Tuple[int, ...]
    batch_bytes: int
    views: int


class Loader(Observable):
    """Batches of a data set. One consumer thread at a time; see each method.

    Attributes:
        dataset, pipeline: as passed to the constructor.
        options: the keyword arguments.
    """

    def __init__(
        self,
        dataset: Dataset,
        pipeline: Union[None, str, Pipeline] = None,
        **options: Unpack[LoaderOptions],
    ) -> None:
        """dataset: what to read; the loader keeps it. pipeline: a Pipeline, the
        name of a recipe ("train"), or None.

        options: by the names of docs/options.md: batch_size=64,
        workers="auto", dtype="u8", order="given", ... Two have another default
        here. held is "grow", so a program that keeps every batch, as
        list(loader) does, gets all of them, and one warning. pillow is that of
        the Pillow that is installed, or of FEEDLINE_PILLOW.

        Raises UnknownName for an option that is none, InvalidArgument or
        RangeError for a value; what is wrong with the data set comes later.
        """
        if not isinstance(dataset, Dataset):
            raise InvalidArgument(
                "a loader takes a feedline.Dataset, not %s; %s"
                % (type(dataset).__name__, _how_to_open(dataset))
            )
        self.dataset: Dataset = dataset
        self.pipeline: Pipeline = as_pipeline(pipeline)
        self.options: Dict[str, Any] = dict(options)
        self._pipeline_made_of = self.pipeline.__reduce__()  # of this moment
        self._renew_locks()
        self._turn = 0
        # What next() returns, made before it asks the library: a batch that was
        # taken while an exception came up is in here and not lost.
        self._spare: Optional[Batch] = None
        # Where the library writes it: a number that costs little to read.
        self._taken = array("Q", [0])
        self._given: Optional[_Given] = None  # where _append has its samples
        self._midway = False  # in an epoch of a `for` that was left
        self._compared = False  # with the other ranks
        # Memory that batches are written into, by its address: with its owner.
        self._lent: Dict[int, Any] = {}
        self._closing = False
        self._handle: Optional[int] = None
        # Whatever of Python's the loader's threads call.
        self._python: Tuple[Union[PythonOp, Calls], ...] = (
            *self.pipeline.python_operations,
            *dataset.sources,
        )
        log_lines.follow_level()
        config = Config({**_defaults(), **options})
        # The library writes the handle into the cell, so a loader that was made
        # while an exception came up is ended, too.
        cell = ctypes.c_void_p()
        self._finalizer = weakref.finalize(
            self,
            lifetime.destroy_aside if self._python else lifetime.destroy,
            cell,
            (dataset.buffers, self._python, self._lent),
        )
        self._finalizer.atexit = False
        status = lib.loader_create(
            config.handle, dataset.handle, self.pipeline.handle, cell
        )
        check(status)
        self._handle = cell.value
        self._gpu = _gpu_of(config)
        # A thread in the middle of a Python operation or source needs the
        # interpreter's lock to end, and next() may have to wait for it. A GPU's
        # driver blocks while its queue is full or another thread allocates.
        patient = bool(self._python) or self._gpu is not None
        functions = lib if patient else lib.quick
        self._next = functions.unconverted("loader_next")
        self._into_taken = ctypes.c_void_p.from_buffer(self._taken)
        self._at_once = converted(
            "loader_next", self._handle, 0, self._into_taken
        )
        functions = lib if self._gpu is not None else lib.quick
        self._give_back = functions.batch_release
        lifetime.add(self)

    # ---- Batches (the consumer's thread) ----------------------------------

    def next(self, timeout: Optional[float] = None) -> Optional[Batch]:
        """The next batch, or None at the end of an epoch.

        timeout: seconds; 0 polls, None waits forever.

        Raises Timeout when it expires; the error of a failed sample with
        on_error="raise"; StateError if there is nothing to wait for.
        KeyboardInterrupt ends a wait and loses no batch.
        """
        if torch_ranges.flags[torch_ranges.FLAG] and torch_ranges.active():
            with torch_ranges.span(torch_ranges.NEXT):
                return self._next_batch(timeout)
        return self._next_batch(timeout)

    def _next_batch(self, timeout: Optional[float]) -> Optional[Batch]:
        batch = self._spare
        if batch is None:
            if timeout is None and not self._compared:
                self._compare_ranks()
            batch = self._spare = Batch(self._give_back)
        if not batch._handle:
            with self._consumer:
                if self._handle is None:
                    self._refuse()
                taken = self._taken
                try:
                    status = self._next(*self._at_once)
                finally:  # Ctrl-C comes up behind the call
                    batch._handle = taken[0]
                    taken[0] = 0
            if status:
                with torch_ranges.span(torch_ranges.WAIT):
                    status = self._next_slowly(status, timeout, batch)
                if status == _c.END:
                    return None
        self._spare = None
        return batch

    def _peek(self, ahead: int) -> Optional[int]:
        """The handle of a batch behind the next one, if it is complete
        (feedline_loader_peek)."""
        found = ctypes.c_void_p()
        with self._consumer:
            handle = self._handle or self._refuse()
            status = lib.quick.loader_peek(handle, ahead, found)
        if status < 0:
            check(status)
        return found.value

    def _delivery(self, handle: int) -> Tuple[Any, ...]:
        """What _deliver takes for a batch, which was peeked at."""
        return converted("loader_deliver", self._handle, handle)

    def _deliver(self, delivery: Tuple[Any, ...]) -> bool:
        """Whether the next batch is this one: as next() and release(). If not,
        next() says why."""
        with self._consumer:
            if self._handle is None:
                self._refuse()
            return not _deliver(*delivery)

    def _handed_over(self, by: Optional[bytes]) -> None:
        """What was done with the last batch since is no work of the program's.
        by: a name for what did it."""
        with self._consumer:
            if self._handle:
                lib.loader_handed_over(self._handle, by)

    def _recycle(self, batch: Batch) -> None:
        """A released batch that nobody else knows: the next one will be it."""
        if self._spare is None:
            self._spare = batch

    def _next_slowly(
        self, status: int, timeout: Optional[float], batch: Batch
    ) -> int:
        """What is not a batch that is ready at once. Returns OK or END."""
        if not isinstance(timeout, (int, float, type(None))):
            raise TypeError(
                "timeout=%r: seconds as a number, or None" % (timeout,)
            )
        left = None if timeout is None else max(0, round(timeout * 1e9))
        while status in (_c.TIMEOUT, _c.INTERRUPTED):
            log_lines.tell()
            if left == 0 and status == _c.TIMEOUT:
                raise Timeout("no batch was ready in %s s" % timeout)
            piece = _PIECE_NS
            if left is not None:
                piece = min(left, piece)
                left -= piece
            if self._closing:
                self._refuse()
            with self._consumer:
                handle = self._handle or self._refuse()
                try:
                    status = lib.loader_next(handle, piece, self._into_taken)
                finally:
                    batch._handle = self._taken[0]
                    self._taken[0] = 0
        if status < 0:
            raise self._explained(error(status))
        return status

    def _compare_ranks(self) -> None:
        """Whether the others of the job load the same (agreement.py), before
        the first batch: behind it this rank would stand elsewhere. A wait with
        an end leaves that to the next one without."""
        self._compared = True
        if self.options.get("order", "own") != "given":
            self._attend()
        tuner_talk.begin(self)

    def _attend(self) -> None:
        terms = agreement.words(self.text(lib.loader_fingerprint))
        rank = int(terms.pop("feedline_rank"))
        world = int(terms.pop("world"))
        for name in ("process", "host"):
            del terms[name]
        agreement.attend(rank, world, terms)

    def set_stream(self, stream: int) -> None:
        """The stream on which the program computes.

        stream: a cudaStream_t, as a number: torch's
        current_stream().cuda_stream.

        The idle time of the GPU in stats()["transfer"] is this stream's: next()
        marks where its queued work ends. 0 is the legacy default stream. The
        stream must exist until another one is set or the loader is closed.
        Without it a stream that waited for a batch is measured, as if all work
        were queued before the batch is released, and not at all after copy_to.

        Does nothing with device="host".
        """
        with self._consumer:
            check(_set_stream(self.handle, stream))

    def __iter__(self) -> Iterator[Batch]:
        """One epoch: the rest of it after restore() or start(), else the next.

        In the given order: all batches until end().
        """
        with self._turns:
            if self._midway and self.options.get("order", "own") != "given":
                self._leave_epoch()
            self._turn += 1
            return EpochIterator(self, self._turn)

    def _leave_epoch(self) -> None:
        """To the next epoch, from one whose loop did not see its end.

        After its last batch, as zip(range(len(loader)), loader) leaves it, the
        stream is in the next epoch already, and only the end is still to be
        read.
        """
        epoch, delivered = self.position
        if delivered:
            self.start(epoch + 1)
            return
        batch = self.next()
        assert batch is None, "an epoch goes on after all its samples"
        self._midway = False

    def __len__(self) -> int:
        """Batches of an epoch, for this rank."""
        if self.options.get("order") == "given":
            raise TypeError("a loader in the given order has no length")
        return self.epoch_info.batches

    def start(self, epoch: int = 0) -> "Loader":
        """Makes the next batch the first of `epoch`; also after an error.
        Returns the loader.

        epoch: 0 or more.

        Continues without a pause if the stream is already there.
        """
        self._restart(lib.loader_start, _unsigned("epoch", epoch))
        return self

    # ---- The given order (the consumer's thread) --------------------------

    def begin(self, epoch: int, seed: int = 0, position: int = 0) -> None:
        """Begins an epoch, for order="given"; prepared batches are discarded.

        epoch, seed: 0 or more, on which draws depend, with sample and copy.
        position: samples of this epoch delivered in an earlier run.
        """
        self._restart(
            lib.loader_begin,
            _unsigned("epoch", epoch),
            _unsigned("seed", seed),
            _unsigned("position", position),
        )

    def append(
        self, indices: Sequence[int], copies: Optional[Sequence[int]] = None
    ) -> None:
        """Appends a batch: the samples at these positions, in this order.

        indices: 1 to batch_size of them, a sequence of int or an array of
        int64. copies: for each a number that gives repeated samples different
        draws; None: all 0.

        Raises RangeError for an invalid position, too many of them, or if 1024
        batches are queued already; nothing is appended then.
        """
        places = numbers("Q", indices, "an index")
        each = None
        if copies is not None:
            each = numbers("I", copies, "a copy")
            if len(each) != len(places):
                raise InvalidArgument(
                    "%d copies for %d indices" % (len(each), len(places))
                )
        self._consume(
            lib.loader_append,
            _pointer(ctypes.c_uint64, places),
            None if each is None else _pointer(ctypes.c_uint32, each),
            len(places),
        )

    def _append(self, places: "array[int]") -> None:
        """Appends a batch of samples that exist, an array("q"), at less cost:
        on cold caches a pointer of ctypes takes 30 us to make, this copy a few.
        """
        count = len(places)
        if self._python:
            self._refuse_in_callback()
        with self._consumer:
            handle = self._handle or self._refuse()
            given = self._given
            if given is None or count > len(given.numbers):
                given = self._given = _Given(count)
            given.numbers[:count] = places
            status = _append(handle, given.places, None, count)
        if status < 0:
            check(status)

    def _lend(self, address: int, n_bytes: int, owner: Any) -> None:
        """Lends memory for the images of one batch (feedline_loader_lend).

        The owner is kept in `_lent`: whoever takes the batch takes it from
        there, and what no batch came in is let go by stop().
        """
        self._lent[address] = owner  # before anything is written there
        with self._consumer:
            handle = self._handle or self._refuse()
            status = lib.quick.loader_lend(handle, address, n_bytes)
        if status < 0:
            del self._lent[address]
            check(status)

    def end(self) -> None:
        """Ends the epoch: no batch follows in it."""
        self._consume(lib.loader_end)

    def _consume(self, function: Any, *arguments: Any) -> None:
        self._refuse_in_callback()
        with self._consumer:
            check(function(self.handle, *arguments))

    def _patiently(self, function: Any, *arguments: Any) -> None:
        """As _consume, for what may end a run: that waits for workers."""
        if not self._python:
            self._consume(function, *arguments)
            return
        self._refuse_in_callback()
        Aside(lambda: self._consume(function, *arguments)).wait()

    def _restart(self, function: Any, *arguments: Any) -> None:
        self._patiently(function, *arguments)
        self._midway = False
        self._spare = None  # a batch that Ctrl-C kept from being returned

    # ---- Position ---------------------------------------------------------

    @property
    def position(self) -> Tuple[int, int]:
        """The epoch, and its samples delivered so far, over all ranks."""
        epoch, position = ctypes.c_uint64(), ctypes.c_uint64()
        with self._consumer:
            check(lib.loader_get_position(self.handle, epoch, position))
        spare = self._undelivered()
        if spare is not None:
            return spare.epoch, spare.place - self.get("rank")
        return int(epoch.value), int(position.value)

    def _feedline_delivered(self) -> int:
        """Batches of the epoch that the next `for` goes on with, for those who
        count them."""
        if self._midway or self.options.get("order", "own") == "given":
            return 0
        _, position = self.position
        return position // (self.get("world") * self.get("batch_size"))

    def _undelivered(self) -> Optional[Batch]:
        """A batch that the library gave and Ctrl-C kept from the caller."""
        spare = self._spare
        if spare is None or not spare._handle:
            return None
        return spare

    def seek(self, epoch: int, position: int) -> None:
        """Continues after `position` samples of `epoch`, over all ranks.

        epoch, position: 0 or more. Raises RangeError behind the epoch's end.
        """
        self._restart(
            lib.loader_set_position,
            _unsigned("epoch", epoch),
            _unsigned("position", position),
        )

    def save(self) -> str:
        """The stream's position, as a line of JSON for restore().

        Valid for another number of workers, depth, batch size or ranks.
        """
        with self._consumer:
            text = read_text(lib.loader_save, self.handle)
        if self._undelivered() is None:
            return text
        state = json.loads(text)
        state["epoch"], state["position"] = self.position
        return json.dumps(state, separators=(",", ":"))

    def restore(self, state: str) -> None:
        """Continues from a saved state.

        state: what save() returned, in this run or an earlier one.

        Raises InvalidArgument for a state of another data set or seed."""
        self._restart(lib.loader_restore, state.encode())

    # ---- Options (any thread); statistics: Observable ----------------------

    def get(self, key: str) -> int:
        """An option's current value; for auto, the one chosen.

        key: its name, such as "workers". Raises UnknownName for another.

        In base units: bytes, nanoseconds, the index among the choices.
        """
        value = ctypes.c_int64()
        with self._others:
            check(
                lib.loader_get_int(self.handle, key.encode(), value),
                UnknownName,
            )
        return int(value.value)

    def _depth(self) -> int:
        """The depth in force. The consumer's, as _has_failures."""
        value = ctypes.c_int64()
        with self._consumer:
            handle = self._handle or self._refuse()
            check(lib.quick.loader_get_int(handle, b"depth", value))
        return int(value.value)

    def set(self, key: str, value: int) -> None:
        """Sets an option while the loader runs.

        key: "workers", "depth" or "io_depth". value: 1 or more; 0: tuned.
        Raises UnknownName for another key, RangeError for a value.
        """
        with self._others:
            check(
                lib.loader_set_int(self.handle, key.encode(), value),
                UnknownName,
            )

    def hear(self, told: str) -> None:
        """told: what the tuners of all ranks of a job tell, one line of text
        each (feedline_loader_hear). The package does this by itself where ranks
        can meet (docs/tuner.md)."""
        with self._others:
            check(lib.loader_hear(self.handle, told.encode()))

    @property
    def config(self) -> Dict[str, Any]:
        """All options with their current values."""
        found: Dict[str, Any] = json.loads(self.text(lib.loader_config_json))
        return found

    @property
    def epoch_info(self) -> EpochInfo:
        """What one epoch is for this rank."""
        info = _c.epoch_info()
        with self._others:
            check(lib.loader_get_epoch_info(self.handle, info))
        return EpochInfo(
            samples=int(info.samples),
            batches=int(info.batches),
            shape=tuple(info.shape),
            batch_bytes=int(info.batch_bytes),
            views=int(info.views),
        )

    def draws(
        self,
        epoch: int,
        index: int,
        width: int,
        height: int,
        copy: int = 0,
        view: int = 0,
    ) -> Dict[str, Any]:
        """The random draws for a sample: {"operations": [...]}.

        epoch, index: which sample, by its position in the data set. width,
        height: of the source image, in pixels. copy: of a sample that comes
        more than once. view: of a pipeline with several. Depends on the seed,
        too.
        """
        found: Dict[str, Any] = json.loads(
            self.text(
                lib.loader_draw_json, epoch, index, copy, view, width, height
            )
        )
        return found

    # ---- Failures (any thread) --------------------------------------------

    def failures(self) -> List[Failure]:
        """The failed samples, at most the first 1000."""
        with self._others:
            count = check(lib.loader_failure_count(self.handle))
            return [self._failure(index) for index in range(count)]

    def _has_failures(self) -> bool:
        """Whether there may be one: False says that no batch so far has one.

        The consumer's: it does not wait for others that read statistics.
        """
        with self._consumer:
            handle = self._handle
            return handle is None or bool(
                lib.quick.loader_failure_count(handle)
            )

    def _failure(self, index: int) -> Failure:
        raw = _c.failure()
        check(lib.loader_get_failure(self.handle, index, raw))
        return Failure(
            status=int(raw.status),
            name=lib.status_name(raw.status).decode(),
            epoch=int(raw.epoch),
            sample_index=int(raw.sample_index),
            path=os.fsdecode(raw.path or b""),
            reason=os.fsdecode(raw.reason or b""),
            cause=self._cause(raw.epoch, raw.sample_index),
        )

    def _cause(self, epoch: int, index: int) -> Optional[BaseException]:
        """What a Python operation raised for a sample."""
        for operation in self._python:
            found = operation.errors.find(epoch, index)
            if found is not None:
                return found
        return None

    def failure_of(self, epoch: int, index: int) -> Optional[Failure]:
        """The failure of a sample, or None.

        epoch, index: which sample, by its position in the data set.
        """
        for failure in reversed(self.failures()):
            if (failure.epoch, failure.sample_index) == (epoch, index):
                return failure
        return None

    def error_of(self, epoch: int, index: int) -> Optional[Error]:
        """The exception for a sample that failed, with path and cause, or None.

        epoch, index: as for failure_of.
        """
        found = self.failure_of(epoch, index)
        if found is None:
            return None
        text = found.reason
        if found.path and found.path not in text:
            text = "%s: %s" % (found.path, text)
        made = of_status(found.status, text, found.path)
        return as_also(of_file(made), found.cause)

    def _explained(self, raised: Error) -> Error:
        """With the path of the sample that it is about, and the cause."""
        if not isinstance(raised, StateError):
            text = str(raised)
            for found in reversed(self.failures()):
                same = found.status == raised.status
                if same and found.path and found.path in text:
                    raised.path = found.path
                    raised.__cause__ = found.cause
                    break
        cause = raised.__cause__
        kind = type(cause).__name__  # which a source's own text begins with
        told = cause is None or kind in str(raised)
        if isinstance(raised, UserError) and not told:
            raised.text = "%s: %s: %s" % (raised, kind, cause)
        return as_also(of_file(raised), cause)

    # ---- Life -------------------------------------------------------------

    @property
    def handle(self) -> int:
        """The feedline_loader, as an address."""
        return self._handle or self._refuse()

    def _refuse(self) -> int:
        if lifetime.is_exiting_elsewhere():
            # A daemon thread at exit: SystemExit ends it silently.
            raise SystemExit
        if self._closing and self._handle is not None:
            raise StateError("the loader is being closed by another thread")
        raise StateError("the loader was closed; make another one")

    def _refuse_in_callback(self) -> None:
        if self._python and in_callback():
            raise StateError(
                "a Python operation cannot use the loader that runs it"
            )

    @property
    def closed(self) -> bool:
        """Whether close() was called, or is at work."""
        return self._closing or self._handle is None

    def stop(self) -> None:
        """Ends all threads; start() restarts them. Batches stay valid.

        Ctrl-C ends the wait for a Python operation; the loader stops all the
        same.
        """
        self._patiently(lib.loader_stop)
        self._lent.clear()

    def close(self) -> None:
        """Destroys the loader. Batches and tensors over them stay valid.

        Waits for its threads, and for a next() on another thread, which
        raises StateError. Ctrl-C ends the wait for a Python operation; the
        loader is closed all the same.
        """
        self._refuse_in_callback()
        done = self._end()
        if done is not None:
            done.wait()

    def _renew_locks(self) -> None:
        super()._renew_locks()
        self._turns = threading.RLock()

    def _end(self) -> Optional[Aside]:
        """Closes it; what to wait for, if its end is another thread's."""
        self._closing = True  # a next() that waits must not begin again
        with self._others:
            handle = self._handle
            if handle is None:
                return None
            lib.loader_interrupt(handle)
        if self._python:
            return Aside(self._destroy)
        self._destroy()
        return None

    def _destroy(self) -> None:
        with self._consumer, self._others:
            self._handle = None
            self._spare = None
            detached = self._finalizer.detach()
        if detached is not None:
            _, _, arguments, _ = detached
            lifetime.destroy(*arguments)

    def __reduce__(self) -> Tuple[Any, ...]:
        """Pickled as its configuration: another loader, at its beginning."""
        build, made_of = self._pipeline_made_of
        return _rebuilt, (
            type(self),
            self.dataset,
            (build, made_of),
            self.options,
        )

    def __enter__(self) -> "Loader":
        return self

    def __exit__(self, *unused: Any) -> None:
        self.close()

    def __repr__(self) -> str:
        made_of = "%r, %r" % (self.dataset, self.pipeline)
        if self._handle is None:
            return "<feedline.Loader of %s, closed>" % made_of
        options = "".join(
            ", %s=%r" % item for item in sorted(self.options.items())
        )
        return "<feedline.Loader of %s%s>" % (made_of, options)


def _how_to_open(given: Any) -> str:
    """What makes a Dataset of what is none."""
    if isinstance(given, (str, os.PathLike)):
        place = os.fsdecode(given)
        where = place if ":" in place else "folder:" + place
        return "feedline.Dataset.open(%r) makes one" % where
    if hasattr(given, "read"):
        return "feedline.Dataset.source(...) makes one of what has read(i)"
    return (
        "feedline.Dataset has functions that make one; "
        "feedline.torch.DataLoader takes those of torch"
    )


def _gpu_of(config: Config) -> Optional[str]:
    """The "cuda:N" that option or environment names; None on the host."""
    device = str(json.loads(config.json())["device"])
    if device == "host":
        return None
    return device if ":" in device else device + ":0"


def _defaults() -> Dict[str, Any]:
    """Options that have another default in Python."""
    found: Dict[str, Any] = {"held": "grow", "terms": "python"}
    if "FEEDLINE_PILLOW" not in os.environ:
        found["pillow"] = option_pillow()
    return found


def _rebuilt(
    cls: Type[Loader], dataset: Dataset, pipeline: Any, options: Dict[str, Any]
) -> Loader:
    """A pickled loader."""
    build, made_of = pipeline
    return cls(dataset, build(*made_of), **options)


# ---- Iterating --------------------------------------------------------------


class EpochIterator(Iterator[Batch]):
    """The batches of one epoch; in the given order those until end().

    A loader is one stream, so only the newest iterator of it is valid: an older
    one raises StateError, and never gets batches of another epoch. Threads may
    share an iterator; each batch goes to one of them.
    """

    __slots__ = ("_loader", "_turn")

    def __init__(self, loader: Loader, turn: int) -> None:
        self._loader: Optional[Loader] = loader
        self._turn = turn

    def __next__(self) -> Batch:
        loader = self._loader
        if loader is None:
            raise StopIteration
        with loader._turns:
            if self._turn != loader._turn:
                raise StateError(
                    "a loader is one stream of batches, and a newer iterator "
                    "has it; two at a time take two loaders"
                )
            if self._loader is None:  # another thread came to the end
                raise StopIteration
            batch = loader.next()
            if batch is not None:
                loader._midway = True
                return batch
            loader._midway = False
            self._loader = None
        log_lines.tell()
        raise StopIteration

    def __repr__(self) -> str:
        if self._loader is None:
            return "<feedline.EpochIterator, at its end>"
        return "<feedline.EpochIterator of %r>" % (self._loader,)

    def __reduce__(self) -> NoReturn:
        raise TypeError(
            "cannot pickle 'EpochIterator': pickle its loader, which goes as "
            "its configuration, and loader.save() for where it stands"
        )

    def __copy__(self) -> Any:
        return self.__reduce__()


# ---- Arguments --------------------------------------------------------------

# It waits for nothing, so the interpreter's lock stays here.
_append = lib.quick.loader_append
_deliver = lib.quick.unconverted("loader_deliver")
_set_stream = lib.quick.loader_set_stream


class _Given:
    """Memory for the samples of a batch, for C and for Python.

    places: of c_uint64. numbers: the same as a memoryview of "q".
    """

    __slots__ = ("places", "numbers")

    def __init__(self, count: int) -> None:
        self.places: Any = (ctypes.c_uint64 * count)()
        self.numbers = memoryview(self.places).cast("B").cast("q")


def _unsigned(what: str, value: int) -> int:
    if not 0 <= value < 1 << 64:
        raise RangeError("%s is %d; it is 0 to 2**64 - 1" % (what, value))
    return int(value)


def _pointer(kind: Any, values: Any) -> Any:
    return (kind * len(values)).from_buffer(values)
