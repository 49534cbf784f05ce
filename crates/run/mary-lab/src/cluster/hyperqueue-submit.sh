#!/bin/bash
# Submits the shards of {folder} and joins them when they have ended, well or not.
set -u
{preamble}id=$(hq submit --output-mode quiet {options} \
  --stdout {out} --stderr {err} \
  {script}) || exit 5
echo "HyperQueue job $id"
hq job wait "$id"
exec {merge}
