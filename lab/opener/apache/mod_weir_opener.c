/*
 * mod_weir_opener: Apache takes files from the opener (weir-lab opener) instead of finding and opening
 * them itself, so that its processes do not wait for the disk. Flashpache of Ruan & Pai, section 5.1, for
 * Apache 2.4. docs/guide/flashpache.md says how it is built and used.
 *
 *     LoadModule weir_opener_module PATH/mod_weir_opener.so
 *     WeirOpenerSocket PATH
 *     WeirOpenerTimeout MILLISECONDS
 *
 * Apache looks at a file's metadata when it has translated the URL (directory_walk), checks who may
 * have it, and then opens it (default_handler). The module takes the place of the first and of the last;
 * the checks between remain Apache's. Whenever the opener is gone, late, of another version or has nothing
 * to say, the module declines, and Apache goes its own way.
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

#include "apr_buckets.h"
#include "apr_file_info.h"
#include "apr_portable.h"
#include "apr_strings.h"

#include <errno.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "weir_client.h"

APLOG_USE_MODULE(weir_opener);

/* Milliseconds. Longer than a disk takes that is busy, shorter than a browser waits. */
#define USUAL_TIMEOUT 5000
#define LONGEST_TIMEOUT 600000

/* AP_CONTENT_MD5_ON, which Apache keeps in its core.c. */
#define CONTENT_MD5_ON 1

struct server_conf {
    const char *socket;  /* NULL: the module does nothing */
    int timeout;         /* milliseconds; 0: not set */
};

/*
 * What the opener said in a request. A descriptor that it passed is closed with the request at the latest.
 */
struct passed {
    int fd;              /* -1: none, or closed */
    const char *name;    /* that was asked for; NULL: the opener failed, and is not asked again */
};

/* What this process logged last: a failure is logged once, and its end. */
static _Atomic int in_order = 1;

static void log_change(request_rec *r, const struct server_conf *conf, enum weir_result result)
{
    const char *why;
    switch (result) {
    case WEIR_PAUSED:
        return;
    case WEIR_UNREACHABLE:
        why = "is not there or has broken off";
        break;
    case WEIR_TIMED_OUT:
        why = "does not answer in time";
        break;
    case WEIR_MISMATCH:
        why = "speaks another version: build both from the same source";
        break;
    default:
        /* It is written only where it changes: all threads read it. */
        if (!in_order && !atomic_exchange(&in_order, 1)) {
            ap_log_rerror(APLOG_MARK, APLOG_NOTICE, 0, r, "the opener on %s answers again",
                          conf->socket);
        }
        return;
    }
    if (atomic_exchange(&in_order, 0)) {
        ap_log_rerror(APLOG_MARK, APLOG_WARNING, 0, r,
                      "the opener on %s %s; this process opens files itself", conf->socket, why);
    }
}

static apr_status_t close_passed(void *data)
{
    struct passed *passed = data;
    if (passed->fd >= 0) {
        close(passed->fd);
        passed->fd = -1;
    }
    return APR_SUCCESS;
}

/*
 * Whether the opener has no descriptor for r->filename, as it has said in this request: to ask once more
 * would be to wait once more.
 */
static int is_declined(request_rec *r)
{
    const struct passed *said = ap_get_module_config(r->request_config, &weir_opener_module);
    return said != NULL && said->fd < 0
           && (said->name == NULL || strcmp(said->name, r->filename) == 0);
}

/* Asks for r->filename. A descriptor is closed with the request. */
static enum weir_result ask(request_rec *r, struct passed **passed, int *error)
{
    const struct server_conf *conf =
        ap_get_module_config(r->server->module_config, &weir_opener_module);
    struct weir_client *client;
    struct weir_reply reply;
    struct passed *said;
    enum weir_result result;

    *passed = NULL;
    *error = 0;
    if (conf->socket == NULL || r->filename == NULL || is_declined(r)) {
        return WEIR_NOT_TOLD;
    }
    client = weir_client_of_thread();
    if (client == NULL) {
        return WEIR_NOT_TOLD;
    }
    result = weir_client_ask(client, conf->socket, conf->timeout ? conf->timeout : USUAL_TIMEOUT,
                             r->filename, strlen(r->filename), &reply);
    log_change(r, conf, result);
    *error = reply.error;
    if (result == WEIR_NOTHING) {
        return result;
    }
    said = apr_palloc(r->pool, sizeof *said);
    said->fd = reply.fd;
    said->name = result == WEIR_FILE || result == WEIR_DIRECTORY || result == WEIR_NOT_TOLD
                     ? apr_pstrdup(r->pool, r->filename)
                     : NULL;
    if (reply.fd >= 0) {
        apr_pool_cleanup_register(r->pool, said, close_passed, close_passed);
        *passed = said;
    }
    else if (said->name == NULL
             || ap_get_module_config(r->request_config, &weir_opener_module) == NULL) {
        /* The first name is the whole one; directories above it follow. */
        ap_set_module_config(r->request_config, &weir_opener_module, said);
    }
    return result;
}

/* The metadata of what was passed, as apr_stat() has them of a name. */
static apr_status_t metadata(apr_finfo_t *finfo, request_rec *r, const struct passed *passed,
                             apr_int32_t wanted)
{
    apr_file_t *file;
    apr_status_t status;
    int fd = passed->fd;

    /* Only a wrapper: it does not close the descriptor. */
    status = apr_os_file_put(&file, &fd, APR_FOPEN_READ, r->pool);
    if (status == APR_SUCCESS) {
        status = apr_file_info_get(finfo, wanted, file);
        finfo->fname = r->filename;
    }
    return status;
}

/* Apache wants the metadata of r->filename. */
static apr_status_t opener_dirwalk_stat(apr_finfo_t *finfo, request_rec *r, apr_int32_t wanted)
{
    struct passed *passed;
    enum weir_result result;
    apr_status_t status;
    int error;

    /* Of a symbolic link itself the opener says nothing. */
    if (r->method_number != M_GET || (wanted & APR_FINFO_LINK)) {
        return AP_DECLINED;
    }
    result = ask(r, &passed, &error);
    if (result == WEIR_NOTHING && (error == ENOENT || error == ENOTDIR)) {
        return error;
    }
    if (passed == NULL) {
        return AP_DECLINED;
    }
    status = metadata(finfo, r, passed, wanted);
    if ((status != APR_SUCCESS && status != APR_INCOMPLETE)
        || finfo->filetype != (result == WEIR_FILE ? APR_REG : APR_DIR)) {
        close_passed(passed);
        status = AP_DECLINED;
    }
    if (result == WEIR_FILE) {
        ap_set_module_config(r->request_config, &weir_opener_module, passed);
    }
    else {
        close_passed(passed);
    }
    return status;
}

/*
 * The descriptor of r->filename: what came with its metadata, or what is passed now. An internal redirect,
 * such as to the index of a directory, has come without.
 */
static struct passed *descriptor(request_rec *r)
{
    struct passed *passed = ap_get_module_config(r->request_config, &weir_opener_module);
    int error;

    if (passed != NULL && passed->fd >= 0 && strcmp(passed->name, r->filename) == 0) {
        return passed;
    }
    if (ask(r, &passed, &error) == WEIR_FILE) {
        return passed;
    }
    if (passed != NULL) {
        close_passed(passed);
    }
    return NULL;
}

/*
 * Unless each symbolic link may be followed, whoever owns it, Apache has looked at each part of the name
 * since the opener opened the file: it must still be the same, and the name itself no link.
 */
static int links_are_in_order(request_rec *r, const struct passed *passed)
{
    struct stat named, opened;

    /* As Apache's directory_walk has it: SymLinksIfOwnerMatch holds beside FollowSymLinks, too. */
    if ((ap_allow_options(r) & (OPT_SYM_OWNER | OPT_SYM_LINKS)) == OPT_SYM_LINKS) {
        return 1;
    }
    return fstat(passed->fd, &opened) == 0 && lstat(r->filename, &named) == 0
           && opened.st_dev == named.st_dev && opened.st_ino == named.st_ino;
}

/*
 * Opens the passed file anew: with a position of its own, which processes that share a descriptor would
 * disturb; only if this process's user may read it; and as APR closes it, even when the file outlives the
 * request while it is sent.
 */
static apr_file_t *reopen(request_rec *r, struct passed *passed, const core_dir_config *core)
{
    char name[sizeof "/proc/self/fd/" + 12];
    apr_file_t *file = NULL;
    apr_status_t status;

    apr_snprintf(name, sizeof name, "/proc/self/fd/%d", passed->fd);
    status = apr_file_open(&file, name,
                           APR_FOPEN_READ | APR_FOPEN_BINARY | AP_SENDFILE_ENABLED(core->enable_sendfile),
                           0, r->pool);
    close_passed(passed);
    return status == APR_SUCCESS ? file : NULL;
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

/* Whether a regular file is sent as the module sends one. What is unusual is left to others. */
static int is_sent_here(request_rec *r)
{
    const core_dir_config *core = ap_get_core_module_config(r->per_dir_config);

    return core->content_md5 != CONTENT_MD5_ON
           && (r->handler == NULL || strcmp(r->handler, AP_DEFAULT_HANDLER_NAME) == 0
               || ap_strcmp_match(r->handler, "*/*") == 0);
}

/* Before any handler: one of another module must not see the metadata of what was passed, either. */
static int opener_fixups(request_rec *r)
{
    struct passed *passed = ap_get_module_config(r->request_config, &weir_opener_module);

    if (passed == NULL || passed->fd < 0 || is_sent_here(r)) {
        return DECLINED;
    }
    close_passed(passed);
    /* Another module may have put something else in the name's place, such as an URL. */
    return strcmp(passed->name, r->filename) == 0 ? left_to_apache(r) : DECLINED;
}

/* Sends a file that was passed, as default_handler of Apache's core sends one. */
static int opener_handler(request_rec *r)
{
    const struct server_conf *conf =
        ap_get_module_config(r->server->module_config, &weir_opener_module);
    const core_dir_config *core = ap_get_core_module_config(r->per_dir_config);
    struct passed *passed;
    apr_bucket_brigade *brigade;
    apr_bucket *bucket;
    apr_finfo_t finfo;
    apr_file_t *file;
    apr_status_t status;
    int condition;

    /* Apache finds the words for what is wrong. */
    if (conf->socket == NULL || r->method_number != M_GET || r->finfo.filetype != APR_REG
        || r->filename == NULL || !is_sent_here(r)) {
        return DECLINED;
    }
    if (r->used_path_info != AP_REQ_ACCEPT_PATH_INFO && r->path_info != NULL && *r->path_info) {
        return DECLINED;
    }
    passed = descriptor(r);
    if (passed == NULL || !links_are_in_order(r, passed)) {
        return left_to_apache(r);
    }
    file = reopen(r, passed, core);
    if (file == NULL) {
        return left_to_apache(r);
    }
    /* It may have changed since: what is announced must be there to be sent. */
    status = apr_file_info_get(&finfo, APR_FINFO_MIN, file);
    if (status != APR_SUCCESS || finfo.filetype != APR_REG) {
        apr_file_close(file);
        return left_to_apache(r);
    }
    condition = ap_discard_request_body(r);
    if (condition != OK) {
        return condition;
    }
    ap_allow_standard_methods(r, MERGE_ALLOW, M_GET, M_OPTIONS, M_POST, -1);
    finfo.fname = r->finfo.fname;
    r->finfo = finfo;
    ap_update_mtime(r, r->finfo.mtime);
    ap_set_last_modified(r);
    ap_set_etag_fd(r, file);
    ap_set_accept_ranges(r);
    ap_set_content_length(r, r->finfo.size);
    apr_table_setn(r->notes, "weir-opener", "file");

    brigade = apr_brigade_create(r->pool, r->connection->bucket_alloc);
    condition = ap_meets_conditions(r);
    if (condition != OK) {
        apr_file_close(file);
        r->status = condition;
    }
    else {
        bucket = apr_brigade_insert_file(brigade, file, 0, r->finfo.size, r->pool);
        if (core->enable_mmap == ENABLE_MMAP_OFF) {
            (void)apr_bucket_file_enable_mmap(bucket, 0);
        }
        if (core->read_buf_size) {
            apr_bucket_file_set_buf_size(bucket, core->read_buf_size);
        }
    }
    bucket = apr_bucket_eos_create(r->connection->bucket_alloc);
    APR_BRIGADE_INSERT_TAIL(brigade, bucket);
    status = ap_pass_brigade(r->output_filters, brigade);
    apr_brigade_cleanup(brigade);
    if (status == APR_SUCCESS || r->status != HTTP_OK || r->connection->aborted) {
        return OK;
    }
    return AP_FILTER_ERROR;
}

static void *create_server_conf(apr_pool_t *pool, server_rec *server)
{
    (void)server;
    return apr_pcalloc(pool, sizeof(struct server_conf));
}

/* Virtual hosts have what the main server has. */
static void *merge_server_conf(apr_pool_t *pool, void *base, void *added)
{
    (void)pool;
    (void)added;
    return base;
}

static const char *set_socket(cmd_parms *cmd, void *unused, const char *path)
{
    struct server_conf *conf = ap_get_module_config(cmd->server->module_config, &weir_opener_module);
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
    struct server_conf *conf = ap_get_module_config(cmd->server->module_config, &weir_opener_module);
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

    if (error != 0) {
        ap_log_error(APLOG_MARK, APLOG_WARNING, error, server,
                     "no connection to the opener: this process opens files itself");
        return;
    }
    /* Before this module is unloaded. */
    apr_pool_cleanup_register(pool, NULL, forget_threads, apr_pool_cleanup_null);
}

static const command_rec commands[] = {
    AP_INIT_TAKE1("WeirOpenerSocket", set_socket, NULL, RSRC_CONF,
                  "Unix socket of weir-lab opener"),
    AP_INIT_TAKE1("WeirOpenerTimeout", set_timeout, NULL, RSRC_CONF,
                  "Milliseconds to wait for the opener before Apache opens a file itself"),
    { NULL, { NULL }, NULL, 0, RAW_ARGS, NULL }
};

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
    create_server_conf,
    merge_server_conf,
    commands,
    register_hooks,
    AP_MODULE_FLAG_NONE
};
