/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fuzz target: inflate, beside zlib's. The input is a deflate stream without
 * header and checksum. It is taken if zlib takes it, whatever the instructions,
 * and makes the same bytes.
 */
#include "base/cpu.h"
#include "decode/formats/inflate.h"
#include "fuzz.h"
#include "tests/decode/zlib_verdict.h"

#include <stdlib.h>
#include <string.h>

#define ROOM (1u << 17)

static void check_level(const uint8_t *data, size_t size, const uint8_t *want,
                        const struct zlib_verdict *v)
{
    struct fdl_inflate *inflate = fdl_inflate_create();
    size_t room = v->ends ? v->size : ROOM;
    struct fdl_inflated done;
    uint8_t *out = malloc(room > 0 ? room : 1); /* and no more */
    fuzz_check(inflate && out);
    bool taken = fdl_inflate_raw(inflate, data, size, out, room, &done);
    fuzz_check(taken == v->ends);
    if (taken) {
        fuzz_check(done.read == v->read && done.made == v->size);
        fuzz_check(memcmp(out, want, v->size) == 0);
    }
    free(out);
    fdl_inflate_destroy(inflate);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint8_t *want = malloc(ROOM);
    fuzz_check(want);
    struct zlib_verdict v = zlib_verdict(data, size, want, ROOM);
    for (int level = FDL_CPU_C; level < FDL_CPU_LEVELS; level++) {
        fdl_cpu_set_level((enum fdl_cpu_level)level);
        check_level(data, size, want, &v);
    }
    free(want);
    return 0;
}
