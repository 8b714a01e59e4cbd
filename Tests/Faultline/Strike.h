/* What the wrapped calls ask of the rules. */
#ifndef FAULTLINE_STRIKE_H
#define FAULTLINE_STRIKE_H

#include "Faultline.h"

#include <dlfcn.h>
#include <stddef.h>

/* One passing of a point. */
struct passing {
    unsigned after;  /* the rules that strike when the call is over, a bit each */
    int error;       /* the errno, or EAI_AGAIN, that the call gives instead of being made */
    int is_short;    /* only half of it is to be done */
    size_t *size;    /* how much there is to do, where that can be halved */
};

/* Whether this process is one of ours and somebody counts. */
int faultline_is_on(void);

/* Counts a passing and does what must be done before it; returns whether the call fails unmade, and
   then sets errno. `size` is halved by `short`; it may be null. */
int faultline_begin(struct passing *passing, enum faultline_point point, size_t *size);

/* Does what must be done after the call, which gave `result`; returns that, or -1 with an errno. */
long faultline_end(struct passing *passing, long result);

/* Whether a path, or an open file that is a regular one, lies in the folder that is watched. */
int faultline_watches_path(int folder, const char *path);
int faultline_watches_file(int file);

/* The next definition of a function after this library's. */
#define NEXT(name)                                                                                 \
    static __typeof__(&name) next;                                                                 \
    if (!next) next = (__typeof__(&name))dlsym(RTLD_NEXT, #name)

#endif
