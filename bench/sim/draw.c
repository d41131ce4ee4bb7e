/* SPDX-License-Identifier: Apache-2.0 */
/* Random numbers by hashing: the finaliser of SplitMix64 over a counter. */
#include "draw.h"

#include <math.h>

/* Shares of the mean above which a Pareto draw is cut: rare samples are large,
 * not endless. */
#define PARETO_CUT 60.0

static uint64_t mix(uint64_t x)
{
    x += 0x9e3779b97f4a7c15u;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

uint64_t sim_stream(uint64_t seed, uint32_t loader, enum sim_stream what)
{
    return mix(mix(seed) ^ ((uint64_t)loader << 32 | (uint64_t)what));
}

static uint64_t bits_of(uint64_t stream, uint64_t i)
{
    return mix(stream + i * 0xd1342543de82ef95u);
}

double sim_uniform(uint64_t stream, uint64_t i)
{
    return ((double)(bits_of(stream, i) >> 12) + 0.5) * 0x1p-52;
}

/* Box-Muller on the halves of one number: up to 6.7 standard deviations. */
double sim_normal(uint64_t stream, uint64_t i)
{
    uint64_t bits = bits_of(stream, i);
    double u = ((double)(bits >> 32) + 0.5) * 0x1p-32;
    double v = (double)(bits & 0xffffffffu) * 0x1p-32;
    return sqrt(-2 * log(u)) * cos(6.283185307179586 * v);
}

void sim_law_init(struct sim_law *law, const struct sim_draw *draw)
{
    double s2 = draw->cv > 0 ? log(1 + draw->cv * draw->cv) : 0;
    *law = (struct sim_law){
        .mean = draw->mean, .sigma = sqrt(s2), .shift = -s2 / 2};
    if (draw->pareto > 1) {
        law->power = -1 / draw->pareto;
        law->scale = (draw->pareto - 1) / draw->pareto;
    }
}

double sim_law_draw(const struct sim_law *law, uint64_t stream, uint64_t i)
{
    if (law->mean <= 0)
        return 0;
    if (law->power < 0) {
        double x = law->scale * pow(sim_uniform(stream, i), law->power);
        return law->mean * (x < PARETO_CUT ? x : PARETO_CUT);
    }
    if (law->sigma <= 0)
        return law->mean;
    return law->mean * exp(law->sigma * sim_normal(stream, i) + law->shift);
}
