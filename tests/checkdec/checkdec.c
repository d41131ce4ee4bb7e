/* SPDX-License-Identifier: Apache-2.0 */
/*
 * checkdec: proves that every fast kernel gives the bytes of plain C, and that
 * a part of an image decoded alone has the pixels of the whole; with --bench,
 * says what each of them costs.
 */
#include "checkdec.h"

#include "make_jpeg.h"

#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

static const char usage[] =
    "checkdec [--seed N] [--rounds N]\n"
    "checkdec --bench [--seed N] [--rounds N] [--photos N] [FILE|FOLDER...]\n"
    "\n"
    "Without --bench: compares the kernels of every level with plain C on\n"
    "random inputs, and parts of JPEG files decoded alone with the same parts\n"
    "of the whole image. Exit status 1 if anything differs.\n"
    "\n"
    "  --seed N     of the random inputs (default 1); a failure prints it\n"
    "  --rounds N   inputs per check (default 400), or passes over the files\n"
    "               (default 5), of which the median counts\n"
    "  --bench      time the kernels; with JPEG files, instead, the decoder "
    "and\n"
    "               each part of its work alone, random_resized_crop to "
    "224x224,\n"
    "               f32 NCHW, exact and fast\n"
    "  --photos N   generate N photos of 12 megapixels and time them too\n"
    "  --help       this text\n";

int32_t pick(uint64_t *state, int32_t low, int32_t high)
{
    uint64_t span = (uint64_t)(high - low) + 1;
    return low + (int32_t)(make_random(state) % span);
}

void *must_alloc(size_t bytes)
{
    void *p = malloc(bytes ? bytes : 1);
    if (!p)
        abort();
    return p;
}

struct settings {
    uint64_t seed;
    int rounds, photos;
    bool bench;
};

static int check(struct settings *s)
{
    if (s->rounds == 0)
        s->rounds = 400;
    bool good = true;
    printf("seed %" PRIu64 "\n", s->seed);
    enum fdl_cpu_level most = fdl_cpu_level();
    for (int level = FDL_CPU_AVX2; level <= (int)most; level++) {
        bool same =
            check_kernels((enum fdl_cpu_level)level, s->seed, s->rounds) &&
            check_blend((enum fdl_cpu_level)level, s->seed, s->rounds) &&
            check_map((enum fdl_cpu_level)level, s->seed, s->rounds) &&
            check_gauss((enum fdl_cpu_level)level, s->seed, s->rounds);
        printf("kernels of %-8s %s\n",
               fdl_cpu_level_name((enum fdl_cpu_level)level),
               same ? "equal to plain C" : "DIFFER");
        good = good && same;
    }
    bool same = check_regions(s->seed, s->rounds);
    printf("parts of images      %s\n", same ? "equal to the whole" : "DIFFER");
    bool small = check_shrinking(s->seed, s->rounds);
    printf("parts of smaller ones %s\n",
           small ? "equal to the whole" : "DIFFER");
    return good && same && small ? 0 : 1;
}

static bool bench(const struct settings *s, char **names)
{
    if (!names[0] && s->photos <= 0) {
        bench_kernels();
        return true;
    }
    struct paths p = {0};
    bool good = make_photos(s->photos, s->seed, &p);
    int made = p.n;
    if (names[0])
        find_files(names, &p);
    good = good && p.n > 0 &&
           bench_files(p.path, p.n, s->seed, s->rounds ? s->rounds : 5);
    drop_photos(&p, made);
    return good;
}

int main(int argc, char **argv)
{
    static const struct option options[] = {
        {"seed", required_argument, NULL, 's'},
        {"rounds", required_argument, NULL, 'r'},
        {"photos", required_argument, NULL, 'p'},
        {"bench", no_argument, NULL, 'b'},
        {"help", no_argument, NULL, 'h'},
        {NULL, 0, NULL, 0},
    };
    struct settings s = {.seed = 1};
    for (int o; (o = getopt_long(argc, argv, "h", options, NULL)) != -1;) {
        if (o == 's')
            s.seed = strtoull(optarg, NULL, 0);
        else if (o == 'r')
            s.rounds = atoi(optarg);
        else if (o == 'p')
            s.photos = atoi(optarg);
        else if (o == 'b')
            s.bench = true;
        else {
            fputs(usage, o == 'h' ? stdout : stderr);
            return o == 'h' ? 0 : 2;
        }
    }
    if (!s.bench)
        return check(&s);
    return bench(&s, argv + optind) ? 0 : 1;
}
