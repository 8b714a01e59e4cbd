#ifndef CMICROHTTPD_SHIM_H
#define CMICROHTTPD_SHIM_H

#include <arpa/inet.h>
#include <microhttpd.h>

/* Variadic functions and cast macros are not imported into Swift. */

/* One thread that polls `listener` and every connection, and calls the callbacks; it owns
   `listener` from then on. It serves up to `connections` at the same time, and closes one that is
   silent for `patience` seconds, 0 for never. `look`, if any, sees the address of each request as it
   was sent, before its headers; what it returns is the first state of the request. With
   `certificate` and `key`, which are texts in PEM that it copies, it speaks TLS only, 1.2 or newer.
   NULL on failure. */
static inline struct MHD_Daemon *cmicrohttpd_start(
    int listener, MHD_AccessHandlerCallback handler, MHD_RequestCompletedCallback completed,
    MHD_NotifyConnectionCallback connected,
    void *(*look)(void *context, const char *address, struct MHD_Connection *connection),
    void *context, unsigned int connections,
    unsigned int patience, const char *certificate, const char *key
) {
    return MHD_start_daemon(
        MHD_USE_AUTO | MHD_USE_INTERNAL_POLLING_THREAD | MHD_ALLOW_SUSPEND_RESUME
            | (certificate == NULL ? 0 : MHD_USE_TLS),
        0, NULL, NULL, handler, context,
        MHD_OPTION_LISTEN_SOCKET, listener,
        MHD_OPTION_NOTIFY_COMPLETED, completed, context,
        MHD_OPTION_NOTIFY_CONNECTION, connected, context,
        MHD_OPTION_URI_LOG_CALLBACK, look, context,
        MHD_OPTION_CONNECTION_LIMIT, connections,
        MHD_OPTION_CONNECTION_TIMEOUT, patience,
        certificate == NULL ? MHD_OPTION_END : MHD_OPTION_HTTPS_MEM_CERT, certificate,
        MHD_OPTION_HTTPS_MEM_KEY, key,
        MHD_OPTION_HTTPS_PRIORITIES, "NORMAL:-VERS-ALL:+VERS-TLS1.3:+VERS-TLS1.2",
        MHD_OPTION_END);
}

/* The descriptor of the connection's socket; -1 when there is none. */
static inline int cmicrohttpd_socket(struct MHD_Connection *connection) {
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
    return info == NULL ? -1 : info->connect_fd;
}

/* The number that `connected` gave the connection in place of a pointer. */
static inline long cmicrohttpd_number(struct MHD_Connection *connection) {
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
    return info == NULL ? 0 : (long)info->socket_context;
}

/* The client's port; 0 when there is none. */
static inline int cmicrohttpd_peer_port(struct MHD_Connection *connection) {
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CLIENT_ADDRESS);
    if (info == NULL || info->client_addr->sa_family != AF_INET) return 0;
    return ntohs(((const struct sockaddr_in *)info->client_addr)->sin_port);
}

static const ssize_t cmicrohttpd_end_with_error = MHD_CONTENT_READER_END_WITH_ERROR;
static const ssize_t cmicrohttpd_end_of_stream = MHD_CONTENT_READER_END_OF_STREAM;
static const uint64_t cmicrohttpd_size_unknown = MHD_SIZE_UNKNOWN;

#endif
