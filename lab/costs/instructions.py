#!/usr/bin/env python3
"""What a request costs in user space: instructions, counted by callgrind, and system calls, counted by
strace. What weir does by the clock, as an idle server does, is taken off the instructions, so that they
are nearly the same from run to run on a busy machine, too.

    lab/costs/instructions.py [--keep DIR] WEIR...

WEIR is a program, perhaps with flags of `weir serve` behind it: 'target/release/weir --uplink kernel'.

One connection, one request at a time: the built-in page, its files of 1 KB and 10 KB, and 1 KB of a
backend; in the case `close` the file of 1 KB with a connection for each request. Needs the Debian
packages valgrind and strace. valgrind 3.19 does not know openat2, so files of a directory cannot be
counted with it; for them only the system calls are. Prints Markdown. With `--keep` the profiles of the
last program stay in DIR, for callgrind_annotate; it names functions if the program has its symbols.
"""

import ctypes
import os
import re
import shlex
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time

REQUESTS = 2000
IDLE = 5
BODY = 1024
FILE = "/files/1kb.bin"
CASES = [
    ("page", "/"), ("file", FILE), ("10 KB", "/files/10kb.bin"), ("close", FILE),
    ("directory", "/1k"), ("proxied", "/1k"),
]


def hide_vdso():
    """valgrind unmaps the vDSO, and rustix finds it all the same, by prctl(PR_GET_AUXV): that fails
    from now on, and what is asked then instead is told right by valgrind."""
    load, equal, give = 0x20, 0x15, 0x06
    prctl, get_auxv, refuse, allow = 157, 0x41555856, 0x00050000 | 22, 0x7FFF0000
    steps = [(load, 0, 0, 0), (equal, 0, 3, prctl), (load, 0, 0, 16), (equal, 0, 1, get_auxv),
             (give, 0, 0, refuse), (give, 0, 0, allow)]
    code = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *step) for step in steps))
    program = ctypes.create_string_buffer(struct.pack("HxxxxxxQ", len(steps), ctypes.addressof(code)))
    libc = ctypes.CDLL(None)
    assert libc.prctl(38, 1, 0, 0, 0) == 0 and libc.prctl(22, 2, program) == 0, "no seccomp"


def backend():
    """Answers every request on kept connections with 1 KB; its address."""
    head = f"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: {BODY}\r\nETag: \"a\"\r\n\r\n"
    answer = head.encode() + b"x" * BODY
    listener = socket.create_server(("127.0.0.1", 0))

    def serve(connection):
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        asked = b""
        while more := connection.recv(65536):
            asked += more
            while b"\r\n\r\n" in asked:
                asked = asked.split(b"\r\n\r\n", 1)[1]
                connection.sendall(answer)

    def accept():
        while True:
            threading.Thread(target=serve, args=(listener.accept()[0],), daemon=True).start()

    threading.Thread(target=accept, daemon=True).start()
    return f"http://127.0.0.1:{listener.getsockname()[1]}"


class Server:
    """weir for one case, by way of `prefix`, and a connection to it that is warm."""

    def __init__(self, weir, case, path, directory, prefix=(), prepare=None):
        with socket.create_server(("127.0.0.1", 0)) as free:
            address = free.getsockname()
        options = ["--workers", "1", "--access-log", "off", "--log", "error"]
        options += ["--listen", "%s:%d" % address]
        if case == "directory":
            options.insert(0, directory)
        if case == "proxied":
            options += ["--proxy", "/=" + backend()]
        program, *flags = shlex.split(weir)
        self.process = subprocess.Popen(
            [*prefix, os.path.abspath(program), "serve", *options, *flags], cwd=directory, preexec_fn=prepare,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.address = address
        while True:
            try:
                self.connect()
                break
            except ConnectionRefusedError:
                assert self.process.poll() is None, "weir ended"
                time.sleep(0.05)
        self.closes = case == "close"
        last = "Connection: close\r\n" if self.closes else ""
        request = f"GET {path} HTTP/1.1\r\nHost: weir\r\nUser-Agent: count\r\n{last}\r\n"
        self.request = request.encode()
        self.ask(300)
        # What is asked for again is kept, if it did not change in the last two seconds.
        time.sleep(3)
        self.ask(300)

    def connect(self):
        self.socket = socket.create_connection(self.address, 60)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def ask(self, requests):
        for _ in range(requests):
            if self.closes:
                self.connect()
            self.socket.sendall(self.request)
            answer = b""
            while b"\r\n\r\n" not in answer:
                answer += self.socket.recv(65536)
            head, _, body = answer.partition(b"\r\n\r\n")
            assert head.startswith(b"HTTP/1.1 200 "), head
            left = int(re.search(rb"(?i)content-length: (\d+)", head)[1]) - len(body)
            while left > 0:
                left -= len(self.socket.recv(65536))
            if self.closes:
                assert not self.socket.recv(1), "it was not closed"
                self.socket.close()

    def end(self):
        self.process.terminate()
        self.process.wait()


def instructions(weir, case, path, directory, keep):
    out = os.path.join(directory, "callgrind")
    prefix = ["valgrind", "--quiet", "--tool=callgrind", "--callgrind-out-file=" + out]
    server = Server(weir, case, path, directory, prefix, hide_vdso)
    control = ["callgrind_control", str(server.process.pid)]
    subprocess.run([*control, "--zero"], check=True, capture_output=True)
    begun = time.monotonic()
    server.ask(REQUESTS)
    dump = [*control, "--dump"]
    subprocess.run(dump, check=True, capture_output=True)
    took = time.monotonic() - begun
    # What is done by the clock, however few requests come.
    begun = time.monotonic()
    time.sleep(IDLE)
    subprocess.run(dump, check=True, capture_output=True)
    idle = took / (time.monotonic() - begun)
    server.end()
    if keep:
        shutil.copy(out + ".1", os.path.join(keep, "callgrind." + case.replace(" ", "")))
    return (total(out + ".1") - idle * total(out + ".2")) / REQUESTS


def total(profile):
    with open(profile, errors="replace") as lines:
        return int(re.search(r"^totals: (\d+)", lines.read(), re.M)[1])


def calls(weir, case, path, directory):
    server = Server(weir, case, path, directory)
    out = os.path.join(directory, "strace")
    strace = subprocess.Popen(
        ["strace", "-c", "-f", "-o", out, "-p", str(server.process.pid)],
        stderr=subprocess.PIPE)
    strace.stderr.readline()
    server.ask(REQUESTS)
    strace.send_signal(signal.SIGINT)
    strace.wait()
    server.end()
    with open(out) as table:
        total = next(line.split() for line in table if line.endswith(" total\n"))
    return int(total[3]) / REQUESTS


def main():
    keep, programs = None, sys.argv[1:]
    if programs[:1] == ["--keep"]:
        keep, programs = programs[1], programs[2:]
    print("| | weir | instructions | system calls |\n| --- | --- | ---: | ---: |")
    for case, path in CASES:
        for weir in programs:
            with tempfile.TemporaryDirectory() as directory:
                file = os.path.join(directory, "1k")
                with open(file, "wb") as kilobyte:
                    kilobyte.write(b"y" * BODY)
                os.utime(file, (1e9, 1e9))
                count = "–"
                if case != "directory":
                    count = f"{instructions(weir, case, path, directory, keep):,.0f}"
                called = f"{calls(weir, case, path, directory):.2f}"
                print(f"| {case} | {weir} | {count} | {called} |", flush=True)


main()
