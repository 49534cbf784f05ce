#!/usr/bin/env bash
# Makes everything a release for Linux x86-64 consists of, with one command:
#
#   tools/release.sh [FOLDER]     FOLDER defaults to target/release-artefacts
#
#   mary-VERSION-x86_64-linux.tar.gz        the program, manual pages, completions, licences; glibc 2.28 and newer
#   mary-VERSION-x86_64-linux-cuda.tar.gz   the same with GPU support (driver 550 or newer; no toolkit)
#   mary_lab-VERSION-…manylinux_2_28….whl   the Python package, with the command `mary`
#   Containerfile                           an image around the first tarball
#   DEPENDENCIES.tsv                        every crate inside with its version and licence
#   SHA256SUMS
#
# Needs Rust, Python 3.10 with venv, and the package registries. zig, which links against an old glibc, cargo-zigbuild
# and maturin come from the Python registry into target/release-tools. tools/try_release.sh tries what was made.
set -euo pipefail
cd "$(dirname "$0")/.."
out="${1:-target/release-artefacts}"
glibc=2.28
triple=x86_64-unknown-linux-gnu
version="$(sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml | head -n 1)"
MARY_COMMIT="$(git rev-parse --short=12 HEAD)"
git diff --quiet HEAD -- || MARY_COMMIT="$MARY_COMMIT-changed"
export MARY_COMMIT
tools="$PWD/target/release-tools"
mkdir -p "$out"
out="$(cd "$out" && pwd)"
rm -f "$out"/*.tar.gz "$out"/*.whl "$out"/SHA256SUMS

step() { printf '\n== %s\n' "$*"; }

step "tools"
if [ ! -x "$tools/bin/cargo-zigbuild" ]; then
  python3 -m venv "$tools"
  "$tools/bin/pip" install --quiet 'ziglang==0.15.2' 'cargo-zigbuild==0.24.0' 'maturin>=1.9,<2'
fi
export PATH="$tools/bin:$PATH"

pack() { # NAME PROGRAM
  local folder="$out/$1"
  rm -rf "$folder"
  mkdir -p "$folder/completions"
  cp "$2" "$folder/mary"
  cp README.md CHANGELOG.md LICENSE-MIT LICENSE-APACHE "$folder/"
  cp "$out/DEPENDENCIES.tsv" "$folder/"
  for shell in bash zsh fish powershell elvish; do
    "$folder/mary" completions "$shell" > "$folder/completions/mary.$shell"
  done
  "$folder/mary" completions --man "$folder/man/man1"
  # The same bytes for the same commit, whoever packs them.
  tar -C "$out" --sort=name --owner=0 --group=0 --numeric-owner --mtime="@$(git log -1 --format=%ct)" -cf - "$1" |
    gzip -9n > "$out/$1.tar.gz"
  rm -rf "$folder"
}

step "dependencies"
python3 tools/licences.py > "$out/DEPENDENCIES.tsv"

step "program"
cargo zigbuild --profile dist --locked -p mary --target "$triple.$glibc"
pack "mary-$version-x86_64-linux" "target/$triple/dist/mary"

step "wheel"
(cd crates/interfaces/mary-python &&
  maturin build --profile dist --locked --zig --target "$triple" --compatibility "manylinux_${glibc/./_}" --out "$out")

step "program with GPU support"
cargo zigbuild --profile dist --locked -p mary --features cuda --target "$triple.$glibc"
pack "mary-$version-x86_64-linux-cuda" "target/$triple/dist/mary"

step "container file"
cat > "$out/Containerfile" <<CONTAINER
# podman build -t mary . (in the folder with the tarball)
FROM debian:bookworm-slim
RUN apt-get update \\
    && apt-get install -y --no-install-recommends ca-certificates \\
    && rm -rf /var/lib/apt/lists/*
ADD mary-$version-x86_64-linux.tar.gz /opt/
RUN ln -s /opt/mary-$version-x86_64-linux/mary /usr/local/bin/mary
ENV MARY_RUNS=/mary/runs MARY_DATA_DIR=/mary/data HF_HOME=/mary/hub
WORKDIR /mary
ENTRYPOINT ["mary"]
CONTAINER

step "sums"
(cd "$out" && sha256sum -- *.tar.gz *.whl Containerfile DEPENDENCIES.tsv > SHA256SUMS && ls -l)
