/* SPDX-License-Identifier: Apache-2.0 */
#include "store/sha256.h"

#include "base/atomic.h"
#include "base/compiler.h"
#include "base/cpu.h"

#include <string.h>
#if defined(__x86_64__)
#  include <cpuid.h>
#  include <immintrin.h>
#endif

#define BLOCK 64u

struct sha256 {
    uint32_t h[8];
    uint64_t bytes;
    unsigned char block[BLOCK]; /* bytes % BLOCK of it are filled */
};

/* The first 32 bits of the fractions of the cube roots of the first 64 primes.
 */
static const uint32_t k[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1,
    0x923f82a4, 0xab1c5ed5, 0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3,
    0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174, 0xe49b69c1, 0xefbe4786,
    0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147,
    0x06ca6351, 0x14292967, 0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13,
    0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85, 0xa2bfe8a1, 0xa81a664b,
    0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a,
    0x5b9cca4f, 0x682e6ff3, 0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208,
    0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

static uint32_t rotated(uint32_t x, uint32_t n)
{
    return x >> n | x << (32 - n);
}

static void expand(const unsigned char *block, uint32_t w[64])
{
    for (int i = 0; i < 16; i++, block += 4)
        w[i] = (uint32_t)block[0] << 24 | (uint32_t)block[1] << 16 |
               (uint32_t)block[2] << 8 | block[3];
    for (int i = 16; i < 64; i++) {
        uint32_t a = w[i - 15], b = w[i - 2];
        w[i] = w[i - 16] + w[i - 7] +
               (rotated(a, 7) ^ rotated(a, 18) ^ a >> 3) +
               (rotated(b, 17) ^ rotated(b, 19) ^ b >> 10);
    }
}

/* A round, with the names that its eight words have in it. */
#define ROUND(a, b, c, d, e, f, g, h, i)                                       \
  do {                                                                         \
    uint32_t one = (h) + k[i] + w[i] + (((e) & (f)) ^ (~(e) & (g))) +          \
                   (rotated(e, 6) ^ rotated(e, 11) ^ rotated(e, 25));          \
    uint32_t two = (((a) & (b)) ^ ((a) & (c)) ^ ((b) & (c))) +                 \
                   (rotated(a, 2) ^ rotated(a, 13) ^ rotated(a, 22));          \
    (d) += one;                                                                \
    (h) = one + two;                                                           \
  } while (0)

static void compress_c(uint32_t h[8], const unsigned char *block)
{
    uint32_t w[64], v[8];
    expand(block, w);
    memcpy(v, h, sizeof(v));
    for (int i = 0; i < 64; i += 8) {
        ROUND(v[0], v[1], v[2], v[3], v[4], v[5], v[6], v[7], i);
        ROUND(v[7], v[0], v[1], v[2], v[3], v[4], v[5], v[6], i + 1);
        ROUND(v[6], v[7], v[0], v[1], v[2], v[3], v[4], v[5], i + 2);
        ROUND(v[5], v[6], v[7], v[0], v[1], v[2], v[3], v[4], i + 3);
        ROUND(v[4], v[5], v[6], v[7], v[0], v[1], v[2], v[3], i + 4);
        ROUND(v[3], v[4], v[5], v[6], v[7], v[0], v[1], v[2], i + 5);
        ROUND(v[2], v[3], v[4], v[5], v[6], v[7], v[0], v[1], i + 6);
        ROUND(v[1], v[2], v[3], v[4], v[5], v[6], v[7], v[0], i + 7);
    }
    for (int i = 0; i < 8; i++)
        h[i] += v[i];
}

#if defined(__x86_64__)
/* Asked once: under a hypervisor that takes a while. */
static bool has_instructions(void)
{
    enum { UNKNOWN, NO, YES };
    static _Atomic int known; /* relaxed: a number that guards nothing */
    int has = fdl_load(&known);
    if (has == UNKNOWN) {
        unsigned a, b, c, d;
        has =
            __get_cpuid_count(7, 0, &a, &b, &c, &d) && (b & bit_SHA) ? YES : NO;
        atomic_store_explicit(&known, has, memory_order_relaxed);
    }
    return has == YES && fdl_cpu_level() >= FDL_CPU_AVX2;
}

/* Processors have instructions for two rounds and for the words of four more;
 * they want the state as its words a, b, e, f and c, d, g, h, the first in the
 * upper place. */
FDL_TARGET("avx2,sha")
static void compress_sha(uint32_t h[8], const unsigned char *block)
{
    const __m128i order =
        _mm_set_epi8(12, 13, 14, 15, 8, 9, 10, 11, 4, 5, 6, 7, 0, 1, 2, 3);
    const __m128i abef =
        _mm_set_epi32((int)h[0], (int)h[1], (int)h[4], (int)h[5]);
    const __m128i cdgh =
        _mm_set_epi32((int)h[2], (int)h[3], (int)h[6], (int)h[7]);
    __m128i x = abef, y = cdgh, w[4];
    for (unsigned i = 0; i < 16; i++) {
        __m128i *now = &w[i % 4];
        if (i < 4) {
            *now = _mm_shuffle_epi8(
                _mm_loadu_si128((const __m128i *)(const void *)block + i),
                order);
        } else { /* words 16, 15, 7 and 2 back */
            __m128i last = w[(i + 3) % 4], third = w[(i + 2) % 4];
            __m128i sum = _mm_sha256msg1_epu32(*now, w[(i + 1) % 4]);
            sum = _mm_add_epi32(sum, _mm_alignr_epi8(last, third, 4));
            *now = _mm_sha256msg2_epu32(sum, last);
        }
        __m128i four = _mm_add_epi32(
            *now, _mm_loadu_si128((const __m128i *)(const void *)(k + 4 * i)));
        y = _mm_sha256rnds2_epu32(y, x, four);
        x = _mm_sha256rnds2_epu32(x, y, _mm_shuffle_epi32(four, 0x0e));
    }
    uint32_t first[4], second[4];
    _mm_storeu_si128((__m128i *)(void *)first, _mm_add_epi32(x, abef));
    _mm_storeu_si128((__m128i *)(void *)second, _mm_add_epi32(y, cdgh));
    for (unsigned i = 0; i < 2; i++) {
        h[i] = first[3 - i];
        h[i + 2] = second[3 - i];
        h[i + 4] = first[1 - i];
        h[i + 6] = second[1 - i];
    }
}
#endif

static void compress(uint32_t h[8], const unsigned char *block)
{
#if defined(__x86_64__)
    if (has_instructions()) {
        compress_sha(h, block);
        return;
    }
#endif
    compress_c(h, block);
}

static void begin(struct sha256 *s)
{
    static const uint32_t first[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372,
                                      0xa54ff53a, 0x510e527f, 0x9b05688c,
                                      0x1f83d9ab, 0x5be0cd19};
    memcpy(s->h, first, sizeof(first));
    s->bytes = 0;
}

static void add(struct sha256 *s, const void *data, size_t n)
{
    const unsigned char *bytes = data;
    while (n > 0) {
        size_t at = s->bytes % BLOCK, some = FDL_MIN(n, BLOCK - at);
        memcpy(s->block + at, bytes, some);
        s->bytes += some;
        bytes += some;
        n -= some;
        if (at + some == BLOCK)
            compress(s->h, s->block);
    }
}

static void finish(struct sha256 *s, struct fdl_digest *out)
{
    static const unsigned char padding[BLOCK] = {0x80};
    unsigned char bits[8];
    for (int i = 0; i < 8; i++)
        bits[i] = (unsigned char)(s->bytes * 8 >> (56 - 8 * i));
    add(s, padding, 1 + (2 * BLOCK - 9 - s->bytes % BLOCK) % BLOCK);
    add(s, bits, sizeof(bits));
    for (int i = 0; i < FDL_SHA256_BYTES; i++)
        out->bytes[i] = (unsigned char)(s->h[i / 4] >> (24 - 8 * (i % 4)));
    explicit_bzero(s, sizeof(*s));
}

void fdl_sha256(const void *data, size_t n, struct fdl_digest *out)
{
    struct sha256 s;
    begin(&s);
    add(&s, data, n);
    finish(&s, out);
}

void fdl_hmac_sha256(const void *key, size_t key_bytes, const void *data,
                     size_t n, struct fdl_digest *out)
{
    unsigned char pad[BLOCK] = {0};
    struct fdl_digest inner;
    struct sha256 s;
    if (key_bytes > BLOCK) {
        fdl_sha256(key, key_bytes, &inner);
        memcpy(pad, inner.bytes, sizeof(inner.bytes));
    } else if (key_bytes > 0) {
        memcpy(pad, key, key_bytes);
    }
    for (uint32_t i = 0; i < BLOCK; i++)
        pad[i] ^= 0x36;
    begin(&s);
    add(&s, pad, BLOCK);
    add(&s, data, n);
    finish(&s, &inner);
    for (uint32_t i = 0; i < BLOCK; i++)
        pad[i] ^= 0x36 ^ 0x5c;
    begin(&s);
    add(&s, pad, BLOCK);
    add(&s, inner.bytes, sizeof(inner.bytes));
    finish(&s, out);
    explicit_bzero(pad, sizeof(pad));
}

/* ---- As text ------------------------------------------------------------- */

static const char letters[] =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

void fdl_digest_hex(const struct fdl_digest *d, char out[FDL_SHA256_HEX])
{
    static const char digits[] = "0123456789abcdef";
    for (int i = 0; i < FDL_SHA256_BYTES; i++) {
        *out++ = digits[d->bytes[i] >> 4];
        *out++ = digits[d->bytes[i] & 15];
    }
    *out = '\0';
}

void fdl_base64_add(struct fdl_text *t, const void *data, size_t n)
{
    const unsigned char *in = data;
    if (!fdl_text_reserve(t, (n + 2) / 3 * 4))
        return;
    char *out = t->data + t->length;
    for (size_t i = 0; i < n; i += 3) {
        size_t left = n - i;
        uint32_t word = (uint32_t)in[i] << 16 |
                        (left > 1 ? (uint32_t)in[i + 1] << 8 : 0) |
                        (left > 2 ? in[i + 2] : 0);
        *out++ = letters[word >> 18];
        *out++ = letters[word >> 12 & 63];
        *out++ = left > 1 ? letters[word >> 6 & 63] : '=';
        *out++ = left > 2 ? letters[word & 63] : '=';
    }
    *out = '\0';
    t->length = (uint64_t)(out - t->data);
}

bool fdl_base64_undo(const char *text, unsigned char *out, size_t capacity,
                     size_t *n)
{
    size_t digits = strcspn(text, "=");
    size_t padding = strspn(text + digits, "=");
    uint32_t word = 0;
    size_t done = 0;
    if ((digits + padding) % 4 || padding > 2 || text[digits + padding] ||
        digits / 4 * 3 + (digits % 4 ? digits % 4 - 1 : 0) > capacity)
        return false;
    for (size_t i = 0; i < digits; i++) {
        const char *letter = strchr(letters, text[i]);
        if (!letter)
            return false;
        word = word << 6 | (uint32_t)(letter - letters);
        if (i % 4 > 0)
            out[done++] = (unsigned char)(word >> (6 - 2 * (i % 4)));
    }
    *n = done;
    return true;
}
