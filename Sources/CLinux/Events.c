#define _GNU_SOURCE
#include "CLinux.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>

int clinux_poll(void) {
    return epoll_create1(EPOLL_CLOEXEC);
}

int clinux_poll_add(int poll, int descriptor, int urgent) {
    struct epoll_event event = {.events = EPOLLET, .data.fd = descriptor};
    event.events |= urgent ? EPOLLPRI : EPOLLIN;
    return epoll_ctl(poll, EPOLL_CTL_ADD, descriptor, &event);
}

int clinux_poll_remove(int poll, int descriptor) {
    return epoll_ctl(poll, EPOLL_CTL_DEL, descriptor, NULL);
}

int clinux_poll_wait(int poll, int ready[CLINUX_MOST_READY], int timeout) {
    struct epoll_event events[CLINUX_MOST_READY];
    int count = epoll_wait(poll, events, CLINUX_MOST_READY, timeout);
    for (int index = 0; index < count; index++) ready[index] = events[index].data.fd;
    return count;
}

int clinux_timer_after(long seconds, long nanoseconds) {
    int timer = timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC | TFD_NONBLOCK);
    if (timer < 0) return -1;
    struct itimerspec once = {.it_value = {.tv_sec = seconds, .tv_nsec = nanoseconds}};
    if (timerfd_settime(timer, 0, &once, NULL) < 0) {
        int error = errno;
        close(timer);
        errno = error;
        return -1;
    }
    return timer;
}

/* The event descriptor of each signal plus one; 0 while it has none. A handler may run at any time,
   so that what it writes to is never closed. */
static atomic_int announcements[NSIG];
static atomic_flag is_ending = ATOMIC_FLAG_INIT;

static void announce(int number) {
    int error = errno;
    uint64_t one = 1;
    int event = atomic_load(&announcements[number]) - 1;
    if (event >= 0 && write(event, &one, sizeof one) < 0) {
        /* Only when the count is full, and then the signal already waits. */
    }
    errno = error;
}

static void announce_or_end(int number) {
    if (atomic_flag_test_and_set(&is_ending)) _exit(128 + number);
    announce(number);
}

int clinux_announce_signal(int number, int ends_at_second) {
    if (number <= 0 || number >= NSIG) {
        errno = EINVAL;
        return -1;
    }
    int event = atomic_load(&announcements[number]) - 1;
    if (event < 0) {
        event = clinux_eventfd();
        if (event < 0) return -1;
        atomic_store(&announcements[number], event + 1);
    }
    int listener = fcntl(event, F_DUPFD_CLOEXEC, 0);
    if (listener < 0) return -1;
    struct sigaction action = {.sa_flags = SA_RESTART};
    action.sa_handler = ends_at_second ? announce_or_end : announce;
    sigemptyset(&action.sa_mask);
    if (sigaction(number, &action, NULL) < 0) {
        int error = errno;
        close(listener);
        errno = error;
        return -1;
    }
    /* Whoever started the program may have blocked it, and that is inherited. */
    sigset_t own;
    sigemptyset(&own);
    sigaddset(&own, number);
    pthread_sigmask(SIG_UNBLOCK, &own, NULL);
    return listener;
}
