#define _GNU_SOURCE
#include "CLinux.h"

#include <errno.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <sched.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

static int give_up(int descriptor) {
    int error = errno;
    close(descriptor);
    errno = error;
    return -1;
}

static int listen_to(int protocol, unsigned groups) {
    int descriptor = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, protocol);
    if (descriptor < 0) return -1;
    struct sockaddr_nl address = {.nl_family = AF_NETLINK, .nl_groups = groups};
    if (bind(descriptor, (struct sockaddr *)&address, sizeof address) < 0) {
        return give_up(descriptor);
    }
    return descriptor;
}

/* The bit of a group in an address. */
#define GROUP(number) (1u << ((number) - 1))

int clinux_listen_routes(void) {
    return listen_to(
        NETLINK_ROUTE,
        GROUP(RTNLGRP_LINK) | GROUP(RTNLGRP_IPV4_IFADDR) | GROUP(RTNLGRP_IPV4_ROUTE) |
            GROUP(RTNLGRP_IPV6_ROUTE) | GROUP(RTNLGRP_IPV4_RULE) | GROUP(RTNLGRP_IPV6_RULE) |
            GROUP(RTNLGRP_NEXTHOP));
}

int clinux_listen_devices(void) {
    /* Group 1 is the kernel's own events, group 2 would be those that udev passes on. */
    return listen_to(NETLINK_KOBJECT_UEVENT, GROUP(1));
}

int clinux_ask_routes(int milliseconds) {
    int descriptor = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);
    if (descriptor < 0) return -1;
    struct timeval longest = {
        .tv_sec = milliseconds / 1000, .tv_usec = milliseconds % 1000 * 1000};
    if (setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &longest, sizeof longest) < 0) {
        return give_up(descriptor);
    }
    return descriptor;
}

int clinux_request_dump(int descriptor, int type, unsigned sequence) {
    struct {
        struct nlmsghdr header;
        union {
            struct ifinfomsg link;
            struct rtmsg route;
        } about;
    } request = {
        .header = {
            .nlmsg_len = NLMSG_LENGTH(
                type == RTM_GETLINK ? sizeof(struct ifinfomsg) : sizeof(struct rtmsg)),
            .nlmsg_type = type,
            .nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP,
            .nlmsg_seq = sequence,
        },
    };
    struct sockaddr_nl kernel = {.nl_family = AF_NETLINK};
    ssize_t sent = sendto(
        descriptor, &request, request.header.nlmsg_len, 0, (struct sockaddr *)&kernel,
        sizeof kernel);
    return sent < 0 ? -1 : 0;
}

long clinux_receive(int descriptor, void *buffer, unsigned long size, unsigned *sender) {
    struct sockaddr_nl from = {0};
    struct iovec place = {.iov_base = buffer, .iov_len = size};
    struct msghdr message = {
        .msg_name = &from, .msg_namelen = sizeof from, .msg_iov = &place, .msg_iovlen = 1};
    ssize_t count = recvmsg(descriptor, &message, 0);
    if (count < 0) return -1;
    *sender = from.nl_family == AF_NETLINK ? from.nl_pid : 0;
    if (message.msg_flags & MSG_TRUNC) {
        errno = EMSGSIZE;
        return -1;
    }
    return count;
}

int clinux_enter_network(int descriptor) {
    return setns(descriptor, CLONE_NEWNET);
}
