/*
 * Asks the opener (weir-lab opener) for a file, over a connection that is kept. The messages are those of
 * lab/opener/src/protocol.rs. Used by weir_passed.c; knows nothing of Apache.
 *
 * A client belongs to one thread. It never waits longer than it is told. After a failure no thread of the
 * process connects to the opener for a while, so that a server whose opener is gone loses next to no time.
 */
#ifndef WEIR_CLIENT_H
#define WEIR_CLIENT_H

#include <stddef.h>
#include <stdint.h>

/* The longest name that can be asked for, in bytes. */
#define WEIR_LONGEST_NAME 4096

struct weir_client {
    int fd;            /* -1: not connected */
    uint32_t number;   /* of the last question */
    int64_t began;     /* when it was asked last, in microseconds of the monotonic clock */
};

/* What came of a question. */
enum weir_result {
    WEIR_FILE,         /* a regular file, and a descriptor to read it */
    WEIR_DIRECTORY,    /* a directory, and a descriptor that only names it */
    WEIR_NOTHING,      /* the name stands for nothing; the error number says why */
    WEIR_NOT_TOLD,     /* the opener leaves it to the server */
    WEIR_PAUSED,       /* not asked: the opener failed this process a short while ago */
    WEIR_UNREACHABLE,  /* there is no opener, or its connection broke */
    WEIR_TURNED_AWAY,  /* the connection ended without a welcome */
    WEIR_TIMED_OUT,    /* it did not answer in time */
    WEIR_NO_ROOM,      /* this process may open no more descriptors */
    WEIR_MISMATCH      /* it speaks another version of the messages; the last one */
};

struct weir_reply {
    int fd;            /* of a file or a directory, with FD_CLOEXEC; the caller closes it. Otherwise -1 */
    int error;         /* why there is nothing */
};

/*
 * Has each thread of this process have a client of its own from here on, which is closed when the thread
 * ends: 0, or an error number. To be called once, before weir_client_of_thread().
 */
int weir_client_threads_begin(void);

/* No client is closed with its thread any more: the code of this file may go. */
void weir_client_threads_end(void);

/* The client of the thread that calls. NULL: there is no memory for one, or the above has not been called. */
struct weir_client *weir_client_of_thread(void);

/*
 * Asks the opener that listens on `socket` for `name`, for at most `timeout` milliseconds.
 * `name` is absolute and has `length` bytes.
 */
enum weir_result weir_client_ask(struct weir_client *client, const char *socket, int timeout,
                                 const char *name, size_t length, struct weir_reply *reply);

/* Closes the connection, if there is one. */
void weir_client_close(struct weir_client *client);

#endif
