// month PLAIN FROM TO ROUNDS: reads all columns of the rows of `numbers` in PLAIN that start in a
// range of seconds since 1970, by the index on their start. It prints their number, and for each round
// the microseconds that it took.
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static long long now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * 1000000LL + time.tv_nsec / 1000;
}

int main(int count, char **words) {
    sqlite3 *file;
    sqlite3_stmt *statement;
    if (count != 5) return 64;
    if (sqlite3_open_v2(words[1], &file, SQLITE_OPEN_READONLY, NULL) != SQLITE_OK) return 66;
    if (sqlite3_prepare_v2(file, "SELECT * FROM numbers WHERE start_s >= ? AND start_s < ? ORDER BY start_s",
                           -1, &statement, NULL) != SQLITE_OK)
        return 65;
    int columns = sqlite3_column_count(statement);
    sqlite3_bind_int64(statement, 1, atoll(words[2]));
    sqlite3_bind_int64(statement, 2, atoll(words[3]));
    // The first round fills the cache and does not count.
    for (int round = 0; round <= atoi(words[4]); round++) {
        long long begun = now(), rows = 0, bytes = 0;
        for (; sqlite3_step(statement) == SQLITE_ROW; rows++) {
            for (int column = 0; column < columns; column++) {
                if (sqlite3_column_type(statement, column) == SQLITE_TEXT)
                    bytes += sqlite3_column_text(statement, column)[0];
                else
                    bytes += sqlite3_column_double(statement, column) > 0;
            }
        }
        sqlite3_reset(statement);
        if (round == 0) printf("%lld\n", rows);
        else printf("%lld\n", now() - begun);
        if (bytes < 0) return 70;
    }
    return 0;
}
