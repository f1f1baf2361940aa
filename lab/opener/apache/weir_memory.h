/*
 * Finds out what a name stands for in memory alone, with this process's own rights: so that the opener is
 * asked only where this process would wait for a disk. Used by mod_weir_opener.c and weir_passed.c; knows
 * nothing of Apache.
 */
#ifndef WEIR_MEMORY_H
#define WEIR_MEMORY_H

#include <stdint.h>

#include "weir_client.h"

/*
 * Finds out whether the kernel looks names up in memory alone (RESOLVE_CACHED of openat2(2), Linux 5.12). To
 * be called once in a process, before its threads start; without it, nothing is known to be in memory.
 */
void weir_memory_begin(void);

/*
 * Answers for `name` as the opener would, from memory, and never waits for a disk. It may wait for another
 * machine or process that has the file (NFS, FUSE): the kernel asks it for metadata, and when a file is opened.
 * With a file or a directory comes a descriptor that only names it; a file is one whose first `window` bytes
 * are in memory, or all if it is shorter. WEIR_NOT_TOLD: something is not in memory, or the kernel does not
 * tell this user; or it is neither a file nor a directory, which is looked at and not opened.
 */
enum weir_result weir_memory_look(const char *name, uint64_t window, struct weir_reply *reply);

/*
 * To be called when the opener has found `name`. What rights this user has in a directory, the kernel cannot
 * always tell from memory alone (access control lists) until this user has been there once: this goes there,
 * through what the opener has just brought into memory.
 */
void weir_memory_learn(const char *name);

#endif
