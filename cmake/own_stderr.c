/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A stderr for archives in a shared library. Distributions compile libjpeg.a,
 * libpng.a and libz.a for programs (-fPIE): their objects reach everything
 * relative to where they lie. That holds in a shared library too, as soon as
 * what they reach is in it and hidden; the one thing that is not is libc's
 * variable stderr. The linker's --wrap=stderr sends them here instead.
 */
#include <stdio.h>

/* The names are the linker's. */
extern FILE *__wrap_stderr;
extern FILE *__real_stderr;

FILE *__wrap_stderr;

static __attribute__((constructor)) void copy_stderr(void)
{
    __wrap_stderr = __real_stderr;
}
