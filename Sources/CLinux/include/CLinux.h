#ifndef CLINUX_H
#define CLINUX_H

/* What Glibc's Swift overlay does not show: calls behind _GNU_SOURCE and variadic functions. */

/* pidfd_open(2): a descriptor that becomes readable when process `pid` ends; -1 and errno on failure. */
int clinux_pidfd_open(int pid);

#endif
