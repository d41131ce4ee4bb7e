/* SPDX-License-Identifier: Apache-2.0 */
/* Public functions: the capsules in which Python hands a tensor on. */
#include "base/lock.h"
#include "loader/api/api.h"
#include "loader/api/dlpack.h"

#include <feedline/exchange.h>

#include <stdatomic.h>

typedef int is_valid_fn(void *, const char *);
typedef void *get_pointer_fn(void *, const char *);

/* The interpreter's, for as long as the process lives. */
static struct fdl_lock init_lock = FDL_LOCK_INIT(FDL_RANK_EXCHANGE);
static is_valid_fn *_Atomic is_valid; /* written under the lock, once, last */
static get_pointer_fn *get_pointer;   /* the same */

int32_t feedline_capsule_init(int (*valid)(void *, const char *),
                              void *(*pointer)(void *, const char *))
{
    fdl_clear_error();
    if (!valid || !pointer)
        return fdl_fail(FEEDLINE_EINVAL, "a function of capsules is NULL");
    fdl_lock(&init_lock);
    is_valid_fn *had = atomic_load_explicit(&is_valid, memory_order_relaxed);
    if (!had)
        get_pointer = pointer;
    bool same = get_pointer == pointer && (!had || had == valid);
    /* release: pairs with the destructor's acquire. */
    if (!had)
        atomic_store_explicit(&is_valid, valid, memory_order_release);
    fdl_unlock(&init_lock);
    if (!same)
        return fdl_fail(FEEDLINE_ESTATE,
                        "the functions of another interpreter are in use");
    return FEEDLINE_OK;
}

static void *taken_by_nobody(void *capsule, const char *name)
{
    /* acquire: pairs with feedline_capsule_init. */
    is_valid_fn *valid = atomic_load_explicit(&is_valid, memory_order_acquire);
    if (!valid || !valid(capsule, name))
        return NULL;
    return get_pointer(capsule, name);
}

/* Whoever takes a tensor gives its capsule another name. */
void feedline_capsule_destructor(void *capsule)
{
    struct fdl_dl_managed *managed = taken_by_nobody(capsule, "dltensor");
    if (managed) {
        managed->deleter(managed);
        return;
    }
    struct fdl_dl_versioned *versioned =
        taken_by_nobody(capsule, "dltensor_versioned");
    if (versioned)
        versioned->deleter(versioned);
}
