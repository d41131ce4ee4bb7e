/* SPDX-License-Identifier: Apache-2.0 */
/* Public functions: the loader. */
#include "base/compiler.h"
#include "base/philox.h"
#include "loader/api/api.h"
#include "loader/dataset/dataset_objects.h"
#include "loader/loader.h"
#include "loader/order/given.h"
#include "loader/order/sampler.h"
#include "loader/order/state.h"
#include "loader/stream/ring.h"

#include <feedline/draws.h>
#include <feedline/exchange.h>
#include <feedline/order.h>

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* What a program that gives the order would contradict. */
static int32_t need_own_order(const feedline_loader *l, const char *call)
{
    if (!fdl_engine_given(l->engine))
        return FEEDLINE_OK;
    return fdl_fail(FEEDLINE_ESTATE,
                    "%s is not for order=given: feedline_loader_begin "
                    "begins an epoch",
                    call);
}

/* ---- Life --------------------------------------------------------------- */

static int32_t create(const feedline_config *cfg, feedline_dataset *ds,
                      const feedline_pipeline *p, feedline_loader **out)
{
    const struct fdl_backend_ops *ops;
    const char *device = fdl_option_text(&cfg->options, FDL_OPT_DEVICE);
    struct fdl_backend_config config = {.device = 0};
    int32_t status = fdl_backend_find(device, &ops, &config.device);
    if (status < 0)
        return status;
    return fdl_loader_create(&cfg->options, ds, p->pipeline, ops, &config, out);
}

int32_t feedline_loader_create(const feedline_config *cfg, feedline_dataset *ds,
                               const feedline_pipeline *p,
                               feedline_loader **out)
{
    feedline_config *defaults = NULL;
    int32_t status = fdl_api_enter_out(out);
    if (status >= 0)
        status = fdl_api_enter_dataset(ds);
    if (status >= 0)
        status = fdl_api_enter_pipeline(p);
    if (status >= 0 && cfg)
        status = fdl_api_enter_config(cfg);
    if (status >= 0 && !cfg)
        status = feedline_config_create(&defaults);
    if (status >= 0)
        status = create(cfg ? cfg : defaults, ds, p, out);
    feedline_config_destroy(defaults);
    return status;
}

int32_t feedline_loader_start(feedline_loader *l, uint64_t epoch)
{
    int32_t status = fdl_api_enter_engine(l);
    if (status >= 0)
        status = need_own_order(l, "start");
    if (status < 0)
        return status;
    if (fdl_consumer_stands_at(l->engine, epoch))
        return FEEDLINE_OK;
    return fdl_loader_begin(l, epoch, 0);
}

/* Nobody started it, or a restart failed: it goes on where it stands. */
static int32_t begin_here(feedline_loader *l)
{
    uint64_t epoch, position;
    if (!fdl_consumer_may_begin(l->engine))
        return FEEDLINE_OK;
    fdl_consumer_position(l->engine, &epoch, &position);
    return fdl_loader_begin(l, epoch, position);
}

FDL_HOT int32_t feedline_loader_next(feedline_loader *l, int64_t timeout_ns,
                                     feedline_batch **out)
{
    int32_t status = fdl_api_enter_out(out);
    if (status >= 0)
        status = fdl_api_enter_engine(l);
    if (status >= 0)
        status = begin_here(l);
    return status < 0 ? status : fdl_consumer_next(l->engine, timeout_ns, out);
}

int32_t feedline_loader_set_stream(feedline_loader *l, void *stream)
{
    int32_t status = fdl_api_enter_engine(l);
    if (status >= 0)
        fdl_consumer_set_stream(l->engine, stream);
    return status;
}

int32_t feedline_loader_interrupt(feedline_loader *l)
{
    /* No error line: this may be a signal handler. */
    if (!l)
        return FEEDLINE_EINVAL;
    if (l->fork_generation != fdl_fork_generation())
        return FEEDLINE_EFORK;
    fdl_consumer_interrupt(l->engine);
    return FEEDLINE_OK;
}

int32_t feedline_loader_stop(feedline_loader *l)
{
    int32_t status = fdl_api_enter_loader(l);
    if (status < 0)
        return status;
    fdl_consumer_stop(l->engine);
    return FEEDLINE_OK;
}

void feedline_loader_destroy(feedline_loader *l)
{
    if (l && l->fork_generation == fdl_fork_generation())
        fdl_loader_destroy(l);
}

/* ---- Options ------------------------------------------------------------ */

int32_t feedline_loader_set_int(feedline_loader *l, const char *key,
                                int64_t value)
{
    uint32_t row;
    int32_t status = fdl_api_enter_engine(l);
    if (status >= 0)
        status = fdl_api_enter(key, "key");
    if (status >= 0)
        status = fdl_options_find(fdl_engine_options(l->engine), key, &row);
    return status < 0 ? status : fdl_control_set_knob(l->control, row, value);
}

int32_t feedline_loader_get_int(const feedline_loader *l, const char *key,
                                int64_t *out)
{
    int32_t status = fdl_api_enter_loader(l);
    if (status >= 0)
        status = fdl_api_enter(key, "key");
    if (status >= 0)
        status = fdl_api_enter(out, "out");
    return status < 0 ? status : fdl_engine_value(l->engine, key, out);
}

int32_t feedline_loader_config_json(const feedline_loader *l, char *buf,
                                    uint64_t capacity, uint64_t *needed)
{
    struct fdl_json j;
    int32_t status = fdl_api_enter_loader(l);
    if (status < 0)
        return status;
    fdl_json_init(&j, buf, capacity);
    status = fdl_engine_config_json(l->engine, &j);
    return status < 0 ? status : fdl_json_finish(&j, needed);
}

int32_t feedline_loader_get_epoch_info(const feedline_loader *l,
                                       struct feedline_epoch_info *out)
{
    int32_t status = fdl_api_enter_engine(l);
    if (status < 0)
        return status;
    const struct fdl_sampler *s = fdl_engine_sampler(l->engine);
    const struct fdl_layout *layout = &fdl_engine_ring(l->engine)->kind.layout;
    struct feedline_epoch_info info = {
        .samples = s->samples,
        .batches = s->batches,
        .views = layout->views,
        .batch_bytes = layout->bytes,
    };
    fdl_batch_shape(layout, layout->batch_size, info.shape);
    return fdl_copy_out(out, &info, sizeof(info));
}

/* ---- Position ----------------------------------------------------------- */

int32_t feedline_loader_get_position(const feedline_loader *l, uint64_t *epoch,
                                     uint64_t *position)
{
    int32_t status = fdl_api_enter_engine(l);
    if (status >= 0)
        status = fdl_api_enter(epoch, "epoch");
    if (status >= 0)
        status = fdl_api_enter(position, "position");
    if (status >= 0)
        fdl_consumer_position(l->engine, epoch, position);
    return status;
}

int32_t feedline_loader_set_position(feedline_loader *l, uint64_t epoch,
                                     uint64_t position)
{
    int32_t status = fdl_api_enter_engine(l);
    if (status >= 0)
        status = need_own_order(l, "set_position");
    return status < 0 ? status : fdl_loader_begin(l, epoch, position);
}

int32_t feedline_loader_save(const feedline_loader *l, char *buf,
                             uint64_t capacity, uint64_t *needed)
{
    struct fdl_state state;
    int32_t status = fdl_api_enter_engine(l);
    if (status >= 0)
        status = fdl_api_enter(needed, "needed");
    if (status >= 0 && fdl_engine_given(l->engine))
        status = fdl_fail(FEEDLINE_ESTATE,
                          "with order=given the program owns the order: save "
                          "its state and the result of get_position");
    if (status < 0)
        return status;
    fdl_consumer_state(l->engine, &state);
    return fdl_state_write(&state, buf, capacity, needed);
}

int32_t feedline_loader_restore(feedline_loader *l, const char *state)
{
    struct fdl_state saved, here;
    int32_t status = fdl_api_enter_engine(l);
    if (status >= 0)
        status = fdl_api_enter(state, "state");
    if (status >= 0)
        status = need_own_order(l, "restore");
    if (status >= 0)
        status = fdl_state_read(state, &saved);
    if (status < 0)
        return status;
    fdl_consumer_state(l->engine, &here);
    status = fdl_state_check(&saved, &here);
    if (status < 0)
        return status;
    return fdl_loader_begin(l, saved.epoch, saved.position);
}

/* ---- An order of the program's ------------------------------------------ */

static int32_t enter_given(const feedline_loader *l)
{
    int32_t status = fdl_api_enter_engine(l);
    if (status < 0 || fdl_engine_given(l->engine))
        return status;
    return fdl_fail(FEEDLINE_ESTATE,
                    "the loader makes its own order; create it with "
                    "order=given to supply one");
}

int32_t feedline_loader_begin(feedline_loader *l, uint64_t epoch, uint64_t seed,
                              uint64_t position)
{
    int32_t status = enter_given(l);
    return status < 0 ? status
                      : fdl_loader_begin_given(l, epoch, seed, position);
}

int32_t feedline_loader_append(feedline_loader *l, const uint64_t *indices,
                               const uint32_t *copies, uint32_t count)
{
    int32_t status = enter_given(l);
    if (status >= 0)
        status = fdl_api_enter(indices, "indices");
    return status < 0 ? status
                      : fdl_consumer_append(l->engine, indices, copies, count);
}

int32_t feedline_loader_end(feedline_loader *l)
{
    int32_t status = enter_given(l);
    if (status >= 0)
        status = fdl_consumer_check_run(l->engine);
    if (status >= 0)
        fdl_given_end(fdl_engine_given(l->engine));
    return status;
}

/* ---- Batches to come ---------------------------------------------------- */

int32_t feedline_loader_peek(feedline_loader *l, uint32_t ahead,
                             feedline_batch **out)
{
    int32_t status = fdl_api_enter_out(out);
    if (status >= 0)
        status = fdl_api_enter_engine(l);
    return status < 0 ? status : fdl_consumer_peek(l->engine, ahead, out);
}

FDL_HOT int32_t feedline_loader_deliver(feedline_loader *l, feedline_batch *b)
{
    int32_t status = fdl_api_enter_engine(l);
    if (status >= 0)
        status = fdl_api_enter_batch(b);
    return status < 0 ? status : fdl_consumer_deliver(l->engine, b);
}

int32_t feedline_loader_lend(feedline_loader *l, void *images, uint64_t bytes)
{
    int32_t status = fdl_api_enter_engine(l);
    if (status >= 0)
        status = fdl_api_enter(images, "images");
    if (status >= 0)
        status = fdl_consumer_check_run(l->engine);
    return status < 0
               ? status
               : fdl_ring_lend(fdl_engine_ring(l->engine), images, bytes);
}

/* ---- Draws -------------------------------------------------------------- */

/* The key of one image, for the draws of which somebody asks. */
static int32_t key_of(const feedline_loader *l, uint64_t epoch,
                      uint64_t sample_index, uint32_t copy, uint32_t view,
                      struct fdl_draw_key *out)
{
    const struct fdl_sampler *s = fdl_engine_sampler(l->engine);
    uint32_t views = fdl_engine_config(l->engine)->views;
    bool given = fdl_engine_given(l->engine) != NULL;
    if (sample_index >= s->count)
        return fdl_fail(FEEDLINE_EINVAL,
                        "there is no sample %" PRIu64 "; the data set has "
                        "%" PRIu64,
                        sample_index, s->count);
    if (given && copy >= FDL_COPY_NUMBERS)
        return fdl_fail(FEEDLINE_EINVAL,
                        "there is no copy %" PRIu32 "; copies count from 0 to "
                        "%" PRIu32,
                        copy, FDL_COPY_NUMBERS - 1);
    if (!given && copy >= s->repeats)
        return fdl_fail(FEEDLINE_EINVAL,
                        "there is no copy %" PRIu32 " with repeats=%" PRIu32
                        "; copies count from 0",
                        copy, s->repeats);
    if (view >= views)
        return fdl_fail(FEEDLINE_EINVAL,
                        "there is no view %" PRIu32 " of %" PRIu32
                        "; views count from 0",
                        view, views);
    *out = (struct fdl_draw_key){
        .seed = fdl_engine_seed(l->engine),
        .epoch = epoch,
        .sample = sample_index,
        .copy = copy,
        .view = (int32_t)view,
        .channels = (int32_t)fdl_engine_config(l->engine)->channels,
    };
    return FEEDLINE_OK;
}

/* Some draws depend on the objects of the sample; *memory: for free(). */
static int32_t add_objects(const feedline_loader *l, struct fdl_draw_key *key,
                           struct fdl_objects *objects, void **memory)
{
    const feedline_dataset *ds = fdl_engine_dataset(l->engine);
    *memory = NULL;
    if (!ds->objects)
        return FEEDLINE_OK;
    uint64_t bytes = fdl_dataset_objects_bytes(ds, key->sample);
    *memory = malloc(bytes + 1);
    if (!*memory)
        return fdl_fail_memory(bytes, "the objects of a sample");
    fdl_dataset_lay_objects(ds, key->sample, *memory, objects);
    key->objects = objects;
    return FEEDLINE_OK;
}

int32_t feedline_loader_get_draw(const feedline_loader *l, uint64_t epoch,
                                 uint64_t sample_index, uint32_t copy,
                                 uint32_t view, int32_t width, int32_t height,
                                 struct feedline_draw *out)
{
    struct fdl_plan plan;
    struct fdl_draw_key key;
    struct fdl_objects objects;
    void *memory = NULL;
    int32_t status = fdl_api_enter_engine(l);
    if (status < 0)
        return status;
    if (width < 1 || height < 1)
        return fdl_fail(FEEDLINE_EINVAL, "image size %dx%d", width, height);
    status = key_of(l, epoch, sample_index, copy, view, &key);
    if (status >= 0)
        status = add_objects(l, &key, &objects, &memory);
    if (status >= 0)
        status = fdl_pipeline_draw(fdl_engine_pipeline(l->engine), &key, width,
                                   height, &plan);
    free(memory);
    if (status < 0)
        return status;
    const struct fdl_geometry *g = &plan.geometry;
    struct feedline_draw draw = {
        .flip = g->flip,
        .x = g->box.x,
        .y = g->box.y,
        .width = g->box.width,
        .height = g->box.height,
        .resize_width = g->resize_width,
        .resize_height = g->resize_height,
        .window_x = g->window.x,
        .window_y = g->window.y,
        .window_width = g->window.width,
        .window_height = g->window.height,
        .vertical_flip = g->flip_vertical,
        .interpolation = (int32_t)g->filter,
        .resize_mirrored = g->resize_mirrored,
        .resize_mirrored_vertical = g->resize_mirrored_vertical,
    };
    return fdl_copy_out(out, &draw, sizeof(draw));
}

int32_t feedline_loader_draw_json(const feedline_loader *l, uint64_t epoch,
                                  uint64_t sample_index, uint32_t copy,
                                  uint32_t view, int32_t width, int32_t height,
                                  char *buf, uint64_t capacity,
                                  uint64_t *needed)
{
    struct fdl_json j;
    struct fdl_draw_key key;
    struct fdl_objects objects;
    void *memory = NULL;
    int32_t status = fdl_api_enter_engine(l);
    if (status >= 0)
        status = key_of(l, epoch, sample_index, copy, view, &key);
    if (status >= 0)
        status = add_objects(l, &key, &objects, &memory);
    if (status < 0)
        return status;
    fdl_json_init(&j, buf, capacity);
    fdl_json_begin_object(&j, NULL);
    status = fdl_pipeline_draw_json(fdl_engine_pipeline(l->engine), &key, width,
                                    height, "operations", &j);
    free(memory);
    if (status < 0)
        return status;
    fdl_json_end_object(&j);
    return fdl_json_finish(&j, needed);
}
