// upload URL BODIES: posts each body in the file BODIES (its length in decimal on a line, then its
// bytes) over one libcurl connection, and reads the answers into memory. It writes the
// microseconds of processor time that the requests took, then of wall time; reading the file does
// not count.
//
// upload URL make COUNT BATCH: does the same with bodies that it makes on the way: ids with
// libsodium, dates with gmtime_r, the rest with snprintf.
//
// upload URL fhir COUNT BATCH: the same with bundles of Observations.
//
// upload URL queue COUNT BATCH FILE STORE: the same with samples that it takes out of a new file with
// the tables of samples and batches of the store STORE, where each is a sealed row. As an upload job
// does, it puts the rows of up to four batches into them in one synced transaction, in which it also
// records the answers to the last four, and opens each row. Making the file does not count.
//
// upload URL file COUNT BATCH FILE STORE: makes that file, and sends nothing.
//
// upload URL once BATCH BATCH FILE: sends one batch of the samples in that file.
#include <curl/curl.h>
#include <sodium.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

static char answer[1024 * 1024];
static size_t answered;

static size_t take(char *bytes, size_t size, size_t count, void *data) {
    (void)data;
    if (answered + size * count > sizeof answer) return 0;
    memcpy(answer + answered, bytes, size * count);
    answered += size * count;
    return size * count;
}

static long long processor(void) {
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return (usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1000000LL + usage.ru_utime.tv_usec +
           usage.ru_stime.tv_usec;
}

static long long wall(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * 1000000LL + time.tv_nsec / 1000;
}

static void hex(char *text, const unsigned char *bytes) {
    for (int index = 0, at = 0; index < 16; index++) {
        if (index == 4 || index == 6 || index == 8 || index == 10) text[at++] = '-';
        text[at++] = "0123456789abcdef"[bytes[index] >> 4];
        text[at++] = "0123456789abcdef"[bytes[index] & 15];
        text[at] = 0;
    }
}

static void date(char *text, time_t time) {
    struct tm parts;
    gmtime_r(&time, &parts);
    snprintf(text, 80, "%04d-%02d-%02dT%02d:%02d:%02dZ", parts.tm_year + 1900, parts.tm_mon + 1,
             parts.tm_mday, parts.tm_hour, parts.tm_min, parts.tm_sec);
}

struct sample {
    time_t time;
    double value;
};

static struct sample sample(int index) {
    return (struct sample){1577836800 + 60 * (time_t)index, 50 + index % 1000 / 10.0};
}

static size_t make(char *body, size_t room, const struct sample *samples, int count) {
    const char *user = "00000000-0000-4000-8000-000000000001";
    size_t at = snprintf(body, room, "{\"user_id\":\"%s\",\"metrics\":[", user);
    for (int index = 0; index < count; index++) {
        double value = samples[index].value;
        time_t time = samples[index].time;
        char content[128], id[40], when[80];
        unsigned char hash[16];
        int size = snprintf(content, sizeof content, "%s heart_rate %lld %.1f", user,
                            (long long)time, value);
        crypto_generichash(hash, sizeof hash, (unsigned char *)content, size, NULL, 0);
        hex(id, hash);
        date(when, time);
        at += snprintf(body + at, room - at,
                       "%s{\"metric_id\":\"%s\",\"metric_type\":\"heart_rate\",\"biometric_data\":"
                       "{\"heart_rate\":%.1f},\"device_id\":\"Invented Watch\",\"metadata\":{\"start_date\":\"%s\","
                       "\"end_date\":\"%s\"},\"created_at\":\"%s\"}",
                       index > 0 ? "," : "", id, value, when, when, when);
    }
    return at + snprintf(body + at, room - at,
                         "],\"upload_source\":\"apple_health\","
                         "\"client_timestamp\":\"2020-01-01T00:00:00Z\",\"sync_token\":\"1\"}");
}

static size_t make_bundle(char *body, size_t room, int first, int count) {
    size_t at = snprintf(body, room, "{\"resourceType\":\"Bundle\",\"type\":\"batch\",\"entry\":[");
    for (int index = first; index < first + count; index++) {
        double value = sample(index).value;
        time_t time = sample(index).time;
        char content[128], id[40], when[80];
        unsigned char hash[16];
        int size = snprintf(content, sizeof content, "heart_rate %lld %.1f", (long long)time, value);
        crypto_generichash(hash, sizeof hash, (unsigned char *)content, size, NULL, 0);
        hex(id, hash);
        date(when, time);
        at += snprintf(
            body + at, room - at,
            "%s{\"resource\":{\"resourceType\":\"Observation\",\"id\":\"%s\",\"status\":\"final\","
            "\"category\":[{\"coding\":[{\"system\":\"http://terminology.hl7.org/CodeSystem/"
            "observation-category\",\"code\":\"vital-signs\"}]}],\"code\":{\"coding\":[{\"system\":"
            "\"http://loinc.org\",\"code\":\"8867-4\",\"display\":\"Heart rate\"},{\"system\":"
            "\"http://developer.apple.com/documentation/healthkit\",\"code\":"
            "\"HKQuantityTypeIdentifierHeartRate\"}],\"text\":\"HeartRate\"},\"subject\":{\"reference\":"
            "\"Patient/p1\"},\"performer\":[{\"display\":\"Invented Watch\"}],\"effectiveDateTime\":\"%s\","
            "\"valueQuantity\":{\"value\":%.1f,\"unit\":\"count/min\",\"system\":"
            "\"http://unitsofmeasure.org\",\"code\":\"/min\"}},\"request\":{\"method\":\"PUT\",\"url\":"
            "\"Observation/%s\"}}",
            index > first ? "," : "", id, when, value, id);
    }
    return at + snprintf(body + at, room - at, "]}");
}

enum { at_once = 4, most = 1024, plain_size = 64, nonce_size = 24, sealed_size = plain_size + 40 };

static sqlite3 *file;
static const unsigned char key[32] = "the key of samples, all invented";

static void check(int code) {
    if (code == SQLITE_OK || code == SQLITE_ROW || code == SQLITE_DONE) return;
    fprintf(stderr, "upload: %s\n", sqlite3_errmsg(file));
    exit(74);
}

static sqlite3_stmt *prepare(const char *sql) {
    sqlite3_stmt *statement;
    check(sqlite3_prepare_v2(file, sql, -1, &statement, NULL));
    return statement;
}

static void run(sqlite3_stmt *statement) {
    check(sqlite3_step(statement));
    sqlite3_reset(statement);
}

// What is authenticated with the value of a row: as long as the product's.
static void identify(unsigned char *identity, sqlite3_int64 start) {
    memset(identity, 'i', 56);
    memcpy(identity, &start, sizeof start);
}

static void open_file(const char *path) {
    check(sqlite3_open(path, &file));
    check(sqlite3_exec(file,
                       "PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON;"
                       "PRAGMA wal_autocheckpoint = 16384; PRAGMA cache_size = 768;",
                       NULL, NULL, NULL));
}

static void make_file(const char *path, const char *store, int count) {
    check(sqlite3_open(path, &file));
    check(sqlite3_exec(file,
                       "PRAGMA auto_vacuum = INCREMENTAL; PRAGMA journal_mode = WAL;",
                       NULL, NULL, NULL));
    sqlite3 *from;
    if (sqlite3_open_v2(store, &from, SQLITE_OPEN_READONLY, NULL) != SQLITE_OK) exit(66);
    sqlite3_stmt *schema;
    const char *tables = "SELECT sql FROM sqlite_schema WHERE tbl_name IN ('batches', 'outbox')"
                         " AND type IN ('table', 'index') AND sql IS NOT NULL ORDER BY type DESC";
    if (sqlite3_prepare_v2(from, tables, -1, &schema, NULL) != SQLITE_OK) exit(66);
    while (sqlite3_step(schema) == SQLITE_ROW)
        check(sqlite3_exec(file, (const char *)sqlite3_column_text(schema, 0), NULL, NULL, NULL));
    sqlite3_finalize(schema);
    sqlite3_close(from);
    check(sqlite3_exec(file, "BEGIN", NULL, NULL, NULL));
    sqlite3_stmt *insert = prepare("INSERT INTO outbox (kind, start_s, end_s, tag, sealed)"
                                   " VALUES ('heart_rate', ?1, ?1, ?2, ?3)");
    for (int index = 0; index < count; index++) {
        struct sample new = sample(index);
        sqlite3_int64 start = new.time;
        unsigned char tag[8], identity[56], plain[plain_size] = {1}, sealed[sealed_size];
        memcpy(plain + 1, &new.value, sizeof new.value);
        randombytes_buf(tag, sizeof tag);
        randombytes_buf(sealed, nonce_size);
        identify(identity, start);
        crypto_aead_xchacha20poly1305_ietf_encrypt(sealed + nonce_size, NULL, plain, plain_size,
                                                   identity, sizeof identity, NULL, sealed, key);
        sqlite3_bind_int64(insert, 1, start);
        sqlite3_bind_blob(insert, 2, tag, sizeof tag, SQLITE_STATIC);
        sqlite3_bind_blob(insert, 3, sealed, sizeof sealed, SQLITE_STATIC);
        run(insert);
    }
    sqlite3_finalize(insert);
    check(sqlite3_exec(file, "COMMIT; PRAGMA wal_checkpoint(TRUNCATE)", NULL, NULL, NULL));
    sqlite3_close(file);
}

// Puts the newest samples and a quarter of the oldest into a new batch, and opens them.
static sqlite3_int64 draw(struct sample *samples, int count) {
    static sqlite3_stmt *newest, *oldest, *begin, *put, *read;
    if (!read) {
#define QUEUED                                                                                     \
    "SELECT id FROM outbox WHERE state = 'queued' AND batch_id IS NULL AND kind = 'heart_rate'"    \
    " AND failures = 0 ORDER BY start_s "
        newest = prepare(QUEUED "DESC, id DESC LIMIT ?");
        oldest = prepare(QUEUED "ASC, id ASC LIMIT ?");
        begin = prepare("INSERT INTO batches (client_timestamp_ms, owner) VALUES (1, 1)");
        put = prepare("UPDATE outbox SET state = 'batched', batch_id = ? WHERE id = ?");
        read = prepare("SELECT start_s, sealed FROM outbox WHERE id = ?");
    }
    sqlite3_int64 rows[most];
    int found = 0;
    for (int part = 0; part < 2; part++) {
        sqlite3_stmt *statement = part ? oldest : newest;
        sqlite3_bind_int(statement, 1, part ? count / 4 : count - count / 4);
        while (sqlite3_step(statement) == SQLITE_ROW && found < count)
            rows[found++] = sqlite3_column_int64(statement, 0);
        sqlite3_reset(statement);
    }
    run(begin);
    sqlite3_int64 batch = sqlite3_last_insert_rowid(file);
    for (int index = 0; index < found; index++) {
        sqlite3_bind_int64(put, 1, batch);
        sqlite3_bind_int64(put, 2, rows[index]);
        run(put);
        sqlite3_bind_int64(read, 1, rows[index]);
        check(sqlite3_step(read));
        unsigned char identity[56], plain[plain_size];
        samples[index].time = sqlite3_column_int64(read, 0);
        identify(identity, samples[index].time);
        const unsigned char *sealed = sqlite3_column_blob(read, 1);
        if (crypto_aead_xchacha20poly1305_ietf_decrypt(plain, NULL, NULL, sealed + nonce_size,
                                                       sealed_size - nonce_size, identity,
                                                       sizeof identity, sealed, key) != 0)
            exit(65);
        memcpy(&samples[index].value, plain + 1, sizeof samples[index].value);
        sqlite3_reset(read);
    }
    if (found < count) exit(1);
    return batch;
}

int main(int words, char **word) {
    const char *mode = words > 4 ? word[2] : "";
    int is_fhir = words == 5 && strcmp(mode, "fhir") == 0;
    int is_once = words == 6 && strcmp(mode, "once") == 0;
    int is_file = words == 7 && strcmp(mode, "file") == 0;
    int is_queue = is_once || is_file || (words == 7 && strcmp(mode, "queue") == 0);
    int makes = is_fhir || is_queue || (words == 5 && strcmp(mode, "make") == 0);
    if (words != 3 && !makes) return 64;
    int batch = makes ? atoi(word[4]) : 0;
    if (batch > most) return 64;
    size_t bodies = 0, capacity = 0, size;
    char **body = NULL;
    size_t *sizes = NULL;
    if (makes) {
        bodies = atoi(word[3]) / batch;
    } else {
        FILE *file = fopen(word[2], "r");
        if (!file) return 66;
        while (fscanf(file, "%zu\n", &size) == 1) {
            if (bodies == capacity) {
                capacity = capacity ? 2 * capacity : 1024;
                body = realloc(body, capacity * sizeof *body);
                sizes = realloc(sizes, capacity * sizeof *sizes);
            }
            body[bodies] = malloc(size);
            sizes[bodies] = size;
            if (fread(body[bodies], 1, size, file) != size) return 65;
            bodies++;
        }
        fclose(file);
    }
    static char made[1024 * 1024];
    static struct sample samples[at_once][most];
    sqlite3_int64 drawn[at_once] = {0};
    sqlite3_stmt *settle = NULL;
    if (is_queue) {
        if (sodium_init() < 0) return 70;
        if (!is_once) make_file(word[5], word[6], atoi(word[3]));
        if (is_file) return 0;
        open_file(word[5]);
        settle = prepare("UPDATE batches SET state = 'accepted', processing_id = 'p', "
                         "accepted_at_ms = 2 WHERE id = ?");
    }
    long long cpu = processor(), start = wall();
    if (sodium_init() < 0) return 70;
    curl_global_init(CURL_GLOBAL_DEFAULT);
    CURL *curl = curl_easy_init();
    struct curl_slist *fields = curl_slist_append(NULL, "Authorization: Bearer invented");
    fields = curl_slist_append(fields, "Accept: application/json");
    fields = curl_slist_append(fields, "Content-Type: application/json");
    curl_easy_setopt(curl, CURLOPT_URL, word[1]);
    curl_easy_setopt(curl, CURLOPT_HTTPHEADER, fields);
    curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, take);
    for (size_t index = 0; index < bodies; index++) {
        long status = 0;
        answered = 0;
        struct sample *own = samples[index % at_once];
        if (is_queue && index % at_once == 0) {
            check(sqlite3_exec(file, "BEGIN IMMEDIATE", NULL, NULL, NULL));
            for (size_t place = 0; place < at_once && index + place < bodies; place++) {
                if (drawn[place]) {
                    sqlite3_bind_int64(settle, 1, drawn[place]);
                    run(settle);
                }
                drawn[place] = draw(samples[place], batch);
            }
            check(sqlite3_exec(file, "COMMIT", NULL, NULL, NULL));
        } else if (makes && !is_queue) {
            for (int place = 0; place < batch; place++) own[place] = sample(index * batch + place);
        }
        size = is_fhir ? make_bundle(made, sizeof made, index * batch, batch)
               : makes ? make(made, sizeof made, own, batch)
                       : sizes[index];
        curl_easy_setopt(curl, CURLOPT_POSTFIELDS, makes ? made : body[index]);
        curl_easy_setopt(curl, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)size);
        if (curl_easy_perform(curl) != CURLE_OK) return 69;
        curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &status);
        if (status != (is_fhir ? 200 : 201)) return 1;
    }
    if (is_queue) {
        check(sqlite3_exec(file, "BEGIN IMMEDIATE", NULL, NULL, NULL));
        for (size_t place = 0; place < at_once && drawn[place]; place++) {
            sqlite3_bind_int64(settle, 1, drawn[place]);
            run(settle);
        }
        check(sqlite3_exec(file, "COMMIT; PRAGMA wal_checkpoint(PASSIVE)", NULL, NULL, NULL));
        for (sqlite3_stmt *each; (each = sqlite3_next_stmt(file, NULL));) sqlite3_finalize(each);
        check(sqlite3_close(file));
    }
    printf("%lld %lld\n", processor() - cpu, wall() - start);
    return 0;
}
