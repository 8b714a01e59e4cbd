#ifndef CWEBPAGES_H
#define CWEBPAGES_H

/* The files of the pages, as `clarity-jobs-web` contains them. */

struct cwebpages_asset {
    const char *name;
    const unsigned char *bytes;
    unsigned long size;
};

/* The file of this name; NULL if there is none. */
const struct cwebpages_asset *cwebpages_find(const char *name);

#endif
