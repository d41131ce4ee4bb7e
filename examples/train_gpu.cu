/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The network on a GPU: a kernel gets a thread for every element it writes, and
 * all of them are queued on one stream that runs beside the loader's copies.
 * The host waits for the GPU in read() and nowhere else.
 *
 * C++ because nvcc reads nothing else; the table at the end is C's.
 */
extern "C" {
#include "train_model.h"
}

#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>

#define KERNEL static __global__ void
#define FOR_EACH(i, n)                                                         \
  for (int i = (int)(blockIdx.x * blockDim.x + threadIdx.x); i < (n);          \
       i += (int)(gridDim.x * blockDim.x))
#define THREADS 128
#define RUN(t, kernel, n, ...)                                                 \
  kernel<<<((n) + THREADS - 1) / THREADS, THREADS, 0, (t)->stream>>>(          \
      __VA_ARGS__, n)

/* Defined before the network, whose RUN looks into it. */
struct net;
struct trainer {
    cudaStream_t stream;
    struct net *net;
    float *memory; /* of the device */
    float *totals; /* of the host, pinned: two */
};

#include "train_kernels.h"

static char message[256] = "";

/* Says what did not work; true if something did not. */
static bool failed(cudaError_t error, const char *what)
{
    if (error != cudaSuccess)
        std::snprintf(message, sizeof(message), "%s: %s (%s)", what,
                      cudaGetErrorName(error), cudaGetErrorString(error));
    return error != cudaSuccess;
}

static void gpu_destroy(struct trainer *t)
{
    if (!t)
        return;
    if (t->stream) {
        cudaStreamSynchronize(t->stream);
        cudaStreamDestroy(t->stream);
    }
    cudaFree(t->memory);
    cudaFreeHost(t->totals);
    std::free(t->net);
    std::free(t);
}

/* Everything is taken here; a step takes nothing. */
static bool prepare(struct trainer *t, const struct train_config *config)
{
    size_t bytes = net_place(t->net, config, NULL) * sizeof(float);
    if (failed(cudaSetDevice(config->device), "cudaSetDevice") ||
        failed(cudaStreamCreateWithFlags(&t->stream, cudaStreamNonBlocking),
               "cudaStreamCreateWithFlags") ||
        failed(cudaMalloc((void **)&t->memory, bytes), "cudaMalloc") ||
        failed(cudaMallocHost((void **)&t->totals, 2 * sizeof(float)),
               "cudaMallocHost") ||
        failed(cudaMemsetAsync(t->memory, 0, bytes, t->stream),
               "cudaMemsetAsync"))
        return false;
    net_place(t->net, config, t->memory);

    size_t parameters = (size_t)t->net->n_parameters * sizeof(float);
    float *first = (float *)std::malloc(parameters);
    if (!first) {
        std::snprintf(message, sizeof(message), "out of memory");
        return false;
    }
    net_begin(t->net, config->seed, first);
    bool bad = failed(cudaMemcpyAsync(t->net->parameters, first, parameters,
                                      cudaMemcpyHostToDevice, t->stream),
                      "cudaMemcpyAsync") ||
               failed(cudaStreamSynchronize(t->stream), "the first copy");
    std::free(first);
    return !bad;
}

static int gpu_create(const struct train_config *config, struct trainer **out)
{
    struct trainer *t = (struct trainer *)std::calloc(1, sizeof(*t));
    if (t)
        t->net = (struct net *)std::calloc(1, sizeof(*t->net));
    if (!t || !t->net) {
        std::snprintf(message, sizeof(message), "out of memory");
    } else if (prepare(t, config)) {
        *out = t;
        return 0;
    }
    gpu_destroy(t);
    return -1;
}

static void *gpu_stream(const struct trainer *t)
{
    return t->stream;
}

static int gpu_step(struct trainer *t, const struct train_batch *b)
{
    net_step(t, t->net, b);
    return failed(cudaGetLastError(), "starting the kernels of a step") ? -1
                                                                        : 0;
}

static int gpu_read(struct trainer *t, struct train_tally *out)
{
    size_t bytes = 2 * sizeof(float);
    if (failed(cudaMemcpyAsync(t->totals, t->net->totals, bytes,
                               cudaMemcpyDeviceToHost, t->stream),
               "cudaMemcpyAsync") ||
        failed(cudaMemsetAsync(t->net->totals, 0, bytes, t->stream),
               "cudaMemsetAsync") ||
        failed(cudaStreamSynchronize(t->stream), "the steps"))
        return -1;
    out->loss = t->totals[0];
    out->hits = t->totals[1];
    return 0;
}

static const char *gpu_error(void)
{
    return message;
}

extern "C" {
extern const struct train_backend train_gpu; /* else C++ hides a constant */
const struct train_backend train_gpu = {gpu_create, gpu_destroy, gpu_stream,
                                        gpu_step,   gpu_read,    gpu_error};
}
