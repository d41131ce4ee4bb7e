/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Carries out the program that a sample brings (feedline/recorded.h): its steps
 * become a plan like those that a pipeline draws, and that is rendered.
 */
#ifndef FDL_DECODE_RECORDED_IMAGE_H
#define FDL_DECODE_RECORDED_IMAGE_H

#include "decode/decoder.h"
#include "decode/pixels/geometry.h"
#include "decode/pixels/image.h"

#include <feedline/recorded.h>

#include <stdbool.h>
#include <stdint.h>

/* What can be said without the image: EINVAL and ERANGE name the step by its
 * number, from 1, and its operation. Where the bytes are is not looked at. */
int32_t fdl_recorded_check(const struct feedline_recorded_image *image);

/* Bytes to finished elements in image->out; its path and data are not looked
 * at. The errors of fdl_recorded_check, fdl_decoder_open and
 * fdl_decoder_render; EINVAL if a step does not fit the image, or what the
 * steps make does not fit `out`; ERANGE for an image on the way above
 * FDL_OP_SIDE_MAX or the limit of pixels. `out` is undefined on error, cost is
 * untouched. *info is of the image in its file, as soon as that is open. */
int32_t fdl_recorded_render(struct fdl_decoder *d,
                            const struct fdl_encoded *bytes,
                            const struct feedline_recorded_image *image,
                            struct fdl_image_info *info,
                            struct fdl_render_cost *cost);

/* Whether it may be a part of a canvas: bytes, pixel by pixel. Such a one need
 * not have an out to be checked, but to be rendered. */
bool fdl_recorded_is_bytes(const struct feedline_recorded_image *image);

/* The canvas of a program in place of bytes: where the pixels of its parts
 * are. out: width x height x channels of the canvas. */
struct fdl_canvas_source {
    const uint8_t *pixels;
    size_t stride; /* bytes from row to row */
    int32_t width, height;
};
void fdl_recorded_compose(const struct feedline_canvas *canvas,
                          const struct fdl_canvas_source *parts, uint8_t *out);

/* As fdl_recorded_render, of an image with a canvas. pixels: memory for as many
 * as it has. */
int32_t fdl_recorded_render_canvas(struct fdl_decoder *d,
                                   const struct feedline_recorded_image *image,
                                   const struct fdl_canvas_source *parts,
                                   uint8_t *pixels, struct fdl_image_info *info,
                                   struct fdl_render_cost *cost);

/* Several programs for one file, which is decoded once for all of them: what
 * they need together is kept. false: that is not less than what each needs
 * alone, or cannot be, or one of them failed. Then each has to be rendered by
 * itself, which says why, and cost is untouched. */
bool fdl_recorded_render_shared(
    struct fdl_decoder *d, const struct fdl_encoded *bytes,
    const struct feedline_recorded_image *const *images, uint32_t n,
    struct fdl_image_info *info, struct fdl_render_cost *cost);

/* ---- Between the files of this ------------------------------------------ */

/* What CONVERT has for "YCbCr"; up to it, a number of channels. */
#define FDL_RECORDED_YCBCR 5

/* "RESIZE", of an operation that there is. */
const char *fdl_recorded_name(uint32_t op);

/* Whether a step is on pixels, and not on elements. */
bool fdl_recorded_on_pixels(uint32_t op);

/* An element of the output, bytes; 0: of none. */
uint32_t fdl_recorded_element(const struct feedline_recorded_image *image);

/* What can be said of a canvas without its parts. */
int32_t fdl_recorded_check_canvas(const struct feedline_canvas *canvas);

/* Its pipeline, in what does not depend on an image. EFORK, too. */
int32_t fdl_recorded_check_draws(const struct feedline_recorded_image *image);

/* Draws the pipeline of a checked program, behind what picks pixels. */
int32_t fdl_recorded_draw(const struct feedline_recorded_image *image,
                          struct fdl_plan *plan);

/* A checked step FEEDLINE_STEP_CV_* on an image of so many channels, which
 * becomes the number of those that come out. */
int32_t fdl_recorded_plan_cv(struct fdl_plan *plan,
                             const struct feedline_recorded_step *s,
                             int32_t *channels);

/* Checks a program, and opens the image for it, as stored. */
int32_t fdl_recorded_open(struct fdl_decoder *d,
                          const struct fdl_encoded *bytes,
                          const struct feedline_recorded_image *image,
                          struct fdl_image_info *info);

/* Carries out its plan. */
int32_t fdl_recorded_render_plan(struct fdl_decoder *d,
                                 const struct feedline_recorded_image *image,
                                 const struct fdl_plan *plan,
                                 struct fdl_render_cost *cost);

/* The plan of a checked program for the image that is open. */
int32_t fdl_recorded_plan(struct fdl_decoder *d,
                          const struct feedline_recorded_image *image,
                          struct fdl_plan *plan);

#endif
