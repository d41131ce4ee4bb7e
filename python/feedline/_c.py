# SPDX-License-Identifier: Apache-2.0
# Made by python/make_c.py from include/feedline/*.h.
"""The declarations of the C headers, for ctypes.

Names are those of the headers without the prefix. FUNCTIONS has the result and
the arguments of each function. Handles, untyped pointers and pointers to bytes
are c_void_p, which takes an address as an int.
"""

from __future__ import annotations

import ctypes
from ctypes import CFUNCTYPE, POINTER, Structure, c_char, c_char_p, c_double
from ctypes import c_int, c_int32, c_int64, c_uint32, c_uint64, c_void_p
from typing import Any, Dict, Tuple, Type

REPLACED = 4
INTERRUPTED = 3
END = 2
TIMEOUT = 1
OK = 0
EINVAL = -1
ENOMEM = -2
EIO = -3
ENOENT = -4
EDECODE = -5
EDEVICE = -6
ENOSYS = -7
ESTATE = -8
EFORK = -9
ERANGE = -10
EABI = -11
EUSER = -12
VERSION_MAJOR = 0
VERSION_MINOR = 1
VERSION_PATCH = 0
FEATURE_URING = 0x1
FEATURE_CUDA = 0x2
FEATURE_WEBP = 0x4
OPT_LIVE = 0x1
OPT_AUTO = 0x2
ENDING_LISTED = 0x1
ENDING_DECODED = 0x2
T_INT = 1
T_SIZE = 2
T_TIME = 3
T_DOUBLE = 4
T_BOOL = 5
T_ENUM = 6
T_STRING = 7
T_DOUBLES = 8
BILINEAR = 0
NEAREST = 1
BOX = 2
HAMMING = 3
BICUBIC = 4
LANCZOS = 5
CPU = 1
CPU_PINNED = 2
CUDA = 3
U8 = 1
F16 = 2
F32 = 3
I64 = 4
BF16 = 5
STAGE_READ = 0
STAGE_DECODE = 1
STAGE_AUGMENT = 2
STAGE_TRANSFER = 3
STAGE_CONSUME = 4
STAGE_COUNT = 5
TRACE_NONE = 0
TRACE_WARMUP = 1
TRACE_RECORD = 2
TRACE_RECORD_AND_SAVE = 3
COPY_PAGEABLE = 0x1
COPY_BUSY = 0x2
DLPACK_VERSIONED = 0x1
IMAGES = 0
LABELS = 1
LIVE_DECISIONS = 8
GIVEN_MAX = 1024
STAT_ZERO_UNKNOWN = 0x1
STAT_NEGATIVE_UNKNOWN = 0x2
STAT_CUSTOM = 0x4
STAT_U32 = 0
STAT_U64 = 1
STAT_I64 = 2
STAT_DOUBLE = 3
STAT_TEXT = 4
MERGE_NONE = 0
MERGE_SUM = 1
MERGE_MAX = 2


class SizedStructure(Structure):
    """A struct that begins with its own size, which is filled in."""

    def __init__(self, *values: Any, **members: Any) -> None:
        super().__init__(ctypes.sizeof(self), *values, **members)


run_function = CFUNCTYPE(c_int32, c_void_p)


class option_info(SizedStructure):
    _fields_ = [
        ("struct_size", c_uint32),
        ("flags", c_uint32),
        ("type", c_int32),
        ("reserved", c_int32),
        ("min", c_int64),
        ("max", c_int64),
        ("double_min", c_double),
        ("double_max", c_double),
        ("name", c_char_p),
        ("default_text", c_char_p),
        ("unit", c_char_p),
        ("choices", c_char_p),
        ("help", c_char_p),
    ]


class sample_info(SizedStructure):
    _fields_ = [
        ("struct_size", c_uint32),
        ("reserved", c_uint32),
        ("label", c_int64),
        ("path", c_char_p),
    ]


class image(Structure):
    _fields_ = [
        ("data", c_void_p),
        ("row_bytes", c_int64),
        ("width", c_int32),
        ("height", c_int32),
        ("channels", c_int32),
        ("reserved", c_int32),
    ]


class op_call(Structure):
    _fields_ = [
        ("struct_size", c_uint32),
        ("place", c_uint32),
        ("epoch", c_uint64),
        ("sample_index", c_int64),
        ("copy", c_uint32),
        ("view", c_uint32),
        ("image", image),
        ("rng", c_void_p),
        ("scratch", c_void_p),
        ("user", c_void_p),
        ("begin_ns", c_int64),
    ]


class op_def(SizedStructure):
    _fields_ = [
        ("struct_size", c_uint32),
        ("flags", c_uint32),
        ("scratch_bytes", c_uint64),
        ("name", c_char_p),
        ("run", run_function),
        ("user", c_void_p),
        ("label", c_char_p),
    ]


class epoch_info(SizedStructure):
    _fields_ = [
        ("struct_size", c_uint32),
        ("views", c_uint32),
        ("samples", c_uint64),
        ("batches", c_uint64),
        ("shape", c_int64 * 4),
        ("batch_bytes", c_uint64),
    ]


class draw(SizedStructure):
    _fields_ = [
        ("struct_size", c_uint32),
        ("flip", c_int32),
        ("x", c_int32),
        ("y", c_int32),
        ("width", c_int32),
        ("height", c_int32),
        ("resize_width", c_int32),
        ("resize_height", c_int32),
        ("window_x", c_int32),
        ("window_y", c_int32),
        ("window_width", c_int32),
        ("window_height", c_int32),
        ("vertical_flip", c_int32),
        ("interpolation", c_int32),
        ("resize_mirrored", c_int32),
        ("resize_mirrored_vertical", c_int32),
    ]


class tensor(Structure):
    _fields_ = [
        ("data", c_void_p),
        ("device", c_int32),
        ("device_id", c_int32),
        ("dtype", c_int32),
        ("ndim", c_int32),
        ("shape", c_int64 * 4),
        ("stride", c_int64 * 4),
    ]


class batch_info(SizedStructure):
    _fields_ = [
        ("struct_size", c_uint32),
        ("count", c_uint32),
        ("epoch", c_uint64),
        ("sequence", c_uint64),
        ("images", tensor),
        ("labels", tensor),
        ("sample_index", POINTER(c_int64)),
        ("sample_status", POINTER(c_int32)),
        ("wait_ns", c_int64),
        ("position", c_uint64),
        ("views", c_uint32),
        ("reserved", c_uint32),
        ("image_offset", POINTER(c_int64)),
        ("image_size", POINTER(c_int32 * 2)),
        ("image_bytes", c_uint64),
    ]


class failure(SizedStructure):
    _fields_ = [
        ("struct_size", c_uint32),
        ("status", c_int32),
        ("epoch", c_uint64),
        ("sample_index", c_int64),
        ("path", c_char_p),
        ("reason", c_char_p),
    ]


class stats(SizedStructure):
    _fields_ = [
        ("struct_size", c_uint32),
        ("workers", c_uint32),
        ("wall_ns", c_uint64),
        ("wait_ns", c_uint64),
        ("user_ns", c_uint64),
        ("api_ns", c_uint64),
        ("batches", c_uint64),
        ("samples", c_uint64),
        ("failed_samples", c_uint64),
        ("bytes_read", c_uint64),
        ("profiler_ns", c_uint64),
        ("memory_bytes", c_uint64),
        ("first_batch_ns", c_uint64),
        ("truncated_samples", c_uint64),
    ]


class wait_stats(SizedStructure):
    _fields_ = [
        ("struct_size", c_uint32),
        ("waits", c_uint32),
        ("not_issued_ns", c_uint64),
        ("slot_ns", c_uint64),
        ("fetch_queue_ns", c_uint64),
        ("fetch_ns", c_uint64),
        ("worker_wait_ns", c_uint64),
        ("prep_ns", c_uint64),
        ("transfer_queue_ns", c_uint64),
        ("transfer_ns", c_uint64),
        ("wake_ns", c_uint64),
        ("residual_ns", c_uint64),
        ("prep_cpu_ns", c_uint64),
        ("prep_runq_ns", c_uint64),
        ("prep_throttle_ns", c_uint64),
        ("prep_sleep_ns", c_uint64),
        ("worker_wait_cpu_ns", c_uint64),
        ("worker_wait_runq_ns", c_uint64),
        ("worker_wait_throttle_ns", c_uint64),
        ("worker_wait_sleep_ns", c_uint64),
    ]


class stage_stats(SizedStructure):
    _fields_ = [
        ("struct_size", c_uint32),
        ("threads", c_uint32),
        ("items", c_uint64),
        ("bytes", c_uint64),
        ("errors", c_uint64),
        ("busy_ns", c_uint64),
        ("starved_ns", c_uint64),
        ("blocked_ns", c_uint64),
        ("p50_ns", c_uint64),
        ("p90_ns", c_uint64),
        ("p99_ns", c_uint64),
        ("max_ns", c_uint64),
        ("cpu_ns", c_uint64),
        ("lock_ns", c_uint64),
    ]


class worker_stats(SizedStructure):
    _fields_ = [
        ("struct_size", c_uint32),
        ("threads", c_uint32),
        ("wall_ns", c_uint64),
        ("cpu_ns", c_uint64),
        ("runq_ns", c_uint64),
        ("throttle_ns", c_uint64),
        ("sleep_ns", c_uint64),
        ("read_ns", c_uint64),
        ("blocked_ns", c_uint64),
        ("starved_ns", c_uint64),
        ("parked_ns", c_uint64),
        ("residual_ns", c_uint64),
        ("voluntary_switches", c_uint64),
        ("involuntary_switches", c_uint64),
    ]


class phase_stats(SizedStructure):
    _fields_ = [
        ("struct_size", c_uint32),
        ("reserved", c_uint32),
        ("name", c_char_p),
        ("count", c_uint64),
        ("total_ns", c_uint64),
        ("self_ns", c_uint64),
        ("max_ns", c_uint64),
    ]


class gap_stats(SizedStructure):
    _fields_ = [
        ("struct_size", c_uint32),
        ("period", c_uint32),
        ("count", c_uint64),
        ("total_ns", c_uint64),
        ("longest_ns", c_uint64),
        ("median_ns", c_uint64),
        ("stall_period", c_uint32),
        ("stall_strength", c_uint32),
    ]


class slow_sample(SizedStructure):
    _fields_ = [
        ("struct_size", c_uint32),
        ("stage", c_uint32),
        ("epoch", c_uint64),
        ("sequence", c_uint64),
        ("sample_index", c_int64),
        ("total_ns", c_uint64),
        ("read_ns", c_uint64),
        ("decode_ns", c_uint64),
        ("augment_ns", c_uint64),
        ("custom_ns", c_uint64),
        ("bytes", c_uint64),
        ("width", c_uint32),
        ("height", c_uint32),
        ("stall_ns", c_uint64),
        ("path", c_char_p),
    ]


class headroom(SizedStructure):
    _fields_ = [
        ("struct_size", c_uint32),
        ("reserved", c_uint32),
        ("batches_per_second", c_double),
        ("fed", c_double),
        ("two_workers", c_double),
        ("storage", c_double),
        ("transfer", c_double),
        ("stages", c_double * STAGE_COUNT),
    ]


class verdict(SizedStructure):
    _fields_ = [
        ("struct_size", c_uint32),
        ("confidence_ppm", c_uint32),
        ("predicted_gain", c_double),
        ("code", c_char_p),
        ("level", c_char_p),
        ("sentence", c_char_p),
        ("action", c_char_p),
        ("evidence", c_char_p),
        ("tuner", c_uint32),
        ("reserved", c_uint32),
    ]


class device_stats(SizedStructure):
    _fields_ = [
        ("struct_size", c_uint32),
        ("finish", c_int32),
        ("batches", c_uint64),
        ("finished", c_uint64),
        ("copies", c_uint64),
        ("copied_bytes", c_uint64),
        ("queue_ns", c_uint64),
        ("copy_ns", c_uint64),
        ("overlap_ns", c_uint64),
        ("finish_ns", c_uint64),
        ("steps", c_uint64),
        ("span_ns", c_uint64),
        ("idle_ns", c_uint64),
        ("pinned_bytes", c_uint64),
        ("device_bytes", c_uint64),
        ("latency_us", c_double),
        ("gigabytes_per_second", c_double),
        ("regime", c_char_p),
        ("finish_reason", c_char_p),
    ]


class device_info(SizedStructure):
    _fields_ = [
        ("struct_size", c_uint32),
        ("id", c_int32),
        ("runtime_version", c_int32),
        ("driver_version", c_int32),
        ("numa_node", c_int32),
        ("copy_engines", c_int32),
        ("name", c_char * 64),
        ("pci", c_char * 16),
    ]


class machine_info(SizedStructure):
    _fields_ = [
        ("struct_size", c_uint32),
        ("cpus_online", c_uint32),
        ("cpus_allowed", c_uint32),
        ("cpus_usable", c_uint32),
        ("cpu_quota", c_double),
        ("memory_limit_bytes", c_uint64),
    ]


class copy_test(SizedStructure):
    _fields_ = [
        ("struct_size", c_uint32),
        ("flags", c_uint32),
        ("bytes", c_uint64),
        ("copies", c_uint32),
        ("repeats", c_uint32),
    ]


class copy_time(SizedStructure):
    _fields_ = [
        ("struct_size", c_uint32),
        ("repeats", c_uint32),
        ("host_us", c_double),
        ("device_us", c_double),
        ("min_us", c_double),
        ("max_us", c_double),
    ]


class copy_fit(SizedStructure):
    _fields_ = [
        ("struct_size", c_uint32),
        ("reserved", c_uint32),
        ("latency_us", c_double),
        ("gigabytes_per_second", c_double),
        ("half_bytes", c_double),
        ("worst_error", c_double),
    ]


class live_info(SizedStructure):
    _fields_ = [
        ("struct_size", c_uint32),
        ("pid", c_int32),
        ("loader", c_uint32),
        ("version", c_uint32),
        ("started_unix_ns", c_int64),
        ("command", c_char * 64),
    ]


class live_verdict(Structure):
    _fields_ = [
        ("confidence", c_double),
        ("predicted_gain", c_double),
        ("code", c_char * 32),
        ("level", c_char * 16),
        ("sentence", c_char * 384),
        ("action", c_char * 256),
    ]


class live_tuner(Structure):
    _fields_ = [
        ("mode", c_char * 16),
        ("state", c_char * 16),
        ("limited_by", c_char * 16),
        ("planned_workers", c_uint32),
        ("planned_depth", c_uint32),
        ("planned_io_depth", c_uint32),
        ("converged", c_uint32),
        ("stall", c_double),
        ("target", c_double),
        ("decisions", c_uint64),
    ]


class live_stats(SizedStructure):
    _fields_ = [
        ("struct_size", c_uint32),
        ("pid", c_int32),
        ("updated_ns", c_int64),
        ("started_ns", c_int64),
        ("batch_size", c_uint32),
        ("workers", c_uint32),
        ("depth", c_uint32),
        ("io_depth", c_uint32),
        ("ready", c_uint32),
        ("outstanding", c_uint32),
        ("reads", c_uint32),
        ("has_device", c_uint32),
        ("stats", stats),
        ("waits", wait_stats),
        ("threads", worker_stats),
        ("copied_bytes", c_uint64),
        ("copy_ns", c_uint64),
        ("overlap_ns", c_uint64),
        ("span_ns", c_uint64),
        ("idle_ns", c_uint64),
        ("pinned_bytes", c_uint64),
        ("cpu_quota", c_double),
        ("cpus_usable", c_uint32),
        ("has_gpu", c_uint32),
        ("process_cpu_ns", c_uint64),
        ("throttled_ns", c_uint64),
        ("host_busy_ns", c_uint64),
        ("host_total_ns", c_uint64),
        ("memory_bytes", c_uint64),
        ("memory_limit_bytes", c_uint64),
        ("gpu_utilization", c_double),
        ("gpu_memory_utilization", c_double),
        ("gpu_power_watts", c_double),
        ("gpu_power_limit_watts", c_double),
        ("gpu_temperature", c_double),
        ("gpu_sm_clock_mhz", c_double),
        ("gpu_pcie_rx_gbps", c_double),
        ("gpu_memory_used_bytes", c_double),
        ("gpu_memory_total_bytes", c_double),
        ("gpu_throttle", c_char * 64),
        ("verdict", live_verdict),
        ("n_decisions", c_uint32),
        ("stuck_workers", c_uint32),
        ("decisions", (c_char * 128) * LIVE_DECISIONS),
        ("tuner", live_tuner),
        ("watched", c_char * 64),
    ]


class stat_info(SizedStructure):
    _fields_ = [
        ("struct_size", c_uint32),
        ("type", c_uint32),
        ("flags", c_uint32),
        ("merge", c_uint32),
        ("offset", c_uint32),
        ("over", c_uint32),
        ("scale", c_double),
        ("name", c_char_p),
        ("title", c_char_p),
        ("unit", c_char_p),
        ("metric", c_char_p),
        ("help", c_char_p),
    ]


class tuner_info(SizedStructure):
    _fields_ = [
        ("struct_size", c_uint32),
        ("workers", c_uint32),
        ("depth", c_uint32),
        ("io_depth", c_uint32),
        ("finish", c_uint32),
        ("converged", c_uint32),
        ("planned_workers", c_uint32),
        ("planned_depth", c_uint32),
        ("planned_io_depth", c_uint32),
        ("on_device", c_uint32),
        ("mode", c_char_p),
        ("state", c_char_p),
        ("limited_by", c_char_p),
        ("profile", c_char_p),
        ("converged_batch", c_uint64),
        ("converged_ns", c_uint64),
        ("decisions", c_uint64),
        ("trials", c_uint64),
        ("kept", c_uint64),
        ("rolled_back", c_uint64),
        ("credit_ns", c_uint64),
        ("spent_ns", c_uint64),
        ("target", c_double),
        ("stall", c_double),
        ("batches_per_second", c_double),
        ("step_ns", c_double),
        ("sample_ns", c_double),
        ("cpu_share", c_double),
        ("cores", c_double),
        ("memory_bytes", c_uint64),
        ("memory_budget", c_uint64),
    ]


class decision(SizedStructure):
    _fields_ = [
        ("struct_size", c_uint32),
        ("reserved", c_uint32),
        ("id", c_uint64),
        ("time_ns", c_uint64),
        ("batch", c_uint64),
        ("before", c_int64),
        ("after", c_int64),
        ("predicted", c_double),
        ("measured", c_double),
        ("error", c_double),
        ("stall_before", c_double),
        ("stall_after", c_double),
        ("knob", c_char_p),
        ("reason", c_char_p),
        ("outcome", c_char_p),
        ("why", c_char * 160),
    ]


class stuck_worker(SizedStructure):
    _fields_ = [
        ("struct_size", c_uint32),
        ("worker", c_uint32),
        ("tid", c_int32),
        ("reserved", c_uint32),
        ("stuck_ns", c_uint64),
        ("epoch", c_uint64),
        ("sample_index", c_int64),
        ("path", c_char * 256),
        ("where", c_char * 32),
    ]


class watch_def(SizedStructure):
    _fields_ = [
        ("struct_size", c_uint32),
        ("workers", c_uint32),
        ("batch_size", c_uint32),
        ("reserved", c_uint32),
        ("name", c_char_p),
        ("option", c_char_p),
        ("device", c_char_p),
    ]


STRUCTS: Dict[str, Type[Structure]] = {
    "option_info": option_info,
    "sample_info": sample_info,
    "image": image,
    "op_call": op_call,
    "op_def": op_def,
    "epoch_info": epoch_info,
    "draw": draw,
    "tensor": tensor,
    "batch_info": batch_info,
    "failure": failure,
    "stats": stats,
    "wait_stats": wait_stats,
    "stage_stats": stage_stats,
    "worker_stats": worker_stats,
    "phase_stats": phase_stats,
    "gap_stats": gap_stats,
    "slow_sample": slow_sample,
    "headroom": headroom,
    "verdict": verdict,
    "device_stats": device_stats,
    "device_info": device_info,
    "machine_info": machine_info,
    "copy_test": copy_test,
    "copy_time": copy_time,
    "copy_fit": copy_fit,
    "live_info": live_info,
    "live_stats": live_stats,
    "stat_info": stat_info,
    "tuner_info": tuner_info,
    "decision": decision,
    "stuck_worker": stuck_worker,
    "watch_def": watch_def,
}

FUNCTIONS: Dict[str, Tuple[Any, Tuple[Any, ...]]] = {
    "version": (c_char_p, ()),
    "version_number": (c_uint32, ()),
    "features": (c_uint32, ()),
    "status_name": (c_char_p, (c_int32,)),
    "status_text": (c_char_p, (c_int32,)),
    "last_error": (c_char_p, ()),
    "option_count": (c_int32, (c_char_p,)),
    "option_get_info": (c_int32, (c_char_p, c_uint32, POINTER(option_info))),
    "config_create": (c_int32, (POINTER(c_void_p),)),
    "config_destroy": (None, (c_void_p,)),
    "config_set": (c_int32, (c_void_p, c_char_p, c_char_p)),
    "config_set_int": (c_int32, (c_void_p, c_char_p, c_int64)),
    "config_get_int": (c_int32, (c_void_p, c_char_p, POINTER(c_int64))),
    "config_load": (c_int32, (c_void_p, c_char_p, c_char_p)),
    "config_json": (c_int32, (c_void_p, c_char_p, c_uint64, POINTER(c_uint64))),
    "dataset_open": (c_int32, (c_char_p, POINTER(c_void_p))),
    "image_ending": (c_char_p, (c_uint32, POINTER(c_uint32))),
    "dataset_open_paths": (
        c_int32,
        (POINTER(c_char_p), POINTER(c_int64), c_uint64, POINTER(c_void_p)),
    ),
    "dataset_open_memory": (
        c_int32,
        (
            POINTER(c_void_p),
            POINTER(c_uint64),
            POINTER(c_int64),
            c_uint64,
            POINTER(c_void_p),
        ),
    ),
    "dataset_open_pixels": (
        c_int32,
        (
            c_void_p,
            POINTER(c_int64),
            c_uint64,
            c_int32,
            c_int32,
            c_int32,
            POINTER(c_void_p),
        ),
    ),
    "dataset_get_count": (c_int32, (c_void_p, POINTER(c_uint64))),
    "dataset_get_sample": (c_int32, (c_void_p, c_uint64, POINTER(sample_info))),
    "dataset_class_count": (c_int32, (c_void_p,)),
    "dataset_class_name": (c_char_p, (c_void_p, c_uint32)),
    "dataset_close": (None, (c_void_p,)),
    "pipeline_create": (c_int32, (c_char_p, POINTER(c_void_p))),
    "pipeline_destroy": (None, (c_void_p,)),
    "pipeline_add": (c_int32, (c_void_p, c_char_p, c_char_p)),
    "pipeline_json": (
        c_int32,
        (c_void_p, c_char_p, c_uint64, POINTER(c_uint64)),
    ),
    "op_name": (c_char_p, (c_uint32,)),
    "rng_u32": (c_uint32, (c_void_p,)),
    "rng_uniform": (c_double, (c_void_p,)),
    "rng_below": (c_uint32, (c_void_p, c_uint32)),
    "op_waited": (None, (c_void_p, c_int64)),
    "pipeline_register": (c_int32, (c_void_p, POINTER(op_def))),
    "pipeline_load": (c_int32, (c_void_p, c_char_p)),
    "loader_create": (
        c_int32,
        (c_void_p, c_void_p, c_void_p, POINTER(c_void_p)),
    ),
    "loader_start": (c_int32, (c_void_p, c_uint64)),
    "loader_next": (c_int32, (c_void_p, c_int64, POINTER(c_void_p))),
    "loader_interrupt": (c_int32, (c_void_p,)),
    "loader_stop": (c_int32, (c_void_p,)),
    "loader_destroy": (None, (c_void_p,)),
    "loader_set_int": (c_int32, (c_void_p, c_char_p, c_int64)),
    "loader_get_int": (c_int32, (c_void_p, c_char_p, POINTER(c_int64))),
    "loader_config_json": (
        c_int32,
        (c_void_p, c_char_p, c_uint64, POINTER(c_uint64)),
    ),
    "loader_get_epoch_info": (c_int32, (c_void_p, POINTER(epoch_info))),
    "loader_get_position": (
        c_int32,
        (c_void_p, POINTER(c_uint64), POINTER(c_uint64)),
    ),
    "loader_set_position": (c_int32, (c_void_p, c_uint64, c_uint64)),
    "loader_save": (c_int32, (c_void_p, c_char_p, c_uint64, POINTER(c_uint64))),
    "loader_restore": (c_int32, (c_void_p, c_char_p)),
    "loader_get_draw": (
        c_int32,
        (
            c_void_p,
            c_uint64,
            c_uint64,
            c_uint32,
            c_uint32,
            c_int32,
            c_int32,
            POINTER(draw),
        ),
    ),
    "loader_draw_json": (
        c_int32,
        (
            c_void_p,
            c_uint64,
            c_uint64,
            c_uint32,
            c_uint32,
            c_int32,
            c_int32,
            c_char_p,
            c_uint64,
            POINTER(c_uint64),
        ),
    ),
    "batch_get_info": (c_int32, (c_void_p, POINTER(batch_info))),
    "batch_wait": (c_int32, (c_void_p, c_void_p)),
    "batch_release": (None, (c_void_p,)),
    "batch_release_on": (None, (c_void_p, c_void_p)),
    "loader_failure_count": (c_int32, (c_void_p,)),
    "loader_get_failure": (c_int32, (c_void_p, c_uint32, POINTER(failure))),
    "loader_get_stats": (c_int32, (c_void_p, POINTER(stats))),
    "loader_reset_stats": (c_int32, (c_void_p,)),
    "loader_get_wait_stats": (c_int32, (c_void_p, POINTER(wait_stats))),
    "stage_name": (c_char_p, (c_uint32,)),
    "loader_stage_count": (c_int32, (c_void_p,)),
    "loader_stage_name": (c_char_p, (c_void_p, c_uint32)),
    "loader_get_stage_stats": (
        c_int32,
        (c_void_p, c_uint32, POINTER(stage_stats)),
    ),
    "loader_get_worker_stats": (c_int32, (c_void_p, POINTER(worker_stats))),
    "loader_phase_begin": (c_int32, (c_void_p, c_char_p)),
    "loader_phase_end": (c_int32, (c_void_p,)),
    "loader_phase_count": (c_int32, (c_void_p,)),
    "loader_get_phase": (c_int32, (c_void_p, c_uint32, POINTER(phase_stats))),
    "loader_get_gaps": (c_int32, (c_void_p, POINTER(gap_stats))),
    "loader_slow_count": (c_int32, (c_void_p,)),
    "loader_get_slow": (c_int32, (c_void_p, c_uint32, POINTER(slow_sample))),
    "loader_get_headroom": (c_int32, (c_void_p, POINTER(headroom))),
    "loader_get_verdict": (c_int32, (c_void_p, POINTER(verdict))),
    "loader_stats_json": (
        c_int32,
        (c_void_p, c_char_p, c_uint64, POINTER(c_uint64)),
    ),
    "loader_stats_table": (
        c_int32,
        (c_void_p, c_char_p, c_uint32, c_char_p, c_uint64, POINTER(c_uint64)),
    ),
    "loader_trace_save": (c_int32, (c_void_p, c_char_p)),
    "loader_record": (c_int32, (c_void_p, c_char_p, c_int64)),
    "loader_record_step": (c_int32, (c_void_p, c_uint64)),
    "loader_record_end": (c_int32, (c_void_p, c_int32)),
    "trace_action": (
        c_int32,
        (c_uint64, c_uint64, c_uint64, c_uint64, c_uint64, c_uint64),
    ),
    "loader_get_device_stats": (c_int32, (c_void_p, POINTER(device_stats))),
    "device_count": (c_int32, ()),
    "device_get_info": (c_int32, (c_char_p, POINTER(device_info))),
    "machine_get_info": (c_int32, (POINTER(machine_info),)),
    "machine_json": (c_int32, (c_char_p, c_uint64, POINTER(c_uint64))),
    "doctor_json": (c_int32, (c_char_p, c_char_p, c_uint64, POINTER(c_uint64))),
    "log_set_level": (c_int32, (c_int32,)),
    "log_read": (c_int32, (c_char_p, c_uint64, POINTER(c_uint64))),
    "device_time_copy": (
        c_int32,
        (c_char_p, POINTER(copy_test), POINTER(copy_time)),
    ),
    "copy_fit": (
        c_int32,
        (POINTER(c_uint64), POINTER(c_double), c_uint32, POINTER(copy_fit)),
    ),
    "busy_create": (c_int32, (c_char_p, POINTER(c_void_p))),
    "busy_stream": (c_void_p, (c_void_p,)),
    "busy_work": (c_int32, (c_void_p, c_int64)),
    "busy_wait": (c_int32, (c_void_p,)),
    "busy_destroy": (None, (c_void_p,)),
    "batch_export": (
        c_int32,
        (c_void_p, c_uint32, c_uint32, POINTER(c_void_p)),
    ),
    "capsule_init": (
        c_int32,
        (
            CFUNCTYPE(c_int, c_void_p, c_char_p),
            CFUNCTYPE(c_void_p, c_void_p, c_char_p),
        ),
    ),
    "capsule_destructor": (None, (c_void_p,)),
    "batch_copy": (c_int32, (c_void_p, c_void_p, c_void_p, c_void_p)),
    "live_list": (c_int32, (c_uint32, POINTER(live_info))),
    "live_attach": (c_int32, (c_int32, c_uint32, POINTER(c_void_p))),
    "live_read": (c_int32, (c_void_p, POINTER(live_stats))),
    "live_detach": (None, (c_void_p,)),
    "loader_begin": (c_int32, (c_void_p, c_uint64, c_uint64, c_uint64)),
    "loader_append": (
        c_int32,
        (c_void_p, POINTER(c_uint64), POINTER(c_uint32), c_uint32),
    ),
    "loader_end": (c_int32, (c_void_p,)),
    "stat_get_info": (c_int32, (c_char_p, c_uint32, POINTER(stat_info))),
    "stat_value": (c_double, (POINTER(stat_info), c_void_p)),
    "loader_get_tuner": (c_int32, (c_void_p, POINTER(tuner_info))),
    "loader_get_decision": (c_int32, (c_void_p, c_uint32, POINTER(decision))),
    "loader_tuner_json": (
        c_int32,
        (c_void_p, c_char_p, c_uint64, POINTER(c_uint64)),
    ),
    "loader_explain": (
        c_int32,
        (c_void_p, c_char_p, c_uint64, POINTER(c_uint64)),
    ),
    "loader_tuner_text": (
        c_int32,
        (c_void_p, c_char_p, c_uint64, POINTER(c_uint64)),
    ),
    "loader_save_profile": (c_int32, (c_void_p, c_char_p)),
    "loader_get_stuck": (c_int32, (c_void_p, c_uint32, POINTER(stuck_worker))),
    "watch_create": (
        c_int32,
        (c_void_p, POINTER(watch_def), POINTER(c_void_p)),
    ),
    "watch_begin": (c_int32, (c_void_p,)),
    "watch_end": (c_int32, (c_void_p, c_int32, c_uint64, c_uint64)),
    "watch_end_at": (
        c_int32,
        (c_void_p, c_int32, c_uint64, c_uint64, c_int64, c_int64),
    ),
}
