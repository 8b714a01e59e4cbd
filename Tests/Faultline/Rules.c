/* Reads the rules, keeps the counts, and carries out the rules. */
#define _GNU_SOURCE
#include "Strike.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <netdb.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

enum deed { KILL, KILL_PARENT, KILL_BOTH, STOP, SHORT, FAIL };

struct rule {
    int programs; /* one bit for each program */
    enum faultline_point point;
    int is_after;
    uint64_t nth;
    int goes_on;
    enum deed deed;
    int error;
};

static const char *const program_names[FAULTLINE_PROGRAMS] = {
    "clarity-jobs", "clarity-jobs-worker", "clarity-jobs-web"};
static const char *const point_names[FAULTLINE_POINTS] = {
    "commit", "write",   "sync",    "read", "open",  "unlink", "rename", "send",
    "receive", "connect", "resolve", "tell", "spawn", "start",  "any"};
static const struct {
    const char *name;
    int number;
} errors[] = {{"ENOSPC", ENOSPC}, {"EIO", EIO},       {"EROFS", EROFS},
              {"EMFILE", EMFILE}, {"EINTR", EINTR},   {"ECONNRESET", ECONNRESET},
              {"EDQUOT", EDQUOT}, {"ENOMEM", ENOMEM}, {"EACCES", EACCES},
              {"ETIMEDOUT", ETIMEDOUT}, {"EAI_AGAIN", EAI_AGAIN}};

static struct rule rules[FAULTLINE_RULES];
static int rule_count;
static int program = -1;
static struct faultline_counts *counts;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void refuse(const char *what) {
    fprintf(stderr, "faultline: cannot use `%s`\n", what);
    _exit(125);
}

static int index_of(const char *name, const char *const names[], int count) {
    for (int index = 0; index < count; index++)
        if (strcmp(name, names[index]) == 0) return index;
    return -1;
}

/* Parses PROGRAM:POINT:WHEN:NTH:ACTION, and changes the text. */
static int read_rule(char *text, struct rule *rule) {
    char *words[5];
    for (int index = 0; index < 5; index++)
        if (!(words[index] = strsep(&text, ":"))) return 0;
    if (text) return 0;

    int named = index_of(words[0], program_names, FAULTLINE_PROGRAMS);
    if (named < 0 && strcmp(words[0], "*") != 0) return 0;
    rule->programs = named < 0 ? ~0 : 1 << named;
    int point = index_of(words[1], point_names, FAULTLINE_POINTS);
    if (point < 0) return 0;
    rule->point = point;
    rule->is_after = strcmp(words[2], "after") == 0;
    if (!rule->is_after && strcmp(words[2], "before") != 0) return 0;
    char *end;
    rule->nth = strtoull(words[3], &end, 10);
    rule->goes_on = *end == '+';
    if (end == words[3] || rule->nth == 0 || end[rule->goes_on] != 0) return 0;

    static const char *const deeds[] = {"kill", "kill-parent", "kill-both", "stop", "short"};
    int deed = index_of(words[4], deeds, FAIL);
    rule->deed = deed < 0 ? FAIL : deed;
    if (rule->deed == SHORT && rule->is_after) return 0;
    if (deed >= 0) return 1;
    for (size_t index = 0; index < sizeof errors / sizeof *errors; index++)
        if (strcmp(words[4], errors[index].name) == 0) {
            rule->error = errors[index].number;
            return rule->error != EAI_AGAIN || rule->point == FAULTLINE_RESOLVE;
        }
    return 0;
}

/* Returns which program this is, by its executable file: after exec, a program may keep its old
   name. */
static int find_program(void) {
    char path[PATH_MAX];
    long size = syscall(SYS_readlinkat, AT_FDCWD, "/proc/self/exe", path, sizeof path - 1);
    if (size < 0) return -1;
    path[size] = 0;
    const char *slash = strrchr(path, '/');
    return index_of(slash ? slash + 1 : path, program_names, FAULTLINE_PROGRAMS);
}

static void begin(void) {
    int found = find_program();
    const char *path = getenv("FAULTLINE_COUNTS"), *given = getenv("FAULTLINE");
    if (found < 0 || !path) return;

    /* Calls the kernel by number: a call by name would count itself. */
    int file = syscall(SYS_openat, AT_FDCWD, path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (file < 0 || syscall(SYS_ftruncate, file, sizeof *counts) < 0) refuse(path);
    void *mapped = mmap(NULL, sizeof *counts, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (mapped == MAP_FAILED) refuse(path);
    syscall(SYS_close, file);

    char *all = strdup(given ? given : ""), *rest = all, *one;
    if (!all) refuse(given);
    while ((one = strsep(&rest, ";"))) {
        if (!*one) continue;
        if (rule_count == FAULTLINE_RULES || !read_rule(one, &rules[rule_count])) refuse(given);
        rule_count++;
    }
    free(all);
    counts = mapped;
    program = found;
}

int faultline_is_on(void) {
    pthread_once(&once, begin);
    return program >= 0;
}

/* Returns whether a process runs and is one of these programs, by the 15 bytes of its name that the
   kernel keeps. */
static int is_ours(int process, const char *name) {
    char path[64], found[32] = "", wanted[16];
    snprintf(path, sizeof path, "/proc/%d/comm", process);
    snprintf(wanted, sizeof wanted, "%s", name);
    int file = syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC);
    if (file < 0) return 0;
    long size = syscall(SYS_read, file, found, sizeof found - 1);
    syscall(SYS_close, file);
    if (size <= 0) return 0;
    found[strcspn(found, "\n")] = 0;
    return strcmp(found, wanted) == 0;
}

/* Returns the scheduler that started this process; 0 if there is none or it is gone. */
static int scheduler(void) {
    int parent = getppid();
    return program == 1 && is_ours(parent, program_names[0]) ? parent : 0;
}

/* Kills the workers that are children of this process. */
static void kill_children(void) {
    char found[65536];
    int folder = syscall(SYS_openat, AT_FDCWD, "/proc/self/task", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (folder < 0) return;
    long size;
    while ((size = syscall(SYS_getdents64, folder, found, sizeof found)) > 0)
        for (long at = 0; at < size;) {
            struct { uint64_t inode; int64_t next; unsigned short size; char type; char name[]; }
                *entry = (void *)(found + at);
            at += entry->size;
            char path[64], children[4096];
            snprintf(path, sizeof path, "/proc/self/task/%.20s/children", entry->name);
            int file = syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC);
            if (file < 0) continue;
            long read = syscall(SYS_read, file, children, sizeof children - 1);
            syscall(SYS_close, file);
            if (read <= 0) continue;
            children[read] = 0;
            for (char *rest = children, *one; (one = strsep(&rest, " "));)
                if (*one && is_ours(atoi(one), program_names[1])) kill(atoi(one), SIGKILL);
        }
    syscall(SYS_close, folder);
}

/* Carries out a rule; a failure or a halved size is left in `passing`. */
static void strike(int index, struct passing *passing) {
    const struct rule *rule = &rules[index];
    int parent = scheduler();
    if (rule->deed == KILL_PARENT && !parent) return;
    if (rule->deed == SHORT && (!passing->size || *passing->size < 2)) return;
    /* Counts first: this process may not survive what it does to its parent. */
    atomic_fetch_add(&counts->struck[index], 1);
    switch (rule->deed) {
    case KILL: kill(getpid(), SIGKILL); break;
    case KILL_PARENT: kill(parent, SIGKILL); break;
    case KILL_BOTH:
        if (parent) kill(parent, SIGKILL);
        kill_children();
        kill(getpid(), SIGKILL);
        break;
    /* Signals this thread: otherwise another could take the signal while this one goes on. */
    case STOP: syscall(SYS_tgkill, getpid(), gettid(), SIGSTOP); break;
    case SHORT: *passing->size /= 2; break;
    case FAIL: passing->error = rule->error; break;
    }
}

int faultline_begin(struct passing *passing, enum faultline_point point, size_t *size) {
    *passing = (struct passing){.size = size};
    if (!faultline_is_on()) return 0;
    int error = errno;
    atomic_fetch_add(&counts->passed[program][point], 1);
    atomic_fetch_add(&counts->passed[program][FAULTLINE_ANY], 1);
    for (int index = 0; index < rule_count; index++) {
        const struct rule *rule = &rules[index];
        if (!(rule->programs & 1 << program)) continue;
        if (rule->point != point && rule->point != FAULTLINE_ANY) continue;
        uint64_t nth = atomic_fetch_add(&counts->met[index], 1) + 1;
        if (nth != rule->nth && !(rule->goes_on && nth > rule->nth)) continue;
        if (rule->is_after)
            passing->after |= 1u << index;
        else
            strike(index, passing);
    }
    errno = passing->error ? passing->error : error;
    return passing->error != 0;
}

long faultline_end(struct passing *passing, long result) {
    if (!passing->after) return result;
    int error = errno;
    for (int index = 0; index < rule_count; index++)
        if (passing->after & 1u << index) strike(index, passing);
    errno = passing->error ? passing->error : error;
    return passing->error ? -1 : result;
}

/* A process can be killed before it reaches its main, too. */
__attribute__((constructor)) static void start(void) {
    struct passing passing;
    faultline_begin(&passing, FAULTLINE_START, NULL);
    faultline_end(&passing, 0);
}
