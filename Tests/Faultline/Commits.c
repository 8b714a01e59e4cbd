/* The ends of transactions. Calls the SQLite that the program has loaded; it is not linked here. */
#define _GNU_SOURCE
#include "Strike.h"

#include <errno.h>
#include <string.h>
#include <strings.h>

/* From sqlite3.h, whose values never change. */
enum { SQLITE_IOERR = 10, SQLITE_FULL = 13 };

typedef struct sqlite3 sqlite3;
typedef struct sqlite3_stmt sqlite3_stmt;
typedef int (*callback)(void *, int, char **, char **);

int sqlite3_step(sqlite3_stmt *statement);
int sqlite3_stmt_busy(sqlite3_stmt *statement);
int sqlite3_stmt_readonly(sqlite3_stmt *statement);
const char *sqlite3_sql(sqlite3_stmt *statement);
sqlite3 *sqlite3_db_handle(sqlite3_stmt *statement);
int sqlite3_get_autocommit(sqlite3 *file);
int sqlite3_exec(sqlite3 *file, const char *script, callback row, void *context, char **message);

/* How deep this thread is inside these wrappers: one `sqlite3_exec` with its steps is one commit.
   */
static _Thread_local int depth;

/* Returns whether a text begins with a word that ends a transaction. */
static int ends_transaction(const char *text) {
    if (!text) return 0;
    while (*text == ' ' || *text == '\n' || *text == '\t') text++;
    return strncasecmp(text, "COMMIT", 6) == 0 || strncasecmp(text, "END", 3) == 0;
}

/* Looks up a function of the SQLite that the program has loaded; null if it has none. */
#define LOADED(name)                                                                               \
    static __typeof__(&name) loaded_##name;                                                        \
    if (!loaded_##name) loaded_##name = (__typeof__(&name))dlsym(RTLD_DEFAULT, #name)

/* Returns whether a statement that is about to begin ends a transaction or writes outside one. */
static int is_commit(sqlite3_stmt *statement) {
    LOADED(sqlite3_stmt_busy);
    LOADED(sqlite3_sql);
    LOADED(sqlite3_stmt_readonly);
    LOADED(sqlite3_db_handle);
    LOADED(sqlite3_get_autocommit);
    if (loaded_sqlite3_stmt_busy(statement)) return 0;
    if (ends_transaction(loaded_sqlite3_sql(statement))) return 1;
    return !loaded_sqlite3_stmt_readonly(statement)
        && loaded_sqlite3_get_autocommit(loaded_sqlite3_db_handle(statement));
}

/* Returns whether a script ends a transaction or writes outside one. A script that begins a
   transaction does not count: the end is still to come. */
static int commits(sqlite3 *file, const char *script) {
    static const char *const words[] = {"INSERT ", "UPDATE ", "DELETE ", "REPLACE ",
                                        "CREATE ", "DROP ",   "ALTER ",  "VACUUM"};
    LOADED(sqlite3_get_autocommit);
    if (ends_transaction(script)) return 1;
    if (!script || !loaded_sqlite3_get_autocommit(file)) return 0;
    while (*script == ' ' || *script == '\n' || *script == '\t') script++;
    for (size_t index = 0; index < sizeof words / sizeof *words; index++)
        if (strncasecmp(script, words[index], strlen(words[index])) == 0) return 1;
    return 0;
}

/* Returns SQLite's code for a system error. */
static int code_of(int error) {
    return error == ENOSPC || error == EDQUOT ? SQLITE_FULL : SQLITE_IOERR;
}

int sqlite3_step(sqlite3_stmt *statement) {
    NEXT(sqlite3_step);
    if (depth || !faultline_is_on() || !is_commit(statement)) return next(statement);
    struct passing passing;
    if (faultline_begin(&passing, FAULTLINE_COMMIT, NULL)) return code_of(passing.error);
    int code = next(statement);
    faultline_end(&passing, code);
    return passing.error ? code_of(passing.error) : code;
}

int sqlite3_exec(sqlite3 *file, const char *script, callback row, void *context, char **message) {
    NEXT(sqlite3_exec);
    if (depth || !faultline_is_on() || !commits(file, script)) {
        depth++;
        int code = next(file, script, row, context, message);
        depth--;
        return code;
    }
    struct passing passing;
    if (faultline_begin(&passing, FAULTLINE_COMMIT, NULL)) return code_of(passing.error);
    depth++;
    int code = next(file, script, row, context, message);
    depth--;
    faultline_end(&passing, code);
    return passing.error ? code_of(passing.error) : code;
}
