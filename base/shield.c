/* SPDX-License-Identifier: Apache-2.0 */
#include "base/shield.h"

#include "base/compiler.h"

#include <errno.h>
#include <time.h>

static const int raised[] = {SIGXFSZ, SIGPIPE};

void fdl_shield_raise(struct fdl_shield *s)
{
    int error = errno;
    sigset_t both;
    sigemptyset(&both);
    for (size_t i = 0; i < FDL_COUNT_OF(raised); i++)
        sigaddset(&both, raised[i]);
    pthread_sigmask(SIG_BLOCK, &both, &s->before);
    sigpending(&s->pending);
    errno = error;
}

/* What came of the writes is taken away, or it would be delivered now. */
void fdl_shield_lower(const struct fdl_shield *s)
{
    const struct timespec now = {0};
    int error = errno;
    for (size_t i = 0; i < FDL_COUNT_OF(raised); i++) {
        sigset_t one;
        sigemptyset(&one);
        sigaddset(&one, raised[i]);
        if (sigismember(&s->pending, raised[i]) == 1)
            continue;
        while (sigtimedwait(&one, NULL, &now) == raised[i])
            ;
    }
    pthread_sigmask(SIG_SETMASK, &s->before, NULL);
    errno = error;
}
