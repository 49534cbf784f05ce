#!/usr/bin/env bash
# Makes everything a release for Linux consists of, with one command:
#
#   tools/release.sh [FOLDER]     FOLDER defaults to target/release-artefacts
#
#   mary-VERSION-x86_64-linux.tar.gz        the program, pages, manual, completions, licences; glibc 2.28 and newer
#   mary-VERSION-x86_64-linux-cuda.tar.gz   the same with GPU support (driver 550 or newer; no toolkit)
#   mary_lab-VERSION-…manylinux_2_28….whl   the Python package, with the command `mary`
#   mary-VERSION-book.tar.gz                the book as pages with search (where mdbook is installed)
#   Containerfile                           an image around the first tarball
#   DEPENDENCIES.tsv                        every crate inside with its version and licence
#   LICENCES.txt                            the texts of these licences
#   SHA256SUMS
#
# Needs Rust, a C compiler and binutils, Python 3.10 with venv, and the package registries. zig, which links against an
# old glibc, and cargo-zigbuild come from the Python registry into target/release-tools. On an ARM machine the same is
# made for ARM. tools/try_release.sh tries what was made.
#
#   MARY_RELEASE_PROFILE   the cargo profile, `dist` unless told; another one to try changes of this script
#   MARY_COMMIT            what `mary --version` calls the commit, where this is no git checkout
set -euo pipefail
cd "$(dirname "$0")/.."
out="${1:-target/release-artefacts}"
glibc=2.28
machine="$(uname -m)"
triple="$machine-unknown-linux-gnu"
profile="${MARY_RELEASE_PROFILE:-dist}"
built="${CARGO_TARGET_DIR:-target}/$triple/${profile/#dev/debug}"
version="$(sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml | head -n 1)"
if [ -z "${MARY_COMMIT:-}" ]; then
  MARY_COMMIT="$(git rev-parse --short=12 HEAD)"
  git diff --quiet HEAD -- || MARY_COMMIT="$MARY_COMMIT-changed"
fi
export MARY_COMMIT
stamp="$(git log -1 --format=%ct 2>/dev/null || stat -c %Y Cargo.toml)"
tools="$PWD/target/release-tools"
mkdir -p "$out"
out="$(cd "$out" && pwd)"
rm -f "$out"/*.tar.gz "$out"/*.whl "$out"/SHA256SUMS

step() { printf '\n== %s (%d s)\n' "$*" "$SECONDS"; }

step "tools"
if [ ! -e "$tools/complete" ]; then
  python3 -m venv "$tools"
  "$tools/bin/pip" install --quiet 'ziglang==0.15.2' 'cargo-zigbuild==0.24.0'
  touch "$tools/complete"
fi
export PATH="$tools/bin:$PATH"
# Parts of SQLite that nothing here asks for: 0.3 MB.
export LIBSQLITE3_FLAGS="-USQLITE_ENABLE_FTS3 -USQLITE_ENABLE_FTS3_PARENTHESIS -USQLITE_ENABLE_FTS5 -USQLITE_ENABLE_RTREE -USQLITE_ENABLE_DBSTAT_VTAB"

build() { cargo-zigbuild rustc --profile "$profile" --locked --target "$triple.$glibc" "$@"; }

# Fails where a program or library wants a newer glibc than promised, or a library that a bare system may not have.
check_needs() { # FILE
  local newest others
  newest="$(readelf --version-info --wide "$1" | grep -o 'GLIBC_2[.0-9]*' | sort -uV | tail -n 1)"
  others="$(readelf --dynamic --wide "$1" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p' |
    grep -vE '^(lib(c|m|dl|rt|util|pthread|resolv)\.so\.[0-9]|ld-linux.*)$' || true)"
  echo "$(basename "$1"): needs ${newest:-no glibc}"
  if [ "$(printf '%s\n' "GLIBC_$glibc" "$newest" | sort -V | tail -n 1)" != "GLIBC_$glibc" ] || [ -n "$others" ]; then
    echo "more than glibc $glibc: $newest $others"
    return 1
  fi
}

pack() { # NAME PROGRAM
  local folder="$out/$1"
  check_needs "$2"
  rm -rf "$folder"
  mkdir -p "$folder/completions" "$folder/docs"
  strip -o "$folder/mary" "$2"
  cp README.md CHANGELOG.md LICENSE-MIT LICENSE-APACHE "$out/DEPENDENCIES.tsv" "$out/LICENCES.txt" "$folder/"
  cp -r docs/*.md docs/examples docs/history docs/pictures docs/questions docs/reference docs/tutorials "$folder/docs/"
  for shell in bash zsh fish powershell elvish; do
    "$folder/mary" completions "$shell" > "$folder/completions/mary.$shell"
  done
  "$folder/mary" completions --man "$folder/man/man1"
  # The same bytes for the same program, whoever packs them.
  tar -C "$out" --sort=name --owner=0 --group=0 --numeric-owner --mode=u=rwX,go=rX --mtime="@$stamp" -cf - "$1" |
    gzip -n > "$out/$1.tar.gz"
  rm -rf "$folder"
}

step "dependencies"
python3 tools/licences.py --target "$triple" > "$out/DEPENDENCIES.tsv"
python3 tools/licences.py --target "$triple" --texts > "$out/LICENCES.txt"

step "program"
build -p mary --bin mary
pack "mary-$version-$machine-linux" "$built/mary"

step "wheel"
# Not by maturin: its cargo-zigbuild lies elsewhere, cargo takes it for another linker and compiles every crate again. As
# a cdylib alone: beside an rlib it would not be optimised as a whole.
build -p mary-python --lib --crate-type cdylib
check_needs "$built/lib_mary.so"
strip -o "$built/lib_mary.stripped" "$built/lib_mary.so"
python3 tools/pack_wheel.py "$built/lib_mary.stripped" "$out" "manylinux_${glibc/./_}_$machine" "$out/LICENCES.txt"

step "program with GPU support"
build -p mary --bin mary --features cuda
pack "mary-$version-$machine-linux-cuda" "$built/mary"

step "book"
if command -v mdbook >/dev/null; then
  mdbook build -d "$out/mary-$version-book"
  tar -C "$out" --sort=name --owner=0 --group=0 --numeric-owner --mode=u=rwX,go=rX --mtime="@$stamp" -cf - "mary-$version-book" |
    gzip -n > "$out/mary-$version-book.tar.gz"
  rm -rf "$out/mary-$version-book"
else
  echo "no mdbook: cargo install mdbook --locked"
fi

step "container file"
cat > "$out/Containerfile" <<CONTAINER
# podman build -t mary . (in the folder with the tarball)
FROM debian:bookworm-slim
RUN apt-get update && apt-get install -y --no-install-recommends ca-certificates && rm -rf /var/lib/apt/lists/*
ADD mary-$version-$machine-linux.tar.gz /opt/
RUN ln -s /opt/mary-$version-$machine-linux/mary /usr/local/bin/mary
ENV MARY_RUNS=/mary/runs MARY_DATA_DIR=/mary/data HF_HOME=/mary/hub
WORKDIR /mary
ENTRYPOINT ["mary"]
CONTAINER

step "sums"
cd "$out"
sha256sum -- *.tar.gz *.whl Containerfile DEPENDENCIES.tsv LICENCES.txt > SHA256SUMS
unpacked() {
  case "$1" in
    *.tar.gz) gzip -dc "$1" | wc -c ;;
    *.whl) python3 -c 'import sys, zipfile; print(sum(f.file_size for f in zipfile.ZipFile(sys.argv[1]).infolist()))' "$1" ;;
    *) wc -c < "$1" ;;
  esac
}
printf '%-50s %10s %12s\n' "$profile, commit $MARY_COMMIT" "MB" "MB unpacked"
for file in *.tar.gz *.whl Containerfile DEPENDENCIES.tsv LICENCES.txt SHA256SUMS; do
  awk -v name="$file" -v packed="$(wc -c < "$file")" -v whole="$(unpacked "$file")" \
    'BEGIN { printf "%-50s %10.2f %12.2f\n", name, packed / 1e6, whole / 1e6 }'
done
echo "$out, after $SECONDS s"
