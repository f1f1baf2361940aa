/* See weir_memory.h. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* O_PATH and preadv2() */
#endif

#include "weir_memory.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

/*
 * System calls by number, and what they are told: the headers here may be older than the kernel that this
 * runs on. A kernel that lacks one says so. The tests put in numbers that no kernel has.
 */
#ifndef WEIR_SYS_OPENAT2
#ifdef SYS_openat2
#define WEIR_SYS_OPENAT2 SYS_openat2
#else
#define WEIR_SYS_OPENAT2 437
#endif
#endif
#ifndef WEIR_SYS_CACHESTAT
#ifdef SYS_cachestat
#define WEIR_SYS_CACHESTAT SYS_cachestat
#else
#define WEIR_SYS_CACHESTAT 451
#endif
#endif

/* As struct open_how and RESOLVE_CACHED of linux/openat2.h. */
struct weir_open_how {
    uint64_t flags;
    uint64_t mode;
    uint64_t resolve;
};
#define WEIR_RESOLVE_CACHED 0x20

/* As struct cachestat_range and struct cachestat of linux/mman.h. */
struct weir_page_range {
    uint64_t offset;
    uint64_t length;
};
struct weir_page_counts {
    uint64_t cached;
    uint64_t dirty;
    uint64_t writeback;
    uint64_t evicted;
    uint64_t recently_evicted;
};

/*
 * How often a name is looked up: a mount or unmount anywhere at the same time, or a rename on its path, makes
 * the kernel say that it is not in memory.
 */
#define MISTAKEN 3

/* Where cachestat(2) does not tell, one byte is read of each piece of so many, and the last. */
#define PIECE (64 * 1024)

/* Written before there are threads. */
static int can_look;

/* Opens a name to look at if that is possible in memory: a descriptor, or -1 and an error number. */
static int open_in_memory(const char *name)
{
    struct weir_open_how how = { O_PATH | O_CLOEXEC, 0, WEIR_RESOLVE_CACHED };
    int fd = -1;
    int tries;

    for (tries = 0; tries < MISTAKEN; tries++) {
        fd = (int)syscall(WEIR_SYS_OPENAT2, AT_FDCWD, name, &how, sizeof how);
        if (fd >= 0 || errno != EAGAIN) {
            break;
        }
    }
    return fd;
}

void weir_memory_begin(void)
{
    int fd = open_in_memory("/");

    /* An old kernel says ENOSYS or EINVAL; what watches over system calls, EPERM. */
    can_look = fd >= 0 || errno == EAGAIN;
    if (fd >= 0) {
        close(fd);
    }
}

/* Whether a byte can be read without waiting. */
static int can_be_read(int fd, uint64_t at)
{
    char byte;
    struct iovec part = { &byte, 1 };

    return preadv2(fd, &part, 1, (off_t)at, RWF_NOWAIT) == 1;
}

/*
 * Whether the first `bytes`, at least one, are in memory. The kernel tells it for nothing to the owner of a
 * file (cachestat(2), Linux 6.5). To others it tells by reads, which on a miss also start to read some pages.
 */
static int is_cached(int fd, uint64_t bytes)
{
    const uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
    struct weir_page_range range = { 0, bytes };
    struct weir_page_counts pages;
    uint64_t at;

    if (syscall(WEIR_SYS_CACHESTAT, fd, &range, &pages, 0) == 0) {
        /* Pages that are still being read count, too. The last is read last. */
        return pages.cached >= (bytes + page - 1) / page && can_be_read(fd, bytes - 1);
    }
    /* From the beginning: so what a miss starts to read is what will be needed first. */
    for (at = 0; at + page < bytes; at += PIECE) {
        if (!can_be_read(fd, at)) {
            return 0;
        }
    }
    return can_be_read(fd, bytes - 1);
}

/* Whether the first `bytes` of the regular file that a descriptor names are in memory. */
static int is_file_in_memory(int named, uint64_t bytes)
{
    char name[sizeof "/proc/self/fd/" + 12];
    int fd, cached;

    if (bytes == 0) {
        return 1;
    }
    /* The very file that was looked at, whatever its name stands for by now. */
    snprintf(name, sizeof name, "/proc/self/fd/%d", named);
    /* NONBLOCK: nothing waits for a lease on the file. */
    fd = open(name, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0) {
        return 0;
    }
    cached = is_cached(fd, bytes);
    close(fd);
    return cached;
}

enum weir_result weir_memory_look(const char *name, uint64_t window, struct weir_reply *reply)
{
    struct stat found;

    reply->fd = -1;
    reply->error = 0;
    if (!can_look || name[0] != '/') {
        return WEIR_NOT_TOLD;
    }
    reply->fd = open_in_memory(name);
    if (reply->fd < 0) {
        reply->error = errno;
        /*
         * Of other errors the opener may know better: it may have other rights. That a file is no directory
         * the kernel does not tell from memory: EAGAIN.
         */
        return reply->error == ENOENT ? WEIR_NOTHING : WEIR_NOT_TOLD;
    }
    if (fstat(reply->fd, &found) == 0) {
        uint64_t length = (uint64_t)found.st_size;
        if (S_ISDIR(found.st_mode)) {
            return WEIR_DIRECTORY;
        }
        if (S_ISREG(found.st_mode)
            && is_file_in_memory(reply->fd, length < window ? length : window)) {
            return WEIR_FILE;
        }
    }
    close(reply->fd);
    reply->fd = -1;
    return WEIR_NOT_TOLD;
}

void weir_memory_learn(const char *name)
{
    struct stat unused;

    /* What is there, and whether anything is, does not matter. */
    (void)stat(name, &unused);
}
