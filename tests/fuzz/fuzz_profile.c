/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fuzz target: a tuner's profile. What is kept of it has a name and ends, and a
 * number is one; what is refused is refused with a place in the text.
 */
#include "base/status.h"
#include "fuzz.h"
#include "loader/tune/profile_parse.h"

#include <stdlib.h>
#include <string.h>

static void check_value(const struct fdl_profile_values *all, uint32_t i)
{
    const struct fdl_profile_value *v = &all->all[i];
    fuzz_check(strnlen(v->name, sizeof(v->name)) < sizeof(v->name));
    fuzz_check(strnlen(v->text, sizeof(v->text)) < sizeof(v->text));
    fuzz_check(v->kind <= FDL_PROFILE_WORD);
    fuzz_check(fdl_profile_find(all, v->name));
    if (v->kind == FDL_PROFILE_NUMBER)
        fuzz_check(v->text[0] == '-' ||
                   (v->text[0] >= '0' && v->text[0] <= '9'));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct fdl_profile_values values;
    struct fuzz_input in = {data, size};
    char *text = fuzz_text(&in, FUZZ_REST);
    values.n = 0;
    int32_t status = fdl_profile_parse(text, &values);
    fuzz_check(values.n <= FDL_PROFILE_VALUES);
    if (status < 0) {
        fuzz_check_error(status);
        fuzz_check(strncmp(fdl_last_error(), "at ", 3) == 0);
    }
    for (uint32_t i = 0; status == FEEDLINE_OK && i < values.n; i++)
        check_value(&values, i);
    free(text);
    return 0;
}
