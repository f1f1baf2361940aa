/*
 * What Apache's configuration says of the opener: WeirOpenerSocket, WeirOpenerTimeout, WeirOpenerAlways and
 * WeirOpenerWarm. Used by mod_weir_opener.c and weir_passed.c.
 */
#ifndef WEIR_CONF_H
#define WEIR_CONF_H

#include "httpd.h"
#include "http_config.h"

struct weir_conf {
    const char *socket;  /* NULL: the module does nothing */
    int timeout;         /* milliseconds */
    int always;          /* whether it is asked for what is in memory, too */
    apr_int64_t warm;    /* bytes of a file that it brings into memory */
};

/* The directives, for the module's definition, and how a server's configuration is made. */
extern const command_rec weir_conf_commands[];
void *weir_conf_create(apr_pool_t *pool, server_rec *server);
void *weir_conf_merge(apr_pool_t *pool, void *base, void *added);

/* That of a server. */
const struct weir_conf *weir_conf_of(const server_rec *server);

#endif
