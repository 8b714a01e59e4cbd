#ifndef CCURL_SHIM_H
#define CCURL_SHIM_H

#include <curl/curl.h>

/* curl_easy_setopt and curl_easy_getinfo are variadic, which Swift does not import: one wrapper for
   each type that is set or read. */

static inline CURLcode ccurl_set_long(CURL *easy, CURLoption option, long value) {
    return curl_easy_setopt(easy, option, value);
}

static inline CURLcode ccurl_set_size(CURL *easy, CURLoption option, curl_off_t value) {
    return curl_easy_setopt(easy, option, value);
}

/* libcurl copies the text of every option but CURLOPT_POSTFIELDS. */
static inline CURLcode ccurl_set_text(CURL *easy, CURLoption option, const char *value) {
    return curl_easy_setopt(easy, option, value);
}

/* For what libcurl keeps only the address of: user data, and the bytes of CURLOPT_POSTFIELDS. */
static inline CURLcode ccurl_set_address(CURL *easy, CURLoption option, const void *value) {
    return curl_easy_setopt(easy, option, (void *)value);
}

static inline CURLcode ccurl_set_headers(CURL *easy, struct curl_slist *headers) {
    return curl_easy_setopt(easy, CURLOPT_HTTPHEADER, headers);
}

/* CURLOPT_WRITEFUNCTION and CURLOPT_HEADERFUNCTION. */
static inline CURLcode ccurl_set_receiver(CURL *easy, CURLoption option, curl_write_callback call) {
    return curl_easy_setopt(easy, option, call);
}

/* CURLOPT_READFUNCTION. */
static inline CURLcode ccurl_set_reader(CURL *easy, curl_read_callback call) {
    return curl_easy_setopt(easy, CURLOPT_READFUNCTION, call);
}

/* CURLOPT_SEEKFUNCTION. */
static inline CURLcode ccurl_set_seeker(CURL *easy, curl_seek_callback call) {
    return curl_easy_setopt(easy, CURLOPT_SEEKFUNCTION, call);
}

/* CURLOPT_OPENSOCKETFUNCTION. */
static inline CURLcode ccurl_set_opener(CURL *easy, curl_opensocket_callback call) {
    return curl_easy_setopt(easy, CURLOPT_OPENSOCKETFUNCTION, call);
}

/* Lets go of a name that is still being resolved in place of waiting for it; since 7.87. */
static inline CURLcode ccurl_set_quick_exit(CURL *easy) {
#if LIBCURL_VERSION_NUM >= 0x075700
    return curl_easy_setopt(easy, CURLOPT_QUICK_EXIT, 1L);
#else
    (void)easy;
    return CURLE_OK;
#endif
}

static inline CURLMcode ccurl_multi_set_long(CURLM *multi, CURLMoption option, long value) {
    return curl_multi_setopt(multi, option, value);
}

static inline CURLcode ccurl_get_long(CURL *easy, CURLINFO info, long *value) {
    return curl_easy_getinfo(easy, info, value);
}

static inline CURLcode ccurl_get_size(CURL *easy, CURLINFO info, curl_off_t *value) {
    return curl_easy_getinfo(easy, info, value);
}

static inline CURLcode ccurl_get_socket(CURL *easy, CURLINFO info, curl_socket_t *value) {
    return curl_easy_getinfo(easy, info, value);
}

/* The flags of CURL_GLOBAL_DEFAULT are shifts, which Swift does not import. */
static inline CURLcode ccurl_global_init(void) {
    return curl_global_init(CURL_GLOBAL_DEFAULT);
}

#endif
