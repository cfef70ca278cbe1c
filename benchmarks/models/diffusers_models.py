"""Models of diffusers: they predict noise, or what they were given."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import diffusers
import torch
from torch import nn

from models import Entry, Training

Inputs = Callable[[], dict[str, Any]]


def first_of(output: Any) -> torch.Tensor:
    return output[0] if isinstance(output, tuple | list) else next(iter(output.values()))


def predict_noise(model: nn.Module, inputs: dict[str, Any], target: torch.Tensor) -> torch.Tensor:
    return nn.functional.mse_loss(first_of(model(**inputs)), target)


def reconstruct(model: nn.Module, inputs: dict[str, Any], target: torch.Tensor) -> torch.Tensor:
    return nn.functional.l1_loss(first_of(model(**inputs)), target)


def training(name: str, config: dict[str, Any], inputs: Inputs, target: tuple[int, ...], loss_fn: Callable[..., Any]) -> Training:
    model = getattr(diffusers, name)(**config).train()
    return Training(model, loss_fn, lambda: (inputs(), torch.randn(target)))


def times(batch: int) -> torch.Tensor:
    return torch.randint(1000, (batch,))


def image(*shape: int, **more: tuple[int, ...]) -> Inputs:
    """For a U-Net: a noisy sample of that shape, when it is, and tensors by name."""
    return lambda: {"sample": torch.randn(shape), "timestep": times(shape[0]), **{k: torch.randn(v) for k, v in more.items()}}


def latent(*shape: int, text: tuple[int, ...] = (), **more: Any) -> Inputs:
    """For a transformer: the same, with its names, and an embedded text."""

    def inputs() -> dict[str, Any]:
        made = {"hidden_states": torch.randn(shape), "timestep": times(shape[0])}
        if text:
            made["encoder_hidden_states"] = torch.randn(shape[0], *text)
        return made | {k: v() if callable(v) else torch.randn(v) for k, v in more.items()}

    return inputs


def entry(name: str, config: dict[str, Any], inputs: Inputs, *target: int, loss_fn: Callable[..., Any] = predict_noise) -> Entry:
    return Entry(name.lower(), partial(training, name, config, inputs, target, loss_fn))


def ones(*shape: int) -> Callable[[], torch.Tensor]:
    return lambda: torch.ones(shape)


HEADS = {"num_attention_heads": 4, "attention_head_dim": 24, "num_layers": 2}
WIDTH = 96
UNET = {"block_out_channels": (32, 64), "layers_per_block": 1, "norm_num_groups": 8}
CROSS_UNET = {
    **UNET,
    "sample_size": 32,
    "cross_attention_dim": 32,
    "attention_head_dim": 8,
    "down_block_types": ("CrossAttnDownBlock2D", "DownBlock2D"),
    "up_block_types": ("UpBlock2D", "CrossAttnUpBlock2D"),
}
CODER = {
    **UNET,
    "down_block_types": ("DownEncoderBlock2D",) * 2,
    "up_block_types": ("UpDecoderBlock2D",) * 2,
    "latent_channels": 4,
}
PICTURE = (4, 3, 64, 64)

# fmt: off
MODELS = {
    "UNet2DModel": entry(
        "UNet2DModel",
        {**UNET, "sample_size": 32, "down_block_types": ("DownBlock2D", "AttnDownBlock2D"),
         "up_block_types": ("AttnUpBlock2D", "UpBlock2D")},
        image(4, 3, 32, 32), 4, 3, 32, 32,
    ),
    "UNet2DConditionModel": entry("UNet2DConditionModel", CROSS_UNET, image(4, 4, 32, 32, encoder_hidden_states=(4, 16, 32)),
    4, 4, 32, 32),
    "UNet1DModel": entry(
        "UNet1DModel",
        {"sample_size": 1024, "in_channels": 2, "out_channels": 2, "block_out_channels": (32, 64), "extra_in_channels": 64,
         "down_block_types": ("DownBlock1DNoSkip", "DownBlock1D"), "up_block_types": ("UpBlock1D", "UpBlock1DNoSkip")},
        image(4, 2, 1024), 4, 2, 1024,
    ),
    "UNet3DConditionModel": entry(
        "UNet3DConditionModel",
        {**CROSS_UNET, "down_block_types": ("CrossAttnDownBlock3D", "DownBlock3D"), "up_block_types": ("UpBlock3D",
         "CrossAttnUpBlock3D")},
        image(1, 4, 4, 32, 32, encoder_hidden_states=(1, 16, 32)), 1, 4, 4, 32, 32,
    ),
    "UNetMotionModel": entry(
        "UNetMotionModel",
        {**UNET, "sample_size": 32, "cross_attention_dim": 32, "num_attention_heads": 4, "motion_num_attention_heads": 4,
         "down_block_types": ("CrossAttnDownBlockMotion", "DownBlockMotion"), "up_block_types": ("UpBlockMotion",
         "CrossAttnUpBlockMotion")},
        image(1, 4, 4, 32, 32, encoder_hidden_states=(4, 16, 32)), 1, 4, 4, 32, 32,
    ),
    "UNetSpatioTemporalConditionModel": entry(
        "UNetSpatioTemporalConditionModel",
        {"sample_size": 32, "block_out_channels": (32, 64), "cross_attention_dim": 32, "num_attention_heads": (4, 4),
         "layers_per_block": 1,
         "projection_class_embeddings_input_dim": 96, "addition_time_embed_dim": 32,
         "down_block_types": ("CrossAttnDownBlockSpatioTemporal", "DownBlockSpatioTemporal"),
         "up_block_types": ("UpBlockSpatioTemporal", "CrossAttnUpBlockSpatioTemporal")},
        lambda: {"sample": torch.randn(1, 4, 8, 32, 32), "timestep": torch.tensor(7), "encoder_hidden_states": torch.randn(1,
         1, 32),
                 "added_time_ids": torch.rand(1, 3)},
        1, 4, 4, 32, 32,
    ),
    "ControlNetModel": entry(
        "ControlNetModel",
        {k: v for k, v in CROSS_UNET.items() if k not in ("sample_size",
         "up_block_types")} | {"conditioning_embedding_out_channels": (16, 32)},
        lambda: {"sample": torch.randn(4, 4, 32, 32), "timestep": times(4), "encoder_hidden_states": torch.randn(4, 16, 32),
                 "controlnet_cond": torch.randn(4, 3, 64, 64)},
        loss_fn=lambda model, inputs, _: sum(each.square().mean() for each in model(**inputs).down_block_res_samples),
    ),
    "AutoencoderKL": entry("AutoencoderKL", CODER, lambda: {"sample": torch.randn(PICTURE)}, *PICTURE, loss_fn=reconstruct),
    "AsymmetricAutoencoderKL": entry(
        "AsymmetricAutoencoderKL",
        {"down_block_types": ("DownEncoderBlock2D",) * 2, "up_block_types": ("UpDecoderBlock2D",) * 2, "norm_num_groups": 8,
         "down_block_out_channels": (32, 64), "up_block_out_channels": (32, 64), "layers_per_down_block": 1,
         "layers_per_up_block": 1},
        lambda: {"sample": torch.randn(PICTURE)}, *PICTURE, loss_fn=reconstruct,
    ),
    "AutoencoderTiny": entry(
        "AutoencoderTiny",
        {"encoder_block_out_channels": (32, 32), "decoder_block_out_channels": (32, 32), "num_encoder_blocks": (1, 2),
         "num_decoder_blocks": (2, 1)},
        lambda: {"sample": torch.rand(PICTURE)}, *PICTURE, loss_fn=reconstruct,
    ),
    "AutoencoderOobleck": entry(
        "AutoencoderOobleck",
        {"encoder_hidden_size": 32, "decoder_channels": 32, "decoder_input_channels": 16, "downsampling_ratios": [2, 4],
         "channel_multiples": [1, 2]},
        lambda: {"sample": torch.randn(2, 2, 2048)}, 2, 2, 2048, loss_fn=reconstruct,
    ),
    "VQModel": entry("VQModel", {**CODER, "num_vq_embeddings": 128}, lambda: {"sample": torch.randn(PICTURE)}, *PICTURE,
    loss_fn=reconstruct),
    "AutoencoderKLWan": entry(
        "AutoencoderKLWan", {"base_dim": 16, "z_dim": 4, "dim_mult": [1, 2], "num_res_blocks": 1, "temperal_downsample": [True],
                             "latents_mean": [0.0] * 4, "latents_std": [1.0] * 4},
        lambda: {"sample": torch.randn(1, 3, 5, 32, 32)}, 1, 3, 5, 32, 32, loss_fn=reconstruct,
    ),
    "DiTTransformer2DModel": entry(
        "DiTTransformer2DModel", {**HEADS, "sample_size": 32, "in_channels": 4},
        latent(4, 4, 32, 32, class_labels=lambda: torch.randint(1000, (4,))), 4, 4, 32, 32,
    ),
    "PixArtTransformer2DModel": entry(
        "PixArtTransformer2DModel",
        {**HEADS, "sample_size": 32, "out_channels": 4, "cross_attention_dim": WIDTH, "caption_channels": 32,
         "use_additional_conditions": False},
        latent(4, 4, 32, 32, text=(16, 32), added_cond_kwargs=lambda: {"resolution": None, "aspect_ratio": None}), 4, 4, 32, 32,
    ),
    "SD3Transformer2DModel": entry(
        "SD3Transformer2DModel",
        {**HEADS, "sample_size": 32, "in_channels": 4, "out_channels": 4, "joint_attention_dim": 32,
         "caption_projection_dim": WIDTH,
         "pooled_projection_dim": 64, "pos_embed_max_size": 32},
        latent(4, 4, 32, 32, text=(16, 32), pooled_projections=(4, 64)), 4, 4, 32, 32,
    ),
    "FluxTransformer2DModel": entry(
        "FluxTransformer2DModel",
        {**HEADS, "in_channels": 16, "num_single_layers": 2, "joint_attention_dim": 32, "pooled_projection_dim": 32,
         "axes_dims_rope": (8, 8, 8)},
        latent(4, 256, 16, text=(16, 32), pooled_projections=(4, 32), img_ids=(256, 3), txt_ids=(16, 3)), 4, 256, 16,
    ),
    "ChromaTransformer2DModel": entry(
        "ChromaTransformer2DModel",
        {**HEADS, "in_channels": 16, "num_single_layers": 2, "joint_attention_dim": 32, "axes_dims_rope": (8, 8, 8),
         "approximator_num_channels": 8, "approximator_hidden_dim": 32, "approximator_layers": 1},
        latent(4, 256, 16, text=(16, 32), img_ids=(256, 3), txt_ids=(16, 3)), 4, 256, 16,
    ),
    "AuraFlowTransformer2DModel": entry(
        "AuraFlowTransformer2DModel",
        {"sample_size": 32, "num_mmdit_layers": 1, "num_single_dit_layers": 1, "attention_head_dim": 24,
         "num_attention_heads": 4,
         "joint_attention_dim": 32, "caption_projection_dim": WIDTH, "pos_embed_max_size": 256},
        latent(4, 4, 32, 32, text=(16, 32)), 4, 4, 32, 32,
    ),
    "SanaTransformer2DModel": entry(
        "SanaTransformer2DModel",
        {**HEADS, "sample_size": 16, "in_channels": 4, "out_channels": 4, "num_cross_attention_heads": 4,
         "cross_attention_head_dim": 24,
         "cross_attention_dim": WIDTH, "caption_channels": 32},
        latent(4, 4, 16, 16, text=(16, 32)), 4, 4, 16, 16,
    ),
    "Lumina2Transformer2DModel": entry(
        "Lumina2Transformer2DModel",
        {"sample_size": 32, "in_channels": 4, "hidden_size": WIDTH, "num_layers": 2, "num_refiner_layers": 1,
         "num_attention_heads": 4,
         "num_kv_heads": 2, "axes_dim_rope": (8, 8, 8), "axes_lens": (64, 64, 64), "cap_feat_dim": 32, "multiple_of": 32},
        latent(2, 4, 32, 32, text=(16, 32), encoder_attention_mask=lambda: torch.ones(2, 16, dtype=torch.bool)), 2, 4, 32, 32,
    ),
    "CogVideoXTransformer3DModel": entry(
        "CogVideoXTransformer3DModel",
        {**HEADS, "in_channels": 4, "out_channels": 4, "time_embed_dim": 32, "text_embed_dim": 32, "sample_width": 16,
         "sample_height": 16,
         "sample_frames": 9, "max_text_seq_length": 16},
        latent(2, 3, 4, 16, 16, text=(16, 32)), 2, 3, 4, 16, 16,
    ),
    "CogView4Transformer2DModel": entry(
        "CogView4Transformer2DModel",
        {**HEADS, "in_channels": 4, "out_channels": 4, "text_embed_dim": 32, "time_embed_dim": 32, "condition_dim": 32,
         "sample_size": 32,
         "rope_axes_dim": (12, 12)},
        latent(4, 4, 32, 32, text=(16, 32), original_size=(4, 2), target_size=(4, 2), crop_coords=(4, 2)), 4, 4, 32, 32,
    ),
    "LTXVideoTransformer3DModel": entry(
        "LTXVideoTransformer3DModel",
        {**HEADS, "in_channels": 4, "out_channels": 4, "cross_attention_dim": WIDTH, "caption_channels": 32},
        latent(2, 256, 4, text=(16, 32), encoder_attention_mask=ones(2, 16), num_frames=lambda: 4, height=lambda: 8,
         width=lambda: 8), 2, 256, 4,
    ),
    "WanTransformer3DModel": entry(
        "WanTransformer3DModel",
        {**HEADS, "in_channels": 4, "out_channels": 4, "text_dim": 32, "freq_dim": 32, "ffn_dim": 192, "rope_max_seq_len": 32},
        latent(1, 4, 4, 32, 32, text=(16, 32)), 1, 4, 4, 32, 32,
    ),
    "MochiTransformer3DModel": entry(
        "MochiTransformer3DModel",
        {**HEADS, "in_channels": 4, "pooled_projection_dim": 32, "text_embed_dim": 32, "time_embed_dim": 32,
         "max_sequence_length": 16},
        latent(2, 4, 2, 16, 16, text=(16, 32), encoder_attention_mask=lambda: torch.ones(2, 16, dtype=torch.bool)), 2, 4, 2,
         16, 16,
    ),
    "LatteTransformer3DModel": entry(
        "LatteTransformer3DModel",
        {**HEADS, "in_channels": 4, "out_channels": 4, "cross_attention_dim": WIDTH, "caption_channels": 32,
         "sample_size": 16, "patch_size": 2,
         "norm_type": "ada_norm_single", "num_embeds_ada_norm": 1000, "video_length": 4, "norm_elementwise_affine": False},
        latent(2, 4, 4, 16, 16, text=(16, 32)), 2, 4, 4, 16, 16,
    ),
    "QwenImageTransformer2DModel": entry(
        "QwenImageTransformer2DModel",
        {**HEADS, "in_channels": 16, "out_channels": 4, "joint_attention_dim": 32, "axes_dims_rope": (8, 8, 8)},
        latent(2, 256, 16, text=(16, 32), encoder_hidden_states_mask=lambda: torch.ones(2, 16, dtype=torch.bool),
               img_shapes=lambda: [(1, 16, 16)] * 2), 2, 256, 16,
    ),
    "StableAudioDiTModel": entry(
        "StableAudioDiTModel",
        {"sample_size": 128, "in_channels": 16, "out_channels": 16, "num_layers": 2, "attention_head_dim": 24,
         "num_attention_heads": 4,
         "num_key_value_attention_heads": 4, "cross_attention_dim": WIDTH, "global_states_input_dim": 32,
         "cross_attention_input_dim": 32},
        latent(4, 16, 128, text=(16, 32), global_hidden_states=(4, 1, 32),
               rotary_embedding=lambda: (torch.randn(129, 12), torch.randn(129, 12))), 4, 16, 128,
    ),
    "PriorTransformer": entry(
        "PriorTransformer", {**HEADS, "embedding_dim": 64, "num_embeddings": 77},
        lambda: {"hidden_states": torch.randn(8, 64), "timestep": times(8), "proj_embedding": torch.randn(8, 64),
                 "encoder_hidden_states": torch.randn(8, 77, 64)},
        8, 64,
    ),
}
# fmt: on
