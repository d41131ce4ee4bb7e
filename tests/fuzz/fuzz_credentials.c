/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fuzz target: files and answers that credentials come from.
 *
 *     1 byte     whose: AWS's, Google's, Azure's, the Hub's; where AWS's come
 *                from
 *     the rest   texts with a zero byte between them: the file, then what
 *                services answer, one after the other, the last again
 *
 * Nothing of what they say is in a message, whatever it is: SECRET stands for
 * any of it.
 */
#include "base/status.h"
#include "fuzz.h"
#include "store/credentials.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SECRET "5ecr3t"
#define ASKED  8 /* requests of one chain, at most */

struct answers {
    struct fuzz_input left;
    int asked;
};

/* Up to the next zero byte, which is gone then. */
static struct fuzz_input take_part(struct fuzz_input *in)
{
    const uint8_t *end = in->size ? memchr(in->data, '\0', in->size) : NULL;
    struct fuzz_input part = {in->data,
                              end ? (size_t)(end - in->data) : in->size};
    size_t n = part.size + (end != NULL);
    if (end) {
        in->data += n;
        in->size -= n;
    }
    return part;
}

static int32_t fetch(void *user, const struct fdl_request *r,
                     uint64_t max_bytes, struct fdl_answer *out)
{
    struct answers *a = user;
    struct fuzz_input body = take_part(&a->left);
    fuzz_check(++a->asked <= ASKED);
    fuzz_check(strncmp(r->url, "http", 4) == 0 && !strchr(r->url, '\n'));
    for (size_t i = 0; r->headers[i]; i++)
        fuzz_check(!strpbrk(r->headers[i], "\r\n"));
    if (body.size > max_bytes || (body.size > 0 && body.data[0] == '!'))
        return fdl_fail(FEEDLINE_EIO, "no answer");
    *out = (struct fdl_answer){.status = 200};
    if (body.size > 0 && fdl_text_reserve(&out->body, body.size)) {
        memcpy(out->body.data, body.data, body.size);
        out->body.data[body.size] = '\0';
        out->body.length = body.size;
    }
    return FEEDLINE_OK;
}

static void set(const char *name, const char *value)
{
    if (value)
        setenv(name, value, 1);
    else
        unsetenv(name);
}

/* All files that a chain looks at are this one. */
static void set_environment(const char *path, bool web, bool container)
{
    static const char *const files[] = {
        "AWS_SHARED_CREDENTIALS_FILE",
        "AWS_CONFIG_FILE",
        "GOOGLE_APPLICATION_CREDENTIALS",
        "HF_TOKEN_PATH",
    };
    for (size_t i = 0; i < FDL_COUNT_OF(files); i++)
        set(files[i], path);
    set("AWS_WEB_IDENTITY_TOKEN_FILE", web ? path : NULL);
    set("AWS_ROLE_ARN", web ? "arn:aws:iam::1:role/r" : NULL);
    set("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", container ? "/c" : NULL);
    set("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE", container ? path : NULL);
    set("HOME", "/nowhere");
}

static void obtain(fdl_obtain *from, uint8_t how, struct fuzz_input in)
{
    struct answers a = {.left = in};
    struct fuzz_input file = take_part(&a.left);
    struct fdl_store_options o = {.fetch = fetch, .user = &a};
    struct fdl_credentials c = {0};
    char path[FUZZ_PATH_BYTES];
    int fd = fuzz_file(file.data, file.size, path);
    set_environment(path, how & 16, how & 32);
    int32_t status = from(&o, 1000, &c);
    if (status < 0) {
        fuzz_check_error(status);
        fuzz_check(!strstr(fdl_last_error(), SECRET));
        fuzz_check(!c.id && !c.secret && !c.token && !c.query);
    }
    fdl_credentials_free(&c);
    close(fd);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static fdl_obtain *const chains[] = {
        fdl_aws_credentials, fdl_google_credentials, fdl_azure_credentials,
        fdl_hub_credentials};
    struct fuzz_input in = {data, size};
    struct fuzz_input copy = in;
    uint8_t how = fuzz_byte(&in);
    char *text = NULL;
    if (how & 8) /* which has only Azure's */
        text = fuzz_text(&copy, FUZZ_REST);
    set("AZURE_STORAGE_CONNECTION_STRING", text);
    obtain(chains[how % FDL_COUNT_OF(chains)], how, in);
    free(text);
    return 0;
}
