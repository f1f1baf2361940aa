/* See weir_conf.h. */
#include "weir_conf.h"

#include "http_log.h"

#include "apr_strings.h"

APLOG_USE_MODULE(weir_opener);

/* Milliseconds. Longer than a disk takes that is busy, shorter than a browser waits. */
#define USUAL_TIMEOUT 5000
#define LONGEST_TIMEOUT 600000

void *weir_conf_create(apr_pool_t *pool, server_rec *server)
{
    struct weir_conf *conf = apr_pcalloc(pool, sizeof *conf);

    (void)server;
    conf->timeout = USUAL_TIMEOUT;
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
    return conf->socket == NULL ? "WeirOpenerSocket: no valid path" : NULL;
}

static const char *set_timeout(cmd_parms *cmd, void *unused, const char *text)
{
    struct weir_conf *conf = ap_get_module_config(cmd->server->module_config, &weir_opener_module);
    const char *wrong = ap_check_cmd_context(cmd, GLOBAL_ONLY);
    apr_int64_t number;
    char *end;

    (void)unused;
    if (wrong != NULL) {
        return wrong;
    }
    number = apr_strtoi64(text, &end, 10);
    if (*text == 0 || *end != 0 || number < 1 || number > LONGEST_TIMEOUT) {
        return "WeirOpenerTimeout: write milliseconds from 1 to 600000";
    }
    conf->timeout = (int)number;
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
    { NULL, { NULL }, NULL, 0, RAW_ARGS, NULL }
};
