/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Each number of the statistics, once. A new one is a field of its struct, the
 * line that gathers it, and a row here; JSON, metrics, loaderbench, Python and
 * docs/statistics.md follow.
 */
#include "loader/report/stat_rows.h"

#include "base/compiler.h"
#include "base/status.h"

#include <feedline/live.h>
#include <feedline/tuning.h>

#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#define FIELD(f) ((struct STRUCT *)0)->f

/* clang-format off */
#define TYPE(f)                                                                \
  _Generic(FIELD(f), uint32_t: FEEDLINE_STAT_U32, uint64_t: FEEDLINE_STAT_U64, \
           int64_t: FEEDLINE_STAT_I64, double: FEEDLINE_STAT_DOUBLE,           \
           const char *: FEEDLINE_STAT_TEXT)
/* clang-format on */

#define ROW(name, title, f, over, scale, unit, flags, merge, metric, help)     \
  {                                                                            \
    sizeof(struct feedline_stat_info), TYPE(f), flags, FEEDLINE_MERGE_##merge, \
        offsetof(struct STRUCT, f), over, scale, name, title, unit, metric,    \
        help                                                                   \
  }

/* A field as it is, in a unit, under its own name or another. */
#define NUMBER(f, unit, merge, metric, help)                                   \
  NAMED(#f, f, unit, merge, metric, help)
#define NAMED(name, f, unit, merge, metric, help)                              \
  ROW(name, "", f, 0, 1, unit, 0, merge, metric, help)

/* A field as it is, of which 0, or a number below 0, means that it is not
 * known. */
#define ZERO_UNKNOWN(f, unit, merge, metric, help)                             \
  ROW(#f, "", f, 0, 1, unit, FEEDLINE_STAT_ZERO_UNKNOWN, merge, metric, help)
#define NEGATIVE_UNKNOWN(name, f, unit, merge, metric, help)                   \
  ROW(name, "", f, 0, 1, unit, FEEDLINE_STAT_NEGATIVE_UNKNOWN, merge, metric,  \
      help)

/* Nanoseconds, shown in seconds; PART has a title for people. */
#define SECONDS(name, f, merge, metric, help)                                  \
  ROW(name, "", f, 0, 1e9, "seconds", 0, merge, metric, help)
#define PART(name, title, f, metric, help)                                     \
  ROW(name, title, f, 0, 1e9, "seconds", 0, SUM, metric, help)
#define CUSTOM(name, f, metric, help)                                          \
  ROW(name, "", f, 0, 1e9, "seconds", FEEDLINE_STAT_CUSTOM, SUM, metric, help)

/* Nanoseconds, shown in microseconds. */
#define MICROS(name, f, merge, help)                                           \
  ROW(name, "", f, 0, 1e3, "us", 0, merge, "", help)

/* One counter divided by another. */
#define RATIO(name, f, over, help)                                             \
  ROW(name, "", f, offsetof(struct STRUCT, over), 1, "", 0, NONE, "", help)

#define STRUCT feedline_stats
static const struct feedline_stat_info stats[] = {
    NUMBER(workers, "", NONE, "", "Workers that are active."),
    SECONDS("wall_seconds", wall_ns, SUM, "wall_seconds_total",
            "Time of the consumer: user, wait and api."),
    SECONDS("wait_seconds", wait_ns, SUM, "",
            "Time that next() kept the consumer waiting."),
    SECONDS("user_seconds", user_ns, SUM, "user_seconds_total",
            "Time of the consumer between two calls for a batch."),
    SECONDS("api_seconds", api_ns, SUM, "api_seconds_total",
            "Time in calls for a batch, waits excluded."),
    NUMBER(batches, "", SUM, "batches_total", "Batches delivered."),
    NUMBER(samples, "", SUM, "samples_total", "Samples delivered."),
    NUMBER(failed_samples, "", SUM, "failed_samples_total",
           "Samples that could not be used."),
    NUMBER(truncated_samples, "", SUM, "truncated_samples_total",
           "Samples used though their file ends early."),
    NUMBER(bytes_read, "bytes", SUM, "read_bytes_total",
           "Bytes of files read."),
    SECONDS("profiler_seconds", profiler_ns, SUM, "profiler_seconds_total",
            "What measuring has cost."),
    NUMBER(memory_bytes, "bytes", SUM, "memory_bytes",
           "Batch slots, read buffers, worker scratch."),
    SECONDS("first_batch_seconds", first_batch_ns, MAX, "first_batch_seconds",
            "From start to the first batch."),
    ZERO_UNKNOWN(mixing, "", MAX, "mixing_ratio",
                 "How much the labels of a batch vary with shuffle=block; a "
                 "full shuffle: 1."),
    NUMBER(jpeg_mcus, "", SUM, "jpeg_mcus_total",
           "Blocks of 8x8 to 16x16 pixels of JPEGs that were decoded, where "
           "jpeg_index is on."),
    NUMBER(jpeg_mcus_jumped, "", SUM, "jpeg_mcus_jumped_total",
           "Such blocks that the index spared from being decoded."),
    NUMBER(jpeg_index_bytes, "bytes", SUM, "jpeg_index_bytes",
           "What jpeg_index noted in this process."),
    NUMBER(requests, "", SUM, "requests_total",
           "Requests sent to servers, for data on other machines."),
    NUMBER(requests_failed, "", SUM, "requests_failed_total",
           "Of these, those without an answer, or with another than what was "
           "asked for."),
    NUMBER(requests_retried, "", SUM, "requests_retried_total",
           "Of these, those that were sent again after a pause."),
    NUMBER(requests_hedged, "", SUM, "requests_hedged_total",
           "Requests sent beside one that was late."),
    NUMBER(hedges_won, "", SUM, "hedges_won_total",
           "Of these, those that brought the bytes."),
    NUMBER(network_bytes, "bytes", SUM, "network_bytes_total",
           "Bytes of answers, also those that nobody needed."),
    NUMBER(cached_bytes, "bytes", SUM, "cached_bytes_total",
           "Bytes of samples that came from the folder remote_cache."),
    NUMBER(cache_errors, "", SUM, "cache_errors_total",
           "Times that something in that folder was damaged, or could not be "
           "written."),
};
#undef STRUCT

#define STRUCT feedline_wait_stats
static const struct feedline_stat_info stall[] = {
    NUMBER(waits, "", SUM, "waits_total", "Batches that had to be waited for."),
    PART("buckets.not_issued", "not issued yet", not_issued_ns,
         "wait_seconds_total{cause=\"not_issued\"}", "batch not started"),
    PART("buckets.slot", "consumer holds slots", slot_ns,
         "wait_seconds_total{cause=\"slot\"}",
         "no free slot (the consumer holds them all)"),
    PART("buckets.fetch_queue", "read queue", fetch_queue_ns,
         "wait_seconds_total{cause=\"fetch_queue\"}",
         "reads queued (I/O depth reached)"),
    PART("buckets.fetch", "reading", fetch_ns,
         "wait_seconds_total{cause=\"fetch\"}", "reading files"),
    PART("buckets.worker_wait", "waiting for a worker", worker_wait_ns, "",
         "files read, but all workers busy"),
    PART("buckets.prep", "decoding and augmenting", prep_ns, "",
         "decoding and augmenting"),
    PART("buckets.transfer_queue", "copy queue", transfer_queue_ns,
         "wait_seconds_total{cause=\"transfer_queue\"}",
         "queued for the copy to the device"),
    PART("buckets.transfer", "copying", transfer_ns,
         "wait_seconds_total{cause=\"transfer\"}", "copying to the device"),
    PART("buckets.wake", "waking up", wake_ns,
         "wait_seconds_total{cause=\"wake\"}",
         "batch ready, consumer not yet running"),
    PART("buckets.residual", "not attributed", residual_ns,
         "wait_seconds_total{cause=\"residual\"}", "unattributed"),
    PART("prep.cpu_seconds", "preparing: cpu", prep_cpu_ns,
         "wait_seconds_total{cause=\"prep_cpu\"}", "preparing, on a core"),
    PART("prep.runq_seconds", "preparing: no core", prep_runq_ns,
         "wait_seconds_total{cause=\"prep_runq\"}",
         "preparing, no core was free"),
    PART("prep.throttle_seconds", "preparing: quota", prep_throttle_ns,
         "wait_seconds_total{cause=\"prep_throttle\"}",
         "preparing, the CPU quota was spent"),
    PART("prep.sleep_seconds", "preparing: asleep", prep_sleep_ns,
         "wait_seconds_total{cause=\"prep_sleep\"}",
         "preparing, asleep: custom operations, page faults"),
    PART("worker_wait.cpu_seconds", "other batches: cpu", worker_wait_cpu_ns,
         "wait_seconds_total{cause=\"worker_wait_cpu\"}",
         "other batches, on a core"),
    PART("worker_wait.runq_seconds", "other batches: no core",
         worker_wait_runq_ns, "wait_seconds_total{cause=\"worker_wait_runq\"}",
         "other batches, no core was free"),
    PART("worker_wait.throttle_seconds", "other batches: quota",
         worker_wait_throttle_ns,
         "wait_seconds_total{cause=\"worker_wait_throttle\"}",
         "other batches, the CPU quota was spent"),
    PART("worker_wait.sleep_seconds", "other batches: asleep",
         worker_wait_sleep_ns,
         "wait_seconds_total{cause=\"worker_wait_sleep\"}",
         "other batches, asleep"),
    ROW("fetch.cold_seconds", "reading: storage", fetch_cold_ns, 0, 1e9,
        "seconds", FEEDLINE_STAT_NEGATIVE_UNKNOWN, SUM,
        "wait_storage_seconds_total",
        "Of reading files: for those that storage had to deliver; the others "
        "were copied from the page cache."),
};
#undef STRUCT

#define STRUCT feedline_stage_stats
static const struct feedline_stat_info stages[] = {
    NUMBER(threads, "", SUM, "", "Threads that worked in the stage."),
    NUMBER(items, "", SUM, "", "Items that left the stage."),
    NUMBER(bytes, "bytes", SUM, "stage_bytes_total",
           "Bytes that left a stage."),
    NUMBER(errors, "", SUM, "stage_errors_total",
           "Items that failed in a stage."),
    SECONDS("busy_seconds", busy_ns, SUM, "",
            "Time that threads of the stage worked."),
    CUSTOM("cpu_seconds", cpu_ns, "", "Of the busy time, on a core."),
    CUSTOM(
        "lock_seconds", lock_ns, "stage_lock_seconds_total",
        "Time that calls of a custom operation waited for a lock they share."),
    SECONDS("starved_seconds", starved_ns, SUM, "stage_starved_seconds_total",
            "Time that threads of a stage had nothing to take."),
    SECONDS("blocked_seconds", blocked_ns, SUM, "stage_blocked_seconds_total",
            "Time that threads of a stage had no room for output."),
    MICROS("p50_us", p50_ns, NONE,
           "Median time of one item; at most 3.1 % too high."),
    MICROS("p90_us", p90_ns, NONE, "90 % of the items took at most this long."),
    MICROS("p99_us", p99_ns, NONE, "99 % of the items took at most this long."),
    MICROS("max_us", max_ns, MAX, "The longest time of one item."),
    NEGATIVE_UNKNOWN("storage_bytes", storage_bytes, "bytes", SUM,
                     "read_storage_bytes_total",
                     "Of reads: bytes that storage delivered, read-ahead "
                     "included; the others were in memory."),
    ROW("unpack_seconds", "", unpack_ns, 0, 1e9, "seconds",
        FEEDLINE_STAT_NEGATIVE_UNKNOWN, SUM, "decode_unpack_seconds_total",
        "Of decode's busy time: from bytes to coefficients (JPEG that "
        "feedline's own decoder takes, or packed)."),
    ROW("transform_seconds", "", transform_ns, 0, 1e9, "seconds",
        FEEDLINE_STAT_NEGATIVE_UNKNOWN, SUM, "decode_transform_seconds_total",
        "Of decode's busy time: from coefficients to pixels, of the same "
        "images."),
};
#undef STRUCT

#define STRUCT feedline_worker_stats
static const struct feedline_stat_info workers[] = {
    NUMBER(threads, "", SUM, "",
           "Worker threads started, parked ones included."),
    SECONDS("wall_seconds", wall_ns, SUM, "",
            "The lives of all worker threads; the parts below add up to it."),
    PART("cpu_seconds", "cpu", cpu_ns, "worker_seconds_total{state=\"cpu\"}",
         "Decoding and augmenting, on a core."),
    PART("runq_seconds", "no core", runq_ns,
         "worker_seconds_total{state=\"runq\"}",
         "Decoding and augmenting, waiting for a core."),
    PART("throttle_seconds", "quota", throttle_ns,
         "worker_seconds_total{state=\"throttle\"}",
         "Decoding and augmenting, while the CPU quota was spent."),
    PART("sleep_seconds", "asleep", sleep_ns,
         "worker_seconds_total{state=\"sleep\"}",
         "Decoding and augmenting, asleep: it gave up its core."),
    PART("read_seconds", "reading", read_ns,
         "worker_seconds_total{state=\"read\"}",
         "Reading, where workers read (reader=memory)."),
    PART("blocked_seconds", "blocked", blocked_ns,
         "worker_seconds_total{state=\"blocked\"}",
         "No room for output: depth batches are ready."),
    PART("starved_seconds", "starved", starved_ns,
         "worker_seconds_total{state=\"starved\"}", "No bytes to work on."),
    PART("parked_seconds", "parked", parked_ns,
         "worker_seconds_total{state=\"parked\"}",
         "More threads than workers."),
    PART("residual_seconds", "other", residual_ns,
         "worker_seconds_total{state=\"residual\"}", "Not attributed."),
    NUMBER(voluntary_switches, "", SUM, "",
           "Times a worker gave up its core to wait."),
    NUMBER(involuntary_switches, "", SUM, "",
           "Times the system took the core away."),
};
#undef STRUCT

#define STRUCT feedline_device_stats
static const struct feedline_stat_info transfer[] = {
    NUMBER(finish_reason, "", NONE, "",
           "Why batches are finished where they are."),
    NUMBER(batches, "", SUM, "", "Batches whose copy is done."),
    NUMBER(finished, "", SUM, "",
           "Of these, finished by the device, or to be (`handover=copy`)."),
    NUMBER(copies, "", SUM, "",
           "Copies to the device: one per batch, or a few."),
    NUMBER(copied_bytes, "bytes", SUM, "copied_bytes_total",
           "Bytes copied to the device."),
    SECONDS("queue_seconds", queue_ns, SUM, "",
            "From submission of copies to their start."),
    SECONDS("copy_seconds", copy_ns, SUM, "copy_seconds_total",
            "Time of copies to the device."),
    SECONDS("overlap_seconds", overlap_ns, SUM, "copy_overlap_seconds_total",
            "Part of it that overlaps the consumer's work."),
    RATIO("overlap_fraction", overlap_ns, copy_ns,
          "Fraction of the copies' time that overlaps the consumer's work."),
    SECONDS("finish_seconds", finish_ns, SUM, "",
            "Time of the kernel that finishes batches; none with "
            "`handover=copy`, as the program's stream runs it."),
    NUMBER(decode_reason, "", NONE, "",
           "Why images are decoded where they are."),
    NUMBER(decoded, "", SUM, "device_decoded_samples_total",
           "Samples that the device decodes (`decode=device`); workers decode "
           "the others."),
    SECONDS("decode_seconds", decode_ns, SUM, "device_decode_seconds_total",
            "Time of the kernels that decode."),
    NUMBER(decode_batches, "", SUM, "", "Batches that they decoded in it."),
    RATIO("gigabytes_per_second", copied_bytes, copy_ns,
          "Speed of the copies."),
    NAMED("ceiling_gigabytes_per_second", gigabytes_per_second, "", NONE, "",
          "Bandwidth measured at the start; 0: not measured."),
    NUMBER(latency_us, "us", NONE, "",
           "Latency of a copy, measured at the start; 0: not measured."),
    NUMBER(regime, "", NONE, "",
           "Whether bandwidth or latency limits these copies."),
    NUMBER(pinned_bytes, "bytes", SUM, "pinned_bytes",
           "Host memory that the device reads from."),
    NUMBER(device_bytes, "bytes", SUM, "",
           "Device memory that the loader owns."),
    NUMBER(device_memory_budget, "bytes", SUM, "",
           "What its batches may take; 0: not known before the first run."),
    NUMBER(steps, "", SUM, "", "Batches that a stream waited for."),
    SECONDS("span_seconds", span_ns, SUM, "device_span_seconds_total",
            "Time over which the device's idle time counts."),
    SECONDS("idle_seconds", idle_ns, SUM, "device_idle_seconds_total",
            "Time the stream had nothing to do for want of a batch."),
};
#undef STRUCT

#define STRUCT feedline_gap_stats
static const struct feedline_stat_info gaps[] = {
    NUMBER(count, "", SUM, "",
           "Steps in which the consumer itself took far longer than usual."),
    SECONDS("total_seconds", total_ns, SUM, "",
            "What they took beyond the usual."),
    SECONDS("longest_seconds", longest_ns, MAX, "",
            "The longest of these steps."),
    SECONDS("median_seconds", median_ns, NONE, "",
            "Median step, of the last 256."),
    ZERO_UNKNOWN(period, "", NONE, "", "Steps between two gaps."),
    ZERO_UNKNOWN(stall_period, "", NONE, "", "Batches between two long waits."),
    ROW("stall_strength", "", stall_strength, 0, 1e6, "", 0, NONE, "",
        "Strength of that rhythm; 1 is perfect."),
};
#undef STRUCT

#define STRUCT feedline_slow_sample
static const struct feedline_stat_info slow_samples[] = {
    NUMBER(epoch, "", NONE, "", "Epoch of its batch."),
    NUMBER(sequence, "", NONE, "", "Number of its batch."),
    NUMBER(sample_index, "", NONE, "", "Its index in the dataset."),
    MICROS("total_us", total_ns, NONE, "Read and prepared, without queues."),
    MICROS("read_us", read_ns, NONE, "Reading it."),
    MICROS("decode_us", decode_ns, NONE, "Decoding it."),
    MICROS("augment_us", augment_ns, NONE, "Augmenting it."),
    MICROS("custom_us", custom_ns, NONE, "In custom operations."),
    NUMBER(bytes, "bytes", NONE, "", "Size of the file."),
    NUMBER(width, "pixels", NONE, "", "Width of its image; 0: not opened."),
    NUMBER(height, "pixels", NONE, "", "Height of its image; 0: not opened."),
    MICROS("stall_us", stall_ns, NONE,
           "The consumer waited so long for this sample alone."),
};
#undef STRUCT

#define STRUCT feedline_headroom
static const struct feedline_stat_info headroom[] = {
    NUMBER(batches_per_second, "", NONE, "", "Batches per second now."),
    NUMBER(fed, "", NONE, "",
           "Gain with an infinitely fast loader; 0.25 is a quarter more."),
    NUMBER(two_workers, "", NONE, "", "Gain with two more workers."),
    NUMBER(storage, "", NONE, "", "Gain with storage of twice the speed."),
    NUMBER(transfer, "", NONE, "", "Gain with a bus of twice the speed."),
    NUMBER(huffman, "", NONE, "",
           "Of the workers' time, for Huffman codes of JPEGs."),
    NUMBER(packing, "", NONE, "", "Gain with packed images, which have none."),
};
#undef STRUCT

#define STRUCT feedline_tuner_info
static const struct feedline_stat_info tuner[] = {
    NUMBER(mode, "", NONE, "", "off, observe or auto."),
    NUMBER(state, "", NONE, "", "What it is doing."),
    NUMBER(workers, "", NONE, "", "Workers in force."),
    NUMBER(depth, "", NONE, "", "Batches prepared ahead, in force."),
    NUMBER(io_depth, "", NONE, "", "Reads in flight, in force."),
    NUMBER(stall, "", NONE, "tuner_stall_ratio",
           "Waiting, of the time of its last window."),
    NUMBER(target, "", NONE, "tuner_target_ratio",
           "Waiting that counts as fed."),
    NUMBER(limited_by, "", NONE, "",
           "Why the consumer is not fed; empty: it is, or nothing is known."),
    ZERO_UNKNOWN(planned_workers, "", NONE, "tuner_planned_workers",
                 "Workers that its model asks for."),
    ZERO_UNKNOWN(planned_depth, "", NONE, "", "Depth that it asks for."),
    ZERO_UNKNOWN(planned_io_depth, "", NONE, "", "I/O depth that it asks for."),
    NUMBER(cores, "cores", NONE, "tuner_cores", "Cores that workers can have."),
    NUMBER(memory_bytes, "bytes", SUM, "tuner_memory_bytes",
           "What the setting may take at most."),
    NUMBER(memory_budget, "bytes", SUM, "", "What it may take at all."),
    NAMED("n_decisions", decisions, "", SUM, "tuner_decisions_total",
          "Settings changed."),
    NUMBER(trials, "", SUM, "tuner_trials_total", "Settings tried."),
    NUMBER(kept, "", SUM, "", "Settings tried and kept."),
    NUMBER(rolled_back, "", SUM, "tuner_rolled_back_total",
           "Settings tried and taken back."),
    SECONDS("spent_seconds", spent_ns, SUM, "tuner_cost_seconds_total",
            "Time of the consumer that trials have cost."),
    SECONDS("credit_seconds", credit_ns, SUM, "",
            "Time of the consumer that trials may still cost."),
    NUMBER(batches_per_second, "", SUM, "",
           "Batches per second of the last window."),
    SECONDS("step_seconds", step_ns, NONE, "",
            "The consumer's own time for a batch."),
    SECONDS("sample_seconds", sample_ns, NONE, "",
            "A worker's time for a sample, without waits for a core."),
    NUMBER(cpu_share, "", NONE, "", "Part of it on a core."),
    NUMBER(profile, "", NONE, "",
           "How option tuner_profile was used, in words."),
};
#undef STRUCT

#define STRUCT feedline_live_stats
static const struct feedline_stat_info queue[] = {
    NUMBER(ready, "", SUM, "ready_batches",
           "Batches that wait for the consumer."),
    NUMBER(depth, "", SUM, "depth_batches",
           "Batches that may be prepared ahead."),
    NUMBER(outstanding, "", SUM, "outstanding_batches",
           "Batches issued and not delivered."),
    NUMBER(reads, "", SUM, "reads_in_flight", "Reads in flight."),
    NUMBER(io_depth, "", SUM, "io_depth_reads", "Reads that may be in flight."),
    NEGATIVE_UNKNOWN("storage_bytes", storage_bytes, "bytes", SUM, "",
                     "Bytes that storage delivered to reads, of bytes_read."),
    NUMBER(workers, "", SUM, "workers", "Workers that are active."),
    NUMBER(batch_size, "", SUM, "", "Samples in a batch."),
    NUMBER(stuck_workers, "", SUM, "stuck_workers",
           "Workers and reads at one sample for longer than stuck_after."),
};
#undef STRUCT

#define STRUCT feedline_live_stats
static const struct feedline_stat_info machine[] = {
    SECONDS("process_cpu_seconds", process_cpu_ns, SUM,
            "process_cpu_seconds_total",
            "CPU time of all threads of the process."),
    SECONDS("children_cpu_seconds", children_cpu_ns, SUM,
            "children_cpu_seconds_total",
            "CPU time of child processes, as torch's workers, of a watch."),
    SECONDS("throttled_seconds", throttled_ns, MAX, "throttled_seconds_total",
            "Time the control group's CPU quota was spent."),
    ZERO_UNKNOWN(cpu_quota, "cores", MAX, "cpu_quota_cores",
                 "CPU quota of the control group."),
    NUMBER(cpus_usable, "cores", MAX, "cpus_usable",
           "Cores that the process may use."),
    NUMBER(memory_bytes, "bytes", MAX, "",
           "Memory of the control group, or of the process."),
    NUMBER(memory_limit_bytes, "bytes", MAX, "",
           "What it may be; 0: not known."),
};
#undef STRUCT

#define STRUCT feedline_live_stats
static const struct feedline_stat_info gpu[] = {
    NEGATIVE_UNKNOWN(
        "utilization", gpu_utilization, "", NONE, "gpu_utilization_ratio",
        "Part of the time in which any kernel ran; not efficiency."),
    NEGATIVE_UNKNOWN("memory_utilization", gpu_memory_utilization, "", NONE,
                     "gpu_memory_utilization_ratio",
                     "Part of the time in which memory was read or written."),
    NEGATIVE_UNKNOWN("memory_used_bytes", gpu_memory_used_bytes, "bytes", NONE,
                     "gpu_memory_used_bytes", "Memory of the GPU in use."),
    NEGATIVE_UNKNOWN("memory_total_bytes", gpu_memory_total_bytes, "bytes",
                     NONE, "gpu_memory_total_bytes", "Memory of the GPU."),
    NEGATIVE_UNKNOWN("power_watts", gpu_power_watts, "watts", NONE,
                     "gpu_power_watts", "Power drawn."),
    NEGATIVE_UNKNOWN("power_limit_watts", gpu_power_limit_watts, "watts", NONE,
                     "gpu_power_limit_watts", "Power allowed."),
    NEGATIVE_UNKNOWN("temperature", gpu_temperature, "celsius", NONE,
                     "gpu_temperature_celsius", "Temperature."),
    NEGATIVE_UNKNOWN("sm_clock_mhz", gpu_sm_clock_mhz, "MHz", NONE, "",
                     "Clock of the multiprocessors."),
    NEGATIVE_UNKNOWN("pcie_rx_gbps", gpu_pcie_rx_gbps, "GB/s", NONE, "",
                     "Data that the GPU receives over PCIe."),
};
#undef STRUCT

static const struct {
    const char *name;
    const struct feedline_stat_info *rows;
    uint32_t n;
} parts[FDL_STAT_PARTS] = {
    [FDL_STAT_STATS] = {"stats", stats, FDL_COUNT_OF(stats)},
    [FDL_STAT_STALL] = {"stall", stall, FDL_COUNT_OF(stall)},
    [FDL_STAT_STAGES] = {"stages", stages, FDL_COUNT_OF(stages)},
    [FDL_STAT_WORKERS] = {"workers", workers, FDL_COUNT_OF(workers)},
    [FDL_STAT_TRANSFER] = {"transfer", transfer, FDL_COUNT_OF(transfer)},
    [FDL_STAT_GAPS] = {"gaps", gaps, FDL_COUNT_OF(gaps)},
    [FDL_STAT_SLOW] = {"slow_samples", slow_samples,
                       FDL_COUNT_OF(slow_samples)},
    [FDL_STAT_HEADROOM] = {"headroom", headroom, FDL_COUNT_OF(headroom)},
    [FDL_STAT_TUNER] = {"tuner", tuner, FDL_COUNT_OF(tuner)},
    [FDL_STAT_QUEUE] = {"queue", queue, FDL_COUNT_OF(queue)},
    [FDL_STAT_MACHINE] = {"machine", machine, FDL_COUNT_OF(machine)},
    [FDL_STAT_GPU] = {"gpu", gpu, FDL_COUNT_OF(gpu)},
};

const struct feedline_stat_info *fdl_stat_rows(enum fdl_stat_part part,
                                               uint32_t *n)
{
    *n = parts[part].n;
    return parts[part].rows;
}

int32_t fdl_stat_find_part(const char *name, enum fdl_stat_part *out)
{
    for (uint32_t i = 0; i < FDL_STAT_PARTS; i++) {
        if (strcmp(parts[i].name, name) == 0) {
            *out = (enum fdl_stat_part)i;
            return FEEDLINE_OK;
        }
    }
    return fdl_fail(
        FEEDLINE_ENOENT,
        "the statistics have no part '%s', but stats, stall, stages, workers, "
        "transfer, gaps, slow_samples, headroom, tuner, queue, machine and gpu",
        name);
}

/* ---- Values ------------------------------------------------------------- */

/* The eight bytes, or four, of a field. */
static uint64_t load_word(const void *in, uint32_t offset, size_t size)
{
    uint64_t word = 0;
    memcpy(&word, (const char *)in + offset, size);
    return word;
}

/* The field as it is. */
static double load(const struct feedline_stat_info *row, const void *in)
{
    double x;
    uint64_t word;
    if (row->type == FEEDLINE_STAT_U32)
        return (double)load_word(in, row->offset, sizeof(uint32_t));
    word = load_word(in, row->offset, sizeof(word));
    if (row->type == FEEDLINE_STAT_U64)
        return (double)word;
    if (row->type == FEEDLINE_STAT_I64)
        return (double)(int64_t)word;
    memcpy(&x, &word, sizeof(x));
    return x;
}

double fdl_stat_value(const struct feedline_stat_info *row, const void *in)
{
    uint64_t whole;
    double x;
    if (!row || !in || row->type >= FEEDLINE_STAT_TEXT)
        return (double)NAN;
    x = load(row, in);
    if (((row->flags & FEEDLINE_STAT_ZERO_UNKNOWN) && x <= 0) ||
        ((row->flags & FEEDLINE_STAT_NEGATIVE_UNKNOWN) && x < 0))
        return (double)NAN;
    if (!row->over)
        return x / row->scale;
    whole = load_word(in, row->over, sizeof(whole));
    return whole ? x / (double)whole : 0;
}

/* ---- JSON --------------------------------------------------------------- */

static void json_row(struct fdl_json *j, const struct feedline_stat_info *row,
                     const char *key, const void *in)
{
    const char *text;
    double x;
    if (row->type == FEEDLINE_STAT_TEXT) {
        memcpy(&text, (const char *)in + row->offset, sizeof(text));
        fdl_json_string(j, key, text);
    } else if (isnan(x = fdl_stat_value(row, in))) {
        fdl_json_null(j, key);
    } else if (row->type == FEEDLINE_STAT_DOUBLE || row->over ||
               row->scale > 1) {
        fdl_json_double(j, key, x);
    } else if (row->type == FEEDLINE_STAT_U32) {
        fdl_json_int(j, key, (int64_t)x);
    } else {
        fdl_json_int(j, key, (int64_t)load_word(in, row->offset, 8));
    }
}

void fdl_stat_json(struct fdl_json *j, enum fdl_stat_part part, const void *in,
                   uint32_t without)
{
    char object[32] = "";
    for (uint32_t i = 0; i < parts[part].n; i++) {
        const struct feedline_stat_info *row = &parts[part].rows[i];
        const char *dot = strchr(row->name, '.');
        size_t n = dot ? (size_t)(dot - row->name) : 0;
        if (row->flags & without)
            continue;
        if (*object && (strlen(object) != n || memcmp(object, row->name, n))) {
            fdl_json_end_object(j);
            *object = '\0';
        }
        if (dot && !*object) {
            snprintf(object, sizeof(object), "%.*s", (int)n, row->name);
            fdl_json_begin_object(j, object);
        }
        json_row(j, row, dot ? dot + 1 : row->name, in);
    }
    if (*object)
        fdl_json_end_object(j);
}
