/*
 * mod_weir_opener: Apache takes files that are not in memory from the opener (weir-lab opener) instead of
 * finding and opening them itself, so that its processes do not wait for the disk. Flashpache of Ruan & Pai,
 * section 5.1, for Apache 2.4. docs/guide/flashpache.md says how it is built and used.
 *
 *     LoadModule weir_opener_module PATH/mod_weir_opener.so
 *     WeirOpenerSocket PATH
 *     WeirOpenerTimeout MILLISECONDS
 *     WeirOpenerWarm BYTES
 *     WeirOpenerAlways On|Off
 *
 * Apache looks at a file's metadata when it has translated the URL (directory_walk), checks who may
 * have it, and then opens it (default_handler). The module takes the place of the first and of the last;
 * the checks between remain Apache's. Whenever the opener is gone, late, of another version or has nothing
 * to say, the module declines, and Apache goes its own way.
 *
 * In the place of the first, before Apache itself has looked anywhere, the module decides whether the opener
 * is asked at all (weir_memory.c). It looks the name up with Apache's rights in memory alone (openat2(2) with
 * RESOLVE_CACHED, of a descriptor that only names), and asks the kernel whether the file's first bytes are
 * there (cachestat(2), or reads that do not wait): as many as the opener would bring there (WeirOpenerWarm).
 * If so, Apache gets the metadata, and opens and sends the file itself, as if there were no module; no other
 * process has to run. If anything is missing or unknown, the opener is asked. WeirOpenerAlways On asks it for
 * each request, as in the paper.
 *
 * Each thread has a connection of its own (prefork: each process): so no lock is needed, and nobody waits
 * behind another's question. It goes with its thread: those of mod_http2 end and come again.
 */
#include "httpd.h"
#include "http_config.h"
#include "http_core.h"
#include "http_log.h"
#include "http_protocol.h"
#include "http_request.h"

#include <errno.h>
#include <string.h>

#include "weir_client.h"
#include "weir_conf.h"
#include "weir_memory.h"
#include "weir_passed.h"
#include "weir_send.h"

APLOG_USE_MODULE(weir_opener);

/* AP_CONTENT_MD5_ON, which Apache keeps in its core.c. */
#define CONTENT_MD5_ON 1

/* Apache wants the metadata of r->filename. */
static apr_status_t opener_dirwalk_stat(apr_finfo_t *finfo, request_rec *r, apr_int32_t wanted)
{
    struct weir_passed *passed;
    enum weir_result result;
    apr_status_t status;
    int error;

    /* Apache itself looks at symbolic links. */
    if (r->method_number != M_GET || (wanted & APR_FINFO_LINK)) {
        return AP_DECLINED;
    }
    result = weir_passed_ask(r, &passed, &error);
    if (result == WEIR_NOTHING && (error == ENOENT || error == ENOTDIR)) {
        return error;
    }
    if (passed == NULL) {
        return AP_DECLINED;
    }
    status = weir_passed_metadata(finfo, r, passed, wanted);
    if ((status != APR_SUCCESS && status != APR_INCOMPLETE)
        || finfo->filetype != (result == WEIR_FILE ? APR_REG : APR_DIR)) {
        weir_passed_close(passed);
        status = AP_DECLINED;
    }
    if (result != WEIR_FILE || passed->in_memory) {
        weir_passed_close(passed);
    }
    if (result == WEIR_FILE) {
        weir_passed_keep(r, passed);
    }
    return status;
}

/*
 * Apache opens the file itself. It must not announce the metadata of the descriptor that the opener had
 * passed: the name may stand for another file by now.
 */
static int left_to_apache(request_rec *r)
{
    apr_status_t status = apr_stat(&r->finfo, r->filename, APR_FINFO_MIN, r->pool);
    if (status != APR_SUCCESS && status != APR_INCOMPLETE) {
        r->finfo.filetype = APR_NOFILE;
    }
    return DECLINED;
}

/*
 * Whether files of a type are sent as they are. Where nobody names a handler, Apache takes the type for the name
 * of one (ap_invoke_handler()). Whether there is one of a name only the handlers themselves know: so these are
 * the types that Apache and its modules give out to name their handlers by.
 */
static int is_plain(const char *type)
{
    return ap_strcmp_match(type, "*/*") == 0
           && ap_strcasecmp_match(type, "httpd/*") != 0
           && ap_strcasecmp_match(type, "application/x-httpd-*") != 0
           && ap_strcasecmp_match(type, "application/x-type-map*") != 0;
}

/*
 * Whether a regular file is sent as the module sends one. What is unusual is left to others, such as a POST to a
 * directory, whose index mod_dir has looked up by a GET of its own.
 */
static int is_sent_here(request_rec *r)
{
    const core_dir_config *core = ap_get_core_module_config(r->per_dir_config);
    const char *handler = r->handler != NULL ? r->handler : r->content_type;

    return r->method_number == M_GET && core->content_md5 != CONTENT_MD5_ON
           && (handler == NULL || strcmp(handler, AP_DEFAULT_HANDLER_NAME) == 0 || is_plain(handler));
}

/* Before any handler: one of another module must not see the metadata of what was passed, either. */
static int opener_fixups(request_rec *r)
{
    struct weir_passed *passed = weir_passed_kept(r);

    if (passed == NULL || passed->fd < 0 || is_sent_here(r)) {
        return DECLINED;
    }
    weir_passed_close(passed);
    /* Another module may have put something else in the name's place, such as an URL. */
    return r->filename != NULL && strcmp(passed->name, r->filename) == 0 ? left_to_apache(r) : DECLINED;
}

/* Sends a file that was passed. */
static int opener_handler(request_rec *r)
{
    struct weir_passed *passed;
    apr_finfo_t finfo;
    apr_file_t *file;
    int condition;

    /* Apache finds the words for what is wrong. */
    if (weir_conf_of(r->server)->socket == NULL || r->finfo.filetype != APR_REG || r->filename == NULL
        || !is_sent_here(r)) {
        return DECLINED;
    }
    if (r->used_path_info != AP_REQ_ACCEPT_PATH_INFO && r->path_info != NULL && *r->path_info) {
        return DECLINED;
    }
    if (weir_passed_in_memory(r)) {
        /* Apache has the metadata that the name had a moment ago, as when it looks itself. */
        return DECLINED;
    }
    passed = weir_passed_descriptor(r);
    file = passed == NULL ? NULL : weir_send_open(r, passed, &finfo);
    if (file == NULL) {
        return left_to_apache(r);
    }
    condition = ap_discard_request_body(r);
    if (condition != OK) {
        return condition;
    }
    weir_send_announce(r, file, &finfo);
    return weir_send(r, file);
}

static apr_status_t forget_threads(void *unused)
{
    (void)unused;
    weir_client_threads_end();
    return APR_SUCCESS;
}

/* A process that serves requests starts. */
static void opener_child_init(apr_pool_t *pool, server_rec *server)
{
    int error = weir_client_threads_begin();

    weir_memory_begin();
    if (error != 0) {
        ap_log_error(APLOG_MARK, APLOG_WARNING, error, server,
                     "no connection to the opener: this process opens files itself");
        return;
    }
    /* Before this module is unloaded. */
    apr_pool_cleanup_register(pool, NULL, forget_threads, apr_pool_cleanup_null);
}

static void register_hooks(apr_pool_t *pool)
{
    (void)pool;
    ap_hook_child_init(opener_child_init, NULL, NULL, APR_HOOK_MIDDLE);
    ap_hook_dirwalk_stat(opener_dirwalk_stat, NULL, NULL, APR_HOOK_MIDDLE);
    /* After all that name a handler. */
    ap_hook_fixups(opener_fixups, NULL, NULL, APR_HOOK_REALLY_LAST);
    /*
     * After all handlers that have something to say (mod_actions and mod_file_cache are LAST), before that
     * of the core, which is REALLY_LAST.
     */
    ap_hook_handler(opener_handler, NULL, NULL, APR_HOOK_LAST + 5);
}

module AP_MODULE_DECLARE_DATA weir_opener_module = {
    STANDARD20_MODULE_STUFF,
    NULL,
    NULL,
    weir_conf_create,
    weir_conf_merge,
    weir_conf_commands,
    register_hooks,
    AP_MODULE_FLAG_NONE
};
