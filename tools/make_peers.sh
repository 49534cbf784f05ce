#!/usr/bin/env bash
# Makes a Python environment with the tools the tests hold our files and numbers against:
# inspect_ai and lm_eval (readers of our exports; lm_eval brings pyarrow and pandas, and no torch) and
# xllamacpp (llama.cpp's own server); openai and langchain-openai (clients of `mary serve`); hyperqueue (an engine with its workers) and kubernetes-validate
# (the published schemas); and what the suite of the Python package needs (pytest, mypy, and the data-frame
# libraries that read its tables).
#
#   tools/make_peers.sh FOLDER
#
# A file in the folder says what is there: has-readers, has-llamacpp, has-clients, has-engines, has-pytest. What is there is not made again.
set -euo pipefail
folder="${1:?which folder}"
[ -x "$folder/bin/python" ] || python3 -m venv "$folder"
pip=("$folder/bin/python" -m pip install --quiet --disable-pip-version-check --no-compile --only-binary=:all:)
failed=0
if [ ! -e "$folder/has-llamacpp" ]; then
  { "${pip[@]}" xllamacpp && touch "$folder/has-llamacpp"; } || failed=1
fi
if [ ! -e "$folder/has-readers" ]; then
  # A few of their smaller dependencies come as source.
  { "${pip[@]/--only-binary=:all:/--prefer-binary}" inspect_ai lm_eval && touch "$folder/has-readers"; } || failed=1
fi
if [ ! -e "$folder/has-clients" ]; then
  { "${pip[@]}" openai langchain-openai && touch "$folder/has-clients"; } || failed=1
fi
if [ ! -e "$folder/has-engines" ]; then
  { "${pip[@]/--only-binary=:all:/--prefer-binary}" hyperqueue kubernetes-validate && touch "$folder/has-engines"; } || failed=1
fi
if [ ! -e "$folder/has-pytest" ]; then
  { "${pip[@]}" pytest mypy numpy pandas polars pyarrow && touch "$folder/has-pytest"; } || failed=1
fi
exit "$failed"
