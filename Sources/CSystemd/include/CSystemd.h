#ifndef CSYSTEMD_H
#define CSYSTEMD_H

#include <stdint.h>

/* The part of sd-bus(3) that a client needs who only asks and listens, from a libsystemd.so.0 that is
   loaded when it is first called for, and never linked. To link it costs each start of the program
   0.55 of some 4 ms and 1.3 MiB, brings five libraries for compression and ciphers into a process
   that handles private data, and makes a program that does not start at all of one on a machine
   without libsystemd; but most starts find nothing due and never speak to the bus, and a machine
   without libsystemd simply has none.

   But for `csystemd_fault` none may be called before that has returned NULL once. All return a
   negative errno where nothing else is said. */

/* Loads the library on the first call. NULL when it is there; otherwise why it is not, for people. */
const char *csystemd_fault(void);

/* A connection, and a message that came over it. The header of sd-bus itself is not shown: it would
   bring half of the C library's types along under this module's name. */
typedef struct csystemd_bus csystemd_bus;
typedef struct sd_bus_message csystemd_message;

/* Is given a message, which lives until it returns. */
typedef void (*csystemd_handler)(csystemd_message *message, void *context);

/* Begins a connection to the bus at `address`, or to the system's where that is NULL, as
   sd_bus_open_system(3) finds it, and does not wait for it. `take` will be given each reply, `hear`
   each message that matches a rule, once however many it matches; both by `csystemd_process`
   alone. */
int csystemd_open(const char *address, csystemd_handler take, csystemd_handler hear, void *context,
                  csystemd_bus **bus);

/* Ends a connection without a word and frees it; nothing is waited for, no handler is called. */
void csystemd_close(csystemd_bus *bus);

/* sd_bus_is_open(3): above 0 until the connection fails or ends. */
int csystemd_is_open(csystemd_bus *bus);

/* sd_bus_process(3): does one piece of work, which may call one handler; 0 when there is none. */
int csystemd_process(csystemd_bus *bus);

/* Has `poll`, an epoll(7) descriptor, watch what the connection waits for now, and sets `timer`, a
   timerfd that it watches already, to the earlier of what sd_bus_get_timeout(3) says and `within`
   microseconds from now, UINT64_MAX for never. To be called after each `csystemd_process` that
   returned 0 and after each request. */
int csystemd_watch(csystemd_bus *bus, int poll, int timer, uint64_t within);

/* Has `poll` watch the connection no longer. */
void csystemd_ignore(csystemd_bus *bus, int poll);

/* A timer for `csystemd_watch`, which does not block and which `poll` watches. */
int csystemd_timer(int poll);

/* Calls a method with no argument, or with the text `argument`; starts nobody (the header's flag
   NO_AUTO_START). There will be one reply with the number put into `cookie`, an error after `timeout`
   microseconds at the latest. */
int csystemd_call(csystemd_bus *bus, const char *destination, const char *path,
                  const char *interface, const char *member, const char *argument, uint64_t timeout,
                  uint64_t *cookie);

/* Has the messages that match `rule` heard. A rule that the bus does not take ends the connection. */
int csystemd_match(csystemd_bus *bus, const char *rule);

/* The functions sd_bus_message_...(3) of these names; texts are NULL where there is none, and live as
   long as the message. */
int csystemd_reply_cookie(csystemd_message *message, uint64_t *cookie);
const char *csystemd_error_name(csystemd_message *message);
const char *csystemd_sender(csystemd_message *message);
const char *csystemd_path(csystemd_message *message);
const char *csystemd_interface(csystemd_message *message);
const char *csystemd_member(csystemd_message *message);
int csystemd_enter(csystemd_message *message, char type, const char *contents);
int csystemd_exit(csystemd_message *message);
int csystemd_peek(csystemd_message *message, char *type, const char **contents);
int csystemd_read(csystemd_message *message, char type, void *value);
int csystemd_skip(csystemd_message *message, const char *types);

#endif
