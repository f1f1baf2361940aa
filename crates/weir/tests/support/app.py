"""An application as people write them: http.server with a thread for each connection.

It prints its port. POST gives the body back; /stream answers in chunks; /ws is a WebSocket that
gives every message back; /wait answers when the message "seen" has come over one.
"""

import base64
import hashlib
import http.server
import struct
import threading

GUID = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"  # RFC 6455, section 1.3

seen = threading.Event()


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        if self.path == "/ws":
            self.switch()
        elif self.path == "/stream":
            self.stream()
        elif self.path == "/wait":
            self.answer(200 if seen.wait(25) else 504, b"")
        else:
            self.answer(200, f"{self.path} for {self.headers['X-Forwarded-For']}".encode())

    def do_POST(self):
        if self.headers["Transfer-Encoding"] == "chunked":
            body = b"".join(self.chunks())
        else:
            body = self.rfile.read(int(self.headers["Content-Length"]))
        self.answer(200, body)

    def answer(self, status, body):
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def chunks(self):
        while size := int(self.rfile.readline(), 16):
            yield self.rfile.read(size)
            self.rfile.readline()
        self.rfile.readline()

    def stream(self):
        self.send_response(200)
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        for number in range(1000):
            line = f"line {number}\n".encode()
            self.wfile.write(b"%x\r\n%s\r\n" % (len(line), line))
        self.wfile.write(b"0\r\n\r\n")

    def switch(self):
        digest = hashlib.sha1(self.headers["Sec-WebSocket-Key"].encode() + GUID).digest()
        self.send_response(101)
        self.send_header("Upgrade", "websocket")
        self.send_header("Connection", "Upgrade")
        self.send_header("Sec-WebSocket-Accept", base64.b64encode(digest).decode())
        self.end_headers()
        self.close_connection = True
        while (frame := self.frame()) is not None:
            opcode, payload = frame
            self.wfile.write(head(opcode, len(payload)) + payload)
            if payload == b"seen":
                seen.set()
            if opcode == 8:
                return

    def frame(self):
        """One whole message of a client; None at the end of the connection."""
        start = self.rfile.read(2)
        if len(start) < 2:
            return None
        opcode, length = start[0] & 15, start[1] & 127
        if length == 126:
            (length,) = struct.unpack(">H", self.rfile.read(2))
        elif length == 127:
            (length,) = struct.unpack(">Q", self.rfile.read(8))
        mask = self.rfile.read(4)
        payload = self.rfile.read(length)
        return opcode, bytes(byte ^ mask[place % 4] for place, byte in enumerate(payload))

    def log_message(self, *_):
        pass


def head(opcode, length):
    if length < 126:
        return struct.pack(">BB", 128 | opcode, length)
    if length < 65536:
        return struct.pack(">BBH", 128 | opcode, 126, length)
    return struct.pack(">BBQ", 128 | opcode, 127, length)


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
print(server.server_address[1], flush=True)
server.serve_forever()
