// metrics STORE PLAIN COUNT END: writes COUNT invented metrics of the ten years before END
// (seconds since 1970) into the store's table `metrics`. It encrypts them with the key in
// CLARITY_JOBS_KEY as the program does, and writes the same numbers in plain text to a new file
// PLAIN, with an index by type and time. Most are heart rates; each day has one activity and one
// night. Only reading is measured, so nothing is synced.
#include <sodium.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { days = 3652, day_s = 86400 };

static unsigned char sealing[32], tagging[32];
static sqlite3 *store, *plain;
static sqlite3_stmt *sealed_row, *plain_row;

static void execute(sqlite3 *file, const char *sql) {
    if (sqlite3_exec(file, sql, NULL, NULL, NULL) == SQLITE_OK) return;
    fprintf(stderr, "metrics: %s\n", sqlite3_errmsg(file));
    exit(74);
}

static sqlite3 *open_file(const char *path) {
    sqlite3 *file;
    if (sqlite3_open(path, &file) != SQLITE_OK) exit(66);
    execute(file, "PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA cache_size = -1500000;");
    return file;
}

static sqlite3_stmt *prepare(sqlite3 *file, const char *sql) {
    sqlite3_stmt *statement;
    if (sqlite3_prepare_v2(file, sql, -1, &statement, NULL) == SQLITE_OK) return statement;
    fprintf(stderr, "metrics: %s\n", sqlite3_errmsg(file));
    exit(74);
}

static size_t put(unsigned char *at, const void *bytes, size_t count) {
    memcpy(at, bytes, count);
    return count;
}

static size_t counted(unsigned char *at, const char *text) {
    long long count = (long long)strlen(text);
    size_t size = put(at, &count, 8);
    return size + put(at + size, text, (size_t)count);
}

struct number {
    unsigned char code;
    double value;
};

// Encrypts a metric in the form of `CachedRow` and `MetricNumbers`, and writes it to both files.
static void add(const char *type, long long at_ms, long long end_ms, const struct number *numbers, int count) {
    char id[37], json[512], date[32];
    unsigned char random[16], row[256], content[1024], form[1024], digest[16], out[1200];
    randombytes_buf(random, sizeof random);
    const unsigned char *r = random;
    snprintf(id, sizeof id, "%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x", r[0], r[1],
             r[2], r[3], r[4], r[5], r[6], r[7], r[8], r[9], r[10], r[11], r[12], r[13], r[14], r[15]);
    time_t seconds = at_ms / 1000;
    strftime(date, sizeof date, "%Y-%m-%dT%H:%M:%SZ", gmtime(&seconds));
    int length = snprintf(json, sizeof json,
                          "{\"id\":\"%s\",\"type\":\"%s\",\"value\":%g,\"unit\":\"1\",\"timestamp\":\"%s\","
                          "\"source\":\"Invented Watch\",\"quality_score\":0.8}",
                          id, type, numbers[0].value, date);
    size_t identity = counted(row, "metrics");
    identity += counted(row + identity, id);
    identity += counted(row + identity, type);
    identity += put(row + identity, &at_ms, 8);

    size_t size = 3;
    form[size++] = (unsigned char)count;
    for (int i = 0; i < count; i++) {
        form[size++] = numbers[i].code;
        size += put(form + size, &numbers[i].value, 8);
    }
    if (end_ms > at_ms) {
        size += put(form + size, &at_ms, 8);
        size += put(form + size, &end_ms, 8);
    }
    unsigned short head = (unsigned short)(size - 3);
    form[0] = 1;
    memcpy(form + 1, &head, 2);
    size += put(form + size, json, (size_t)length);

    long long json_count = length;
    size_t whole = put(content, row, identity);
    whole += put(content + whole, &json_count, 8);
    whole += put(content + whole, json, (size_t)length);
    crypto_generichash(digest, sizeof digest, content, whole, tagging, sizeof tagging);
    unsigned long long sealed_count;
    randombytes_buf(out, 24);
    crypto_aead_xchacha20poly1305_ietf_encrypt(out + 24, &sealed_count, form, size, row, identity, NULL, out,
                                               sealing);

    sqlite3_bind_text(sealed_row, 1, id, -1, SQLITE_STATIC);
    sqlite3_bind_text(sealed_row, 2, type, -1, SQLITE_STATIC);
    sqlite3_bind_int64(sealed_row, 3, at_ms);
    sqlite3_bind_blob(sealed_row, 4, digest, sizeof digest, SQLITE_STATIC);
    sqlite3_bind_blob(sealed_row, 5, out, (int)(24 + sealed_count), SQLITE_STATIC);
    sqlite3_bind_int64(sealed_row, 6, at_ms);
    if (sqlite3_step(sealed_row) != SQLITE_DONE) {
        fprintf(stderr, "metrics: %s\n", sqlite3_errmsg(store));
        exit(74);
    }
    sqlite3_reset(sealed_row);
    for (int i = 0; i < count; i++) {
        sqlite3_bind_text(plain_row, 1, type, -1, SQLITE_STATIC);
        sqlite3_bind_int64(plain_row, 2, at_ms);
        sqlite3_bind_int(plain_row, 3, numbers[i].code);
        sqlite3_bind_double(plain_row, 4, numbers[i].value);
        sqlite3_step(plain_row);
        sqlite3_reset(plain_row);
    }
}

int main(int count, char **words) {
    const char *hex = getenv("CLARITY_JOBS_KEY");
    unsigned char key[32];
    if (count != 5 || sodium_init() < 0 || hex == NULL) return 64;
    if (sodium_hex2bin(key, sizeof key, hex, strlen(hex), NULL, NULL, NULL) != 0) return 64;
    crypto_kdf_derive_from_key(sealing, sizeof sealing, 1, "clarityj", key);
    crypto_kdf_derive_from_key(tagging, sizeof tagging, 2, "clarityj", key);
    long long wanted = atoll(words[3]), end = atoll(words[4]);

    store = open_file(words[1]);
    plain = open_file(words[2]);
    execute(plain, "CREATE TABLE numbers (type TEXT, at_ms INTEGER, measure INTEGER, value REAL);");
    sealed_row = prepare(store, "INSERT INTO metrics (id, type, timestamp_ms, digest, sealed, synced_at_ms)"
                                " VALUES (?, ?, ?, ?, ?, ?)");
    plain_row = prepare(plain, "INSERT INTO numbers VALUES (?, ?, ?, ?)");
    execute(store, "BEGIN");
    execute(plain, "BEGIN");
    long long written = 0, midnight = end - end % day_s + day_s;
    for (int day = 0; day < days; day++) {
        long long start = (midnight - (long long)(days - day) * day_s) * 1000;
        long long of_day = wanted * (day + 1) / days - written;
        const struct number activity[] = {{20, 4000 + written % 9000}, {21, 5.1}, {22, 310}, {23, 30}, {24, 7},
                                          {27, 52 + day % 9}};
        const struct number night[] = {{40, 380 + day % 90}, {41, 0.91}, {43, 2}, {45, 240}, {46, 80}, {47, 100}};
        add("activity_level", start, start + day_s * 1000LL, activity, 6);
        add("sleep_analysis", start - 2 * 3600000LL, start + 5 * 3600000LL, night, 6);
        for (long long i = 2; i < of_day; i++) {
            long long at = start + i * (day_s * 1000LL / (of_day + 1)) / 1000 * 1000;
            struct number one = {1, 50 + (i * 7 + day) % 70};
            const char *type = "heart_rate";
            if (i % 67 == 0) {
                type = "blood_oxygen";
                one = (struct number){5, 94 + i % 6};
            } else if (i % 71 == 0) {
                type = "respiratory_rate";
                one = (struct number){6, 12 + i % 7};
            } else if (i % 211 == 0) {
                type = "heart_rate_variability";
                one = (struct number){2, 30 + i % 50};
            }
            add(type, at, at, &one, 1);
        }
        written += of_day > 2 ? of_day : 2;
    }
    char note[256];
    snprintf(note, sizeof note, "INSERT OR REPLACE INTO pulls (name, ended_at_ms, whole_at_ms) "
                                "VALUES ('metrics', %lld, %lld)", end * 1000, end * 1000);
    execute(store, note);
    execute(store, "COMMIT; PRAGMA journal_mode = WAL;");
    execute(plain, "CREATE INDEX numbers_type ON numbers (type, at_ms); COMMIT; PRAGMA journal_mode = WAL;");
    printf("%lld\n", written);
    return sqlite3_close(store) == SQLITE_OK ? 0 : sqlite3_finalize(sealed_row);
}
