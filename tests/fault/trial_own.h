/* SPDX-License-Identifier: Apache-2.0 */
/* What trial.c and trial_play.c share. */
#ifndef FDL_TESTS_FAULT_TRIAL_OWN_H
#define FDL_TESTS_FAULT_TRIAL_OWN_H

#include "trial.h"

/* The life that is played. */
extern struct trial_now {
    bool learns;  /* what it has is right */
    bool goes_on; /* its loader is used on */
    bool sound;   /* nothing fails */
    uint64_t delivered;
    char words[512];                     /* of its first error */
    int32_t (*take)(feedline_loader *l); /* NULL: trial_take */
} trial_now;

/* No life has been yet. */
void trial_forget(void);

void trial_disarm(void);

/* The life does not end as it has to. */
void trial_tell(const char *format, ...) FDL_PRINTF(1, 2);

#endif
