"""Prints what httplint calls bad in responses, one note a line, behind the status and the request line.

The argument is a directory with two files for each response: NUMBER.request has the head of its request, as
far as it was sent, NUMBER.response its bytes without a transfer coding. Used by httplint.rs.
"""

import pathlib
import sys

from httplint import HttpRequestLinter, HttpResponseLinter

# What a status says of the request is no fault of the response.
EXPECTED = {"STATUS_URI_TOO_LONG", "STATUS_VERSION_NOT_SUPPORTED"}

# Warnings for httplint, and nothing that a server of RFC 9110 does (sections 6.6.1, 15.4.5, 10.2.1, 12.5.3 and
# 15.5.17).
NEVER = {
    "DATE_CLOCKLESS",
    "NO_DATE_304",
    "STATUS_405_METHOD_IN_ALLOW",
    "ENCODING_UNWANTED",
    "STATUS_416_WITHOUT_CONTENT_RANGE",
}


def fields_of(lines):
    fields = (line.split(b":", 1) for line in lines)
    return [(name, value.strip()) for name, value in fields]


def request_of(head):
    line, *lines = head.split(b"\r\n")
    linter = HttpRequestLinter()
    linter.method = line.split(b" ", 1)[0].decode("ascii")
    # The head may break off in the middle of a line.
    linter.process_headers(fields_of(line for line in lines if b":" in line))
    return linter


def all_of(notes):
    for note in notes:
        yield note
        yield from all_of(note.subnotes)


def bad_notes(request, response):
    head, body = response.split(b"\r\n\r\n", 1)
    status_line, *lines = head.split(b"\r\n")
    version, code, *phrase = status_line.split(b" ", 2)
    linter = HttpResponseLinter()
    if request:
        linter.request = request_of(request)
        linter.is_head_response = linter.request.method == "HEAD"
    linter.process_response_topline(version, code, phrase[0] if phrase else b"")
    linter.process_headers(fields_of(lines))
    linter.feed_content(body)
    linter.finish_content(True)
    # In several parts each has its range (RFC 9110, section 15.3.7.2).
    parts = any(b"multipart/byteranges" in line for line in lines)
    for note in all_of(linter.notes):
        name = type(note).__name__
        expected = name in EXPECTED or (parts and name == "PARTIAL_WITHOUT_RANGE")
        if name in NEVER or (note.level.name == "BAD" and not expected):
            yield f"{name}: {note.summary}"


def main(directory):
    responses = pathlib.Path(directory).glob("*.response")
    for file in sorted(responses, key=lambda file: int(file.stem)):
        request, response = file.with_suffix(".request").read_bytes(), file.read_bytes()
        status = response.split(b" ", 2)[1].decode()
        line = request.split(b"\r\n", 1)[0][:60].decode()
        for note in bad_notes(request, response):
            print(f"{status} to {line}: {note}")


main(sys.argv[1])
