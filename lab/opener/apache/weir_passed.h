/*
 * Finds out what the name of a request stands for: in memory, or else by asking the opener, once; and keeps
 * with the request what came of it. Failures of the opener are logged here. Used by mod_weir_opener.c and
 * weir_send.c.
 */
#ifndef WEIR_PASSED_H
#define WEIR_PASSED_H

#include "httpd.h"

#include "apr_file_info.h"

#include "weir_client.h"

/*
 * What was found in a request. A descriptor is closed with the request at the latest.
 */
struct weir_passed {
    int fd;              /* -1: none, or closed */
    const char *name;    /* that was asked for; empty: the opener failed, and is not asked again */
    int in_memory;       /* a file that Apache opens and sends itself, since it waits for no disk; the
                            descriptor only names it, and the opener was not asked */
    request_rec *above;  /* of the directory whose index this may be, or of the missing name that it may stand
                            in for, which has this, too; NULL: none */
};

/*
 * Finds r->filename in memory, or asks for it. `passed` is NULL unless there is a descriptor; `error` says why
 * there is nothing.
 */
enum weir_result weir_passed_ask(request_rec *r, struct weir_passed **passed, int *error);

/* What is kept with the request. NULL: nothing. */
struct weir_passed *weir_passed_kept(request_rec *r);

/*
 * Keeps this with the request, instead of what was kept before. mod_dir has an index or a FallbackResource looked
 * up by a request of its own, and then goes on with the one that came: what is found for the first is kept with
 * both, as long as the first lives.
 */
void weir_passed_keep(request_rec *r, struct weir_passed *passed);

/* The metadata of what was found, as apr_stat() has them of a name. */
apr_status_t weir_passed_metadata(apr_finfo_t *finfo, request_rec *r, const struct weir_passed *passed,
                                  apr_int32_t wanted);

/* Whether Apache has the metadata of r->filename as they are in memory, and is to open the file itself. */
int weir_passed_in_memory(request_rec *r);

/*
 * The descriptor of the regular file r->filename: what came with its metadata, or what is passed now. An
 * internal redirect, such as to the index of a directory, has come without. NULL: the opener has none, or
 * was not asked, since the file is in memory.
 */
struct weir_passed *weir_passed_descriptor(request_rec *r);

/* Closes the descriptor, if it is open. */
void weir_passed_close(struct weir_passed *passed);

#endif
