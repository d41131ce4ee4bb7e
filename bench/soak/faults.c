/* SPDX-License-Identifier: Apache-2.0 */
#include "faults.h"

#include "tests/fault/inject_device.h"

#define KIND(name) (UINT32_C(1) << INJECT_##name)

/* A file's life has seven such calls. */
#define ON_FILES                                                               \
  (KIND(OPEN) | KIND(LIMIT) | KIND(STAT) | KIND(READ) | KIND(SHORT) |          \
   KIND(EARLY_END) | KIND(SIGNAL))

/* Calls that fail, of 1,000 times one_in: what happens seldom fails often
 * enough to be seen, and what ends a run is not most of what happens. */
static const struct {
    uint32_t kinds, times;
} others[] = {
    {KIND(COMPLETION), 300},                         /* two a sample */
    {KIND(SUBMIT), 3000},    {KIND(DECODER), 20000}, /* one for each row */
    {KIND(CALLBACK), 150},   {KIND(MEMORY), 500},
    {KIND(THREAD), 30},      {KIND(NETWORK) | KIND(CLIENT), 40},
};

#define DEVICE_TIMES 500

static uint32_t rate(uint32_t one_in, uint32_t times)
{
    uint32_t one = (uint32_t)((uint64_t)one_in * times / 1000);
    return one > 2 ? one : 2;
}

void faults_begin(uint64_t seed, uint32_t one_in)
{
    inject_arm_random(ON_FILES, seed, one_in);
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
        inject_also(others[i].kinds, rate(one_in, others[i].times));
    inject_device_arm_random(seed, rate(one_in, DEVICE_TIMES));
}

void faults_end(struct faults *sum)
{
    inject_disarm();
    inject_device_disarm();
    for (uint32_t k = 1; k < INJECT_KINDS; k++)
        sum->n[k] += inject_failed_of((enum inject_kind)k);
    sum->n[INJECT_DEVICE] += inject_device_failed();
}

void faults_print(FILE *out, const struct faults *f)
{
    static const char *const names[INJECT_KINDS] = {
#define NAME(name, word, what) [INJECT_##name] = word,
        INJECT_KINDS_MAP(NAME)
#undef NAME
    };
    const char *before = "{";
    for (uint32_t k = 1; k < INJECT_KINDS; k++) {
        if (f->n[k] == 0)
            continue;
        fprintf(out, "%s\"%s\": %llu", before, names[k],
                (unsigned long long)f->n[k]);
        before = ", ";
    }
    fprintf(out, "%s}", before[0] == '{' ? "{" : "");
}

bool faults_callback(void)
{
    return MUST_FAIL(CALLBACK);
}

const char *faults_of_device(void)
{
    return inject_device_settle(false);
}
