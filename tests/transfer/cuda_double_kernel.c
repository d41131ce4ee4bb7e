/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Modules and kernels of the double. It cannot run PTX, so it knows by name
 * what the kernels of transfer/cuda/cuda_kernels.h are meant to do, and does
 * that in C of its own: a second opinion on what goes where, and on the
 * arguments that the host passes. It computes what the launched grid covers and
 * no more.
 */
#include "cuda_double_own.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const names[] = {"fdl_kernel_finish", "fdl_kernel_spin"};
enum { KERNEL_FINISH, KERNEL_SPIN, KERNEL_DECODE };

/* Those behind spin decode. NULL: there are no more. */
static const char *name_of(uintptr_t i)
{
    return i < KERNEL_DECODE ? names[i]
                             : double_decode_name((uint32_t)i - KERNEL_DECODE);
}

struct module {
    struct module *next;
    uint64_t handle;
    int of_device;
    char *text;
};

static struct module *modules; /* guarded by the double's lock; none ends */

/* A function's handle: its module's, and which of the names it is. */
#define FUNCTION_SHIFT 4

/* ---- Numbers -------------------------------------------------------- */

/* Number c of pixel `at` of an image, before others are mixed in. */
static uint32_t number_of(const struct fdl_finish_args *a, uint64_t image,
                          uint64_t at, uint32_t c, bool blank)
{
    uint32_t x = a->src[(image * a->plane + at) * a->channels + c];
    return a->table && !blank ? a->table[c * 256 + x] : 0;
}

static float float_of(uint32_t bits)
{
    float value;
    memcpy(&value, &bits, sizeof(value));
    return value;
}

static uint32_t mixed(const struct fdl_finish_args *a, uint64_t image,
                      uint64_t at, uint32_t c)
{
    const struct fdl_image_mix *m = &a->mixes[image];
    uint32_t own = number_of(a, image, at, c, m->blank & FDL_FINISH_BLANK_OWN);
    uint32_t its =
        number_of(a, m->other, at, c, m->blank & FDL_FINISH_BLANK_OTHER);
    uint64_t x = at % a->width, y = at / a->width;
    if (m->kind == FDL_FINISH_SUM) {
        volatile float left = float_of(own) * m->own_share;
        volatile float right = float_of(its) * m->other_share;
        float sum = left + right;
        memcpy(&own, &sum, sizeof(own));
    }
    if (m->kind == FDL_FINISH_BOX && m->left <= x && x < m->right &&
        m->top <= y && y < m->bottom)
        own = its;
    return own;
}

static void finish(const struct fdl_finish_args *a, uint64_t pixels)
{
    unsigned char *dst = a->dst;
    for (uint64_t p = 0; p < pixels; p++)
        for (uint32_t c = 0; c < a->channels; c++) {
            uint64_t image = p / a->plane, at = p % a->plane;
            uint64_t to = a->nhwc ? p * a->channels + c
                                  : (image * a->channels + c) * a->plane + at;
            uint32_t number = a->mixes ? mixed(a, image, at, c)
                                       : number_of(a, image, at, c, false);
            uint16_t half = (uint16_t)number;
            if (a->bytes == 4)
                memcpy(dst + to * 4, &number, 4);
            else
                memcpy(dst + to * 2, &half, 2);
        }
}

const char *double_kernel_run(const struct double_op *op)
{
    if (op->images > 0)
        return double_decode_run(op);
    if (op->args.pixels)
        finish(&op->args, op->bytes);
    return NULL;
}

/* ---- Modules -------------------------------------------------------- */

/* Comments, then .version. */
static bool is_ptx(const char *text)
{
    for (;;) {
        text += strspn(text, " \t\r\n");
        if (strncmp(text, "//", 2) != 0)
            break;
        text += strcspn(text, "\n");
    }
    return strncmp(text, ".version", 8) == 0 && strstr(text, ".target") &&
           strstr(text, ".address_size");
}

/* Of a GPU that runs it, from the line ".target sm_NN". */
static int target_of(const char *text)
{
    int target = 0;
    const char *at = strstr(text, ".target");
    return at && sscanf(at, ".target sm_%d", &target) == 1 ? target : 0;
}

static bool has_entry(const char *text, const char *name)
{
    size_t length = strlen(name);
    for (const char *at = strstr(text, ".entry"); at;
         at = strstr(at, ".entry")) {
        at += strlen(".entry");
        at += strspn(at, " \t\r\n");
        if (strncmp(at, name, length) == 0 && strchr("( \t\r\n", at[length]))
            return true;
    }
    return false;
}

int cuModuleLoadData(void **module, const void *image)
{
    int error = double_enter(FN_cuModuleLoadData);
    if (!error && (!module || !image))
        error = DOUBLE_ERROR_INVALID;
    if (!error && !is_ptx(image))
        error = DOUBLE_ERROR_IMAGE;
    if (!error && target_of(image) > double_world.set.capability)
        error = DOUBLE_ERROR_NO_IMAGE;
    struct module *m = error ? NULL : calloc(1, sizeof(*m));
    if (m)
        m->text = strdup(image);
    if (!error && (!m || !m->text)) {
        free(m);
        error = FDL_CUDA_ERROR_MEMORY;
    }
    if (!error) {
        m->handle = ++double_world.last_handle << FUNCTION_SHIFT;
        m->of_device = double_device_now();
        m->next = modules;
        modules = m;
        *module = (void *)(uintptr_t)m->handle;
    }
    return double_leave(error);
}

static struct module *module_locked(const void *handle)
{
    struct module *m = modules;
    while (m &&
           m->handle != ((uintptr_t)handle >> FUNCTION_SHIFT << FUNCTION_SHIFT))
        m = m->next;
    return m;
}

int cuModuleGetFunction(void **function, void *module, const char *name)
{
    int error = double_enter(FN_cuModuleGetFunction);
    struct module *m = module_locked(module);
    if (!error && (!function || !m || !name))
        error = DOUBLE_ERROR_INVALID;
    if (!error) {
        error = DOUBLE_ERROR_NOT_FOUND;
        for (uintptr_t i = 0; name_of(i); i++)
            if (strcmp(name, name_of(i)) == 0 && has_entry(m->text, name)) {
                *function = (void *)((uintptr_t)m->handle + i + 1);
                error = 0;
            }
    }
    return double_leave(error);
}

/* ---- Launches ------------------------------------------------------- */

struct launch {
    uint32_t grid_x, grid_y;
    uint64_t threads;
    void **parameters;
};

/* Sets the ranges and moves the pointers of the arguments into the backing.
 * false: memory that a kernel must not touch, which breaks the context. */
static bool prepare_finish_locked(struct double_op *op, uint64_t threads)
{
    struct fdl_finish_args *a = &op->args;
    if (a->channels < 1 || a->channels > 4 || a->plane < 1 ||
        a->pixels % a->plane != 0 || (a->bytes != 2 && a->bytes != 4)) {
        double_fault_locked("fdl_kernel_finish: %" PRIu64 " pixels, plane "
                            "%" PRIu32 ", %" PRIu32 " channels, %" PRIu32
                            " bytes each make no sense",
                            a->pixels, a->plane, a->channels, a->bytes);
        return false;
    }
    uint64_t read = a->pixels * a->channels, written = read * a->bytes;
    uint64_t looked_up = a->table ? a->channels * sizeof(uint32_t[256]) : 0;
    struct double_allocation *src = double_allocation_at_locked(a->src, read);
    struct double_allocation *dst =
        double_allocation_at_locked(a->dst, written);
    struct double_allocation *table =
        a->table ? double_allocation_at_locked(a->table, looked_up) : src;
    if (!src || !dst || !table) {
        double_fault_locked("fdl_kernel_finish: %" PRIu64 " bytes at %p to "
                            "%" PRIu64 " at %p, by the table at %p, are not "
                            "all device memory",
                            read, (const void *)a->src, written, a->dst,
                            (const void *)a->table);
        return false;
    }
    uint64_t images = a->pixels / a->plane;
    uint64_t told = a->mixes ? images * sizeof(*a->mixes) : 0;
    struct double_allocation *mixes =
        a->mixes ? double_allocation_at_locked(a->mixes, told) : src;
    if (!mixes || (a->mixes && (a->width < 1 || a->plane % a->width != 0))) {
        double_fault_locked("fdl_kernel_finish: what is mixed, %" PRIu64
                            " bytes at %p, or width %" PRIu32 " is wrong",
                            told, (const void *)a->mixes, a->width);
        return false;
    }
    uint64_t covered = threads * FDL_FINISH_PIXELS;
    op->bytes = FDL_MIN(a->pixels, covered);
    op->amount = op->bytes;
    op->ranges[0] = (struct double_range){a->src, read, false};
    op->ranges[1] = (struct double_range){a->dst, written, true};
    op->ranges[2] =
        (struct double_range){(const void *)a->table, looked_up, false};
    op->ranges[3] = (struct double_range){(const void *)a->mixes, told, false};
    if (a->mixes)
        a->mixes = (const void *)double_backing(mixes, a->mixes);
    a->src = double_backing(src, a->src);
    a->dst = double_backing(dst, a->dst);
    if (a->table)
        a->table = (const void *)double_backing(table, a->table);
    return true;
}

static bool prepare_locked(struct double_op *op, const struct launch *l,
                           uintptr_t which)
{
    if (which == KERNEL_FINISH)
        return prepare_finish_locked(op, l->threads);
    return double_decode_prepare_locked(op, l->grid_x, l->grid_y,
                                        l->parameters);
}

static int launch_locked(void *function, struct double_stream *s,
                         const struct launch *l)
{
    struct module *m = module_locked(function);
    uintptr_t which = m ? (uintptr_t)function - m->handle - 1 : UINTPTR_MAX;
    if (!m || !name_of(which)) {
        double_fault_locked("cuLaunchKernel: %p is no function", function);
        return DOUBLE_ERROR_HANDLE;
    }
    int now = double_device_now();
    if (s->of_device != now || m->of_device != now) {
        double_fault_locked("cuLaunchKernel: a stream of device %d and a "
                            "function of device %d while device %d is current",
                            s->of_device, m->of_device, now);
        return DOUBLE_ERROR_HANDLE;
    }
    struct double_op op = {.kind = OP_KERNEL, .kernel = name_of(which)};
    if (which == KERNEL_SPIN)
        memcpy(&op.amount, l->parameters[0], sizeof(op.amount));
    if (which == KERNEL_FINISH)
        memcpy(&op.args, l->parameters[0], sizeof(op.args));
    if (which == KERNEL_FINISH && op.args.pixels == 0)
        return 0;
    if (which != KERNEL_SPIN && !prepare_locked(&op, l, which)) {
        double_world.devices[now].error = DOUBLE_ERROR_ILLEGAL;
        return 0; /* the launch itself is in order */
    }
    double_world.counters.kernels++;
    return double_queue_locked(s, &op);
}

int cuLaunchKernel(void *function, unsigned grid_x, unsigned grid_y,
                   unsigned grid_z, unsigned block_x, unsigned block_y,
                   unsigned block_z, unsigned shared_bytes,
                   fdl_cuda_stream stream, void **parameters, void **extra)
{
    int error = double_enter(FN_cuLaunchKernel);
    uint64_t grid = (uint64_t)grid_x * grid_y * grid_z;
    uint64_t block = (uint64_t)block_x * block_y * block_z;
    if (!error && (grid == 0 || grid_x > 0x7fffffffu || grid_y > 65535 ||
                   grid_z > 65535 || block == 0 || block > 1024 ||
                   shared_bytes > 48 * 1024 || !parameters || extra))
        error = DOUBLE_ERROR_INVALID;
    if (!error) {
        struct double_stream *s =
            double_stream_locked(stream, "cuLaunchKernel");
        const struct launch l = {grid_x, grid_y, grid * block, parameters};
        error = s ? launch_locked(function, s, &l) : DOUBLE_ERROR_HANDLE;
    }
    return double_leave(error);
}
