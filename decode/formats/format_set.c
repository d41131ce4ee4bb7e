/* SPDX-License-Identifier: Apache-2.0 */
#include "decode/formats/format_set.h"

#include "base/status.h"

#include <stddef.h>

int32_t fdl_format_set_init(struct fdl_format_set *s,
                            const struct fdl_decode_limits *limits,
                            const struct fdl_deadline *deadline)
{
    int32_t status = FEEDLINE_OK;
    for (size_t i = 0; i < FDL_FORMAT_COUNT && !status; i++) {
        if (fdl_formats[i]->create)
            status = fdl_formats[i]->create(limits, deadline, &s->self[i]);
    }
    return status;
}

void fdl_format_set_fini(struct fdl_format_set *s)
{
    for (size_t i = 0; i < FDL_FORMAT_COUNT; i++) {
        if (fdl_formats[i]->destroy)
            fdl_formats[i]->destroy(s->self[i]);
    }
    *s = (struct fdl_format_set){0};
}

int32_t fdl_format_set_open(struct fdl_format_set *s,
                            const struct fdl_encoded *bytes,
                            const struct fdl_format **format, void **self,
                            struct fdl_image_info *info)
{
    const struct fdl_format *f = bytes->format;
    *format = NULL;
    if (!f) {
        int32_t status = fdl_format_find(bytes->data, bytes->size, &f);
        if (status)
            return status;
    }
    *format = f;
    *self = s->self[fdl_format_number(f)];
    int32_t status = f->open(*self, bytes, info);
    info->format = f;
    return status;
}

uint64_t fdl_format_set_memory(const struct fdl_format_set *s)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < FDL_FORMAT_COUNT; i++) {
        if (fdl_formats[i]->memory)
            sum += fdl_formats[i]->memory(s->self[i]);
    }
    return sum;
}
