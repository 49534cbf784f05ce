#!/usr/bin/env python3
"""Makes the golden files of crates/models/mary-local: odd pictures, and what the image processors of Hugging
Face transformers make of them.

    python tools/golden_pictures.py     # -> crates/models/mary-local/tests/pictures/golden

Needs numpy, transformers and pillow below 13 (which resizes some tall pictures down before across). Pictures
are drawn by a formula and are small; what a processor gives is written as bytes (before normalisation) into
one grey PNG per processor, with the mean and the extremes of the normalised numbers beside it.
"""

import io
import json
import shutil
import struct
import zlib
from pathlib import Path

import numpy as np
import transformers as tf
from PIL import Image

HERE = Path(__file__).resolve().parent.parent / "crates" / "models" / "mary-local" / "tests" / "pictures" / "golden"


def drawn(width, height, channels, seed):
    """Waves, edges and a few hard pixels, from whole numbers."""
    y, x = np.mgrid[0:height, 0:width].astype(np.int64)
    planes = []
    for c in range(channels):
        a = (x * (3 + seed % 5 + c) + y * (5 + seed % 7) + 31 * c) % 256
        b = np.where((x // (2 + seed % 3) + y // (3 + c)) % 2 == 0, a, 255 - a)
        b = np.where((x * 7 + y * 11 + seed) % 23 == 0, (b * 3 + 90) % 256, b)
        planes.append(b)
    return np.stack(planes, -1).astype(np.uint8)


def raw_png(width, height, kind, depth, rows, extra=b""):
    """A PNG as Pillow does not write it."""
    def chunk(name, data):
        return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))
    head = struct.pack(">IIBBBBB", width, height, depth, kind, 0, 0, 0)
    body = zlib.compress(b"".join(b"\0" + r for r in rows), 9)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + extra + chunk(b"IDAT", body) + chunk(b"IEND", b"")


def sixteen(width, height, kind, channels, seed):
    a = drawn(width, height, channels, seed).astype(np.uint16)
    a = a * 257 if kind else a * 3 - np.minimum(a * 2, 200)
    return raw_png(width, height, kind, 16, [r.astype(">u2").tobytes() for r in a])


def keyed(width, height, seed):
    """RGB with one colour declared transparent."""
    a = drawn(width, height, 3, seed)
    key = a[height // 2, width // 2]
    data = struct.pack(">HHH", *[int(k) for k in key])
    extra = struct.pack(">I", 6) + b"tRNS" + data + struct.pack(">I", zlib.crc32(b"tRNS" + data))
    return raw_png(width, height, 2, 8, [r.tobytes() for r in a], extra)


def saved(image, **how):
    out = io.BytesIO()
    image.save(out, "PNG", optimize=True, **how)
    return out.getvalue()


def pictures():
    sizes = [(2, 1), (1, 2), (3, 97), (97, 3), (16, 16), (15, 17), (64, 48), (48, 64), (100, 100), (121, 33),
             (33, 121), (7, 7), (24, 24), (25, 24), (256, 20), (20, 256), (63, 65), (90, 60), (12, 130), (45, 44)]
    for i, (w, h) in enumerate(sizes):
        yield f"rgb_{w}x{h}", saved(Image.fromarray(drawn(w, h, 3, i)))
    for i, (w, h) in enumerate([(30, 40), (55, 21), (9, 64), (80, 80), (17, 18)]):
        yield f"grey_{w}x{h}", saved(Image.fromarray(drawn(w, h, 1, i)[..., 0]))
    for i, (w, h) in enumerate([(30, 30), (61, 20), (20, 61), (44, 45), (5, 70), (100, 64)]):
        yield f"rgba_{w}x{h}", saved(Image.fromarray(drawn(w, h, 4, i + 3)))
    for i, (w, h) in enumerate([(28, 29), (70, 12), (13, 40)]):
        yield f"grey_alpha_{w}x{h}", saved(Image.fromarray(drawn(w, h, 2, i + 1)))
    for i, (w, h, colours) in enumerate([(40, 40, 256), (33, 50, 16), (50, 33, 4), (21, 22, 2)]):
        palette = Image.fromarray(drawn(w, h, 3, i)).quantize(colours)
        yield f"palette_{colours}_{w}x{h}", saved(palette)
    for i, (w, h) in enumerate([(36, 30), (19, 57)]):
        palette = Image.fromarray(drawn(w, h, 3, i + 5)).quantize(32)
        yield f"palette_clear_{w}x{h}", saved(palette, transparency=bytes((n * 37) % 256 for n in range(32)))
    for i, (w, h) in enumerate([(40, 25), (23, 64)]):
        yield f"bits_{w}x{h}", saved(Image.fromarray(drawn(w, h, 1, i)[..., 0] > 120))
    for i, (w, h) in enumerate([(32, 31), (60, 18)]):
        yield f"grey16_{w}x{h}", sixteen(w, h, 0, 1, i)
        yield f"rgb16_{w}x{h}", sixteen(w, h, 2, 3, i)
    yield "rgba16_26x34", sixteen(26, 34, 6, 4, 9)
    yield "keyed_40x30", keyed(40, 30, 4)
    yield "keyed_21x63", keyed(21, 63, 8)
    yield "thin_300x4", saved(Image.fromarray(drawn(300, 4, 3, 2)))


CLIP = dict(size={"shortest_edge": 18}, crop_size={"height": 16, "width": 16})
PROCESSORS = {
    "clip": tf.CLIPImageProcessorPil(**CLIP),
    "clip_padded": tf.CLIPImageProcessorPil(size={"shortest_edge": 11}, crop_size={"height": 16, "width": 19}),
    "siglip": tf.SiglipImageProcessorPil(size={"height": 16, "width": 18}),
    "llava": tf.LlavaImageProcessorPil(do_pad=True, size={"shortest_edge": 16}, crop_size={"height": 16, "width": 16}),
    "llava_next": tf.LlavaNextImageProcessorPil(
        size={"shortest_edge": 12}, crop_size={"height": 12, "width": 12},
        image_grid_pinpoints=[[12, 24], [24, 12], [24, 24], [36, 12], [12, 36]]),
    "idefics3": tf.Idefics3ImageProcessorPil(size={"longest_edge": 32}, max_image_size={"longest_edge": 16}),
    "smolvlm_whole": tf.SmolVLMImageProcessorPil(
        size={"longest_edge": 32}, max_image_size={"longest_edge": 16}, do_image_splitting=False),
    "qwen2_vl": tf.Qwen2VLImageProcessorPil(patch_size=4, size={"shortest_edge": 128, "longest_edge": 700}),
    "gemma3": tf.Gemma3ImageProcessorPil(size={"height": 16, "width": 16}),
}


def main():
    shutil.rmtree(HERE, ignore_errors=True)
    (HERE / "pictures").mkdir(parents=True)
    files = dict(pictures())
    assert len(files) == 50, len(files)
    for name, data in files.items():
        (HERE / "pictures" / f"{name}.png").write_bytes(data)
    for name, processor in PROCESSORS.items():
        told, all_bytes = {}, []
        for picture, data in files.items():
            try:
                out = processor(Image.open(io.BytesIO(data)), return_tensors="np")
            except Exception as error:
                told[picture] = {"refused": f"{type(error).__name__}: {error}"}
                continue
            values = np.asarray(out["pixel_values"], dtype=np.float32)
            told[picture] = {"shape": list(values.shape), "mean": float(values.mean(dtype=np.float64)),
                             "least": float(values.min()), "most": float(values.max())}
            if "image_grid_thw" in out:
                told[picture]["grid"] = np.asarray(out["image_grid_thw"])[0].tolist()
                per = values.reshape(values.shape[0], 3, -1)
                axis = 1
            else:
                per, axis = values.reshape(-1, 3, values.shape[-2] * values.shape[-1]), 1
            mean = np.array(processor.image_mean).reshape(1, 3, 1)
            std = np.array(processor.image_std).reshape(1, 3, 1)
            all_bytes.append(np.rint((per * std + mean) * 255).astype(np.uint8).ravel())
        flat = np.concatenate(all_bytes)
        width = 1024
        flat = np.pad(flat, (0, -len(flat) % width)).reshape(-1, width)
        (HERE / f"{name}.png").write_bytes(saved(Image.fromarray(flat)))
        config = json.loads(processor.to_json_string())
        made = f"transformers {tf.__version__}, pillow {Image.__version__}"
        (HERE / f"{name}.json").write_text(json.dumps({"made_with": made, "config": config, "pictures": told}))
        print(name, flat.size, sum("refused" in t for t in told.values()), "refused")
    jpegs()
    print(sum(f.stat().st_size for f in HERE.rglob("*") if f.is_file()), "bytes")


def jpegs():
    """JPEG files as Pillow writes them, and what it reads from them."""
    (HERE / "jpeg").mkdir()
    for name, (w, h), how in [("full", (40, 30), dict(quality=90, subsampling=0)),
                              ("halved", (41, 31), dict(quality=75, subsampling=2)),
                              ("progressive", (33, 48), dict(quality=80, progressive=True))]:
        picture = Image.fromarray(drawn(w, h, 3, 1)).resize((w, h)).convert("RGB")
        smooth = picture.resize((w // 4, h // 4), Image.BOX).resize((w, h), Image.BICUBIC)
        smooth.save(HERE / "jpeg" / f"{name}.jpg", **how)
        Image.open(HERE / "jpeg" / f"{name}.jpg").save(HERE / "jpeg" / f"{name}.png", optimize=True)
    Image.fromarray(drawn(24, 20, 1, 2)[..., 0]).resize((24, 20)).save(HERE / "jpeg" / "grey.jpg", quality=85)
    Image.open(HERE / "jpeg" / "grey.jpg").convert("RGB").save(HERE / "jpeg" / "grey.png", optimize=True)


if __name__ == "__main__":
    main()
