/* SPDX-License-Identifier: Apache-2.0 */
/* Functions of libcurl, which the library looks up by name: it finds these; see
 * inject.h. */
#include "inject.h"
#include "store/curl_api.h"
#include "tests/wrap.h"

#include <string.h>

#define COULD_NOT_CONNECT 7
#define RECEIVE_ERROR     56

static struct fdl_curl real;

static void *no_handle_or_real(void)
{
    return MUST_FAIL(CLIENT) ? NULL : real.EasyInit();
}

static int add_handle(void *multi, void *easy)
{
    return MUST_FAIL(CLIENT) ? -1 : real.MultiAdd(multi, easy);
}

static int perform(void *easy)
{
    return MUST_FAIL(NETWORK) ? COULD_NOT_CONNECT : real.EasyPerform(easy);
}

/* Its bytes have come, the end has not. */
static struct fdl_curl_message *info_read(void *multi, int *left)
{
    struct fdl_curl_message *m = real.MultiInfo(multi, left);
    if (m && m->what == FDL_CURL_DONE && m->of.result == FDL_CURL_E_OK &&
        MUST_FAIL(NETWORK))
        m->of.result = RECEIVE_ERROR;
    return m;
}

/* POSIX: a function's address is of the size of a pointer to data. */
#define REPLACE(function, member, ours)                                        \
  if (strcmp(name, #function) == 0) {                                          \
    memcpy(&real.member, &found, sizeof(found));                               \
    memcpy(&found, &(__typeof__(real.member)){ours}, sizeof(found));           \
  }

WRAP(void *, dlsym, void *library, const char *name)
{
    void *found = __real_dlsym(library, name);
    if (!found)
        return NULL;
    REPLACE(curl_easy_init, EasyInit, no_handle_or_real)
    REPLACE(curl_multi_add_handle, MultiAdd, add_handle)
    REPLACE(curl_easy_perform, EasyPerform, perform)
    REPLACE(curl_multi_info_read, MultiInfo, info_read)
    return found;
}
