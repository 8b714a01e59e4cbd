// execute DATABASE RUNS: runs the SQL from standard input as one script, which finds RUNS in the
// table `size`.
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>

int main(int count, char **words) {
    if (count != 3) return 64;
    static char script[1 << 20];
    size_t length = fread(script, 1, sizeof script - 1, stdin);
    script[length] = 0;
    sqlite3 *database;
    if (sqlite3_open(words[1], &database) != SQLITE_OK) return 69;
    char *message = NULL, prelude[128];
    snprintf(prelude, sizeof prelude, "CREATE TEMP TABLE size AS SELECT %ld AS runs", atol(words[2]));
    if (sqlite3_exec(database, prelude, NULL, NULL, NULL) != SQLITE_OK) return 1;
    if (sqlite3_exec(database, script, NULL, NULL, &message) != SQLITE_OK) {
        fprintf(stderr, "execute: %s\n", message ? message : "failed");
        return 1;
    }
    return sqlite3_close(database) == SQLITE_OK ? 0 : 1;
}
