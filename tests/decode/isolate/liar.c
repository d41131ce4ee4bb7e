/* SPDX-License-Identifier: Apache-2.0 */
/* In place of feedline-decode: a decoder that somebody has taken over, and that
 * answers what no sound one would. The end of its name says what is wrong. */
#include "decode/formats/jpeg_entries.h"
#include "decode/isolate/isolate_call.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static const char *lie;

static bool is(const char *name)
{
    return strcmp(lie, name) == 0;
}

/* To open: an image of 64 x 48, or not. */
static void open_image(struct fdl_isolate_answer *a)
{
    a->width = is("large") ? INT32_MAX : is("empty") ? 0 : 64;
    a->height = is("large") ? INT32_MAX : is("negative") ? -48 : 48;
    a->channels = is("channels") ? 2 : 3;
    a->format = is("format") ? 77 : 0;
    a->orientation = is("orientation") ? 9 : 1;
    memset(a->mode, 'x', sizeof(a->mode));
    if (!is("mode"))
        strcpy(a->mode, "RGB");
}

static void begin(struct fdl_isolate_answer *a)
{
    a->have = (struct fdl_box){0, 0, 64, 48};
    if (is("less"))
        a->have.height = 47;
    if (is("outside"))
        a->have.width = 65;
    if (is("overflow"))
        a->have = (struct fdl_box){INT32_MIN, 0, INT32_MAX, 48};
    a->rows = is("many") ? 49 : is("none") ? 0 : is("minus") ? -1 : 48;
}

/* Notes that would be written past what the store has. */
static void note(uint8_t *area, const struct fdl_isolate_call *open)
{
    struct fdl_entry_notes *notes = (void *)(area + open->notes);
    if (!open->notes)
        return;
    notes->valid = true;
    notes->n = is("notes") ? UINT32_MAX : 1;
    notes->capacity = 2;
    notes->first = is("first") ? UINT32_MAX : 0;
}

int main(int argc, char **argv)
{
    struct fdl_isolate_answer a = {0};
    struct fdl_isolate_call call, open = {0};
    size_t most = offsetof(struct fdl_isolate_answer, text) + 1;
    if (argc != 4)
        return 2;
    int socket = atoi(argv[2]);
    off_t bytes = lseek(atoi(argv[1]), 0, SEEK_END);
    uint8_t *area = mmap(NULL, (size_t)bytes, PROT_READ | PROT_WRITE,
                         MAP_SHARED, atoi(argv[1]), 0);
    lie = strrchr(argv[0], '-') + 1;
    if (area == MAP_FAILED || write(socket, &a, most) < 0)
        return 1;
    while (read(socket, &call, sizeof(call)) == (ssize_t)sizeof(call)) {
        if (call.what == FDL_ISOLATE_OPEN) {
            open = call;
            open_image(&a);
        } else {
            begin(&a);
            note(area, &open);
        }
        a.status = is("status") ? 5 : is("words") ? -5 : 0;
        memset(a.text, '\n', sizeof(a.text));
        size_t n = is("short") ? 3 : is("words") ? sizeof(a) : most;
        if (is("silent") || write(socket, &a, n) < 0)
            return 0;
    }
    return 0;
}
