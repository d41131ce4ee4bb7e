/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a data set knows of locations that are no files: their stores, the parts
 * that are never shown, and which objects they were when they were first read.
 */
#ifndef FDL_LOADER_DATASET_REMOTE_H
#define FDL_LOADER_DATASET_REMOTE_H

#include "base/grow.h"
#include "store/downloads.h"

struct fdl_dataset_remote {
    struct fdl_store *stores[FDL_STORE_KINDS];
    struct fdl_string_list queries; /* of names, or of files where there are
                                       parts of them; those behind have none */
    fdl_tag *tags;                  /* [n_tags], as queries */
    uint64_t n_tags;
};

/* For locations, before they are added: opens the store, and cuts what is not
 * to be shown off *location. number: of the name, or of the file, that it will
 * be. *r is made when the first is found; what is no location of a store stays
 * as it is. *cut: for free(). EINVAL, ENOSYS, ENOMEM. */
int32_t fdl_dataset_remote_admit(struct fdl_dataset_remote **r, uint64_t number,
                                 const char **location, char **cut);

/* All names, or files where there are parts of them, are known: each has a tag.
 * ENOMEM. */
int32_t fdl_dataset_remote_finish(struct fdl_dataset_remote *r, uint64_t n);

/* What object a file, of n_files, was when it was listed. ENOMEM. */
int32_t fdl_dataset_remote_set_tag(struct fdl_dataset_remote *r, uint32_t file,
                                   uint64_t n_files, const char *tag);

/* The store of a path; NULL: it is none's. *query, *tag (of a file): NULL if it
 * has none. */
struct fdl_store *fdl_dataset_remote_find(const struct fdl_dataset_remote *r,
                                          const char *path, uint64_t number,
                                          const char **query, fdl_tag **tag);

/* NULL is fine. */
void fdl_dataset_remote_free(struct fdl_dataset_remote *r);

#endif
