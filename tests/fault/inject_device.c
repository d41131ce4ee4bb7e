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
static uint64_t failed, failed_before;

void inject_device_arm(uint32_t n, bool lasting)
{
    failed_before = double_failed();
    for (size_t i = 0; i < FDL_COUNT_OF(functions); i++) {
        if (n <= calls[i]) {
            double_fail(functions[i], n, UNKNOWN_ERROR, lasting);
            return;
        }
        n -= (uint32_t)calls[i];
    }
}

void inject_device_arm_random(uint64_t seed, uint32_t one_in)
{
    failed_before = double_failed();
    double_fail_by_chance(one_in, seed, UNKNOWN_ERROR);
}

void inject_device_disarm(void)
{
    failed = double_failed() - failed_before;
    double_fail_no_more();
}

uint32_t inject_device_failed(void)
{
    return (uint32_t)failed;
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

void inject_device_arm_random(uint64_t seed, uint32_t one_in)
{
    (void)seed;
    (void)one_in;
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
