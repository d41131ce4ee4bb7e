/* SPDX-License-Identifier: Apache-2.0 */
/* CUDA's errors in words. */
#include "base/compiler.h"
#include "base/status.h"
#include "transfer/cuda/cuda_api.h"

#include <stdio.h>

#define WORDS_CHARS 400

/* What to do, where an error has one usual cause outside of the program. */
static const struct {
    int error;
    const char *advice;
} advices[] = {
    {3, "CUDA cannot be used after a fork in a process that used it before: "
        "start the child with spawn"},
    {34, "that is the toolkit's stub and no driver: take the folder that ends "
         "in /stubs out of LD_LIBRARY_PATH"},
    {46, "another process has the GPU for itself, or its memory is not back "
         "yet: look at nvidia-smi"},
    {100, "no GPU is visible: look at CUDA_VISIBLE_DEVICES and nvidia-smi; a "
          "container needs --gpus all"},
    {101, "CUDA_VISIBLE_DEVICES may name a GPU that is not there"},
    {200, "the kernels in this library are damaged"},
    {209, "a GPU since Maxwell (sm_50) is needed"},
    {218, "the driver does not take the kernels' PTX: install a newer one"},
    {221, "libnvidia-ptxjitcompiler.so.1 of the driver is not here; a "
          "container needs NVIDIA_DRIVER_CAPABILITIES=compute,utility"},
    {222, "the driver is too old for the kernels' PTX: install a newer one"},
    {223, "take CUDA_DISABLE_PTX_JIT and CUDA_DISABLE_JIT out of the "
          "environment"},
    {802, "the system is not ready: on machines with NVSwitch (HGX, DGX) start "
          "nvidia-fabricmanager, of the driver's version"},
    {803, "libcuda.so.1 and the kernel's NVIDIA module are of different "
          "versions: reboot, or reload the module"},
    {804, "the cuda-compat package does not support this GPU: remove it from "
          "the library path, or install a newer driver"},
    {999, "the kernel module nvidia_uvm may be missing, or the GPU lost: look "
          "at nvidia-smi and dmesg"},
};

void fdl_cuda_words(const struct fdl_cuda_api *cuda, int error, char *out,
                    size_t capacity)
{
    const char *name = NULL, *text = NULL, *advice = NULL;
    if (cuda->GetErrorName(error, &name) != FDL_CUDA_SUCCESS || !name)
        name = "an error that this driver has no name for";
    if (cuda->GetErrorString(error, &text) != FDL_CUDA_SUCCESS || !text)
        text = "no text";
    for (size_t i = 0; i < FDL_COUNT_OF(advices); i++)
        if (advices[i].error == error)
            advice = advices[i].advice;
    snprintf(out, capacity, "%s (%d: %s)%s%s", name, error, text,
             advice ? "; " : "", advice ? advice : "");
}

int32_t fdl_cuda_fail(const struct fdl_cuda_api *cuda, int error,
                      const char *what)
{
    char words[WORDS_CHARS];
    fdl_cuda_words(cuda, error, words, sizeof(words));
    return fdl_fail(error == FDL_CUDA_ERROR_MEMORY ? FEEDLINE_ENOMEM
                                                   : FEEDLINE_EDEVICE,
                    "%s: %s", what, words);
}
