/* SPDX-License-Identifier: Apache-2.0 */
/* The only place where compiler extensions are spelled out. */
#ifndef FDL_BASE_COMPILER_H
#define FDL_BASE_COMPILER_H

#include <stdint.h>

#define FDL_CACHE_LINE 64

#if defined(__GNUC__)
#  define FDL_PRINTF(fmt, args) __attribute__((format(printf, fmt, args)))
#  define FDL_NODISCARD         __attribute__((warn_unused_result))
#  define FDL_NORETURN          __attribute__((noreturn))
#  define FDL_ALIGNED(n)        __attribute__((aligned(n)))
#  define FDL_LIKELY(x)         __builtin_expect(!!(x), 1)
#  define FDL_UNLIKELY(x)       __builtin_expect(!!(x), 0)
#  define FDL_TARGET(isa)       __attribute__((target(isa)))
#  define FDL_INLINE            static inline __attribute__((always_inline))
#  define FDL_HOT               __attribute__((hot))
#  define FDL_UNSANITIZED                                                      \
    __attribute__((no_sanitize_address, no_sanitize_thread))
#else
#  define FDL_PRINTF(fmt, args)
#  define FDL_NODISCARD
#  define FDL_NORETURN
#  define FDL_ALIGNED(n)
#  define FDL_LIKELY(x)   (x)
#  define FDL_UNLIKELY(x) (x)
#  define FDL_TARGET(isa)
#  define FDL_INLINE static inline
#  define FDL_HOT
#  define FDL_UNSANITIZED
#endif

/* FDL_HOT is for what runs in each next(). The linker puts these side by side,
 * 5 pages instead of 26: behind a pause, each page and line is a miss. */

/* Tell the thread sanitizer of bytes that code without it reads or writes. */
#if defined(FDL_TSAN)
void __tsan_read_range(void *bytes, unsigned long n);
void __tsan_write_range(void *bytes, unsigned long n);
#  define FDL_TSAN_READS(bytes, n)                                             \
    __tsan_read_range((void *)(uintptr_t)(bytes), (unsigned long)(n))
#  define FDL_TSAN_WRITES(bytes, n)                                            \
    __tsan_write_range((bytes), (unsigned long)(n))
#else
#  define FDL_TSAN_READS(bytes, n)  ((void)0)
#  define FDL_TSAN_WRITES(bytes, n) ((void)0)
#endif

#define FDL_COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))
#define FDL_MIN(a, b)       ((a) < (b) ? (a) : (b))
#define FDL_MAX(a, b)       ((a) > (b) ? (a) : (b))

#endif
