/* See weir_passed.h. */
#include "weir_passed.h"

#include "http_config.h"
#include "http_log.h"

#include "apr_portable.h"
#include "apr_strings.h"

#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

#include "weir_conf.h"
#include "weir_memory.h"

APLOG_USE_MODULE(weir_opener);

/* A line of each kind is written once in this time at most. Microseconds. */
#define LOG_PAUSE APR_TIME_C(10000000)

/*
 * What this process logged last, WEIR_FILE for an opener that answers, and when a line of each kind was: a
 * failure is logged once, and its end. Where some threads are answered and others are not, both go on.
 */
static _Atomic int logged = WEIR_FILE;
static _Atomic apr_time_t logged_at[WEIR_MISMATCH + 1];

/* Kept with requests for which the opener failed. Nobody writes to it. */
static struct weir_passed failed = { -1, "", 0, NULL };

/* Whether a line of this kind is to be written now. */
static int is_news(enum weir_result kind)
{
    apr_time_t before, now;

    /* It is written only where it changes: all threads read it. */
    if (logged == (int)kind) {
        return 0;
    }
    now = apr_time_now();
    before = logged_at[kind];
    if ((before != 0 && now >= before && now - before < LOG_PAUSE)
        || !atomic_compare_exchange_strong(&logged_at[kind], &before, now)) {
        return 0;
    }
    logged = (int)kind;
    return 1;
}

static void log_change(request_rec *r, const struct weir_conf *conf, enum weir_result result)
{
    const char *why;
    switch (result) {
    case WEIR_PAUSED:
        return;
    case WEIR_UNREACHABLE:
        why = "is not there or has broken off";
        break;
    case WEIR_TURNED_AWAY:
        why = "turns connections away (it has too many, or this user may not ask), or it ended";
        break;
    case WEIR_TIMED_OUT:
        why = "does not answer in time";
        break;
    case WEIR_NO_ROOM:
        why = "cannot be used while too many files are open";
        break;
    case WEIR_MISMATCH:
        why = "speaks another version: build both from the same source";
        break;
    default:
        if (is_news(WEIR_FILE)) {
            ap_log_rerror(APLOG_MARK, APLOG_NOTICE, 0, r, "the opener on %s answers again",
                          conf->socket);
        }
        return;
    }
    if (is_news(result)) {
        ap_log_rerror(APLOG_MARK, APLOG_WARNING, 0, r,
                      "the opener on %s %s; this process opens files itself", conf->socket, why);
    }
}

void weir_passed_close(struct weir_passed *passed)
{
    if (passed->fd >= 0) {
        close(passed->fd);
        passed->fd = -1;
    }
}

static apr_status_t close_with_request(void *data)
{
    struct weir_passed *passed = data;

    weir_passed_close(passed);
    if (passed->above != NULL && weir_passed_kept(passed->above) == passed) {
        ap_set_module_config(passed->above->request_config, &weir_opener_module, NULL);
    }
    return APR_SUCCESS;
}

struct weir_passed *weir_passed_kept(request_rec *r)
{
    return ap_get_module_config(r->request_config, &weir_opener_module);
}

void weir_passed_keep(request_rec *r, struct weir_passed *passed)
{
    ap_set_module_config(r->request_config, &weir_opener_module, passed);
    /* Of a directory, or of nothing: FallbackResource. */
    if (r->main != NULL
        && (r->main->finfo.filetype == APR_DIR || r->main->finfo.filetype == APR_NOFILE)) {
        passed->above = r->main;
        ap_set_module_config(r->main->request_config, &weir_opener_module, passed);
    }
}

/*
 * Whether the opener has no descriptor for r->filename, as it has said in this request: to ask once more
 * would be to wait once more.
 */
static int is_declined(request_rec *r)
{
    const struct weir_passed *said = weir_passed_kept(r);
    request_rec *each;

    for (each = r; each != NULL; each = each->main) {
        if (weir_passed_kept(each) == &failed) {
            return 1;
        }
    }
    return said != NULL && said->fd < 0 && strcmp(said->name, r->filename) == 0;
}

/* The opener failed: neither this request nor those that it belongs to wait for it once more. */
static void keep_failure(request_rec *r)
{
    for (; r != NULL; r = r->main) {
        const struct weir_passed *kept = weir_passed_kept(r);
        if (kept == NULL || kept->fd < 0) {
            ap_set_module_config(r->request_config, &weir_opener_module, &failed);
        }
    }
}

/*
 * Looks r->filename up in memory, unless the opener is always asked, and asks it for what is not there.
 * `in_memory`: a file is, and all that Apache will do with it waits for no disk.
 */
static enum weir_result look_or_ask(request_rec *r, const struct weir_conf *conf, struct weir_reply *reply,
                                    int *in_memory)
{
    struct weir_client *client;
    enum weir_result result;

    reply->fd = -1;
    reply->error = 0;
    *in_memory = 0;
    if (!conf->always) {
        result = weir_memory_look(r->filename, (uint64_t)conf->warm, reply);
        if (result != WEIR_NOT_TOLD) {
            *in_memory = result == WEIR_FILE;
            return result;
        }
    }
    client = weir_client_of_thread();
    if (client == NULL) {
        return WEIR_NOT_TOLD;
    }
    result = weir_client_ask(client, conf->socket, conf->timeout, r->filename, strlen(r->filename), reply);
    log_change(r, conf, result);
    if (!conf->always
        && (result == WEIR_FILE || result == WEIR_DIRECTORY || result == WEIR_NOTHING)) {
        weir_memory_learn(r->filename);
    }
    return result;
}

enum weir_result weir_passed_ask(request_rec *r, struct weir_passed **passed, int *error)
{
    const struct weir_conf *conf = weir_conf_of(r->server);
    struct weir_reply reply;
    struct weir_passed *said;
    enum weir_result result;
    int in_memory;

    *passed = NULL;
    *error = 0;
    if (conf->socket == NULL || r->filename == NULL || is_declined(r)) {
        return WEIR_NOT_TOLD;
    }
    result = look_or_ask(r, conf, &reply, &in_memory);
    *error = reply.error;
    if (result == WEIR_NOTHING) {
        return result;
    }
    if (result != WEIR_FILE && result != WEIR_DIRECTORY && result != WEIR_NOT_TOLD) {
        keep_failure(r);
        return result;
    }
    said = apr_palloc(r->pool, sizeof *said);
    said->fd = reply.fd;
    said->in_memory = in_memory;
    said->above = NULL;
    said->name = apr_pstrdup(r->pool, r->filename);
    if (in_memory) {
        apr_table_setn(r->notes, "weir-opener", "memory");
    }
    apr_pool_cleanup_register(r->pool, said, close_with_request, close_with_request);
    if (reply.fd >= 0) {
        *passed = said;
    }
    else if (weir_passed_kept(r) == NULL) {
        /* The first name is the whole one; directories above it follow. */
        weir_passed_keep(r, said);
    }
    return result;
}

apr_status_t weir_passed_metadata(apr_finfo_t *finfo, request_rec *r, const struct weir_passed *passed,
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

int weir_passed_in_memory(request_rec *r)
{
    const struct weir_passed *kept = weir_passed_kept(r);
    return kept != NULL && kept->in_memory && strcmp(kept->name, r->filename) == 0;
}

struct weir_passed *weir_passed_descriptor(request_rec *r)
{
    struct weir_passed *passed = weir_passed_kept(r);
    int error;

    if (passed != NULL && passed->fd >= 0 && strcmp(passed->name, r->filename) == 0) {
        return passed;
    }
    if (weir_passed_ask(r, &passed, &error) == WEIR_FILE && !passed->in_memory) {
        return passed;
    }
    if (passed != NULL) {
        weir_passed_close(passed);
    }
    return NULL;
}
