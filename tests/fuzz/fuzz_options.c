/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fuzz target: option text, "a=1 b=2:3", as operations and programs take it.
 *
 *     1 byte     which table: the loader's, one with every type, or that of an
 *                operation
 *     the rest   the text
 *
 * Whatever is accepted lies in the ranges of the table; what is refused changes
 * nothing; and the text sets the same values a second time.
 */
#include "base/option.h"
#include "base/option_parse.h"
#include "decode/ops/op.h"
#include "decode/pipeline.h"
#include "fuzz.h"
#include "loader/options.h"
#include "tests/base/option_table.h"

#include <stdlib.h>
#include <string.h>

static void make_options(uint8_t which, struct fdl_options *o)
{
    const struct fdl_option *table = fdl_loader_options;
    uint32_t n = FDL_LOADER_OPTIONS, n_operations = 0;
    while (fdl_op_at(n_operations))
        n_operations++;
    which = (uint8_t)(which % (2 + n_operations));
    if (which == 1) {
        table = test_table;
        n = N_ROWS;
    } else if (which > 1) {
        table = fdl_op_at(which - 2u)->options;
        n = fdl_op_at(which - 2u)->n_options;
    }
    fuzz_check(fdl_options_init(o, "fuzz", table, n) == FEEDLINE_OK);
}

static void check_choice(const struct fdl_option *row, int64_t value)
{
    char name[64];
    struct fdl_option_value parsed;
    fdl_option_choice(row, value, name, sizeof(name));
    fuzz_check(fdl_option_parse(row, name, &parsed) == FEEDLINE_OK);
    fuzz_check(parsed.number == value);
}

static void check_value(const struct fdl_option *row,
                        const struct fdl_option_value *v)
{
    switch (row->type) {
    case FEEDLINE_T_DOUBLE:
    case FEEDLINE_T_DOUBLES:
        fuzz_check(v->n_doubles >= 1 && v->n_doubles <= FDL_OPTION_DOUBLES);
        for (uint32_t i = 0; i < v->n_doubles; i++)
            fuzz_check(isfinite(v->doubles[i]) &&
                       v->doubles[i] >= row->double_min &&
                       v->doubles[i] <= row->double_max);
        break;
    case FEEDLINE_T_STRING:
        fuzz_check(v->text);
        break;
    case FEEDLINE_T_ENUM:
        check_choice(row, v->number);
        break;
    case FEEDLINE_T_BOOL:
        if (row->choices)
            check_choice(row, v->number);
        else
            fuzz_check(v->number == 0 || v->number == 1);
        break;
    default:
        fuzz_check(fdl_option_check_number(row, v->number) == FEEDLINE_OK);
        break;
    }
}

static void check_same(const struct fdl_options *o, const char *json)
{
    char *now = fuzz_options_json(o);
    fuzz_check(strcmp(now, json) == 0);
    free(now);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_input in = {data, size};
    struct fdl_options o;
    make_options(fuzz_byte(&in), &o);
    char *text = fuzz_text(&in, FUZZ_REST);
    char *before = fuzz_options_json(&o);

    int32_t status = fdl_options_set_args(&o, text);
    if (status != FEEDLINE_OK) {
        fuzz_check_error(status);
        check_same(&o, before);
    } else {
        for (uint32_t i = 0; i < o.n; i++)
            check_value(&o.table[i], fdl_option_value(&o, i));
        char *after = fuzz_options_json(&o);
        fuzz_check(fdl_options_set_args(&o, text) == FEEDLINE_OK);
        check_same(&o, after);
        free(after);
    }
    free(before);
    free(text);
    fdl_options_fini(&o);
    return 0;
}
