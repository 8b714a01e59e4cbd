/* The interface between the wrapped calls and the rules. */
#ifndef FAULTLINE_STRIKE_H
#define FAULTLINE_STRIKE_H

#include "Faultline.h"

#include <dlfcn.h>
#include <stddef.h>

/* One pass of a point. */
struct passing {
    unsigned after;  /* the rules that take effect after the call, one bit each */
    int error;       /* the errno, or EAI_AGAIN, with which the call fails */
    int is_short;    /* whether only half of the bytes are transferred */
    size_t *size;    /* the number of bytes, if it can be halved */
};

/* Returns whether this process is one of the programs and counts its points. */
int faultline_is_on(void);

/* Counts a pass and applies the rules for before the call. Returns whether the call fails without
   being made, and then sets errno. `short` halves `size`, which may be null. */
int faultline_begin(struct passing *passing, enum faultline_point point, size_t *size);

/* Applies the rules for after the call, which returned `result`; returns that, or -1 and sets
   errno. */
long faultline_end(struct passing *passing, long result);

/* Return whether a path, or an open regular file, is in the watched folder. */
int faultline_watches_path(int folder, const char *path);
int faultline_watches_file(int file);

/* Looks up the next definition of a function after this library's. */
#define NEXT(name)                                                                                 \
    static __typeof__(&name) next;                                                                 \
    if (!next) next = (__typeof__(&name))dlsym(RTLD_NEXT, #name)

#endif
