/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The network, written once for both machines:
 *
 *   image   conv 3x3   mean of   conv 3x3   mean of    linear    softmax,
 *   3x32x32 + relu     2x2       + relu     16x16      K x 16    cross entropy
 *     x ----> a1 -----> p1 -----> a2 -----> features -> scores ---> loss
 *           8x32x32   8x16x16   16x16x16      16         K
 *
 * A kernel is a loop over the elements of what it writes, and no two turns of
 * it write to the same place. So a GPU can give every turn a thread, a C
 * compiler takes the loop as it stands, and both get the same sums in the same
 * order each time: gradients are gathered by the element that receives them,
 * first for each image (`gradients`), then over the images (`update`). Atomic
 * additions would be shorter, and different in every run.
 *
 * Whoever includes this file says what a kernel, its loop and its call are:
 *
 *   KERNEL                  before the definition of a kernel
 *   FOR_EACH(i, n)          the loop over 0 .. n - 1
 *   RUN(t, kernel, n, ...)  calls, or queues, a kernel over n elements
 */
#ifndef EXAMPLES_TRAIN_KERNELS_H
#define EXAMPLES_TRAIN_KERNELS_H

#include "train_model.h"

#include <math.h>
#include <stddef.h>
#include <stdint.h>

#define NET_C0       TRAIN_CHANNELS /* channels: of the image */
#define NET_C1       8              /* behind the first convolution */
#define NET_C2       16             /* and behind the second */
#define NET_SIDE1    TRAIN_SIDE
#define NET_SIDE2    (NET_SIDE1 / 2)
#define NET_TAPS     9 /* of a convolution of 3x3 */
#define NET_CONV1    (NET_C1 * (NET_C0 * NET_TAPS + 1)) /* weights, biases */
#define NET_CONV2    (NET_C2 * (NET_C1 * NET_TAPS + 1))
#define NET_MOMENTUM 0.9f

/* Of the device, all in one piece. B: images of a batch, K: classes. */
struct net {
    int batch_size, classes;
    int n_parameters;
    float rate;
    float *parameters;   /* conv1, conv2, linear: weights, then biases */
    float *velocity;     /* [n_parameters] */
    float *gradients;    /* [B][n_parameters] */
    float *a1, *p1, *d1; /* d1: slope of the loss by p1 */
    float *a2, *features;
    float *d2;            /* slope by features */
    float *scores;        /* [B][K], then the slope by them */
    float *losses, *hits; /* [B] */
    float *totals;        /* loss and hits, summed over batches */
};

/* ---- Kernels ------------------------------------------------------------ */

/* out[b][o][y][x] = max(0, bias[o] + sum of in[b][i] around (y, x) times
 * weights[o][i]); what lies outside of the image is 0. */
KERNEL conv_relu(const float *in, const float *weights, float *out, int n_in,
                 int n_out, int side, int n)
{
    const float *bias = weights + n_out * n_in * NET_TAPS;
    FOR_EACH(at, n)
    {
        int x = at % side, y = at / side % side;
        int o = at / (side * side) % n_out, b = at / (side * side * n_out);
        int x0 = x > 0 ? -1 : 0, x1 = x < side - 1 ? 1 : 0;
        int y0 = y > 0 ? -1 : 0, y1 = y < side - 1 ? 1 : 0;
        float sum = bias[o];
        for (int i = 0; i < n_in; i++) {
            const float *w = weights + (o * n_in + i) * NET_TAPS + 4;
            const float *p = in + ((b * n_in + i) * side + y) * side + x;
            for (int dy = y0; dy <= y1; dy++)
                for (int dx = x0; dx <= x1; dx++)
                    sum += p[dy * side + dx] * w[dy * 3 + dx];
        }
        out[at] = sum > 0 ? sum : 0;
    }
}

/* The mean of each square of factor x factor. */
KERNEL pool(const float *in, float *out, int side, int factor, int n)
{
    FOR_EACH(at, n)
    {
        int x = at % side * factor, y = at / side % side * factor;
        int row = side * factor;
        const float *p = in + (at / (side * side) * row + y) * row + x;
        float sum = 0;
        for (int dy = 0; dy < factor; dy++)
            for (int dx = 0; dx < factor; dx++)
                sum += p[dy * row + dx];
        out[at] = sum / (float)(factor * factor);
    }
}

/* One image each: the scores of the classes, and in their place the slope of
 * the batch's mean loss by them. */
KERNEL score(const float *features, const float *weights, const int64_t *labels,
             float *scores, float *losses, float *hits, int classes, int n)
{
    const float *bias = weights + classes * NET_C2;
    FOR_EACH(b, n)
    {
        const float *f = features + b * NET_C2;
        float *s = scores + b * classes;
        int label = (int)labels[b], best = 0;
        for (int k = 0; k < classes; k++) {
            s[k] = bias[k];
            for (int c = 0; c < NET_C2; c++)
                s[k] += weights[k * NET_C2 + c] * f[c];
            if (s[k] > s[best])
                best = k;
        }
        float top = s[best], own = s[label], sum = 0;
        for (int k = 0; k < classes; k++) {
            s[k] = expf(s[k] - top);
            sum += s[k];
        }
        for (int k = 0; k < classes; k++)
            s[k] = (s[k] / sum - (k == label ? 1.0f : 0.0f)) / (float)n;
        losses[b] = logf(sum) - (own - top);
        hits[b] = best == label ? 1.0f : 0.0f;
    }
}

/* One thread: what is read back, once in a while. */
KERNEL tally(const float *losses, const float *hits, float *totals, int count,
             int n)
{
    FOR_EACH(k, n)
    {
        const float *from = k == 0 ? losses : hits;
        float sum = 0;
        for (int b = 0; b < count; b++)
            sum += from[b];
        totals[k] += sum;
    }
}

KERNEL slope_of_features(const float *slopes, const float *weights, float *out,
                         int classes, int n)
{
    FOR_EACH(at, n)
    {
        int c = at % NET_C2, b = at / NET_C2;
        float sum = 0;
        for (int k = 0; k < classes; k++)
            sum += slopes[b * classes + k] * weights[k * NET_C2 + c];
        out[at] = sum;
    }
}

/* The way back through mean and relu: a value becomes the slope by itself. */
KERNEL unpool(float *values, const float *slopes, int side, int factor, int n)
{
    FOR_EACH(at, n)
    {
        int row = side * factor;
        int x = at % row / factor, y = at / row % row / factor;
        int plane = at / (row * row);
        float slope = slopes[(plane * side + y) * side + x];
        values[at] = values[at] > 0 ? slope / (float)(factor * factor) : 0;
    }
}

/* The way back through a convolution, to what went in. */
KERNEL conv_back(const float *slopes, const float *weights, float *out,
                 int n_in, int n_out, int side, int n)
{
    FOR_EACH(at, n)
    {
        int x = at % side, y = at / side % side;
        int i = at / (side * side) % n_in, b = at / (side * side * n_in);
        int x0 = x > 0 ? -1 : 0, x1 = x < side - 1 ? 1 : 0;
        int y0 = y > 0 ? -1 : 0, y1 = y < side - 1 ? 1 : 0;
        float sum = 0;
        for (int o = 0; o < n_out; o++) {
            const float *w = weights + (o * n_in + i) * NET_TAPS + 4;
            const float *p = slopes + ((b * n_out + o) * side + y) * side + x;
            for (int dy = y0; dy <= y1; dy++)
                for (int dx = x0; dx <= x1; dx++)
                    sum += p[dy * side + dx] * w[-dy * 3 - dx];
        }
        out[at] = sum;
    }
}

/* Gradients of a convolution's weights and biases, of each image: out[b][..],
 * `stride` from one image to the next. */
KERNEL conv_gradient(const float *in, const float *slopes, float *out,
                     int stride, int n_in, int n_out, int side, int n)
{
    int n_weights = n_out * n_in * NET_TAPS, each = n_weights + n_out;
    FOR_EACH(at, n)
    {
        int b = at / each, w = at % each;
        int biased = w >= n_weights;
        int o = biased ? w - n_weights : w / (n_in * NET_TAPS);
        int i = w / NET_TAPS % n_in;
        int dy = biased ? 0 : w % NET_TAPS / 3 - 1;
        int dx = biased ? 0 : w % 3 - 1;
        const float *d = slopes + (b * n_out + o) * side * side;
        const float *p = in + (b * n_in + i) * side * side;
        float sum = 0;
        for (int y = dy < 0; y < side - (dy > 0); y++) {
            const float *row = p + (y + dy) * side + dx;
            for (int x = dx < 0; x < side - (dx > 0); x++)
                sum += d[y * side + x] * (biased ? 1.0f : row[x]);
        }
        out[b * stride + w] = sum;
    }
}

KERNEL linear_gradient(const float *features, const float *slopes, float *out,
                       int stride, int classes, int n)
{
    int n_weights = classes * NET_C2, each = n_weights + classes;
    FOR_EACH(at, n)
    {
        int b = at / each, w = at % each;
        int k = w < n_weights ? w / NET_C2 : w - n_weights;
        float f = w < n_weights ? features[b * NET_C2 + w % NET_C2] : 1.0f;
        out[b * stride + w] = slopes[b * classes + k] * f;
    }
}

/* Stochastic gradient descent with momentum. */
KERNEL update(const float *gradients, float *velocity, float *parameters,
              int images, float rate, int n)
{
    FOR_EACH(p, n)
    {
        float sum = 0;
        for (int b = 0; b < images; b++)
            sum += gradients[b * n + p];
        velocity[p] = NET_MOMENTUM * velocity[p] + sum;
        parameters[p] -= rate * velocity[p];
    }
}

/* ---- The network -------------------------------------------------------- */

/* Queues one step over a batch. t: of the includer, for RUN. */
static void net_step(struct trainer *t, const struct net *net,
                     const struct train_batch *batch)
{
    const int n = batch->count, stride = net->n_parameters;
    const int plane1 = NET_SIDE1 * NET_SIDE1, plane2 = NET_SIDE2 * NET_SIDE2;
    float *conv1 = net->parameters, *conv2 = conv1 + NET_CONV1;
    float *linear = conv2 + NET_CONV2;

    RUN(t, conv_relu, n * NET_C1 * plane1, batch->images, conv1, net->a1,
        NET_C0, NET_C1, NET_SIDE1);
    RUN(t, pool, n * NET_C1 * plane2, net->a1, net->p1, NET_SIDE2, 2);
    RUN(t, conv_relu, n * NET_C2 * plane2, net->p1, conv2, net->a2, NET_C1,
        NET_C2, NET_SIDE2);
    RUN(t, pool, n * NET_C2, net->a2, net->features, 1, NET_SIDE2);
    RUN(t, score, n, net->features, linear, batch->labels, net->scores,
        net->losses, net->hits, net->classes);
    RUN(t, tally, 2, net->losses, net->hits, net->totals, n);
    if (!batch->learn)
        return;

    float *g1 = net->gradients, *g2 = g1 + NET_CONV1, *g3 = g2 + NET_CONV2;
    RUN(t, linear_gradient, n * net->classes * (NET_C2 + 1), net->features,
        net->scores, g3, stride, net->classes);
    RUN(t, slope_of_features, n * NET_C2, net->scores, linear, net->d2,
        net->classes);
    RUN(t, unpool, n * NET_C2 * plane2, net->a2, net->d2, 1, NET_SIDE2);
    RUN(t, conv_gradient, n * NET_CONV2, net->p1, net->a2, g2, stride, NET_C1,
        NET_C2, NET_SIDE2);
    RUN(t, conv_back, n * NET_C1 * plane2, net->a2, conv2, net->d1, NET_C1,
        NET_C2, NET_SIDE2);
    RUN(t, unpool, n * NET_C1 * plane1, net->a1, net->d1, NET_SIDE2, 2);
    RUN(t, conv_gradient, n * NET_CONV1, batch->images, net->a1, g1, stride,
        NET_C0, NET_C1, NET_SIDE1);
    RUN(t, update, stride, net->gradients, net->velocity, net->parameters, n,
        net->rate);
}

/* Sets the sizes, and the places from `memory` on; the number of floats that
 * takes. memory may be NULL to learn it. */
static size_t net_place(struct net *net, const struct train_config *config,
                        float *memory)
{
    const size_t b = (size_t)config->batch_size, k = (size_t)config->classes;
    const size_t n = NET_CONV1 + NET_CONV2 + k * (NET_C2 + 1);
    const size_t plane1 = NET_SIDE1 * NET_SIDE1;
    const size_t plane2 = NET_SIDE2 * NET_SIDE2;
    net->batch_size = config->batch_size;
    net->classes = config->classes;
    net->n_parameters = (int)n;
    net->rate = config->rate;

    struct {
        float **place;
        size_t n;
    } parts[] = {
        {&net->parameters, n},
        {&net->velocity, n},
        {&net->totals, 2},
        {&net->gradients, b * n},
        {&net->a1, b * NET_C1 * plane1},
        {&net->p1, b * NET_C1 * plane2},
        {&net->d1, b * NET_C1 * plane2},
        {&net->a2, b * NET_C2 * plane2},
        {&net->features, b * NET_C2},
        {&net->d2, b * NET_C2},
        {&net->scores, b * k},
        {&net->losses, b},
        {&net->hits, b},
    };
    size_t used = 0;
    for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
        *parts[i].place = memory ? memory + used : NULL;
        used += (parts[i].n + 63) / 64 * 64;
    }
    return used;
}

/* Uniform in +-limit, from a state that is never 0. */
static float net_random(uint32_t *state, float limit)
{
    *state ^= *state << 13;
    *state ^= *state >> 17;
    *state ^= *state << 5;
    return limit * ((float)(*state >> 8) / 8388608.0f - 1.0f);
}

/* The parameters to begin with, in host memory. Biases are 0. The limits keep
 * the spread of the values from one layer to the next; a relu halves it. */
static void net_begin(const struct net *net, uint32_t seed, float *parameters)
{
    const struct {
        int inputs, outputs;
    } layers[] = {{NET_C0 * NET_TAPS, NET_C1},
                  {NET_C1 * NET_TAPS, NET_C2},
                  {NET_C2, net->classes}};
    uint32_t state = seed * 2654435761u + 1;
    if (state == 0)
        state = 1;
    float *p = parameters;
    for (int l = 0; l < 3; l++) {
        float gain = l < 2 ? 6.0f : 3.0f;
        float limit = sqrtf(gain / (float)layers[l].inputs);
        for (int i = 0; i < layers[l].inputs * layers[l].outputs; i++)
            *p++ = net_random(&state, limit);
        for (int i = 0; i < layers[l].outputs; i++)
            *p++ = 0;
    }
}

#endif
