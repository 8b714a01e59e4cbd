#ifndef CLINUX_H
#define CLINUX_H

#include <spawn.h>

/* What Glibc's Swift overlay does not show: calls behind _GNU_SOURCE and variadic functions.
   All return -1 and set errno on failure where nothing else is said; every descriptor that they
   make is closed on exec. */

/* pidfd_open(2): a descriptor that becomes readable when process `pid` ends. */
int clinux_pidfd_open(int pid);

/* The arguments of this program. Swift's `CommandLine.arguments` has none where /proc is not mounted,
   or where a preloaded library has moved the environment. */
char **clinux_arguments(int *count);

/* The identifier that the linker gave this program (ld(1), --build-id); returns its size, or 0 if it
   has none or a larger one. */
int clinux_build_id(unsigned char *bytes, int room);

/* Calls a function without arguments of a shared library that this program has loaded; NULL if none
   has it. */
const char *clinux_library_text(const char *function);

/* Opens a path (O_PATH) where this cannot wait: the kernel has each of its names in its cache
   (openat2(2), RESOLVE_CACHED), and the file is on a block device of this machine. Fails with ENOENT
   for a name that the kernel knows to be absent, and with another error for all that may have to
   wait. */
int clinux_open_cached(const char *path);

/* Whether a path is where a file system is mounted read-only: 1 or 0. */
int clinux_is_read_only_mount(const char *path);

/* pipe2(2): the read end in ends[0], the write end in ends[1]. */
int clinux_pipe(int ends[2]);

/* eventfd(2), non-blocking, starting at 0. */
int clinux_eventfd(void);

/* renameat2(2), RENAME_EXCHANGE: gives each of two files or folders the other's name, at once. */
int clinux_exchange(const char *one, const char *other);

/* renameat2(2), RENAME_NOREPLACE: fails with EEXIST if something has the new name. */
int clinux_rename_to_new(const char *path, const char *name);

/* posix_spawn_file_actions_addclosefrom_np(3): returns 0 or the error's number. */
int clinux_spawn_close_from(posix_spawn_file_actions_t *actions, int first);

/* posix_spawn_file_actions_addchdir_np(3): returns 0 or the error's number. */
int clinux_spawn_change_folder(posix_spawn_file_actions_t *actions, const char *path);

/* Makes process `pid` leave no core dump. */
int clinux_forbid_core_dump(int pid);

/* Limits the private writable memory of process `pid` (RLIMIT_DATA) to `bytes`, unless it already
   has a lower limit. */
int clinux_limit_data(int pid, unsigned long long bytes);

/* Keeps the exit status of children where the program was started with SIGCHLD ignored, which
   would let them vanish without one. */
int clinux_keep_child_status(void);

/* A non-blocking rtnetlink(7) socket that hears of links, of IPv4 and IPv6 routes and routing rules,
   and of IPv4 addresses and next hops, with which routes go unannounced. */
int clinux_listen_routes(void);

/* A non-blocking netlink socket that hears the kernel's device events. */
int clinux_listen_devices(void);

/* An rtnetlink(7) socket to ask on, which waits for each answer for so many milliseconds at most
   (EAGAIN). */
int clinux_ask_routes(int milliseconds);

/* Asks on such a socket for all links (RTM_GETLINK), or all routes of all tables (RTM_GETROUTE). */
int clinux_request_dump(int socket, int type, unsigned sequence);

/* Receives one datagram: its size. `sender` is the netlink port of who sent it, 0 for the kernel and
   for a socket of another family. Fails with EMSGSIZE when it was larger than `size`. */
long clinux_receive(int socket, void *buffer, unsigned long size, unsigned *sender);

/* setns(2): the calling thread alone enters the network namespace that `descriptor` stands for. */
int clinux_enter_network(int descriptor);

/* A non-blocking timerfd(2) that never fires, and whose read(2) fails with ECANCELED once after each
   step of the wall clock. */
int clinux_watch_wall_clock(void);

/* epoll_create1(2). */
int clinux_poll(void);

/* Watches `descriptor` for what can be read, each arrival once (EPOLLET): who hears of it reads until
   there is no more. With `urgent` it is watched for EPOLLPRI instead. */
int clinux_poll_add(int poll, int descriptor, int urgent);

/* Watches `descriptor` no longer. */
int clinux_poll_remove(int poll, int descriptor);

/* The most that `clinux_poll_wait` tells of at once. */
#define CLINUX_MOST_READY 16

/* epoll_wait(2): the number of descriptors put into `ready`. `timeout` is in milliseconds, -1 for
   ever. */
int clinux_poll_wait(int poll, int ready[CLINUX_MOST_READY], int timeout);

/* A non-blocking timerfd(2) that becomes readable once after so much time on CLOCK_BOOTTIME, time in
   suspend included; both 0 is never. */
int clinux_timer_after(long seconds, long nanoseconds);

/* A non-blocking eventfd(2) that becomes readable when the process is sent signal `number`, which
   does nothing else from now on; the calling thread takes it, also where the process was started with
   it blocked. Of the signals that are announced with `ends_at_second`, the second that comes, of
   whichever of them, ends the process at once with status 128 plus its number, whatever its threads
   are doing. */
int clinux_announce_signal(int number, int ends_at_second);

/* Lets SIGHUP end this process, as it does from the start unless one of its arguments is `loop`: a
   loop means to reload, and must not end by a signal that comes before it listens. */
void clinux_take_hangup(void);

/* Makes this process leave no core dump, and closes its memory to debuggers and to other processes of
   its user: what it decrypts stays with it. */
int clinux_keep_memory_private(void);

/* The most variables, their most bytes, and the most descriptors that a fork gets. */
#define CLINUX_FORK_VARIABLES 4096
#define CLINUX_FORK_ROOM 65536
#define CLINUX_FORK_DESCRIPTORS 3

/* The two ends of a socket between one that asks for forks, ends[0], which waits so many milliseconds
   at most for each answer, and a fork server, ends[1]. */
int clinux_fork_sockets(int ends[2], int milliseconds);

/* Waits for the next answer of the fork server, of which the first is 0, when it is ready. */
int clinux_fork_answer(int socket);

/* Asks for a fork that has these variables, at least one, each with a NUL behind it, and these
   descriptors from 3 on: its process id. Returns 0 with errno set if it was certainly not made, and
   -1 if nobody knows. */
int clinux_fork_ask(int socket, const void *variables, unsigned long size, const int *descriptors,
                    int count);

/* Makes the forks that are asked for on `socket`, and exits when the other end is closed. Returns 0 in
   each fork, as a child of this process's parent (clone(2), CLONE_PARENT) and leader of a group of its
   own, and -1 here on failure. This process must have one thread. */
int clinux_fork_serve(int socket);

/* Returns a descriptor of an empty file in memory that has no name and ends with its last
   descriptor, or -1. A program that this one starts does not get it. */
int clinux_memory_file(void);

#endif
