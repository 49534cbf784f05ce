#!/usr/bin/env python3
"""Makes the golden files of models that see: a tiny random model of every kind with its tokenizer and
processor, and what Hugging Face transformers computes with it from a text and pictures.

    python tools/golden_vision.py               # -> crates/models/mary-local/tests/golden_vision/
    python tools/golden_vision.py --only llava  # these alone

Needs torch, transformers, safetensors, tokenizers, gguf and pillow (below 13). Files are small and committed; nothing is
downloaded.
"""

import argparse
import io
import json
import shutil
from pathlib import Path

import numpy as np
import torch
import transformers as tf
from PIL import Image

from golden_local import WORDS, b64
from golden_pictures import drawn

torch.set_num_threads(1)

HERE = Path(__file__).resolve().parent.parent / "crates" / "models" / "mary-local" / "tests" / "golden_vision"
CHAT = (
    "{% for m in messages %}{{ m['role'] }} : {% if m['content'] is string %}{{ m['content'] }}{% else %}"
    "{% for c in m['content'] %}{% if c['type'] == 'image' %}PICTURE{% else %}{{ c['text'] }}{% endif %}{% endfor %}"
    "{% endif %} {% endfor %}{% if add_generation_prompt %}assistant :{% endif %}"
)
TEXT = "PICTURE the old cat sleeps under PICTURE the red stone and"
TEXT_ONE = "the old PICTURE cat sleeps under the red stone"


def tokenizer(extra, end=False):
    """Words as tokens; with `end`, the token behind a text is the last of the vocabulary, as in CLIP."""
    from tokenizers import Tokenizer, models, pre_tokenizers, processors

    if end:
        words = ["<unk>", "<s>", *WORDS, "</s>"]
        t = Tokenizer(models.WordLevel({w: i for i, w in enumerate(words)}, unk_token="<unk>"))
        t.pre_tokenizer = pre_tokenizers.Whitespace()
        t.add_special_tokens(["<unk>", "<s>", "</s>"])
        t.post_processor = processors.TemplateProcessing(single="<s> $A </s>", special_tokens=[("<s>", 1), ("</s>", len(words) - 1)])
        return t
    words = ["<unk>", "<s>", "</s>", *WORDS, "user", "assistant", ":", "?"]
    t = Tokenizer(models.WordLevel({w: i for i, w in enumerate(words)}, unk_token="<unk>"))
    t.pre_tokenizer = pre_tokenizers.Whitespace()
    t.add_special_tokens(["<unk>", "<s>", "</s>"])
    t.add_special_tokens(extra)
    t.post_processor = processors.TemplateProcessing(single="<s> $A", special_tokens=[("<s>", 1)])
    return t


DEC = dict(hidden_size=32, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2, intermediate_size=48,
           max_position_embeddings=4096, bos_token_id=1, eos_token_id=2, pad_token_id=0)
CLIP = dict(model_type="clip_vision_model", hidden_size=24, intermediate_size=40, num_hidden_layers=3,
            num_attention_heads=3, image_size=16, patch_size=4, projection_dim=20)
SIGLIP = dict(model_type="siglip_vision_model", hidden_size=24, intermediate_size=40, num_hidden_layers=2,
              num_attention_heads=3, image_size=16, patch_size=4)
CLIP_SIZE = dict(size={"shortest_edge": 16}, crop_size={"height": 16, "width": 16})


def llava(next=False):
    t = tokenizer(["<image>"])
    vocab = 64
    text = dict(DEC, model_type="llama", vocab_size=vocab)
    image = t.token_to_id("<image>")
    fast = tf.PreTrainedTokenizerFast(tokenizer_object=t, bos_token="<s>", eos_token="</s>", unk_token="<unk>", pad_token="<unk>")
    fast.image_token = "<image>"
    common = dict(tokenizer=fast, patch_size=4, vision_feature_select_strategy="default", num_additional_image_tokens=1)
    if next:
        points = [[16, 32], [32, 16], [32, 32], [48, 16], [16, 48]]
        config = tf.LlavaNextConfig(text_config=text, vision_config=CLIP, image_token_index=image, image_grid_pinpoints=points)
        processor = tf.LlavaNextProcessor(image_processor=tf.LlavaNextImageProcessorPil(**CLIP_SIZE, image_grid_pinpoints=points), **common)
        return tf.LlavaNextForConditionalGeneration, config, processor, t, "<image>"
    config = tf.LlavaConfig(text_config=text, vision_config=CLIP, image_token_index=image)
    processor = tf.LlavaProcessor(image_processor=tf.CLIPImageProcessorPil(**CLIP_SIZE), **common)
    return tf.LlavaForConditionalGeneration, config, processor, t, "<image>"


def idefics3(small=False):
    rows = [f"<row_{r}_col_{c}>" for r in range(1, 7) for c in range(1, 7)]
    t = tokenizer(["<image>", "<fake_token_around_image>", "<global-img>", "<end_of_utterance>", *rows])
    vocab = t.get_vocab_size() + 3
    text = dict(DEC, model_type="llama", vocab_size=vocab)
    fast = tf.PreTrainedTokenizerFast(tokenizer_object=t, bos_token="<s>", eos_token="</s>", unk_token="<unk>", pad_token="<unk>",
                                      additional_special_tokens=["<image>", "<fake_token_around_image>", "<end_of_utterance>"])
    for name, token in [("image_token", "<image>"), ("fake_image_token", "<fake_token_around_image>"),
                        ("global_image_token", "<global-img>"), ("end_of_utterance_token", "<end_of_utterance>")]:
        setattr(fast, name, token)
        setattr(fast, name + "_id", t.token_to_id(token))
    vision = {k: v for k, v in SIGLIP.items() if k != "model_type"}
    sizes = dict(size={"longest_edge": 32}, max_image_size={"longest_edge": 16})
    image = t.token_to_id("<image>")
    if small:
        config = tf.SmolVLMConfig(text_config=text, vision_config=vision, scale_factor=2, image_token_id=image)
        image_processor = tf.SmolVLMImageProcessorPil(**sizes, do_image_splitting=True)
        processor = tf.SmolVLMProcessor(image_processor=image_processor, tokenizer=fast, video_processor=tf.SmolVLMVideoProcessor(), image_seq_len=4)
        return tf.SmolVLMForConditionalGeneration, config, processor, t, "<image>"
    config = tf.Idefics3Config(text_config=text, vision_config=vision, scale_factor=2, image_token_id=image)
    processor = tf.Idefics3Processor(image_processor=tf.Idefics3ImageProcessorPil(**sizes), tokenizer=fast, image_seq_len=4)
    return tf.Idefics3ForConditionalGeneration, config, processor, t, "<image>"


def qwen(five=False):
    t = tokenizer(["<|vision_start|>", "<|image_pad|>", "<|vision_end|>", "<|video_pad|>"])
    ids = {n: t.token_to_id(f"<|{n}|>") for n in ("vision_start", "image_pad", "vision_end", "video_pad")}
    fast = tf.PreTrainedTokenizerFast(tokenizer_object=t, bos_token="<s>", eos_token="</s>", unk_token="<unk>", pad_token="<unk>")
    fast.image_token, fast.video_token = "<|image_pad|>", "<|video_pad|>"
    fast.image_token_id, fast.video_token_id = ids["image_pad"], ids["video_pad"]
    text = dict(DEC, vocab_size=64, rope_parameters={"rope_type": "default", "rope_theta": 10000.0, "mrope_section": [1, 1, 2]})
    tokens = dict(image_token_id=ids["image_pad"], video_token_id=ids["video_pad"], vision_start_token_id=ids["vision_start"],
                  vision_end_token_id=ids["vision_end"])
    image_processor = tf.Qwen2VLImageProcessorPil(patch_size=4, size={"shortest_edge": 128, "longest_edge": 1100})
    placeholder = "<|vision_start|><|image_pad|><|vision_end|>"
    if five:
        vision = dict(depth=3, hidden_size=24, num_heads=3, intermediate_size=40, patch_size=4, out_hidden_size=32,
                      window_size=16, fullatt_block_indexes=[1])
        config = tf.Qwen2_5_VLConfig(text_config=text, vision_config=vision, **tokens)
        processor = tf.Qwen2_5_VLProcessor(image_processor=image_processor, tokenizer=fast, video_processor=tf.Qwen2VLVideoProcessor())
        return tf.Qwen2_5_VLForConditionalGeneration, config, processor, t, placeholder
    vision = dict(depth=2, embed_dim=24, hidden_size=32, num_heads=3, mlp_ratio=2, patch_size=4)
    config = tf.Qwen2VLConfig(text_config=text, vision_config=vision, **tokens)
    processor = tf.Qwen2VLProcessor(image_processor=image_processor, tokenizer=fast, video_processor=tf.Qwen2VLVideoProcessor())
    return tf.Qwen2VLForConditionalGeneration, config, processor, t, placeholder


def gemma3():
    t = tokenizer(["<start_of_image>", "<image_soft_token>", "<end_of_image>"])
    fast = tf.PreTrainedTokenizerFast(tokenizer_object=t, bos_token="<s>", eos_token="</s>", unk_token="<unk>", pad_token="<unk>")
    for name, token in [("boi_token", "<start_of_image>"), ("image_token", "<image_soft_token>"), ("eoi_token", "<end_of_image>")]:
        setattr(fast, name, token)
        setattr(fast, name + "_id", t.token_to_id(token))
    text = dict(DEC, vocab_size=64, head_dim=8, query_pre_attn_scalar=8, sliding_window=5, layer_types=["sliding_attention", "full_attention"])
    vision = {k: v for k, v in SIGLIP.items() if k != "model_type"}
    config = tf.Gemma3Config(text_config=text, vision_config=vision, mm_tokens_per_image=4, boi_token_index=t.token_to_id("<start_of_image>"),
                             eoi_token_index=t.token_to_id("<end_of_image>"), image_token_index=t.token_to_id("<image_soft_token>"))
    processor = tf.Gemma3Processor(image_processor=tf.Gemma3ImageProcessorPil(size={"height": 16, "width": 16}), tokenizer=fast, image_seq_length=4)
    return tf.Gemma3ForConditionalGeneration, config, processor, t, "<start_of_image>"


SPEAKING = {
    "llava": lambda: llava(),
    "llava_next": lambda: llava(next=True),
    "idefics3": lambda: idefics3(),
    "smolvlm": lambda: idefics3(small=True),
    "qwen2_vl": lambda: qwen(),
    "qwen2_5_vl": lambda: qwen(five=True),
    "gemma3": lambda: gemma3(),
}


TOWER = {k: v for k, v in CLIP.items() if k != "model_type"}
TEXT_TOWER = dict(hidden_size=32, intermediate_size=48, num_hidden_layers=2, num_attention_heads=4, max_position_embeddings=16)


def clip():
    t = tokenizer([], end=True)
    # An end token of 2 is what the first files say; transformers then takes the greatest token.
    text = dict(TEXT_TOWER, vocab_size=t.get_vocab_size(), projection_dim=20, eos_token_id=2, bos_token_id=1, pad_token_id=0)
    config = tf.CLIPConfig(text_config=text, vision_config=TOWER, projection_dim=20)
    return tf.CLIPModel, config, tf.CLIPImageProcessorPil(**CLIP_SIZE), t, None


def siglip():
    t = tokenizer([], end=True)
    end = t.token_to_id("</s>")
    text = dict(TEXT_TOWER, vocab_size=t.get_vocab_size(), projection_size=24, eos_token_id=end, bos_token_id=1, pad_token_id=end)
    vision = {k: v for k, v in SIGLIP.items() if k != "model_type"}
    config = tf.SiglipConfig(text_config=text, vision_config=vision)
    return tf.SiglipModel, config, tf.SiglipImageProcessorPil(size={"height": 16, "width": 16}), t, end


JOINING = {"clip": clip, "siglip": siglip}


def joining(name):
    """Two towers: all states of each, what they make of a text and a picture, and the cosines."""
    folder = HERE / name
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    make, config, processor, t, pad = JOINING[name]()
    torch.manual_seed(1)
    model = make._from_config(config, attn_implementation="eager").float().eval()
    randomise(model)
    shown = pictures(folder)
    model.save_pretrained(folder, safe_serialization=True)
    t.save(str(folder / "tokenizer.json"))
    (folder / "preprocessor_config.json").write_text(processor.to_json_string())
    golden = {"made_with": f"transformers {tf.__version__}, torch {torch.__version__}, eager attention, f32", "texts": [], "pictures": []}
    features = {"texts": [], "pictures": []}

    def keep(kind, case, out, projected):
        states = [*out.hidden_states[:-1], out.last_hidden_state if kind == "texts" or name == "siglip" else out.hidden_states[-1]]
        features[kind].append(projected)
        golden[kind].append(dict(case, hidden=[b64(h[0].numpy()) for h in states], joint=b64(projected.numpy())))

    for words in ["the old cat sleeps", "a red stone near the river and the light", "two"]:
        ids = t.encode(words).ids
        # SigLIP's own processor fills every text up to the context.
        ids = ids + [pad] * (TEXT_TOWER["max_position_embeddings"] - len(ids)) if pad is not None else ids
        with torch.no_grad():
            out = model.text_model(input_ids=torch.tensor([ids]), output_hidden_states=True)
            projected = model.text_projection(out.pooler_output) if name == "clip" else out.pooler_output
        keep("texts", {"text": words, "ids": ids}, out, projected[0])
    for file, picture in zip(["one.png", "two.png"], shown):
        pixels = processor(picture, return_tensors="pt")["pixel_values"]
        with torch.no_grad():
            out = model.vision_model(pixel_values=pixels, output_hidden_states=True)
            projected = model.visual_projection(out.pooler_output) if name == "clip" else out.pooler_output
        keep("pictures", {"file": file}, out, projected[0])
    unit = {k: torch.nn.functional.normalize(torch.stack(v), dim=-1) for k, v in features.items()}
    golden["cosines"] = (unit["texts"] @ unit["pictures"].T).tolist()
    (folder / "golden.json").write_text(json.dumps(golden))
    print(name, sum(f.stat().st_size for f in folder.iterdir()), "bytes")


def llava_gguf():
    """The tiny LLaVA as two GGUF files in llama.cpp's conventions, and what transformers computes with the
    processor that goes with them: pictures padded to a square."""
    import gguf
    from safetensors.numpy import load_file

    from golden_gguf import converted, metadata, vocabulary

    source, folder = HERE / "llava", HERE / "llava_gguf"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    config = json.loads((source / "config.json").read_text())
    text, vision = config["text_config"], config["vision_config"]
    names = gguf.get_tensor_name_map(gguf.MODEL_ARCH.LLAMA, text["num_hidden_layers"])
    words = gguf.GGUFWriter(str(folder / "text.gguf"), "llama")
    metadata(words, "llama", text)
    vocabulary(words, "llama", source)
    tower = gguf.GGUFWriter(str(folder / "mmproj.gguf"), "clip")
    # The last block is left out: LLaVA reads the states before it.
    blocks = vision["num_hidden_layers"] - 1
    tower.add_bool("clip.has_text_encoder", False)
    tower.add_bool("clip.has_vision_encoder", True)
    tower.add_bool("clip.has_llava_projector", True)
    tower.add_string("clip.projector_type", "mlp")
    tower.add_bool("clip.use_gelu", False)
    for key, value in [("image_size", vision["image_size"]), ("patch_size", vision["patch_size"]), ("embedding_length", vision["hidden_size"]),
                       ("feed_forward_length", vision["intermediate_size"]), ("block_count", blocks),
                       ("attention.head_count", vision["num_attention_heads"])]:
        tower.add_uint32(f"clip.vision.{key}", value)
    tower.add_float32("clip.vision.attention.layer_norm_epsilon", vision["layer_norm_eps"])
    image_processor = tf.LlavaImageProcessorPil(do_pad=True, **CLIP_SIZE)
    tower.add_array("clip.vision.image_mean", list(image_processor.image_mean))
    tower.add_array("clip.vision.image_std", list(image_processor.image_std))
    parts = {"self_attn.q_proj": "attn_q", "self_attn.k_proj": "attn_k", "self_attn.v_proj": "attn_v", "self_attn.out_proj": "attn_out",
             "layer_norm1": "ln1", "layer_norm2": "ln2", "mlp.fc1": "ffn_down", "mlp.fc2": "ffn_up"}  # as the older converter calls them
    outer = {"embeddings.patch_embedding": "v.patch_embd", "embeddings.position_embedding": "v.position_embd", "pre_layrnorm": "v.pre_ln",
             "post_layernorm": "v.post_ln"}
    for name, x in load_file(source / "model.safetensors").items():
        x = np.ascontiguousarray(x, dtype=np.float32)
        if name.startswith("language_model."):
            plain = name.removeprefix("language_model.")
            words.add_tensor(names.get_name(plain, try_suffixes=(".weight",)), np.ascontiguousarray(converted("llama", text, plain, x)))
        elif name.startswith("multi_modal_projector."):
            tower.add_tensor(name.replace("multi_modal_projector.linear_1", "mm.0").replace("multi_modal_projector.linear_2", "mm.2"), x)
        elif name.endswith("class_embedding"):
            tower.add_tensor("v.class_embd", x)
        else:
            stem, suffix = name.removeprefix("vision_tower.").removeprefix("vision_model.").rsplit(".", 1)
            if stem.startswith("encoder.layers."):
                layer, part = stem.removeprefix("encoder.layers.").split(".", 1)
                if int(layer) < blocks:
                    tower.add_tensor(f"v.blk.{layer}.{parts[part]}.{suffix}", x)
            else:
                tower.add_tensor(f"{outer[stem]}.{suffix}", x)
    for writer in (words, tower):
        writer.write_header_to_file()
        writer.write_kv_data_to_file()
        writer.write_tensors_to_file()
        writer.close()
    shown = pictures(folder)
    model = tf.LlavaForConditionalGeneration.from_pretrained(source, attn_implementation="eager").float().eval()
    _, _, processor, _, placeholder = llava()
    processor.image_processor = image_processor
    shutil.copy(source / "config.json", folder / "config.json")
    write_cases("llava_gguf", folder, model, processor, placeholder, shown)


def randomise(model):
    """Weights large enough that every part of the architecture matters."""
    g = torch.Generator().manual_seed(11)
    with torch.no_grad():
        for name, p in sorted(model.named_parameters()):
            noise = torch.randn(p.shape, generator=g)
            if p.dim() == 1 and "class_embedding" not in name and "newline" not in name:
                base = 0.0 if "bias" in name or ("gemma" in model.config.model_type and "vision" not in name) else 1.0
                p.copy_(base + 0.2 * noise)
            elif p.dim() == 2 and "embed" not in name:
                p.copy_(noise * 1.5 / p.shape[-1] ** 0.5)
            elif p.dim() >= 4:
                p.copy_(noise * 1.5 / (p[0].numel() ** 0.5))
            else:
                p.copy_(noise * 0.5)
    if hasattr(model, "tie_weights"):
        model.tie_weights()


def pictures(folder):
    """Two pictures beside the golden numbers."""
    out = []
    for name, (w, h), seed in [("one.png", (40, 22), 3), ("two.png", (17, 30), 5)]:
        data = io.BytesIO()
        Image.fromarray(drawn(w, h, 3, seed)).save(data, "PNG", optimize=True)
        (folder / name).write_bytes(data.getvalue())
        out.append(Image.open(io.BytesIO(data.getvalue())))
    return out


def speaking(name):
    folder = HERE / name
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    make, config, processor, t, placeholder = SPEAKING[name]()
    torch.manual_seed(1)
    model = make._from_config(config, attn_implementation="eager").float().eval()
    randomise(model)
    shown = pictures(folder)
    model.save_pretrained(folder, safe_serialization=True)
    (folder / "generation_config.json").unlink(missing_ok=True)
    t.save(str(folder / "tokenizer.json"))
    (folder / "chat_template.jinja").write_text(CHAT.replace("PICTURE", placeholder))
    (folder / "preprocessor_config.json").write_text(processor.image_processor.to_json_string())
    own = {k: v for k, v in json.loads(processor.to_json_string()).items() if k not in ("image_processor", "tokenizer", "video_processor")}
    (folder / "processor_config.json").write_text(json.dumps(own))
    write_cases(name, folder, model, processor, placeholder, shown)


def write_cases(name, folder, model, processor, placeholder, shown):
    golden = {"made_with": f"transformers {tf.__version__}, torch {torch.__version__}, eager attention, f32", "cases": []}
    for text, images in [(TEXT_ONE, shown[:1]), (TEXT, shown), ("the old cat sleeps under the red stone", [])]:
        # A tokenizer of pieces has a token for a space before a picture, which the tiny vocabulary lacks.
        text = text.replace(" PICTURE", "PICTURE").replace("PICTURE ", "PICTURE") if "gguf" in name else text
        words = text.replace("PICTURE", placeholder)
        if images:
            inputs = processor(text=[words], images=[images] if "idefics" in name or "smol" in name or "gemma" in name else images, return_tensors="pt")
        else:
            inputs = processor.tokenizer([words], return_tensors="pt")
        inputs.pop("token_type_ids", None) if "gemma" not in name else None
        with torch.no_grad():
            out = model(**inputs, output_hidden_states=True)
        golden["cases"].append({
            "text": text, "pictures": ["one.png", "two.png"][:len(images)], "ids": inputs["input_ids"][0].tolist(),
            "hidden": [b64(h[0].numpy()) for h in out.hidden_states], "logits": b64(out.logits[0].numpy())})
    (folder / "golden.json").write_text(json.dumps(golden))
    print(name, [len(c["ids"]) for c in golden["cases"]], sum(f.stat().st_size for f in folder.iterdir()), "bytes")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", default=[])
    args = parser.parse_args()
    for name in [*SPEAKING, *JOINING, "llava_gguf"]:
        if not args.only or name in args.only:
            try:
                if name == "llava_gguf":
                    llava_gguf()
                elif name in SPEAKING:
                    speaking(name)
                else:
                    joining(name)
            except Exception as error:  # a class this version of transformers does not have
                print(f"{name}: not made ({type(error).__name__}: {error})")
