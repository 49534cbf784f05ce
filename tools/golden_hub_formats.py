#!/usr/bin/env python3
"""Makes the golden files of the hub's own quantised formats: tiny random models in each of them, and what transformers
computes, in 64 bits, with the weights that the format's own package unpacks.

    python tools/golden_hub_formats.py --gptq SITE/auto_gptq --awq AUTOAWQ/awq

writes crates/models/mary-local/tests/golden_hub/. Needs torch, transformers, safetensors, tokenizers,
compressed-tensors and bitsandbytes (its processor code). Of auto-gptq (`pip install --no-deps auto-gptq`) only the file
that packs layers is loaded, of autoawq's source archive only the one that unpacks them: neither package imports
without CUDA. Who packs and who unpacks:

    gptq*      auto-gptq's QuantLinear packs, and its forward pass unpacks (zero points of the second layout are moved
               by one here, as gptqmodel does)
    awq        packed here as WQLinear_GEMM.from_linear does; autoawq's dequantize_gemm unpacks
    ct_*       compressed-tensors' compressors pack and unpack
    *_nvfp4    compressed-tensors packs and unpacks; the second has the names and the factor of NVIDIA's Model Optimizer
    fp8_*      packed here; transformers' Fp8Dequantize unpacks where its blocks divide the matrix, else the formula of
               DeepSeek's weight_dequant
    bnb_*      bitsandbytes packs and unpacks (rows of 64 numbers, put together here: its code for processors, 0.50.2,
               gives other scales where a row of the matrix does not end with a block)
    mxfp4      transformers' convert_moe_packed_tensors unpacks (gpt-oss' layout; tensors only)
    gpt_oss    the same in a whole model
"""

import argparse
import importlib.util
import json
import shutil
from pathlib import Path

import torch
import transformers as tf
from safetensors.torch import save_file

from golden_local import TEXT, b64, randomise, tokenizer

torch.set_num_threads(1)
HERE = Path(__file__).resolve().parent.parent / "crates" / "models" / "mary-local" / "tests" / "golden_hub"
SIZES = dict(vocab_size=64, hidden_size=64, intermediate_size=96, num_hidden_layers=1, num_attention_heads=4,
             num_key_value_heads=2, max_position_embeddings=64, bos_token_id=1, eos_token_id=2, pad_token_id=0,
             tie_word_embeddings=False)
GROUP = 32


def llama(**more):
    return tf.LlamaConfig(**dict(SIZES, **more))


def qwen2(**more):
    return tf.Qwen2Config(**dict(SIZES, **more))


def qwen3(**more):
    return tf.Qwen3Config(**dict(SIZES, head_dim=16, **more))


def part(name, file):
    """One file of a package that does not import as a whole."""
    spec = importlib.util.spec_from_file_location(name, file)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def groups(weight, bits, symmetric, size=GROUP):
    """Scales and zero points of each group of inputs, [outputs, groups]."""
    w = weight.reshape(weight.shape[0], -1, size)
    most = 2**bits - 1
    if symmetric:
        scale = w.abs().amax(-1) * 2 / most
        return scale.half().float(), torch.full_like(scale, (most + 1) // 2)
    low, high = w.amin(-1).clamp(max=0), w.amax(-1).clamp(min=0)
    scale = ((high - low) / most).half().float()
    # Zero points from 1 on: the first layout of GPTQ cannot say 0.
    return scale, (-low / scale).round().clamp(1, most)


def gptq(package, bits, symmetric, act_order=False, second=False):
    qlinear = part("qlinear_cuda", package / "nn_modules" / "qlinear" / "qlinear_cuda.py")

    def pack(weight):
        outputs, inputs = weight.shape
        order = torch.arange(inputs) // GROUP
        if act_order:
            order = order[torch.randperm(inputs, generator=torch.Generator().manual_seed(inputs))]
        sorted_by_group = weight[:, torch.argsort(order, stable=True)]
        scale, zero = groups(sorted_by_group, bits, symmetric)
        linear = torch.nn.Linear(inputs, outputs, bias=False)
        linear.weight.data = weight.clone()
        most = 2**bits - 1
        # What lies beyond the digits would run into its neighbours.
        s, z = scale[:, order], zero[:, order]
        linear.weight.data = ((weight / s + z).round().clamp(0, most) - z) * s
        layer = qlinear.QuantLinear(bits, GROUP, inputs, outputs, False, weight_dtype=torch.float32)
        layer.pack(linear, scale, zero, order.int())
        layer.autogptq_cuda_available = False
        back = layer(torch.eye(inputs)).T
        qzeros = layer.qzeros
        if second:
            assert bits == 8
            qzeros = (qzeros.view(torch.uint8) + 1).view(torch.int32)
        tensors = {"qweight": layer.qweight, "qzeros": qzeros, "scales": layer.scales.half(), "g_idx": order.int()}
        return back, {f".{k}": v for k, v in tensors.items()}

    config = {"quant_method": "gptq", "bits": bits, "group_size": GROUP, "desc_act": act_order, "sym": symmetric,
              "checkpoint_format": "gptq_v2" if second else "gptq"}
    return pack, config


def awq(package):
    utils = part("packing_utils", package / "utils" / "packing_utils.py")

    def words(digits):
        out = torch.zeros(digits.shape[0], digits.shape[1] // 8, dtype=torch.int32)
        for place, column in enumerate([0, 2, 4, 6, 1, 3, 5, 7]):
            out |= digits[:, column::8].int() << (4 * place)
        return out

    def pack(weight):
        scale, zero = groups(weight, 4, False)
        wide = lambda x: x.repeat_interleave(GROUP, dim=1)
        digits = (weight / wide(scale) + wide(zero)).round().clamp(0, 15)
        tensors = {"qweight": words(digits.T), "qzeros": words(zero.T), "scales": scale.T.contiguous()}
        back = utils.dequantize_gemm(tensors["qweight"], tensors["qzeros"], tensors["scales"], 4, GROUP).T
        tensors["scales"] = tensors["scales"].half()
        return back, {f".{k}": v for k, v in tensors.items()}

    config = {"quant_method": "awq", "bits": 4, "group_size": GROUP, "zero_point": True, "version": "gemm"}
    return pack, config


def compressed(form, scale_type=torch.bfloat16, **weights):
    from compressed_tensors.compressors.base import BaseCompressor
    from compressed_tensors.quantization import QuantizationArgs, QuantizationScheme
    from compressed_tensors.quantization.utils import calculate_qparams

    compressor = BaseCompressor.get_value_from_registry(form)
    args = QuantizationArgs(**weights)
    scheme = QuantizationScheme(targets=["Linear"], weights=args)

    def pack(weight):
        outputs, inputs = weight.shape
        if args.strategy == "group":
            w = weight.reshape(outputs, -1, args.group_size)
        elif args.strategy == "channel":
            w = weight.reshape(outputs, 1, inputs)
        elif args.strategy == "tensor":
            w = weight.reshape(1, 1, -1)
        else:  # rectangles
            r, c = args.block_structure
            w = weight.reshape(outputs // r, r, inputs // c, c).permute(0, 2, 1, 3).flatten(2)
        scale, zero = calculate_qparams(w.amin(-1), w.amax(-1), args)
        if form.startswith("mxfp4"):
            scale = 2.0 ** scale.float().log2().round()
        else:
            scale = scale.to(scale_type)
        state = {"weight": weight, "weight_scale": scale, "weight_zero_point": zero}
        if args.strategy == "tensor":
            state = {"weight": weight, "weight_scale": scale.flatten(), "weight_zero_point": zero.flatten()}
        packed = compressor.compress(state, scheme)
        exact = {k: v.float() if v.is_floating_point() and v.element_size() == 2 else v for k, v in packed.items()}
        back = compressor.decompress(exact, scheme)["weight"].float()
        return back, {f".{k}": v for k, v in packed.items()}

    config = {"quant_method": "compressed-tensors", "format": form, "ignore": ["lm_head"], "kv_cache_scheme": None,
              "quantization_status": "compressed",
              "config_groups": {"group_0": {"targets": ["Linear"], "weights": json.loads(args.model_dump_json())}}}
    return pack, config


def nvfp4(nvidia):
    from compressed_tensors.compressors.base import BaseCompressor
    from compressed_tensors.compressors.nvfp4.base import unpack_fp4_from_uint8
    from compressed_tensors.quantization import QuantizationArgs, QuantizationScheme
    from compressed_tensors.quantization.lifecycle.forward import dequantize

    compressor = BaseCompressor.get_value_from_registry("nvfp4-pack-quantized")
    args = QuantizationArgs(num_bits=4, type="float", strategy="tensor_group", group_size=16, symmetric=True)
    scheme = QuantizationScheme(targets=["Linear"], weights=args)

    def pack(weight):
        most = (448 * 6 / weight.abs().max()).reshape(1)
        scale = weight.reshape(len(weight), -1, 16).abs().amax(-1) / 6 * most
        scale = scale.to(torch.float8_e4m3fn)
        state = {"weight": weight, "weight_scale": scale.float(), "weight_global_scale": most}
        digits = compressor.compress(state, scheme)["weight_packed"]
        wide = unpack_fp4_from_uint8(digits, *weight.shape, dtype=torch.float32)
        back = dequantize(x_q=wide, scale=scale.float(), args=args, global_scale=most, dtype=torch.float32)
        if nvidia:
            return back, {".weight": digits, ".weight_scale": scale, ".weight_scale_2": 1 / most.reshape(())}
        return back, {".weight_packed": digits, ".weight_scale": scale, ".weight_global_scale": most}

    if nvidia:
        return pack, {"quant_method": "modelopt", "quant_algo": "NVFP4", "ignore": ["lm_head"]}
    return pack, {"quant_method": "compressed-tensors", "format": "nvfp4-pack-quantized", "ignore": ["lm_head"],
                  "config_groups": {"group_0": {"targets": ["Linear"], "weights": json.loads(args.model_dump_json())}}}


def fp8(block=None, name="weight_scale_inv"):
    from transformers.integrations.finegrained_fp8 import Fp8Dequantize

    most = torch.finfo(torch.float8_e4m3fn).max

    def pack(weight):
        rows, columns = weight.shape
        r, c = block or weight.shape
        grid = torch.zeros(-(-rows // r), -(-columns // c))
        for i in range(grid.shape[0]):
            for j in range(grid.shape[1]):
                grid[i, j] = weight[i * r:(i + 1) * r, j * c:(j + 1) * c].abs().max() / most
        wide = grid.repeat_interleave(r, 0)[:rows].repeat_interleave(c, 1)[:, :columns]
        digits = (weight / wide).to(torch.float8_e4m3fn)
        back = digits.float() * wide
        if rows % r == 0 and columns % c == 0:
            theirs = Fp8Dequantize(None)._dequantize_one(digits, grid, torch.float32)
            assert torch.equal(back, theirs)
        scale = grid if block else grid.reshape(())
        return back, {".weight": digits, f".{name}": scale}

    config = {"quant_method": "fp8", "activation_scheme": "dynamic", "fmt": "e4m3",
              "modules_to_not_convert": ["lm_head"]}
    if block:
        config["weight_block_size"] = list(block)
    return pack, config


def bnb(kind, double=False):
    import bitsandbytes.functional as bf

    def pack(weight):
        if kind == "int8":
            digits, scale, _ = bf.int8_vectorwise_quant(weight.half())
            back = bf.int8_vectorwise_dequant(digits, scale)
            return back, {".weight": digits, ".SCB": scale, ".weight_format": torch.tensor(0, dtype=torch.uint8)}
        packed, state = bf.quantize_4bit(weight, blocksize=64, compress_statistics=double, quant_type=kind)
        kept = state.as_dict(packed=True)
        state.shape = torch.Size((weight.numel() // 64, 64))
        back = bf.dequantize_4bit(packed, state).reshape(weight.shape)
        return back, {".weight": packed, **{f".weight.{k}": v for k, v in kept.items()}}

    config = {"quant_method": "bitsandbytes", "load_in_4bit": kind != "int8", "load_in_8bit": kind == "int8",
              "bnb_4bit_quant_type": kind, "bnb_4bit_use_double_quant": double, "bnb_4bit_compute_dtype": "float32",
              "bnb_4bit_quant_storage": "uint8", "llm_int8_skip_modules": ["lm_head"]}
    return pack, config


def write(name, config, pack, settings, shards=1):
    folder = HERE / name
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    tok = tokenizer()
    tok.save(str(folder / "tokenizer.json"), pretty=False)
    model = tf.AutoModelForCausalLM.from_config(config).eval()
    randomise(model)
    tensors, rows, state = {}, {}, model.state_dict()
    for key, value in state.items():
        stem = key.removesuffix(".weight")
        if not key.endswith("_proj.weight"):
            # What is not quantised keeps half of its bits, as on the hub.
            value = value.half().float()
            tensors[key] = value.half()
        else:
            value, parts = pack(value.clone())
            assert value.shape == state[key].shape
            tensors |= {stem + k: v.contiguous() for k, v in parts.items()}
            rows[key] = b64(value[5].float().numpy())
        state[key].copy_(value.float())
    if config.tie_word_embeddings:
        tensors.pop("lm_head.weight")
    model.load_state_dict(state)
    ids = tok.encode(TEXT).ids
    with torch.no_grad():
        logits = model.double()(torch.tensor([ids])).logits[0].float()
    written = json.loads(config.to_json_string())
    written["quantization_config"] = settings
    written["architectures"] = [type(model).__name__]
    (folder / "config.json").write_text(json.dumps(written, indent=1, sort_keys=True) + "\n")
    names = sorted(tensors)
    if shards == 1:
        save_file(tensors, folder / "model.safetensors", metadata={"format": "pt"})
    else:
        place = {}
        for i in range(shards):
            # Digits and scales of a matrix may lie in different files.
            file = f"model-{i + 1:05}-of-{shards:05}.safetensors"
            part = {n: tensors[n] for n in names[i::shards]}
            save_file(part, folder / file, metadata={"format": "pt"})
            place |= dict.fromkeys(part, file)
        index = {"metadata": {}, "weight_map": place}
        (folder / "model.safetensors.index.json").write_text(json.dumps(index, indent=1) + "\n")
    (folder / "golden.json").write_text(json.dumps({"ids": ids, "logits": b64(logits.numpy()), "row 5": rows}) + "\n")
    print(f"{name}: {sum(f.stat().st_size for f in folder.iterdir()) // 1000} kB")


def write_mxfp4(name):
    """gpt-oss' experts, of which only the numbers are compared."""
    from transformers.integrations.mxfp4 import convert_moe_packed_tensors

    folder = HERE / name
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    tokenizer().save(str(folder / "tokenizer.json"), pretty=False)
    g = torch.Generator().manual_seed(3)
    blocks = torch.randint(0, 256, (2, 6, 2, 16), generator=g, dtype=torch.uint8)
    scales = torch.randint(0, 140, (2, 6, 2), generator=g, dtype=torch.uint8)
    # As [experts, inputs, outputs] there; what it computes must not be rounded.
    want = convert_moe_packed_tensors(blocks, scales, dtype=torch.float32).transpose(1, 2)
    own = "model.layers.0.mlp.experts.down_proj"
    save_file({f"{own}_blocks": blocks, f"{own}_scales": scales}, folder / "model.safetensors")
    config = {"model_type": "gpt_oss", "quantization_config": {"quant_method": "mxfp4",
              "modules_to_not_convert": ["model.layers.*.self_attn", "lm_head"]}}
    (folder / "config.json").write_text(json.dumps(config, indent=1) + "\n")
    golden = {"name": own, "shape": list(want.shape), "numbers": b64(want.contiguous().numpy())}
    (folder / "golden.json").write_text(json.dumps(golden) + "\n")
    print(name)


def write_gpt_oss(name):
    """A model whose experts are blocks; their numbers are drawn as blocks, so that nothing is rounded."""
    from transformers.integrations.mxfp4 import convert_moe_packed_tensors

    folder = HERE / name
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    tok = tokenizer()
    tok.save(str(folder / "tokenizer.json"), pretty=False)
    config = tf.GptOssConfig(**dict(SIZES, intermediate_size=64, num_hidden_layers=2), head_dim=16, sliding_window=5,
                             num_local_experts=3, num_experts_per_tok=2)
    model = tf.AutoModelForCausalLM.from_config(config, attn_implementation="eager", experts_implementation="eager").eval()
    randomise(model)
    g, tensors = torch.Generator().manual_seed(5), {}
    for key, value in model.state_dict().items():
        if key.endswith(("gate_up_proj", "down_proj")):
            experts, inputs, outputs = value.shape
            blocks = torch.randint(0, 256, (experts, outputs, inputs // 32, 16), generator=g, dtype=torch.uint8)
            scales = torch.randint(121, 126, (experts, outputs, inputs // 32), generator=g, dtype=torch.uint8)
            value.copy_(convert_moe_packed_tensors(blocks, scales, dtype=torch.float32))
            tensors |= {f"{key}_blocks": blocks, f"{key}_scales": scales}
        else:
            value.copy_(value.bfloat16().float())
            tensors[key] = value.bfloat16()
    save_file(tensors, folder / "model.safetensors", metadata={"format": "pt"})
    settings = {"quant_method": "mxfp4", "modules_to_not_convert": ["model.layers.*.self_attn", "lm_head"]}
    (folder / "config.json").write_text(json.dumps(config.to_dict() | {"quantization_config": settings}, indent=1) + "\n")
    ids = tok.encode(TEXT).ids
    with torch.no_grad():
        logits = model.double()(input_ids=torch.tensor([ids])).logits[0]
    (folder / "golden.json").write_text(json.dumps({"ids": ids, "logits": b64(logits.float().numpy())}) + "\n")
    print(name)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--gptq", type=Path)
    parser.add_argument("--awq", type=Path)
    parser.add_argument("--only")
    args = parser.parse_args()
    group = dict(num_bits=4, type="int", strategy="group", group_size=GROUP)
    channel = dict(num_bits=8, type="float", strategy="channel", symmetric=True)
    cases = {
        "gptq": lambda: (llama(), *gptq(args.gptq, 4, True)),
        "gptq_zeros": lambda: (qwen2(), *gptq(args.gptq, 4, False)),
        "gptq_order": lambda: (llama(), *gptq(args.gptq, 4, True, act_order=True)),
        "gptq_8bits": lambda: (llama(), *gptq(args.gptq, 8, False, second=True)),
        "gptq_3bits": lambda: (llama(), *gptq(args.gptq, 3, False)),
        "awq": lambda: (qwen2(), *awq(args.awq)),
        "ct_int4": lambda: (llama(), *compressed("pack-quantized", symmetric=True, **group)),
        "ct_int4_zeros": lambda: (qwen3(), *compressed("pack-quantized", symmetric=False, **group)),
        "ct_int8": lambda: (llama(), *compressed("int-quantized", torch.float16, **dict(channel, type="int"))),
        "ct_fp8": lambda: (qwen3(), *compressed("float-quantized", **channel)),
        "ct_fp8_block": lambda: (llama(), *compressed("float-quantized", **dict(
            channel, strategy="block", block_structure=[32, 32]))),
        "ct_mxfp4": lambda: (llama(), *compressed("mxfp4-pack-quantized", num_bits=4, type="float",
                                                  strategy="group", group_size=32, symmetric=True)),
        "ct_nvfp4": lambda: (llama(), *nvfp4(False)),
        "modelopt_nvfp4": lambda: (qwen3(), *nvfp4(True)),
        "fp8_block": lambda: (qwen3(tie_word_embeddings=True), *fp8((48, 64))),
        "fp8_tensor": lambda: (llama(), *fp8(None, "weight_scale")),
        "bnb_nf4": lambda: (llama(), *bnb("nf4")),
        "bnb_nf4_double": lambda: (qwen2(), *bnb("nf4", double=True)),
        "bnb_fp4": lambda: (llama(), *bnb("fp4")),
        "bnb_int8": lambda: (llama(), *bnb("int8")),
    }
    for name, make in cases.items():
        if args.only in (None, name):
            write(name, *make(), shards=2 if name == "ct_int4" else 1)
    if args.only in (None, "mxfp4"):
        write_mxfp4("mxfp4")
    if args.only in (None, "gpt_oss"):
        write_gpt_oss("gpt_oss")


if __name__ == "__main__":
    main()
