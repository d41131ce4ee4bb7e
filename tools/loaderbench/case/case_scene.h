/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a story is played with: images in memory, a pipeline that may end with
 * work of the story's own, and a loader's options. The rest is what `run`,
 * `tune` and `sweep` do with any data set.
 */
#ifndef LOADERBENCH_CASE_SCENE_H
#define LOADERBENCH_CASE_SCENE_H

#include "tools/loaderbench/run/run.h"

#include <pthread.h>

struct case_side;

struct case_scene {
    /* Filled in by the story, as the options of the setup are. */
    struct cli_setting *settings;
    size_t n_settings;
    uint64_t batch_size;
    double work_ms; /* of each sample, behind all operations; 0: none */
    bool spin;      /* the work keeps a core busy; else it sleeps, as a call
                       does that waits for something */
    struct run_setup setup;

    pthread_mutex_t turn;  /* setup.turn, if the work waits for it */
    unsigned char *pixels; /* of n images */
    uint32_t n, side, channels;
};

/* The data: n images of side x side pixels, of 1 or 3 channels, that cost
 * nothing to read or decode. An exit status. */
int case_scene_pixels(struct case_scene *s, uint32_t n, uint32_t side,
                      uint32_t channels);

/* Data set, pipeline and config, once there is the data; opened again it
 * replaces them. An exit status; close in any case. */
int case_scene_open(struct case_scene *s);
void case_scene_close(struct case_scene *s);

/* tuner: "off" or "auto"; so many workers and batches ahead, 0: as the loader
 * chooses. An exit status. */
int case_set(const struct run_setup *s, const char *tuner, int64_t workers,
             int64_t depth);

/* A fresh loader, measured; *out is left alone if it was not to the end. *run,
 * unless run is NULL, is the document of the run, or NULL. An exit status. */
int case_measure(struct run_setup *s, struct case_side *out, json_t **run);

#endif
