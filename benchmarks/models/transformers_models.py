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
    **dict.fromkeys(("hidden_size", "d_model", "embed_dim", "embedding_size", "hidden_dim", "encoder_hidden_dim"), 128),
    **dict.fromkeys(("num_hidden_layers", "encoder_layers", "decoder_layers", "num_layers", "num_decoder_layers"), 2),
    **dict.fromkeys(("num_attention_heads", "encoder_attention_heads", "decoder_attention_heads", "num_heads"), 4),
    **dict.fromkeys(("intermediate_size", "encoder_ffn_dim", "decoder_ffn_dim", "ffn_dim", "d_ff", "ffn_hidden_size"), 256),
    **dict.fromkeys(("head_dim", "d_kv", "projection_dim", "state_size"), 32),
    **dict.fromkeys(("num_experts", "num_local_experts", "n_routed_experts", "moe_num_experts"), 4),
    **dict.fromkeys(("moe_intermediate_size", "shared_expert_intermediate_size"), 64),
    **dict.fromkeys(("num_experts_per_tok", "moe_topk", "num_key_value_heads"), 2),
    "use_cache": False,
    "vocab_size": WORDS,
    "max_position_embeddings": 2 * LENGTH,
    "image_size": 64,
    "pad_token_id": 0,
    "bos_token_id": 1,
    "eos_token_id": 2,
    "decoder_start_token_id": 1,
}


def shrunk(config_class: type, overrides: dict[str, Any]) -> dict[str, Any]:
    known = inspect.signature(config_class.__init__).parameters
    names = {name: getattr(config_class, "attribute_map", {}).get(name, name) for name in SMALL}
    sizes = {own: SMALL[name] for name, own in names.items() if own in known}
    parts = {}
    if config_class.sub_configs:
        default = config_class()
        for name in config_class.sub_configs:
            part = getattr(default, name, None)
            if part is not None and overrides.get(name, ()) is not None:
                own = overrides.get(name, {})
                parts[name] = {"model_type": part.model_type, **shrunk(type(part), own)}
    return sizes | overrides | parts


def ids(length: int = LENGTH, batch: int = BATCH) -> torch.Tensor:
    return torch.randint(3, WORDS, (batch, length))


def words(_: Any) -> dict[str, Any]:
    tokens = ids()
    return {"input_ids": tokens, "labels": tokens}


def translation(_: Any) -> dict[str, Any]:
    return {"input_ids": ids(), "labels": ids(LENGTH // 2)}


def size_of(config: Any) -> tuple[int, int, int]:
    size = getattr(config, "image_size", None) or getattr(getattr(config, "backbone_config", None), "image_size", None) or 64
    return (getattr(config, "num_channels", 3), *(size if isinstance(size, list | tuple) else (size, size)))


def pictures(config: Any) -> dict[str, Any]:
    return {"pixel_values": torch.randn(BATCH, *size_of(config)), "labels": torch.randint(config.num_labels, (BATCH,))}


def masks(config: Any) -> dict[str, Any]:
    channels, *size = size_of(config)
    return {"pixel_values": torch.randn(4, channels, *size), "labels": torch.randint(config.num_labels, (4, *size))}


def plain_pictures(config: Any) -> dict[str, Any]:
    return {"pixel_values": torch.randn(BATCH, *size_of(config))}


def boxes(config: Any) -> dict[str, Any]:
    targets = [{"class_labels": torch.randint(config.num_labels, (3,)), "boxes": torch.rand(3, 4) / 4 + 0.3} for _ in range(2)]
    return {"pixel_values": torch.randn(2, *size_of(config)), "labels": targets}


def frames(config: Any) -> dict[str, Any]:
    count = getattr(config, "num_frames", 4)
    return {"pixel_values": torch.randn(2, count, *size_of(config)), "labels": torch.randint(config.num_labels, (2,))}


def captioned_pictures(config: Any) -> dict[str, Any]:
    length = min(32, getattr(config.text_config, "max_position_embeddings", 32))
    return {
        "input_ids": ids(length),
        "pixel_values": torch.randn(BATCH, *size_of(config.vision_config)),
        "return_loss": True,
    }


def speech(_: Any) -> dict[str, Any]:
    return {"input_values": torch.randn(4, 8000), "labels": torch.randint(3, 30, (4, 6))}


def spoken_classes(config: Any) -> dict[str, Any]:
    return {"input_values": torch.randn(4, 8000), "labels": torch.randint(config.num_labels, (4,))}


BatchOf = Callable[[Any], dict[str, Any]]

# The auto class, how a batch is made, and the model types.
KINDS: dict[str, tuple[str, BatchOf, str]] = {
    "causal": ("CAUSAL_LM", words, " ".join(modeling_auto.MODEL_FOR_CAUSAL_LM_MAPPING_NAMES)),
    "masked": ("MASKED_LM", words, " ".join(modeling_auto.MODEL_FOR_MASKED_LM_MAPPING_NAMES)),
    "seq2seq": ("SEQ_TO_SEQ_CAUSAL_LM", translation, " ".join(modeling_auto.MODEL_FOR_SEQ_TO_SEQ_CAUSAL_LM_MAPPING_NAMES)),
    "image": ("IMAGE_CLASSIFICATION", pictures, " ".join(modeling_auto.MODEL_FOR_IMAGE_CLASSIFICATION_MAPPING_NAMES)),
    "ctc": ("CTC", speech, " ".join(modeling_auto.MODEL_FOR_CTC_MAPPING_NAMES)),
    "audio": ("AUDIO_CLASSIFICATION", spoken_classes, " ".join(modeling_auto.MODEL_FOR_AUDIO_CLASSIFICATION_MAPPING_NAMES)),
    "segment": ("SEMANTIC_SEGMENTATION", masks, " ".join(modeling_auto.MODEL_FOR_SEMANTIC_SEGMENTATION_MAPPING_NAMES)),
    "detect": ("OBJECT_DETECTION", boxes, " ".join(modeling_auto.MODEL_FOR_OBJECT_DETECTION_MAPPING_NAMES)),
    "depth": ("DEPTH_ESTIMATION", plain_pictures, " ".join(modeling_auto.MODEL_FOR_DEPTH_ESTIMATION_MAPPING_NAMES)),
    "video": ("VIDEO_CLASSIFICATION", frames, " ".join(modeling_auto.MODEL_FOR_VIDEO_CLASSIFICATION_MAPPING_NAMES)),
    "pairs": ("ZERO_SHOT_IMAGE_CLASSIFICATION", captioned_pictures, " ".join(modeling_auto.MODEL_FOR_ZERO_SHOT_IMAGE_CLASSIFICATION_MAPPING_NAMES)),
}

OVERRIDES: dict[str, dict[str, Any]] = {}


def loss_of(model: torch.nn.Module, inputs: dict[str, Any]) -> torch.Tensor:
    outputs = model(**inputs)
    loss = getattr(outputs, "loss", None)
    if loss is not None:
        return loss
    main = next(value for value in outputs.values() if isinstance(value, torch.Tensor) and value.is_floating_point())
    return main.square().mean()


def training(model_class: str, batch_of: BatchOf, overrides: dict[str, Any]) -> Training:
    cls = getattr(transformers, model_class)
    config = cls.config_class(**shrunk(cls.config_class, overrides))
    return Training(cls(config).train(), loss_of, lambda: (batch_of(config),))


def _entries() -> dict[str, Entry]:
    entries = {}
    for kind, (auto, batch_of, types) in KINDS.items():
        classes = getattr(modeling_auto, f"MODEL_FOR_{auto}_MAPPING_NAMES")
        for model_type in types.split():
            name = f"{model_type} ({kind})"
            entries[name] = Entry(model_type, partial(training, classes[model_type], batch_of, OVERRIDES.get(name, {})))
    return entries


MODELS = _entries()
