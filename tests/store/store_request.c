/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Prints signed requests, which Python then compares and sends. Each line of
 * its input is one, its fields apart by tabs, a "-" for what there is not:
 *
 *     id secret token region time address bucket in_host key range tag
 *     id secret token region time address bucket in_host ? prefix next
 *
 * The second is a page of a list. For each it prints the URL, the headers and
 * an empty line.
 */
#include "base/status.h"
#include "store/s3_request.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    ID,
    SECRET,
    TOKEN,
    REGION,
    TIME,
    ADDRESS,
    BUCKET,
    IN_HOST,
    KEY,
    RANGE,
    TAG,
    FIELDS
};

static int cut(char *line, char *fields[FIELDS])
{
    line[strcspn(line, "\n")] = '\0';
    for (int i = 0; i < FIELDS; i++) {
        char *text = strsep(&line, "\t");
        if (!text)
            return -1;
        fields[i] = strcmp(text, "-") == 0 ? NULL : text;
    }
    return line ? -1 : 0;
}

static int32_t make(char *const f[FIELDS], struct fdl_request *out)
{
    struct fdl_endpoint server, bucket;
    const struct fdl_credentials credentials = {
        .id = f[ID], .secret = f[SECRET], .token = f[TOKEN]};
    struct fdl_s3_call c = {.bucket = &bucket,
                            .key = f[KEY],
                            .range = f[RANGE],
                            .tag = f[TAG],
                            .region = f[REGION],
                            .now = atoll(f[TIME]),
                            .credentials = &credentials};
    int32_t status = fdl_endpoint_parse(f[ADDRESS], "address", &server);
    if (status == FEEDLINE_OK)
        status = fdl_endpoint_of_bucket(&server, f[BUCKET], f[IN_HOST] != NULL,
                                        &bucket);
    if (status < 0 || strcmp(f[KEY], "?") != 0)
        return status < 0 ? status : fdl_s3_request(&c, out);
    c.range = c.tag = NULL;
    const struct fdl_location where = {.key = f[RANGE] ? f[RANGE] : ""};
    const struct fdl_pages pages = {.where = &where};
    return fdl_s3_list_request(&c, &pages, f[TAG] ? f[TAG] : "", out);
}

int main(void)
{
    static char line[65536];
    while (fgets(line, sizeof(line), stdin)) {
        char *fields[FIELDS];
        struct fdl_request r = {0};
        if (cut(line, fields) < 0 || make(fields, &r) < 0) {
            fprintf(stderr, "%s\n", fdl_last_error());
            return 1;
        }
        printf("%s\n", r.url);
        for (int i = 0; r.headers[i]; i++)
            printf("%s\n", r.headers[i]);
        printf("\n");
        fflush(stdout);
        fdl_request_free(&r);
    }
    return 0;
}
