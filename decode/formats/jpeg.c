/* SPDX-License-Identifier: Apache-2.0 */
/*
 * JPEG through the libjpeg API of libjpeg-turbo 2.1.5 and later. Pixels are
 * Pillow's, bit for bit: accurate integer IDCT, fancy upsampling. Rows are
 * gray, RGB, or the inverted CMYK that Adobe writes.
 *
 * Errors follow Pillow too, whatever part of the image is wanted. Damage that
 * libjpeg recovers from (a bad Huffman code, bytes between markers, an early
 * end marker) is accepted silently. A file that ends before its last row is
 * decoded, or contains a marker past which libjpeg cannot continue, is an
 * error, unless accept_truncated allows it. To decode the last row, libjpeg
 * wants a marker, or some bytes more than the row has.
 *
 * How a part of a JPEG is decoded exactly:
 *
 *   rows above      skipped once, from row 0 (a later skip is not exact in any
 *                   release of libjpeg-turbo if rows come in groups)
 *   columns         cropped with one pixel more on either side, because fancy
 *                   upsampling mistakes the edge of the crop for that of the
 *                   image; and never narrower than MIN_COLUMNS, because very
 *                   narrow images are upsampled differently
 *   rows below      not decoded: the decoder is aborted after the last row, and
 *                   the rest is searched for markers (jpeg_scan.h), unless it
 *                   was when the same bytes were decoded before
 *                   (jpeg_entries.h)
 *   missing scans   of a progressive file are smoothed over, in a way that
 *                   depends on the crop: libjpeg decodes such a file whole
 *   lossless files  libjpeg-turbo 2 refuses; 3 and later decode them whole, and
 *                   at their full size alone
 *
 * The same holds at 1/2, 1/4 and 1/8 (the sizes for which libjpeg-turbo has
 * fast transforms). One exception: where the chroma of an unusual sampling is
 * upsampled from another scale than luma's, cropping confuses their widths, so
 * all columns are read.
 *
 * Intact sequential files go through our own Huffman decoder (jpeg_entropy.h),
 * and the usual ones then through our own transform (jpeg_rows.h), so libjpeg
 * has only read their headers; for that one files of several scans have a
 * decoder, too (jpeg_progressive.h). If the first
 * gives up, or the markers of a file of one scan look wrong, libjpeg first
 * decodes the whole file, to its end and at 1/8, as Pillow would; if it fails,
 * the file is refused, whatever part is wanted. Then the image is restarted
 * with libjpeg's decoder, and rows already delivered are decoded twice. Files
 * of several scans libjpeg reads to their end anyway.
 *
 * A packed sample (decode/packed/container.h) begins with the headers of a
 * JPEG, which libjpeg reads, and then has its blocks from jpeg_packed.h. What
 * is damaged there is an error.
 *
 * One libjpeg object serves all images of a decoder. Its state is dropped
 * between images along with its memory (jpeg_arena.h).
 *
 * libjpeg's entropy decoder has a faster path as long as the input buffer holds
 * 512 bytes per block of an MCU, so zero padding after a file is counted as
 * data; but only after an end marker, which no reader of bits or markers
 * passes. The two paths look ahead by different amounts, so in a file that
 * simply stops, padding would decide whether that is noticed.
 *
 * Errors leave libjpeg by longjmp, and enter it in one place, guarded().
 */
#include "base/clock.h"
#include "base/compiler.h"
#include "base/status.h"
#include "decode/formats/format.h"
#include "decode/formats/jpeg_arena.h"
#include "decode/formats/jpeg_device.h"
#include "decode/formats/jpeg_entropy.h"
#include "decode/formats/jpeg_error.h"
#include "decode/formats/jpeg_orientation.h"
#include "decode/formats/jpeg_packed.h"
#include "decode/formats/jpeg_progressive.h"
#include "decode/formats/jpeg_rows.h"
#include "decode/formats/jpeg_scan.h"
#include "decode/formats/limits.h"

#include <inttypes.h>
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>

#define MIN_COLUMNS   16
#define ROWS_PER_CALL 16

/* The status of a step after jpeg_entropy.h gave up, or if the file is not
 * intact. */
#define AGAIN 1

struct fdl_jpeg {
    struct fdl_arena arena; /* first: client_data points to it */
    struct jpeg_decompress_struct cinfo;
    struct jpeg_error_mgr err;
    struct jpeg_source_mgr source;
    struct jpeg_progress_mgr progress;
    jmp_buf escape;
    int32_t status; /* of the error that escaped */
    struct fdl_decode_limits limits;
    const struct fdl_deadline *deadline;
    struct fdl_encoded bytes;
    uint32_t scan;  /* that the clock was last read in */
    bool in_pixels; /* the end of the file may be accepted here */
    bool finishing; /* the rows are there: what follows them may end early */
    bool cut;       /* the file ended, and libjpeg was given an end */
    bool damaged;   /* it ends early or worse, and that was accepted */
    bool doubtful;  /* libjpeg warned of this image */
    struct fdl_jpeg_profiles profiles;
    int32_t shift; /* the image comes at 1/2^shift of its size */

    struct fdl_jpeg_entropy *entropy; /* NULL: images are packed */
    struct fdl_packed packed;
    struct fdl_jpeg_blocks *blocks;     /* of this image, for `own` */
    bool attached;                      /* it goes through entropy */
    bool by_scans;                      /* or all of its scans do */
    bool in_markers;                    /* which are looked for */
    bool ours;                          /* and its rows come from `own` */
    struct fdl_jpeg_progressive *scans; /* its memory is the image's */
    struct fdl_jpeg_rows own;
    struct fdl_decode_parts parts; /* since begin */
    bool noted;                    /* and what is noted of it counts */
    bool plain; /* it is left to libjpeg's own Huffman decoder */
    bool lossless;
    struct fdl_box need;
    int32_t delivered; /* rows, since begin */
    int32_t rows;      /* that will be */
};

/* ---- What libjpeg calls ------------------------------------------------- */

static uint64_t position(const struct fdl_jpeg *j)
{
    if (j->cut)
        return j->bytes.size;
    return (uint64_t)(j->source.next_input_byte - j->bytes.data);
}

static void escape(struct fdl_jpeg *j, int32_t status) FDL_NORETURN;

/* What is wrong with the markers of scans libjpeg has to say, in its turn. */
static void escape(struct fdl_jpeg *j, int32_t status)
{
    j->status = j->in_markers && status == FEEDLINE_EDECODE ? AGAIN : status;
    longjmp(j->escape, 1);
}

/* Of a lossless file, whose scans have all there is of a component. */
static uint32_t rows_of_samples(const struct jpeg_decompress_struct *c)
{
    uint64_t rows =
        (uint64_t)c->input_iMCU_row * (uint64_t)c->max_v_samp_factor;
    return c->comps_in_scan == c->num_components
               ? (uint32_t)FDL_MIN(rows, c->image_height)
               : 0;
}

/* See accept_truncated in encoded.h. Scans that only refine leave no row
 * without pixels. */
static uint32_t rows_there(const struct fdl_jpeg *j)
{
    const struct jpeg_decompress_struct *c = &j->cinfo;
    if (j->lossless)
        return rows_of_samples(c);
    for (int i = 0; i < c->num_components; i++) {
        if (!c->comp_info[i].quant_table) /* no scan of it has begun */
            return 0;
    }
    if (c->progressive_mode && (c->Ss > 0 || c->Ah > 0))
        return c->image_height;
    uint64_t rows =
        (uint64_t)c->input_iMCU_row * (uint64_t)c->max_v_samp_factor * DCTSIZE;
    return (uint32_t)FDL_MIN(rows, c->image_height);
}

/* A cut table or header cannot be made up: libjpeg would take the end marker
 * for a part of it. */
static int32_t judge_end(const struct fdl_jpeg *j)
{
    uint32_t rows = j->in_pixels ? rows_there(j) : 0;
    int32_t status = fdl_limits_judge_cut(&j->limits, j->bytes.size, rows,
                                          j->cinfo.image_height);
    if (!status && (!j->in_pixels || j->cinfo.unread_marker != 0))
        status = fdl_fail(FEEDLINE_EDECODE,
                          "offset %" PRIu64 ": image file is truncated in a "
                          "header or table",
                          j->bytes.size);
    return status;
}

/* Past the end of the file. Returns if that is accepted: from now on there is
 * an end marker, as often as requested. */
static void end_of_file(struct fdl_jpeg *j)
{
    static const JOCTET marker[] = {0xff, JPEG_EOI};
    if (j->finishing)
        escape(j, FEEDLINE_OK);
    if (!j->cut && !j->damaged) {
        int32_t status = judge_end(j);
        if (status)
            escape(j, status);
    }
    j->cut = true;
    j->source.next_input_byte = marker;
    j->source.bytes_in_buffer = sizeof(marker);
}

static void on_error(j_common_ptr c)
{
    struct fdl_jpeg *j = c->client_data;
    uint64_t at = j->bytes.data ? position(j) : 0;
    escape(j, fdl_jpeg_fail(c, at));
}

static void on_message(j_common_ptr c, int level)
{
    struct fdl_jpeg *j = c->client_data;
    j->doubtful |= level < 0;
}

/* A file of thousands of tiny scans costs a whole image of work for each. */
static void on_progress(j_common_ptr c)
{
    struct fdl_jpeg *j = c->client_data;
    uint32_t scans = (uint32_t)j->cinfo.input_scan_number;
    if (scans > j->limits.max_scans)
        escape(j, fdl_fail(FEEDLINE_ERANGE,
                           "offset %" PRIu64 ": more than %" PRIu32 " scans",
                           position(j), j->limits.max_scans));
    if (scans == j->scan)
        return;
    j->scan = scans;
    int32_t status = fdl_deadline_check(j->deadline, 0);
    if (status)
        escape(j, status);
}

static void on_give_up(struct jpeg_decompress_struct *c)
{
    escape(c->client_data, AGAIN);
}

static void on_row(struct jpeg_decompress_struct *c)
{
    struct fdl_jpeg *j = c->client_data;
    int32_t status = fdl_deadline_check(j->deadline, 0);
    if (status)
        escape(j, status);
}

static void on_damage(struct jpeg_decompress_struct *c)
{
    escape(c->client_data, FEEDLINE_EDECODE);
}

static void no_source_work(j_decompress_ptr c)
{
    (void)c;
}

static boolean on_empty_buffer(j_decompress_ptr c)
{
    end_of_file(c->client_data);
    return TRUE;
}

static void on_skip(j_decompress_ptr c, long n)
{
    if (n <= 0)
        return;
    if ((uint64_t)n > c->src->bytes_in_buffer) {
        end_of_file(c->client_data);
        return;
    }
    c->src->next_input_byte += n;
    c->src->bytes_in_buffer -= (size_t)n;
}

/* APP1 is read in place: the whole file is in the buffer. */
static boolean on_app1(j_decompress_ptr c)
{
    struct fdl_jpeg *j = c->client_data;
    struct jpeg_source_mgr *source = c->src;
    if (source->bytes_in_buffer < 2) {
        end_of_file(j);
        return TRUE;
    }
    const JOCTET *data = source->next_input_byte;
    long length = (long)data[0] << 8 | data[1]; /* with these two */
    if (!j->in_pixels && length >= 2 &&
        (size_t)length <= source->bytes_in_buffer) {
        int32_t status = fdl_jpeg_profiles_add(&j->profiles, &j->arena,
                                               data + 2, (size_t)length - 2);
        if (status)
            escape(j, status);
    }
    on_skip(c, FDL_MAX(length, 2));
    return TRUE;
}

/* ---- Steps inside libjpeg ----------------------------------------------- */

struct job {
    const struct fdl_box *need;
    struct fdl_box *have;
    uint8_t *rows;
    size_t stride;
    int32_t n;
    struct fdl_image_info info;
    uint32_t rows_there; /* before damage */
    struct fdl_device_payload *payload;
    struct fdl_device_job *device;
};

/* Runs one step; an error inside libjpeg comes back as its status. */
static int32_t guarded(struct fdl_jpeg *j,
                       int32_t (*step)(struct fdl_jpeg *j, struct job *job),
                       struct job *job)
{
    if (setjmp(j->escape))
        return j->status;
    return step(j, job);
}

static int32_t create_step(struct fdl_jpeg *j, struct job *job)
{
    (void)job;
    jpeg_create_decompress(&j->cinfo);
    fdl_jpeg_arena_install(&j->cinfo);
    j->cinfo.src = &j->source;
    j->cinfo.progress = &j->progress;
    if (j->limits.apply_exif)
        jpeg_set_marker_processor(&j->cinfo, JPEG_APP0 + 1, on_app1);
    return FEEDLINE_OK;
}

static int32_t header_step(struct fdl_jpeg *j, struct job *job)
{
    struct jpeg_decompress_struct *c = &j->cinfo;
    jpeg_read_header(c, TRUE);
    int32_t status = fdl_limits_check_size(&j->limits, position(j), "JPEG",
                                           c->image_width, c->image_height);
    if (status)
        return status;
    if (c->data_precision != 8)
        return fdl_jpeg_fail_precision(position(j), c->data_precision);
    j->lossless = fdl_jpeg_is_lossless(c);
    int channels = c->num_components;
    if (channels != 1 && channels != 3 && channels != 4)
        return fdl_fail(FEEDLINE_EDECODE,
                        "offset %" PRIu64 ": JPEG with %d components; 1, 3 and "
                        "4 are supported",
                        position(j), channels);
    int32_t orientation = fdl_jpeg_profiles_orientation(&j->profiles);
    static const char *const modes[] = {[1] = "L", [3] = "RGB", [4] = "CMYK"};
    job->info = (struct fdl_image_info){.mode = modes[channels],
                                        .width = (int32_t)c->image_width,
                                        .height = (int32_t)c->image_height,
                                        .channels = channels,
                                        .orientation = orientation,
                                        .unscaled = j->lossless};
    return FEEDLINE_OK;
}

static J_COLOR_SPACE output_space(int channels)
{
    if (channels == 1)
        return JCS_GRAYSCALE;
    return channels == 3 ? JCS_RGB : JCS_CMYK;
}

/* Columns to ask for; see the top of the file. */
static void crop_columns(const struct fdl_box *need, int32_t image_width,
                         JDIMENSION *x, JDIMENSION *width)
{
    int32_t left = FDL_MAX(need->x - 1, 0);
    int32_t right = FDL_MIN(need->x + need->width + 1, image_width);
    if (right - left < MIN_COLUMNS) {
        right = FDL_MIN(left + MIN_COLUMNS, image_width);
        left = FDL_MAX(FDL_MIN(left, right - MIN_COLUMNS), 0);
    }
    *x = (JDIMENSION)left;
    *width = (JDIMENSION)(right - left);
}

/* Whether the bytes past the file may be counted as its own; see the top of the
 * file. */
static bool may_pad(struct fdl_jpeg *j)
{
    const struct fdl_encoded *b = &j->bytes;
    bool ends = j->entropy && b->data[b->size - 2] == 0xff &&
                b->data[b->size - 1] == JPEG_EOI;
    return ends && !jpeg_has_multiple_scans(&j->cinfo) &&
           !fdl_jpeg_scan_has_filled_end(b->data, b->size);
}

/* See the top of the file. Up to 2x2, chroma is at the size of luma or keeps
 * its own scale. */
static bool can_crop(const struct fdl_jpeg *j)
{
    const struct jpeg_decompress_struct *c = &j->cinfo;
    return j->shift == 0 ||
           (c->max_h_samp_factor <= 2 && c->max_v_samp_factor <= 2);
}

static int32_t fail_other_libjpeg(void)
{
    return fdl_fail(FEEDLINE_ENOSYS,
                    "packed JPEG: this needs the libjpeg that feedline was "
                    "built with, and another version of it was loaded; build "
                    "feedline anew");
}

static int32_t attach_packed(struct fdl_jpeg *j)
{
    if (j->lossless)
        return fdl_fail(FEEDLINE_EDECODE,
                        "offset 0: packed JPEG: its headers are of a lossless "
                        "file, which has no coefficients");
    struct fdl_jpeg_packed *e =
        fdl_jpeg_packed_attach(&j->cinfo, &j->packed, j->bytes.data, on_damage);
    if (e && !j->limits.libjpeg_huffman)
        j->blocks = fdl_jpeg_packed_blocks(e);
    return e ? FEEDLINE_OK : FEEDLINE_EDECODE;
}

/* AGAIN: what libjpeg makes of the file is not known yet, and may be an error.
 * What lies behind rows that jpeg_entropy.h decodes is looked at later. alone:
 * libjpeg itself will not ask for blocks. */
static int32_t attach_or_check(struct fdl_jpeg *j, bool alone)
{
    struct jpeg_decompress_struct *c = &j->cinfo;
    const uint8_t *end = j->bytes.data + j->bytes.size;
    uint64_t restarts = fdl_jpeg_scan_restarts(
        (uint64_t)c->MCUs_per_row * c->MCU_rows_in_scan, c->restart_interval);
    bool may_attach = alone || fdl_jpeg_is_as_compiled(c);
    if (!j->entropy)
        return may_attach ? attach_packed(j) : fail_other_libjpeg();
    if (j->plain || jpeg_has_multiple_scans(c))
        return FEEDLINE_OK;
    j->attached = may_attach && !j->limits.libjpeg_huffman && !j->lossless &&
                  fdl_jpeg_entropy_attach(j->entropy, c, end, on_give_up);
    if (j->attached)
        j->blocks = fdl_jpeg_entropy_blocks(j->entropy);
    return j->attached || fdl_jpeg_scan_is_sound(c->src->next_input_byte, end,
                                                 restarts, 0)
               ? FEEDLINE_OK
               : AGAIN;
}

/* What was noted of these bytes, and whether more is to be noted; of whole
 * images, too, whose rows are decoded side by side then. */
static void use_entries(struct fdl_jpeg *j)
{
    struct fdl_entry_notes *notes = j->bytes.notes;
    const struct jpeg_decompress_struct *c = &j->cinfo;
    if (!notes || (!notes->known && !notes->learn))
        return;
    notes->hash = fdl_entries_hash(j->bytes.data, j->bytes.size);
    notes->same = notes->known && notes->known->hash == notes->hash;
    notes->spacing = fdl_entries_spacing(
        (uint64_t)c->MCUs_per_row * c->MCU_rows_in_scan, j->bytes.size);
    fdl_jpeg_entropy_use(j->entropy, c, notes);
    j->noted = true;
}

static void set_output(struct fdl_jpeg *j)
{
    struct jpeg_decompress_struct *c = &j->cinfo;
    c->out_color_space = output_space(c->num_components);
    c->dct_method = JDCT_ISLOW;
    c->do_fancy_upsampling = TRUE;
    c->scale_num = 1;
    c->scale_denom = 1u << j->shift;
    j->in_pixels = true;
}

/* Our own way through a file of several scans. */
static bool can_take_scans(struct fdl_jpeg *j)
{
    struct jpeg_decompress_struct *c = &j->cinfo;
    if (!j->entropy || fdl_jpeg_entropy_memory() == 0 || j->plain ||
        j->lossless || j->limits.libjpeg_huffman || !jpeg_has_multiple_scans(c))
        return false;
    jpeg_calc_output_dimensions(c);
    return fdl_jpeg_rows_can(c);
}

static int32_t open_scans(struct fdl_jpeg *j)
{
    const struct fdl_jpeg_progressive_user user = {on_give_up, on_row};
    j->by_scans = j->in_markers = true;
    j->scans = fdl_jpeg_progressive_open(&j->cinfo,
                                         j->bytes.data + j->bytes.size, user);
    j->in_markers = false;
    if (!j->scans || j->cut)
        return AGAIN;
    j->blocks = fdl_jpeg_progressive_blocks(j->scans);
    return FEEDLINE_OK;
}

/* Blocks of our own, and rows, for which libjpeg has only read the headers. */
static bool can_go_alone(struct fdl_jpeg *j)
{
    return fdl_jpeg_entropy_memory() > 0 && !j->plain && !j->lossless &&
           !j->limits.libjpeg_huffman && !jpeg_has_multiple_scans(&j->cinfo) &&
           fdl_jpeg_rows_prepare(&j->cinfo);
}

/* The first row can be asked for, of blocks or of libjpeg. */
static int32_t start_blocks(struct fdl_jpeg *j)
{
    if (can_take_scans(j))
        return open_scans(j);
    int32_t status = can_go_alone(j) ? attach_or_check(j, true) : AGAIN;
    if (j->blocks)
        return status;
    jpeg_start_decompress(&j->cinfo);
    return attach_or_check(j, false);
}

static int32_t start_step(struct fdl_jpeg *j, struct job *job)
{
    struct jpeg_decompress_struct *c = &j->cinfo;
    const struct fdl_box *need = job->need;
    int32_t bottom = need->y + need->height;

    if (may_pad(j))
        j->source.bytes_in_buffer += j->bytes.readable - j->bytes.size;
    set_output(j);
    int64_t begin = fdl_now_ns();
    int32_t status = start_blocks(j);
    if (status)
        return status;

    if (j->lossless ||
        (!j->by_scans && c->progressive_mode && fdl_jpeg_lacks_scans(c))) {
        *job->have = (struct fdl_box){0, 0, (int32_t)c->output_width, bottom};
        return FEEDLINE_OK;
    }
    JDIMENSION x = 0, width = c->output_width;
    if (can_crop(j))
        crop_columns(need, (int32_t)c->output_width, &x, &width);
    if (!j->by_scans)
        begin = fdl_now_ns();
    if (j->attached)
        use_entries(j);
    if (j->blocks &&
        fdl_jpeg_rows_begin(&j->own, c, j->blocks, &x, &width,
                            (JDIMENSION)need->y, (JDIMENSION)need->height)) {
        j->ours = true;
        j->parts.huffman = j->attached || j->by_scans;
        if (j->by_scans)
            fdl_jpeg_progressive_keep(j->scans, c, (uint32_t)j->own.first,
                                      (uint32_t)j->own.n);
        j->parts.unpack_ns += fdl_now_ns() - begin;
        j->parts.clock_reads += 2;
    } else {
        j->noted = false; /* libjpeg goes from MCU to MCU */
        if (can_crop(j))
            jpeg_crop_scanline(c, &x, &width);
        if (need->y > 0)
            jpeg_skip_scanlines(c, (JDIMENSION)need->y);
    }
    *job->have =
        (struct fdl_box){(int32_t)x, need->y, (int32_t)width, need->height};
    return FEEDLINE_OK;
}

/* Files of other kinds are not even started: some would be decoded there. */
static int32_t device_step(struct fdl_jpeg *j, struct job *job)
{
    struct jpeg_decompress_struct *c = &j->cinfo;
    const struct fdl_encoded *b = &j->bytes;
    const struct fdl_entries *known = b->notes ? b->notes->known : NULL;
    bool same = known && known->hash == fdl_entries_hash(b->data, b->size);
    if (c->arith_code || j->lossless || jpeg_has_multiple_scans(c) ||
        j->limits.libjpeg_huffman || (j->entropy && !same))
        return FEEDLINE_OK;
    set_output(j);
    if (!fdl_jpeg_rows_prepare(c))
        return FEEDLINE_OK;
    bool done =
        j->entropy
            ? fdl_jpeg_device_chains(c, b->data + b->size, b->size, known,
                                     job->need, job->payload, job->device)
            : fdl_jpeg_packed_is_of(&j->packed, c) &&
                  fdl_jpeg_device_packed(c, &j->packed, job->need, job->payload,
                                         job->device);
    if (!done)
        job->device->kind = FDL_DEVICE_NONE;
    return FEEDLINE_OK;
}

static void count_rows(struct fdl_jpeg *j, int64_t ns)
{
    int64_t unpack = fdl_jpeg_rows_unpacking(&j->own, ns);
    j->parts.unpack_ns += unpack;
    j->parts.transform_ns += ns - unpack;
    j->parts.clock_reads += 2;
}

static int32_t read_step(struct fdl_jpeg *j, struct job *job)
{
    JSAMPROW rows[ROWS_PER_CALL];
    if (j->ours) {
        int64_t begin = fdl_now_ns();
        for (int32_t i = 0; i < job->n; i++)
            fdl_jpeg_rows_read(&j->own, job->rows + (size_t)i * job->stride);
        count_rows(j, fdl_now_ns() - begin);
        return FEEDLINE_OK;
    }
    for (int32_t done = 0; done < job->n;) {
        int32_t n = FDL_MIN(job->n - done, ROWS_PER_CALL);
        for (int32_t i = 0; i < n; i++)
            rows[i] = job->rows + (size_t)(done + i) * job->stride;
        for (int32_t i = 0; i < n;) {
            JDIMENSION got =
                jpeg_read_scanlines(&j->cinfo, rows + i, (JDIMENSION)(n - i));
            fdl_assert(got > 0); /* the source never suspends */
            i += (int32_t)got;
        }
        done += n;
    }
    return FEEDLINE_OK;
}

/* All rows and what follows them, as cheaply as the format allows. */
static int32_t whole_step(struct fdl_jpeg *j, struct job *job)
{
    struct jpeg_decompress_struct *c = &j->cinfo;
    c->out_color_space = output_space(c->num_components);
    c->scale_num = 1;
    c->scale_denom = j->lossless ? 1 : 1u << FDL_SHRINK_MAX;
    c->do_fancy_upsampling = FALSE;
    j->in_pixels = true;
    jpeg_start_decompress(c);
    JSAMPARRAY row = c->mem->alloc_sarray(
        (j_common_ptr)c, JPOOL_IMAGE,
        c->output_width * (JDIMENSION)c->output_components, 1);
    while (c->output_scanline < c->output_height) {
        if (c->unread_marker == 0)
            job->rows_there = rows_there(j);
        jpeg_read_scanlines(c, row, 1);
        int32_t status = fdl_deadline_check(j->deadline, 0);
        if (status)
            return status;
    }
    j->finishing = true;
    jpeg_finish_decompress(c);
    return FEEDLINE_OK;
}

static void end_image(void *self)
{
    struct fdl_jpeg *j = self;
    jpeg_abort_decompress(&j->cinfo);
    fdl_jpeg_arena_reset(&j->cinfo);
    j->in_pixels = j->finishing = j->cut = j->damaged = false;
    j->profiles = (struct fdl_jpeg_profiles){0};
    j->attached = j->by_scans = j->in_markers = j->ours = j->noted = false;
    j->blocks = NULL;
    j->scan = 0;
    j->shift = 0;
    j->plain = j->lossless = false;
}

/* ---- The row source ----------------------------------------------------- */

static void destroy(void *self)
{
    struct fdl_jpeg *j = self;
    if (!j)
        return;
    jpeg_destroy_decompress(&j->cinfo); /* also a half made one */
    fdl_arena_fini(&j->arena);
    if (j->entropy)
        fdl_jpeg_entropy_destroy(j->entropy);
    free(j);
}

static int32_t create_for_packed(const struct fdl_decode_limits *limits,
                                 const struct fdl_deadline *deadline,
                                 void **out)
{
    struct job job = {0};
    *out = NULL;
    struct fdl_jpeg *j = calloc(1, sizeof(*j));
    if (!j)
        return fdl_fail_memory(sizeof(*j), "the JPEG decoder");
    j->limits = *limits;
    j->deadline = deadline;
    j->cinfo.err = jpeg_std_error(&j->err);
    j->cinfo.client_data = j;
    j->err.error_exit = on_error;
    j->err.emit_message = on_message;
    j->source.init_source = no_source_work;
    j->source.fill_input_buffer = on_empty_buffer;
    j->source.skip_input_data = on_skip;
    j->source.resync_to_restart = jpeg_resync_to_restart;
    j->source.term_source = no_source_work;
    j->progress.progress_monitor = on_progress;
    int32_t status = guarded(j, create_step, &job);
    if (status < 0) {
        destroy(j);
        return status;
    }
    j->cinfo.mem->max_memory_to_use = fdl_jpeg_arena_most(limits->max_pixels);
    *out = j;
    return FEEDLINE_OK;
}

static int32_t create(const struct fdl_decode_limits *limits,
                      const struct fdl_deadline *deadline, void **out)
{
    int32_t status = create_for_packed(limits, deadline, out);
    if (status < 0)
        return status;
    struct fdl_jpeg *j = *out;
    j->entropy = fdl_jpeg_entropy_create();
    if (j->entropy)
        return FEEDLINE_OK;
    destroy(j);
    *out = NULL;
    return fdl_fail_memory(fdl_jpeg_entropy_memory(), "the JPEG decoder");
}

static int32_t read_header(struct fdl_jpeg *j, struct job *job)
{
    j->source.next_input_byte = j->bytes.data;
    j->source.bytes_in_buffer = j->bytes.size;
    if (!j->entropy) {
        j->source.next_input_byte = j->packed.prefix;
        j->source.bytes_in_buffer = j->packed.prefix_bytes;
    }
    return guarded(j, header_step, job);
}

static int32_t open_image(void *self, const struct fdl_encoded *bytes,
                          struct fdl_image_info *info)
{
    struct fdl_jpeg *j = self;
    struct job job = {0};
    end_image(j);
    j->doubtful = false; /* unlike the rest it outlives a restart */
    j->bytes = *bytes;
    j->bytes.readable = FDL_MAX(bytes->readable, bytes->size);
    int32_t status = FEEDLINE_OK;
    if (!j->entropy)
        status = fdl_packed_open(bytes->data, bytes->size, &j->packed);
    if (!status && !j->entropy && j->limits.checksums && !bytes->verified)
        status = fdl_packed_verify(&j->packed, bytes->data);
    if (!status)
        status = read_header(j, &job);
    if (status) {
        end_image(j);
        return status;
    }
    *info = job.info;
    return FEEDLINE_OK;
}

static uint64_t memory(const void *self)
{
    const struct fdl_jpeg *j = self;
    return sizeof(*j) + j->arena.size +
           (j->entropy ? fdl_jpeg_entropy_memory() : 0);
}

static void shrink(void *self, int32_t shift)
{
    struct fdl_jpeg *j = self;
    fdl_assert(shift >= 0 && shift <= FDL_SHRINK_MAX);
    j->shift = shift;
}

/* What libjpeg makes of the whole file. Damage that its rows do not show, but
 * only what it reads after them, counts as an early end: it may be accepted. */
static int32_t judge_file(struct fdl_jpeg *j, bool *damaged)
{
    const struct jpeg_decompress_struct *c = &j->cinfo;
    struct job job = {0};
    end_image(j);
    int32_t status = read_header(j, &job);
    if (!status)
        status = guarded(j, whole_step, &job);
    *damaged = j->cut;
    if (status == FEEDLINE_EDECODE && j->limits.accept_truncated > 0 &&
        j->in_pixels && c->output_scanline >= c->output_height) {
        status = fdl_limits_judge_cut(&j->limits, j->bytes.size, job.rows_there,
                                      (uint32_t)job.info.height);
        *damaged = true;
    }
    return status;
}

/* Restarts the file without jpeg_entropy.h or jpeg_progressive.h. Of several
 * scans libjpeg sees the end in any case. */
static int32_t start_plain(struct fdl_jpeg *j, struct fdl_box *have)
{
    int32_t shift = j->shift;
    bool damaged = false;
    int32_t status = j->by_scans ? FEEDLINE_OK : judge_file(j, &damaged);
    end_image(j);
    if (status)
        return status;
    j->shift = shift;
    j->plain = true;
    j->damaged = damaged;
    struct job header = {0}, start = {.need = &j->need, .have = have};
    status = read_header(j, &header);
    return status ? status : guarded(j, start_step, &start);
}

static int32_t begin(void *self, const struct fdl_box *need,
                     struct fdl_box *have)
{
    struct fdl_jpeg *j = self;
    j->need = *need;
    j->delivered = 0;
    j->parts = (struct fdl_decode_parts){0};
    struct job job = {.need = &j->need, .have = have};
    int32_t status = guarded(j, start_step, &job);
    if (status == AGAIN)
        status = start_plain(j, have);
    if (!status)
        j->rows = have->height;
    return status;
}

static int32_t device(void *self, const struct fdl_box *need,
                      struct fdl_device_payload *to,
                      struct fdl_device_job *made)
{
    struct fdl_jpeg *j = self;
    struct job job = {.need = need, .payload = to, .device = made};
    made->kind = FDL_DEVICE_NONE;
    return guarded(j, device_step, &job);
}

/* Repeats the delivered rows, which are the same; then `job`. */
static int32_t read_plain(struct fdl_jpeg *j, const struct job *job)
{
    struct fdl_box have;
    int32_t status = start_plain(j, &have);
    for (int32_t left = j->delivered; left > 0 && !status;) {
        struct job again = *job;
        again.n = FDL_MIN(left, job->n);
        left -= again.n;
        status = guarded(j, read_step, &again);
    }
    struct job rest = *job;
    return status ? status : guarded(j, read_step, &rest);
}

static int32_t rest_step(struct fdl_jpeg *j, struct job *job)
{
    (void)job;
    fdl_jpeg_entropy_note_rest(j->entropy);
    return FEEDLINE_OK;
}

/* The rows are delivered, and so is what was noted on the way. What is wrong
 * behind them is not looked for, but ends what is noted. */
static void end_entries(struct fdl_jpeg *j)
{
    struct job job = {0};
    uint64_t passed = (uint64_t)j->own.next * j->cinfo.MCUs_per_row;
    bool to_end = fdl_jpeg_entropy_is_through(j->entropy);
    if (!to_end && j->bytes.notes->whole)
        to_end = guarded(j, rest_step, &job) == FEEDLINE_OK;
    fdl_entry_notes_end(j->bytes.notes, passed, to_end);
}

/* The rows are delivered. Only if the file's markers leave a doubt, check
 * whether libjpeg gets through it. */
static int32_t check_rest(struct fdl_jpeg *j)
{
    bool known = j->noted && j->bytes.notes->same;
    if (!j->attached || known || fdl_jpeg_entropy_rest_is_sound(j->entropy)) {
        if (j->noted)
            end_entries(j);
        return FEEDLINE_OK;
    }
    bool damaged;
    int32_t status = judge_file(j, &damaged);
    j->damaged = damaged;
    return status;
}

static int32_t read_rows(void *self, uint8_t *rows, size_t stride, int32_t n)
{
    struct fdl_jpeg *j = self;
    struct job job = {.rows = rows, .stride = stride, .n = n};
    int32_t status = guarded(j, read_step, &job);
    if (status == AGAIN)
        status = read_plain(j, &job);
    j->delivered += n;
    if (!status && j->delivered == j->rows)
        status = check_rest(j);
    return status;
}

static bool is_truncated(const void *self)
{
    const struct fdl_jpeg *j = self;
    return j->cut || j->damaged;
}

static bool is_doubtful(const void *self)
{
    const struct fdl_jpeg *j = self;
    return j->doubtful || (!j->entropy && !j->limits.checksums &&
                           !fdl_packed_is_whole(&j->packed));
}

static void get_parts(const void *self, struct fdl_decode_parts *out)
{
    const struct fdl_jpeg *j = self;
    *out = j->parts;
}

static bool matches(const uint8_t *data, uint64_t size)
{
    return size >= 2 && memcmp(data, "\xff\xd8\xff", FDL_MIN(size, 3u)) == 0;
}

const struct fdl_format fdl_format_jpeg = {
    .name = "JPEG",
    .endings = {{".jpg", true},
                {".jpeg", true},
                {".jpe", false},
                {".jfif", false}},
    .matches = matches,
    .create = create,
    .destroy = destroy,
    .memory = memory,
    .open = open_image,
    .shrink = shrink,
    .begin = begin,
    .device = device,
    .read = read_rows,
    .truncated = is_truncated,
    .doubtful = is_doubtful,
    .parts = get_parts,
    .abort = end_image,
};

static int32_t verify_packed(const uint8_t *data, uint64_t size)
{
    struct fdl_packed packed;
    int32_t status = fdl_packed_open(data, size, &packed);
    return status ? status : fdl_packed_verify(&packed, data);
}

const struct fdl_format fdl_format_jpeg_packed = {
    .name = "packed JPEG",
    .matches = fdl_packed_matches,
    .create = create_for_packed,
    .destroy = destroy,
    .memory = memory,
    .verify = verify_packed,
    .open = open_image,
    .shrink = shrink,
    .begin = begin,
    .device = device,
    .read = read_rows,
    .truncated = is_truncated,
    .doubtful = is_doubtful,
    .parts = get_parts,
    .abort = end_image,
};
