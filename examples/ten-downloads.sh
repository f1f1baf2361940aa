#!/bin/sh
# How long a page of 100 KB takes beside ten downloads on an uplink of 10 Mbit/s. Needs curl.
#   examples/ten-downloads.sh [POLICY] [PROGRAM]     (protective, target/release/weir)
set -eu
policy=${1:-protective}
weir=${2:-target/release/weir}
log=$(mktemp)

"$weir" serve --listen 127.0.0.1:0 --uplink 10mbit --policy "$policy" 2>"$log" &
processes=$!
trap 'kill $processes 2>/dev/null; rm -f "$log"' EXIT

# The server says where it listens.
until site=$(grep -o 'http://127\.0\.0\.1:[0-9]*' "$log"); do
    kill -0 $processes 2>/dev/null || { cat "$log" >&2; exit 1; }
    sleep 0.1
done

for _ in 1 2 3 4 5 6 7 8 9 10; do
    curl -s -o /dev/null "$site/files/100mb.bin" &
    processes="$processes $!"
done
sleep 1

seconds=$(curl -sS --fail -o /dev/null -w '%{time_total}' "$site/files/100kb.bin")
LC_ALL=C printf '%.2f s\n' "$seconds"
