#!/usr/bin/env bash
# Adds up what `cargo test` printed and what the tests said they skipped.
#
#   tools/count_tests.sh LOG SKIPS
#
# A skipped test counts as passed for cargo; here it is taken out of the passed and named with its reason.
set -euo pipefail
log="$1" skips="$2"
sort -u "$skips" -o "$skips"
# Several reasons in one test are one skipped test.
skipped="$(cut -f 2 "$skips" | sort -u | wc -l)"
if [ "$skipped" -gt 0 ]; then
  cut -f 1,3 "$skips" | sort | uniq -c | while read -r n reason; do echo "  skipped $n for want of $reason"; done
fi
awk -v skipped="$skipped" '
  /^test result:/ { passed += $4; failed += $6; ignored += $8 }
  END {
    if (ignored) printf "  %d long tests are run by name only (cargo test -- --ignored)\n", ignored
    printf "%d passed, %d failed, %d skipped\n", passed - skipped, failed, skipped
  }' "$log"
