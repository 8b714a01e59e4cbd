#define _GNU_SOURCE
#include "CSystemd.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <systemd/sd-bus.h>
#include <time.h>
#include <unistd.h>

#define EACH_FUNCTION(each) \
    each(sd_bus_new) \
    each(sd_bus_set_address) \
    each(sd_bus_set_bus_client) \
    each(sd_bus_start) \
    each(sd_bus_open_system) \
    each(sd_bus_close) \
    each(sd_bus_unref) \
    each(sd_bus_is_open) \
    each(sd_bus_process) \
    each(sd_bus_get_fd) \
    each(sd_bus_get_events) \
    each(sd_bus_get_timeout) \
    each(sd_bus_call_async) \
    each(sd_bus_add_match_async) \
    each(sd_bus_message_new_method_call) \
    each(sd_bus_message_set_auto_start) \
    each(sd_bus_message_append_basic) \
    each(sd_bus_message_unref) \
    each(sd_bus_message_get_cookie) \
    each(sd_bus_message_get_reply_cookie) \
    each(sd_bus_message_get_error) \
    each(sd_bus_message_get_sender) \
    each(sd_bus_message_get_path) \
    each(sd_bus_message_get_interface) \
    each(sd_bus_message_get_member) \
    each(sd_bus_message_enter_container) \
    each(sd_bus_message_exit_container) \
    each(sd_bus_message_peek_type) \
    each(sd_bus_message_read_basic) \
    each(sd_bus_message_skip)

/* Written once by `load`, and only read after it. */
static struct {
#define POINTER(name) __typeof__(&name) name;
    EACH_FUNCTION(POINTER)
} library;
static char fault[256];
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void load(void) {
    void *handle = dlopen("libsystemd.so.0", RTLD_NOW | RTLD_LOCAL);
    if (handle == NULL) {
        const char *reason = dlerror();
        snprintf(fault, sizeof fault, "%s", reason ? reason : "libsystemd.so.0 cannot be loaded");
        return;
    }
#define FIND(name) \
    library.name = (__typeof__(&name)) dlsym(handle, #name); \
    if (library.name == NULL) { \
        snprintf(fault, sizeof fault, "libsystemd.so.0: too old, it has no %s", #name); \
        return; \
    }
    EACH_FUNCTION(FIND)
}

const char *csystemd_fault(void) {
    pthread_once(&once, load);
    return fault[0] == '\0' ? NULL : fault;
}

struct csystemd_bus {
    sd_bus *bus;
    csystemd_handler take, hear;
    void *context;
};

static int take(sd_bus_message *message, void *userdata, sd_bus_error *error) {
    (void) error;
    csystemd_bus *bus = userdata;
    bus->take(message, bus->context);
    return 1;
}

/* What it returns keeps the message from the other rules that it matches. */
static int hear(sd_bus_message *message, void *userdata, sd_bus_error *error) {
    (void) error;
    csystemd_bus *bus = userdata;
    bus->hear(message, bus->context);
    return 1;
}

static int open_bus(const char *address, sd_bus **bus) {
    if (address == NULL) return library.sd_bus_open_system(bus);
    sd_bus *made = NULL;
    int result = library.sd_bus_new(&made);
    if (result >= 0) result = library.sd_bus_set_address(made, address);
    if (result >= 0) result = library.sd_bus_set_bus_client(made, 1);
    if (result >= 0) result = library.sd_bus_start(made);
    if (result < 0)
        library.sd_bus_unref(made);
    else
        *bus = made;
    return result;
}

int csystemd_open(const char *address, csystemd_handler take, csystemd_handler hear, void *context,
                  csystemd_bus **bus) {
    csystemd_bus *made = malloc(sizeof *made);
    if (made == NULL) return -ENOMEM;
    *made = (csystemd_bus) {.take = take, .hear = hear, .context = context};
    int result = open_bus(address, &made->bus);
    if (result < 0)
        free(made);
    else
        *bus = made;
    return result;
}

void csystemd_close(csystemd_bus *bus) {
    library.sd_bus_close(bus->bus);
    library.sd_bus_unref(bus->bus);
    free(bus);
}

int csystemd_is_open(csystemd_bus *bus) {
    return library.sd_bus_is_open(bus->bus);
}

int csystemd_process(csystemd_bus *bus) {
    return library.sd_bus_process(bus->bus, NULL);
}

int csystemd_timer(int poll) {
    int timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
    if (timer < 0) return -errno;
    struct epoll_event event = {.events = EPOLLIN, .data.fd = timer};
    if (epoll_ctl(poll, EPOLL_CTL_ADD, timer, &event) < 0) {
        int error = errno;
        close(timer);
        return -error;
    }
    return timer;
}

int csystemd_watch(csystemd_bus *bus, int poll, int timer, uint64_t within) {
    int descriptor = library.sd_bus_get_fd(bus->bus);
    if (descriptor < 0) return descriptor;
    int events = library.sd_bus_get_events(bus->bus);
    if (events < 0) return events;
    /* The bits of poll(2) are those of epoll(7). The descriptor is another one when the bus has
       several addresses and the first did not do. */
    struct epoll_event event = {.events = (uint32_t) events, .data.fd = descriptor};
    if (epoll_ctl(poll, EPOLL_CTL_MOD, descriptor, &event) < 0 &&
        (errno != ENOENT || epoll_ctl(poll, EPOLL_CTL_ADD, descriptor, &event) < 0))
        return -errno;

    uint64_t until = UINT64_MAX;
    int result = library.sd_bus_get_timeout(bus->bus, &until);
    if (result < 0) return result;
    if (within != UINT64_MAX) {
        struct timespec now;
        clock_gettime(CLOCK_MONOTONIC, &now);
        uint64_t own = (uint64_t) now.tv_sec * 1000000 + (uint64_t) now.tv_nsec / 1000;
        own = own > UINT64_MAX - within ? UINT64_MAX : own + within;
        if (own < until) until = own;
    }
    /* A time of nothing would turn the timer off, and is what is asked for when there is none. */
    struct itimerspec once = {0};
    if (until != UINT64_MAX) {
        once.it_value.tv_sec = (time_t) (until / 1000000);
        once.it_value.tv_nsec = (long) (until % 1000000) * 1000;
        if (until == 0) once.it_value.tv_nsec = 1;
    }
    return timerfd_settime(timer, TFD_TIMER_ABSTIME, &once, NULL) < 0 ? -errno : 0;
}

void csystemd_ignore(csystemd_bus *bus, int poll) {
    int descriptor = library.sd_bus_get_fd(bus->bus);
    if (descriptor >= 0) epoll_ctl(poll, EPOLL_CTL_DEL, descriptor, NULL);
}

int csystemd_call(csystemd_bus *bus, const char *destination, const char *path,
                  const char *interface, const char *member, const char *argument, uint64_t timeout,
                  uint64_t *cookie) {
    sd_bus_message *call = NULL;
    int result = library.sd_bus_message_new_method_call(
        bus->bus, &call, destination, path, interface, member);
    if (result >= 0) result = library.sd_bus_message_set_auto_start(call, 0);
    if (result >= 0 && argument != NULL)
        result = library.sd_bus_message_append_basic(call, 's', argument);
    if (result >= 0) result = library.sd_bus_call_async(bus->bus, NULL, call, take, bus, timeout);
    if (result >= 0) result = library.sd_bus_message_get_cookie(call, cookie);
    library.sd_bus_message_unref(call);
    return result;
}

int csystemd_match(csystemd_bus *bus, const char *rule) {
    return library.sd_bus_add_match_async(bus->bus, NULL, rule, hear, NULL, bus);
}

int csystemd_reply_cookie(csystemd_message *message, uint64_t *cookie) {
    return library.sd_bus_message_get_reply_cookie(message, cookie);
}

const char *csystemd_error_name(csystemd_message *message) {
    const sd_bus_error *error = library.sd_bus_message_get_error(message);
    return error ? error->name : NULL;
}

const char *csystemd_sender(csystemd_message *message) {
    return library.sd_bus_message_get_sender(message);
}

const char *csystemd_path(csystemd_message *message) {
    return library.sd_bus_message_get_path(message);
}

const char *csystemd_interface(csystemd_message *message) {
    return library.sd_bus_message_get_interface(message);
}

const char *csystemd_member(csystemd_message *message) {
    return library.sd_bus_message_get_member(message);
}

int csystemd_enter(csystemd_message *message, char type, const char *contents) {
    return library.sd_bus_message_enter_container(message, type, contents);
}

int csystemd_exit(csystemd_message *message) {
    return library.sd_bus_message_exit_container(message);
}

int csystemd_peek(csystemd_message *message, char *type, const char **contents) {
    return library.sd_bus_message_peek_type(message, type, contents);
}

int csystemd_read(csystemd_message *message, char type, void *value) {
    return library.sd_bus_message_read_basic(message, type, value);
}

int csystemd_skip(csystemd_message *message, const char *types) {
    return library.sd_bus_message_skip(message, types);
}
