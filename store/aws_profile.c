/* SPDX-License-Identifier: Apache-2.0 */
#include "store/aws_profile.h"

#include "base/lines.h"
#include "base/memory.h"
#include "base/status.h"
#include "store/environment.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

static const char *const key_names[FDL_AWS_KEYS] = {
    [FDL_AWS_ID] = "aws_access_key_id",
    [FDL_AWS_SECRET] = "aws_secret_access_key",
    [FDL_AWS_TOKEN] = "aws_session_token",
    [FDL_AWS_REGION] = "region",
    [FDL_AWS_ENDPOINT] = "endpoint_url",
    [FDL_AWS_ROLE] = "role_arn",
    [FDL_AWS_SESSION_NAME] = "role_session_name",
    [FDL_AWS_TOKEN_FILE] = "web_identity_token_file",
    [FDL_AWS_PROCESS] = "credential_process",
    [FDL_AWS_SSO] = "sso_session",
    [FDL_AWS_SSO_URL] = "sso_start_url",
};

static char *trimmed(char *text)
{
    static const char blanks[] = " \t\r\n";
    text += strspn(text, blanks);
    size_t n = strlen(text);
    while (n > 0 && strchr(blanks, text[n - 1]))
        n--;
    text[n] = '\0';
    return text;
}

/* ---- A file -------------------------------------------------------------- */

/* Is this the line of the profile's section? In the file of configurations all
 * but the default have "profile" before their names. */
static bool is_section(const struct fdl_aws_profile *p, char *line, bool config)
{
    char *end = strchr(line, ']');
    if (!end)
        return false;
    *end = '\0';
    char *name = trimmed(line + 1);
    if (config && strncmp(name, "profile", 7) == 0 &&
        (name[7] == ' ' || name[7] == '\t'))
        name = trimmed(name + 7);
    else if (config && strcmp(name, "default") != 0)
        return false;
    return strcmp(name, p->name) == 0;
}

/* The first file that has a value is right. */
static int32_t take(struct fdl_aws_profile *p, char *line)
{
    char *equals = strchr(line, '=');
    if (!equals)
        return FEEDLINE_OK;
    *equals = '\0';
    const char *name = trimmed(line);
    const char *value = trimmed(equals + 1);
    for (int i = 0; i < FDL_AWS_KEYS; i++) {
        if (strcasecmp(name, key_names[i]) != 0 || p->values[i] || !*value)
            continue;
        p->values[i] = fdl_strdup(value);
        if (!p->values[i])
            return fdl_fail_memory(strlen(value), "a profile");
    }
    return FEEDLINE_OK;
}

/* A line that begins with a blank belongs to a value of several lines, such as
 * "s3 =": none of ours has them. */
static int32_t read_lines(struct fdl_aws_profile *p, struct fdl_lines *lines,
                          bool config)
{
    bool inside = false;
    for (;;) {
        struct fdl_line line;
        int32_t status = fdl_lines_next(lines, &line);
        if (status < 0 || !line.text)
            return status;
        if (line.text[0] == '[') {
            inside = is_section(p, line.text, config);
            p->found |= inside;
        } else if (inside && line.text[0] && !strchr("#; \t", line.text[0])) {
            status = take(p, line.text);
        }
        explicit_bzero(line.text, line.bytes);
        if (status < 0)
            return status;
    }
}

static int32_t read_file(struct fdl_aws_profile *p, const char *variable,
                         const char *name, bool config)
{
    const char *given = fdl_store_env(variable);
    struct fdl_lines lines = {0};
    char *home = NULL;
    int32_t status = given ? FEEDLINE_OK : fdl_store_home(name, &home);
    if (status == FEEDLINE_OK)
        status = fdl_lines_open(&lines, given ? given : home);
    if (status == FEEDLINE_OK)
        status = read_lines(p, &lines, config);
    else if (status == FEEDLINE_ENOENT)
        status = FEEDLINE_OK;
    fdl_lines_close(&lines);
    free(home);
    return status;
}

int32_t fdl_aws_profile_read(const struct fdl_store_options *o,
                             struct fdl_aws_profile *out)
{
    const char *asked = o->profile ? o->profile : fdl_store_env("AWS_PROFILE");
    struct fdl_aws_profile p = {.name = asked ? asked : "default"};
    int32_t status =
        read_file(&p, "AWS_SHARED_CREDENTIALS_FILE", ".aws/credentials", false);
    if (status == FEEDLINE_OK)
        status = read_file(&p, "AWS_CONFIG_FILE", ".aws/config", true);
    if (status == FEEDLINE_OK && asked && !p.found)
        status = fdl_fail(FEEDLINE_ENOENT,
                          "the profile %s is neither in AWS's credentials file "
                          "nor in its config file",
                          asked);
    if (status < 0)
        fdl_aws_profile_free(&p);
    else
        *out = p;
    return status;
}

void fdl_aws_profile_free(struct fdl_aws_profile *p)
{
    for (int i = 0; i < FDL_AWS_KEYS; i++)
        fdl_wipe(p->values[i]);
    *p = (struct fdl_aws_profile){0};
}
