/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The public structs as programs were built against them: each member begins
 * where the one before it ends, so nothing is padded and no order changes; new
 * members go to the end, and then END moves. Numbers that programs have
 * compiled in stay what they are. This file only has to compile.
 */
#include <feedline/bench.h>
#include <feedline/exchange.h>
#include <feedline/fields.h>
#include <feedline/files.h>
#include <feedline/live.h>
#include <feedline/masks.h>
#include <feedline/objects.h>
#include <feedline/order.h>
#include <feedline/shuffle.h>
#include <feedline/source.h>
#include <feedline/statistics.h>
#include <feedline/targets.h>
#include <feedline/tuning.h>
#include <feedline/views.h>
#include <feedline/watch.h>

#include <stddef.h>

#define BYTES(type, member) sizeof(((struct type *)0)->member)

#define BEGIN(type, member)                                                    \
  _Static_assert(offsetof(struct type, member) == 0,                           \
                 #type "." #member " is first")

#define NEXT(type, before, member)                                             \
  _Static_assert(offsetof(struct type, member) ==                              \
                     offsetof(struct type, before) + BYTES(type, before),      \
                 #type "." #member " follows " #before)

/* The size is that of machines with pointers of 8 bytes. */
#define END(type, last, size)                                                  \
  _Static_assert(sizeof(struct type) ==                                        \
                     offsetof(struct type, last) + BYTES(type, last),          \
                 #type " ends with " #last);                                   \
  _Static_assert(sizeof(void *) != 8 || sizeof(struct type) == (size),         \
                 #type " has " #size " bytes")

#define IS(name, value) _Static_assert((name) == (value), #name)

BEGIN(feedline_option_info, struct_size);
NEXT(feedline_option_info, struct_size, flags);
NEXT(feedline_option_info, flags, type);
NEXT(feedline_option_info, type, reserved);
NEXT(feedline_option_info, reserved, min);
NEXT(feedline_option_info, min, max);
NEXT(feedline_option_info, max, double_min);
NEXT(feedline_option_info, double_min, double_max);
NEXT(feedline_option_info, double_max, name);
NEXT(feedline_option_info, name, default_text);
NEXT(feedline_option_info, default_text, unit);
NEXT(feedline_option_info, unit, choices);
NEXT(feedline_option_info, choices, help);
END(feedline_option_info, help, 88);

BEGIN(feedline_mixing, struct_size);
NEXT(feedline_mixing, struct_size, lanes);
NEXT(feedline_mixing, lanes, block);
NEXT(feedline_mixing, block, batch);
NEXT(feedline_mixing, batch, bytes);
NEXT(feedline_mixing, bytes, variance);
NEXT(feedline_mixing, variance, variance_most);
NEXT(feedline_mixing, variance_most, blocks);
NEXT(feedline_mixing, blocks, blocks_full);
NEXT(feedline_mixing, blocks_full, same_block);
NEXT(feedline_mixing, same_block, same_block_full);
NEXT(feedline_mixing, same_block_full, buffer);
NEXT(feedline_mixing, buffer, buffer_variance);
END(feedline_mixing, buffer_variance, 96);

BEGIN(feedline_checked, struct_size);
NEXT(feedline_checked, struct_size, status);
NEXT(feedline_checked, status, reason);
NEXT(feedline_checked, reason, format);
NEXT(feedline_checked, format, bytes);
NEXT(feedline_checked, bytes, hash);
NEXT(feedline_checked, hash, width);
NEXT(feedline_checked, width, height);
NEXT(feedline_checked, height, channels);
NEXT(feedline_checked, channels, orientation);
NEXT(feedline_checked, orientation, flags);
NEXT(feedline_checked, flags, reserved);
END(feedline_checked, reserved, 64);

BEGIN(feedline_reading, struct_size);
NEXT(feedline_reading, struct_size, io_depth);
NEXT(feedline_reading, io_depth, reads);
NEXT(feedline_reading, reads, bytes);
NEXT(feedline_reading, bytes, failed);
NEXT(feedline_reading, failed, direct);
NEXT(feedline_reading, direct, ns);
NEXT(feedline_reading, ns, cpu_ns);
NEXT(feedline_reading, cpu_ns, p50_ns);
NEXT(feedline_reading, p50_ns, p99_ns);
NEXT(feedline_reading, p99_ns, cached);
NEXT(feedline_reading, cached, reader);
END(feedline_reading, reader, 96);

BEGIN(feedline_sample_field, struct_size);
NEXT(feedline_sample_field, struct_size, kind);
NEXT(feedline_sample_field, kind, name);
NEXT(feedline_sample_field, name, file);
NEXT(feedline_sample_field, file, offset);
NEXT(feedline_sample_field, offset, bytes);
NEXT(feedline_sample_field, bytes, integer);
NEXT(feedline_sample_field, integer, number);
NEXT(feedline_sample_field, number, integers);
NEXT(feedline_sample_field, integers, numbers);
NEXT(feedline_sample_field, numbers, width);
NEXT(feedline_sample_field, width, reserved);
END(feedline_sample_field, reserved, 80);

BEGIN(feedline_field_table, struct_size);
NEXT(feedline_field_table, struct_size, kind);
NEXT(feedline_field_table, kind, name);
NEXT(feedline_field_table, name, parts);
NEXT(feedline_field_table, parts, integers);
NEXT(feedline_field_table, integers, numbers);
END(feedline_field_table, numbers, 40);

BEGIN(feedline_batch_field, struct_size);
NEXT(feedline_batch_field, struct_size, kind);
NEXT(feedline_batch_field, kind, name);
NEXT(feedline_batch_field, name, data);
NEXT(feedline_batch_field, data, offset);
NEXT(feedline_batch_field, offset, bytes);
NEXT(feedline_batch_field, bytes, integers);
NEXT(feedline_batch_field, integers, numbers);
NEXT(feedline_batch_field, numbers, width);
NEXT(feedline_batch_field, width, reserved);
END(feedline_batch_field, reserved, 64);
BEGIN(feedline_batch_masks, struct_size);
NEXT(feedline_batch_masks, struct_size, height);
NEXT(feedline_batch_masks, height, width);
NEXT(feedline_batch_masks, width, reserved);
NEXT(feedline_batch_masks, reserved, data);
NEXT(feedline_batch_masks, data, offset);
NEXT(feedline_batch_masks, offset, bytes);
END(feedline_batch_masks, bytes, 40);
IS(FEEDLINE_FIELD_BYTES, 1);
IS(FEEDLINE_FIELD_TEXT, 2);
IS(FEEDLINE_FIELD_JSON, 3);
IS(FEEDLINE_FIELD_INT, 4);
IS(FEEDLINE_FIELD_FLOAT, 5);

BEGIN(feedline_image_mix, share);
NEXT(feedline_image_mix, share, kind);
NEXT(feedline_image_mix, kind, partner);
NEXT(feedline_image_mix, partner, box);
END(feedline_image_mix, box, 32);
IS(FEEDLINE_MIX_NONE, 0);
IS(FEEDLINE_MIXUP, 1);
IS(FEEDLINE_CUTMIX, 2);

BEGIN(feedline_objects, struct_size);
NEXT(feedline_objects, struct_size, keypoints);
NEXT(feedline_objects, keypoints, n);
NEXT(feedline_objects, n, first);
NEXT(feedline_objects, first, boxes);
NEXT(feedline_objects, boxes, labels);
NEXT(feedline_objects, labels, points);
END(feedline_objects, points, 48);

BEGIN(feedline_batch_objects, struct_size);
NEXT(feedline_batch_objects, struct_size, keypoints);
NEXT(feedline_batch_objects, keypoints, n);
NEXT(feedline_batch_objects, n, first);
NEXT(feedline_batch_objects, first, boxes);
NEXT(feedline_batch_objects, boxes, labels);
NEXT(feedline_batch_objects, labels, points);
NEXT(feedline_batch_objects, points, source);
END(feedline_batch_objects, source, 56);

BEGIN(feedline_batch_targets, struct_size);
NEXT(feedline_batch_targets, struct_size, classes);
NEXT(feedline_batch_targets, classes, soft);
NEXT(feedline_batch_targets, soft, mixes);
END(feedline_batch_targets, mixes, 104);

BEGIN(feedline_sample_info, struct_size);
NEXT(feedline_sample_info, struct_size, reserved);
NEXT(feedline_sample_info, reserved, label);
NEXT(feedline_sample_info, label, path);
NEXT(feedline_sample_info, path, file);
NEXT(feedline_sample_info, file, offset);
NEXT(feedline_sample_info, offset, bytes);
NEXT(feedline_sample_info, bytes, name);
END(feedline_sample_info, name, 56);

BEGIN(feedline_extent, offset);
NEXT(feedline_extent, offset, file);
NEXT(feedline_extent, file, length);
END(feedline_extent, length, 16);

BEGIN(feedline_extents, struct_size);
NEXT(feedline_extents, struct_size, n_files);
NEXT(feedline_extents, n_files, files);
NEXT(feedline_extents, files, extents);
NEXT(feedline_extents, extents, labels);
NEXT(feedline_extents, labels, names);
NEXT(feedline_extents, names, count);
NEXT(feedline_extents, count, classes);
NEXT(feedline_extents, classes, n_classes);
NEXT(feedline_extents, n_classes, fields);
NEXT(feedline_extents, fields, n_fields);
END(feedline_extents, n_fields, 80);

BEGIN(feedline_read_call, struct_size);
NEXT(feedline_read_call, struct_size, reserved);
NEXT(feedline_read_call, reserved, context);
NEXT(feedline_read_call, context, index);
NEXT(feedline_read_call, index, sample_index);
NEXT(feedline_read_call, sample_index, epoch);
NEXT(feedline_read_call, epoch, buffer);
NEXT(feedline_read_call, buffer, room);
NEXT(feedline_read_call, room, length);
NEXT(feedline_read_call, length, begin_ns);
END(feedline_read_call, begin_ns, 72);

BEGIN(feedline_source, struct_size);
NEXT(feedline_source, struct_size, flags);
NEXT(feedline_source, flags, name);
NEXT(feedline_source, name, count);
NEXT(feedline_source, count, read);
NEXT(feedline_source, read, cancel);
NEXT(feedline_source, cancel, close);
NEXT(feedline_source, close, context);
NEXT(feedline_source, context, labels);
NEXT(feedline_source, labels, sizes);
NEXT(feedline_source, sizes, names);
NEXT(feedline_source, names, classes);
NEXT(feedline_source, classes, n_classes);
NEXT(feedline_source, n_classes, fingerprint);
NEXT(feedline_source, fingerprint, quarantine);
END(feedline_source, quarantine, 112);

BEGIN(feedline_epoch_info, struct_size);
NEXT(feedline_epoch_info, struct_size, views);
NEXT(feedline_epoch_info, views, samples);
NEXT(feedline_epoch_info, samples, batches);
NEXT(feedline_epoch_info, batches, shape);
NEXT(feedline_epoch_info, shape, batch_bytes);
END(feedline_epoch_info, batch_bytes, 64);

BEGIN(feedline_draw, struct_size);
NEXT(feedline_draw, struct_size, flip);
NEXT(feedline_draw, flip, x);
NEXT(feedline_draw, x, y);
NEXT(feedline_draw, y, width);
NEXT(feedline_draw, width, height);
NEXT(feedline_draw, height, resize_width);
NEXT(feedline_draw, resize_width, resize_height);
NEXT(feedline_draw, resize_height, window_x);
NEXT(feedline_draw, window_x, window_y);
NEXT(feedline_draw, window_y, window_width);
NEXT(feedline_draw, window_width, window_height);
NEXT(feedline_draw, window_height, vertical_flip);
NEXT(feedline_draw, vertical_flip, interpolation);
NEXT(feedline_draw, interpolation, resize_mirrored);
NEXT(feedline_draw, resize_mirrored, resize_mirrored_vertical);
END(feedline_draw, resize_mirrored_vertical, 64);

BEGIN(feedline_tensor, data);
NEXT(feedline_tensor, data, device);
NEXT(feedline_tensor, device, device_id);
NEXT(feedline_tensor, device_id, dtype);
NEXT(feedline_tensor, dtype, ndim);
NEXT(feedline_tensor, ndim, shape);
NEXT(feedline_tensor, shape, stride);
END(feedline_tensor, stride, 88);

BEGIN(feedline_batch_info, struct_size);
NEXT(feedline_batch_info, struct_size, count);
NEXT(feedline_batch_info, count, epoch);
NEXT(feedline_batch_info, epoch, sequence);
NEXT(feedline_batch_info, sequence, images);
NEXT(feedline_batch_info, images, labels);
NEXT(feedline_batch_info, labels, sample_index);
NEXT(feedline_batch_info, sample_index, sample_status);
NEXT(feedline_batch_info, sample_status, wait_ns);
NEXT(feedline_batch_info, wait_ns, position);
NEXT(feedline_batch_info, position, views);
NEXT(feedline_batch_info, views, reserved);
NEXT(feedline_batch_info, reserved, image_offset);
NEXT(feedline_batch_info, image_offset, image_size);
NEXT(feedline_batch_info, image_size, image_bytes);
END(feedline_batch_info, image_bytes, 264);

BEGIN(feedline_failure, struct_size);
NEXT(feedline_failure, struct_size, status);
NEXT(feedline_failure, status, epoch);
NEXT(feedline_failure, epoch, sample_index);
NEXT(feedline_failure, sample_index, path);
NEXT(feedline_failure, path, reason);
END(feedline_failure, reason, 40);

BEGIN(feedline_stats, struct_size);
NEXT(feedline_stats, struct_size, workers);
NEXT(feedline_stats, workers, wall_ns);
NEXT(feedline_stats, wall_ns, wait_ns);
NEXT(feedline_stats, wait_ns, user_ns);
NEXT(feedline_stats, user_ns, api_ns);
NEXT(feedline_stats, api_ns, batches);
NEXT(feedline_stats, batches, samples);
NEXT(feedline_stats, samples, failed_samples);
NEXT(feedline_stats, failed_samples, bytes_read);
NEXT(feedline_stats, bytes_read, profiler_ns);
NEXT(feedline_stats, profiler_ns, memory_bytes);
NEXT(feedline_stats, memory_bytes, first_batch_ns);
NEXT(feedline_stats, first_batch_ns, truncated_samples);
NEXT(feedline_stats, truncated_samples, mixing);
NEXT(feedline_stats, mixing, jpeg_mcus);
NEXT(feedline_stats, jpeg_mcus, jpeg_mcus_jumped);
NEXT(feedline_stats, jpeg_mcus_jumped, jpeg_index_bytes);
END(feedline_stats, jpeg_index_bytes, 136);

BEGIN(feedline_wait_stats, struct_size);
NEXT(feedline_wait_stats, struct_size, waits);
NEXT(feedline_wait_stats, waits, not_issued_ns);
NEXT(feedline_wait_stats, not_issued_ns, slot_ns);
NEXT(feedline_wait_stats, slot_ns, fetch_queue_ns);
NEXT(feedline_wait_stats, fetch_queue_ns, fetch_ns);
NEXT(feedline_wait_stats, fetch_ns, worker_wait_ns);
NEXT(feedline_wait_stats, worker_wait_ns, prep_ns);
NEXT(feedline_wait_stats, prep_ns, transfer_queue_ns);
NEXT(feedline_wait_stats, transfer_queue_ns, transfer_ns);
NEXT(feedline_wait_stats, transfer_ns, wake_ns);
NEXT(feedline_wait_stats, wake_ns, residual_ns);
NEXT(feedline_wait_stats, residual_ns, prep_cpu_ns);
NEXT(feedline_wait_stats, prep_cpu_ns, prep_runq_ns);
NEXT(feedline_wait_stats, prep_runq_ns, prep_throttle_ns);
NEXT(feedline_wait_stats, prep_throttle_ns, prep_sleep_ns);
NEXT(feedline_wait_stats, prep_sleep_ns, worker_wait_cpu_ns);
NEXT(feedline_wait_stats, worker_wait_cpu_ns, worker_wait_runq_ns);
NEXT(feedline_wait_stats, worker_wait_runq_ns, worker_wait_throttle_ns);
NEXT(feedline_wait_stats, worker_wait_throttle_ns, worker_wait_sleep_ns);
NEXT(feedline_wait_stats, worker_wait_sleep_ns, fetch_cold_ns);
END(feedline_wait_stats, fetch_cold_ns, 160);

BEGIN(feedline_worker_stats, struct_size);
NEXT(feedline_worker_stats, struct_size, threads);
NEXT(feedline_worker_stats, threads, wall_ns);
NEXT(feedline_worker_stats, wall_ns, cpu_ns);
NEXT(feedline_worker_stats, cpu_ns, runq_ns);
NEXT(feedline_worker_stats, runq_ns, throttle_ns);
NEXT(feedline_worker_stats, throttle_ns, sleep_ns);
NEXT(feedline_worker_stats, sleep_ns, read_ns);
NEXT(feedline_worker_stats, read_ns, blocked_ns);
NEXT(feedline_worker_stats, blocked_ns, starved_ns);
NEXT(feedline_worker_stats, starved_ns, parked_ns);
NEXT(feedline_worker_stats, parked_ns, residual_ns);
NEXT(feedline_worker_stats, residual_ns, voluntary_switches);
NEXT(feedline_worker_stats, voluntary_switches, involuntary_switches);
END(feedline_worker_stats, involuntary_switches, 104);

BEGIN(feedline_image, data);
NEXT(feedline_image, data, row_bytes);
NEXT(feedline_image, row_bytes, width);
NEXT(feedline_image, width, height);
NEXT(feedline_image, height, channels);
NEXT(feedline_image, channels, reserved);
END(feedline_image, reserved, 32);

BEGIN(feedline_op_call, struct_size);
NEXT(feedline_op_call, struct_size, place);
NEXT(feedline_op_call, place, epoch);
NEXT(feedline_op_call, epoch, sample_index);
NEXT(feedline_op_call, sample_index, copy);
NEXT(feedline_op_call, copy, view);
NEXT(feedline_op_call, view, image);
NEXT(feedline_op_call, image, rng);
NEXT(feedline_op_call, rng, scratch);
NEXT(feedline_op_call, scratch, user);
NEXT(feedline_op_call, user, begin_ns);
END(feedline_op_call, begin_ns, 96);

BEGIN(feedline_op_def, struct_size);
NEXT(feedline_op_def, struct_size, flags);
NEXT(feedline_op_def, flags, scratch_bytes);
NEXT(feedline_op_def, scratch_bytes, name);
NEXT(feedline_op_def, name, run);
NEXT(feedline_op_def, run, user);
NEXT(feedline_op_def, user, label);
END(feedline_op_def, label, 48);

BEGIN(feedline_stage_stats, struct_size);
NEXT(feedline_stage_stats, struct_size, threads);
NEXT(feedline_stage_stats, threads, items);
NEXT(feedline_stage_stats, items, bytes);
NEXT(feedline_stage_stats, bytes, errors);
NEXT(feedline_stage_stats, errors, busy_ns);
NEXT(feedline_stage_stats, busy_ns, starved_ns);
NEXT(feedline_stage_stats, starved_ns, blocked_ns);
NEXT(feedline_stage_stats, blocked_ns, p50_ns);
NEXT(feedline_stage_stats, p50_ns, p90_ns);
NEXT(feedline_stage_stats, p90_ns, p99_ns);
NEXT(feedline_stage_stats, p99_ns, max_ns);
NEXT(feedline_stage_stats, max_ns, cpu_ns);
NEXT(feedline_stage_stats, cpu_ns, lock_ns);
NEXT(feedline_stage_stats, lock_ns, storage_bytes);
NEXT(feedline_stage_stats, storage_bytes, unpack_ns);
NEXT(feedline_stage_stats, unpack_ns, transform_ns);
END(feedline_stage_stats, transform_ns, 128);

BEGIN(feedline_verdict, struct_size);
NEXT(feedline_verdict, struct_size, confidence_ppm);
NEXT(feedline_verdict, confidence_ppm, predicted_gain);
NEXT(feedline_verdict, predicted_gain, code);
NEXT(feedline_verdict, code, level);
NEXT(feedline_verdict, level, sentence);
NEXT(feedline_verdict, sentence, action);
NEXT(feedline_verdict, action, evidence);
NEXT(feedline_verdict, evidence, tuner);
NEXT(feedline_verdict, tuner, reserved);
END(feedline_verdict, reserved, 64);

BEGIN(feedline_device_stats, struct_size);
NEXT(feedline_device_stats, struct_size, finish);
NEXT(feedline_device_stats, finish, batches);
NEXT(feedline_device_stats, batches, finished);
NEXT(feedline_device_stats, finished, copies);
NEXT(feedline_device_stats, copies, copied_bytes);
NEXT(feedline_device_stats, copied_bytes, queue_ns);
NEXT(feedline_device_stats, queue_ns, copy_ns);
NEXT(feedline_device_stats, copy_ns, overlap_ns);
NEXT(feedline_device_stats, overlap_ns, finish_ns);
NEXT(feedline_device_stats, finish_ns, steps);
NEXT(feedline_device_stats, steps, span_ns);
NEXT(feedline_device_stats, span_ns, idle_ns);
NEXT(feedline_device_stats, idle_ns, pinned_bytes);
NEXT(feedline_device_stats, pinned_bytes, device_bytes);
NEXT(feedline_device_stats, device_bytes, latency_us);
NEXT(feedline_device_stats, latency_us, gigabytes_per_second);
NEXT(feedline_device_stats, gigabytes_per_second, regime);
NEXT(feedline_device_stats, regime, finish_reason);
NEXT(feedline_device_stats, finish_reason, device_memory_budget);
END(feedline_device_stats, device_memory_budget, 152);

BEGIN(feedline_copy_fit, struct_size);
NEXT(feedline_copy_fit, struct_size, reserved);
NEXT(feedline_copy_fit, reserved, latency_us);
NEXT(feedline_copy_fit, latency_us, gigabytes_per_second);
NEXT(feedline_copy_fit, gigabytes_per_second, half_bytes);
NEXT(feedline_copy_fit, half_bytes, worst_error);
END(feedline_copy_fit, worst_error, 40);

BEGIN(feedline_live_info, struct_size);
NEXT(feedline_live_info, struct_size, pid);
NEXT(feedline_live_info, pid, loader);
NEXT(feedline_live_info, loader, version);
NEXT(feedline_live_info, version, started_unix_ns);
NEXT(feedline_live_info, started_unix_ns, command);
END(feedline_live_info, command, 88);

BEGIN(feedline_live_stats, struct_size);
NEXT(feedline_live_stats, struct_size, pid);
NEXT(feedline_live_stats, pid, updated_ns);
NEXT(feedline_live_stats, updated_ns, started_ns);
NEXT(feedline_live_stats, started_ns, batch_size);
NEXT(feedline_live_stats, batch_size, workers);
NEXT(feedline_live_stats, workers, depth);
NEXT(feedline_live_stats, depth, io_depth);
NEXT(feedline_live_stats, io_depth, ready);
NEXT(feedline_live_stats, ready, outstanding);
NEXT(feedline_live_stats, outstanding, reads);
NEXT(feedline_live_stats, reads, has_device);
NEXT(feedline_live_stats, has_device, stats);
NEXT(feedline_live_stats, stats, waits);
NEXT(feedline_live_stats, waits, threads);
NEXT(feedline_live_stats, threads, copied_bytes);
NEXT(feedline_live_stats, copied_bytes, copy_ns);
NEXT(feedline_live_stats, copy_ns, overlap_ns);
NEXT(feedline_live_stats, overlap_ns, span_ns);
NEXT(feedline_live_stats, span_ns, idle_ns);
NEXT(feedline_live_stats, idle_ns, pinned_bytes);
NEXT(feedline_live_stats, pinned_bytes, cpu_quota);
NEXT(feedline_live_stats, cpu_quota, cpus_usable);
NEXT(feedline_live_stats, cpus_usable, has_gpu);
NEXT(feedline_live_stats, has_gpu, process_cpu_ns);
NEXT(feedline_live_stats, process_cpu_ns, throttled_ns);
NEXT(feedline_live_stats, throttled_ns, host_busy_ns);
NEXT(feedline_live_stats, host_busy_ns, host_total_ns);
NEXT(feedline_live_stats, host_total_ns, memory_bytes);
NEXT(feedline_live_stats, memory_bytes, memory_limit_bytes);
NEXT(feedline_live_stats, memory_limit_bytes, gpu_utilization);
NEXT(feedline_live_stats, gpu_utilization, gpu_memory_utilization);
NEXT(feedline_live_stats, gpu_memory_utilization, gpu_power_watts);
NEXT(feedline_live_stats, gpu_power_watts, gpu_power_limit_watts);
NEXT(feedline_live_stats, gpu_power_limit_watts, gpu_temperature);
NEXT(feedline_live_stats, gpu_temperature, gpu_sm_clock_mhz);
NEXT(feedline_live_stats, gpu_sm_clock_mhz, gpu_pcie_rx_gbps);
NEXT(feedline_live_stats, gpu_pcie_rx_gbps, gpu_memory_used_bytes);
NEXT(feedline_live_stats, gpu_memory_used_bytes, gpu_memory_total_bytes);
NEXT(feedline_live_stats, gpu_memory_total_bytes, gpu_throttle);
NEXT(feedline_live_stats, gpu_throttle, verdict);
NEXT(feedline_live_stats, verdict, n_decisions);
NEXT(feedline_live_stats, n_decisions, stuck_workers);
NEXT(feedline_live_stats, stuck_workers, decisions);
NEXT(feedline_live_stats, decisions, tuner);
NEXT(feedline_live_stats, tuner, watched);
NEXT(feedline_live_stats, watched, placement);
NEXT(feedline_live_stats, placement, storage_bytes);
END(feedline_live_stats, storage_bytes, 2728);

BEGIN(feedline_watch_def, struct_size);
NEXT(feedline_watch_def, struct_size, workers);
NEXT(feedline_watch_def, workers, batch_size);
NEXT(feedline_watch_def, batch_size, reserved);
NEXT(feedline_watch_def, reserved, name);
NEXT(feedline_watch_def, name, option);
NEXT(feedline_watch_def, option, device);
END(feedline_watch_def, device, 40);

BEGIN(feedline_tuner_info, struct_size);
NEXT(feedline_tuner_info, struct_size, workers);
NEXT(feedline_tuner_info, workers, depth);
NEXT(feedline_tuner_info, depth, io_depth);
NEXT(feedline_tuner_info, io_depth, finish);
NEXT(feedline_tuner_info, finish, converged);
NEXT(feedline_tuner_info, converged, planned_workers);
NEXT(feedline_tuner_info, planned_workers, planned_depth);
NEXT(feedline_tuner_info, planned_depth, planned_io_depth);
NEXT(feedline_tuner_info, planned_io_depth, on_device);
NEXT(feedline_tuner_info, on_device, mode);
NEXT(feedline_tuner_info, mode, state);
NEXT(feedline_tuner_info, state, limited_by);
NEXT(feedline_tuner_info, limited_by, profile);
NEXT(feedline_tuner_info, profile, converged_batch);
NEXT(feedline_tuner_info, converged_batch, converged_ns);
NEXT(feedline_tuner_info, converged_ns, decisions);
NEXT(feedline_tuner_info, decisions, trials);
NEXT(feedline_tuner_info, trials, kept);
NEXT(feedline_tuner_info, kept, rolled_back);
NEXT(feedline_tuner_info, rolled_back, credit_ns);
NEXT(feedline_tuner_info, credit_ns, spent_ns);
NEXT(feedline_tuner_info, spent_ns, target);
NEXT(feedline_tuner_info, target, stall);
NEXT(feedline_tuner_info, stall, batches_per_second);
NEXT(feedline_tuner_info, batches_per_second, step_ns);
NEXT(feedline_tuner_info, step_ns, sample_ns);
NEXT(feedline_tuner_info, sample_ns, cpu_share);
NEXT(feedline_tuner_info, cpu_share, cores);
NEXT(feedline_tuner_info, cores, memory_bytes);
NEXT(feedline_tuner_info, memory_bytes, memory_budget);
END(feedline_tuner_info, memory_budget, 208);

BEGIN(feedline_decision, struct_size);
NEXT(feedline_decision, struct_size, reserved);
NEXT(feedline_decision, reserved, id);
NEXT(feedline_decision, id, time_ns);
NEXT(feedline_decision, time_ns, batch);
NEXT(feedline_decision, batch, before);
NEXT(feedline_decision, before, after);
NEXT(feedline_decision, after, predicted);
NEXT(feedline_decision, predicted, measured);
NEXT(feedline_decision, measured, error);
NEXT(feedline_decision, error, stall_before);
NEXT(feedline_decision, stall_before, stall_after);
NEXT(feedline_decision, stall_after, knob);
NEXT(feedline_decision, knob, reason);
NEXT(feedline_decision, reason, outcome);
NEXT(feedline_decision, outcome, why);
END(feedline_decision, why, 272);

BEGIN(feedline_stuck_worker, struct_size);
NEXT(feedline_stuck_worker, struct_size, worker);
NEXT(feedline_stuck_worker, worker, tid);
NEXT(feedline_stuck_worker, tid, reserved);
NEXT(feedline_stuck_worker, reserved, stuck_ns);
NEXT(feedline_stuck_worker, stuck_ns, epoch);
NEXT(feedline_stuck_worker, epoch, sample_index);
NEXT(feedline_stuck_worker, sample_index, path);
NEXT(feedline_stuck_worker, path, where);
END(feedline_stuck_worker, where, 328);

BEGIN(feedline_phase_stats, struct_size);
NEXT(feedline_phase_stats, struct_size, reserved);
NEXT(feedline_phase_stats, reserved, name);
NEXT(feedline_phase_stats, name, count);
NEXT(feedline_phase_stats, count, total_ns);
NEXT(feedline_phase_stats, total_ns, self_ns);
NEXT(feedline_phase_stats, self_ns, max_ns);
END(feedline_phase_stats, max_ns, 48);

BEGIN(feedline_gap_stats, struct_size);
NEXT(feedline_gap_stats, struct_size, period);
NEXT(feedline_gap_stats, period, count);
NEXT(feedline_gap_stats, count, total_ns);
NEXT(feedline_gap_stats, total_ns, longest_ns);
NEXT(feedline_gap_stats, longest_ns, median_ns);
NEXT(feedline_gap_stats, median_ns, stall_period);
NEXT(feedline_gap_stats, stall_period, stall_strength);
END(feedline_gap_stats, stall_strength, 48);

BEGIN(feedline_slow_sample, struct_size);
NEXT(feedline_slow_sample, struct_size, stage);
NEXT(feedline_slow_sample, stage, epoch);
NEXT(feedline_slow_sample, epoch, sequence);
NEXT(feedline_slow_sample, sequence, sample_index);
NEXT(feedline_slow_sample, sample_index, total_ns);
NEXT(feedline_slow_sample, total_ns, read_ns);
NEXT(feedline_slow_sample, read_ns, decode_ns);
NEXT(feedline_slow_sample, decode_ns, augment_ns);
NEXT(feedline_slow_sample, augment_ns, custom_ns);
NEXT(feedline_slow_sample, custom_ns, bytes);
NEXT(feedline_slow_sample, bytes, width);
NEXT(feedline_slow_sample, width, height);
NEXT(feedline_slow_sample, height, stall_ns);
NEXT(feedline_slow_sample, stall_ns, path);
END(feedline_slow_sample, path, 104);

BEGIN(feedline_headroom, struct_size);
NEXT(feedline_headroom, struct_size, reserved);
NEXT(feedline_headroom, reserved, batches_per_second);
NEXT(feedline_headroom, batches_per_second, fed);
NEXT(feedline_headroom, fed, two_workers);
NEXT(feedline_headroom, two_workers, storage);
NEXT(feedline_headroom, storage, transfer);
NEXT(feedline_headroom, transfer, stages);
END(feedline_headroom, stages, 88);

BEGIN(feedline_machine_info, struct_size);
NEXT(feedline_machine_info, struct_size, cpus_online);
NEXT(feedline_machine_info, cpus_online, cpus_allowed);
NEXT(feedline_machine_info, cpus_allowed, cpus_usable);
NEXT(feedline_machine_info, cpus_usable, cpu_quota);
NEXT(feedline_machine_info, cpu_quota, memory_limit_bytes);
END(feedline_machine_info, memory_limit_bytes, 32);

BEGIN(feedline_stat_info, struct_size);
NEXT(feedline_stat_info, struct_size, type);
NEXT(feedline_stat_info, type, flags);
NEXT(feedline_stat_info, flags, merge);
NEXT(feedline_stat_info, merge, offset);
NEXT(feedline_stat_info, offset, over);
NEXT(feedline_stat_info, over, scale);
NEXT(feedline_stat_info, scale, name);
NEXT(feedline_stat_info, name, title);
NEXT(feedline_stat_info, title, unit);
NEXT(feedline_stat_info, unit, metric);
NEXT(feedline_stat_info, metric, help);
END(feedline_stat_info, help, 72);

BEGIN(feedline_device_info, struct_size);
NEXT(feedline_device_info, struct_size, id);
NEXT(feedline_device_info, id, runtime_version);
NEXT(feedline_device_info, runtime_version, driver_version);
NEXT(feedline_device_info, driver_version, numa_node);
NEXT(feedline_device_info, numa_node, copy_engines);
NEXT(feedline_device_info, copy_engines, name);
NEXT(feedline_device_info, name, pci);
END(feedline_device_info, pci, 104);

BEGIN(feedline_copy_test, struct_size);
NEXT(feedline_copy_test, struct_size, flags);
NEXT(feedline_copy_test, flags, bytes);
NEXT(feedline_copy_test, bytes, copies);
NEXT(feedline_copy_test, copies, repeats);
END(feedline_copy_test, repeats, 24);

BEGIN(feedline_copy_time, struct_size);
NEXT(feedline_copy_time, struct_size, repeats);
NEXT(feedline_copy_time, repeats, host_us);
NEXT(feedline_copy_time, host_us, device_us);
NEXT(feedline_copy_time, device_us, min_us);
NEXT(feedline_copy_time, min_us, max_us);
END(feedline_copy_time, max_us, 40);

IS(FEEDLINE_REPLACED, 4);
IS(FEEDLINE_INTERRUPTED, 3);
IS(FEEDLINE_END, 2);
IS(FEEDLINE_TIMEOUT, 1);
IS(FEEDLINE_OK, 0);
IS(FEEDLINE_EINVAL, -1);
IS(FEEDLINE_ENOMEM, -2);
IS(FEEDLINE_EIO, -3);
IS(FEEDLINE_ENOENT, -4);
IS(FEEDLINE_EDECODE, -5);
IS(FEEDLINE_EDEVICE, -6);
IS(FEEDLINE_ENOSYS, -7);
IS(FEEDLINE_ESTATE, -8);
IS(FEEDLINE_EFORK, -9);
IS(FEEDLINE_ERANGE, -10);
IS(FEEDLINE_EABI, -11);
IS(FEEDLINE_EUSER, -12);

IS(FEEDLINE_T_INT, 1);
IS(FEEDLINE_T_SIZE, 2);
IS(FEEDLINE_T_TIME, 3);
IS(FEEDLINE_T_DOUBLE, 4);
IS(FEEDLINE_T_BOOL, 5);
IS(FEEDLINE_T_ENUM, 6);
IS(FEEDLINE_T_STRING, 7);
IS(FEEDLINE_T_DOUBLES, 8);

IS(FEEDLINE_OPT_LIVE, 1);
IS(FEEDLINE_OPT_AUTO, 2);
IS(FEEDLINE_FEATURE_URING, 1);
IS(FEEDLINE_FEATURE_CUDA, 2);

IS(FEEDLINE_BILINEAR, 0);
IS(FEEDLINE_NEAREST, 1);
IS(FEEDLINE_BOX, 2);
IS(FEEDLINE_HAMMING, 3);
IS(FEEDLINE_BICUBIC, 4);
IS(FEEDLINE_LANCZOS, 5);

IS(FEEDLINE_CPU, 1);
IS(FEEDLINE_CPU_PINNED, 2);
IS(FEEDLINE_CUDA, 3);
IS(FEEDLINE_COPY_PAGEABLE, 1);
IS(FEEDLINE_COPY_BUSY, 2);
IS(FEEDLINE_U8, 1);
IS(FEEDLINE_F16, 2);
IS(FEEDLINE_F32, 3);
IS(FEEDLINE_I64, 4);
IS(FEEDLINE_BF16, 5);

IS(FEEDLINE_IMAGES, 0);
IS(FEEDLINE_LABELS, 1);
IS(FEEDLINE_TARGETS, 2);
IS(FEEDLINE_DLPACK_VERSIONED, 1);

IS(FEEDLINE_GIVEN_MAX, 1024);

IS(FEEDLINE_STAGE_READ, 0);
IS(FEEDLINE_STAGE_DECODE, 1);
IS(FEEDLINE_STAGE_AUGMENT, 2);
IS(FEEDLINE_STAGE_TRANSFER, 3);
IS(FEEDLINE_STAGE_CONSUME, 4);
