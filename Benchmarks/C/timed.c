// timed ROUNDS -- PROGRAM [ARGUMENT...] [-- PROGRAM ...]: runs the programs in turn, ROUNDS times,
// and writes `index nanoseconds peak_resident_kib` for each run. It ends at the first failure. It
// is small because a child's peak is at least the memory that its parent had when it started the
// child.
#define _GNU_SOURCE
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern char **environ;

static long long now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * 1000000000LL + time.tv_nsec;
}

int main(int count, char **words) {
    if (count < 4) return 64;
    int rounds = atoi(words[1]), programs = 0;
    char **starts[16];
    for (int index = 2; index < count; index++) {
        if (strcmp(words[index], "--") != 0) continue;
        words[index] = NULL;
        if (programs < 16 && index + 1 < count) starts[programs++] = words + index + 1;
    }
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0);
    for (int round = 0; round < rounds; round++) {
        for (int program = 0; program < programs; program++) {
            long long start = now();
            pid_t child;
            if (posix_spawn(&child, starts[program][0], &actions, NULL, starts[program], environ) != 0) {
                fprintf(stderr, "timed: cannot start %s\n", starts[program][0]);
                return 69;
            }
            int status;
            struct rusage usage;
            wait4(child, &status, 0, &usage);
            long long end = now();
            /* 75: a job waits (sysexits.h, EX_TEMPFAIL); 1: some account is not fresh. */
            int code = WIFEXITED(status) ? WEXITSTATUS(status) : 128;
            if (code != 0 && code != 1 && code != 75) {
                fprintf(stderr, "timed: %s failed\n", starts[program][0]);
                return 1;
            }
            printf("%d %lld %ld\n", program, end - start, usage.ru_maxrss);
        }
    }
    return 0;
}
