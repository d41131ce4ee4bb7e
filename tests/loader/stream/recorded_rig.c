/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/loader/stream/recorded_rig.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>

#define MIX UINT64_C(0x9e3779b97f4a7c15)

/* ---- Files and their pixels ---------------------------------------------- */

static void write_pack(struct recorded_rig *rig)
{
    const struct fixture *f = &rig->fixture;
    uint64_t at = 3; /* no part begins at 0 */
    snprintf(rig->pack, sizeof(rig->pack), "%s/pack", f->folder);
    FILE *file = fopen(rig->pack, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite("abc", 1, 3, file), 3);
    for (uint32_t i = 0; i < RECORDED_N; i++) {
        assert_int_equal(fwrite(f->data[i], 1, f->sizes[i], file), f->sizes[i]);
        rig->pack_at[i] = at;
        at += f->sizes[i];
    }
    assert_int_equal(fclose(file), 0);
}

/* By a loader that leaves images as they are. */
static void decode(struct recorded_rig *rig)
{
    feedline_loader *l =
        fixture_with(rig->fixture.ds, NULL, "",
                     "batch_size=1 dtype=u8 layout=nhwc max_sample_bytes=40k "
                     "epochs=1 shuffle=false");
    for (uint32_t i = 0; i < RECORDED_N; i++) {
        size_t bytes;
        feedline_batch *b = fixture_next(l);
        struct feedline_batch_info info = fixture_info(b);
        const uint8_t *pixels = fixture_image(&info, 0, &bytes);
        rig->height[i] = info.image_size[0][0];
        rig->width[i] = info.image_size[0][1];
        rig->pixels[i] = malloc(bytes);
        assert_non_null(rig->pixels[i]);
        memcpy(rig->pixels[i], pixels, bytes);
        feedline_batch_release(b);
    }
    feedline_loader_destroy(l);
}

/* ---- The program --------------------------------------------------------- */

static uint32_t below(uint64_t *state, uint32_t n)
{
    *state = (*state ^ (*state >> 29)) * MIX + 1;
    return (uint32_t)(*state >> 33) % n;
}

static void draw_image(const struct recorded_rig *rig, uint64_t *state,
                       uint32_t image, struct recorded_image *out)
{
    int32_t w = rig->width[image], h = rig->height[image];
    *out = (struct recorded_image){
        .image = image,
        .width = 1 + (int32_t)below(state, (uint32_t)w),
        .height = 1 + (int32_t)below(state, (uint32_t)h),
        .mirrored = below(state, 2),
        .scaled = below(state, 2),
        .nhwc = below(state, 2),
    };
    out->left = (int32_t)below(state, (uint32_t)(w - out->width + 1));
    out->top = (int32_t)below(state, (uint32_t)(h - out->height + 1));
    out->bytes = (uint64_t)out->width * (uint64_t)out->height * 3 *
                 (out->scaled ? sizeof(float) : 1);
    out->out = malloc(out->bytes);
}

static uint32_t write_steps(const struct recorded_image *from,
                            struct feedline_recorded_step *steps)
{
    uint32_t n = 0;
    steps[n++] = (struct feedline_recorded_step){
        .op = FEEDLINE_STEP_CROP,
        .n = 4,
        .value = {from->left, from->top, from->left + from->width,
                  from->top + from->height}};
    if (from->mirrored)
        steps[n++] = (struct feedline_recorded_step){
            .op = FEEDLINE_STEP_TRANSPOSE, .n = 1};
    if (from->scaled)
        steps[n++] = (struct feedline_recorded_step){.op = FEEDLINE_STEP_SCALE};
    return n;
}

void recorded_see(struct feedline_recorded_image *image)
{
    struct stat now;
    /* Not stat(), which tests let fail. */
    assert_int_equal(fstatat(AT_FDCWD, image->path, &now, 0), 0);
    image->seen_inode = now.st_ino;
    image->seen_bytes = (uint64_t)now.st_size;
    image->seen_ctime_ns =
        (int64_t)now.st_ctim.tv_sec * 1000000000 + now.st_ctim.tv_nsec;
}

/* Bytes that stay as long as the output does, which they lie behind. false: no
 * memory. */
static bool keep_bytes(const struct recorded_rig *rig, uint32_t image,
                       struct recorded_image *from,
                       struct feedline_recorded_image *out)
{
    size_t n = rig->fixture.sizes[image];
    uint8_t *both = realloc(from->out, from->bytes + n);
    if (!both)
        return false;
    from->out = both;
    out->out = both;
    out->data = memcpy(both + from->bytes, rig->fixture.data[image], n);
    out->length = (int64_t)n;
    out->data_stays = 1;
    return true;
}

/* kind: where its bytes are. */
static void name_bytes(const struct recorded_rig *rig, uint32_t kind,
                       uint32_t image, struct feedline_recorded_image *out)
{
    out->length = (int64_t)rig->fixture.sizes[image];
    if (kind == 0) {
        out->data = rig->fixture.data[image];
    } else if (kind == 1) {
        out->path = rig->pack;
        out->offset = rig->pack_at[image];
        if (image == RECORDED_N - 1)
            out->length = -1;
    } else {
        out->path = rig->paths[image];
        out->length = -1;
    }
    if (out->path)
        recorded_see(out);
}

static void forget(struct recorded_sample *s)
{
    for (uint32_t i = 0; i < s->n; i++)
        free(s->images[i].out);
    *s = (struct recorded_sample){.n = 0};
}

static int32_t read_sample(struct feedline_read_call *call)
{
    struct recorded_rig *rig = call->context;
    struct feedline_recorded_step steps[RECORDED_IMAGES][3];
    struct feedline_recorded_image images[RECORDED_IMAGES];
    struct recorded_sample *s = &rig->samples[call->ticket][call->place];
    forget(s); /* of a sample that is replaced by this one */
    uint64_t state =
        (call->index * 977 + call->epoch * 31 + call->copy + 1) * MIX;
    *s = (struct recorded_sample){.index = call->index,
                                  .epoch = call->epoch,
                                  .copy = call->copy,
                                  .read = true,
                                  .n = below(&state, RECORDED_IMAGES + 1)};
    for (uint32_t i = 0; i < s->n; i++) {
        struct recorded_image *from = &s->images[i];
        uint32_t image = (uint32_t)(call->index + (i == 2)) % RECORDED_N;
        draw_image(rig, &state, image, from);
        if (!from->out)
            return feedline_read_fail(call, FEEDLINE_ENOMEM, "no memory");
        images[i] = (struct feedline_recorded_image){
            .struct_size = sizeof(images[i]),
            .n_steps = write_steps(from, steps[i]),
            .steps = steps[i],
            .out = from->out,
            .out_bytes = from->bytes,
            .dtype = from->scaled ? FEEDLINE_F32 : FEEDLINE_U8,
            .nhwc = from->nhwc,
            .channels = 3,
            .height = from->height,
            .width = from->width,
        };
        uint32_t kind = (uint32_t)(call->index + i / 2) % 4;
        if (kind != 3)
            name_bytes(rig, kind, image, &images[i]);
        else if (!keep_bytes(rig, image, from, &images[i]))
            return feedline_read_fail(call, FEEDLINE_ENOMEM, "no memory");
    }
    return rig->read ? rig->read(call, images, s->n)
                     : feedline_read_recorded(call, images, s->n);
}

/* ---- Life ---------------------------------------------------------------- */

void recorded_open(struct recorded_rig *rig)
{
    memset(rig, 0, sizeof(*rig));
    fixture_create(&rig->fixture, RECORDED_N);
    for (uint32_t i = 0; i < RECORDED_N; i++)
        fixture_path(&rig->fixture, i, rig->paths[i], sizeof(rig->paths[i]));
    write_pack(rig);
    decode(rig);
    rig->source = (struct feedline_source){
        .struct_size = sizeof(rig->source),
        .flags = FEEDLINE_SOURCE_RECORDED,
        .name = "crops",
        .count = RECORDED_N,
        .read = read_sample,
        .context = rig,
        .labels = rig->fixture.labels,
    };
}

void recorded_close(struct recorded_rig *rig)
{
    recorded_forget(rig);
    for (uint32_t i = 0; i < RECORDED_N; i++)
        free(rig->pixels[i]);
    fixture_remove(&rig->fixture);
}

feedline_dataset *recorded_dataset(struct recorded_rig *rig)
{
    feedline_dataset *ds = NULL;
    assert_ok(feedline_dataset_open_source(&rig->source, &ds));
    return ds;
}

feedline_loader *recorded_loader(feedline_dataset *ds, const char *options)
{
    return fixture_with(ds, NULL, "", "batch_size=%u seed=5 %s", RECORDED_BATCH,
                        options);
}

void recorded_forget(struct recorded_rig *rig)
{
    for (uint32_t t = 0; t < RECORDED_TICKETS; t++)
        for (uint32_t i = 0; i < RECORDED_BATCH; i++)
            forget(&rig->samples[t][i]);
}

/* ---- What came of it ----------------------------------------------------- */

static void check_pixel(const struct recorded_image *m, int32_t c, int32_t y,
                        int32_t x, uint8_t expected)
{
    int64_t at = m->nhwc ? ((int64_t)y * m->width + x) * 3 + c
                         : ((int64_t)c * m->height + y) * m->width + x;
    if (m->scaled) {
        float got = ((const float *)m->out)[at];
        if (got != (float)expected / 255.0f)
            fail_msg("image %u: %g, not %u / 255", m->image, (double)got,
                     expected);
    } else {
        assert_int_equal(((const uint8_t *)m->out)[at], expected);
    }
}

static void check_image(const struct recorded_rig *rig,
                        const struct recorded_image *m)
{
    const uint8_t *pixels = rig->pixels[m->image];
    for (int32_t y = 0; y < m->height; y++) {
        for (int32_t x = 0; x < m->width; x++) {
            int32_t from = m->mirrored ? m->width - 1 - x : x;
            int64_t at =
                (int64_t)(m->top + y) * rig->width[m->image] + m->left + from;
            for (int32_t c = 0; c < 3; c++)
                check_pixel(m, c, y, x, pixels[3 * at + c]);
        }
    }
}

uint32_t recorded_check(struct recorded_rig *rig, feedline_batch *b,
                        uint64_t ticket)
{
    struct feedline_batch_info info = fixture_info(b);
    uint32_t failed = 0;
    for (uint32_t i = 0; i < info.count; i++) {
        struct recorded_sample *s = &rig->samples[ticket][i];
        assert_true(s->read);
        assert_int_equal(s->index, info.sample_index[i]);
        assert_int_equal(s->epoch, info.epoch);
        bool ok = info.sample_status[i] >= 0;
        failed += !ok;
        for (uint32_t k = 0; k < s->n && ok; k++, rig->compared++)
            check_image(rig, &s->images[k]);
        forget(s); /* what is written now is written to freed memory */
    }
    feedline_batch_release(b);
    return failed;
}

uint32_t recorded_run(struct recorded_rig *rig, feedline_loader *l,
                      uint32_t epochs)
{
    uint32_t ends = 0, failed = 0;
    for (uint64_t ticket = 0; ends < epochs;) {
        feedline_batch *b = fixture_next(l);
        if (b)
            failed += recorded_check(rig, b, ticket++);
        else
            ends++;
    }
    assert_true(rig->compared > 0);
    return failed;
}
