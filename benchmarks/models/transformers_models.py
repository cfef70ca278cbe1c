"""Models of transformers, made from its configuration classes by shrinking whatever has a known name."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import partial
from typing import Any

import torch
import transformers
from transformers.models.auto import modeling_auto

from models import Entry, Training

transformers.logging.set_verbosity_error()

WORDS, LENGTH, BATCH = 512, 128, 8

# Sizes by the names that configurations give them. A configuration takes those that it has.
SMALL: dict[str, Any] = {
    **dict.fromkeys(("hidden_size", "d_model", "embed_dim", "embedding_size", "hidden_dim", "decoder_hidden_size"), 128),
    **dict.fromkeys(("num_hidden_layers", "encoder_layers", "decoder_layers", "num_layers", "num_decoder_layers"), 2),
    **dict.fromkeys(("num_attention_heads", "encoder_attention_heads", "decoder_attention_heads", "num_heads"), 4),
    **dict.fromkeys(("intermediate_size", "encoder_ffn_dim", "decoder_ffn_dim", "ffn_dim", "d_ff", "ffn_hidden_size"), 256),
    **dict.fromkeys(("head_dim", "d_kv", "projection_dim", "qk_nope_head_dim", "v_head_dim", "kv_lora_rank", "q_lora_rank"), 32),
    **dict.fromkeys(("state_size", "rotary_dim", "qk_rope_head_dim"), 16),
    **dict.fromkeys(("num_experts", "num_local_experts", "n_routed_experts", "moe_num_experts"), 4),
    **dict.fromkeys(("moe_intermediate_size", "shared_expert_intermediate_size"), 64),
    **dict.fromkeys(("num_experts_per_tok", "moe_topk", "num_key_value_heads", "decoder_num_hidden_layers"), 2),
    "use_cache": False,
    "vocab_size": WORDS,
    "max_position_embeddings": 2 * LENGTH,
    "image_size": 128,
    "pad_token_id": 0,
    "bos_token_id": 1,
    "eos_token_id": 2,
    "decoder_start_token_id": 1,
}


def shrunk(config_class: type, overrides: dict[str, Any]) -> dict[str, Any]:
    """The arguments of a small configuration, and of those that it contains."""
    default = config_class()
    known = inspect.signature(config_class.__init__).parameters
    names = {name: getattr(config_class, "attribute_map", {}).get(name, name) for name in SMALL}
    sizes = {
        own: SMALL[name] for name, own in names.items() if own in known and not isinstance(getattr(default, own), list | tuple)
    }
    parts = {}
    for name in config_class.sub_configs:
        part = getattr(default, name, None)
        if part is not None:
            parts[name] = {"model_type": part.model_type, **shrunk(type(part), overrides.get(name, {}))}
    return sizes | overrides | parts


def ids(length: int = LENGTH, batch: int = BATCH) -> torch.Tensor:
    return torch.randint(3, WORDS, (batch, length))


def size_of(config: Any) -> tuple[int, ...]:
    inner = getattr(config, "vision_config", config)
    size = getattr(inner, "image_size", None) or 128
    return (getattr(inner, "num_channels", 3), *(size if isinstance(size, list | tuple) else (size, size)))


def words(_: Any, length: int = LENGTH) -> dict[str, Any]:
    tokens = ids(length)
    return {"input_ids": tokens, "labels": tokens}


def few_words(config: Any) -> dict[str, Any]:
    return words(config, 16)


def translation(_: Any) -> dict[str, Any]:
    return {"input_ids": ids(), "labels": ids(LENGTH // 2)}


def pictures(config: Any) -> dict[str, Any]:
    return {"pixel_values": torch.randn(BATCH, *size_of(config)), "labels": torch.randint(config.num_labels, (BATCH,))}


def unlabelled(config: Any) -> dict[str, Any]:
    return {"pixel_values": torch.randn(4, *size_of(config))}


def masks(config: Any) -> dict[str, Any]:
    channels, *size = size_of(config)
    return {"pixel_values": torch.randn(4, channels, *size), "labels": torch.randint(config.num_labels, (4, *size))}


def frames(config: Any) -> dict[str, Any]:
    video = torch.randn(2, config.num_frames, *size_of(config))
    return {"pixel_values": video, "labels": torch.randint(config.num_labels, (2,))}


def captioned(config: Any) -> dict[str, Any]:
    return {"input_ids": ids(32), "pixel_values": torch.randn(BATCH, *size_of(config.vision_config)), "return_loss": True}


def speech(_: Any) -> dict[str, Any]:
    return {"input_values": torch.randn(4, 8000), "labels": torch.randint(3, 30, (4, 6))}


def mel(config: Any) -> dict[str, Any]:
    length = 2 * config.max_source_positions
    return {"input_features": torch.randn(4, config.num_mel_bins, length), "labels": ids(32, 4)}


def spectrogram(config: Any) -> dict[str, Any]:
    return {
        "input_values": torch.randn(4, config.max_length, config.num_mel_bins),
        "labels": torch.randint(config.num_labels, (4,)),
    }


def series(config: Any) -> dict[str, Any]:
    channels = config.num_input_channels
    return {
        "past_values": torch.randn(32, config.context_length, channels),
        "future_values": torch.randn(32, config.prediction_length, channels),
    }


def forecast(config: Any) -> dict[str, Any]:
    past = config.context_length + max(config.lags_sequence)
    return {
        "past_values": torch.randn(32, past),
        "past_time_features": torch.randn(32, past, 1),
        "past_observed_mask": torch.ones(32, past),
        "future_values": torch.randn(32, config.prediction_length),
        "future_time_features": torch.randn(32, config.prediction_length, 1),
    }


def image_and_words(config: Any) -> dict[str, Any]:
    """Where image tokens stand in the text: one for each patch."""
    channels, height, width = size_of(config.vision_config)
    count = (height // config.vision_config.patch_size) ** 2
    tokens = ids(LENGTH, 4).clamp(min=config.image_token_id + 1)
    tokens[:, :count] = config.image_token_id
    return {"input_ids": tokens, "labels": tokens, "pixel_values": torch.randn(4, channels, height, width)}


BatchOf = Callable[[Any], dict[str, Any]]

STAGES = {"hidden_sizes": [16, 32, 48, 64], "depths": [1, 1, 2, 1]}
PYRAMID = {**STAGES, "num_attention_heads": [1, 2, 3, 4]}
LATENT = {"num_key_value_heads": 4}
HYBRID = {"num_hidden_layers": 4}
SPEECH = {
    "conv_dim": [32] * 7,
    "num_conv_pos_embeddings": 16,
    "num_conv_pos_embedding_groups": 4,
    "vocab_size": 32,
    "num_codevectors_per_group": 32,
}
BACKBONE = {
    "backbone_config": {
        "model_type": "resnet",
        "embedding_size": 16,
        **STAGES,
        "out_features": ["stage1", "stage2", "stage3", "stage4"],
    }
}
FORECAST = {"prediction_length": 24, "context_length": 48, "num_time_features": 1}
ONE_PICTURE = {"image_token_id": 3, "image_token_index": 3, "vision_config": {"image_size": 64, "patch_size": 16}}

# Model types by task: the name of transformers' auto class, how a batch is made, and the types with what they need to be small.
TASKS: tuple[tuple[str, BatchOf, str, dict[str, dict[str, Any]]], ...] = (
    (
        "CAUSAL_LM",
        words,
        "afmoe apertus arcee biogpt bitnet bloom codegen cohere cohere2 diffllama doge ernie4_5 ernie4_5_moe exaone4 "
        "falcon gemma gemma2 gemma3_text glm glm4 glm4_moe gpt2 gpt_bigcode gpt_neox gpt_oss gptj granite granitemoe helium "
        "hunyuan_v1_dense jais2 jetmoe lfm2 llama llama4_text minimax mistral mixtral modernbert-decoder mpt nanochat "
        "nemotron olmo olmo2 olmo3 olmoe openai-gpt opt persimmon phi phi3 phimoe qwen2 qwen2_moe qwen3 "
        "recurrent_gemma seed_oss smollm3 stablelm starcoder2 vaultgemma xglm xlnet",
        {
            "deepseek_v2": LATENT,
            "deepseek_v3": LATENT,
            "minicpm3": LATENT,
            "youtu": LATENT,
            "gpt_neo": {"attention_types": [[["global", "local"], 1]]},
            "mamba2": {"num_heads": 8, "n_groups": 2, "chunk_size": 32},
            "qwen3_moe": {"num_experts": 4},
            "reformer": {
                "axial_pos_embds_dim": (64, 64),
                "axial_pos_shape": (8, 16),
                "is_decoder": True,
                "attention_head_size": 32,
            },
        },
    ),
    (
        "CAUSAL_LM",
        few_words,  # one op per word and layer, and more
        "falcon_mamba mamba",
        {
            "jamba": HYBRID
            | {"attn_layer_period": 2, "attn_layer_offset": 1, "expert_layer_period": 2, "expert_layer_offset": 1},
            "rwkv": {"context_length": 32, "attention_hidden_size": 128},
        },
    ),
    (
        "MASKED_LM",
        words,
        "albert bert big_bird camembert convbert data2vec-text deberta deberta-v2 distilbert electra ernie esm eurobert flaubert "
        "fnet ibert layoutlm megatron-bert mobilebert modernbert mpnet mra nomic_bert nystromformer rembert roberta roformer "
        "squeezebert tapas xlm xlm-roberta yoso",
        {
            "funnel": {"block_sizes": [1, 1], "d_model": 128, "n_head": 4, "d_head": 32, "d_inner": 256},
            "longformer": {"attention_window": 32},
            "xmod": {"default_language": "en_XX"},
        },
    ),
    (
        "SEQ_TO_SEQ_CAUSAL_LM",
        translation,
        "bart bigbird_pegasus blenderbot m2m_100 marian mbart mt5 mvp nllb-moe pegasus plbart t5gemma umt5",
        {
            "led": {"attention_window": 32, "max_encoder_position_embeddings": 256, "max_decoder_position_embeddings": 256},
            "longt5": {"decoder_start_token_id": 0, "local_radius": 15},
            "switch_transformers": {"decoder_start_token_id": 0},
            "t5": {"decoder_start_token_id": 0},
        },
    ),
    (
        "IMAGE_CLASSIFICATION",
        pictures,
        "beit clip data2vec-vision deit dinov2 dinov2_with_registers ijepa siglip vit vit_msn",
        {
            "bit": {**STAGES, "embedding_size": 16, "num_groups": 8},
            "convnext": STAGES,
            "convnextv2": STAGES,
            "efficientnet": {"width_coefficient": 0.5, "depth_coefficient": 0.5, "image_size": 64, "hidden_dim": 640},
            "focalnet": {**STAGES, "embed_dim": 16},
            "hiera": {"embed_dim": 16, "depths": [1, 1, 2, 1], "num_heads": [1, 1, 2, 2]},
            "levit": {"depths": [1, 1, 1], "hidden_sizes": [32, 64, 96], "num_attention_heads": [2, 2, 3], "image_size": 224},
            "mobilenet_v1": {"depth_multiplier": 0.25},
            "mobilenet_v2": {"depth_multiplier": 0.35},
            "mobilevit": {"hidden_sizes": [32, 48, 64], "neck_hidden_sizes": [8, 16, 24, 32, 48, 64, 96]},
            "mobilevitv2": {"width_multiplier": 0.5, "image_size": 64},
            "poolformer": STAGES,
            "pvt": {**PYRAMID, "num_labels": 10},
            "pvt_v2": {**PYRAMID, "image_size": 128},
            "regnet": {**STAGES, "embedding_size": 16, "groups_width": 8},
            "resnet": {**STAGES, "embedding_size": 16},
            "segformer": PYRAMID,
            "swiftformer": {"depths": [1, 1, 2, 1], "embed_dims": [16, 32, 48, 64], "image_size": 64},
            "swin": {"embed_dim": 24, "depths": [1, 1, 2], "num_heads": [2, 2, 4]},
            "swinv2": {"embed_dim": 24, "depths": [1, 1, 2], "num_heads": [2, 2, 4], "window_size": 8},
        },
    ),
    (
        "SEMANTIC_SEGMENTATION",
        masks,
        "",
        {
            "dpt": {
                "num_hidden_layers": 4,
                "backbone_out_indices": [0, 1, 2, 3],
                "neck_hidden_sizes": [16, 32, 48, 64],
                "fusion_hidden_size": 32,
            },
            "upernet": {**BACKBONE, "hidden_size": 32, "auxiliary_in_channels": 48, "auxiliary_channels": 32},
        },
    ),
    ("DEPTH_ESTIMATION", unlabelled, "", {"glpn": PYRAMID | {"decoder_hidden_size": 32}}),
    ("PRETRAINING", unlabelled, "vit_mae", {}),
    (
        "VIDEO_CLASSIFICATION",
        frames,
        "",
        {
            "timesformer": {"num_frames": 8, "image_size": 96},
            "videomae": {"num_frames": 8, "image_size": 64},
            "vivit": {"num_frames": 8, "image_size": 64},
        },
    ),
    ("ZERO_SHOT_IMAGE_CLASSIFICATION", captioned, "blip chinese_clip siglip", {"clip": {}}),
    (
        "CTC",
        speech,
        "",
        dict.fromkeys(("data2vec-audio", "hubert", "unispeech", "wav2vec2", "wav2vec2-conformer", "wavlm"), SPEECH),
    ),
    ("SPEECH_SEQ_2_SEQ", mel, "", {"whisper": {"max_source_positions": 64, "max_target_positions": 64}}),
    ("AUDIO_CLASSIFICATION", spectrogram, "", {"audio-spectrogram-transformer": {"max_length": 256, "num_mel_bins": 64}}),
    ("IMAGE_TEXT_TO_TEXT", image_and_words, "", {"llava": ONE_PICTURE}),
)

# Models that no auto class names.
OTHERS: dict[str, tuple[str, BatchOf, dict[str, Any]]] = {
    "autoformer": ("AutoformerForPrediction", forecast, FORECAST),
    "informer": ("InformerForPrediction", forecast, FORECAST),
    "patchtsmixer": ("PatchTSMixerForPrediction", series, {"context_length": 256, "num_input_channels": 4, "d_model": 32}),
    "patchtst": (
        "PatchTSTForPrediction",
        series,
        {"context_length": 128, "patch_length": 8, "patch_stride": 8, "num_input_channels": 4},
    ),
    "time_series_transformer": ("TimeSeriesTransformerForPrediction", forecast, FORECAST),
}

CHECKPOINTED = {"bert": ("BertForMaskedLM", False), "gpt2": ("GPT2LMHeadModel", True), "llama": ("LlamaForCausalLM", False)}


def loss_of(model: torch.nn.Module, inputs: dict[str, Any]) -> torch.Tensor:
    outputs = model(**inputs)
    if getattr(outputs, "loss", None) is not None:
        return outputs.loss
    return next(each for each in outputs.values() if isinstance(each, torch.Tensor) and each.is_floating_point()).square().mean()


def training(model_class: str, batch_of: BatchOf, overrides: dict[str, Any], reentrant: bool | None = None) -> Training:
    cls = getattr(transformers, model_class)
    config = cls.config_class(**shrunk(cls.config_class, overrides))
    model = cls(config).train()
    if reentrant is not None:
        model.gradient_checkpointing_enable({"use_reentrant": reentrant})
    return Training(model, loss_of, lambda: (batch_of(config),))


def _entries() -> dict[str, Entry]:
    entries: dict[str, Entry] = {}
    for task, batch_of, plain, special in TASKS:
        classes = getattr(modeling_auto, f"MODEL_FOR_{task}_MAPPING_NAMES")
        for model_type, overrides in sorted(({model_type: {} for model_type in plain.split()} | special).items()):
            first = classes[model_type] if isinstance(classes[model_type], str) else classes[model_type][0]
            name = model_type if model_type not in entries else f"{model_type} ({batch_of.__name__})"
            entries[name] = Entry(model_type, partial(training, first, batch_of, overrides))
    for name, row in OTHERS.items():
        entries[name] = Entry(name, partial(training, *row))
    for name, (model_class, reentrant) in CHECKPOINTED.items():
        how = "reentrant" if reentrant else "not reentrant"
        entries[f"{name} (checkpointed, {how})"] = Entry(name, partial(training, model_class, words, {}, reentrant))
    return entries


MODELS = _entries()
