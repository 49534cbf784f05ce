#!/usr/bin/env bash
# Tries the artefacts of tools/release.sh as somebody without Rust or a compiler would: in bare Debians.
#
#   tools/try_release.sh [FOLDER]     FOLDER as for tools/release.sh
#
# Needs root and debootstrap (apt-get install debootstrap). In each Debian: both tarballs, the wheel where Python is 3.10 or
# newer, and in the image's own Debian what the container file says. For each it prints the seconds from unpacking, or
# `pip install`, to the end of the first run, and fails beyond 60.
#
#   MARY_TRY_SUITES    the Debians, "bullseye bookworm" unless told: glibc 2.31 and 2.36
#   MARY_TRY_BASES     a folder that keeps the bare systems for the next time
#   MARY_TRY_SECONDS   instead of 60, on a busy machine
set -euo pipefail
cd "$(dirname "$0")/.."
out="$(cd "${1:-target/release-artefacts}" && pwd)"
limit="${MARY_TRY_SECONDS:-60}"
place="$(mktemp -d)"
trap 'umount "$place"/root/proc 2>/dev/null || true; rm -rf --one-file-system "$place"' EXIT
bases="${MARY_TRY_BASES:-$place/bases}"
mkdir -p "$bases"

(cd "$out" && sha256sum --check --quiet SHA256SUMS && echo "sums agree")

enter() { chroot "$place/root" /usr/bin/env -i HOME=/root PATH=/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin LANG=C.UTF-8 "$@"; }

fresh() { # SUITE: a copy that the attempt may change
  umount "$place/root/proc" 2>/dev/null || true
  rm -rf --one-file-system "$place/root"
  cp -a "$bases/$1" "$place/root"
  mount -t proc proc "$place/root/proc" 2>/dev/null || true
}

attempt() { # SUITE NAME FILE COMMANDS
  fresh "$1"
  cp "$out/$3" "$place/root/tmp/"
  local start seconds
  start="$(date +%s.%N)"
  enter sh -ec "cd /tmp; $4" > "$place/log" 2>&1 || { tail -n 30 "$place/log"; echo "$1, $2: failed"; exit 1; }
  seconds="$(awk -v a="$start" -v b="$(date +%s.%N)" 'BEGIN { printf "%.1f", b - a }')"
  [ -z "${MARY_TRY_SHOW:-}" ] || cat "$place/log"
  echo "$1, $2: $seconds s to the end of the first run"
  awk -v s="$seconds" -v limit="$limit" 'BEGIN { exit s > limit }' || { echo "more than $limit s"; exit 1; }
}

# What an image builder does, for the instructions that our container file has.
follow_containerfile() { # SUITE
  fresh "$1"
  cp /etc/resolv.conf "$place/root/etc/"
  local start word rest entry="" folder=/ environment=()
  start="$(date +%s.%N)"
  while read -r word rest; do
    case "$word" in
      RUN) enter sh -ec "$rest" > "$place/log" 2>&1 || { tail -n 5 "$place/log"; echo "RUN $rest: failed"; exit 1; } ;;
      ADD) tar -xzf "$out/${rest% *}" -C "$place/root${rest##* }" ;;
      ENV) read -ra environment <<< "$rest" ;;
      WORKDIR) folder="$rest"; mkdir -p "$place/root$folder" ;;
      ENTRYPOINT) entry="$(tr -d '[]"' <<< "$rest")" ;;
      FROM | "#" | "") ;;
      *) echo "Containerfile: $word is not known here"; exit 1 ;;
    esac
  done < "$out/Containerfile"
  enter "${environment[@]}" sh -ec "cd $folder; $entry run; ls runs/*/report.html" > "$place/log" 2>&1 || {
    tail -n 30 "$place/log"; echo "$1, container file: failed"; exit 1; }
  echo "$1, container file: $(awk -v a="$start" -v b="$(date +%s.%N)" 'BEGIN { printf "%.1f", b - a }') s with its packages and a first run"
}

for suite in ${MARY_TRY_SUITES:-bullseye bookworm}; do
  # debootstrap keeps a folder of its name there until it is done.
  if [ ! -e "$bases/$suite/etc/debian_version" ] || [ -e "$bases/$suite/debootstrap" ]; then
    rm -rf --one-file-system "$bases/$suite"
    debootstrap --variant=minbase --include=python3,python3-venv,ca-certificates "$suite" "$place/new" > "$place/log" 2>&1 || {
      tail -n 3 "$place/log"; echo "Debian $suite could not be set up"; exit 1; }
    mv "$place/new" "$bases/$suite"
  fi
  fresh "$suite"
  enter sh -c 'command -v cc gcc clang ld cargo rustc' && { echo "there is a compiler in it"; exit 1; }
  echo "Debian $suite: $(enter ldd --version | head -n 1), $(enter python3 --version), no compiler; load $(cut -d ' ' -f 1-3 /proc/loadavg)"
  for tarball in "$out"/mary-*-linux*.tar.gz; do
    name="$(basename "$tarball" .tar.gz)"
    attempt "$suite" "$name" "$name.tar.gz" \
      "tar xzf $name.tar.gz && cd $name && ./mary --version && ./mary doctor && ./mary run && ls runs/*/report.html"
  done
  if enter python3 -c 'import sys; sys.exit(sys.version_info < (3, 10))'; then
    wheel="$(basename "$out"/*.whl)"
    attempt "$suite" "$wheel" "$wheel" \
      "python3 -m venv v && v/bin/pip install --no-index ./$wheel && v/bin/python -c 'import mary; print(mary.__version__)' &&
       v/bin/mary --version && v/bin/mary doctor && v/bin/mary run && ls runs/*/report.html"
  else
    echo "$suite: the wheel needs Python 3.10"
  fi
  ! grep -q "^FROM debian:$suite" "$out/Containerfile" || follow_containerfile "$suite"
done
