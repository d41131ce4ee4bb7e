/* SPDX-License-Identifier: Apache-2.0 */
/* Every code point there and back, and random bytes against the rule that what
 * decodes is what would be encoded. */
#include "base/utf8.h"
#include "dice.h"
#include "test.h"

#include <stdbool.h>

#define LAST_CODE 0x10ffffu

static bool is_surrogate(uint32_t code)
{
    return code >= 0xd800 && code <= 0xdfff;
}

/* With any code up to 0x1fffff, also those that UTF-8 does not have. */
static uint32_t encode(uint32_t code, unsigned char *out)
{
    uint32_t bytes = code < 0x80      ? 1
                     : code < 0x800   ? 2
                     : code < 0x10000 ? 3
                                      : 4;
    static const unsigned char leads[] = {0, 0xc0, 0xe0, 0xf0};
    for (uint32_t i = bytes; i-- > 1; code >>= 6)
        out[i] = (unsigned char)(0x80 | (code & 0x3f));
    out[0] = (unsigned char)(leads[bytes - 1] | code);
    out[bytes] = '\0';
    return bytes;
}

TEST(every_code_point_comes_back)
{
    for (uint32_t code = 0; code <= 0x1fffff; code++) {
        unsigned char text[5];
        uint32_t bytes = encode(code, text), got = 12345;
        bool valid = code <= LAST_CODE && !is_surrogate(code);
        assert_int_equal(fdl_utf8_next(text, &got), valid ? bytes : 0);
        assert_int_equal(got, valid ? code : 12345);
        assert_int_equal(fdl_utf8_next(text, NULL), valid ? bytes : 0);
    }
}

TEST(cut_characters_are_none)
{
    for (uint32_t code = 0x80; code <= LAST_CODE; code += 61) {
        unsigned char text[5];
        uint32_t bytes = encode(code, text);
        for (uint32_t cut = 1; cut < bytes; cut++) {
            text[cut] = '\0';
            assert_int_equal(fdl_utf8_next(text, NULL), 0);
            encode(code, text);
        }
    }
}

TEST(any_two_bytes_and_random_ones)
{
    struct dice dice = {test_seed()};
    for (uint32_t i = 0; i < 1u << 22; i++) {
        uint32_t tail = dice_below(&dice, 1u << 24);
        unsigned char text[5] = {(unsigned char)(i >> 8), (unsigned char)i,
                                 (unsigned char)(0x80 | (tail & 0x7f)),
                                 (unsigned char)(tail >> 8), 0};
        unsigned char again[5];
        uint32_t code, bytes = fdl_utf8_next(text, &code);
        if (bytes == 0)
            continue; /* that no character is missed: the test of all */
        assert_true(code <= LAST_CODE && !is_surrogate(code));
        assert_int_equal(encode(code, again), bytes);
        assert_memory_equal(again, text, bytes);
    }
}

TEST_MAIN("base_utf8")
