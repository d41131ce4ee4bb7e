/* SPDX-License-Identifier: Apache-2.0 */
/* WebP in a library that was built without libwebp: refused by name. */
#include "base/status.h"
#include "decode/webp.h"

int32_t fdl_webp_create(const struct fdl_decode_limits *limits,
                        struct fdl_webp **out)
{
    (void)limits;
    *out = NULL;
    return FEEDLINE_OK;
}

void fdl_webp_destroy(struct fdl_webp *w)
{
    (void)w;
}

int32_t fdl_webp_open(struct fdl_webp *w, const struct fdl_encoded *bytes,
                      struct fdl_image_info *info)
{
    (void)w;
    (void)bytes;
    (void)info;
    return fdl_fail(FEEDLINE_EDECODE,
                    "offset 0: this is a WebP image, and this feedline was "
                    "built without libwebp");
}

uint64_t fdl_webp_memory(const struct fdl_webp *w)
{
    (void)w;
    return 0;
}

static void abort_image(void *self)
{
    (void)self;
}

/* Nothing is ever opened, so nothing begins. */
const struct fdl_source fdl_webp_source = {.abort = abort_image};
