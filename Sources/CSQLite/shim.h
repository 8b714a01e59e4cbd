#ifndef CSQLITE_SHIM_H
#define CSQLITE_SHIM_H

/* Debian builds SQLite with it; without the name, its header does not show it. */
#define SQLITE_ENABLE_PREUPDATE_HOOK 1
#include <sqlite3.h>

/* SQLITE_TRANSIENT is a cast, which Swift does not import. */

static inline int csqlite_bind_text(sqlite3_stmt *s, int i, const char *text, sqlite3_uint64 n) {
    return sqlite3_bind_text64(s, i, text, n, SQLITE_TRANSIENT, SQLITE_UTF8);
}

static inline int csqlite_bind_blob(sqlite3_stmt *s, int i, const void *bytes, sqlite3_uint64 n) {
    return sqlite3_bind_blob64(s, i, bytes, n, SQLITE_TRANSIENT);
}

/* Sets what holds for all connections of the process, before the first one; sqlite3_config has a
 * variable number of arguments, which Swift does not import. Nobody asks for SQLite's statistics of
 * memory, for which each allocation takes a lock. What undoes a statement stays in memory up to
 * 120 KiB, where SQLite would begin a temporary file at 64 KiB: each batch of an upload would. It
 * writes all of that at once, and cannot write 128 KiB at once (`seekAndWriteFd` in os_unix.c). */

static inline void csqlite_configure(void) {
    sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0);
    sqlite3_config(SQLITE_CONFIG_STMTJRNL_SPILL, 120 << 10);
}

/* strerror(3) without a header: one here would change what those who import Glibc see of it. */

static inline const char *csqlite_reason(int code) {
    extern char *strerror(int code);
    return strerror(code);
}

#endif
