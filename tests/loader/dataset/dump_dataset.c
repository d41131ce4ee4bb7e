/* SPDX-License-Identifier: Apache-2.0 */
/* dump_dataset URI: every sample as path, TAB, label, NUL, in order. A path may
 * contain a line end, but no NUL. */
#include "loader/dataset/dataset.h"

#include <inttypes.h>
#include <stdio.h>

int main(int argc, char **argv)
{
    feedline_dataset *ds = NULL;
    if (argc != 2 || fdl_dataset_open_uri(argv[1], &ds) != FEEDLINE_OK) {
        fprintf(stderr, "%s\n", argc == 2 ? fdl_last_error() : "one URI");
        return 1;
    }
    for (uint64_t i = 0; i < ds->count; i++) {
        struct fdl_source source;
        fdl_dataset_get(ds, i, &source);
        printf("%s\t%" PRId64 "%c", source.path, fdl_dataset_label(ds, i), 0);
    }
    fdl_dataset_unref(ds);
    return 0;
}
