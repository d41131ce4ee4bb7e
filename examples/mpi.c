/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Data-parallel training under MPI: mpirun -np 4 ./mpi FOLDER
 *
 *   mpicc mpi.c $(pkg-config --cflags --libs feedline) -o mpi
 *
 * FOLDER has one folder of images per class. Each rank loads its part of every
 * epoch; in the place of a network stands a sum of pixels, which is summed over
 * all ranks after each batch, as gradients are. The loader knows its rank from
 * mpirun (world=auto) and is checked against MPI. Before the first batch the
 * ranks compare what they load: where folders differ nothing else would fail,
 * and samples would be seen twice or never. Now and then they send each other
 * what their tuners know: a rank that waits for others does not see what the
 * job lacks.
 */
#include <feedline/feedline.h>
#include <feedline/job.h>

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EPOCHS     2
#define BATCH_SIZE "32"
#define TELL_EVERY 100 /* batches */

/* Ends the whole job: the others would wait for this rank for ever. */
static void check(int32_t status)
{
    if (status >= 0)
        return;
    fprintf(stderr, "mpi: %s\n", feedline_last_error());
    MPI_Abort(MPI_COMM_WORLD, 1);
}

static feedline_loader *open_loader(const char *folder,
                                    feedline_dataset **dataset)
{
    feedline_config *config;
    feedline_pipeline *pipeline;
    feedline_loader *loader;
    check(feedline_dataset_open(folder, dataset));
    check(feedline_pipeline_create("train", &pipeline));
    check(feedline_config_create(&config));
    check(feedline_config_set(config, "world", "auto"));
    check(feedline_config_set(config, "batch_size", BATCH_SIZE));
    check(feedline_loader_create(config, *dataset, pipeline, &loader));
    feedline_config_destroy(config);
    feedline_pipeline_destroy(pipeline);
    return loader;
}

/* false: they load different things, which rank 0 says. */
static int ranks_agree(const feedline_loader *loader, int rank, int world)
{
    char mine[FEEDLINE_JOB_BYTES] = "";
    char *all = calloc((size_t)world, sizeof(mine));
    uint64_t needed;
    if (!all)
        MPI_Abort(MPI_COMM_WORLD, 1);
    check(feedline_loader_fingerprint(loader, mine, sizeof(mine), &needed));
    MPI_Allgather(mine, sizeof(mine), MPI_CHAR, all, sizeof(mine), MPI_CHAR,
                  MPI_COMM_WORLD);
    int agree = feedline_job_compare(all, sizeof(mine), (uint32_t)world) >= 0;
    free(all);
    if (!agree && rank == 0)
        fprintf(stderr, "mpi: %s\n", feedline_last_error());
    return agree;
}

/* All ranks at the same batch. */
static void tell_tuners(feedline_loader *loader, int world)
{
    char mine[FEEDLINE_JOB_BYTES] = "";
    char *all = calloc((size_t)world, sizeof(mine));
    uint64_t needed;
    if (!all)
        MPI_Abort(MPI_COMM_WORLD, 1);
    check(feedline_loader_tell(loader, mine, sizeof(mine), &needed));
    /* One text of all lines: what is behind each NUL is filled. */
    memset(mine + needed - 1, '\n', sizeof(mine) - needed + 1);
    MPI_Allgather(mine, sizeof(mine), MPI_CHAR, all, sizeof(mine), MPI_CHAR,
                  MPI_COMM_WORLD);
    all[(size_t)world * sizeof(mine) - 1] = '\0';
    check(feedline_loader_hear(loader, all));
    free(all);
}

/* The stand-in for training. Images are [count, C, H, W] of float. */
static double sum_of(const struct feedline_batch_info *b)
{
    const float *pixel = b->images.data;
    int64_t n = b->count * b->images.stride[0];
    double sum = 0;
    for (int64_t i = 0; i < n; i++)
        sum += pixel[i];
    return sum;
}

/* All ranks have equally many batches, so none of them waits in vain. */
static void train_epoch(feedline_loader *loader, int world, double *sum,
                        uint64_t *images)
{
    feedline_batch *batch;
    int32_t status;
    unsigned n = 0;
    while ((status = feedline_loader_next(loader, -1, &batch)) == FEEDLINE_OK) {
        struct feedline_batch_info info = {.struct_size = sizeof(info)};
        check(feedline_batch_get_info(batch, &info));
        double all, mine = sum_of(&info);
        uint64_t of_all, count = info.count;
        feedline_batch_release(batch);
        MPI_Allreduce(&mine, &all, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
        MPI_Allreduce(&count, &of_all, 1, MPI_UINT64_T, MPI_SUM,
                      MPI_COMM_WORLD);
        *sum += all;
        *images += of_all;
        if (n++ % TELL_EVERY == 0)
            tell_tuners(loader, world);
    }
    check(status);
}

static void train(feedline_loader *loader, int rank, int world)
{
    for (int epoch = 0; epoch < EPOCHS; epoch++) {
        double sum = 0;
        uint64_t images = 0;
        train_epoch(loader, world, &sum, &images);
        if (rank == 0)
            printf("epoch %d: %llu images on %d ranks, sum %.3f\n", epoch,
                   (unsigned long long)images, world, sum);
    }
}

int main(int argc, char **argv)
{
    int rank, world;
    int64_t ours, of_all;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &world);
    if (argc != 2) {
        fputs("usage: mpi FOLDER\n", stderr);
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    feedline_dataset *dataset;
    feedline_loader *loader = open_loader(argv[1], &dataset);
    check(feedline_loader_get_int(loader, "rank", &ours));
    check(feedline_loader_get_int(loader, "world", &of_all));
    if (ours != rank || of_all != world) {
        fprintf(stderr, "mpi: rank %d of %d, and the loader's is %d of %d\n",
                rank, world, (int)ours, (int)of_all);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    int agree = ranks_agree(loader, rank, world);
    if (agree)
        train(loader, rank, world);
    feedline_loader_destroy(loader);
    feedline_dataset_close(dataset);
    MPI_Finalize();
    return !agree;
}
