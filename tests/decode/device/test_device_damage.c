/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Damaged inputs on their way to a device: whatever is in a payload, a record,
 * a JPEG, its entries or a packed sample, the host writes a job that is sound
 * or none, and kernels stay in their memory, and end. Where a file is damaged
 * so that it still means something, the pixels are the CPU's.
 *
 * FDL_TEST_DAMAGED is how many inputs there are; some thousands without it. A
 * round makes INPUTS of them from one file, and all that is drawn in it follows
 * from its seed; the round after has the next seed. Seeds are printed on the
 * way: FDL_TEST_SEED goes on from there.
 */
#include "decode/formats/jpeg_pack.h"
#include "decode/packed/container.h"
#include "tests/decode/device/kernel_rig.h"

#include <glob.h>

#define INPUTS  32         /* of a round */
#define ROOM    (1u << 18) /* of a payload that is made of a damaged file */
#define SCRATCH (1u << 20) /* bytes that a damaged record may ask for */
#define SIDE    96         /* of a part; and of a made file */
#define PIXELS  (1u << 18) /* of a damaged file */

/* A file whose inputs are damaged; the entries are those of device_known. */
struct subject {
    uint8_t *file, *packed;
    size_t size;
    uint64_t packed_bytes;
    int32_t width, height;
    struct fdl_decoder *d, *careful; /* of PIXELS */
};

/* What is damaged. */
enum way { PAYLOAD, RECORD, ENTRIES, JPEG, PACKED, WAYS };
static const char *const way_names[WAYS] = {
    "payloads", "records", "JPEGs and entries", "JPEGs, known anew",
    "packed samples"};

/* What became of it: there was no job, kernels saw it, or they did not. NONE:
 * nothing was damaged, as it is not for a device. */
enum end { REFUSED, SEEN, UNSEEN, ENDS, NONE };

/* ---- Damage -------------------------------------------------------------- */

/* A place in a payload: anywhere, in what is known of segments, or in what is
 * known of weights. */
static uint32_t draw_place(const struct fdl_device_job *job, uint64_t *seed)
{
    const struct fdl_device_pass *p = &job->pass[make_within(seed, 0, 1)];
    uint32_t from = 0, n = job->payload_bytes;
    int32_t kind = make_within(seed, 0, 2);
    if (kind == 1) {
        from = job->segments;
        n = FDL_MIN(job->n_segments * 20, n - from);
    } else if (kind == 2) {
        from = p->spans;
        n = p->weights - p->spans;
    }
    return from + (uint32_t)(make_random(seed) % n);
}

/* Numbers that are the last to be right, or the first to be wrong. */
static uint32_t draw_number(const struct fdl_device_job *job, uint64_t *seed)
{
    const uint32_t near[] = {job->payload_bytes,
                             job->payload_bytes * 8,
                             job->mcus_wide * job->mcus_high,
                             job->pass[0].n_weights,
                             job->width,
                             job->height,
                             job->scratch_bytes,
                             job->n_blocks,
                             32,
                             0};
    return near[make_within(seed, 0, (int32_t)FDL_COUNT_OF(near) - 1)] +
           (uint32_t)make_within(seed, -9, 9);
}

/* What a copy has lost, what somebody has written, what a bug would write. */
static void damage_payload(uint8_t *payload, const struct fdl_device_job *job,
                           uint64_t *seed)
{
    for (int i = make_within(seed, 1, 12); i > 0; i--) {
        uint32_t at = draw_place(job, seed), number = draw_number(job, seed);
        int32_t kind = make_within(seed, 0, 3);
        if (kind == 0)
            payload[at] = (uint8_t)make_random(seed);
        else if (kind == 1)
            payload[at] ^= (uint8_t)(1 << make_within(seed, 0, 7));
        else if (kind == 2)
            memcpy(payload + at / 4 * 4, &number, 4);
        else
            memcpy(payload + at / 2 * 2, &number, 2);
    }
    if (make_within(seed, 0, 15) == 0)
        memset(payload, make_within(seed, 0, 1) ? 0xff : 0, job->payload_bytes);
}

/* One or two of its words; where it lies stays. */
static void damage_record(struct fdl_device_job *job, uint64_t *seed)
{
    struct fdl_device_job was = *job;
    for (int i = make_within(seed, 1, 2); i > 0; i--) {
        size_t word = make_random(seed) % (sizeof(*job) / 4);
        uint32_t x, number = draw_number(&was, seed);
        int32_t kind = make_within(seed, 0, 3);
        memcpy(&x, (uint8_t *)job + 4 * word, 4);
        if (kind == 0)
            x ^= 1u << make_within(seed, 0, 31);
        else if (kind == 1)
            x += (uint32_t)make_within(seed, -3, 3);
        else if (kind == 2)
            x = number;
        else
            x = (uint32_t)make_random(seed);
        memcpy((uint8_t *)job + 4 * word, &x, 4);
    }
}

/* A part of what there is, in another place, or the end of it gone. */
static size_t move_bytes(uint8_t *data, size_t size, uint64_t *seed)
{
    size_t from = make_random(seed) % size, to = make_random(seed) % size;
    size_t n = (size_t)make_within(seed, 1, 64);
    n = FDL_MIN(n, size - FDL_MAX(from, to));
    memmove(data + to, data + from, n);
    return make_within(seed, 0, 7) ? size : FDL_MAX(to, 1);
}

/* Of a file: its bytes, bits, markers. How many bytes it still has. */
static size_t damage_file(uint8_t *data, size_t size, uint64_t *seed)
{
    size_t head = FDL_MIN(size, 700);
    for (int i = make_within(seed, 1, 4); i > 0; i--) {
        int32_t kind = make_within(seed, 0, 9);
        size_t at = make_random(seed) % (kind == 0 ? head : size);
        if (kind < 4) {
            data[at] = (uint8_t)make_random(seed);
        } else if (kind < 7) {
            data[at] ^= (uint8_t)(1 << make_within(seed, 0, 7));
        } else if (kind < 9) {
            data[at] = 0xff;
            if (at + 1 < size)
                data[at + 1] = (uint8_t)(make_within(seed, 0, 2) == 0
                                             ? 0
                                             : 0xd0 + make_within(seed, 0, 9));
        } else {
            size = move_bytes(data, size, seed);
            head = FDL_MIN(size, 700);
        }
    }
    return size;
}

/* What the index knows, of these bytes now, and not always right. */
static void damage_entries(struct fdl_entries *known, uint64_t *seed)
{
    uint64_t n = fdl_entries_count(known);
    for (int i = make_within(seed, 0, 3); n > 0 && i > 0; i--) {
        uint64_t *entry = &known->at[make_random(seed) % n];
        int32_t kind = make_within(seed, 0, 4);
        if (kind == 0)
            *entry = make_random(seed);
        else if (kind == 1)
            *entry ^= (uint64_t)1 << make_within(seed, 0, 63);
        else if (kind == 2)
            *entry += (uint64_t)(int64_t)make_within(seed, -9, 9);
        else if (kind == 3)
            *entry = known->at[make_random(seed) % n];
        else
            known->n = (uint32_t)(make_random(seed) % (n + 1));
    }
}

/* Its parts, under checksums that are right. For free(). */
static uint8_t *damage_packed(const struct subject *s, uint64_t *bytes,
                              uint64_t *seed)
{
    struct fdl_packed p;
    uint8_t *copy = rig_copy(s->packed, s->packed_bytes), *out;
    assert_int_equal(fdl_packed_open(copy, s->packed_bytes, &p), FEEDLINE_OK);
    for (int i = make_within(seed, 1, 3); i > 0; i--) {
        const struct fdl_packed_plane *plane =
            &p.planes[make_random(seed) % p.n_planes];
        uint64_t segments =
            (uint64_t)fdl_packed_segments(plane) * plane->blocks_high;
        const uint8_t *const parts[] = {plane->data, plane->lengths, p.prefix,
                                        p.tail};
        const uint64_t sizes[] = {plane->bytes, 2 * segments, p.prefix_bytes,
                                  p.tail_bytes};
        int32_t part = make_within(seed, -4, 3);
        part = FDL_MAX(part, 0);
        if (sizes[part] > 0)
            copy[(size_t)(parts[part] - copy) +
                 make_random(seed) % sizes[part]] = (uint8_t)make_random(seed);
    }
    assert_int_equal(fdl_packed_write(&p, &out, bytes), FEEDLINE_OK);
    free(copy);
    return out;
}

/* ---- Inputs -------------------------------------------------------------- */

static struct fdl_encoded undamaged(const struct subject *s)
{
    struct fdl_encoded bytes = file_of(s->file, s->size);
    return s->packed ? file_of(s->packed, s->packed_bytes)
                     : device_noted(&bytes);
}

static enum end run_batch(struct device_batch *b, uint64_t *seed)
{
    as_c.backwards = make_within(seed, 0, 1);
    device_decode(b, (uint32_t)make_within(seed, 1, 3));
    return b->jobs[b->n - 1].status == FDL_DEVICE_DAMAGED ? SEEN : UNSEEN;
}

/* Now and then beside a sound sample, whose pixels stay what they are. */
static enum end try_payload(const struct subject *s, uint64_t *seed)
{
    struct fdl_output_format f;
    struct fdl_plan plan = draw_plan(seed, s->width, s->height, SIDE, &f);
    struct fdl_encoded bytes = undamaged(s);
    struct fdl_device_job job = make_job(s->d, &bytes, &plan, &f);
    struct device_batch b = {0};
    if (job.kind == FDL_DEVICE_NONE)
        return NONE;
    bool beside = make_within(seed, 0, 3) == 0;
    if (beside)
        device_add(&b, &job, payload_memory());
    damage_payload(payload_memory(), &job, seed);
    device_add(&b, &job, payload_memory());
    enum end end = run_batch(&b, seed);
    if (beside) {
        uint64_t n = fdl_output_bytes(&f);
        uint8_t *expected = rig_alloc(n);
        rig_render(s->d, &bytes, &plan, &f, expected);
        assert_int_equal(b.jobs[0].status, FDL_DEVICE_SOUND);
        assert_memory_equal(b.out, expected, n);
        free(expected);
    }
    device_free(&b);
    return end;
}

/* One that is sound lies in memory of the size that it says. */
static enum end try_record(const struct subject *s, uint64_t *seed)
{
    struct fdl_output_format f;
    struct fdl_plan plan = draw_plan(seed, s->width, s->height, SIDE, &f);
    struct fdl_encoded bytes = undamaged(s);
    struct fdl_device_job job = make_job(s->d, &bytes, &plan, &f);
    if (job.kind == FDL_DEVICE_NONE)
        return NONE;
    uint32_t used = job.payload_bytes;
    damage_record(&job, seed);
    if (job.kind == FDL_DEVICE_NONE || !fdl_device_job_is_sound(&job) ||
        job.payload_bytes > ROOM || job.scratch_bytes > SCRATCH ||
        job.pass[1].width * job.pass[1].height > SCRATCH)
        return REFUSED;
    if (job.payload_bytes > used)
        memset(payload_memory() + used, 0xa5, job.payload_bytes - used);
    struct device_batch b = {0};
    device_add(&b, &job, payload_memory());
    enum end end = run_batch(&b, seed);
    device_free(&b);
    return end;
}

/* Whether kernels are asked; in b, whose payload had room for `room` bytes. */
static bool add_job(struct fdl_decoder *d, const struct fdl_encoded *bytes,
                    const struct fdl_plan *plan,
                    const struct fdl_output_format *f, uint32_t room,
                    struct device_batch *b)
{
    uint8_t *memory = device_alloc(room + 256);
    struct fdl_device_payload to = {.data = memory, .capacity = room};
    struct fdl_image_info info;
    struct fdl_device_job job = {0};
    bool made = fdl_decoder_open(d, bytes, &info) == FEEDLINE_OK &&
                fdl_decoder_make_job(d, plan, f, &to, &job) == FEEDLINE_OK &&
                job.kind != FDL_DEVICE_NONE;
    for (uint32_t i = 0; i < 256; i++)
        assert_int_equal(memory[room + i], 0xa5);
    if (made)
        device_add(b, &job, memory);
    free(memory);
    return made;
}

/* A damaged file, whose size may have changed. Its pixels, where it has some
 * on the CPU and `exact`, are those of the device. */
static enum end try_bytes(const struct subject *s,
                          const struct fdl_encoded *bytes, bool exact,
                          uint64_t *seed)
{
    struct fdl_image_info info;
    struct fdl_render_cost cost;
    struct device_batch b = {0};
    if (fdl_decoder_open(s->careful, bytes, &info))
        return REFUSED;
    fdl_decoder_abort(s->careful);
    struct fdl_output_format f;
    struct fdl_plan plan = draw_plan(seed, info.width, info.height, SIDE, &f);
    uint32_t room = make_within(seed, 0, 7)
                        ? ROOM
                        : (uint32_t)make_within(seed, 0, 40) * 256;
    if (!add_job(s->careful, bytes, &plan, &f, room, &b))
        return REFUSED;
    enum end end = run_batch(&b, seed);
    if (exact) {
        uint64_t n = fdl_output_bytes(&f);
        uint8_t *expected = rig_alloc(n);
        assert_int_equal(fdl_decoder_open(s->careful, bytes, &info), 0);
        if (fdl_decoder_render(s->careful, &plan, &f, expected, &cost) == 0) {
            assert_int_equal(end, UNSEEN);
            assert_int_equal(differing(b.out, expected, n), 0);
        }
        free(expected);
    }
    device_free(&b);
    return end;
}

/* Entries of the file before it was damaged, or damaged themselves. */
static enum end try_entries(const struct subject *s, uint64_t *seed)
{
    struct fdl_entries *kept = device_known;
    size_t bytes = sizeof(*kept) + fdl_entries_count(kept) * sizeof(uint64_t);
    uint8_t *file = rig_copy(s->file, s->size);
    size_t size = s->size;
    if (make_within(seed, 0, 2) > 0)
        size = damage_file(file, size, seed);
    uint8_t *exact = rig_copy(file, size);
    device_known = (struct fdl_entries *)(void *)rig_copy(kept, bytes);
    device_known->hash = fdl_entries_hash(exact, size);
    damage_entries(device_known, seed);
    struct fdl_encoded encoded = file_of(exact, size);
    struct fdl_encoded noted = device_noted(&encoded);
    enum end end = try_bytes(s, &noted, false, seed);
    free(device_known);
    device_known = kept;
    free(exact);
    free(file);
    return end;
}

/* A damaged file that was decoded, as far as that went well. */
static enum end try_jpeg(const struct subject *s, uint64_t *seed)
{
    struct fdl_entries *kept = device_known;
    struct fdl_image_info info;
    uint8_t *file = rig_copy(s->file, s->size);
    size_t size = damage_file(file, s->size, seed);
    uint8_t *exact = rig_copy(file, size);
    struct fdl_encoded encoded = file_of(exact, size);
    enum end end = REFUSED;
    if (fdl_decoder_open(s->careful, &encoded, &info) == FEEDLINE_OK) {
        fdl_decoder_abort(s->careful);
        device_known = NULL;
        device_learn(s->careful, &encoded, info.height > 1, info.height);
        struct fdl_encoded noted = device_noted(&encoded);
        end = try_bytes(s, &noted, true, seed);
        free(device_known);
        device_known = kept;
    }
    free(exact);
    free(file);
    return end;
}

/* Without checksums, what is damaged in a packed file comes to the kernels.
 * What they refuse the CPU refuses; it may read a little more of the file. */
static enum end try_packed(const struct subject *s, uint64_t *seed)
{
    uint64_t bytes;
    uint8_t *packed = damage_packed(s, &bytes, seed);
    struct fdl_encoded encoded = file_of(packed, bytes);
    enum end end = try_bytes(s, &encoded, true, seed);
    free(packed);
    return end;
}

static enum end try_one(const struct subject *s, enum way way, uint64_t *seed)
{
    switch (way) {
    case PAYLOAD:
        return try_payload(s, seed);
    case RECORD:
        return try_record(s, seed);
    case ENTRIES:
        return try_entries(s, seed);
    case JPEG:
        return try_jpeg(s, seed);
    default:
        return try_packed(s, seed);
    }
}

/* ---- Rounds -------------------------------------------------------------- */

static uint64_t tallies[WAYS][ENDS], inputs;

/* Of a kind that a device knows, and now and then of another one. */
static void take_made(struct subject *s, uint64_t *seed)
{
    struct make_jpeg m;
    do
        m = draw_file(seed, SIDE + 24);
    while (m.components * m.h * m.v > 12 && make_within(seed, 0, 15) > 0);
    s->file = make_jpeg(&m, &s->size);
    s->width = m.width;
    s->height = m.height;
}

static void take_real(struct subject *s, const glob_t *found, uint64_t *seed)
{
    struct fdl_image_info info;
    const char *path = found->gl_pathv[make_random(seed) % found->gl_pathc];
    s->file = read_file(path, &s->size);
    struct fdl_encoded bytes = file_of(s->file, s->size);
    assert_int_equal(fdl_decoder_open(s->d, &bytes, &info), FEEDLINE_OK);
    fdl_decoder_abort(s->d);
    s->width = info.width;
    s->height = info.height;
}

static enum way draw_way(const struct subject *s, uint64_t *seed)
{
    int32_t way = make_within(seed, 0, 7);
    if (way < 3)
        return PAYLOAD;
    if (way == 3)
        return RECORD;
    if (s->packed)
        return PACKED;
    /* A whole file is decoded for each of the last ones. */
    return s->width > SIDE + 24 || way < 6 ? ENTRIES : JPEG;
}

static void do_round(struct subject *s, const glob_t *real, uint64_t seed)
{
    if (real->gl_pathc > 0 && make_within(&seed, 0, 7) == 0)
        take_real(s, real, &seed);
    else
        take_made(s, &seed);
    s->packed = NULL;
    struct fdl_encoded bytes = file_of(s->file, s->size);
    if (make_within(&seed, 0, 1) == 0 ||
        fdl_jpeg_pack(s->file, s->size, 1u << 24, &s->packed, &s->packed_bytes))
        device_learn(s->d, &bytes, s->height > 1, s->height);
    for (int i = 0; i < INPUTS; i++) {
        enum way way = draw_way(s, &seed);
        enum end end = try_one(s, way, &seed);
        if (end == NONE)
            continue;
        tallies[way][end]++;
        inputs++;
    }
    free(s->packed);
    free(s->file);
}

static void print_tallies(void)
{
    for (int i = 0; i < WAYS; i++)
        print_message("%-18s %8llu refused before, %8llu seen by kernels, "
                      "%8llu not seen\n",
                      way_names[i], (unsigned long long)tallies[i][REFUSED],
                      (unsigned long long)tallies[i][SEEN],
                      (unsigned long long)tallies[i][UNSEEN]);
}

TEST(damage_leads_nowhere)
{
    const char *text = getenv("FDL_TEST_DAMAGED"), *data = test_data();
    uint64_t n = text ? strtoull(text, NULL, 10) : TEST_ROUNDS(12000);
    uint64_t seed = test_seed();
    if (!can_decode())
        test_skip("built without jpegint.h, or no AVX2");
    char pattern[4200];
    glob_t real = {0};
    SCOPED_DECODER d = create(false, false);
    SCOPED_DECODER careful =
        rig_decoder((struct fdl_decode_limits){.max_pixels = PIXELS});
    struct subject s = {.d = d, .careful = careful};
    snprintf(pattern, sizeof(pattern), "%s/imagenet-sample/*/*",
             data ? data : "");
    if (!data || glob(pattern, 0, NULL, &real))
        real.gl_pathc = 0;
    for (uint64_t i = 0; inputs < n; i++, seed++) {
        if (i % 1024 == 0)
            print_message("FDL_TEST_SEED=%llu after %llu inputs\n",
                          (unsigned long long)seed, (unsigned long long)inputs);
        do_round(&s, &real, seed);
    }
    print_tallies();
    for (int i = 0; i < WAYS && n >= 1000; i++)
        assert_true(tallies[i][UNSEEN] > 0);
    assert_true(tallies[PAYLOAD][SEEN] > tallies[PAYLOAD][UNSEEN]);
    assert_int_equal(tallies[JPEG][SEEN], 0);
    if (real.gl_pathc > 0)
        globfree(&real);
}

TEST_MAIN("device_damage")
