/* A library that is loaded before the built programs (LD_PRELOAD) and injects faults at named
   points of their execution. Programs need no calls to it: the environment configures it.

   FAULTLINE_COUNTS   a file that the library makes and all processes share: how often each point
                      was passed, and how often each rule matched and was carried out. Without
                      this variable nothing is counted and no rule takes effect.
   FAULTLINE_FOLDER   limits the counted calls on files to files below this path.
   FAULTLINE          RULE[;RULE...], where RULE is PROGRAM:POINT:WHEN:NTH:ACTION. A rule that cannot
                      be parsed ends the process with status 125 before its main.
   FAULTLINE_CLOCK    moves the clocks (Clock.c).

   PROGRAM   clarity-jobs, clarity-jobs-worker, or * for both; other programs are not affected
   POINT     one of the names below
   WHEN      before or after what the point names
   NTH       7: the seventh pass, counted over all processes that the rule names; 7+: from it on
   ACTION    kill (SIGKILL to itself), kill-parent (to the clarity-jobs that started it), kill-both
             (all of them), stop (SIGSTOP), the name of an errno (ENOSPC EIO EROFS EMFILE EINTR
             ECONNRESET EDQUOT ENOMEM EACCES ETIMEDOUT), short (half of a write, a read or a send),
             EAI_AGAIN (for resolve)

   With `after`, an errno means that the call was made and its success stays unknown.

   These calls have no point: creating a folder, locks, the mapping of `-shm`, changes of file
   modes, and the sync of a folder. */
#ifndef FAULTLINE_H
#define FAULTLINE_H

#include <stdint.h>

/* The counted points, in the order of the counts in the file. */
enum faultline_point {
    FAULTLINE_COMMIT,  /* the end of a transaction that wrote: COMMIT, END, or a single statement */
    FAULTLINE_WRITE,   /* writing bytes to a regular file, or changing its length */
    FAULTLINE_SYNC,    /* fsync and fdatasync of a regular file */
    FAULTLINE_READ,    /* reading bytes from a regular file */
    FAULTLINE_OPEN,    /* open, openat */
    FAULTLINE_UNLINK,  /* unlink, unlinkat */
    FAULTLINE_RENAME,  /* rename, renameat, link */
    FAULTLINE_SEND,    /* sending bytes over a TCP connection */
    FAULTLINE_RECEIVE, /* receiving bytes from it */
    FAULTLINE_CONNECT, /* connect over TCP */
    FAULTLINE_RESOLVE, /* getaddrinfo */
    FAULTLINE_TELL,    /* writing to a local pipe or socket: orders, reports, output */
    FAULTLINE_SPAWN,   /* posix_spawn */
    FAULTLINE_START,   /* the start of the process, before its main */
    FAULTLINE_ANY,     /* all of these */
    FAULTLINE_POINTS
};

enum { FAULTLINE_PROGRAMS = 3, FAULTLINE_RULES = 16 };

/* The content of the file FAULTLINE_COUNTS, in the machine's byte order. */
struct faultline_counts {
    _Atomic uint64_t passed[FAULTLINE_PROGRAMS][FAULTLINE_POINTS];
    _Atomic uint64_t met[FAULTLINE_RULES];
    _Atomic uint64_t struck[FAULTLINE_RULES];
};

#endif
