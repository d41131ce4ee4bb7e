/* SPDX-License-Identifier: Apache-2.0 */
/* What shuffle=block would do with this data set, beside other shuffles. */
#include "tools/loaderbench/doc.h"
#include "tools/loaderbench/scan/scan.h"
#include "tools/loaderbench/tool.h"

#include <feedline/shuffle.h>

#include <math.h>

#define POOR 1.5 /* the loader warns above it */

static json_t *number(double value)
{
    return isnan(value) ? json_null() : json_real(value);
}

json_t *scan_mixing(const struct scan *s, const feedline_config *config)
{
    struct feedline_mixing m = {.struct_size = sizeof(m)};
    if (feedline_dataset_get_mixing(s->data, config, &m) < 0)
        return NULL;
    return json_pack(
        "{s:I,s:I,s:I,s:I,s:o,s:f,s:f,s:f,s:f,s:f,s:I,s:o}", "batch",
        (json_int_t)m.batch, "block", (json_int_t)m.block, "lanes",
        (json_int_t)m.lanes, "bytes", (json_int_t)m.bytes, "variance",
        number(m.variance), "variance_most", m.variance_most, "blocks",
        m.blocks, "blocks_full", m.blocks_full, "same_block", m.same_block,
        "same_block_full", m.same_block_full, "buffer", (json_int_t)m.buffer,
        "buffer_variance", number(m.buffer_variance));
}

static void print_row(const char *name, const json_t *variance)
{
    printf("  %-32s", name);
    if (json_is_number(variance))
        printf("%8.2f\n", json_number_value(variance));
    else
        printf("%8s\n", "-");
}

void scan_print_mixing(const json_t *mixing)
{
    char name[64];
    if (!json_is_object(mixing))
        return;
    const json_t *variance = doc_at(mixing, "variance");
    printf("\nShuffled, batches of %lld: label variance, 1.00 is best "
           "(docs/shuffle.md)\n",
           (long long)doc_int(mixing, "batch"));
    printf("  %-32s%8.2f\n", "shuffle=true", 1.0);
    snprintf(name, sizeof(name), "shuffle=block block=%lld lanes=%lld",
             (long long)doc_int(mixing, "block"),
             (long long)doc_int(mixing, "lanes"));
    print_row(name, variance);
    snprintf(name, sizeof(name), "a buffer of %lld samples",
             (long long)doc_int(mixing, "buffer"));
    print_row(name, doc_at(mixing, "buffer_variance"));
    printf("  a batch has samples of %.1f blocks; shuffled fully, of %.1f\n",
           doc_or_0(mixing, "blocks"), doc_or_0(mixing, "blocks_full"));
    if (doc_int(mixing, "bytes") > 0)
        printf("  the blocks of two groups take %.0f MB of page cache\n",
               2e-6 * doc_or_0(mixing, "bytes"));
    if (json_number_value(variance) > POOR)
        printf("  too few lanes for a shuffle: use more, smaller blocks, or "
               "write the\n  samples in random order once\n");
}
