// upload URL BODIES: posts each body in the file BODIES (its length in decimal on a line, then its
// bytes) over one libcurl connection, and reads the answers into memory. It writes the
// microseconds of processor time that the requests took, then of wall time; reading the file does
// not count.
//
// upload URL make COUNT BATCH: does the same with bodies that it makes on the way: ids with
// libsodium, dates with gmtime_r, the rest with snprintf.
//
// upload URL fhir COUNT BATCH: the same with bundles of Observations.
#include <curl/curl.h>
#include <sodium.h>
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

static size_t make(char *body, size_t room, int first, int count) {
    const char *user = "00000000-0000-4000-8000-000000000001";
    size_t at = snprintf(body, room, "{\"user_id\":\"%s\",\"metrics\":[", user);
    for (int index = first; index < first + count; index++) {
        double value = 50 + index % 1000 / 10.0;
        time_t time = 1577836800 + 60 * (time_t)index;
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
                       index > first ? "," : "", id, value, when, when, when);
    }
    return at + snprintf(body + at, room - at,
                         "],\"upload_source\":\"apple_health\","
                         "\"client_timestamp\":\"2020-01-01T00:00:00Z\",\"sync_token\":\"1\"}");
}

static size_t make_bundle(char *body, size_t room, int first, int count) {
    size_t at = snprintf(body, room, "{\"resourceType\":\"Bundle\",\"type\":\"batch\",\"entry\":[");
    for (int index = first; index < first + count; index++) {
        double value = 50 + index % 1000 / 10.0;
        time_t time = 1577836800 + 60 * (time_t)index;
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

int main(int words, char **word) {
    int is_fhir = words == 5 && strcmp(word[2], "fhir") == 0;
    int makes = is_fhir || (words == 5 && strcmp(word[2], "make") == 0);
    if (words != 3 && !makes) return 64;
    size_t bodies = 0, capacity = 0, size;
    char **body = NULL;
    size_t *sizes = NULL;
    if (makes) {
        bodies = atoi(word[3]) / atoi(word[4]);
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
        int batch = makes ? atoi(word[4]) : 0;
        size = is_fhir ? make_bundle(made, sizeof made, index * batch, batch)
               : makes ? make(made, sizeof made, index * batch, batch)
                       : sizes[index];
        curl_easy_setopt(curl, CURLOPT_POSTFIELDS, makes ? made : body[index]);
        curl_easy_setopt(curl, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)size);
        if (curl_easy_perform(curl) != CURLE_OK) return 69;
        curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &status);
        if (status != (is_fhir ? 200 : 201)) return 1;
    }
    printf("%lld %lld\n", processor() - cpu, wall() - start);
    return 0;
}
