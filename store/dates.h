/* SPDX-License-Identifier: Apache-2.0 */
/* Dates of servers, as Unix time; the same in every locale and time zone. */
#ifndef FDL_STORE_DATES_H
#define FDL_STORE_DATES_H

#include "base/compiler.h"

#include <stdbool.h>
#include <stdint.h>

#define FDL_DATE_BASIC 17 /* "20261122T000000Z" */
#define FDL_DATE_HTTP  30 /* "Sun, 22 Nov 2026 00:00:00 GMT" */

void fdl_date_basic(int64_t time, char out[FDL_DATE_BASIC]);
void fdl_date_http(int64_t time, char out[FDL_DATE_HTTP]);

/* As fdl_date_http writes it. */
FDL_NODISCARD bool fdl_date_parse_http(const char *text, int64_t *out);

/* "2026-11-22T00:00:00Z", with a fraction that is left out, or an offset. */
FDL_NODISCARD bool fdl_date_parse_iso(const char *text, int64_t *out);

#endif
