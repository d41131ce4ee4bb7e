/* SPDX-License-Identifier: Apache-2.0 */
#include "decode/formats/jpeg_entries.h"

#include "base/compiler.h"
#include "base/cpu.h"
#include "decode/formats/jpeg_hash.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#define DC_BITS    12
#define DC_LIMIT   (1 << (DC_BITS - 1))
#define PLACE_BITS (64 - FDL_ENTRY_COMPONENTS * DC_BITS)

void fdl_entry_notes_begin(struct fdl_entry_notes *notes,
                           const struct fdl_entries *known, bool learn)
{
    notes->known = known;
    notes->learn = learn;
    notes->whole = false;
    notes->valid = notes->same = false;
    notes->hash = notes->jumped = notes->decoded = 0;
    notes->capacity = notes->first = notes->n = 0;
}

void fdl_entry_notes_end(struct fdl_entry_notes *notes, uint64_t passed,
                         bool to_end)
{
    if (!to_end && notes->n > 0 && notes->first + notes->n == notes->capacity)
        notes->n--;
    notes->decoded = passed - notes->jumped;
    if (notes->decoded > passed) /* more was decoded twice than jumped */
        notes->jumped = 0;
    notes->valid = true;
}

uint64_t fdl_entries_hash(const uint8_t *file, uint64_t size)
{
#if defined(__x86_64__)
    if (fdl_cpu_level() >= FDL_CPU_AVX2)
        return fdl_jpeg_hash_avx2(file, size);
#endif
    return XXH3_64bits(file, size);
}

uint64_t fdl_entries_spacing(uint64_t mcus, uint64_t bytes)
{
    uint64_t n = FDL_MIN(bytes / FDL_ENTRIES_EVERY, FDL_ENTRIES_MOST);
    return n > 0 ? mcus / n + 1 : UINT64_MAX;
}

/* The place is never 0: that is where the data begins. */
uint64_t fdl_entry_pack(uint64_t bit, const int32_t *dc, int components)
{
    uint64_t entry = bit;
    if (bit >> PLACE_BITS != 0 || components > FDL_ENTRY_COMPONENTS)
        return 0;
    for (int i = 0; i < components; i++) {
        if (dc[i] < -DC_LIMIT || dc[i] >= DC_LIMIT)
            return 0;
        entry |= (uint64_t)(dc[i] + DC_LIMIT) << (PLACE_BITS + i * DC_BITS);
    }
    return entry;
}

uint64_t fdl_entry_unpack(uint64_t entry, int32_t dc[FDL_ENTRY_COMPONENTS])
{
    for (int i = 0; i < FDL_ENTRY_COMPONENTS; i++) {
        uint64_t value = entry >> (PLACE_BITS + i * DC_BITS);
        dc[i] = (int32_t)(value & ((1u << DC_BITS) - 1)) - DC_LIMIT;
    }
    return entry & ((UINT64_C(1) << PLACE_BITS) - 1);
}
