/* SPDX-License-Identifier: Apache-2.0 */
/* What lives share: see trial.h. How they are played is in trial_play.c. */
#include "trial.h"

#include "trial_own.h"

#define SECOND  INT64_C(1000000000)
#define EPOCHS  4u
#define SAMPLES 64u

/* What the first life had: by epoch and sample, and by epoch and place. */
static struct known {
    uint64_t hash[EPOCHS][SAMPLES];
    int64_t at[EPOCHS][SAMPLES];     /* index + 1 */
    uint32_t count[EPOCHS][SAMPLES]; /* of the batch that begins there */
} known;

struct trial_now trial_now;

void trial_forget(void)
{
    memset(&known, 0, sizeof(known));
}

int32_t trial_note_as(int32_t status, const char *words)
{
    if (status < 0)
        snprintf(trial_now.words, sizeof(trial_now.words), "%s", words);
    return status;
}

int32_t trial_note(int32_t status)
{
    return trial_note_as(status, feedline_last_error());
}

/* ---- Loaders ------------------------------------------------------------ */

static int32_t set_options(feedline_config *cfg, const char *options)
{
    char text[512], *save;
    int32_t status = FEEDLINE_OK;
    snprintf(text, sizeof(text), "%s", options);
    for (char *word = strtok_r(text, " ", &save); word;
         word = strtok_r(NULL, " ", &save)) {
        char *value = strchr(word, '=');
        *value = '\0';
        TRY(status, feedline_config_set(cfg, word, value + 1));
    }
    return status;
}

static int32_t add_operations(feedline_pipeline *p, const char *operations)
{
    char text[256], *save;
    int32_t status = FEEDLINE_OK;
    snprintf(text, sizeof(text), "%s", operations);
    for (char *op = strtok_r(text, ";", &save); op;
         op = strtok_r(NULL, ";", &save)) {
        char *args = strchr(op, ' ');
        if (args)
            *args++ = '\0';
        TRY(status, feedline_pipeline_add(p, op, args));
    }
    return status;
}

int32_t trial_loader(feedline_dataset *ds, const struct feedline_op_def *def,
                     const char *operations, const char *options,
                     feedline_loader **out)
{
    feedline_config *cfg = NULL;
    feedline_pipeline *p = NULL;
    int32_t status = FEEDLINE_OK;
    *out = NULL;
    TRY(status, feedline_config_create(&cfg));
    if (status >= 0)
        status = set_options(cfg, options);
    TRY(status, feedline_pipeline_create("none", &p));
    if (def)
        TRY(status, feedline_pipeline_register(p, def));
    if (status >= 0)
        status = add_operations(p, operations);
    TRY(status, feedline_loader_create(cfg, ds, p, out));
    if ((status < 0) != (*out == NULL))
        trial_tell("a handle with status %s", feedline_status_name(status));
    feedline_pipeline_destroy(p);
    feedline_config_destroy(cfg);
    return status;
}

int32_t trial_next(feedline_loader *l, feedline_batch **out)
{
    int32_t status = feedline_loader_next(l, 60 * SECOND, out);
    if (status == FEEDLINE_TIMEOUT) {
        trial_tell("no batch and no error within a minute");
        exit(1);
    }
    return trial_note(status);
}

/* ---- Batches ------------------------------------------------------------ */

/* Its status is left out: a sample that took another's place is whole. */
static uint64_t hash_of(const struct feedline_batch_info *info, uint32_t i)
{
    size_t bytes;
    const uint8_t *pixels = fixture_image(info, i, &bytes);
    const int64_t *labels = info->labels.data;
    uint64_t hash = fixture_hash(FIXTURE_HASH, &labels[i], sizeof(labels[i]));
    return fixture_hash(hash, pixels, bytes);
}

static void check_sample(const struct feedline_batch_info *info, uint32_t i)
{
    int32_t status = info->sample_status[i];
    int64_t index = info->sample_index[i];
    uint64_t place = info->position + i, epoch = info->epoch;
    if (status < 0)
        return; /* zeros */
    uint64_t hash = hash_of(info, i);
    if (trial_now.learns && !known.at[epoch][place]) {
        known.hash[epoch][index] = hash;
        known.at[epoch][place] = index + 1;
    }
    if (status == FEEDLINE_OK && known.at[epoch][place] != index + 1)
        trial_tell("sample %d of epoch %d is another one", (int)place,
                   (int)epoch);
    if (known.hash[epoch][index] != hash)
        trial_tell("sample %d of epoch %d has other pixels", (int)place,
                   (int)epoch);
}

void trial_check(const struct feedline_batch_info *info)
{
    if (info->epoch >= EPOCHS || info->position + info->count > SAMPLES) {
        trial_tell("a batch of epoch %d, sample %d", (int)info->epoch,
                   (int)info->position);
        return;
    }
    uint32_t *count = &known.count[info->epoch][info->position];
    if (trial_now.learns)
        *count = info->count;
    if (*count != info->count)
        trial_tell("a batch of %u samples, not %u", info->count, *count);
    for (uint32_t i = 0; i < info->count; i++)
        check_sample(info, i);
    trial_now.delivered += info->count;
}

int32_t trial_take(feedline_loader *l)
{
    feedline_batch *b = NULL;
    int32_t status = trial_next(l, &b);
    if ((status == FEEDLINE_OK) != (b != NULL))
        trial_tell("a batch with status %s", feedline_status_name(status));
    if (status == FEEDLINE_OK) {
        struct feedline_batch_info info = fixture_info(b);
        trial_check(&info);
        feedline_batch_release(b);
    }
    return status;
}

int32_t trial_epoch(feedline_loader *l)
{
    int32_t status;
    do
        status = trial_now.take ? trial_now.take(l) : trial_take(l);
    while (status == FEEDLINE_OK);
    return status;
}

bool trial_goes_on(void)
{
    if (trial_now.goes_on)
        trial_disarm();
    return trial_now.goes_on;
}

void trial_use_on(feedline_loader *l)
{
    int32_t status = feedline_loader_start(l, 0);
    if (status >= 0)
        status = trial_epoch(l);
    if (status != FEEDLINE_END)
        trial_tell("used on: %s: %s", feedline_status_name(status),
                   feedline_last_error());
}
