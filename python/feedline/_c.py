# SPDX-License-Identifier: Apache-2.0
# Made by python/make_c.py from include/feedline/*.h.
"""The declarations of the C headers, for ctypes.

Names are those of the headers without the prefix; what is not used is left out.
FUNCTIONS has the result and the arguments of each function. Handles, untyped
pointers, pointers to bytes and to structs that are left out are c_void_p, which
takes an address as an int.
"""

from __future__ import annotations

import ctypes
from ctypes import CFUNCTYPE, POINTER, Structure, c_char, c_char_p, c_double
from ctypes import c_int, c_int32, c_int64, c_uint32, c_uint64, c_void_p
from typing import Any, Dict, Tuple

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
VERSION_MINOR = 2
FEATURE_URING = 0x1
FEATURE_CUDA = 0x2
FEATURE_WEBP = 0x4
FEATURE_PACKED = 0x8
OPT_LIVE = 0x1
OPT_AUTO = 0x2
T_INT = 1
T_SIZE = 2
T_TIME = 3
T_DOUBLE = 4
T_BOOL = 5
T_ENUM = 6
T_STRING = 7
T_DOUBLES = 8
CPU_PINNED = 2
CUDA = 3
U8 = 1
F16 = 2
F32 = 3
I64 = 4
BF16 = 5
IMAGES = 0
LABELS = 1
TARGETS = 2
FIELD_BYTES = 1
FIELD_TEXT = 2
FIELD_JSON = 3
FIELD_INT = 4
FIELD_FLOAT = 5
ENDING_LISTED = 0x1
ENDING_DECODED = 0x2
RECORDED_STEPS_MAX = 64
STEP_VALUES = 16
KEPT_BYTES_MAX = 268435456
STEP_CONVERT = 1
STEP_CROP = 2
STEP_RESIZE = 3
STEP_TRANSPOSE = 4
STEP_PAD = 5
STEP_AFFINE = 6
STEP_PERSPECTIVE = 7
STEP_BRIGHTNESS = 8
STEP_CONTRAST = 9
STEP_COLOR = 10
STEP_SHARPNESS = 11
STEP_HUE = 12
STEP_GRAYSCALE = 13
STEP_POSTERIZE = 14
STEP_SOLARIZE = 15
STEP_INVERT = 16
STEP_AUTOCONTRAST = 17
STEP_EQUALIZE = 18
STEP_GAUSSIAN_BLUR = 19
STEP_POINT = 21
STEP_TENSOR_RESIZE = 22
STEP_TENSOR_BRIGHTNESS = 23
STEP_TENSOR_CONTRAST = 24
STEP_TENSOR_SATURATION = 25
STEP_TENSOR_HUE = 26
STEP_TENSOR_SHARPNESS = 27
STEP_TENSOR_GRAYSCALE = 28
STEP_TENSOR_AUTOCONTRAST = 29
STEP_CHANNELS = 30
STEP_EXPECT = 31
STEP_CV_RESIZE = 70
STEP_CV_COLOUR = 71
STEP_CV_GAUSSIAN_BLUR = 72
STEP_CV_BOX_BLUR = 73
STEP_CV_MEDIAN_BLUR = 74
STEP_CV_WARP_AFFINE = 75
STEP_CV_EQUALIZE = 76
STEP_CV_CLAHE = 77
STEP_CV_FILTER2D = 78
STEP_CV_WARP_PERSPECTIVE = 79
STEP_CV_REMAP = 80
STEP_CV_SEP_FILTER2D = 81
STEP_CV_ADD = 82
STEP_CV_ADD_GRAY = 83
STEP_CV_CONTRAST = 84
STEP_CV_RECOMPRESS = 85
STEP_SCALE = 40
STEP_NORMALIZE = 41
STEP_LOOKUP = 42
STEP_ERASE = 60
STEP_FLOAT_COLOUR = 61
STEP_FLOAT_VALUES = 62
STEP_FLOAT_CHANNELS = 63
CANVAS_PASTE = 0
CANVAS_SUM_F64 = 1
CANVAS_SUM_F32 = 2
SOURCE_ONE_AT_A_TIME = 0x1
SOURCE_RECORDED = 0x2
SOURCE_IN_ORDER = 0x4
MERGE_SUM = 1
MIX_NONE = 0
MIXUP = 1
CUTMIX = 2
TRACE_NONE = 0
TRACE_WARMUP = 1
TRACE_RECORD = 2
TRACE_RECORD_AND_SAVE = 3
VIEW = 16


class SizedStructure(Structure):
    """A struct that begins with its own size, which is filled in."""

    def __init__(self, *values: Any, **members: Any) -> None:
        super().__init__(ctypes.sizeof(self), *values, **members)


run_function = CFUNCTYPE(c_int32, c_void_p)
read_function = CFUNCTYPE(c_int32, c_void_p)
cancel_function = CFUNCTYPE(None, c_void_p)
close_function = CFUNCTYPE(None, c_void_p)


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
        ("file", c_char_p),
        ("offset", c_uint64),
        ("bytes", c_uint64),
        ("name", c_char_p),
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
        ("place", c_uint64),
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
        ("mixing", c_double),
        ("jpeg_mcus", c_uint64),
        ("jpeg_mcus_jumped", c_uint64),
        ("jpeg_index_bytes", c_uint64),
        ("requests", c_uint64),
        ("requests_failed", c_uint64),
        ("requests_retried", c_uint64),
        ("requests_hedged", c_uint64),
        ("hedges_won", c_uint64),
        ("network_bytes", c_uint64),
        ("cached_bytes", c_uint64),
        ("cache_errors", c_uint64),
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


class brought(SizedStructure):
    _fields_ = [
        ("struct_size", c_uint32),
        ("status", c_int32),
        ("reason", c_char_p),
        ("images", c_void_p),
        ("image_bytes", c_uint64),
        ("labels", POINTER(c_int64)),
        ("sample_index", POINTER(c_int64)),
        ("sample_status", POINTER(c_int32)),
    ]


class planned(SizedStructure):
    _fields_ = [
        ("struct_size", c_uint32),
        ("count", c_uint32),
        ("epoch", c_uint64),
        ("sequence", c_uint64),
        ("position", c_uint64),
        ("place", c_uint64),
        ("last", c_int32),
        ("reserved", c_int32),
    ]


class sample_field(SizedStructure):
    _fields_ = [
        ("struct_size", c_uint32),
        ("kind", c_int32),
        ("name", c_char_p),
        ("file", c_char_p),
        ("offset", c_uint64),
        ("bytes", c_uint64),
        ("integer", c_int64),
        ("number", c_double),
        ("integers", POINTER(c_int64)),
        ("numbers", POINTER(c_double)),
        ("width", c_uint32),
        ("reserved", c_uint32),
    ]


class field_table(SizedStructure):
    _fields_ = [
        ("struct_size", c_uint32),
        ("kind", c_int32),
        ("name", c_char_p),
        ("parts", c_void_p),
        ("integers", POINTER(c_int64)),
        ("numbers", POINTER(c_double)),
    ]


class batch_field(SizedStructure):
    _fields_ = [
        ("struct_size", c_uint32),
        ("kind", c_int32),
        ("name", c_char_p),
        ("data", c_void_p),
        ("offset", POINTER(c_uint64)),
        ("bytes", POINTER(c_uint64)),
        ("integers", POINTER(c_int64)),
        ("numbers", POINTER(c_double)),
        ("width", c_uint32),
        ("reserved", c_uint32),
    ]


class extents(SizedStructure):
    _fields_ = [
        ("struct_size", c_uint32),
        ("n_files", c_uint32),
        ("files", POINTER(c_char_p)),
        ("extents", c_void_p),
        ("labels", POINTER(c_int64)),
        ("names", POINTER(c_char_p)),
        ("count", c_uint64),
        ("classes", POINTER(c_char_p)),
        ("n_classes", c_uint64),
        ("fields", POINTER(POINTER(field_table))),
        ("n_fields", c_uint64),
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


class batch_masks(SizedStructure):
    _fields_ = [
        ("struct_size", c_uint32),
        ("height", c_int32),
        ("width", c_int32),
        ("reserved", c_uint32),
        ("data", c_void_p),
        ("offset", POINTER(c_uint64)),
        ("bytes", POINTER(c_uint64)),
    ]


class objects(SizedStructure):
    _fields_ = [
        ("struct_size", c_uint32),
        ("keypoints", c_uint32),
        ("n", c_uint64),
        ("first", POINTER(c_uint64)),
        ("boxes", POINTER(ctypes.c_float)),
        ("labels", POINTER(c_int64)),
        ("points", POINTER(ctypes.c_float)),
    ]


class batch_objects(SizedStructure):
    _fields_ = [
        ("struct_size", c_uint32),
        ("keypoints", c_uint32),
        ("n", c_uint64),
        ("first", POINTER(c_uint64)),
        ("boxes", POINTER(ctypes.c_float)),
        ("labels", POINTER(c_int64)),
        ("points", POINTER(ctypes.c_float)),
        ("source", POINTER(c_int64)),
    ]


class recorded_step(Structure):
    _fields_ = [
        ("op", c_uint32),
        ("n", c_uint32),
        ("data", c_void_p),
        ("value", c_double * STEP_VALUES),
    ]


class recorded_image(SizedStructure):
    _fields_ = [
        ("struct_size", c_uint32),
        ("n_steps", c_uint32),
        ("steps", POINTER(recorded_step)),
        ("path", c_char_p),
        ("data", c_void_p),
        ("offset", c_uint64),
        ("length", c_int64),
        ("out", c_void_p),
        ("out_bytes", c_uint64),
        ("dtype", c_int32),
        ("nhwc", c_int32),
        ("channels", c_int32),
        ("height", c_int32),
        ("width", c_int32),
        ("element_bytes", c_uint32),
        ("seen_inode", c_uint64),
        ("seen_bytes", c_uint64),
        ("seen_ctime_ns", c_int64),
        ("pipeline", c_void_p),
        ("draw_seed", c_uint64),
        ("draw_epoch", c_uint64),
        ("draw_sample", c_uint64),
        ("draw_copy", c_uint32),
        ("draw_view", c_uint32),
        ("canvas", c_void_p),
        ("kept", c_uint64),
        ("data_stays", c_uint32),
        ("reserved", c_uint32),
    ]


class mixing(SizedStructure):
    _fields_ = [
        ("struct_size", c_uint32),
        ("lanes", c_uint32),
        ("block", c_uint64),
        ("batch", c_uint64),
        ("bytes", c_uint64),
        ("variance", c_double),
        ("variance_most", c_double),
        ("blocks", c_double),
        ("blocks_full", c_double),
        ("same_block", c_double),
        ("same_block_full", c_double),
        ("buffer", c_uint64),
        ("buffer_variance", c_double),
    ]


class read_call(Structure):
    _fields_ = [
        ("struct_size", c_uint32),
        ("reserved", c_uint32),
        ("context", c_void_p),
        ("index", c_uint64),
        ("sample_index", c_int64),
        ("epoch", c_uint64),
        ("buffer", c_void_p),
        ("room", c_uint64),
        ("length", c_uint64),
        ("begin_ns", c_int64),
        ("ticket", c_uint64),
        ("place", c_uint32),
        ("copy", c_uint32),
    ]


class source(SizedStructure):
    _fields_ = [
        ("struct_size", c_uint32),
        ("flags", c_uint32),
        ("name", c_char_p),
        ("count", c_uint64),
        ("read", read_function),
        ("cancel", cancel_function),
        ("close", close_function),
        ("context", c_void_p),
        ("labels", POINTER(c_int64)),
        ("sizes", POINTER(c_uint64)),
        ("names", POINTER(c_char_p)),
        ("classes", POINTER(c_char_p)),
        ("n_classes", c_uint64),
        ("fingerprint", c_char_p),
        ("quarantine", c_char_p),
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


class image_mix(Structure):
    _fields_ = [
        ("share", c_double),
        ("kind", c_int32),
        ("partner", c_int32),
        ("box", c_int32 * 4),
    ]


class batch_targets(SizedStructure):
    _fields_ = [
        ("struct_size", c_uint32),
        ("classes", c_uint32),
        ("soft", tensor),
        ("mixes", POINTER(image_mix)),
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
    "config_json": (c_int32, (c_void_p, c_char_p, c_uint64, POINTER(c_uint64))),
    "dataset_open": (c_int32, (c_char_p, POINTER(c_void_p))),
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
    "loader_create": (
        c_int32,
        (c_void_p, c_void_p, c_void_p, POINTER(c_void_p)),
    ),
    "loader_start": (c_int32, (c_void_p, c_uint64)),
    "loader_next": (c_int32, (c_void_p, c_int64, POINTER(c_void_p))),
    "loader_set_stream": (c_int32, (c_void_p, c_void_p)),
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
    "batch_get_info": (c_int32, (c_void_p, POINTER(batch_info))),
    "batch_wait": (c_int32, (c_void_p, c_void_p)),
    "batch_release": (None, (c_void_p,)),
    "batch_release_on": (None, (c_void_p, c_void_p)),
    "loader_failure_count": (c_int32, (c_void_p,)),
    "loader_get_failure": (c_int32, (c_void_p, c_uint32, POINTER(failure))),
    "loader_get_stats": (c_int32, (c_void_p, POINTER(stats))),
    "loader_reset_stats": (c_int32, (c_void_p,)),
    "loader_phase_begin": (c_int32, (c_void_p, c_char_p)),
    "loader_phase_end": (c_int32, (c_void_p,)),
    "loader_handed_over": (c_int32, (c_void_p, c_char_p)),
    "loader_stats_json": (
        c_int32,
        (c_void_p, c_char_p, c_uint64, POINTER(c_uint64)),
    ),
    "loader_stats_table": (
        c_int32,
        (c_void_p, c_char_p, c_uint32, c_char_p, c_uint64, POINTER(c_uint64)),
    ),
    "loader_metrics": (
        c_int32,
        (c_void_p, c_char_p, c_uint64, POINTER(c_uint64)),
    ),
    "device_count": (c_int32, ()),
    "device_look": (c_int32, (c_char_p, POINTER(device_info))),
    "device_get_info": (c_int32, (c_char_p, POINTER(device_info))),
    "machine_json": (c_int32, (c_char_p, c_uint64, POINTER(c_uint64))),
    "doctor_json": (c_int32, (c_char_p, c_char_p, c_uint64, POINTER(c_uint64))),
    "log_set_level": (c_int32, (c_int32,)),
    "log_read": (c_int32, (c_char_p, c_uint64, POINTER(c_uint64))),
    "busy_create": (c_int32, (c_char_p, POINTER(c_void_p))),
    "busy_stream": (c_void_p, (c_void_p,)),
    "busy_work": (c_int32, (c_void_p, c_int64)),
    "busy_wait": (c_int32, (c_void_p,)),
    "busy_destroy": (None, (c_void_p,)),
    "rng_u32": (c_uint32, (c_void_p,)),
    "rng_uniform": (c_double, (c_void_p,)),
    "rng_below": (c_uint32, (c_void_p, c_uint32)),
    "op_waited": (None, (c_void_p, c_int64)),
    "pipeline_register": (c_int32, (c_void_p, POINTER(op_def))),
    "pipeline_load": (c_int32, (c_void_p, c_char_p)),
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
    "loader_expect": (c_int32, (c_void_p, c_uint32, POINTER(c_uint64))),
    "loader_bring": (c_int32, (c_void_p, c_uint64, POINTER(brought))),
    "loader_plan": (
        c_int32,
        (
            c_void_p,
            c_uint64,
            c_uint64,
            c_uint64,
            POINTER(c_uint64),
            POINTER(c_uint32),
            POINTER(planned),
        ),
    ),
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
    "loader_peek": (c_int32, (c_void_p, c_uint32, POINTER(c_void_p))),
    "loader_deliver": (c_int32, (c_void_p, c_void_p)),
    "loader_lend": (c_int32, (c_void_p, c_void_p, c_uint64)),
    "dataset_get_field": (
        c_int32,
        (c_void_p, c_uint64, c_uint32, POINTER(sample_field)),
    ),
    "batch_get_field": (c_int32, (c_void_p, c_uint32, POINTER(batch_field))),
    "image_ending": (c_char_p, (c_uint32, POINTER(c_uint32))),
    "dataset_open_extents": (c_int32, (POINTER(extents), POINTER(c_void_p))),
    "dataset_read": (
        c_int32,
        (c_void_p, c_void_p, c_uint64, POINTER(c_void_p), POINTER(c_uint64)),
    ),
    "loader_fingerprint": (
        c_int32,
        (c_void_p, c_char_p, c_uint64, POINTER(c_uint64)),
    ),
    "loader_tell": (c_int32, (c_void_p, c_char_p, c_uint64, POINTER(c_uint64))),
    "loader_hear": (c_int32, (c_void_p, c_char_p)),
    "job_merge": (c_int32, (c_char_p, c_char_p, c_uint64, POINTER(c_uint64))),
    "live_list": (c_int32, (c_uint32, POINTER(live_info))),
    "live_attach": (c_int32, (c_int32, c_uint32, POINTER(c_void_p))),
    "live_metrics": (
        c_int32,
        (c_void_p, c_char_p, c_uint64, POINTER(c_uint64)),
    ),
    "live_detach": (None, (c_void_p,)),
    "dataset_add_files": (c_int32, (c_void_p, c_char_p, POINTER(c_char_p))),
    "batch_get_masks": (c_int32, (c_void_p, POINTER(batch_masks))),
    "dataset_set_objects": (c_int32, (c_void_p, POINTER(objects))),
    "batch_get_objects": (c_int32, (c_void_p, POINTER(batch_objects))),
    "loader_begin": (c_int32, (c_void_p, c_uint64, c_uint64, c_uint64)),
    "loader_append": (
        c_int32,
        (c_void_p, POINTER(c_uint64), POINTER(c_uint32), c_uint32),
    ),
    "loader_end": (c_int32, (c_void_p,)),
    "jpeg_pack": (
        c_int32,
        (c_void_p, c_uint64, POINTER(c_void_p), POINTER(c_uint64)),
    ),
    "read_recorded": (c_int32, (c_void_p, c_void_p, c_uint32)),
    "read_recorded_ahead": (
        c_int32,
        (c_void_p, c_void_p, POINTER(c_uint32), c_uint32),
    ),
    "dataset_get_mixing": (c_int32, (c_void_p, c_void_p, POINTER(mixing))),
    "block_order": (
        c_int32,
        (
            c_uint64,
            c_uint64,
            c_uint64,
            c_uint64,
            c_uint64,
            c_uint64,
            c_uint64,
            POINTER(c_uint64),
        ),
    ),
    "read_grow": (c_void_p, (c_void_p, c_uint64)),
    "read_fail": (c_int32, (c_void_p, c_int32, c_char_p)),
    "read_waited": (None, (c_void_p, c_int64)),
    "dataset_open_source": (c_int32, (POINTER(source), POINTER(c_void_p))),
    "stat_get_info": (c_int32, (c_char_p, c_uint32, POINTER(stat_info))),
    "batch_get_targets": (c_int32, (c_void_p, POINTER(batch_targets))),
    "loader_trace_save": (c_int32, (c_void_p, c_char_p)),
    "loader_record": (c_int32, (c_void_p, c_char_p, c_int64)),
    "loader_record_step": (c_int32, (c_void_p, c_uint64)),
    "loader_record_end": (c_int32, (c_void_p, c_int32)),
    "trace_action": (
        c_int32,
        (c_uint64, c_uint64, c_uint64, c_uint64, c_uint64, c_uint64),
    ),
    "loader_explain": (
        c_int32,
        (c_void_p, c_char_p, c_uint64, POINTER(c_uint64)),
    ),
    "loader_tuner_text": (
        c_int32,
        (c_void_p, c_char_p, c_uint64, POINTER(c_uint64)),
    ),
    "pipeline_add_views": (c_int32, (c_void_p, c_void_p, c_uint32)),
    "batch_get_view": (c_int32, (c_void_p, c_uint32, POINTER(tensor))),
    "watch_create": (
        c_int32,
        (c_void_p, POINTER(watch_def), POINTER(c_void_p)),
    ),
    "watch_begin": (c_int32, (c_void_p,)),
    "watch_end_at": (
        c_int32,
        (c_void_p, c_int32, c_uint64, c_uint64, c_int64, c_int64),
    ),
    "watch_spent": (c_int32, (c_void_p, c_char_p, c_int64, c_int64)),
    "watch_idle": (c_int32, (c_void_p, c_int64)),
}
