#!/usr/bin/env bash
# What sharding costs on one machine: two shards side by side, each with one thread, against one process
# with two. Prints wall-clock and processor seconds of each, and of the merge.
#
#   tools/bench_shards.sh MARY [WORDS OF A RUN …]      MARY: the program, target/release/mary for example
set -euo pipefail
mary="$(realpath "${1:?which program}")"
shift
[ $# -gt 0 ] || set -- -m builtin/nano -t psychometric/grammar-small --set n=200
folder="$(mktemp -d)"
trap 'rm -rf "$folder"' EXIT
export MARY_CACHE_DIR="$folder/cache" TMPDIR="$folder"
cd "$folder"
TIMEFORMAT='%R s wall, %U s processor'
echo "one process, two threads:"
time "$mary" --output-path one run "$@" --threads 2 --no-cache --quiet --no-report >/dev/null
echo "two shards, a thread each:"
time {
  "$mary" --output-path two run "$@" --threads 1 --no-cache --quiet --no-report --shard 0/2 &
  first=$!
  "$mary" --output-path two run "$@" --threads 1 --no-cache --quiet --no-report --shard 1/2
  wait "$first"
} 2>/dev/null
echo "merge:"
time "$mary" --output-path two merge two/*/ >/dev/null 2>&1
python3 - one/*/summary.json two/*/summary.json <<'PY'
import json, sys
one, two = (json.load(open(path)) for path in sys.argv[1:3])
for summary in (one, two):
    for name in ("created", "command", "model_settings", "execution"):
        summary["manifest"].pop(name, None)
same = one == two
print("the joined summary is the same" if same else "THE SUMMARIES DIFFER")
sys.exit(not same)
PY
