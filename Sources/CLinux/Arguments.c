#include "CLinux.h"

#include <signal.h>
#include <string.h>

static char **words;
static int count;

/* glibc passes the arguments to each initializer. */
__attribute__((constructor)) static void keep(int given, char **list) {
    count = given;
    words = list;
}

static void mask_hangup(int how) {
    sigset_t hangup;
    sigemptyset(&hangup);
    sigaddset(&hangup, SIGHUP);
    sigprocmask(how, &hangup, NULL);
}

/* As early as a program can: Swift's own start takes milliseconds. The signal waits until the loop
   listens for it. */
__attribute__((constructor)) static void hold_hangup(int given, char **list) {
    for (int word = 1; word < given; word++)
        if (strcmp(list[word], "loop") == 0) mask_hangup(SIG_BLOCK);
}

void clinux_take_hangup(void) {
    mask_hangup(SIG_UNBLOCK);
}

char **clinux_arguments(int *result) {
    *result = count;
    return words;
}

/* Swift's runtime looks for the arguments before `main`, by reading /proc/self/maps and searching the
   stack: two percent of a `run --due` with nothing due. These two functions stand for the file of the
   runtime that does so, where the runtime is linked statically. */

char **_swift_stdlib_getUnsafeArgvArgc(int *result);
char **_swift_stdlib_getUnsafeArgvArgc(int *result) {
    return clinux_arguments(result);
}

void _swift_stdlib_overrideUnsafeArgvArgc(char **list, int given);
void _swift_stdlib_overrideUnsafeArgvArgc(char **list, int given) {
    keep(given, list);
}
