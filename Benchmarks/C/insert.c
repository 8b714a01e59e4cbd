// insert FROM TO ROWS: reads the outbox of the store FROM into memory, then writes ROWS rows to a new
// file TO with the store's tables of samples and batches: the same rows, again and again at later
// times. Each transaction has as many rows as one of the store's own import, and is synced. It
// prints the microseconds of wall time that writing took, and the number of rows.
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { portion = 4096 };

struct row {
    char kind[32];
    sqlite3_int64 start, end;
    unsigned char tag[8];
    unsigned char *sealed;
    int size;
};

static sqlite3 *open_file(const char *path, int flags) {
    sqlite3 *file;
    if (sqlite3_open_v2(path, &file, flags, NULL) != SQLITE_OK) {
        fprintf(stderr, "insert: %s\n", sqlite3_errmsg(file));
        exit(66);
    }
    return file;
}

static void execute(sqlite3 *file, const char *sql) {
    if (sqlite3_exec(file, sql, NULL, NULL, NULL) == SQLITE_OK) return;
    fprintf(stderr, "insert: %s\n", sqlite3_errmsg(file));
    exit(74);
}

static sqlite3_stmt *prepare(sqlite3 *file, const char *sql) {
    sqlite3_stmt *statement;
    if (sqlite3_prepare_v2(file, sql, -1, &statement, NULL) == SQLITE_OK) return statement;
    fprintf(stderr, "insert: %s\n", sqlite3_errmsg(file));
    exit(74);
}

static long long now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * 1000000LL + time.tv_nsec / 1000;
}

int main(int count, char **words) {
    if (count != 4) return 64;
    sqlite3 *from = open_file(words[1], SQLITE_OPEN_READONLY);
    size_t rows = 0, room = 1 << 20;
    struct row *all = malloc(room * sizeof *all);
    sqlite3_stmt *read =
        prepare(from, "SELECT kind, start_s, end_s, tag, sealed FROM outbox ORDER BY id");
    while (sqlite3_step(read) == SQLITE_ROW) {
        if (rows == room) all = realloc(all, (room *= 2) * sizeof *all);
        struct row *row = &all[rows++];
        snprintf(row->kind, sizeof row->kind, "%s", sqlite3_column_text(read, 0));
        row->start = sqlite3_column_int64(read, 1);
        row->end = sqlite3_column_int64(read, 2);
        memcpy(row->tag, sqlite3_column_blob(read, 3), sizeof row->tag);
        row->size = sqlite3_column_bytes(read, 4);
        row->sealed = malloc(row->size + 1);
        memcpy(row->sealed, sqlite3_column_blob(read, 4), row->size);
    }
    sqlite3_finalize(read);

    sqlite3 *to = open_file(words[2], SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE);
    execute(to, "PRAGMA auto_vacuum = INCREMENTAL; PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;");
    sqlite3_stmt *schema =
        prepare(from, "SELECT sql FROM sqlite_schema WHERE tbl_name IN ('batches', 'outbox')"
                      " AND type IN ('table', 'index') AND sql IS NOT NULL ORDER BY type DESC");
    while (sqlite3_step(schema) == SQLITE_ROW)
        execute(to, (const char *)sqlite3_column_text(schema, 0));
    sqlite3_finalize(schema);
    size_t wanted = (size_t)atoll(words[3]);
    if (rows == 0) return 65;

    // The same settings as those of the import.
    execute(to, "PRAGMA wal_autocheckpoint = 16384; PRAGMA cache_size = 768;");
    long long start = now();
    sqlite3_stmt *write = prepare(to, "INSERT INTO outbox (kind, start_s, end_s, tag, sealed)"
                                      " VALUES (?, ?, ?, ?, ?) ON CONFLICT DO NOTHING");
    execute(to, "BEGIN IMMEDIATE");
    for (size_t index = 0; index < wanted; index++) {
        struct row *row = &all[index % rows];
        sqlite3_int64 later = (sqlite3_int64)(index / rows) * 400000000;
        sqlite3_bind_text(write, 1, row->kind, -1, SQLITE_STATIC);
        sqlite3_bind_int64(write, 2, row->start + later);
        sqlite3_bind_int64(write, 3, row->end + later);
        sqlite3_bind_blob(write, 4, row->tag, sizeof row->tag, SQLITE_STATIC);
        sqlite3_bind_blob(write, 5, row->sealed, row->size, SQLITE_STATIC);
        if (sqlite3_step(write) != SQLITE_DONE) {
            fprintf(stderr, "insert: %s\n", sqlite3_errmsg(to));
            return 74;
        }
        sqlite3_reset(write);
        if (index % portion == portion - 1) execute(to, "COMMIT; BEGIN IMMEDIATE");
    }
    execute(to, "COMMIT; PRAGMA wal_checkpoint(PASSIVE);");
    printf("%lld %zu\n", now() - start, wanted);
    sqlite3_finalize(write);
    return 0;
}
