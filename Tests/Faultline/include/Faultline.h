/* A library that is loaded before the built programs (LD_PRELOAD) and strikes at named points of
   their lives. It calls for nothing: the environment tells it all.

   FAULTLINE_COUNTS   a file that it makes, shared by all the processes: how often each point was
                      passed, and how often each rule was met and struck. Without it it does nothing.
   FAULTLINE_FOLDER   limits what is counted of files to those below this path.
   FAULTLINE          RULE[;RULE...], where RULE is PROGRAM:POINT:WHEN:NTH:ACTION. A rule that cannot
                      be read ends the process with status 125 before its main is reached.

   PROGRAM   clarity-jobs, clarity-jobs-worker, or * for both; no other program is touched
   POINT     one of the names below
   WHEN      before or after what the point names
   NTH       7: the seventh, counted over all the processes that the rule names; 7+: from it on
   ACTION    kill (SIGKILL to itself), kill-parent (to the clarity-jobs that started it), kill-both
             (the whole family), stop (SIGSTOP), the name of an errno (ENOSPC EIO EROFS EMFILE EINTR
             ECONNRESET EDQUOT ENOMEM EACCES ETIMEDOUT), short (half of a write, a read or a send),
             EAI_AGAIN (of resolve)

   An errno after a call is that of a call that was made and whose success stays unknown. */
#ifndef FAULTLINE_H
#define FAULTLINE_H

#include <stdint.h>

/* What is counted. The order is that of the counts in the file. */
enum faultline_point {
    FAULTLINE_COMMIT,  /* the end of a transaction that wrote: COMMIT, END, or one statement alone */
    FAULTLINE_WRITE,   /* bytes into a regular file, or its length */
    FAULTLINE_SYNC,    /* fsync, fdatasync */
    FAULTLINE_READ,    /* bytes from a regular file */
    FAULTLINE_OPEN,    /* open, openat */
    FAULTLINE_UNLINK,  /* unlink, unlinkat */
    FAULTLINE_RENAME,  /* rename, renameat, link */
    FAULTLINE_SEND,    /* bytes into a connection over TCP */
    FAULTLINE_RECEIVE, /* bytes from it */
    FAULTLINE_CONNECT, /* connect over TCP */
    FAULTLINE_RESOLVE, /* getaddrinfo */
    FAULTLINE_TELL,    /* bytes into a pipe or a socket of this machine: orders, reports, output */
    FAULTLINE_SPAWN,   /* posix_spawn */
    FAULTLINE_START,   /* the process itself, before its main */
    FAULTLINE_ANY,     /* all of these */
    FAULTLINE_POINTS
};

enum { FAULTLINE_PROGRAMS = 2, FAULTLINE_RULES = 16 };

/* The file of FAULTLINE_COUNTS, in the machine's order of bytes. */
struct faultline_counts {
    _Atomic uint64_t passed[FAULTLINE_PROGRAMS][FAULTLINE_POINTS];
    _Atomic uint64_t met[FAULTLINE_RULES];
    _Atomic uint64_t struck[FAULTLINE_RULES];
};

#endif
