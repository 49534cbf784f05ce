#!/bin/sh
# Cuts the glyphs that letter geometry draws out of DejaVu Sans (free licence, see
# crates/core/mary-generators/assets/LICENSE-DejaVu.txt). Needs fonttools (pip install fonttools).
#
#   tools/htest-glyphs.sh /path/to/DejaVuSans.ttf
set -eu
here=$(cd "$(dirname "$0")/.." && pwd)
pyftsubset "$1" \
  --text-file="$here/crates/core/mary-generators/assets/glyphs.txt" \
  --output-file="$here/crates/core/mary-generators/assets/glyphs.ttf" \
  --no-hinting --desubroutinize --layout-features='' --name-IDs='' --notdef-outline \
  --drop-tables+=GDEF,GPOS,GSUB,kern,FFTM,post
