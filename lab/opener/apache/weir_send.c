/* See weir_send.h. */
#include "weir_send.h"

#include "http_config.h"
#include "http_core.h"
#include "http_log.h"
#include "http_protocol.h"
#include "http_request.h"

#include "apr_buckets.h"
#include "apr_strings.h"

#include <sys/stat.h>

APLOG_USE_MODULE(weir_opener);

/*
 * Unless each symbolic link may be followed, whoever owns it, Apache has looked at each part of the name
 * since the opener opened the file: it must still be the same, and the name itself no link.
 */
static int links_are_in_order(request_rec *r, const struct weir_passed *passed)
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
static apr_file_t *reopen(request_rec *r, const struct weir_passed *passed)
{
    const core_dir_config *core = ap_get_core_module_config(r->per_dir_config);
    char name[sizeof "/proc/self/fd/" + 12];
    struct stat found;
    apr_file_t *file = NULL;
    apr_status_t status;

    /* To open a FIFO waits for a writer, and to open a device may do anything. */
    if (fstat(passed->fd, &found) != 0 || !S_ISREG(found.st_mode)) {
        return NULL;
    }
    apr_snprintf(name, sizeof name, "/proc/self/fd/%d", passed->fd);
    /* NONBLOCK: nothing waits for a lease on the file. */
    status = apr_file_open(&file, name,
                           APR_FOPEN_READ | APR_FOPEN_BINARY | APR_FOPEN_NONBLOCK
                               | AP_SENDFILE_ENABLED(core->enable_sendfile),
                           0, r->pool);
    return status == APR_SUCCESS ? file : NULL;
}

apr_file_t *weir_send_open(request_rec *r, struct weir_passed *passed, apr_finfo_t *finfo)
{
    apr_file_t *file;
    apr_status_t status;

    file = links_are_in_order(r, passed) ? reopen(r, passed) : NULL;
    /* Apache may need its number to open the file itself. */
    weir_passed_close(passed);
    if (file == NULL) {
        return NULL;
    }
    /* It may have changed since: what is announced must be there to be sent. */
    status = apr_file_info_get(finfo, APR_FINFO_MIN, file);
    if (status != APR_SUCCESS || finfo->filetype != APR_REG) {
        apr_file_close(file);
        return NULL;
    }
    return file;
}

void weir_send_announce(request_rec *r, apr_file_t *file, const apr_finfo_t *finfo)
{
    const char *fname = r->finfo.fname;

    ap_allow_standard_methods(r, MERGE_ALLOW, M_GET, M_OPTIONS, M_POST, -1);
    r->finfo = *finfo;
    r->finfo.fname = fname;
    ap_update_mtime(r, r->finfo.mtime);
    ap_set_last_modified(r);
    ap_set_etag_fd(r, file);
    ap_set_accept_ranges(r);
    ap_set_content_length(r, r->finfo.size);
    apr_table_setn(r->notes, "weir-opener", "file");
}

int weir_send(request_rec *r, apr_file_t *file)
{
    const core_dir_config *core = ap_get_core_module_config(r->per_dir_config);
    apr_bucket_brigade *brigade;
    apr_bucket *bucket;
    apr_status_t status;
    int condition;

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
