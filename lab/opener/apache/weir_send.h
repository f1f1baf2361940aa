/*
 * Sends a file that the opener passed, as default_handler of Apache's core sends one. Used by
 * mod_weir_opener.c.
 */
#ifndef WEIR_SEND_H
#define WEIR_SEND_H

#include "httpd.h"

#include "apr_file_info.h"

#include "weir_passed.h"

/*
 * Opens the passed file to be sent, and says in `finfo` what it is at this moment. NULL: Apache has to find
 * and open the file itself. What was passed is closed either way.
 */
apr_file_t *weir_send_open(request_rec *r, struct weir_passed *passed, apr_finfo_t *finfo);

/* Says in the head of the response what will be sent. */
void weir_send_announce(request_rec *r, apr_file_t *file, const apr_finfo_t *finfo);

/* Sends what was announced, unless the request's conditions say otherwise; returns what a handler returns. */
int weir_send(request_rec *r, apr_file_t *file);

#endif
