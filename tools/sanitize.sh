#!/usr/bin/env bash
# Runs the tests of kernels and of file readers under AddressSanitizer, which stops at the first access outside
# the memory it belongs to.
#
#     tools/sanitize.sh                            kernels, readers of checkpoints, files and terminals
#     tools/sanitize.sh mary-kernels mary-weights  some of them
#
# Needs Linux on x86-64 and a nightly compiler with its sanitizers:
#
#     rustup toolchain install nightly --profile minimal
#
# SANITIZE_TOOLCHAIN names another one. Everything is built again, under target/sanitize. What inline assembly reads
# (the tiles of AMX) is not seen; MARY_CPU=portable runs the loops that stand in for it, which are.
set -euo pipefail
cd "$(dirname "$0")/.."

toolchain=${SANITIZE_TOOLCHAIN:-nightly}
target=x86_64-unknown-linux-gnu

fail() {
    echo "tools/sanitize.sh: $1" >&2
    exit 2
}

[ "$(uname -sm)" = "Linux x86_64" ] || fail "AddressSanitizer is asked for on Linux x86-64 only, and this is $(uname -sm)"
sysroot=$(rustc "+$toolchain" --print sysroot 2>/dev/null) ||
    fail "there is no compiler \`$toolchain\`; install one: rustup toolchain install nightly --profile minimal"
ls "$sysroot/lib/rustlib/$target/lib/"*asan* >/dev/null 2>&1 ||
    fail "the compiler \`$toolchain\` in $sysroot has no sanitizer runtime (librustc-nightly_rt.asan.a)"

export CARGO_TARGET_DIR=target/sanitize
export RUSTFLAGS="-Zsanitizer=address ${RUSTFLAGS:-}"
# Threads that help with short products live as long as the process: what they hold is no leak.
export ASAN_OPTIONS="detect_leaks=0:detect_stack_use_after_return=1:${ASAN_OPTIONS:-}"

# A target of its own keeps build scripts and procedural macros as they are.
check() {
    echo "== $*"
    cargo "+$toolchain" test --target "$target" "$@"
}

packages=("$@")
[ ${#packages[@]} -gt 0 ] || packages=(mary-kernels mary-local mary-weights mary-platform)
for package in "${packages[@]}"; do
    case $package in
    mary-local) check -p mary-local --lib -- kernels:: pictures:: ;;
    mary-kernels) check -p mary-kernels --lib ;;
    *) check -p "$package" ;;
    esac
done
echo "nothing reached outside its memory"
