/* SPDX-License-Identifier: Apache-2.0 */
/* What h2d found out, for people and for programs. */
#include "tools/loaderbench/cli/cli.h"
#include "tools/loaderbench/h2d/h2d.h"
#include "tools/loaderbench/report/document.h"

#include <stdio.h>

const char *h2d_size_text(uint64_t bytes, char *buf, size_t capacity)
{
    static const char *const units[] = {"B", "KiB", "MiB", "GiB"};
    double x = (double)bytes;
    size_t unit = 0;
    while (x >= 1024 && unit < 3) {
        x /= 1024;
        unit++;
    }
    snprintf(buf, capacity, "%.*f %s", x < 100 && x - (int)x > 0.05 ? 1 : 0, x,
             units[unit]);
    return buf;
}

json_t *h2d_fit_json(const struct feedline_copy_fit *fit)
{
    return json_pack("{s:f, s:f, s:f, s:f}", "latency_us", fit->latency_us,
                     "gigabytes_per_second", fit->gigabytes_per_second,
                     "half_bytes", fit->half_bytes, "worst_error",
                     fit->worst_error);
}

json_t *h2d_point_json(const struct gpu_copy *p)
{
    return json_pack("{s:I, s:I, s:b, s:b, s:f, s:f, s:f, s:f, s:f}", "bytes",
                     (json_int_t)p->bytes, "copies", (json_int_t)p->copies,
                     "pinned", !p->pageable, "busy", (int)p->busy, "host_us",
                     p->host_us, "device_us", p->device_us, "min_us", p->min_us,
                     "max_us", p->max_us, "gigabytes_per_second",
                     gpu_rate((double)p->bytes, p->host_us));
}

json_t *h2d_document(const struct h2d *h)
{
    json_t *points = json_array(), *batches = json_array();
    for (size_t i = 0; i < h->n_points; i++)
        json_array_append_new(points, h2d_point_json(&h->points[i]));
    for (size_t i = 0; i < h->n_batches; i++) {
        const struct h2d_batch *b = &h->batches[i];
        json_array_append_new(
            batches, json_pack("{s:s, s:I, s:s, s:f, s:f, s:f}", "name",
                               b->name, "bytes", (json_int_t)b->bytes, "regime",
                               b->regime, "pinned_us", b->us, "device_us",
                               b->device_us, "pageable_us", b->pageable_us));
    }
    json_t *doc = document_new("h2d");
    json_object_set_new(doc, "device", gpu_json(&h->gpu));
    json_object_set_new(doc, "fit", h2d_fit_json(&h->fit));
    json_object_set_new(doc, "points", points);
    json_object_set_new(doc, "no_kernels",
                        h->no_kernels[0] ? json_string(h->no_kernels)
                                         : json_null());
    json_object_set_new(doc, "batches", batches);
    json_object_set_new(doc, "regime",
                        json_string(h->batches[h->n_batches - 1].regime));
    json_object_set_new(doc, "advice", json_string(h->advice));
    json_object_set_new(doc, "interrupted", json_boolean(h->interrupted));
    return doc;
}

/* ---- For people --------------------------------------------------------- */

static const struct gpu_copy *find(const struct h2d *h, uint64_t bytes,
                                   uint32_t copies, bool pageable, bool busy)
{
    for (size_t i = 0; i < h->n_points; i++) {
        const struct gpu_copy *p = &h->points[i];
        if (p->bytes == bytes && p->copies == copies &&
            p->pageable == pageable && p->busy == busy)
            return p;
    }
    return NULL;
}

static void print_cell(const struct gpu_copy *p)
{
    if (!p)
        printf("%10s", "-");
    else if (p->host_us < 1000)
        printf("%10.1f", p->host_us);
    else
        printf("%10.0f", p->host_us);
}

static void print_table(const struct h2d *h, bool busy)
{
    static const uint32_t copies[] = {1, 16, 256};
    printf("\nus, %s\n%-9s  %-30s%-30s%8s\n%-9s",
           busy ? "while a kernel keeps the GPU busy" : "GPU idle", "",
           "        pinned, in", "        pageable, in", "pinned", "size");
    for (int kind = 0; kind < 2; kind++)
        printf("%10s%10s%10s", "1 copy", "16", "256");
    printf("%9s\n", "GB/s");
    for (size_t i = 0; i < h->n_points - 2 * h->n_batches; i++) {
        const struct gpu_copy *p = &h->points[i];
        if (p->copies != 1 || p->pageable || p->busy != busy)
            continue; /* the first of each size stands for its row */
        if (find(h, p->bytes, 1, false, busy) != p)
            continue;
        char size[32];
        printf("%-9s", h2d_size_text(p->bytes, size, sizeof(size)));
        for (int kind = 0; kind < 2; kind++)
            for (size_t k = 0; k < 3; k++)
                print_cell(find(h, p->bytes, copies[k], kind == 1, busy));
        printf("%9.2f\n", gpu_rate((double)p->bytes, p->host_us));
    }
}

void h2d_print_fit(const struct feedline_copy_fit *fit)
{
    char half[32];
    printf(
        "A copy takes %.1f us + bytes / %.2f GB/s (worst point %.0f %% off);\n"
        "below %s it is latency, above it is bandwidth that counts.\n",
        fit->latency_us, fit->gigabytes_per_second, 100 * fit->worst_error,
        h2d_size_text((uint64_t)fit->half_bytes, half, sizeof(half)));
}

void h2d_report(const struct h2d *h)
{
    gpu_print(&h->gpu);
    if (h->interrupted)
        printf("Interrupted; results so far:\n");
    print_table(h, false);
    if (!h->no_kernels[0])
        print_table(h, true);
    printf("\n");
    if (h->no_kernels[0]) {
        cli_print_wrapped("Not measured while a kernel keeps the GPU busy:", 0,
                          0);
        cli_print_wrapped(h->no_kernels, 2, 2);
        printf("\n");
    }
    h2d_print_fit(&h->fit);
    printf("\n%-24s %10s %12s %12s  regime\n", "batch", "size", "pinned us",
           "pageable us");
    for (size_t i = 0; i < h->n_batches; i++) {
        const struct h2d_batch *b = &h->batches[i];
        char size[32];
        printf("%-24s %10s %12.0f %12.0f  %s\n", b->name,
               h2d_size_text(b->bytes, size, sizeof(size)), b->us,
               b->pageable_us, b->regime);
    }
    printf("\n");
    cli_print_wrapped(h->advice, 0, 0);
}
