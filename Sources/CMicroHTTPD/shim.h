#ifndef CMICROHTTPD_SHIM_H
#define CMICROHTTPD_SHIM_H

#include <arpa/inet.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <microhttpd.h>
#include <sys/socket.h>
#include <unistd.h>

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

/* The client's IPv4 address in host byte order; 0 when there is none. */
static inline uint32_t cmicrohttpd_peer_host(struct MHD_Connection *connection) {
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CLIENT_ADDRESS);
    if (info == NULL || info->client_addr->sa_family != AF_INET) return 0;
    return ntohl(((const struct sockaddr_in *)info->client_addr)->sin_addr.s_addr);
}

/* The user who made the other end of a TCP connection of IPv4, if that is a socket of this machine;
   -1 if nobody says so. Asks the kernel for that one socket, as sock_diag(7) describes it. */
static inline long cmicrohttpd_peer_user(struct MHD_Connection *connection) {
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
    struct sockaddr_in own, peer;
    socklen_t size = sizeof own;
    if (info == NULL || getsockname(info->connect_fd, (struct sockaddr *)&own, &size) != 0
        || own.sin_family != AF_INET)
        return -1;
    size = sizeof peer;
    if (getpeername(info->connect_fd, (struct sockaddr *)&peer, &size) != 0) return -1;
    struct {
        struct nlmsghdr head;
        struct inet_diag_req_v2 body;
    } request = {
        .head = {
            .nlmsg_len = sizeof request, .nlmsg_type = SOCK_DIAG_BY_FAMILY,
            .nlmsg_flags = NLM_F_REQUEST,
        },
        .body = {
            .sdiag_family = AF_INET, .sdiag_protocol = IPPROTO_TCP, .idiag_states = ~0U,
            .id = {
                .idiag_sport = peer.sin_port, .idiag_src = {peer.sin_addr.s_addr},
                .idiag_dport = own.sin_port, .idiag_dst = {own.sin_addr.s_addr},
                .idiag_cookie = {INET_DIAG_NOCOOKIE, INET_DIAG_NOCOOKIE},
            },
        },
    };
    union {
        struct nlmsghdr head;
        char bytes[1024];
    } answer;
    int kernel = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);
    if (kernel < 0) return -1;
    /* The kernel answers before send(2) returns. */
    ssize_t count = send(kernel, &request, sizeof request, 0) < 0
        ? -1 : recv(kernel, &answer, sizeof answer, MSG_DONTWAIT);
    close(kernel);
    if (count < (ssize_t)(NLMSG_HDRLEN + sizeof(struct inet_diag_msg))
        || answer.head.nlmsg_type != SOCK_DIAG_BY_FAMILY)
        return -1;
    return ((const struct inet_diag_msg *)NLMSG_DATA(&answer.head))->idiag_uid;
}

static const ssize_t cmicrohttpd_end_with_error = MHD_CONTENT_READER_END_WITH_ERROR;
static const ssize_t cmicrohttpd_end_of_stream = MHD_CONTENT_READER_END_OF_STREAM;
static const uint64_t cmicrohttpd_size_unknown = MHD_SIZE_UNKNOWN;

#endif
