"""Models of a common size by configuration, with random weights, each with a loss and a batch."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import torch
import transformers
from torch import nn

sys.path.insert(0, str(Path(__file__).parents[2] / "tests" / "python"))
from checkmate.torch.processor import use_working_isa
from networks import ConvNet, UNet, classify

transformers.logging.set_verbosity_error()
if line := use_working_isa():
    print(line, file=sys.stderr)


class Case(NamedTuple):
    model: nn.Module
    loss_fn: Callable[..., Any]
    batch: tuple[Any, ...]
    blocks: Sequence[nn.Module]  # what people put torch.utils.checkpoint around


def cnn() -> Case:
    model = ConvNet(blocks=8, channels=32)
    return Case(model, classify, (torch.randn(64, 3, 32, 32), torch.randint(10, (64,))), list(model.blocks))


def unet() -> Case:
    model = UNet(width=32, depth=4)
    batch = (torch.randn(8, 3, 128, 128), torch.randint(2, (8, 128, 128)))
    return Case(model, classify, batch, [*model.down, *model.join])


def resnet50(batch: int = 16, size: int = 128) -> Case:
    model = transformers.ResNetForImageClassification(transformers.ResNetConfig(num_labels=1000)).train()
    images = (torch.randn(batch, 3, size, size), torch.randint(1000, (batch,)))
    blocks = [layer for stage in model.resnet.encoder.stages for layer in stage.layers]
    return Case(model, lambda m, x, y: m(x, labels=y).loss, images, blocks)


def gpt2(layers: int = 12, width: int = 384, words: int = 8192, batch: int = 4, length: int = 256, dropout: float = 0.1) -> Case:
    config = transformers.GPT2Config(
        n_layer=layers,
        n_embd=width,
        n_head=width // 64,
        vocab_size=words,
        n_positions=length,
        bos_token_id=0,
        eos_token_id=0,
        resid_pdrop=dropout,
        embd_pdrop=dropout,
        attn_pdrop=dropout,
    )
    model = transformers.GPT2LMHeadModel(config).train()
    ids = torch.randint(words, (batch, length))
    return Case(model, lambda m, x: m(x, labels=x, use_cache=False).loss, (ids,), list(model.transformer.h))


def bert() -> Case:
    config = transformers.BertConfig(
        hidden_size=384, num_attention_heads=6, intermediate_size=1536, num_hidden_layers=12, vocab_size=8192
    )
    model = transformers.BertForSequenceClassification(config).train()
    ids, mask, labels = torch.randint(8192, (8, 128)), torch.ones(8, 128, dtype=torch.long), torch.randint(2, (8,))
    return Case(
        model,
        lambda m, x, mask, y: m(x, attention_mask=mask, labels=y).loss,
        (ids, mask, labels),
        list(model.bert.encoder.layer),
    )


def vit() -> Case:
    config = transformers.ViTConfig(
        hidden_size=384, num_attention_heads=6, intermediate_size=1536, num_hidden_layers=12, image_size=224
    )
    model = transformers.ViTForImageClassification(config).train()
    images = (torch.randn(8, 3, 224, 224), torch.randint(2, (8,)))
    return Case(model, lambda m, x, y: m(x, labels=y).loss, images, [])


def llama() -> Case:
    config = transformers.LlamaConfig(
        hidden_size=384, intermediate_size=1024, num_hidden_layers=8, num_attention_heads=6, vocab_size=8192
    )
    model = transformers.LlamaForCausalLM(config).train()
    return Case(
        model, lambda m, x: m(x, labels=x, use_cache=False).loss, (torch.randint(8192, (4, 256)),), list(model.model.layers)
    )


def t5() -> Case:
    config = transformers.T5Config(
        d_model=256, d_kv=64, d_ff=1024, num_layers=6, num_heads=4, vocab_size=8192, decoder_start_token_id=0
    )
    model = transformers.T5ForConditionalGeneration(config).train()
    ids, labels = torch.randint(8192, (8, 128)), torch.randint(8192, (8, 128))
    return Case(model, lambda m, x, y: m(input_ids=x, labels=y, use_cache=False).loss, (ids, labels), [])


def swin() -> Case:
    config = transformers.SwinConfig(image_size=128, embed_dim=64, depths=[2, 2, 4, 2], num_heads=[2, 4, 8, 16], window_size=4)
    model = transformers.SwinForImageClassification(config).train()
    return Case(model, lambda m, x, y: m(x, labels=y).loss, (torch.randn(8, 3, 128, 128), torch.randint(2, (8,))), [])


def convnext() -> Case:
    config = transformers.ConvNextConfig(hidden_sizes=[48, 96, 192, 384], depths=[2, 2, 6, 2], image_size=128)
    model = transformers.ConvNextForImageClassification(config).train()
    return Case(model, lambda m, x, y: m(x, labels=y).loss, (torch.randn(16, 3, 128, 128), torch.randint(2, (16,))), [])


def mobilenet() -> Case:
    model = transformers.MobileNetV2ForImageClassification(transformers.MobileNetV2Config(image_size=128)).train()
    return Case(model, lambda m, x, y: m(x, labels=y).loss, (torch.randn(16, 3, 128, 128), torch.randint(2, (16,))), [])


def lstm() -> Case:
    model = Recurrent()
    ids = torch.randint(4096, (16, 128))
    return Case(model, lambda m, x: nn.functional.cross_entropy(m(x).flatten(0, 1), x.flatten()), (ids,), [])


def small_gpt2() -> Case:
    case = gpt2(layers=8, words=4000, batch=8, dropout=0.0)
    case.model.loss_type = "ForCausalLM"  # what transformers takes otherwise, with a warning that Dynamo cannot trace
    return case


def masked_bert() -> Case:
    config = transformers.BertConfig(
        hidden_size=384, num_attention_heads=6, intermediate_size=1536, num_hidden_layers=8, vocab_size=4000
    )
    model = transformers.BertForMaskedLM(config).train()
    ids = torch.randint(4000, (8, 256))
    return Case(model, lambda m, x: m(x, labels=x).loss, (ids,), list(model.bert.encoder.layer))


def grouped_llama() -> Case:
    config = transformers.LlamaConfig(
        hidden_size=384,
        intermediate_size=1024,
        num_hidden_layers=8,
        num_attention_heads=6,
        num_key_value_heads=2,
        vocab_size=4000,
    )
    model = transformers.LlamaForCausalLM(config).train()
    ids = torch.randint(4000, (8, 256))
    return Case(model, lambda m, x: m(x, labels=x, use_cache=False).loss, (ids,), list(model.model.layers))


def small_vit() -> Case:
    config = transformers.ViTConfig(
        hidden_size=192, num_attention_heads=3, intermediate_size=768, num_hidden_layers=8, image_size=128
    )
    model = transformers.ViTForImageClassification(config).train()
    images = (torch.randn(8, 3, 128, 128), torch.randint(2, (8,)))
    return Case(model, lambda m, x, y: m(x, labels=y).loss, images, list(model.vit.layers))


def small_convnext() -> Case:
    config = transformers.ConvNextConfig(hidden_sizes=[48, 96, 192, 384], depths=[2, 2, 4, 2], image_size=128)
    model = transformers.ConvNextForImageClassification(config).train()
    blocks = [layer for stage in model.convnext.encoder.stages for layer in stage.layers]
    images = (torch.randn(8, 3, 128, 128), torch.randint(2, (8,)))
    return Case(model, lambda m, x, y: m(x, labels=y).loss, images, blocks)


def diffusion_unet() -> Case:
    import diffusers  # noqa: PLC0415  (the other cases do without it)

    model = diffusers.UNet2DModel(
        sample_size=64,
        block_out_channels=(32, 64, 128),
        norm_num_groups=8,
        down_block_types=("DownBlock2D", "DownBlock2D", "AttnDownBlock2D"),
        up_block_types=("AttnUpBlock2D", "UpBlock2D", "UpBlock2D"),
    ).train()
    batch = (torch.randn(8, 3, 64, 64), torch.randint(1000, (8,)), torch.randn(8, 3, 64, 64))
    blocks = [*model.down_blocks, model.mid_block, *model.up_blocks]
    return Case(model, lambda m, x, t, noise: nn.functional.mse_loss(m(x, t).sample, noise), batch, blocks)


class Recurrent(nn.Module):
    """A language model of three LSTM layers."""

    def __init__(self) -> None:
        super().__init__()
        self.words = nn.Embedding(4096, 256)
        self.layers = nn.ModuleList(nn.LSTM(256, 256, batch_first=True) for _ in range(3))
        self.head = nn.Linear(256, 4096)

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        hidden = self.words(ids)
        for layer in self.layers:
            hidden = nn.functional.dropout(hidden + layer(hidden)[0], 0.1)
        return self.head(hidden)  # type: ignore[no-any-return]


MODELS: dict[str, Callable[[], Case]] = {
    "CNN": cnn,
    "ResNet-50": resnet50,
    "U-Net": unet,
    "GPT-2": gpt2,
    "BERT": bert,
    "ViT": vit,
    "Llama": llama,
    "T5": t5,
    "Swin": swin,
    "ConvNeXt": convnext,
    "MobileNet": mobilenet,
    "LSTM": lstm,
}
