"""Image classifiers of timm, mostly the smallest of their family."""

from __future__ import annotations

from functools import partial
from typing import Any

import torch
from torch import nn

from models import Entry, Training, torchvision_stub

with torchvision_stub.installed():
    import timm

CLASSES = 10


def loss_of(model: nn.Module, images: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
    return nn.functional.cross_entropy(model(images), labels)


def training(name: str, batch: int, size: int, overrides: dict[str, Any]) -> Training:
    module, _, of_class = name.partition(".")
    build = getattr(getattr(timm.models, module), of_class) if of_class else partial(timm.create_model, name)
    model = build(num_classes=CLASSES, **overrides).train()

    def batch_of() -> tuple[torch.Tensor, torch.Tensor]:
        return torch.randn(batch, 3, size, size), torch.randint(CLASSES, (batch,))

    return Training(model, loss_of, batch_of)


def row(architecture: str, batch: int = 8, size: int = 96, **overrides: Any) -> tuple[str, int, int, dict[str, Any]]:
    return architecture, batch, size, overrides


# By timm's name, or by module and class: the architecture, the batch, the size of the images, and what differs from timm's
# own configuration.
_TABLE = {
    "beit_base_patch16_224": row("beit", embed_dim=96, depth=3, num_heads=3, img_size=96),
    "cait_xxs24_224": row("cait", embed_dim=96, depth=3, img_size=96),
    "coatnet_nano_rw_224": row("coatnet", batch=1, size=224),
    "convit_tiny": row("convit", depth=4, img_size=96),
    "convmixer.ConvMixer": row("convmixer", dim=96, depth=4),
    "convnext_atto": row("convnext", depths=(1, 1, 2, 1), dims=(24, 48, 96, 128)),
    "convnextv2_atto": row("convnextv2", depths=(1, 1, 2, 1), dims=(24, 48, 96, 128)),
    "crossvit_tiny_240": row("crossvit", batch=2, size=240),
    "davit_tiny": row(
        "davit", batch=4, depths=(1, 1, 1, 1), embed_dims=(32, 64, 96, 128), num_heads=(1, 2, 3, 4), num_groups=None
    ),
    "densenet121": row("densenet", growth_rate=16, block_config=(2, 3, 4, 2)),
    "densenet121 (checkpointed)": row("densenet", growth_rate=16, block_config=(2, 3, 4, 2), memory_efficient=True),
    "edgenext_xx_small": row("edgenext"),
    "efficientformer_l1": row("efficientformer", batch=2, size=224),
    "efficientformerv2_s0": row("efficientformer_v2", batch=2, size=224),
    "efficientnet_b0": row("efficientnet", batch=4),
    "efficientvit_b0": row("efficientvit_mit"),
    "efficientvit_m0": row("efficientvit_msra", size=128, img_size=128),
    "eva02_tiny_patch14_224": row("eva", depth=3, img_size=98, size=98),
    "fasternet_t0": row("fasternet"),
    "fastvit_t8": row("fastvit", batch=4),
    "focalnet.FocalNet": row("focalnet", depths=(1, 1, 2, 1), embed_dim=32),
    "gcvit_xxtiny": row("gcvit", batch=1, size=224),
    "ghostnet_050": row("ghostnet"),
    "hardcorenas_a": row("hardcorenas", batch=4),
    "hgnetv2_b0": row("hgnet", batch=4),
    "hiera_tiny_224": row("hiera", batch=2, size=224, embed_dim=48, stages=(1, 1, 2, 1)),
    "inception_next_atto": row("inception_next"),
    "lambda_resnet26t": row("lambda_resnet", batch=2, size=128),
    "lcnet_050": row("lcnet"),
    "levit_128s": row("levit", batch=4, size=224),
    "mambaout_femto": row("mambaout", batch=4),
    "maxvit_pico_rw_256": row("maxvit", batch=1, size=256),
    "mlp_mixer.MlpMixer": row("mlp_mixer", num_blocks=3, embed_dim=96, img_size=96),
    "mobilenetv3_small_050": row("mobilenetv3"),
    "mobilenetv4_conv_small_050": row("mobilenetv4"),
    "mobileone_s0": row("mobileone", batch=4),
    "mobilevit_xxs": row("mobilevit", batch=4, size=128),
    "nest.Nest": row("nest", batch=2, size=224, embed_dims=(48, 96, 192), depths=(1, 1, 2), num_heads=(3, 6, 12)),
    "metaformer.MetaFormer": row("metaformer", depths=(1, 1, 2, 1), dims=(32, 64, 96, 128)),
    "pvt_v2_b0": row("pvt_v2", size=128),
    "regnetx_002": row("regnet"),
    "repghostnet_050": row("repghost"),
    "repvit_m0_9": row("repvit", batch=4),
    "resnet18": row("resnet", batch=8, size=128),
    "resnext26ts": row("resnext", batch=4),
    "rexnet_100": row("rexnet", batch=4),
    "sequencer2d_s": row("sequencer", batch=2, size=224, layers=(1, 1, 1, 1)),
    "seresnet18": row("senet", batch=8),
    "shvit_s1": row("shvit", size=128),
    "skresnet18": row("sknet", batch=4),
    "starnet_s1": row("starnet", batch=4),
    "swin_tiny_patch4_window7_224": row("swin", batch=2, size=224, embed_dim=24, depths=(1, 1, 2, 1)),
    "swinv2_tiny_window8_256": row("swinv2", batch=2, size=256, embed_dim=24, depths=(1, 1, 2, 1)),
    "tiny_vit_5m_224": row("tiny_vit", batch=2, size=224),
    "tnt_s_patch16_224": row("tnt", batch=2, size=224, depth=3),
    "twins_svt_small": row("twins", batch=2, size=224, embed_dims=(32, 64, 96, 128), depths=(1, 1, 2, 1)),
    "visformer_tiny": row("visformer", batch=4, size=224),
    "vit_tiny_patch16_224": row("vit", depth=3, img_size=128, size=128),
    "vit_relpos_small_patch16_224": row("vit_relpos", batch=4, size=224, depth=3, embed_dim=96, num_heads=3),
    "volo.VOLO": row("volo", batch=2, size=224, layers=(1, 1, 1, 1), embed_dims=(48, 96, 96, 96), num_heads=(3, 6, 6, 6)),
    "xcit_nano_12_p16_224": row("xcit", batch=4, size=224, depth=3),
}

MODELS = {
    name: Entry(architecture, partial(training, name.partition(" ")[0], batch, size, overrides))
    for name, (architecture, batch, size, overrides) in _TABLE.items()
}
