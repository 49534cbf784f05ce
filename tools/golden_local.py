#!/usr/bin/env python3
"""Makes the golden files of crates/models/mary-local: a tiny random model of every architecture, and what
Hugging Face transformers computes with it.

    python tools/golden_local.py              # tiny models -> crates/models/mary-local/tests/golden/
    python tools/golden_local.py --only bloom # these alone
    python tools/golden_local.py --real DIR   # log-probabilities of real models in DIR

Needs torch, transformers, safetensors and tokenizers; --real also needs what
tools/make_test_models.py put into DIR. Written files are small and committed; nothing is downloaded.
"""

import argparse
import base64
import json
import shutil
from pathlib import Path

import numpy as np
import torch
import transformers as tf

torch.set_num_threads(1)

HERE = Path(__file__).resolve().parent.parent / "crates" / "models" / "mary-local" / "tests" / "golden"
WORDS = (
    "the a cat dog bird child river stone light sleeps runs sings falls reads and or not "
    "under over near old young red blue small great one two three four is are was were who that"
).split()
TEXT = "the old cat sleeps under the red stone and the young bird that sings is not near"


def b64(x):
    return base64.b64encode(np.ascontiguousarray(x, dtype="<f4").tobytes()).decode()


def tokenizer():
    from tokenizers import Tokenizer, models, pre_tokenizers, processors

    vocab = {w: i for i, w in enumerate(["<unk>", "<s>", "</s>", *WORDS])}
    t = Tokenizer(models.WordLevel(vocab, unk_token="<unk>"))
    t.pre_tokenizer = pre_tokenizers.Whitespace()
    t.add_special_tokens(["<unk>", "<s>", "</s>"])
    t.post_processor = processors.TemplateProcessing(single="<s> $A", special_tokens=[("<s>", 1)])
    return t


DEC = dict(vocab_size=64, hidden_size=32, num_hidden_layers=2, num_attention_heads=4,
           max_position_embeddings=64, bos_token_id=1, eos_token_id=2, pad_token_id=0)
LLAMA = dict(DEC, intermediate_size=48, num_key_value_heads=2)


def cases():
    """Name, configuration, class."""
    auto = tf.AutoModelForCausalLM
    yield "gpt_neox", tf.GPTNeoXConfig(**DEC, intermediate_size=48, rotary_pct=0.25, hidden_act="gelu"), auto
    yield "gpt_neox_sequential", tf.GPTNeoXConfig(**DEC, intermediate_size=48, rotary_pct=0.5, use_parallel_residual=False), auto
    yield "gpt2", tf.GPT2Config(vocab_size=64, n_embd=32, n_layer=2, n_head=4, n_positions=64, bos_token_id=1, eos_token_id=2), auto
    yield "llama", tf.LlamaConfig(**LLAMA, rope_theta=10000.0), auto
    yield "llama_linear", tf.LlamaConfig(**LLAMA, rope_scaling={"rope_type": "linear", "factor": 4.0}), auto
    yield "llama_llama3", tf.LlamaConfig(**dict(LLAMA, max_position_embeddings=64), rope_scaling={"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0, "original_max_position_embeddings": 16}), auto
    yield "llama_yarn", tf.LlamaConfig(**LLAMA, rope_scaling={"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 16}), auto
    yield "mistral", tf.MistralConfig(**LLAMA, sliding_window=5), auto
    yield "qwen2", tf.Qwen2Config(**LLAMA), auto
    yield "qwen3", tf.Qwen3Config(**LLAMA, head_dim=16), auto
    yield "phi", tf.PhiConfig(**DEC, intermediate_size=48, partial_rotary_factor=0.5), auto
    yield "phi3", tf.Phi3Config(**LLAMA), auto
    yield "falcon_7b", tf.FalconConfig(vocab_size=64, hidden_size=32, num_hidden_layers=2, num_attention_heads=4, multi_query=True, parallel_attn=True, bias=False, new_decoder_architecture=False, bos_token_id=1, eos_token_id=2), auto
    yield "falcon_new", tf.FalconConfig(vocab_size=64, hidden_size=32, num_hidden_layers=2, num_attention_heads=4, num_kv_heads=2, new_decoder_architecture=True, bias=False, bos_token_id=1, eos_token_id=2), auto
    yield "falcon_rw", tf.FalconConfig(vocab_size=64, hidden_size=32, num_hidden_layers=2, num_attention_heads=4, multi_query=False, parallel_attn=False, bias=True, alibi=True, new_decoder_architecture=False, bos_token_id=1, eos_token_id=2), auto
    yield "gemma2", tf.Gemma2Config(**LLAMA, head_dim=8, sliding_window=5, query_pre_attn_scalar=8), auto
    yield "gemma3", tf.Gemma3TextConfig(**dict(LLAMA, num_hidden_layers=3), head_dim=8, sliding_window=5, query_pre_attn_scalar=8, layer_types=["sliding_attention", "sliding_attention", "full_attention"]), auto
    yield "qwen", tf.Qwen2Config(**dict(LLAMA, num_key_value_heads=4), rms_norm_eps=1e-6), auto
    yield "gptj", tf.GPTJConfig(vocab_size=64, n_embd=32, n_layer=2, n_head=4, n_positions=64, rotary_dim=4, bos_token_id=1, eos_token_id=2, tie_word_embeddings=False), auto
    yield "gpt_neo", tf.GPTNeoConfig(vocab_size=64, hidden_size=32, num_layers=2, num_heads=4, max_position_embeddings=64, intermediate_size=48, attention_types=[[["global", "local"], 1]], window_size=5, bos_token_id=1, eos_token_id=2), auto
    yield "bloom", tf.BloomConfig(vocab_size=64, hidden_size=32, n_layer=2, n_head=4, bos_token_id=1, eos_token_id=2), auto
    yield "bloom_six", tf.BloomConfig(vocab_size=64, hidden_size=36, n_layer=2, n_head=6, bos_token_id=1, eos_token_id=2), auto
    yield "stablelm", tf.StableLmConfig(**LLAMA), auto
    yield "stablelm_parallel", tf.StableLmConfig(**LLAMA, use_parallel_residual=True, use_qkv_bias=True, partial_rotary_factor=0.5), auto
    yield "olmo", tf.OlmoConfig(**LLAMA), auto
    yield "granite", tf.GraniteConfig(**LLAMA, embedding_multiplier=3.0, attention_multiplier=0.25, residual_multiplier=0.4, logits_scaling=2.0), auto
    yield "olmo_clip", tf.OlmoConfig(**LLAMA, clip_qkv=0.75), auto
    yield "olmo2", tf.Olmo2Config(**LLAMA), auto
    yield "stablelm_heads", tf.StableLmConfig(**LLAMA, qk_layernorm=True, partial_rotary_factor=0.5), auto
    yield "phi_heads", tf.PhiConfig(**DEC, intermediate_size=48, partial_rotary_factor=0.5, qk_layernorm=True), auto
    yield "phi3_longrope", tf.Phi3Config(**dict(LLAMA, max_position_embeddings=128), original_max_position_embeddings=64, partial_rotary_factor=1.0, rope_scaling={"rope_type": "longrope", "short_factor": [1.0, 1.25, 1.5, 2.5], "long_factor": [1.0, 2.0, 4.0, 8.0]}), auto
    yield "llava_llama", tf.LlamaConfig(**LLAMA), auto
    four = dict(LLAMA, num_hidden_layers=4)
    yield "gemma", tf.GemmaConfig(**LLAMA, head_dim=16), auto
    yield "vaultgemma", tf.VaultGemmaConfig(**LLAMA, head_dim=8, sliding_window=5, query_pre_attn_scalar=8), auto
    yield "smollm3", tf.SmolLM3Config(**four, use_sliding_window=True, sliding_window=5), auto
    yield "ministral", tf.MinistralConfig(**LLAMA, head_dim=16, sliding_window=5, layer_types=["sliding_attention", "full_attention"]), auto
    yield "ministral3", tf.Ministral3Config(**LLAMA, head_dim=16, sliding_window=None, rope_parameters={"rope_type": "yarn", "rope_theta": 10000.0, "factor": 2.0, "original_max_position_embeddings": 32, "mscale": 0.7, "mscale_all_dim": 1.3, "llama_4_scaling_beta": 0.1, "beta_fast": 32.0, "beta_slow": 1.0}), auto
    yield "olmo3", tf.Olmo3Config(**four, sliding_window=5, rope_scaling={"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 16}), auto
    yield "exaone4", tf.Exaone4Config(**four, sliding_window=5, sliding_window_pattern=4), auto
    yield "cohere", tf.CohereConfig(**LLAMA, logit_scale=0.5), auto
    yield "cohere_heads", tf.CohereConfig(**LLAMA, logit_scale=0.5, use_qk_norm=True), auto
    yield "cohere2", tf.Cohere2Config(**four, sliding_window=5), auto
    yield "starcoder2", tf.Starcoder2Config(**LLAMA, sliding_window=5), auto
    yield "nemotron", tf.NemotronConfig(**LLAMA), auto
    yield "arcee", tf.ArceeConfig(**LLAMA), auto
    yield "jais2", tf.Jais2Config(**LLAMA), auto
    yield "persimmon", tf.PersimmonConfig(**DEC, intermediate_size=48), auto
    yield "glm", tf.GlmConfig(**LLAMA, head_dim=16), auto
    yield "glm4", tf.Glm4Config(**LLAMA, head_dim=16), auto
    yield "helium", tf.HeliumConfig(**LLAMA, head_dim=8), auto
    yield "ernie4_5", tf.Ernie4_5Config(**LLAMA, head_dim=8, use_bias=True), auto
    yield "seed_oss", tf.SeedOssConfig(**LLAMA, head_dim=16), auto
    yield "cwm", tf.CwmConfig(**four, head_dim=8, sliding_window=5), auto
    yield "internlm3", tf.InternLM3Config(**LLAMA, head_dim=8, attention_bias=True, mlp_bias=True), auto
    yield "iquestcoder", tf.IQuestCoderConfig(**LLAMA, head_dim=8), auto
    yield "hyperclovax", tf.HyperCLOVAXConfig(**LLAMA, embedding_multiplier=3.0, attention_multiplier=0.25, logits_scaling=0.5), auto
    gpt = dict(vocab_size=64, n_embd=32, n_layer=2, n_head=4, n_positions=64, bos_token_id=1, eos_token_id=2)
    yield "gpt_bigcode", tf.GPTBigCodeConfig(**gpt), auto
    yield "gpt_bigcode_heads", tf.GPTBigCodeConfig(**gpt, multi_query=False, n_inner=48), auto
    yield "gpt2_by_layer", tf.GPT2Config(**gpt, scale_attn_by_inverse_layer_idx=True), auto
    yield "openai_gpt", tf.OpenAIGPTConfig(**gpt), auto
    yield "biogpt", tf.BioGptConfig(**DEC, intermediate_size=48), auto
    yield "mpt", tf.MptConfig(vocab_size=64, d_model=36, n_layers=2, n_heads=6, max_seq_len=64), auto
    mamba = dict(vocab_size=64, hidden_size=32, num_hidden_layers=3, state_size=8, bos_token_id=1, eos_token_id=2, pad_token_id=0)
    yield "mamba", tf.MambaConfig(**mamba), auto
    yield "falcon_mamba", tf.FalconMambaConfig(**mamba, use_bias=True), auto
    yield "mamba2", tf.Mamba2Config(**mamba, num_heads=8, head_dim=8, n_groups=2, chunk_size=4, time_step_limit=(0.3, 1.5)), auto
    second = dict(LLAMA, num_hidden_layers=3, mamba_n_heads=8, mamba_d_state=8, mamba_n_groups=2, mamba_chunk_size=4)
    yield "bamba", tf.BambaConfig(**second, attn_layer_indices=[1]), auto
    yield "granitemoehybrid", tf.GraniteMoeHybridConfig(**second, num_local_experts=0, shared_intermediate_size=48, layer_types=["linear_attention", "full_attention", "linear_attention"], embedding_multiplier=3.0, attention_multiplier=0.25, residual_multiplier=0.4, logits_scaling=2.0), auto
    linear = dict(linear_key_head_dim=8, linear_value_head_dim=12, linear_num_key_heads=2, linear_num_value_heads=4, head_dim=16)
    experts = dict(num_experts=4, moe_intermediate_size=24, shared_expert_intermediate_size=40, num_experts_per_tok=2)
    yield "qwen3_next", tf.Qwen3NextConfig(**four, **linear, **experts, mlp_only_layers=[1]), auto
    yield "qwen3_5", tf.Qwen3_5TextConfig(**four, **linear, attention_bias=True), auto
    yield "qwen3_5_moe", tf.Qwen3_5MoeTextConfig(**four, **linear, **experts), auto
    yield "lfm2", tf.Lfm2Config(**dict(LLAMA, num_hidden_layers=3), conv_L_cache=3, conv_bias=True, block_multiple_of=16, block_ffn_dim_multiplier=1.5, full_attn_idxs=[1]), auto
    few = dict(num_experts_per_tok=2)
    yield "mixtral", tf.MixtralConfig(**LLAMA, num_local_experts=4, sliding_window=5, **few), auto
    yield "qwen2_moe", tf.Qwen2MoeConfig(**LLAMA, num_experts=4, moe_intermediate_size=24, shared_expert_intermediate_size=40, **few), auto
    yield "qwen3_moe", tf.Qwen3MoeConfig(**dict(LLAMA, num_hidden_layers=3), head_dim=16, num_experts=6, moe_intermediate_size=24, norm_topk_prob=True, mlp_only_layers=[1], num_experts_per_tok=3), auto
    yield "olmoe", tf.OlmoeConfig(**LLAMA, num_experts=4, **few), auto
    latent = dict(LLAMA, num_hidden_layers=3, num_key_value_heads=4, q_lora_rank=24, kv_lora_rank=20, qk_nope_head_dim=10, qk_rope_head_dim=6, v_head_dim=12)
    routed = dict(n_routed_experts=8, moe_intermediate_size=24, num_experts_per_tok=3, n_group=4, topk_group=2, routed_scaling_factor=1.7, n_shared_experts=2)
    stretched = {"rope_type": "yarn", "rope_theta": 100.0, "factor": 4.0, "mscale": 1.0, "mscale_all_dim": 0.7, "original_max_position_embeddings": 16}
    yield "deepseek_v2", tf.DeepseekV2Config(**latent, **routed, topk_method="group_limited_greedy", first_k_dense_replace=1, rope_parameters=stretched), auto
    yield "deepseek_v3", tf.DeepseekV3Config(**latent, **routed, first_k_dense_replace=1, attention_bias=True, rope_parameters=stretched), auto
    yield "deepseek_v32", tf.DeepseekV32Config(**latent, **routed, first_k_dense_replace=2, index_topk=64, index_n_heads=2, index_head_dim=8), auto
    yield "glm4_moe_lite", tf.Glm4MoeLiteConfig(**dict(latent, v_head_dim=16), **routed), auto
    yield "glm_moe_dsa", tf.GlmMoeDsaConfig(**latent, **routed, first_k_dense_replace=1, index_topk=64, index_n_heads=2, index_head_dim=8), auto
    yield "solar_open", tf.SolarOpenConfig(**{k: v for k, v in LLAMA.items() if k != "intermediate_size"}, head_dim=16, norm_topk_prob=True, **routed), auto
    yield "youtu", tf.YoutuConfig(**dict(latent, q_lora_rank=None, rope_interleave=False)), auto
    yield "glm4_moe", tf.Glm4MoeConfig(**dict(LLAMA, num_hidden_layers=3), head_dim=16, use_qk_norm=True, **routed), auto
    yield "dots1", tf.Dots1Config(**dict(LLAMA, num_hidden_layers=3), head_dim=16, first_k_dense_replace=1, norm_topk_prob=True, sliding_window=5, max_window_layers=1, **routed), auto
    yield "minimax_m2", tf.MiniMaxM2Config(**LLAMA, head_dim=16, rotary_dim=8, num_local_experts=6, **few), auto
    yield "granitemoe", tf.GraniteMoeConfig(**LLAMA, num_local_experts=4, embedding_multiplier=6.0, attention_multiplier=0.2, residual_multiplier=0.4, logits_scaling=2.0, **few), auto
    yield "gpt_oss", tf.GptOssConfig(**dict(LLAMA, intermediate_size=40), head_dim=16, sliding_window=5, num_local_experts=4, **few), auto
    yield "opt", tf.OPTConfig(**DEC, ffn_dim=48, word_embed_proj_dim=32), auto
    yield "opt_350m", tf.OPTConfig(**DEC, ffn_dim=48, word_embed_proj_dim=16, do_layer_norm_before=False), auto
    enc = dict(vocab_size=64, hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=48, max_position_embeddings=64)
    yield "bert", tf.BertConfig(**enc), tf.BertModel
    yield "roberta", tf.RobertaConfig(**enc, pad_token_id=0), tf.RobertaModel
    yield "camembert", tf.CamembertConfig(**enc, pad_token_id=0), tf.CamembertModel
    yield "distilbert", tf.DistilBertConfig(vocab_size=64, dim=32, n_layers=2, n_heads=4, hidden_dim=48, max_position_embeddings=64), tf.DistilBertModel
    yield "modernbert", tf.ModernBertConfig(**dict(enc, num_hidden_layers=4), local_attention=6, pad_token_id=0, bos_token_id=1, eos_token_id=2, cls_token_id=1, sep_token_id=2), tf.ModernBertModel
    yield "deberta_v3", tf.DebertaV2Config(**enc, relative_attention=True, position_buckets=6, max_relative_positions=-1, pos_att_type="p2c|c2p", share_att_key=True, norm_rel_ebd="layer_norm", position_biased_input=False, type_vocab_size=0), tf.DebertaV2Model
    yield "visual_bert", tf.VisualBertConfig(**enc, visual_embedding_dim=8), tf.VisualBertModel
    yield "clip_text", tf.CLIPTextConfig(**enc, bos_token_id=1, eos_token_id=2, projection_dim=16), tf.CLIPTextModel
    vision = dict(hidden_size=16, intermediate_size=16, num_hidden_layers=1, num_attention_heads=2, image_size=8, patch_size=4)
    yield "llava_next", tf.LlavaNextConfig(text_config=dict(LLAMA, model_type="llama"), vision_config=dict(vision, model_type="clip_vision_model"), image_token_index=63), tf.LlavaNextForConditionalGeneration
    qwen_vision = dict(depth=1, embed_dim=16, hidden_size=32, num_heads=2, mlp_ratio=1, patch_size=4)
    sections = dict(rope_parameters={"rope_type": "default", "rope_theta": 10000.0, "mrope_section": [2, 1, 1], "mrope_interleaved": True})
    few = dict(depth=1, hidden_size=16, intermediate_size=16, num_heads=2, patch_size=4, out_hidden_size=32, deepstack_visual_indexes=[0])
    places = dict(image_token_id=60, video_token_id=61, vision_start_token_id=62, vision_end_token_id=63)
    third = dict(LLAMA, head_dim=16, **sections)
    yield "qwen3_vl", tf.Qwen3VLConfig(text_config=third, vision_config=few, **places), tf.Qwen3VLForConditionalGeneration
    experts = dict(num_experts=4, moe_intermediate_size=24, num_experts_per_tok=2, mlp_only_layers=[0])
    yield "qwen3_vl_moe", tf.Qwen3VLMoeConfig(text_config=dict(third, **experts), vision_config=few, **places), tf.Qwen3VLMoeForConditionalGeneration
    yield "qwen2_vl", tf.Qwen2VLConfig(text_config=dict(LLAMA, rope_parameters={"rope_type": "default", "rope_theta": 10000.0, "mrope_section": [1, 1, 2]}), vision_config=qwen_vision, image_token_id=60, video_token_id=61, vision_start_token_id=62, vision_end_token_id=63), tf.Qwen2VLForConditionalGeneration


def randomise(model):
    """Weights large enough that every part of the architecture matters."""
    g = torch.Generator().manual_seed(7)
    with torch.no_grad():
        for name, p in sorted(model.named_parameters()):
            noise = torch.randn(p.shape, generator=g)
            if name.endswith("A_log") or name.endswith("dt_bias") or name.endswith("dt_proj.bias"):
                p.copy_(0.5 * noise)  # states that last, and some that do not
            elif p.dim() == 1:
                base = 0.0 if "bias" in name or "gemma" in model.config.model_type else 1.0
                p.copy_(base + 0.2 * noise)
            elif p.dim() == 3 and "experts" in name:
                p.copy_(noise * 1.5 / p.shape[-1] ** 0.5)
            elif name.endswith("mlp.gate.weight"):
                p.copy_(noise)  # a router that is sure of itself
            else:
                p.copy_(noise * (1.5 / p.shape[-1] ** 0.5 if p.dim() == 2 and "embed" not in name and "wte" not in name and "wpe" not in name else 0.5))
        for name, bias in sorted(model.named_buffers()):
            if name.endswith("e_score_correction_bias"):
                bias.copy_(0.3 * torch.randn(bias.shape, generator=g))
    if hasattr(model, "tie_weights"):
        model.tie_weights()


def tiny(only):
    HERE.mkdir(parents=True, exist_ok=True)
    t = tokenizer()
    for name, config, kind in cases():
        if only and name not in only:
            continue
        shutil.rmtree(HERE / name, ignore_errors=True)
        torch.manual_seed(1)
        try:
            # Falcon-RW's eager attention adds its biases twice; the default path adds them once.
            attention = "sdpa" if name == "falcon_rw" else "eager"
            make = kind.from_config if kind is tf.AutoModelForCausalLM else kind._from_config
            model = make(config, attn_implementation=attention)
            model = model.float().eval()
            randomise(model)
            ids = t.encode(TEXT).ids
            if name in ("bert", "roberta", "visual_bert", "camembert", "distilbert", "deberta_v3", "modernbert"):
                ids = ids[:-1] + [2]
            with torch.no_grad():
                out = model(input_ids=torch.tensor([ids]), output_hidden_states=True)
        except Exception as error:  # a class this version of transformers does not have
            print(f"{name}: not made ({type(error).__name__}: {error})")
            continue
        hidden = list(out.hidden_states)
        if config.model_type in ("mamba", "falcon_mamba", "mamba2") and len(hidden) == config.num_hidden_layers + 1:
            with torch.no_grad():  # they leave the embedding out, and give the last block before and after the norm
                hidden = [model.get_input_embeddings()(torch.tensor([ids])), *hidden[:-2], hidden[-1]]
        if getattr(out, "last_hidden_state", None) is not None:
            hidden[-1] = out.last_hidden_state  # after the final norm, as our contract says
        folder = HERE / name
        model.save_pretrained(folder, safe_serialization=True)
        prune(folder)
        if name == "qwen":
            first_qwen(folder, config)
        if name == "llava_llama":
            first_llava(folder)
        if name == "qwen3_5_moe":
            stack_experts(folder)
        if name == "qwen3_vl_moe":
            turn_experts(folder)
        t.save(str(folder / "tokenizer.json"))
        golden = {
            "made_with": f"transformers {tf.__version__}, torch {torch.__version__}, eager attention, f32",
            "ids": ids,
            "hidden": [b64(h[0].numpy()) for h in hidden],
            "logits": b64(out.logits[0].numpy()) if getattr(out, "logits", None) is not None else None,
        }
        (folder / "golden.json").write_text(json.dumps(golden))
        print(name, config.model_type, sum(f.stat().st_size for f in folder.iterdir()))


def first_qwen(folder, config):
    """The first Qwen computes what Qwen2 does, under other names and with one tensor for q, k and v."""
    import torch
    from safetensors.torch import load_file, save_file

    path = folder / "model.safetensors"
    old, new = load_file(path), {}
    short = {"input_layernorm": "ln_1", "post_attention_layernorm": "ln_2", "self_attn.o_proj": "attn.c_proj",
             "mlp.up_proj": "mlp.w1", "mlp.gate_proj": "mlp.w2", "mlp.down_proj": "mlp.c_proj"}
    new["transformer.wte.weight"] = old["model.embed_tokens.weight"]
    new["transformer.ln_f.weight"] = old["model.norm.weight"]
    new["lm_head.weight"] = old["lm_head.weight"]
    for i in range(config.num_hidden_layers):
        at, to = f"model.layers.{i}.", f"transformer.h.{i}."
        for a, b in short.items():
            new[f"{to}{b}.weight"] = old[f"{at}{a}.weight"]
        for part in ("weight", "bias"):
            new[f"{to}attn.c_attn.{part}"] = torch.cat([old[f"{at}self_attn.{x}_proj.{part}"] for x in "qkv"])
    save_file({k: v.contiguous() for k, v in new.items()}, path, metadata={"format": "pt"})
    (folder / "config.json").write_text(json.dumps({
        "model_type": "qwen", "architectures": ["QWenLMHeadModel"], "hidden_size": config.hidden_size,
        "num_hidden_layers": config.num_hidden_layers, "num_attention_heads": config.num_attention_heads,
        "kv_channels": config.hidden_size // config.num_attention_heads, "intermediate_size": 2 * config.intermediate_size,
        "layer_norm_epsilon": 1e-6, "rotary_emb_base": 10000, "rotary_pct": 1.0, "seq_length": 64,
        "vocab_size": config.vocab_size, "no_bias": True, "tie_word_embeddings": False}))


def first_llava(folder):
    """The original LLaVA: LLaMA's own fields and names, with a tower and a projector beside them."""
    import torch
    from safetensors.torch import load_file, save_file

    path = folder / "model.safetensors"
    tensors = load_file(path)
    tensors["model.mm_projector.0.weight"] = torch.zeros(32, 16)
    tensors["model.vision_tower.vision_tower.vision_model.embeddings.class_embedding"] = torch.zeros(16)
    save_file(tensors, path, metadata={"format": "pt"})
    config = json.loads((folder / "config.json").read_text())
    config.update(model_type="llava_llama", architectures=["LlavaLlamaForCausalLM"], mm_hidden_size=16,
                  mm_projector_type="linear", mm_vision_tower="openai/clip-vit-large-patch14-336", mm_use_im_start_end=False)
    (folder / "config.json").write_text(json.dumps(config))


def stack_experts(folder):
    """All experts of a layer in one tensor, as transformers holds them and some published files do."""
    import torch
    from safetensors.torch import load_file, save_file

    path = folder / "model.safetensors"
    tensors, stacks = load_file(path), {}
    for name in [n for n in tensors if ".mlp.experts." in n and n.endswith("_proj.weight")]:
        before, number, part = name.replace(".weight", "").rsplit(".", 2)
        stacks.setdefault(before, {}).setdefault(int(number), {})[part] = tensors.pop(name)
    for before, experts in stacks.items():
        every = [experts[i] for i in sorted(experts)]
        tensors[f"{before}.gate_up_proj"] = torch.stack([torch.cat([e["gate_proj"], e["up_proj"]]) for e in every])
        tensors[f"{before}.down_proj"] = torch.stack([e["down_proj"] for e in every])
    save_file(tensors, path, metadata={"format": "pt"})


def turn_experts(folder):
    """Experts' matrices with the inputs first, as the published files have them."""
    from safetensors.torch import load_file, save_file

    path = folder / "model.safetensors"
    tensors = load_file(path)
    save_file({k: v.transpose(1, 2).contiguous() if "experts" in k else v for k, v in tensors.items()}, path, metadata={"format": "pt"})


def prune(folder):
    """Drops what only pictures need, and the generation settings."""
    from safetensors.torch import load_file, save_file

    path = folder / "model.safetensors"
    keep = {k: v.contiguous() for k, v in load_file(path).items()
            if not any(p in k for p in ("vision", "visual.", "visual_projection", "visual_token", "visual_position", "image_newline", "multi_modal", "pooler"))}
    save_file(keep, path, metadata={"format": "pt"})
    (folder / "generation_config.json").unlink(missing_ok=True)


def sentences():
    """Two hundred sentences of our own."""
    subjects = ["The old lighthouse keeper", "My neighbour's daughter", "A flock of starlings", "The committee", "Nobody in the village", "The river behind the mill", "Her first telescope", "The last tram", "An unfinished letter", "The baker's apprentice"]
    verbs = ["had never forgotten", "slowly crossed", "could not explain", "was waiting for", "seemed larger than"]
    objects = ["the storm of the previous winter.", "a field of yellow flowers.", "what the mirror showed at noon.", "the sound of the bells across the lake."]
    return [f"{s} {v} {o}" for s in subjects for v in verbs for o in objects]


def real(models):
    """Log-probabilities per token, every token after the first."""
    out = {"made_with": f"transformers {tf.__version__}, torch {torch.__version__}, f32", "sentences": sentences()}
    folder = models / "smollm2-135m-hf"
    t = tf.AutoTokenizer.from_pretrained(folder)
    model = tf.AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32).eval()
    ids = [t(s, add_special_tokens=False).input_ids for s in out["sentences"]]
    scores = []
    with torch.no_grad():
        for one in ids:
            logits = model(input_ids=torch.tensor([one])).logits[0].log_softmax(-1)
            scores.append([round(logits[i - 1, one[i]].item(), 6) for i in range(1, len(one))])
    out["smollm2"] = scores
    minilm = models / "minilm"
    if minilm.exists():
        t = tf.AutoTokenizer.from_pretrained(minilm)
        model = tf.AutoModel.from_pretrained(minilm, dtype=torch.float32).eval()
        with torch.no_grad():
            enc = t(out["sentences"][0], return_tensors="pt")
            states = model(**enc, output_hidden_states=True).hidden_states
            out["minilm_mean"] = [b64(h[0, 1:-1].mean(0).numpy()) for h in states]
    path = HERE.parent / "golden_real.json"
    path.write_text(json.dumps(out))
    print(path, path.stat().st_size)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", default=[], help="names of the tiny models to make again")
    parser.add_argument("--real", type=Path, help="folder with smollm2-135m-hf/ and minilm/")
    args = parser.parse_args()
    real(args.real) if args.real else tiny(args.only)
