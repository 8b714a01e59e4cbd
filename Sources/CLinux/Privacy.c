#define _GNU_SOURCE
#include "CLinux.h"

#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>

int clinux_keep_memory_private(void) {
    const struct rlimit none = {0, 0};
    if (setrlimit(RLIMIT_CORE, &none) != 0) return -1;
    return prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
}

int clinux_memory_file(void) { return memfd_create("clarity-jobs", MFD_CLOEXEC); }
