/* See weir_conf.h. */
#include "weir_conf.h"

#include "http_log.h"

#include "apr_strings.h"

#include <string.h>
#include <sys/un.h>

APLOG_USE_MODULE(weir_opener);

/* Milliseconds. Longer than a disk takes that is busy, shorter than a browser waits. */
#define USUAL_TIMEOUT 5000
#define LONGEST_TIMEOUT 600000

/* Bytes. The opener's --warm unless given. */
#define USUAL_WARM (1024 * 1024)
#define LARGEST_WARM (APR_INT64_C(1) << 40)

void *weir_conf_create(apr_pool_t *pool, server_rec *server)
{
    struct weir_conf *conf = apr_pcalloc(pool, sizeof *conf);

    (void)server;
    conf->timeout = USUAL_TIMEOUT;
    conf->warm = USUAL_WARM;
    return conf;
}

/* Virtual hosts have what the main server has. */
void *weir_conf_merge(apr_pool_t *pool, void *base, void *added)
{
    (void)pool;
    (void)added;
    return base;
}

static const char *set_socket(cmd_parms *cmd, void *unused, const char *path)
{
    struct weir_conf *conf = ap_get_module_config(cmd->server->module_config, &weir_opener_module);
    const char *wrong = ap_check_cmd_context(cmd, GLOBAL_ONLY);

    (void)unused;
    if (wrong != NULL) {
        return wrong;
    }
    conf->socket = ap_server_root_relative(cmd->pool, path);
    if (conf->socket == NULL) {
        return "WeirOpenerSocket: no valid path";
    }
    return strlen(conf->socket) >= sizeof(((struct sockaddr_un *)NULL)->sun_path)
               ? "WeirOpenerSocket: the path of a Unix socket has at most 107 bytes"
               : NULL;
}

/* A number without a sign; -1: it is none, or above `most`. */
static apr_int64_t number(const char *text, apr_int64_t most)
{
    char *end;
    apr_int64_t read = apr_strtoi64(text, &end, 10);

    return *text == 0 || *end != 0 || read < 0 || read > most ? -1 : read;
}

static const char *set_timeout(cmd_parms *cmd, void *unused, const char *text)
{
    struct weir_conf *conf = ap_get_module_config(cmd->server->module_config, &weir_opener_module);
    const char *wrong = ap_check_cmd_context(cmd, GLOBAL_ONLY);
    apr_int64_t timeout = number(text, LONGEST_TIMEOUT);

    (void)unused;
    if (wrong != NULL) {
        return wrong;
    }
    if (timeout < 1) {
        return "WeirOpenerTimeout: write milliseconds from 1 to 600000";
    }
    conf->timeout = (int)timeout;
    return NULL;
}

static const char *set_always(cmd_parms *cmd, void *unused, int on)
{
    struct weir_conf *conf = ap_get_module_config(cmd->server->module_config, &weir_opener_module);
    const char *wrong = ap_check_cmd_context(cmd, GLOBAL_ONLY);

    (void)unused;
    if (wrong != NULL) {
        return wrong;
    }
    conf->always = on;
    return NULL;
}

static const char *set_warm(cmd_parms *cmd, void *unused, const char *text)
{
    struct weir_conf *conf = ap_get_module_config(cmd->server->module_config, &weir_opener_module);
    const char *wrong = ap_check_cmd_context(cmd, GLOBAL_ONLY);
    apr_int64_t warm = number(text, LARGEST_WARM);

    (void)unused;
    if (wrong != NULL) {
        return wrong;
    }
    if (warm < 0) {
        return "WeirOpenerWarm: write bytes, up to 1099511627776";
    }
    conf->warm = warm;
    return NULL;
}

const struct weir_conf *weir_conf_of(const server_rec *server)
{
    return ap_get_module_config(server->module_config, &weir_opener_module);
}

const command_rec weir_conf_commands[] = {
    AP_INIT_TAKE1("WeirOpenerSocket", set_socket, NULL, RSRC_CONF,
                  "Unix socket of weir-lab opener"),
    AP_INIT_TAKE1("WeirOpenerTimeout", set_timeout, NULL, RSRC_CONF,
                  "Milliseconds to wait for the opener before Apache opens a file itself"),
    AP_INIT_FLAG("WeirOpenerAlways", set_always, NULL, RSRC_CONF,
                 "On: the opener is asked for what is in memory, too"),
    AP_INIT_TAKE1("WeirOpenerWarm", set_warm, NULL, RSRC_CONF,
                  "Bytes of a file that the opener brings into memory, as its --warm"),
    { NULL, { NULL }, NULL, 0, RAW_ARGS, NULL }
};
