/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fuzz target: documents that loaderbench reads again, and the logs of a job's
 * ranks. What is no document is refused; of any other a page is made which no
 * text of the document gets out of, and it can be compared and merged.
 */
#include "fuzz.h"
#include "tools/loaderbench/cli/commands.h"
#include "tools/loaderbench/report/report.h"
#include "tools/loaderbench/tool.h"
#include "tools/loaderbench/top/top_job.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Runs a command with its defaults on the same file twice. */
static void run(const struct cli_command *command, const char *path)
{
    const char *files[] = {path, path};
    struct cli_parsed parsed = {.positional = path,
                                .positionals = {.items = files, .n = 2}};
    void *values = malloc(command->values_bytes);
    fuzz_check(values);
    memcpy(values, command->defaults, command->values_bytes);
    int rc = command->run(values, &parsed);
    fuzz_check(rc >= TOOL_DONE && rc <= TOOL_ENVIRONMENT);
    free(values);
}

static void make_page(json_t *doc)
{
    static const char name[] = "<name>";
    const char *names[] = {name};
    char *page = NULL;
    size_t bytes = 0;
    FILE *f = open_memstream(&page, &bytes);
    fuzz_check(f);
    report_page(f, &doc, names, 1);
    fclose(f);
    fuzz_check(bytes > 0 && !strstr(page, name));
    fuzz_check(memmem(page, bytes, "</html>", 7));
    free(page);
}

static void read_logs(const char *path)
{
    struct job job = {0};
    if (job_of_logs(&job, path) == TOOL_DONE)
        for (size_t i = 0; i < job.n; i++)
            fuzz_check(strnlen(job.ranks[i].host, 65) < 65);
    json_t *doc = job_json(&job);
    job_print(doc);
    json_decref(doc);
    job_fini(&job);
}

/* What commands say is said to nobody. */
static void silence(int saved[2])
{
    int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
    fuzz_check(nowhere >= 0);
    fflush(stdout);
    for (int i = 0; i < 2; i++) {
        saved[i] = dup(STDOUT_FILENO + i);
        fuzz_check(saved[i] >= 0 && dup2(nowhere, STDOUT_FILENO + i) >= 0);
    }
    close(nowhere);
}

static void speak(const int saved[2])
{
    fflush(stdout);
    for (int i = 0; i < 2; i++) {
        fuzz_check(dup2(saved[i], STDOUT_FILENO + i) >= 0);
        close(saved[i]);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char path[FUZZ_PATH_BYTES];
    int saved[2];
    json_t *doc = NULL;
    int fd = fuzz_file(data, size, path);
    silence(saved);
    int rc = report_read(path, &doc);
    run(&command_compare, path);
    run(&command_merge, path);
    read_logs(path);
    speak(saved);
    if (rc == TOOL_DONE)
        make_page(doc);
    json_decref(doc);
    close(fd);
    return 0;
}
