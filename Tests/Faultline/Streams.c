/* Calls on descriptors that may be files, pipes or connections, and calls that make them. */
#define _GNU_SOURCE
#include "Strike.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <spawn.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

enum stream { UNWATCHED, REGULAR, LOCAL, REMOTE };

/* Returns whether an address is that of a PostgreSQL server. Its sessions are connections like those
   of a network, though the server may be on this machine. */
static int is_database(const struct sockaddr *address, socklen_t size) {
    return size > sizeof address->sa_family && address->sa_family == AF_UNIX
        && strstr(((const struct sockaddr_un *)address)->sun_path, "/.s.PGSQL.");
}

/* Returns whether a descriptor is a session with such a server. */
static int is_session(int descriptor) {
    struct sockaddr_un peer = {0};
    socklen_t size = sizeof peer - 1;
    return getpeername(descriptor, (struct sockaddr *)&peer, &size) == 0
        && is_database((struct sockaddr *)&peer, size);
}

/* Ends a session that a rule has reset, and returns `code`. libpq counts on that: after a failed
   send it waits for what the server may have said before, until the end of the connection. */
static ssize_t reset(int descriptor, ssize_t code) {
    int error = errno;
    if (code < 0 && error == ECONNRESET && is_session(descriptor)) shutdown(descriptor, SHUT_RDWR);
    errno = error;
    return code;
}

/* Returns what a descriptor is for the rules. */
static enum stream kind_of(int descriptor) {
    if (!faultline_is_on()) return UNWATCHED;
    int error = errno, domain = 0, type = 0;
    socklen_t size = sizeof domain;
    struct stat status;
    enum stream kind = UNWATCHED;
    if (fstat(descriptor, &status) < 0) {
        kind = UNWATCHED;
    } else if (S_ISREG(status.st_mode)) {
        kind = faultline_watches_file(descriptor) ? REGULAR : UNWATCHED;
    } else if (S_ISFIFO(status.st_mode)) {
        kind = LOCAL;
    } else if (
        S_ISSOCK(status.st_mode)
        && getsockopt(descriptor, SOL_SOCKET, SO_DOMAIN, &domain, &size) == 0
        && getsockopt(descriptor, SOL_SOCKET, SO_TYPE, &type, &size) == 0) {
        if (domain == AF_UNIX) {
            kind = is_session(descriptor) ? REMOTE : LOCAL;
        }
        if ((domain == AF_INET || domain == AF_INET6) && type == SOCK_STREAM) kind = REMOTE;
    }
    errno = error;
    return kind;
}

/* Returns the point of bytes that go out or come in, or FAULTLINE_POINTS for none. Bytes that come
   from this machine have none, because their sender has passed a point already. */
static enum faultline_point point_of(int descriptor, int is_out) {
    switch (kind_of(descriptor)) {
    case REGULAR: return is_out ? FAULTLINE_WRITE : FAULTLINE_READ;
    case LOCAL: return is_out ? FAULTLINE_TELL : FAULTLINE_POINTS;
    case REMOTE: return is_out ? FAULTLINE_SEND : FAULTLINE_RECEIVE;
    case UNWATCHED: break;
    }
    return FAULTLINE_POINTS;
}

#define PASS(descriptor, is_out, size, call)                                                       \
    enum faultline_point point = point_of(descriptor, is_out);                                     \
    if (point == FAULTLINE_POINTS) return call;                                                    \
    struct passing passing;                                                                        \
    if (faultline_begin(&passing, point, size)) return reset(descriptor, -1);                      \
    return reset(descriptor, faultline_end(&passing, call))

ssize_t write(int descriptor, const void *bytes, size_t size) {
    NEXT(write);
    PASS(descriptor, 1, &size, next(descriptor, bytes, size));
}

ssize_t read(int descriptor, void *bytes, size_t size) {
    NEXT(read);
    PASS(descriptor, 0, &size, next(descriptor, bytes, size));
}

ssize_t send(int descriptor, const void *bytes, size_t size, int flags) {
    NEXT(send);
    PASS(descriptor, 1, &size, next(descriptor, bytes, size, flags));
}

ssize_t sendmsg(int descriptor, const struct msghdr *message, int flags) {
    NEXT(sendmsg);
    PASS(descriptor, 1, NULL, next(descriptor, message, flags));
}

ssize_t recv(int descriptor, void *bytes, size_t size, int flags) {
    NEXT(recv);
    PASS(descriptor, 0, &size, next(descriptor, bytes, size, flags));
}

ssize_t recvmsg(int descriptor, struct msghdr *message, int flags) {
    NEXT(recvmsg);
    PASS(descriptor, 0, NULL, next(descriptor, message, flags));
}

int connect(int descriptor, const struct sockaddr *address, socklen_t size) {
    NEXT(connect);
    if (kind_of(descriptor) != REMOTE
        && !(faultline_is_on() && is_database(address, size))) {
        return next(descriptor, address, size);
    }
    struct passing passing;
    if (faultline_begin(&passing, FAULTLINE_CONNECT, NULL)) return -1;
    return faultline_end(&passing, next(descriptor, address, size));
}

/* Returns EAI_AGAIN as it is, and EAI_SYSTEM for an errno. */
static int resolved(const struct passing *passing, int code) {
    if (!passing->error) return code;
    return passing->error < 0 ? passing->error : EAI_SYSTEM;
}

int getaddrinfo(
    const char *name, const char *service, const struct addrinfo *hints, struct addrinfo **result) {
    NEXT(getaddrinfo);
    if (!faultline_is_on()) return next(name, service, hints, result);
    struct passing passing;
    if (faultline_begin(&passing, FAULTLINE_RESOLVE, NULL)) return resolved(&passing, 0);
    int code = next(name, service, hints, result);
    faultline_end(&passing, code);
    if (passing.error && code == 0) freeaddrinfo(*result);
    return resolved(&passing, code);
}

/* `posix_spawn` returns its error number. A failure after the call would leave a child without an
   owner, so it is ignored. */
int posix_spawn(
    pid_t *process, const char *path, const posix_spawn_file_actions_t *actions,
    const posix_spawnattr_t *attributes, char *const arguments[], char *const environment[]) {
    NEXT(posix_spawn);
    if (!faultline_is_on()) {
        return next(process, path, actions, attributes, arguments, environment);
    }
    struct passing passing;
    if (faultline_begin(&passing, FAULTLINE_SPAWN, NULL)) return passing.error;
    int code = next(process, path, actions, attributes, arguments, environment);
    faultline_end(&passing, code);
    return code;
}
