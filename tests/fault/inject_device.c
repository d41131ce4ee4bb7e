/* SPDX-License-Identifier: Apache-2.0 */
#include "inject_device.h"

#ifdef FAULT_LIBCUDA

#  include "base/compiler.h"
#  include "tests/transfer/cuda_double.h"

#  define UNKNOWN_ERROR 999

static const char *const functions[] = {
#  define NAME(name, version, parameters) "cu" #  name,
    FDL_CUDA_FUNCTIONS(NAME) FDL_CUDA_POOL_FUNCTIONS(NAME)
#  undef NAME
};

static uint64_t calls[FDL_COUNT_OF(functions)]; /* of a life */
static const char *armed;
static uint64_t armed_at;
static bool reached;

void inject_device_arm(uint32_t n, bool lasting)
{
    armed = NULL;
    reached = false;
    for (size_t i = 0; i < FDL_COUNT_OF(functions); i++) {
        if (n <= calls[i]) {
            armed = functions[i];
            armed_at = n;
            double_fail(armed, n, UNKNOWN_ERROR, lasting);
            return;
        }
        n -= (uint32_t)calls[i];
    }
}

void inject_device_disarm(void)
{
    reached |= armed && double_calls(armed) >= armed_at;
    armed = NULL;
    double_fail_no_more();
}

uint32_t inject_device_failed(void)
{
    return reached;
}

uint32_t inject_device_calls(void)
{
    uint64_t n = 0;
    for (size_t i = 0; i < FDL_COUNT_OF(functions); i++)
        n += calls[i];
    return (uint32_t)n;
}

const char *inject_device_settle(bool learns)
{
    static char text[1024];
    double_drain();
    double_check_leaks();
    uint64_t faults = double_faults(text, sizeof(text));
    for (size_t i = 0; learns && i < FDL_COUNT_OF(functions); i++)
        calls[i] = double_calls(functions[i]);
    double_reset();
    return faults > 0 ? text : NULL;
}

#else

void inject_device_arm(uint32_t n, bool lasting)
{
    (void)n;
    (void)lasting;
}

void inject_device_disarm(void)
{
}

uint32_t inject_device_failed(void)
{
    return 0;
}

uint32_t inject_device_calls(void)
{
    return 0;
}

const char *inject_device_settle(bool learns)
{
    (void)learns;
    return "the library has no CUDA";
}

#endif
