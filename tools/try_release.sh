#!/usr/bin/env bash
# Tries the artefacts of tools/release.sh as somebody without Rust or a compiler would: in a bare Debian.
#
#   tools/try_release.sh [FOLDER]     FOLDER as for tools/release.sh
#
# Needs root and debootstrap (apt-get install debootstrap). For each artefact it prints the seconds from unpacking, or
# `pip install`, to the end of the first run. Debian 10 has glibc 2.28; where the mirror no longer has it, the oldest
# release that it has is taken and its glibc is printed.
set -euo pipefail
cd "$(dirname "$0")/.."
out="$(cd "${1:-target/release-artefacts}" && pwd)"
place="$(mktemp -d)"
trap 'umount "$place"/root*/proc 2>/dev/null || true; rm -rf "$place"' EXIT
suites="${MARY_TRY_SUITES:-buster bullseye bookworm}"

base=""
for suite in $suites; do
  if debootstrap --variant=minbase --include=python3,python3-venv,python3-pip,ca-certificates "$suite" "$place/base" \
      > "$place/log" 2>&1; then
    base="$suite"
    break
  fi
  rm -rf "$place/base"
done
[ -n "$base" ] || { tail -n 3 "$place/log"; echo "no Debian could be set up"; exit 1; }
echo "Debian $base, $(chroot "$place/base" ldd --version | head -n 1), $(chroot "$place/base" python3 --version)"
! chroot "$place/base" sh -c 'command -v cc || command -v cargo' || { echo "there is a compiler in it"; exit 1; }

attempt() { # NAME COMMAND
  local root="$place/root-$1"
  cp -a "$place/base" "$root"
  mount -t proc proc "$root/proc" 2>/dev/null || true
  cp "$out"/*.tar.gz "$out"/*.whl "$root/tmp/"
  local start
  start="$(date +%s.%N)"
  chroot "$root" /usr/bin/env -i HOME=/root PATH=/usr/bin:/bin LANG=C.UTF-8 sh -ec "cd /tmp; $2" > "$place/log" 2>&1 || {
    tail -n 20 "$place/log"; echo "$1: failed"; exit 1; }
  tail -n 4 "$place/log"
  echo "$1: $(awk -v a="$start" -v b="$(date +%s.%N)" 'BEGIN { printf "%.1f", b - a }') s to the end of the first run"
  umount "$root/proc" 2>/dev/null || true
  rm -rf "$root"
}

for tarball in "$out"/*.tar.gz; do
  name="$(basename "$tarball" .tar.gz)"
  attempt "$name" "tar xzf $name.tar.gz && cd $name && ./mary --version && ./mary doctor && ./mary run && ls runs/*/report.html"
done
if chroot "$place/base" python3 -c 'import sys; sys.exit(sys.version_info < (3, 10))'; then
  attempt wheel 'python3 -m venv v && v/bin/pip install --no-index ./*.whl && v/bin/mary run && v/bin/python -c "import mary; print(mary.__version__)"'
else
  echo "the wheel needs Python 3.10: set MARY_TRY_SUITES=bookworm"
fi
(cd "$out" && ls -l && sha256sum --check --quiet SHA256SUMS && echo "sums agree")
