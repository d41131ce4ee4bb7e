/* SPDX-License-Identifier: Apache-2.0 */
/* Our declarations of libcurl against its own header. Compiled, never run. */
#include "store/curl_api.h"

#include <curl/curl.h>

#define CODE(name, number)   _Static_assert(CURLE_##name == (number), #name);
#define OPTION(name, number) _Static_assert(CURLOPT_##name == (number), #name);
#define MULTI(name, number)  _Static_assert(CURLMOPT_##name == (number), #name);
#define INFO(name, number)   _Static_assert(CURLINFO_##name == (number), #name);
FDL_CURL_CODES(CODE)
FDL_CURL_OPTIONS(OPTION)
FDL_CURL_MULTI_OPTIONS(MULTI)
FDL_CURL_INFOS(INFO)
_Static_assert(FDL_CURL_DONE == CURLMSG_DONE, "done");
_Static_assert(FDL_CURL_GLOBAL_DEFAULT == CURL_GLOBAL_DEFAULT, "init");
_Static_assert(FDL_CURL_ERROR_BYTES == CURL_ERROR_SIZE, "error");
_Static_assert(FDL_CURL_PAUSE == CURL_WRITEFUNC_PAUSE, "pause");
_Static_assert(FDL_CURL_CONTINUE == CURLPAUSE_CONT, "continue");
_Static_assert(FDL_CURL_HTTP_1_1 == CURL_HTTP_VERSION_1_1, "1.1");
_Static_assert(FDL_CURL_HTTP == CURLPROTO_HTTP, "http");
_Static_assert(FDL_CURL_HTTPS == CURLPROTO_HTTPS, "https");
_Static_assert(sizeof(struct fdl_curl_message) == sizeof(CURLMsg), "message");
_Static_assert(offsetof(struct fdl_curl_message, easy) ==
                   offsetof(CURLMsg, easy_handle),
               "message");
_Static_assert(offsetof(struct fdl_curl_message, of) == offsetof(CURLMsg, data),
               "message");
