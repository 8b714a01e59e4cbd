// expat FILE: parses the file with expat, visits every attribute of every element, and only counts.
#include <expat.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

static long long elements, attributes;

static void begin(void *data, const XML_Char *name, const XML_Char **pairs) {
    (void)data;
    (void)name;
    elements++;
    for (int index = 0; pairs[index]; index += 2) attributes++;
}

static void end(void *data, const XML_Char *name) {
    (void)data;
    (void)name;
}

int main(int count, char **words) {
    if (count != 2) return 64;
    int file = open(words[1], O_RDONLY);
    XML_Parser parser = XML_ParserCreate(NULL);
    if (file < 0 || !parser) return 66;
    XML_SetElementHandler(parser, begin, end);
    for (;;) {
        void *buffer = XML_GetBuffer(parser, 1 << 18);
        ssize_t size = buffer ? read(file, buffer, 1 << 18) : -1;
        if (size < 0) return 74;
        if (XML_ParseBuffer(parser, size, size == 0) != XML_STATUS_OK) {
            fprintf(stderr, "expat: %s at byte %lld\n", XML_ErrorString(XML_GetErrorCode(parser)),
                    (long long)XML_GetCurrentByteIndex(parser));
            return 65;
        }
        if (size == 0) break;
    }
    printf("%lld elements, %lld attributes\n", elements, attributes);
    return 0;
}
