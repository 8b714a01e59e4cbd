#include "CMosquitto.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>

/* Written once by `load`, and only read after it. */
static struct cmosquitto library;
static char reason[256];
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void load(void) {
    void *handle = dlopen("libmosquitto.so.1", RTLD_NOW | RTLD_LOCAL);
    if (handle == NULL) {
        const char *found = dlerror();
        snprintf(reason, sizeof reason, "%s", found ? found : "libmosquitto.so.1 cannot be loaded");
        return;
    }
#define FIND(name) \
    library.name = (__typeof__(&name)) dlsym(handle, #name); \
    if (library.name == NULL) { \
        snprintf(reason, sizeof reason, "libmosquitto.so.1: too old, it has no %s", #name); \
        return; \
    }
    CMOSQUITTO_EACH_FUNCTION(FIND)
    library.mosquitto_lib_init();
}

const struct cmosquitto *cmosquitto_load(const char **fault) {
    pthread_once(&once, load);
    *fault = reason[0] == '\0' ? NULL : reason;
    return reason[0] == '\0' ? &library : NULL;
}
