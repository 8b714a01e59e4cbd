#ifndef CMOSQUITTO_H
#define CMOSQUITTO_H

#include <mosquitto.h>

/* libmosquitto, which is loaded when it is first asked for, never linked: of all attempts only one
 * that publishes to a broker needs it. */

#define CMOSQUITTO_EACH_FUNCTION(each) \
    each(mosquitto_lib_init) \
    each(mosquitto_new) \
    each(mosquitto_destroy) \
    each(mosquitto_int_option) \
    each(mosquitto_username_pw_set) \
    each(mosquitto_tls_set) \
    each(mosquitto_connect_callback_set) \
    each(mosquitto_publish_v5_callback_set) \
    each(mosquitto_connect) \
    each(mosquitto_publish) \
    each(mosquitto_loop) \
    each(mosquitto_disconnect)

struct cmosquitto {
#define CMOSQUITTO_POINTER(name) __typeof__(&name) name;
    CMOSQUITTO_EACH_FUNCTION(CMOSQUITTO_POINTER)
};

/* Returns libmosquitto's functions; NULL if it cannot be loaded, with the reason in `fault`. */
const struct cmosquitto *cmosquitto_load(const char **fault);

#endif
