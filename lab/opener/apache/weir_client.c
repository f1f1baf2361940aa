/* See weir_client.h. */
#include "weir_client.h"

#include <endian.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#define VERSION 1
#define SHORT 8          /* bytes of a hello, a welcome and an answer */
#define QUESTION_HEAD 8
#define QUESTION_OPEN 1

/*
 * An opener that lives says welcome soon: it never waits for a disk itself. After a failure nobody waits for
 * it longer; a first attempt has all the time of the question.
 */
#define WELCOME_MS 250

/* After a failure there is no attempt for this long; twice as long after each further one. */
#define FIRST_PAUSE 50000
#define LAST_PAUSE 5000000

/* Descriptors that one message can carry (SCM_MAX_FD of the kernel). All but the first are closed. */
#define MOST_DESCRIPTORS 253

/*
 * Of the process, so that its threads do not find out one after the other that the opener is gone: no attempt
 * to connect before this time, and the pause that ends then; 0: no failure since the last answer. Microseconds.
 */
static _Atomic int64_t not_before;
static _Atomic int64_t pause_us;

/* Not thread-local storage of the compiler's, which would leave the connection open at a thread's end. */
static pthread_key_t of_thread;
static _Atomic int has_key;

static int64_t now_us(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

static void put16(unsigned char *to, uint16_t number)
{
    number = htole16(number);
    memcpy(to, &number, sizeof number);
}

static void put32(unsigned char *to, uint32_t number)
{
    number = htole32(number);
    memcpy(to, &number, sizeof number);
}

static uint16_t get16(const unsigned char *from)
{
    uint16_t number;
    memcpy(&number, from, sizeof number);
    return le16toh(number);
}

static uint32_t get32(const unsigned char *from)
{
    uint32_t number;
    memcpy(&number, from, sizeof number);
    return le32toh(number);
}

void weir_client_close(struct weir_client *client)
{
    if (client->fd >= 0) {
        close(client->fd);
        client->fd = -1;
    }
}

static void end_of_thread(void *client)
{
    weir_client_close(client);
    free(client);
}

int weir_client_threads_begin(void)
{
    int error = pthread_key_create(&of_thread, end_of_thread);
    has_key = error == 0;
    return error;
}

void weir_client_threads_end(void)
{
    if (has_key) {
        has_key = 0;
        pthread_key_delete(of_thread);
    }
}

struct weir_client *weir_client_of_thread(void)
{
    struct weir_client *client = has_key ? pthread_getspecific(of_thread) : NULL;
    if (client != NULL || !has_key) {
        return client;
    }
    client = calloc(1, sizeof *client);
    if (client == NULL) {
        return NULL;
    }
    client->fd = -1;
    if (pthread_setspecific(of_thread, client) != 0) {
        free(client);
        return NULL;
    }
    return client;
}

/*
 * Closes the connection, and has all threads leave the opener alone for a while. Where there is no room for
 * descriptors, that of the connection is free for the server to open the file.
 */
static enum weir_result give_up(struct weir_client *client, enum weir_result why)
{
    int64_t known = not_before;
    int64_t pause = pause_us == 0 ? FIRST_PAUSE : pause_us * 2;

    weir_client_close(client);
    if (pause > LAST_PAUSE || why == WEIR_MISMATCH) {
        pause = LAST_PAUSE;
    }
    /* Threads that fail together have found the same failure: the pause is that of the first. */
    if (client->began >= known
        && atomic_compare_exchange_strong(&not_before, &known, now_us() + pause)) {
        pause_us = pause;
    }
    return why;
}

/* Waits until something can be read: 1; 0 when it is too late; -1 on an error. */
static int wait_readable(int fd, int64_t until)
{
    for (;;) {
        struct pollfd poll_fd = { fd, POLLIN, 0 };
        int64_t left = until - now_us();
        int ready;
        if (left <= 0) {
            /* What is there by now still counts. */
            left = 0;
        }
        ready = poll(&poll_fd, 1, (int)((left + 999) / 1000));
        if (ready >= 0) {
            return ready > 0;
        }
        if (errno != EINTR) {
            return -1;
        }
    }
}

/* Sends a whole message: 0, or -1. The socket has room for it unless the opener hangs. */
static int send_message(int fd, const void *bytes, size_t length)
{
    ssize_t sent;
    do {
        sent = send(fd, bytes, length, MSG_NOSIGNAL | MSG_DONTWAIT);
    } while (sent < 0 && errno == EINTR);
    return sent == (ssize_t)length ? 0 : -1;
}

/*
 * Receives a message of SHORT bytes; the first descriptor that comes with it goes to `descriptor`, or -1.
 * WEIR_FILE stands for success; WEIR_TURNED_AWAY for the end of the connection; WEIR_UNREACHABLE for another
 * error, or a message of another length;
 * WEIR_NO_ROOM for one with more descriptors than this process may open: those that came are closed.
 */
static enum weir_result receive_short(int fd, unsigned char *bytes, int *descriptor)
{
    union {
        struct cmsghdr head;
        char space[CMSG_SPACE(MOST_DESCRIPTORS * sizeof(int))];
    } control;
    struct iovec part = { bytes, SHORT };
    struct msghdr message;
    struct cmsghdr *head;
    ssize_t length;

    *descriptor = -1;
    memset(&message, 0, sizeof message);
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    message.msg_control = &control;
    message.msg_controllen = sizeof control;
    do {
        length = recvmsg(fd, &message, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
    } while (length < 0 && errno == EINTR);
    if (length == 0 || (length < 0 && errno == ECONNRESET)) {
        return WEIR_TURNED_AWAY;
    }
    if (length < 0) {
        return WEIR_UNREACHABLE;
    }
    for (head = CMSG_FIRSTHDR(&message); head != NULL; head = CMSG_NXTHDR(&message, head)) {
        const unsigned char *data = CMSG_DATA(head);
        size_t at, count;
        if (head->cmsg_level != SOL_SOCKET || head->cmsg_type != SCM_RIGHTS) {
            continue;
        }
        count = (head->cmsg_len - CMSG_LEN(0)) / sizeof(int);
        for (at = 0; at < count; at++) {
            int each;
            memcpy(&each, data + at * sizeof each, sizeof each);
            if (*descriptor < 0) {
                *descriptor = each;
            }
            else {
                close(each);
            }
        }
    }
    if (length == SHORT && (message.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) == 0) {
        return WEIR_FILE;
    }
    if (*descriptor >= 0) {
        close(*descriptor);
        *descriptor = -1;
    }
    /* The space above is enough for all that a message can carry: it is the process that has none. */
    return length == SHORT && (message.msg_flags & MSG_CTRUNC) != 0 ? WEIR_NO_ROOM : WEIR_UNREACHABLE;
}

/* Connects, says hello and reads the welcome. WEIR_FILE stands for success. */
static enum weir_result greet(struct weir_client *client, const char *path, int64_t until)
{
    struct sockaddr_un address;
    unsigned char bytes[SHORT];
    enum weir_result received;
    int descriptor;
    int64_t soon = pause_us == 0 ? until : now_us() + WELCOME_MS * 1000;

    if (strlen(path) >= sizeof address.sun_path) {
        return give_up(client, WEIR_UNREACHABLE);
    }
    memset(&address, 0, sizeof address);
    address.sun_family = AF_UNIX;
    strcpy(address.sun_path, path);
    client->fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (client->fd < 0) {
        return give_up(client, errno == EMFILE || errno == ENFILE ? WEIR_NO_ROOM : WEIR_UNREACHABLE);
    }
    if (connect(client->fd, (struct sockaddr *)&address, sizeof address) != 0) {
        return give_up(client, WEIR_UNREACHABLE);
    }
    memcpy(bytes, "WOPN", 4);
    put16(bytes + 4, VERSION);
    put16(bytes + 6, 0);
    if (send_message(client->fd, bytes, sizeof bytes) != 0) {
        return give_up(client, errno == EPIPE || errno == ECONNRESET ? WEIR_TURNED_AWAY : WEIR_UNREACHABLE);
    }
    switch (wait_readable(client->fd, soon < until ? soon : until)) {
    case 0:
        return give_up(client, WEIR_TIMED_OUT);
    case 1:
        break;
    default:
        return give_up(client, WEIR_UNREACHABLE);
    }
    received = receive_short(client->fd, bytes, &descriptor);
    if (received != WEIR_FILE) {
        return give_up(client, received);
    }
    if (descriptor >= 0) {
        close(descriptor);
    }
    if (memcmp(bytes, "WOPN", 4) != 0 || get16(bytes + 4) != VERSION || get16(bytes + 6) != 1) {
        return give_up(client, WEIR_MISMATCH);
    }
    return WEIR_FILE;
}

/* Sends the question: 0, or -1 if the connection is of no use. */
static int ask(struct weir_client *client, const char *name, size_t length)
{
    unsigned char bytes[QUESTION_HEAD + WEIR_LONGEST_NAME];
    put32(bytes, ++client->number);
    put16(bytes + 4, QUESTION_OPEN);
    put16(bytes + 6, (uint16_t)length);
    memcpy(bytes + QUESTION_HEAD, name, length);
    return send_message(client->fd, bytes, QUESTION_HEAD + length);
}

/* Reads answers until that to the last question. */
static enum weir_result hear(struct weir_client *client, int64_t until, struct weir_reply *reply)
{
    unsigned char bytes[SHORT];
    enum weir_result received;
    int kind;

    for (;;) {
        int ready = wait_readable(client->fd, until);
        if (ready == 0) {
            /* The answer may still come: this connection would have it in the place of another. */
            return give_up(client, WEIR_TIMED_OUT);
        }
        if (ready < 0) {
            return give_up(client, WEIR_UNREACHABLE);
        }
        received = receive_short(client->fd, bytes, &reply->fd);
        if (received == WEIR_TURNED_AWAY) {
            /* It had welcomed this process: it has ended. */
            received = WEIR_UNREACHABLE;
        }
        if (received != WEIR_FILE) {
            return give_up(client, received);
        }
        if (get32(bytes) == client->number) {
            break;
        }
        if (reply->fd >= 0) {
            close(reply->fd);
            reply->fd = -1;
        }
        if (now_us() >= until) {
            /* There may always be one more. */
            return give_up(client, WEIR_TIMED_OUT);
        }
    }
    if (pause_us != 0) {
        pause_us = 0;
    }
    kind = get16(bytes + 4);
    reply->error = get16(bytes + 6);
    if ((kind == 1 || kind == 2) && reply->fd >= 0) {
        return kind == 1 ? WEIR_FILE : WEIR_DIRECTORY;
    }
    if (reply->fd >= 0) {
        close(reply->fd);
        reply->fd = -1;
    }
    return kind == 3 ? WEIR_NOTHING : WEIR_NOT_TOLD;
}

enum weir_result weir_client_ask(struct weir_client *client, const char *socket, int timeout,
                                 const char *name, size_t length, struct weir_reply *reply)
{
    int connected = client->fd >= 0;
    int64_t until;

    client->began = now_us();
    until = client->began + (int64_t)timeout * 1000;
    reply->fd = -1;
    reply->error = 0;
    if (length == 0 || length > WEIR_LONGEST_NAME || name[0] != '/') {
        return WEIR_NOT_TOLD;
    }
    if (connected && ask(client, name, length) != 0) {
        /* The opener was started anew since the last question. */
        weir_client_close(client);
        connected = 0;
    }
    if (!connected) {
        enum weir_result greeted;
        if (client->began < not_before) {
            return WEIR_PAUSED;
        }
        greeted = greet(client, socket, until);
        if (greeted != WEIR_FILE) {
            return greeted;
        }
        if (ask(client, name, length) != 0) {
            return give_up(client, WEIR_UNREACHABLE);
        }
    }
    return hear(client, until, reply);
}
