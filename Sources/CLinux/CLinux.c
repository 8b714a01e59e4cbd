#define _GNU_SOURCE
#include "CLinux.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <unistd.h>

int clinux_pidfd_open(int pid) {
    return (int)syscall(SYS_pidfd_open, pid, 0);
}

int clinux_open_cached(const char *path) {
    struct open_how how = {.flags = O_PATH | O_CLOEXEC, .resolve = RESOLVE_CACHED};
    int file = (int)syscall(SYS_openat2, AT_FDCWD, path, &how, sizeof how);
    if (file < 0) return -1;
    /* Of the attributes only the device is read, which no server has to be asked for. Network file
       systems, and others without a disk of their own, have devices with the major number 0. */
    struct statx status;
    int flags = AT_EMPTY_PATH | AT_STATX_DONT_SYNC;
    if (statx(file, "", flags, 0, &status) == 0 && status.stx_dev_major != 0) return file;
    close(file);
    errno = EAGAIN;
    return -1;
}

int clinux_is_read_only_mount(const char *path) {
    struct statx status;
    struct statvfs volume;
    return statx(AT_FDCWD, path, AT_SYMLINK_NOFOLLOW, 0, &status) == 0 &&
           (status.stx_attributes & STATX_ATTR_MOUNT_ROOT) != 0 && statvfs(path, &volume) == 0 &&
           (volume.f_flag & ST_RDONLY) != 0;
}

int clinux_pipe(int ends[2]) {
    return pipe2(ends, O_CLOEXEC);
}

int clinux_eventfd(void) {
    return eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
}

int clinux_exchange(const char *one, const char *other) {
    return renameat2(AT_FDCWD, one, AT_FDCWD, other, RENAME_EXCHANGE);
}

int clinux_rename_to_new(const char *path, const char *name) {
    return renameat2(AT_FDCWD, path, AT_FDCWD, name, RENAME_NOREPLACE);
}

int clinux_spawn_close_from(posix_spawn_file_actions_t *actions, int first) {
    return posix_spawn_file_actions_addclosefrom_np(actions, first);
}

int clinux_spawn_change_folder(posix_spawn_file_actions_t *actions, const char *path) {
    return posix_spawn_file_actions_addchdir_np(actions, path);
}

/* Lowers both limits, for raising the hard one takes a privilege. */
static int lower_limit(int pid, __rlimit_resource_t resource, rlim_t wanted) {
    struct rlimit limit;
    if (prlimit(pid, resource, NULL, &limit) < 0) return -1;
    if (limit.rlim_max > wanted) limit.rlim_max = wanted;
    limit.rlim_cur = limit.rlim_max;
    return prlimit(pid, resource, &limit, NULL);
}

int clinux_forbid_core_dump(int pid) {
    /* 1 and not 0: both are too little for a file, but a core_pattern that is a pipe to a program
       heeds only the 1 (fs/coredump.c). */
    return lower_limit(pid, RLIMIT_CORE, 1);
}

/* A program that a sanitizer watches maps terabytes of shadow memory, and does not start where a
   limit refuses them. */
#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define HAS_SHADOW 1
#endif
#endif

int clinux_limit_data(int pid, unsigned long long bytes) {
#ifdef HAS_SHADOW
    (void)pid;
    (void)bytes;
    return 0;
#else
    return lower_limit(pid, RLIMIT_DATA, bytes);
#endif
}

int clinux_keep_child_status(void) {
    struct sigaction action;
    if (sigaction(SIGCHLD, NULL, &action) < 0) return -1;
    int vanish = !(action.sa_flags & SA_SIGINFO) && action.sa_handler == SIG_IGN;
    if (!vanish && !(action.sa_flags & SA_NOCLDWAIT)) return 0;
    if (vanish) action.sa_handler = SIG_DFL;
    action.sa_flags &= ~SA_NOCLDWAIT;
    return sigaction(SIGCHLD, &action, NULL);
}

int clinux_watch_wall_clock(void) {
    int timer = timerfd_create(CLOCK_REALTIME, TFD_CLOEXEC | TFD_NONBLOCK);
    if (timer < 0) return -1;
    /* The end of time: as late as the kernel counts. */
    struct itimerspec never = {.it_value = {.tv_sec = INT64_MAX}};
    int flags = TFD_TIMER_ABSTIME | TFD_TIMER_CANCEL_ON_SET;
    /* A step at this very moment is told, and the timer set all the same. */
    if (timerfd_settime(timer, flags, &never, NULL) < 0 && errno != ECANCELED) {
        int error = errno;
        close(timer);
        errno = error;
        return -1;
    }
    return timer;
}
