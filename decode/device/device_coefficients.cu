/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The first stage on a device: quantised coefficients of the MCUs that a sample
 * needs, by rows of a block, block after block.
 *
 * Of a JPEG, a thread follows one chain of Huffman codes, from a place that the
 * index knows to the next one. What a turn of it takes is latency, and whatever
 * any chain of its warp does then: the next word, the end of a block. So words
 * are read one ahead, and chains are dealt out to the blocks of a grid in turn,
 * that a warp has few of them.
 *
 * Tables to look codes up in are made here, by all threads of a block: they are
 * eight times as large as what they are made from, and cross no bus.
 *
 * Of a packed sample, a thread does a block of a segment. Where the block's
 * parts lie depends on the sums of what the blocks before it have, one stream
 * after the other; so there are steps.
 *
 * Bits are read by whole words, which lie inside the payload or count as zeros.
 */
#include "decode/device/device_job.h"
#include "decode/device/device_words.h"

#define LOOK_BITS 10 /* of a code that is found by one look */
#define CODE_BITS 16
#define END       63u /* in place of an advance: the block ends */

/* Length of code and value, that of the value, advance. */
#define ENTRY_TOTAL(e)   ((e)&63u)
#define ENTRY_VALUE(e)   ((e) >> 6 & 15u)
#define ENTRY_ADVANCE(e) ((uint32_t)(e) >> 10)

/* Natural order of zigzag places. */
TABLE uint8_t natural_place[64] = {
    0,  1,  8,  16, 9,  2,  3,  10, 17, 24, 32, 25, 18, 11, 4,  5,
    12, 19, 26, 33, 40, 48, 41, 34, 27, 20, 13, 6,  7,  14, 21, 28,
    35, 42, 49, 56, 57, 50, 43, 36, 29, 22, 15, 23, 30, 37, 44, 51,
    58, 59, 52, 45, 38, 31, 39, 46, 53, 60, 61, 54, 47, 55, 62, 63};

struct ALIGNED(16) four_zeros {
    uint32_t x, y, z, w;
};

/* Words of a payload. */
struct words {
    const uint32_t *at;
    uint32_t n;
};

DEVICE uint32_t word(const struct words *w, uint32_t i)
{
    return i < w->n ? READ(w->at + i) : 0;
}

DEVICE uint32_t swapped(uint32_t x)
{
    return x << 24 | (x & 0xff00u) << 8 | (x >> 8 & 0xff00u) | x >> 24;
}

DEVICE const uint8_t *payload_of(const struct fdl_device_args *a,
                                 const struct fdl_device_job *job)
{
    return a->slab + READ(&job->payload);
}

/* Zeros in a block, which is on 16 bytes. */
DEVICE void clear_block(int16_t *to)
{
    const struct four_zeros zeros = {0, 0, 0, 0};
    UNROLL
    for (uint32_t i = 0; i < 8; i++)
        WRITE((struct four_zeros *)(void *)to + i, zeros);
}

DEVICE void damaged(struct fdl_device_job *job)
{
    WRITE(&job->status, (uint32_t)FDL_DEVICE_DAMAGED);
}

/* ---- Huffman tables ------------------------------------------------------ */

struct look_up {
    uint16_t look[1 << LOOK_BITS];
    uint32_t limit[CODE_BITS + 1]; /* codes of a length are below, aligned */
    uint32_t symbol_of[CODE_BITS + 1];
    uint8_t symbols[256];
};

/* By one thread for each table. Counts may be anything. */
DEVICE void make_limits(struct look_up *to, const struct fdl_device_table *from)
{
    uint32_t code = 0, at = 0;
    to->limit[0] = to->symbol_of[0] = 0;
    for (uint32_t n = 1; n <= CODE_BITS; n++) {
        uint32_t count = READ(&from->counts[n - 1]);
        to->symbol_of[n] = at - code;
        code += count;
        at += count;
        uint32_t limit = code << (CODE_BITS - n);
        to->limit[n] = code >> n ? 1u << CODE_BITS : limit;
        code <<= 1;
        OPS(6);
    }
}

/* What begins with `top`, 16 bits, if its code has n of them. */
DEVICE uint32_t entry_of(const struct look_up *t, uint32_t top, uint32_t n,
                         bool ac)
{
    uint32_t symbol =
        t->symbols[(t->symbol_of[n] + (top >> (CODE_BITS - n))) & 255u];
    uint32_t value = symbol & 15u, run = symbol >> 4;
    uint32_t goes = value == 0 && run != 15 ? END : run + 1;
    return (n + value) | value << 6 | (ac ? goes : 1) << 10;
}

DEVICE uint32_t find_entry(const struct look_up *t, uint32_t top, uint32_t from,
                           uint32_t to, bool ac)
{
    for (uint32_t n = from; n <= to; n++) {
        OPS(3);
        if (top < t->limit[n])
            return entry_of(t, top, n, ac);
    }
    return 0;
}

DEVICE void make_looks(struct look_up *tables, uint32_t thread)
{
    const uint32_t spare = CODE_BITS - LOOK_BITS, size = 1u << LOOK_BITS;
    for (uint32_t i = thread; i < FDL_DEVICE_TABLES * size;
         i += FDL_DEVICE_THREADS) {
        struct look_up *t = &tables[i / size];
        uint32_t at = i % size;
        t->look[at] = (uint16_t)find_entry(t, at << spare, 1, LOOK_BITS,
                                           i / size >= FDL_DEVICE_TABLES / 2);
    }
}

/* ---- Chains -------------------------------------------------------------- */

/* At least 33 of the window's bits are there after a fill. */
struct stream {
    struct words from;
    uint32_t next;  /* word that the window gets next */
    uint32_t ahead; /* that one, on its way before it is needed */
    uint32_t count;
    uint64_t window; /* next bit on top */
};

DEVICE void fill(struct stream *s)
{
    if (s->count > 32)
        return;
    uint64_t more = swapped(s->ahead);
    s->ahead = word(&s->from, ++s->next);
    s->window |= more << (32 - s->count);
    s->count += 32;
    OPS(10);
}

DEVICE void drop(struct stream *s, uint32_t n)
{
    s->window <<= n;
    s->count -= n;
}

/* One symbol, behind a fill; 0: there is no such code. */
DEVICE uint32_t take(struct stream *s, const struct look_up *t, bool ac,
                     int32_t *value)
{
    uint32_t entry = t->look[s->window >> (64 - LOOK_BITS)];
    if (entry == 0)
        entry = find_entry(t, (uint32_t)(s->window >> (64 - CODE_BITS)),
                           LOOK_BITS + 1, CODE_BITS, ac);
    uint32_t n = ENTRY_VALUE(entry), code = ENTRY_TOTAL(entry) - n;
    uint64_t rest = s->window << code;
    int32_t x = (int32_t)(rest >> 1 >> (63 - n));
    if (rest >> 63 == 0)
        x += 1 - (int32_t)(1u << n);
    *value = x;
    drop(s, code + n);
    OPS(16);
    return entry;
}

/* to: NULL to go over it. False: it is not sound. */
DEVICE bool take_block(struct stream *s, const struct look_up *dc,
                       const struct look_up *ac, int32_t *last_dc, int16_t *to)
{
    int32_t value;
    fill(s);
    if (take(s, dc, false, &value) == 0)
        return false;
    *last_dc += value;
    if (*last_dc < -32768 || *last_dc > 32767)
        return false;
    if (to) {
        clear_block(to);
        WRITE(to, (int16_t)*last_dc);
    }
    for (uint32_t k = 0; k < 63;) {
        fill(s);
        uint32_t entry = take(s, ac, true, &value);
        uint32_t goes = ENTRY_ADVANCE(entry);
        if (goes == END)
            return true;
        k += goes;
        if (entry == 0 || k > 63)
            return false;
        if (to && value != 0)
            WRITE(to + natural_place[k], (int16_t)value);
    }
    return true;
}

/* Where block (h, v) of an MCU goes; NULL: nowhere. */
DEVICE int16_t *block_at(const struct fdl_device_args *a,
                         const struct fdl_device_job *job,
                         const struct fdl_device_plane *p, uint32_t row,
                         uint32_t column)
{
    row -= READ(&job->row) * READ(&p->rows); /* may wrap around */
    column -= READ(&job->column) * READ(&p->columns);
    if (row >= READ(&p->high) || column >= READ(&p->wide))
        return NULL;
    uint64_t block = READ(&p->block) + row * READ(&p->wide) + column;
    return (int16_t *)(void *)(a->scratch + READ(&job->scratch)) + block * 64;
}

struct chain_state {
    struct stream stream;
    uint32_t begin; /* word */
    int32_t dc[FDL_DEVICE_PLANES];
};

DEVICE bool take_mcu(const struct fdl_device_args *a,
                     const struct fdl_device_job *job,
                     const struct look_up *tables, struct chain_state *c,
                     uint32_t mcu)
{
    uint32_t row = mcu / READ(&job->mcus_wide);
    uint32_t column = mcu % READ(&job->mcus_wide);
    uint32_t planes = READ(&job->n_planes);
    for (uint32_t i = 0; i < FDL_DEVICE_PLANES; i++) {
        const struct fdl_device_plane *p = &job->planes[i];
        uint32_t columns = i < planes ? READ(&p->columns) : 0;
        uint32_t n = columns * READ(&p->rows);
        for (uint32_t k = 0; k < n; k++) {
            int16_t *to =
                block_at(a, job, p, row * READ(&p->rows) + k / columns,
                         column * columns + k % columns);
            OPS(12);
            if (!take_block(&c->stream, &tables[READ(&p->dc)],
                            &tables[READ(&p->ac)], &c->dc[i], to))
                return false;
        }
    }
    return true;
}

DEVICE uint32_t bits_taken(const struct chain_state *c)
{
    return (c->stream.next - c->begin) * 32 - c->stream.count;
}

DEVICE bool take_chain(const struct fdl_device_args *a,
                       const struct fdl_device_job *job,
                       const struct look_up *tables,
                       const struct fdl_device_chain *chain)
{
    uint32_t at = READ(&chain->at), bits = READ(&chain->bits);
    uint32_t mcu = READ(&chain->mcu), n = READ(&chain->n);
    uint32_t mcus = READ(&job->mcus_wide) * READ(&job->mcus_high);
    uint32_t bytes = READ(&job->payload_bytes), first = READ(&chain->first);
    if (at > bytes || bits > (bytes - at) * 8 || first > 7 || mcu > mcus ||
        n > mcus - mcu)
        return false;
    struct chain_state c;
    c.begin = at / 4;
    c.stream.from.at = (const uint32_t *)(const void *)payload_of(a, job);
    c.stream.from.n = bytes / 4;
    c.stream.next = c.begin;
    c.stream.ahead = word(&c.stream.from, c.begin);
    c.stream.count = 0;
    c.stream.window = 0;
    for (uint32_t i = 0; i < FDL_DEVICE_PLANES; i++)
        c.dc[i] = READ(&chain->dc[i]);
    fill(&c.stream);
    drop(&c.stream, first);
    for (uint32_t i = 0; i < n; i++) {
        if (!take_mcu(a, job, tables, &c, mcu + i) || bits_taken(&c) > bits)
            return false;
    }
    uint32_t slack = READ(&chain->slack);
    return slack == FDL_DEVICE_CUT || bits - bits_taken(&c) <= slack;
}

/* ---- Packed segments ----------------------------------------------------- */

#define RUN_BLOCKS 32
#define RUNS       (FDL_DEVICE_THREADS / RUN_BLOCKS)
#define RUN_HEAD   24 /* bits: of a difference of DC; the first DC */
#define LAST_BITS  6
#define DC_BITS    17
#define NIBBLE     15  /* is followed by a byte */
#define BYTE       240 /* is followed by a word */

/* A segment, as it becomes known. Places are bits from the payload's beginning;
 * each stream begins on a byte. */
struct run {
    struct words from;
    uint32_t n, dc_bits, end; /* n of 0: nothing to do, or not sound */
    uint32_t lasts, dc, places, signs, large, nibbles, bytes, words;
    bool bad;
};

/* By thread: what its block has. */
struct run_parts {
    uint64_t places[FDL_DEVICE_THREADS]; /* zigzag; first the last one */
    uint16_t dc[FDL_DEVICE_THREADS];     /* less that of the block before */
    uint16_t place_bits[FDL_DEVICE_THREADS], values[FDL_DEVICE_THREADS];
    uint16_t large[FDL_DEVICE_THREADS], full[FDL_DEVICE_THREADS];
    uint16_t words[FDL_DEVICE_THREADS];
    uint8_t bad[FDL_DEVICE_THREADS];
};

/* n bits from bit `at` on, n <= 32. */
DEVICE uint32_t bits_at(const struct words *w, uint32_t at, uint32_t n)
{
    uint64_t x = word(w, at / 32);
    if (at % 32 + n > 32)
        x |= (uint64_t)word(w, at / 32 + 1) << 32;
    OPS(6);
    return (uint32_t)(x >> at % 32 & (((uint64_t)1 << n) - 1));
}

/* The same for n <= 64. */
DEVICE uint64_t many_bits_at(const struct words *w, uint32_t at, uint32_t n)
{
    uint32_t low = n < 32 ? n : 32;
    uint64_t x = bits_at(w, at, low);
    if (n > 32)
        x |= (uint64_t)bits_at(w, at + 32, n - 32) << 32;
    return x;
}

DEVICE uint32_t behind(uint32_t at, uint32_t bits)
{
    return (at + bits + 7) & ~7u;
}

/* Of the blocks of thread t's segment: those before its own, or all. */
DEVICE uint32_t sum_before(const uint16_t *of, uint32_t t)
{
    uint32_t sum = 0;
    for (uint32_t i = t & ~(RUN_BLOCKS - 1u); i < t; i++) {
        sum += of[i];
        OPS(2);
    }
    return sum;
}

DEVICE uint32_t sum_of(const uint16_t *of, uint32_t t)
{
    return sum_before(of, t | (RUN_BLOCKS - 1u)) + of[t | (RUN_BLOCKS - 1u)];
}

DEVICE const struct fdl_device_run *run_at(const struct fdl_device_args *a,
                                           const struct fdl_device_job *job,
                                           uint32_t i)
{
    const void *runs = payload_of(a, job) + READ(&job->segments);
    return (const struct fdl_device_run *)runs + i;
}

/* Number i of the job, if there is one. */
DEVICE void open_run(const struct fdl_device_args *a,
                     const struct fdl_device_job *job, uint32_t i,
                     struct run *r)
{
    uint32_t size = READ(&job->payload_bytes);
    r->from.at = (const uint32_t *)(const void *)payload_of(a, job);
    r->from.n = size / 4;
    r->n = r->dc_bits = r->end = r->lasts = r->dc = r->places = 0;
    r->bad = false;
    if (i >= READ(&job->n_segments))
        return;
    const struct fdl_device_run *run = run_at(a, job, i);
    uint32_t at = READ(&run->at), bytes = READ(&run->bytes);
    uint32_t n = READ(&run->n);
    r->bad = n == 0 || n > RUN_BLOCKS || at > size || bytes > size - at ||
             READ(&run->plane) >= READ(&job->n_planes);
    if (r->bad)
        return;
    r->dc_bits = bits_at(&r->from, at * 8, 8);
    r->bad = r->dc_bits > DC_BITS;
    if (r->bad)
        return;
    r->n = n;
    r->end = (at + bytes) * 8;
    r->lasts = at * 8 + RUN_HEAD;
    r->dc = behind(r->lasts, n * LAST_BITS);
    r->places = behind(r->dc, (n - 1) * r->dc_bits);
}

DEVICE void read_first(struct run_parts *p, const struct run *r, uint32_t t)
{
    uint32_t i = t % RUN_BLOCKS, dc = 0, last = 0;
    if (i < r->n) {
        last = bits_at(&r->from, r->lasts + i * LAST_BITS, LAST_BITS);
        dc = bits_at(&r->from, r->lasts - 16, 16);
    }
    if (i > 0 && i < r->n) {
        dc = bits_at(&r->from, r->dc + (i - 1) * r->dc_bits, r->dc_bits);
        dc = dc >> 1 ^ (0 - (dc & 1));
    }
    p->bad[t] = 0;
    p->dc[t] = (uint16_t)dc;
    p->place_bits[t] = (uint16_t)(last > 0 ? last - 1 : 0);
    p->places[t] = last;
}

DEVICE void read_places(struct run_parts *p, const struct run *r, uint32_t t)
{
    uint32_t last = (uint32_t)p->places[t], n = p->place_bits[t];
    uint32_t at = r->places + sum_before(p->place_bits, t);
    uint64_t places = 0;
    if (last > 0)
        places = many_bits_at(&r->from, at, n) << 1 | (uint64_t)1 << last;
    p->places[t] = places;
    p->values[t] = (uint16_t)ONES(places);
}

DEVICE void find_values(struct run *r, const struct run_parts *p, uint32_t t)
{
    uint32_t n = sum_of(p->values, t);
    r->signs = behind(r->places, sum_of(p->place_bits, t));
    r->large = behind(r->signs, n);
    r->nibbles = behind(r->large, n);
}

DEVICE void count_large(struct run_parts *p, const struct run *r, uint32_t t)
{
    uint32_t at = r->large + sum_before(p->values, t);
    p->large[t] = (uint16_t)ONES(many_bits_at(&r->from, at, p->values[t]));
}

DEVICE void count_full(struct run_parts *p, const struct run *r, uint32_t t)
{
    uint32_t at = r->nibbles + 4 * sum_before(p->large, t), full = 0;
    for (uint32_t i = 0; i < p->large[t]; i++)
        full += bits_at(&r->from, at + 4 * i, 4) == NIBBLE;
    p->full[t] = (uint16_t)full;
}

DEVICE void count_words(struct run_parts *p, const struct run *r, uint32_t t)
{
    uint32_t at = r->bytes + 8 * sum_before(p->full, t), words = 0;
    for (uint32_t i = 0; i < p->full[t]; i++) {
        uint32_t byte = bits_at(&r->from, at + 8 * i, 8);
        words += byte == BYTE;
        if (byte > BYTE)
            p->bad[t] = 1;
    }
    p->words[t] = (uint16_t)words;
}

/* Natural places of zigzag ones. */
DEVICE uint64_t to_natural(uint64_t places)
{
    uint64_t natural = 0;
    for (; places != 0; places &= places - 1) {
        natural |= (uint64_t)1 << natural_place[FIRST(places)];
        OPS(6);
    }
    return natural;
}

/* Values of thread t's block, in the order of rows. */
DEVICE void write_values(const struct run_parts *p, const struct run *r,
                         uint32_t t, int16_t *to)
{
    uint32_t value = sum_before(p->values, t);
    uint32_t nibble = r->nibbles + 4 * sum_before(p->large, t);
    uint32_t byte = r->bytes + 8 * sum_before(p->full, t);
    uint32_t words = r->words + 16 * sum_before(p->words, t);
    uint64_t places = to_natural(p->places[t]);
    uint32_t dc = sum_before(p->dc, t) + p->dc[t];
    uint64_t signs = many_bits_at(&r->from, r->signs + value, p->values[t]);
    uint64_t large = many_bits_at(&r->from, r->large + value, p->values[t]);
    clear_block(to);
    WRITE(to, (int16_t)(uint16_t)dc);
    for (; places != 0; places &= places - 1, signs >>= 1, large >>= 1) {
        uint32_t m = 1;
        if (large & 1) {
            m = 2 + bits_at(&r->from, nibble, 4);
            nibble += 4;
        }
        if (m == 2 + NIBBLE) {
            m += bits_at(&r->from, byte, 8);
            byte += 8;
        }
        if (m == 2 + NIBBLE + BYTE) {
            m = bits_at(&r->from, words, 16);
            words += 16;
        }
        WRITE(to + FIRST(places), (int16_t)(uint16_t)(signs & 1 ? 0 - m : m));
        OPS(14);
    }
}

/* Whether the streams end with the segment. */
DEVICE void judge_run(struct run *r, const struct run_parts *p, uint32_t t)
{
    for (uint32_t i = t; i < t + RUN_BLOCKS; i++)
        r->bad |= p->bad[i] != 0;
    r->bad |= r->n > 0 && r->words + 16 * sum_of(p->words, t) != r->end;
}

/* Thread t's block goes to where it belongs, if it is one of those. */
DEVICE void write_block(const struct fdl_device_args *a,
                        struct fdl_device_job *job, const struct run_parts *p,
                        const struct run *r, uint32_t i, uint32_t t)
{
    uint32_t block = t % RUN_BLOCKS;
    if (r->bad)
        damaged(job);
    if (r->bad || block >= r->n)
        return;
    const struct fdl_device_run *run = run_at(a, job, i);
    int16_t *to = block_at(a, job, &job->planes[READ(&run->plane)],
                           READ(&run->row), READ(&run->column) + block);
    if (to)
        write_values(p, r, t, to);
}

/* ---- The stage ----------------------------------------------------------- */

DEVICE const struct fdl_device_chain *chains_of(
    const struct fdl_device_args *a, const struct fdl_device_job *job)
{
    const void *chains = payload_of(a, job) + READ(&job->segments);
    return (const struct fdl_device_chain *)chains;
}

DEVICE void follow_chains(const struct fdl_device_args *a,
                          struct fdl_device_job *job)
{
    SHARED struct look_up tables[FDL_DEVICE_TABLES];
    const void *in = payload_of(a, job) + READ(&job->tables);
    const struct fdl_device_table *from = (const struct fdl_device_table *)in;
    EACH_THREAD(t) {
        if (t < FDL_DEVICE_TABLES)
            make_limits(&tables[t], &from[t]);
        for (uint32_t i = t; i < FDL_DEVICE_TABLES * 256u;
             i += FDL_DEVICE_THREADS)
            tables[i / 256].symbols[i % 256] =
                READ(&from[i / 256].symbols[i % 256]);
    }
    ALL_ARE_HERE;
    EACH_THREAD(t)
        make_looks(tables, t);
    ALL_ARE_HERE;
    EACH_THREAD(t) {
        uint32_t n = READ(&job->n_segments);
        const struct fdl_device_chain *chains = chains_of(a, job);
        for (uint32_t i = t * gridDim.x + blockIdx.x; i < n;
             i += gridDim.x * FDL_DEVICE_THREADS) {
            if (!take_chain(a, job, tables, &chains[i]))
                damaged(job);
        }
    }
}

/* The segments from `first` on, one for each RUN_BLOCKS threads. */
DEVICE void unpack(const struct fdl_device_args *a, struct fdl_device_job *job,
                   struct run *runs, struct run_parts *p, uint32_t first)
{
#define OF(t)       (&runs[(t) / RUN_BLOCKS])
#define IS_FIRST(t) ((t) % RUN_BLOCKS == 0)
    EACH_THREAD(t) {
        if (IS_FIRST(t))
            open_run(a, job, first + t / RUN_BLOCKS, OF(t));
    }
    ALL_ARE_HERE;
    EACH_THREAD(t)
        read_first(p, OF(t), t);
    ALL_ARE_HERE;
    EACH_THREAD(t)
        read_places(p, OF(t), t);
    ALL_ARE_HERE;
    EACH_THREAD(t) {
        if (IS_FIRST(t))
            find_values(OF(t), p, t);
    }
    ALL_ARE_HERE;
    EACH_THREAD(t)
        count_large(p, OF(t), t);
    ALL_ARE_HERE;
    EACH_THREAD(t) {
        if (IS_FIRST(t))
            OF(t)->bytes = behind(OF(t)->nibbles, 4 * sum_of(p->large, t));
    }
    ALL_ARE_HERE;
    EACH_THREAD(t)
        count_full(p, OF(t), t);
    ALL_ARE_HERE;
    EACH_THREAD(t) {
        if (IS_FIRST(t))
            OF(t)->words = OF(t)->bytes + 8 * sum_of(p->full, t);
    }
    ALL_ARE_HERE;
    EACH_THREAD(t)
        count_words(p, OF(t), t);
    ALL_ARE_HERE;
    EACH_THREAD(t) {
        if (IS_FIRST(t))
            judge_run(OF(t), p, t);
    }
    ALL_ARE_HERE;
    EACH_THREAD(t)
        write_block(a, job, p, OF(t), first + t / RUN_BLOCKS, t);
    ALL_ARE_HERE;
#undef IS_FIRST
#undef OF
}

KERNEL fdl_device_coefficients(struct fdl_device_args args)
{
    SHARED struct run runs[RUNS];
    SHARED struct run_parts parts;
    struct fdl_device_job *job = &args.jobs[blockIdx.y];
    uint32_t kind = READ(&job->kind), n = READ(&job->n_segments);
    if (kind == FDL_DEVICE_CHAINS && blockIdx.x < n)
        follow_chains(&args, job);
    for (uint32_t i = blockIdx.x * RUNS; kind == FDL_DEVICE_PACKED && i < n;
         i += gridDim.x * RUNS)
        unpack(&args, job, runs, &parts, i);
}
