/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The part of libcurl that feedline calls, looked up at run time when the first
 * remote data set is opened: who reads local files needs no libcurl, and the
 * library builds without its headers. These declarations are ours; the
 * interface (libcurl.so.4) has been the same since 2006, and the functions are
 * all there since 7.68. tests/store compares the numbers with libcurl's header
 * where there is one.
 */
#ifndef FDL_STORE_CURL_API_H
#define FDL_STORE_CURL_API_H

#include <stddef.h>
#include <stdint.h>

struct fdl_curl_list; /* struct curl_slist */

/* struct CURLMsg. */
struct fdl_curl_message {
    int what; /* FDL_CURL_DONE: the transfer has ended */
    void *easy;
    union {
        void *pointer;
        int result; /* a CURLcode */
    } of;
};
#define FDL_CURL_DONE 1

#define FDL_CURL_GLOBAL_DEFAULT 3
#define FDL_CURL_ERROR_BYTES    256
#define FDL_CURL_PAUSE          0x10000001 /* what a write callback returns */
#define FDL_CURL_CONTINUE       0          /* for Pause */
#define FDL_CURL_HTTP_1_1       2
#define FDL_CURL_HTTP           1 /* of PROTOCOLS: a set of bits */
#define FDL_CURL_HTTPS          2

/* X(name, number of the CURLcode): those that the code tells apart. */
#define FDL_CURL_CODES(X)                                                      \
  X(OK, 0)                                                                     \
  X(UNSUPPORTED_PROTOCOL, 1)                                                   \
  X(URL_MALFORMAT, 3)                                                          \
  X(TOO_MANY_REDIRECTS, 47)                                                    \
  X(PEER_FAILED_VERIFICATION, 60)                                              \
  X(SSL_CACERT_BADFILE, 77)

/* X(name, number): CURLOPT_name, CURLMOPT_name, CURLINFO_name. */
#define FDL_CURL_OPTIONS(X)                                                    \
  X(URL, 10002)                                                                \
  X(WRITEDATA, 10001)                                                          \
  X(RANGE, 10007)                                                              \
  X(ERRORBUFFER, 10010)                                                        \
  X(POSTFIELDS, 10015)                                                         \
  X(USERAGENT, 10018)                                                          \
  X(HTTPHEADER, 10023)                                                         \
  X(HEADERDATA, 10029)                                                         \
  X(CUSTOMREQUEST, 10036)                                                      \
  X(CAINFO, 10065)                                                             \
  X(PRIVATE, 10103)                                                            \
  X(WRITEFUNCTION, 20011)                                                      \
  X(HEADERFUNCTION, 20079)                                                     \
  X(LOW_SPEED_LIMIT, 19)                                                       \
  X(LOW_SPEED_TIME, 20)                                                        \
  X(FOLLOWLOCATION, 52)                                                        \
  X(MAXREDIRS, 68)                                                             \
  X(FRESH_CONNECT, 74)                                                         \
  X(HTTP_VERSION, 84)                                                          \
  X(BUFFERSIZE, 98)                                                            \
  X(NOSIGNAL, 99)                                                              \
  X(TIMEOUT_MS, 155)                                                           \
  X(CONNECTTIMEOUT_MS, 156)                                                    \
  X(PROTOCOLS, 181)                                                            \
  X(REDIR_PROTOCOLS, 182)                                                      \
  X(TCP_KEEPALIVE, 213)                                                        \
  X(PATH_AS_IS, 234)                                                           \
  X(DNS_SHUFFLE_ADDRESSES, 275)
#define FDL_CURL_MULTI_OPTIONS(X) X(MAXCONNECTS, 6)
#define FDL_CURL_INFOS(X)                                                      \
  X(RESPONSE_CODE, 0x200002)                                                   \
  X(PRIVATE, 0x100015)

#define FDL_CURL_CODE(name, number)   FDL_CURL_E_##name = (number),
#define FDL_CURL_OPTION(name, number) FDL_CURL_OPT_##name = (number),
#define FDL_CURL_MULTI(name, number)  FDL_CURL_MOPT_##name = (number),
#define FDL_CURL_INFO(name, number)   FDL_CURL_INFO_##name = (number),
enum fdl_curl_code { FDL_CURL_CODES(FDL_CURL_CODE) };
enum fdl_curl_option { FDL_CURL_OPTIONS(FDL_CURL_OPTION) };
enum fdl_curl_multi_option { FDL_CURL_MULTI_OPTIONS(FDL_CURL_MULTI) };
enum fdl_curl_info { FDL_CURL_INFOS(FDL_CURL_INFO) };

/* clang-format off */
/* X(member, function of libcurl, what it returns, its parameters) */
#define FDL_CURL_FUNCTIONS(X)                                                 \
    X(GlobalInit, curl_global_init, int, (long flags))                        \
    X(EasyInit, curl_easy_init, void *, (void))                               \
    X(EasyReset, curl_easy_reset, void, (void *easy))                         \
    X(EasyCleanup, curl_easy_cleanup, void, (void *easy))                     \
    X(EasyPerform, curl_easy_perform, int, (void *easy))                      \
    X(EasySet, curl_easy_setopt, int, (void *easy, int option, ...))          \
    X(EasyGet, curl_easy_getinfo, int, (void *easy, int info, ...))           \
    X(EasyWords, curl_easy_strerror, const char *, (int code))                \
    X(Pause, curl_easy_pause, int, (void *easy, int what))                    \
    X(ListAdd, curl_slist_append, struct fdl_curl_list *,                     \
      (struct fdl_curl_list *list, const char *text))                         \
    X(ListFree, curl_slist_free_all, void, (struct fdl_curl_list *list))      \
    X(MultiInit, curl_multi_init, void *, (void))                             \
    X(MultiCleanup, curl_multi_cleanup, int, (void *multi))                   \
    X(MultiSet, curl_multi_setopt, int, (void *multi, int option, ...))       \
    X(MultiAdd, curl_multi_add_handle, int, (void *multi, void *easy))        \
    X(MultiRemove, curl_multi_remove_handle, int, (void *multi, void *easy))  \
    X(MultiPerform, curl_multi_perform, int, (void *multi, int *running))     \
    X(MultiInfo, curl_multi_info_read, struct fdl_curl_message *,             \
      (void *multi, int *left))                                               \
    X(MultiPoll, curl_multi_poll, int,                                        \
      (void *multi, void *more, unsigned n, int timeout_ms, int *ready))      \
    X(MultiWakeup, curl_multi_wakeup, int, (void *multi))
/* clang-format on */

struct fdl_curl {
#define FDL_CURL_MEMBER(member, function, returns, parameters)                 \
  returns(*member) parameters;
    FDL_CURL_FUNCTIONS(FDL_CURL_MEMBER)
#undef FDL_CURL_MEMBER
};

/* Loads it, once. ENOSYS: there is none, with what to install. Any thread. */
int32_t fdl_curl_load(const struct fdl_curl **out);

#endif
