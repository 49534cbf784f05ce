#!/usr/bin/env bash
# Builds the program with the feature `cuda` and puts it, with the one NVIDIA library that makes it
# faster, into a folder that can be copied to any Linux machine with an NVIDIA driver.
#
#   tools/build_cuda.sh [FOLDER]          FOLDER defaults to target/mary-cuda
#   tools/build_cuda.sh --bare [FOLDER]   without the library: about a twentieth of the size
#
# Needs Rust, Python with pip, and the package registries; neither a GPU, nor a driver, nor the CUDA
# toolkit. The kernels are embedded as PTX text, which the driver compiles for the GPU it finds (compute
# capability 8.0 or newer, driver 550 or newer). cuBLASLt comes from the package nvidia-cublas-cu12; the
# program looks for it beside itself, in lib/ beside itself, under MARY_CUDA_LIBS and where the system
# keeps it, and multiplies with its own kernels where it finds none.
set -euo pipefail
cd "$(dirname "$0")/.."
bare=
if [ "${1:-}" = --bare ]; then
  bare=1
  shift
fi
out="${1:-target/mary-cuda}"

# Fully optimised: `release` optimises little besides arithmetic, and beside a GPU the processor's share of a run is what is waited for.
cargo build --profile dist --locked -p mary --features cuda
target="${CARGO_TARGET_DIR:-target}"
mkdir -p "$out/lib"
cp "$target/dist/mary" "$out/mary"
strip "$out/mary" 2>/dev/null || true

if [ -z "$bare" ]; then
  cache="$(mktemp -d)"
  trap 'rm -rf "$cache"' EXIT
  python3 -m pip download --quiet --no-deps --only-binary=:all: \
    --platform manylinux2014_x86_64 -d "$cache" 'nvidia-cublas-cu12==12.4.5.8'
  python3 - "$cache" "$out/lib" <<'PY'
import glob, pathlib, sys, zipfile

wheel, = glob.glob(sys.argv[1] + "/*.whl")
with zipfile.ZipFile(wheel) as archive:
    for name in archive.namelist():
        if name.endswith("/libcublasLt.so.12") or name.endswith("License.txt"):
            place = "cublas-" + name.rsplit("/", 1)[1] if name.endswith("txt") else name.rsplit("/", 1)[1]
            pathlib.Path(sys.argv[2], place).write_bytes(archive.read(name))
PY
fi
du -sh "$out"
echo "run it as: $out/mary run --model hf/FOLDER --device cuda:0 --dtype bf16 …"
