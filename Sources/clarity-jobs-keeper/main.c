/* clarity-jobs-keeper GRACE_MS LIMIT_MS UMASK PROGRAM WORD...

   Runs the command of an attempt and ends it when its scheduler is gone, whatever ended that: a
   command outlives a killed scheduler otherwise, and runs twice as soon as another one takes over.

   It leads the command's process group, and waits for one byte on descriptor 4 before it starts the
   command. Descriptors:

     0, 1, 2  the command's
     3        the lock of the attempt, which the command does not get: the run belongs to this attempt
              until the keeper has ended. The keeper writes the command's exit status there.
     4        a pipe that the scheduler holds open. Its end is the scheduler's end.
     5        if open, 8 bytes of shared memory: until when (CLOCK_BOOTTIME, in nanoseconds) the
              database leaves the run to this scheduler.
     6        if open, the scheduler's session with that database. While a copy is open, the server
              does not see that the scheduler was killed, so that the command ends first.

   SIGTERM from outside the group goes to the command. When the scheduler is gone, the command gets
   SIGTERM, and its group SIGKILL after GRACE_MS; without a valid lease, the group gets SIGKILL at
   once; and after LIMIT_MS awake in any case. Otherwise the keeper ends as the command did. */

#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { lock_file = 3, scheduler = 4, lease = 5, session = 6 };

/* Exit statuses of a shell for a program that is not found or cannot be run, and of sysexits.h. */
enum { not_found = 127, cannot_run = 126, system_error = 71 };

static int64_t clock_ns(clockid_t clock) {
    struct timespec now;
    clock_gettime(clock, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* Ends the whole group, this process included, which lets go of the lock last. */
static _Noreturn void end_group(void) {
    kill(0, SIGKILL);
    for (;;) pause();
}

static _Noreturn void give_up(const char *program, int error) {
    dprintf(2, "cannot run `%s`: %s\n", program, strerror(error));
    if (error == ENOENT || error == ENOTDIR) _exit(not_found);
    if (error == EAGAIN || error == ENOMEM || error == EMFILE || error == ENFILE)
        _exit(system_error);
    _exit(cannot_run);
}

/* Starts the command; returns its process id. */
static pid_t start(char **words) {
    int failure[2];
    if (pipe2(failure, O_CLOEXEC) != 0) give_up(words[0], errno);
    pid_t keeper = getpid();
    pid_t command = fork();
    if (command < 0) give_up(words[0], errno);
    if (command == 0) {
        /* It ends with the keeper, also where that is killed. */
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (getppid() != keeper) _exit(system_error);
        sigset_t none;
        sigemptyset(&none);
        sigprocmask(SIG_SETMASK, &none, NULL);
        execv(words[0], words);
        int error = errno;
        (void)!write(failure[1], &error, sizeof error);
        _exit(cannot_run);
    }
    close(failure[1]);
    int error;
    if (read(failure[0], &error, sizeof error) == sizeof error) {
        /* Else the scheduler may find it, and take it for a process that the command has left. */
        waitpid(command, NULL, 0);
        give_up(words[0], error);
    }
    close(failure[0]);
    return command;
}

/* Reads and drops what the command writes, which nobody reads any more: it is asked to end, and must
   not be ended by SIGPIPE. */
static void drain(int output) {
    char bytes[4096];
    while (output >= 0 && read(output, bytes, sizeof bytes) > 0) {}
}

/* Writes how the command ended for the scheduler that takes the run over. */
static void note_end(int status) {
    char line[32];
    int length = WIFEXITED(status) ? snprintf(line, sizeof line, "exit %d\n", WEXITSTATUS(status))
                                   : snprintf(line, sizeof line, "signal %d\n", WTERMSIG(status));
    (void)!pwrite(lock_file, line, (size_t)length, 0);
}

/* Ends as the command did. */
static _Noreturn void end_as(int status) {
    if (WIFEXITED(status)) _exit(WEXITSTATUS(status));
    struct rlimit none = {0, 0};
    setrlimit(RLIMIT_CORE, &none);
    sigset_t all;
    sigfillset(&all);
    signal(WTERMSIG(status), SIG_DFL);
    raise(WTERMSIG(status));
    sigprocmask(SIG_UNBLOCK, &all, NULL);
    _exit(128 + WTERMSIG(status));
}

/* Whether a signal came from outside: a script that signals its own group means itself. */
static int is_from_outside(const struct signalfd_siginfo *from) {
    pid_t sender = (pid_t)from->ssi_pid;
    if (sender == getppid()) return 1;
    pid_t group = getpgid(sender);
    return group > 0 && group != getpgrp();
}

int main(int count, char **arguments) {
    if (count < 5) {
        dprintf(2, "clarity-jobs-keeper: only clarity-jobs starts this program\n");
        return 64;
    }
    int64_t grace = strtoll(arguments[1], NULL, 10) * 1000000;
    int64_t limit = clock_ns(CLOCK_MONOTONIC) + strtoll(arguments[2], NULL, 10) * 1000000;
    umask((mode_t)strtol(arguments[3], NULL, 8));
    char **words = arguments + 4;

    /* What the command sends to its group must not end its keeper. */
    sigset_t all, taken;
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, NULL);
    sigemptyset(&taken);
    sigaddset(&taken, SIGCHLD);
    sigaddset(&taken, SIGTERM);
    int signals = signalfd(-1, &taken, SFD_NONBLOCK | SFD_CLOEXEC);
    /* Processes that the command leaves behind are reaped here, not by whoever is process 1. */
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    for (int own = lock_file; own <= session; own++) fcntl(own, F_SETFD, FD_CLOEXEC);
    volatile const int64_t *valid = NULL;
    struct stat memory;
    if (fstat(lease, &memory) == 0 && memory.st_size >= (off_t)sizeof *valid) {
        void *page = mmap(NULL, sizeof *valid, PROT_READ, MAP_SHARED, lease, 0);
        if (page != MAP_FAILED) valid = page;
    }
    /* Opened while the scheduler reads the pipe, so that it never has no reader. */
    int output = -1;
    if (fstat(1, &memory) == 0 && S_ISFIFO(memory.st_mode))
        output = open("/proc/self/fd/1", O_RDONLY | O_NONBLOCK | O_CLOEXEC);

    /* The scheduler sets the limits of this process, which the command inherits, before it says go. */
    char go;
    ssize_t got;
    while ((got = read(scheduler, &go, 1)) < 0 && errno == EINTR) {}
    if (got != 1) return 0;
    pid_t command = start(words);

    int is_gone = 0;
    int64_t kill_at = limit;
    for (;;) {
        int64_t now = clock_ns(CLOCK_MONOTONIC);
        if (now >= kill_at) end_group();
        int64_t left = kill_at - now;
        if (valid != NULL) {
            int64_t lease_left = *valid - clock_ns(CLOCK_BOOTTIME);
            if (lease_left <= 0) end_group();
            if (lease_left < left) left = lease_left;
            /* The scheduler may give the lease up. */
            if (left > 250000000) left = 250000000;
        }
        if (is_gone && left > 20000000) left = 20000000;
        struct pollfd set[2] = {{signals, POLLIN, 0}, {is_gone ? -1 : scheduler, POLLIN, 0}};
        poll(set, 2, (int)(left / 1000000 < 3600000 ? left / 1000000 + 1 : 3600000));
        if (is_gone) drain(output);
        struct signalfd_siginfo from;
        while (read(signals, &from, sizeof from) == sizeof from)
            if (from.ssi_signo == SIGTERM && is_from_outside(&from)) kill(command, SIGTERM);
        int status;
        pid_t ended;
        while ((ended = waitpid(-1, &status, WNOHANG)) > 0) {
            if (ended != command) continue;
            note_end(status);
            if (is_gone) end_group();
            end_as(status);
        }
        if (set[1].revents != 0 && read(scheduler, &go, 1) <= 0) {
            is_gone = 1;
            kill(command, SIGTERM);
            if (now + grace < kill_at) kill_at = now + grace;
        }
    }
}
