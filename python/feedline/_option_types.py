# SPDX-License-Identifier: Apache-2.0
# Made by python/make_option_types.py from the library's table of options.
"""The options of a Loader, for editors and type checkers."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Literal, Optional, TypedDict, Union

if sys.version_info >= (3, 11):
    from typing import Unpack  # novm
elif TYPE_CHECKING:
    from typing_extensions import Unpack
else:
    Unpack = Optional  # whoever evaluates annotations gets something

__all__ = ["LoaderOptions", "Unpack"]


class LoaderOptions(TypedDict, total=False):
    """Keyword arguments of feedline.Loader; docs/options.md has more of each.

    None leaves the default.
    """

    batch_size: Optional[int]
    """images per batch; with five_crop or ten_crop, views count, and it is a
    multiple of them. [1 to 65536; default 64]"""
    workers: Union[int, Literal["auto"], None]
    """threads that decode and augment; auto: tuned, from workers_start on; with
    tuner=off, the usable cores. [1 to 1024; default auto]"""
    depth: Union[int, Literal["auto"], None]
    """batches prepared ahead of the consumer; auto: tuned, from 4 on, within
    the memory budgets. [1 to 1024; default auto]"""
    io_depth: Union[int, Literal["auto"], None]
    """reads in flight; auto: tuned, from 16 (io_uring) or 4 (pread) on. [1 to
    256; default auto]"""
    reader: Optional[Literal["auto", "uring", "pread", "memory", "remote"]]
    """how files are read; memory: keep every file in memory after its first
    read; remote: what is on other machines, which auto does too. [default auto]
    """
    direct: Union[bool, Literal["auto"], None]
    """read files past the page cache (O_DIRECT), where the file system can;
    auto: shards that are larger than the memory limit, but not with
    shuffle=block. [default auto]"""
    seed: Optional[int]
    """seed for the sample order and all random augmentation. [0 or more;
    default 0]"""
    shuffle: Union[bool, Literal["block"], None]
    """shuffle the whole data set in each epoch; block: read blocks of
    neighbours, and shuffle `lanes` of them at a time (docs/shuffle.md).
    [default false]"""
    block: Union[int, Literal["auto"], None]
    """consecutive samples in a block of shuffle=block; auto: as many as take 8
    MiB on average, 64 where lengths are not known before files are read. [1 to
    16777216; default auto]"""
    lanes: Optional[int]
    """blocks that shuffle=block shuffles together; more mix better and take
    more memory. [1 to 65536; default 64]"""
    drop_last: Optional[bool]
    """drop the last batch of an epoch if it is short. [default false]"""
    epochs: Optional[int]
    """epochs to deliver after start; 0: unlimited. [0 or more; default 0]"""
    rank: Optional[int]
    """index of this process among `world` processes, from 0. [0 to 1048576;
    default 0]"""
    world: Union[int, Literal["auto"], None]
    """number of processes that share the data set; auto: rank and world are the
    launcher's (docs/frameworks.md). [1 to 1048576; default 1]"""
    shard_tail: Optional[Literal["pad", "drop", "wrap"]]
    """if samples do not divide by world: repeat the last (pad), drop the rest,
    or wrap around to the first, as torch does. [default wrap]"""
    repeats: Optional[int]
    """consecutive copies of each sample in the order over all ranks, each with
    its own random draws. [1 to 64; default 1]"""
    epoch_samples: Optional[int]
    """samples per epoch, over all ranks, copies included; 0: as many as the
    data set has. [0 or more; default 0]"""
    order: Optional[Literal["own", "given"]]
    """own: from seed, shuffle, rank and so on; given: external, the program
    appends each batch (feedline/order.h), and those options must keep their
    defaults. [default own]"""
    dtype: Optional[Literal["u8", "f32", "f16", "bf16"]]
    """type of the pixels. [default f32]"""
    layout: Optional[Literal["nchw", "nhwc"]]
    """order of a batch's axes. [default nchw]"""
    channels: Optional[int]
    """3: RGB; 1: gray (Pillow's mode L); 4: RGBA; 2: gray and alpha; alpha is
    255 in files without it. [1 to 4; default 3]"""
    decode: Optional[Literal["pixels", "none", "host", "device", "auto"]]
    """pixels, host: by the workers; device: by the GPU that batches are
    delivered to, where it can, and else by the workers into the same batch,
    with the same pixels (docs/device_decoding.md); auto: either of them, as
    measured while the loader runs; none: no pixels; each image as it is
    encoded, as the field "image" (feedline/fields.h), and the pipeline has no
    effect. [default pixels]"""
    masks: Union[str, os.PathLike[str], None]
    """field with the mask of each image, an image of its own that the pipeline
    moves as it moves the image (docs/targets.md)."""
    mask_fill: Optional[int]
    """value of a mask where the pipeline adds a border. [0 to 255; default 0]
    """
    mask_nearest: Optional[Literal["pillow", "torch"]]
    """which pixel of a mask resizing takes: Pillow's, or that of torch, as
    torchvision v2 on tensors. [default pillow]"""
    device: Union[str, os.PathLike[str], None]
    """where batches are delivered: host, or the GPU cuda:N. [default host]"""
    finish: Optional[Literal["auto", "host", "device"]]
    """where pixels for a GPU are cast, normalised and laid out; device: u8
    crosses the bus; auto: chosen from bus and cores when the loader is created;
    the result is the same. [default auto]"""
    handover: Optional[Literal["share", "copy"]]
    """how the program takes batches from a GPU: share: it reads them where they
    lie; copy: by feedline_batch_copy alone, which finishes them on the way, so
    that a batch ahead takes no more device memory than its u8 pixels. [default
    share]"""
    on_error: Optional[Literal["raise", "skip", "zero"]]
    """a sample that fails: end with its error, replace it by another sample, or
    deliver zeros. [default raise]"""
    max_failures: Optional[int]
    """end with an error after more failed samples; 0: no limit. [0 or more;
    default 0]"""
    max_pixels: Optional[int]
    """refuse larger images (default: Pillow's limit). [1 or more; default
    178956970]"""
    max_scans: Optional[int]
    """refuse a progressive JPEG with more scans. [1 to 1048576; default 500]"""
    max_file_bytes: Union[int, str, None]
    """refuse larger files. [bytes; default 256m]"""
    max_sample_bytes: Union[int, str, None]
    """above 0: ragged batches; each sample keeps the size the pipeline gives
    it, up to this many bytes, and a table has the offsets; 0: all have one
    size. [bytes; default 0]"""
    max_image_ms: Optional[int]
    """fail an image that takes longer to decode (depends on the machine); 0: no
    limit. [0 to 1073741824; default 0]"""
    accept_truncated: Optional[float]
    """use a truncated JPEG or PNG with at least this fraction of its rows;
    missing rows as with Pillow's LOAD_TRUNCATED_IMAGES; 0: an error. [0.0 to
    1.0; default 0]"""
    checksums: Union[bool, Literal["auto"], None]
    """a sample that its container's checksum says is damaged has failed: zip,
    TFRecord, packed (docs/python.md); auto: unless more than 64 KiB would be
    read for nothing but that; false: it is delivered as it is. [default auto]
    """
    apply_exif: Optional[bool]
    """first rotate and mirror images as their EXIF orientation says. [default
    false]"""
    stored_mode: Optional[Literal["any", "L", "RGB"]]
    """refuse an image that has another of Pillow's modes in its file: L is gray
    of 8 bits, RGB colours, and neither has alpha or a palette. [default any]"""
    isolate: Optional[Literal["off", "decode"]]
    """decode: each worker has files decoded by a process without files, network
    and most system calls; what ends that one costs one sample
    (docs/isolation.md). [default off]"""
    memory_budget: Union[int, str, None]
    """limit for prefetched batches plus files read but not decoded (one such
    file is always allowed); the memory reader has a second budget of this size;
    auto: a tenth of the memory limit, divided by local_world. [bytes; default
    auto]"""
    cache: Optional[Literal["system", "keep"]]
    """which files stay in the system's page cache: system: those read last;
    keep: for data larger than memory, always the same part of it, and the rest
    leaves after each read (docs/design.md). [default system]"""
    cache_budget: Union[int, str, None]
    """what stays with cache=keep, for all processes of the machine together; a
    size alone also means cache=keep; auto: three quarters of the memory limit.
    [bytes; default auto]"""
    remote_cache: Union[str, os.PathLike[str], None]
    """a folder of this machine that keeps what samples of data on other
    machines were read from, for later epochs and runs; all processes that name
    it share it (docs/remote.md)."""
    remote_cache_budget: Union[int, str, None]
    """what remote_cache may take, for all of them together; what is in stays
    once that is used up; auto: half of what is free there and of what it has.
    [bytes; default auto]"""
    jpeg_index: Union[bool, Literal["auto"], None]
    """note while JPEGs are decoded where a crop can be entered the next time
    (docs/design.md); auto: unless epochs=1, and kept in a file for later runs
    from 10,000 samples on; true: always. [default auto]"""
    jpeg_index_budget: Union[int, str, None]
    """limit for what jpeg_index notes in a run, 2 % of the files; auto: a
    fiftieth of the memory limit, divided by local_world. [bytes; default auto]
    """
    device_memory_budget: Union[int, str, None]
    """limit for batches in a GPU's memory, depth + 2 of them; auto: a twentieth
    of what is free at the first start and at most 2g, but always enough for
    depth=1. [bytes; default auto]"""
    quality: Optional[Literal["exact", "fast"]]
    """exact: Pillow's pixels; fast: decode large JPEGs at 1/2, 1/4 or 1/8 where
    the output is that much smaller (docs/pixels.md). [default exact]"""
    pillow: Optional[Literal["12", "13"]]
    """resample like Pillow up to 12, or like 13, which starts with the columns
    where they shrink much more, and so rounds differently. [default 12]"""
    rounding: Optional[Literal["once", "divide", "multiply"]]
    """of floats: once, or after each step, as torchvision's ToTensor and
    Normalize (divide) or v2.ToDtype and Normalize (multiply) do. [default once]
    """
    trace: Union[str, os.PathLike[str], None]
    """write a trace of the run to this file, as Chrome JSON, over the schedule
    below."""
    trace_skip_first: Optional[int]
    """batches before the schedule; this and the next four work as in
    torch.profiler.schedule. [0 or more; default 0]"""
    trace_wait: Optional[int]
    """batches per cycle that are not traced. [0 or more; default 0]"""
    trace_warmup: Optional[int]
    """batches per cycle that are traced and discarded. [0 or more; default 0]
    """
    trace_active: Optional[int]
    """batches per cycle that are traced and kept. [1 or more; default 200]"""
    trace_repeat: Optional[int]
    """number of cycles; 0: unlimited. [0 or more; default 1]"""
    trace_categories: Union[str, os.PathLike[str], None]
    """what to trace: all, or some of read, decode, augment, copy, consumer,
    batch, counter, tuner, joined by commas. [default all]"""
    trace_limit: Union[int, str, None]
    """maximum size of the trace file; the trace then ends and notes it. [bytes;
    default 256m]"""
    stats_log: Union[str, os.PathLike[str], None]
    """append the statistics to this file every stats_interval, one JSON object
    per line."""
    metrics: Union[str, os.PathLike[str], None]
    """replace this file every stats_interval with the statistics in Prometheus'
    text format, for its textfile collector."""
    stats_interval: Union[float, str, None]
    """time between two lines of stats_log, and between two metrics files.
    [seconds; default 10s]"""
    live: Optional[bool]
    """let loaderbench top, of the same user, watch this loader. [default true]
    """
    held: Optional[Literal["refuse", "grow"]]
    """when the program holds every batch that memory allows: refuse: next
    fails; grow: allocate another, beyond memory_budget if necessary, until
    batches are released. [default refuse]"""
    tuner: Optional[Literal["off", "observe", "auto"]]
    """auto: tune workers, depth and io_depth where they are auto, while the
    loader runs; observe: only report what it would do (docs/tuner.md). [default
    auto]"""
    tuner_target: Optional[float]
    """acceptable stall, as a fraction of time; below it the tuner tries fewer
    workers. [0.0 to 1.0; default 0.01]"""
    tuner_profile: Union[str, os.PathLike[str], None]
    """start from an earlier result, written by loaderbench tune or
    feedline_loader_save_profile, on the same machine, data set and pipeline."""
    tuner_job: Optional[bool]
    """take part in what the tuners of a job's ranks tell each other
    (docs/tuner.md). [default true]"""
    workers_min: Optional[int]
    """lower bound for the tuner. [1 to 1024; default 1]"""
    workers_max: Union[int, Literal["auto"], None]
    """upper bound for the tuner; auto: 32 per core, for work that sleeps. [1 to
    1024; default auto]"""
    workers_start: Union[int, Literal["auto"], None]
    """where the tuner starts; auto: the usable cores. [1 to 1024; default auto]
    """
    depth_max: Union[int, Literal["auto"], None]
    """upper bound for the tuner; auto: 64, within the memory budgets. [1 to
    1024; default auto]"""
    io_depth_max: Union[int, Literal["auto"], None]
    """upper bound for the tuner; auto: 256 (io_uring), 64 (pread). [1 to 256;
    default auto]"""
    local_world: Union[int, Literal["auto"], None]
    """processes on this machine that share its cores and memory; auto: as the
    launcher says (torchrun's LOCAL_WORLD_SIZE), else 1, and cores as other
    loaders use them. [1 to 65536; default auto]"""
    affinity: Union[str, os.PathLike[str], None]
    """CPUs that workers and readers run on; auto: those on the NUMA node of the
    GPU, if they are enough; none: any; or a list such as 0-15,32-47, which this
    process need not share (docs/transfer.md). [default auto]"""
    stuck_after: Union[float, str, None]
    """report a worker that takes longer for one sample; 0: never. [seconds;
    default 60s]"""
    terms: Optional[Literal["feedline", "python", "torch"]]
    """option names that verdicts and advice use: depth=auto, depth="auto" or
    prefetch_factor="auto"; bindings set it. [default feedline]"""
