/* SPDX-License-Identifier: Apache-2.0 */
/*
 * glibc's checked functions, by way of the plain ones. _FORTIFY_SOURCE compiles
 * some calls of the library to __pread_chk and the like, which the linker's
 * --wrap=pread would not see. These check as glibc's do, and go on by the name
 * that tests wrap. A part of feedline_internal, so that the library is tested
 * as it ships.
 */
#include <alloca.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/types.h>
#include <unistd.h>

/* The names are glibc's. */
void __chk_fail(void) __attribute__((noreturn));
ssize_t __pread_chk(int fd, void *to, size_t n, off_t at, size_t room);
ssize_t __read_chk(int fd, void *to, size_t n, size_t room);
int __open_2(const char *path, int flags);
int __openat_2(int folder, const char *path, int flags);
int __asprintf_chk(char **out, int flag, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

ssize_t __pread_chk(int fd, void *to, size_t n, off_t at, size_t room)
{
    if (n > room)
        __chk_fail();
    return pread(fd, to, n, at);
}

ssize_t __read_chk(int fd, void *to, size_t n, size_t room)
{
    if (n > room)
        __chk_fail();
    return read(fd, to, n);
}

/* Without a mode there is nothing to create. */
int __open_2(const char *path, int flags)
{
    if (flags & O_CREAT)
        __chk_fail();
    return open(path, flags);
}

int __openat_2(int folder, const char *path, int flags)
{
    if (flags & O_CREAT)
        __chk_fail();
    return openat(folder, path, flags);
}

int __asprintf_chk(char **out, int flag, const char *format, ...)
{
    (void)flag;
    va_list to_measure, to_print;
    va_start(to_measure, format);
    va_copy(to_print, to_measure);
    int n = vsnprintf(NULL, 0, format, to_measure);
    va_end(to_measure);
    char *text = alloca(n < 0 ? 1 : (size_t)n + 1);
    vsnprintf(text, n < 0 ? 1 : (size_t)n + 1, format, to_print);
    va_end(to_print);
    return n < 0 ? n : asprintf(out, "%s", text);
}
