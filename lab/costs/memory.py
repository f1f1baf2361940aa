#!/usr/bin/env python3
"""How much memory weir takes for many connections that do something unkind, each: the most it had, less
what it had at its start.

    lab/costs/memory.py WEIR [CONNECTIONS]

Clients have 50 addresses of 127.0.0.0/8, weir one worker and its defaults but for a limit of the backend
that nobody waits for. Each kind of client stays for some seconds after all are there. Prints Markdown.
"""

import asyncio
import re
import resource
import subprocess
import sys

ADDRESSES = 50
BATCH = 100
STAYS = 10
ANSWER = b"x" * 1_000_000
GET = b"GET /a HTTP/1.1\r\nHost: a\r\n\r\n"
POST = b"POST /a HTTP/1.1\r\nHost: a\r\n"
KINDS = {
    "nothing is asked": (b"", True),
    "a head that does not end, 20 KB": (b"GET /a HTTP/1.1\r\nHost: a\r\nX: " + b"z" * 20_000, True),
    "an upload of 1 MB that stops after 200 KB":
        (POST + b"Content-Length: 1000000\r\n\r\n" + b"y" * 200_000, True),
    "20,000 chunks of one byte":
        (POST + b"Transfer-Encoding: chunked\r\n\r\n" + b"1\r\ny\r\n" * 20_000, True),
    "an answer of 1 MB that is not read": (GET, False),
    "2,000 such requests ahead": (GET * 2000, False),
}


async def answer(reader, writer):
    """An application: 1 MB for whatever is asked, once the request has come."""
    try:
        while True:
            head = await reader.readuntil(b"\r\n\r\n")
            length = re.search(rb"(?i)content-length: (\d+)", head)
            if length:
                await reader.readexactly(int(length[1]))
            elif b"chunked" in head.lower():
                while await reader.read(65536):
                    pass
                return
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(ANSWER) + ANSWER)
            await writer.drain()
    except (OSError, asyncio.IncompleteReadError, asyncio.CancelledError):
        pass
    finally:
        writer.close()


async def client(port, number, sends, reads):
    source = "127.0.0.%d" % (2 + number % ADDRESSES)
    _, writer = await asyncio.open_connection("127.0.0.1", port, local_addr=(source, 0), limit=1024)
    if not reads:
        writer.transport.pause_reading()
    writer.write(sends)
    return writer


def memory(process, what):
    """Kilobytes: VmRSS now, VmHWM the most so far."""
    with open("/proc/%d/status" % process.pid) as status:
        return int(re.search(what + r":\s+(\d+)", status.read())[1])


async def measure(weir, backend, sends, reads, count):
    command = [weir, "serve", "--listen", "127.0.0.1:0", "--workers", "1", "--access-log", "off",
               "--proxy", "/=http://127.0.0.1:%d" % backend, "--backend-limit", "100000"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    try:
        port = next(int(found[1]) for line in process.stdout
                    if (found := re.search(r" on http://127\.0\.0\.1:(\d+)", line)))
        before = memory(process, "VmRSS")
        writers = []
        for first in range(0, count, BATCH):
            batch = range(first, min(first + BATCH, count))
            writers += await asyncio.gather(*(client(port, n, sends, reads) for n in batch))
        await asyncio.sleep(STAYS)
        most = memory(process, "VmHWM") - before
        for writer in writers:
            writer.transport.abort()
        return most
    finally:
        process.terminate()
        process.wait()


async def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    weir, count = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 3000
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    server = await asyncio.start_server(answer, "127.0.0.1", 0, backlog=4096, limit=1 << 16)
    backend = server.sockets[0].getsockname()[1]
    print("| what each of %d connections does | most, MB | KB each |" % count)
    print("| --- | ---: | ---: |")
    for name, (sends, reads) in KINDS.items():
        kilobytes = await measure(weir, backend, sends, reads, count)
        print("| %s | %.0f | %.0f |" % (name, kilobytes / 1000, kilobytes / count), flush=True)


asyncio.run(main())
