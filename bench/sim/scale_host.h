/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The job whose arithmetic docs/scale.md has: ResNet-50 on hosts of eight GPUs,
 * as MLPerf Storage emulates it. All numbers that were not computed are here,
 * with where they are from.
 */
#ifndef SIM_SCALE_HOST_H
#define SIM_SCALE_HOST_H

#include "cluster.h"

#define JOB_GPUS 8u /* of a host */

/* MLPerf Storage v2.0, resnet50_h100.yaml: 400 samples of 114,660 bytes take
 * 0.224 s. A batch of the job that is played has 128, so that 4,096 ranks
 * can be; what it does in a second is the same. */
#define JOB_IMAGES_S    (400 / 0.224)
#define JOB_IMAGE_BYTES 114660u
#define JOB_BATCH       400u
#define JOB_PLAYED      128u

/* A sample of 224 x 224, three channels of a byte. */
#define JOB_PIXELS 150528u

/* Cores of a DGX H100 (2 x 56), and images that one of them loads in a second:
 * measured on 2026-11-21 on a busy machine; bench/results/ has newer and better
 * ones. 1.8 times as many with packed images. */
#define JOB_CORES      112u
#define JOB_CORE_S     966.0
#define JOB_PACKED     1.8
#define JOB_TORCH_PART 4.1 /* README.md: torch's loader at its best */

/* An exchange of gradients that is not hidden behind the backward pass; assumed
 * to be a twentieth of a step. */
#define JOB_EXCHANGE_PART 0.05

/* Storage: AWS's words on S3: 5,500 GET per second and prefix, first byte after
 * tens of ms, typical ranges of 8 to 16 MB, a p99 of "well over 400 ms" under
 * load; here 30 ms, and one read in a thousand 400 ms more. */
#define JOB_PREFIX_S     5500.0
#define JOB_RANGE_BYTES  (8u << 20)
#define JOB_FIRST_BYTE   0.030
#define JOB_LATE         0.400
#define JOB_LATE_PART    0.001
#define JOB_DISK_LATENCY 0.001 /* a parallel file system's, assumed */
#define JOB_PORT         25e9  /* bytes per second: 200 Gbit/s */
#define JOB_PER_GBIT     2.5   /* requests in flight: AnyBlob, aws-c-s3 */

/* Ranks tell each other what their tuners know once a second, and less often
 * where there are more than 1,024 (docs/tuner.md). */
#define JOB_TELLS 1.0

/* Interruptions that nobody had planned: 419 in 54 days on 16,384 GPUs (The
 * Llama 3 Herd of Models, section 3.3.4). */
#define JOB_BREAKS_PER_GPU_DAY (419.0 / 54 / 16384)

/* s to find out and to start anew, and to save the network; assumed. */
#define JOB_RESTART 60.0
#define JOB_SAVE    30.0

/* Hosts of such a job, their reads behind an object store or a file system;
 * 1 to 7 ranks: one host of so many. 96 steps, and 32 with more than 512 ranks,
 * so that they take minutes. */
struct sim_cluster job_of(uint32_t ranks, bool object_store);

/* Samples per second that so many ranks would take if they never waited. */
double job_asks(uint32_t ranks);

#endif
