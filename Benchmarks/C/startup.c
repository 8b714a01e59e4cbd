// Does the least that a program must do to find nothing due: opens the history, reads the open runs
// and the clocks, reads the job file to its end, and exits.
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <yaml.h>

static int fail(const char *what) {
    fprintf(stderr, "startup: %s\n", what);
    return 1;
}

static int read_rows(sqlite3 *database, const char *sql) {
    sqlite3_stmt *statement;
    if (sqlite3_prepare_v2(database, sql, -1, &statement, NULL) != SQLITE_OK) return -1;
    int rows = 0, bytes = 0, code;
    while ((code = sqlite3_step(statement)) == SQLITE_ROW) {
        for (int column = 0; column < sqlite3_column_count(statement); column++) {
            if (sqlite3_column_text(statement, column)) bytes += sqlite3_column_bytes(statement, column);
        }
        rows++;
    }
    sqlite3_finalize(statement);
    return code == SQLITE_DONE && bytes >= 0 ? rows : -1;
}

static int read_events(const char *path) {
    FILE *file = fopen(path, "rb");
    if (!file) return -1;
    yaml_parser_t parser;
    yaml_parser_initialize(&parser);
    yaml_parser_set_input_file(&parser, file);
    int events = 0, is_last = 0;
    while (!is_last) {
        yaml_event_t event;
        if (!yaml_parser_parse(&parser, &event)) {
            events = -1;
            break;
        }
        is_last = event.type == YAML_STREAM_END_EVENT;
        yaml_event_delete(&event);
        events++;
    }
    yaml_parser_delete(&parser);
    fclose(file);
    return events;
}

int main(int count, char **words) {
    if (count != 3) return fail("wants JOB_FILE HISTORY");
    if (read_events(words[1]) < 0) return fail("cannot read the job file");
    sqlite3 *database;
    if (sqlite3_open_v2(words[2], &database, SQLITE_OPEN_READWRITE, NULL) != SQLITE_OK)
        return fail("cannot open the history");
    const char *settings =
        "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON; BEGIN IMMEDIATE";
    if (sqlite3_exec(database, settings, NULL, NULL, NULL) != SQLITE_OK) return fail("cannot begin");
    if (read_rows(database, "SELECT * FROM job_records") < 0) return fail("cannot read the clocks");
    if (read_rows(database, "SELECT * FROM runs WHERE state IN ('enqueued', 'running') ORDER BY id") < 0)
        return fail("cannot read the runs");
    if (sqlite3_exec(database, "COMMIT", NULL, NULL, NULL) != SQLITE_OK) return fail("cannot end");
    sqlite3_close(database);
    return 0;
}
