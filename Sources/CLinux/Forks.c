#define _GNU_SOURCE
#include "CLinux.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/single_threaded.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

/* The descriptors of a fork begin with this number. */
#define FIRST 3

int clinux_fork_sockets(int ends[2], int milliseconds) {
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0) return -1;
    struct timeval patience = {milliseconds / 1000, milliseconds % 1000 * 1000};
    if (setsockopt(ends[0], SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience) == 0 &&
        setsockopt(ends[0], SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience) == 0)
        return 0;
    int error = errno;
    close(ends[0]);
    close(ends[1]);
    errno = error;
    return -1;
}

int clinux_fork_answer(int socket) {
    int answer;
    ssize_t size;
    do size = recv(socket, &answer, sizeof answer, 0);
    while (size < 0 && errno == EINTR);
    if (size == sizeof answer) return answer;
    if (size >= 0) errno = ECONNRESET;
    return -1;
}

union control {
    struct cmsghdr header;
    char bytes[CMSG_SPACE(CLINUX_FORK_DESCRIPTORS * sizeof(int))];
};

int clinux_fork_ask(int socket, const void *variables, unsigned long size, const int *descriptors,
                    int count) {
    if (size == 0 || size > CLINUX_FORK_ROOM || count < 1 || count > CLINUX_FORK_DESCRIPTORS) {
        errno = EMSGSIZE;
        return 0;
    }
    union control control = {.bytes = {0}};
    struct iovec part = {(void *)variables, size};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1, .msg_control = control.bytes,
                             .msg_controllen = CMSG_SPACE(count * sizeof(int))};
    struct cmsghdr *header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(count * sizeof(int));
    memcpy(CMSG_DATA(header), descriptors, count * sizeof(int));
    ssize_t sent;
    do sent = sendmsg(socket, &message, MSG_NOSIGNAL);
    while (sent < 0 && errno == EINTR);
    /* A message of such a socket goes as a whole or not at all. */
    if (sent < 0) return 0;
    int answer = clinux_fork_answer(socket);
    if (answer < -1) {
        errno = -answer;
        return 0;
    }
    return answer;
}

/* Takes the descriptors of a message, of which the kernel delivers no more than there is room for. */
static int descriptors_of(struct msghdr *message, int *descriptors) {
    struct cmsghdr *header = CMSG_FIRSTHDR(message);
    if (header == NULL || header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS)
        return 0;
    int count = (int)((header->cmsg_len - CMSG_LEN(0)) / sizeof(int));
    memcpy(descriptors, CMSG_DATA(header), count * sizeof(int));
    return count;
}

/* A fork whose parent is this process's own. With what fork(3) sets in the new process, but without
   its handlers: there is one thread, which holds no lock. Outside the C library the fork's first thread
   may be known by this thread's number (libdispatch, Swift's Mutex): it must only wait. */
static int fork_beside(int *thread_id) {
    unsigned long flags = CLONE_PARENT | CLONE_CHILD_SETTID | CLONE_CHILD_CLEARTID | SIGCHLD;
#if defined(__x86_64__)
    return (int)syscall(SYS_clone, flags, 0, 0, thread_id, 0);
#else
    return (int)syscall(SYS_clone, flags, 0, 0, 0, thread_id);
#endif
}

/* If nobody is there to hear it, the next message does not come either. */
static void answer(int socket, int number) {
    while (send(socket, &number, sizeof number, MSG_NOSIGNAL) < 0 && errno == EINTR) {
    }
}

/* Gives this process its descriptors, and no other. */
static int take_over(const int *descriptors, int count) {
    int copies[CLINUX_FORK_DESCRIPTORS];
    for (int index = 0; index < count; index++) {
        copies[index] = fcntl(descriptors[index], F_DUPFD, FIRST + CLINUX_FORK_DESCRIPTORS);
        if (copies[index] < 0) return -1;
    }
    for (int index = 0; index < count; index++)
        if (dup2(copies[index], FIRST + index) < 0) return -1;
    return close_range(FIRST + count, ~0U, 0);
}

int clinux_fork_serve(int socket) {
    /* Static, so that the variables of a fork stay where they are. */
    static char block[CLINUX_FORK_ROOM + 1];
    static char *variables[CLINUX_FORK_VARIABLES + 1];
    int *thread_id = NULL;
    void *robust_list = NULL;
    size_t robust_size = 0;
    if (prctl(PR_GET_TID_ADDRESS, &thread_id, 0, 0, 0) < 0 || thread_id == NULL ||
        syscall(SYS_get_robust_list, 0, &robust_list, &robust_size) < 0)
        return -1;
    /* A fork that could not close descriptors would fail where a started program does not. */
    if (close_range(~0U, ~0U, 0) < 0) return -1;
    if (!__libc_single_threaded) {
        errno = EBUSY;
        return -1;
    }
    answer(socket, 0);
    for (;;) {
        union control control;
        struct iovec part = {block, CLINUX_FORK_ROOM};
        struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1, .msg_control = control.bytes,
                                 .msg_controllen = sizeof control.bytes};
        ssize_t size;
        do size = recvmsg(socket, &message, MSG_CMSG_CLOEXEC);
        while (size < 0 && errno == EINTR);
        if (size < 0) return -1;
        if (size == 0) break;
        int descriptors[CLINUX_FORK_DESCRIPTORS];
        int count = descriptors_of(&message, descriptors);
        int forked = -1;
        if (count > 0 && !(message.msg_flags & (MSG_TRUNC | MSG_CTRUNC)))
            forked = fork_beside(thread_id);
        else
            errno = EBADMSG;
        if (forked == 0) {
            /* Its own answer: if this process ends now, nobody else could name the fork. */
            answer(socket, getpid());
            syscall(SYS_set_robust_list, robust_list, robust_size);
            setpgid(0, 0);
            if (take_over(descriptors, count) < 0) _exit(71);
            int number = 0;
            for (char *at = block; at < block + size && number < CLINUX_FORK_VARIABLES; number++) {
                variables[number] = at;
                at += strlen(at) + 1;
            }
            variables[number] = NULL;
            environ = variables;
            return 0;
        }
        /* -1 is what the other end makes of an answer that does not come. */
        if (forked < 0) answer(socket, errno == EPERM ? -EACCES : -errno);
        for (int index = 0; index < count; index++) close(descriptors[index]);
        /* They may have a key, which the next fork must not find. */
        explicit_bzero(block, size);
    }
    _exit(0);
}
