#define _GNU_SOURCE
#include "CLinux.h"
#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <string.h>

struct identity {
    unsigned char *bytes;
    int room, count;
};

/* Reads the notes of the first object, which is this program (elf(5), dl_iterate_phdr(3)). */
static int read_notes(struct dl_phdr_info *object, size_t size, void *context) {
    (void)size;
    struct identity *identity = context;
    for (int i = 0; i < object->dlpi_phnum; i++) {
        const ElfW(Phdr) *header = &object->dlpi_phdr[i];
        if (header->p_type != PT_NOTE) continue;
        const char *next = (const char *)(object->dlpi_addr + header->p_vaddr);
        const char *end = next + header->p_memsz;
        while (next + sizeof(ElfW(Nhdr)) <= end) {
            const ElfW(Nhdr) *note = (const ElfW(Nhdr) *)next;
            const char *name = next + sizeof *note;
            const char *text = name + ((note->n_namesz + 3) & ~3u);
            next = text + ((note->n_descsz + 3) & ~3u);
            if (next > end || note->n_type != NT_GNU_BUILD_ID || note->n_namesz != 4
                || memcmp(name, "GNU", 4) != 0 || (int)note->n_descsz > identity->room)
                continue;
            memcpy(identity->bytes, text, note->n_descsz);
            identity->count = (int)note->n_descsz;
        }
    }
    return 1;
}

int clinux_build_id(unsigned char *bytes, int room) {
    struct identity identity = {bytes, room, 0};
    dl_iterate_phdr(read_notes, &identity);
    return identity.count;
}

const char *clinux_library_text(const char *function) {
    const char *(*call)(void);
    *(void **)&call = dlsym(RTLD_DEFAULT, function);
    return call ? call() : 0;
}
