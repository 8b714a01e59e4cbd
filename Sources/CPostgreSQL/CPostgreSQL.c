#define _GNU_SOURCE
#include "CPostgreSQL.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* Written once by `load`, and only read after it. */
static struct cpostgresql library;
static char reason[256];
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void forget_environment(void) {
    for (char **entry = environ; entry != NULL && *entry != NULL;) {
        const char *end = strchr(*entry, '=');
        if (strncmp(*entry, "PG", 2) == 0 && end != NULL) {
            char name[64];
            size_t length = (size_t)(end - *entry);
            if (length < sizeof name) {
                memcpy(name, *entry, length);
                name[length] = '\0';
                unsetenv(name);
                continue; /* The next entry has moved to this place. */
            }
        }
        entry++;
    }
}

static void load(void) {
    void *handle = dlopen("libpq.so.5", RTLD_NOW | RTLD_LOCAL);
    if (handle == NULL) {
        const char *found = dlerror();
        snprintf(reason, sizeof reason, "%s", found ? found : "libpq.so.5 cannot be loaded");
        return;
    }
#define FIND(name) \
    library.name = (__typeof__(&name)) dlsym(handle, #name); \
    if (library.name == NULL) { \
        snprintf(reason, sizeof reason, "libpq.so.5: too old, it has no %s", #name); \
        return; \
    }
    CPOSTGRESQL_EACH_FUNCTION(FIND)
    forget_environment();
}

const struct cpostgresql *cpostgresql_load(const char **fault) {
    pthread_once(&once, load);
    *fault = reason[0] == '\0' ? NULL : reason;
    return reason[0] == '\0' ? &library : NULL;
}

long cpostgresql_peer(int socket) {
    struct ucred peer;
    socklen_t size = sizeof peer;
    return getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 ? (long) peer.uid : -1;
}
