"""Prints what httplint calls bad in a response, one note a line.

The method of its request is the first argument, the file with its bytes, without a transfer coding, the
second. Used by httplint.rs.
"""

import sys

from httplint import HttpResponseLinter


def main(method, path):
    with open(path, "rb") as file:
        head, body = file.read().split(b"\r\n\r\n", 1)
    status_line, *lines = head.split(b"\r\n")
    version, code, *phrase = status_line.split(b" ", 2)
    linter = HttpResponseLinter()
    linter.is_head_response = method == "HEAD"
    linter.process_response_topline(version, code, phrase[0] if phrase else b"")
    fields = (line.split(b":", 1) for line in lines)
    linter.process_headers([(name, value.strip()) for name, value in fields])
    linter.feed_content(body)
    linter.finish_content(True)
    # In several parts each has its range (RFC 9110, section 15.3.7.2).
    parts = any(b"multipart/byteranges" in line for line in lines)
    for note in linter.notes:
        name = type(note).__name__
        level = getattr(note.level, "name", str(note.level))
        # What a status says of the request is no fault of the response.
        expected = name.startswith("STATUS_") or (parts and name == "PARTIAL_WITHOUT_RANGE")
        if level.upper().endswith("BAD") and not expected:
            print(f"{name}: {note.summary}")


main(*sys.argv[1:])
