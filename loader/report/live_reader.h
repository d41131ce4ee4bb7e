/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reading the live pages of other processes; see live_page.h. Whatever a page
 * says was written by another program: sizes are held against the memory that
 * is there, which is sealed, and texts are ended and cleaned of what a terminal
 * would obey.
 */
#ifndef FDL_LOADER_LIVE_READER_H
#define FDL_LOADER_LIVE_READER_H

#include <feedline/live.h>

#include <stdbool.h>
#include <stdint.h>

/* A process, by /proc/PID: the folder stays that of this process, and is empty
 * once it is gone, whoever has its number then. -1: there is none. */
int fdl_live_process(int32_t pid);

/* false: gone, or only its parent has not looked yet. */
bool fdl_live_process_runs(int process);

/* The first 63 bytes of its command line. */
void fdl_live_process_command(int process, char command[64]);

/* Calls `found` for each page of the process, with a descriptor that is closed
 * behind it, until it returns false. ENOENT: it is gone; EIO: it may not be
 * looked into. pid: for the words of an error. */
int32_t fdl_live_pages(int process, int32_t pid,
                       bool (*found)(void *user, int fd,
                                     const struct feedline_live_info *info),
                       void *user);

/* One control-free, valid UTF-8 string in text[capacity]. */
void fdl_live_clean_text(char *text, uint32_t capacity);

#endif
