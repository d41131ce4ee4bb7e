/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads the live pages of other processes; see live_page.h. Pages are written
 * by other programs: sizes are checked against the memory, which is sealed, and
 * texts are terminated and stripped of control characters.
 */
#ifndef FDL_LOADER_LIVE_READER_H
#define FDL_LOADER_LIVE_READER_H

#include "loader/watch/live_page.h"

#include <feedline/live.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A page of another process, mapped: what the public functions hand out. */
struct feedline_live {
    uint32_t fork_generation;
    int32_t pid;
    int process;
    const struct fdl_live_header *page;
    size_t page_bytes;
    const _Atomic uint64_t *copies[2];
    size_t words; /* of a copy, as far as we know it */
};

/* As the public functions of these names, without their checks: of arguments,
 * of `struct_size`, of a fork() since. */
int32_t fdl_live_list(uint32_t index, struct feedline_live_info *out);
int32_t fdl_live_attach(int32_t pid, uint32_t loader,
                        struct feedline_live **out);
int32_t fdl_live_read(const struct feedline_live *live,
                      struct feedline_live_stats *out);
void fdl_live_detach(struct feedline_live *live);

/* A process, by /proc/PID: the descriptor keeps referring to that process, and
 * the folder is empty once it is gone, even if its PID is reused. -1: there is
 * none. */
int fdl_live_process(int32_t pid);

/* false: gone, or a zombie. */
bool fdl_live_process_runs(int process);

/* Calls `found` for each page of the process, with a descriptor that is closed
 * afterwards, until it returns false. ENOENT: it is gone; EIO: access denied.
 * pid: for error messages. */
int32_t fdl_live_pages(int process, int32_t pid,
                       bool (*found)(void *user, int fd,
                                     const struct feedline_live_info *info),
                       void *user);

/* What /proc/PID/cmdline holds (bytes of it, arguments parted by NUL), as one
 * line: the program without its folder, then its arguments, cut at 63 bytes. */
void fdl_live_command(const char *line, size_t bytes, char command[64]);

/* One control-free, valid UTF-8 string in text[capacity]. */
void fdl_live_clean_text(char *text, uint32_t capacity);

#endif
