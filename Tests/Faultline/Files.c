/* Calls on files. Results of type `ssize_t` and `int` pass through `long`, which holds both. */
#define _GNU_SOURCE
#include "Strike.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Returns whether an absolute path is below FAULTLINE_FOLDER, or that variable is not set. */
static int is_below(const char *path) {
    const char *folder = getenv("FAULTLINE_FOLDER");
    if (!folder || !*folder) return 1;
    size_t length = strlen(folder);
    return strncmp(path, folder, length) == 0 && (path[length] == '/' || path[length] == 0);
}

/* Writes the path of an open file to `path`; returns whether it has one. */
static int name_of(int file, char path[PATH_MAX]) {
    char link[64];
    snprintf(link, sizeof link, "/proc/self/fd/%d", file);
    long size = syscall(SYS_readlinkat, AT_FDCWD, link, path, PATH_MAX - 1);
    if (size < 0) return 0;
    path[size] = 0;
    return 1;
}

int faultline_watches_path(int folder, const char *path) {
    if (!faultline_is_on()) return 0;
    if (path[0] == '/') return is_below(path);
    char base[PATH_MAX];
    int error = errno, is_known;
    if (folder == AT_FDCWD)
        is_known = syscall(SYS_getcwd, base, sizeof base) > 0;
    else
        is_known = name_of(folder, base);
    errno = error;
    return is_known && is_below(base);
}

int faultline_watches_file(int file) {
    if (!faultline_is_on()) return 0;
    struct stat status;
    char path[PATH_MAX];
    int error = errno;
    int is_watched =
        fstat(file, &status) == 0 && S_ISREG(status.st_mode) && name_of(file, path) && is_below(path);
    errno = error;
    return is_watched;
}

/* Ends a wrapper: makes the call unless a rule forbids it. */
#define PASS(point, size, call)                                                                    \
    struct passing passing;                                                                        \
    if (faultline_begin(&passing, point, size)) return -1;                                         \
    return faultline_end(&passing, call)

ssize_t pwrite64(int file, const void *bytes, size_t size, off64_t offset) {
    NEXT(pwrite64);
    if (!faultline_watches_file(file)) return next(file, bytes, size, offset);
    PASS(FAULTLINE_WRITE, &size, next(file, bytes, size, offset));
}

ssize_t pwrite(int file, const void *bytes, size_t size, off_t offset) {
    return pwrite64(file, bytes, size, offset);
}

ssize_t pread64(int file, void *bytes, size_t size, off64_t offset) {
    NEXT(pread64);
    if (!faultline_watches_file(file)) return next(file, bytes, size, offset);
    PASS(FAULTLINE_READ, &size, next(file, bytes, size, offset));
}

ssize_t pread(int file, void *bytes, size_t size, off_t offset) {
    return pread64(file, bytes, size, offset);
}

int ftruncate64(int file, off64_t size) {
    NEXT(ftruncate64);
    if (!faultline_watches_file(file)) return next(file, size);
    PASS(FAULTLINE_WRITE, NULL, next(file, size));
}

int ftruncate(int file, off_t size) {
    return ftruncate64(file, size);
}

/* `posix_fallocate` returns its error number and does not set errno. */
int posix_fallocate64(int file, off64_t offset, off64_t size) {
    NEXT(posix_fallocate64);
    if (!faultline_watches_file(file)) return next(file, offset, size);
    struct passing passing;
    if (faultline_begin(&passing, FAULTLINE_WRITE, NULL)) return errno;
    int code = next(file, offset, size);
    return faultline_end(&passing, code) < 0 ? errno : code;
}

int posix_fallocate(int file, off_t offset, off_t size) {
    return posix_fallocate64(file, offset, size);
}

int fsync(int file) {
    NEXT(fsync);
    if (!faultline_watches_file(file)) return next(file);
    PASS(FAULTLINE_SYNC, NULL, next(file));
}

int fdatasync(int file) {
    NEXT(fdatasync);
    if (!faultline_watches_file(file)) return next(file);
    PASS(FAULTLINE_SYNC, NULL, next(file));
}

/* Ends an open. If a rule makes it fail, closes the file, because the caller gets no descriptor. */
static int opened(struct passing *passing, int file) {
    int result = faultline_end(passing, file);
    if (result < 0 && file >= 0) {
        int error = errno;
        syscall(SYS_close, file);
        errno = error;
    }
    return result;
}

static int open_at(
    int (*next)(int, const char *, int, ...), int folder, const char *path, int flags, mode_t mode) {
    if (!faultline_watches_path(folder, path)) return next(folder, path, flags, mode);
    struct passing passing;
    if (faultline_begin(&passing, FAULTLINE_OPEN, NULL)) return -1;
    return opened(&passing, next(folder, path, flags, mode));
}

/* Reads the mode, which is passed only if the call may create a file. */
#define MODE(mode, flags)                                                                          \
    mode_t mode = 0;                                                                               \
    if (flags & (O_CREAT | __O_TMPFILE)) {                                                         \
        va_list rest;                                                                              \
        va_start(rest, flags);                                                                     \
        mode = va_arg(rest, mode_t);                                                               \
        va_end(rest);                                                                              \
    }

int open64(const char *path, int flags, ...) {
    NEXT(openat64);
    MODE(mode, flags);
    return open_at(next, AT_FDCWD, path, flags, mode);
}

int open(const char *path, int flags, ...) {
    NEXT(openat);
    MODE(mode, flags);
    return open_at(next, AT_FDCWD, path, flags, mode);
}

int openat64(int folder, const char *path, int flags, ...) {
    NEXT(openat64);
    MODE(mode, flags);
    return open_at(next, folder, path, flags, mode);
}

int openat(int folder, const char *path, int flags, ...) {
    NEXT(openat);
    MODE(mode, flags);
    return open_at(next, folder, path, flags, mode);
}

int unlink(const char *path) {
    NEXT(unlink);
    if (!faultline_watches_path(AT_FDCWD, path)) return next(path);
    PASS(FAULTLINE_UNLINK, NULL, next(path));
}

int unlinkat(int folder, const char *path, int flags) {
    NEXT(unlinkat);
    if (!faultline_watches_path(folder, path)) return next(folder, path, flags);
    PASS(FAULTLINE_UNLINK, NULL, next(folder, path, flags));
}

int rename(const char *from, const char *to) {
    NEXT(rename);
    if (!faultline_watches_path(AT_FDCWD, to)) return next(from, to);
    PASS(FAULTLINE_RENAME, NULL, next(from, to));
}

int renameat(int from_folder, const char *from, int to_folder, const char *to) {
    NEXT(renameat);
    if (!faultline_watches_path(to_folder, to)) return next(from_folder, from, to_folder, to);
    PASS(FAULTLINE_RENAME, NULL, next(from_folder, from, to_folder, to));
}

int link(const char *from, const char *to) {
    NEXT(link);
    if (!faultline_watches_path(AT_FDCWD, to)) return next(from, to);
    PASS(FAULTLINE_RENAME, NULL, next(from, to));
}
