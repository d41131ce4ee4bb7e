/* SPDX-License-Identifier: Apache-2.0 */
/* What scenarios share: images in files, in a shard, and an epoch of them. */
#include "lives.h"
#include "tests/remove_tree.h"

#define BLOCK 512u

struct fixture fault_images;
static char folder[80], tar[96];

const char *fault_images_make(void)
{
    setenv("FEEDLINE_CACHE_DIR", "off", 1); /* its failures are no errors */
    fixture_create(&fault_images, FAULT_IMAGES);
    return NULL;
}

void fault_images_remove(void)
{
    fixture_remove(&fault_images);
    if (*folder)
        remove_tree(folder);
    *folder = '\0';
}

const char *fault_folder(void)
{
    if (!*folder) {
        snprintf(folder, sizeof(folder), "/tmp/feedline-fault-XXXXXX");
        assert_non_null(mkdtemp(folder));
    }
    return folder;
}

/* ---- A shard ------------------------------------------------------------ */

static void write_member(FILE *f, const char *name, const void *data,
                         uint64_t bytes)
{
    static const char zeros[BLOCK];
    char header[BLOCK] = {0};
    unsigned sum = 0;
    snprintf(header, 100, "%s", name);
    memcpy(header + 100, "0000644", 8);
    memcpy(header + 108, "0000000", 8);
    memcpy(header + 116, "0000000", 8);
    snprintf(header + 124, 12, "%011llo", (unsigned long long)bytes);
    memcpy(header + 136, "00000000000", 12);
    memset(header + 148, ' ', 8);
    header[156] = '0';
    memcpy(header + 257, "ustar\00000", 8);
    for (uint32_t i = 0; i < BLOCK; i++)
        sum += (unsigned char)header[i];
    snprintf(header + 148, 8, "%06o", sum);
    fwrite(header, 1, BLOCK, f);
    fwrite(data, 1, bytes, f);
    fwrite(zeros, 1, (BLOCK - bytes % BLOCK) % BLOCK, f);
}

const char *fault_tar(void)
{
    static const char end[2 * BLOCK];
    char name[32], label[8];
    snprintf(tar, sizeof(tar), "%s/a.tar", fault_folder());
    FILE *f = fopen(tar, "w");
    assert_non_null(f);
    for (uint32_t i = 0; i < FAULT_IMAGES; i++) {
        snprintf(name, sizeof(name), "%04u.jpg", i);
        write_member(f, name, fault_images.data[i], fault_images.sizes[i]);
        snprintf(name, sizeof(name), "%04u.cls", i);
        snprintf(label, sizeof(label), "%u", i % 3);
        write_member(f, name, label, strlen(label));
    }
    fwrite(end, 1, sizeof(end), f);
    assert_int_equal(fclose(f), 0);
    return tar;
}

/* ---- An epoch ----------------------------------------------------------- */

void fault_end(feedline_loader *l)
{
    if (trial_goes_on() && l)
        trial_use_on(l);
    feedline_loader_destroy(l);
}

int32_t fault_epoch(const char *uri, const char *operations,
                    const char *options)
{
    feedline_dataset *ds = NULL;
    feedline_loader *l = NULL;
    int32_t status = trial_note(feedline_dataset_open(uri, &ds));
    if ((status < 0) != (ds == NULL))
        fail_msg("a data set with status %d", status);
    if (status >= 0)
        status = trial_loader(ds, NULL, operations, options, &l);
    feedline_dataset_close(ds); /* the loader keeps it */
    if (status >= 0)
        status = trial_epoch(l);
    fault_end(l);
    return status;
}
