/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fuzz target: a name that means many shards, and options behind it. What is
 * listed of a text so short takes little memory and names no file twice as
 * long; a list that is refused says why.
 */
#include "fuzz.h"
#include "loader/index/index_format.h"
#include "loader/index/spec.h"

#include <stdlib.h>
#include <string.h>

#define MOST_BYTES (UINT64_C(256) << 20) /* of all names together */

static void check_path(const char *text)
{
    static const char *const endings[] = {".tar", NULL};
    struct fdl_string_list list = {0};
    int32_t status = fdl_shard_list_find(&list, text, endings);
    if (status < 0)
        fuzz_check_error(status);
    fuzz_check(list.text.bytes <= MOST_BYTES);
    for (uint64_t i = 0; i < list.n; i++)
        fuzz_check(list.at[i] < list.text.bytes);
    fdl_string_list_free(&list);
}

/* Every option that is told is in the text, and they are told in its order. */
static void check_spec(char *text)
{
    size_t whole = strlen(text), path = fdl_spec_path_bytes(text);
    fuzz_check(path <= whole);
    char *rest = fdl_spec_cut(text);
    fuzz_check(strlen(text) == path);
    for (char *at = text, *next; (next = fdl_spec_next(&rest)); at = next)
        fuzz_check(next > at && next + strlen(next) <= text + whole);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_input in = {data, size};
    char *text = fuzz_text(&in, FUZZ_REST);
    setenv("WDS_NAME", "a{0..2}", 1);
    if (!strstr(text, "://")) /* which would be asked for */
        check_path(text);
    check_spec(text);
    free(text);
    return 0;
}
