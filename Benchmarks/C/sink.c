// sink PORTFILE [LATENCY]: accepts uploads over HTTP/1.1 on 127.0.0.1, with a process for each
// connection, and stores nothing. It answers each as the backend would, LATENCY milliseconds after
// it came, and reports every metric in the body as accepted. It is a FHIR server too: every entry of
// a bundle is created, and there is every patient. It writes its port to PORTFILE and serves until it
// is killed.
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

static useconds_t latency;
static char buffer[64 * 1024 * 1024];

static size_t count(const char *body, size_t size, const char *mark) {
    size_t found = 0, length = strlen(mark);
    const char *end = body + size;
    while ((body = memmem(body, end - body, mark, length)) != NULL) {
        found++;
        body += length;
    }
    return found;
}

static void serve(int peer) {
    size_t held = 0;
    for (;;) {
        char *head_end;
        while ((head_end = memmem(buffer, held, "\r\n\r\n", 4)) == NULL) {
            ssize_t got = read(peer, buffer + held, sizeof buffer - held);
            if (got <= 0) return;
            held += got;
        }
        size_t head = head_end + 4 - buffer, size = 0;
        *head_end = 0;
        char *length = strcasestr(buffer, "\r\ncontent-length:");
        if (length) size = strtoul(length + 17, NULL, 10);
        if (strcasestr(buffer, "\r\nexpect:")) {
            if (write(peer, "HTTP/1.1 100 Continue\r\n\r\n", 25) != 25) return;
        }
        if (head + size > sizeof buffer) return;
        while (held < head + size) {
            ssize_t got = read(peer, buffer + held, sizeof buffer - held);
            if (got <= 0) return;
            held += got;
        }
        static char body[1 << 20], answer[(1 << 20) + 512];
        int is_fhir = 1, body_size;
        if (memcmp(buffer, "GET ", 4) == 0) {
            body_size = snprintf(
                body, sizeof body, "%s",
                strstr(buffer, "/metadata")
                    ? "{\"resourceType\":\"CapabilityStatement\",\"fhirVersion\":\"4.0.1\"}"
                    : "{\"resourceType\":\"Patient\"}");
        } else if (memmem(buffer + head, size, "\"Bundle\"", 8)) {
            size_t entries = count(buffer + head, size, "\"request\":{");
            body_size = snprintf(body, sizeof body,
                                 "{\"resourceType\":\"Bundle\",\"type\":\"batch-response\",\"entry\":[");
            for (size_t entry = 0; entry < entries; entry++) {
                body_size += snprintf(
                    body + body_size, sizeof body - body_size,
                    "%s{\"response\":{\"status\":\"201 Created\",\"location\":\"Observation/"
                    "6f1d0a3c-52d7-4f0e-9a58-1c5b1f6f9a10/_history/1\",\"etag\":\"W/\\\"1\\\"\","
                    "\"lastModified\":\"2026-01-01T00:00:00.000Z\"}}",
                    entry ? "," : "");
            }
            body_size += snprintf(body + body_size, sizeof body - body_size, "]}");
        } else {
            is_fhir = 0;
            body_size = snprintf(
            body, sizeof body,
            "{\"processing_id\":\"6f1d0a3c-52d7-4f0e-9a58-1c5b1f6f9a10\",\"status\":\"received\","
            "\"accepted_metrics\":%zu,\"rejected_metrics\":0,\"validation_errors\":[],"
            "\"estimated_processing_time\":200,\"sync_token\":null,\"message\":\"taken\","
            "\"timestamp\":\"2026-01-01T00:00:00Z\"}",
            count(buffer + head, size, "\"metric_id\""));
        }
        int answer_size = snprintf(
            answer, sizeof answer,
            "HTTP/1.1 %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s",
            is_fhir ? "200 OK" : "201 Created", body_size, body);
        if (latency) usleep(latency);
        if (write(peer, answer, answer_size) != answer_size) return;
        held -= head + size;
        memmove(buffer, buffer + head + size, held);
    }
}

int main(int words, char **word) {
    if (words != 2 && words != 3) return 64;
    if (words == 3) latency = 1000 * atoi(word[2]);
    signal(SIGCHLD, SIG_IGN);
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof address;
    int door = socket(AF_INET, SOCK_STREAM, 0);
    if (bind(door, (struct sockaddr *)&address, size) != 0 || listen(door, 16) != 0) return 69;
    getsockname(door, (struct sockaddr *)&address, &size);
    char draft[4096];
    snprintf(draft, sizeof draft, "%s.new", word[1]);
    FILE *file = fopen(draft, "w");
    if (!file) return 73;
    fprintf(file, "%d", ntohs(address.sin_port));
    fclose(file);
    rename(draft, word[1]);
    for (;;) {
        int peer = accept(door, NULL, NULL);
        if (peer < 0) continue;
        if (fork() == 0) {
            prctl(PR_SET_PDEATHSIG, SIGKILL);
            serve(peer);
            _exit(0);
        }
        close(peer);
    }
}
