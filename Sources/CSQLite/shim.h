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

/* strerror(3) without a header: one here would change what those who import Glibc see of it. */

static inline const char *csqlite_reason(int code) {
    extern char *strerror(int code);
    return strerror(code);
}

#endif
