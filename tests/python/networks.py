"""Small networks with every feature that a captured step must survive, and a batch for each."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any, NamedTuple

import torch
import transformers
from torch import nn
from torch.nn import functional

transformers.logging.set_verbosity_error()

LossOf = Callable[[torch.Tensor, torch.Tensor], torch.Tensor]


class Case(NamedTuple):
    model: nn.Module
    loss_fn: Callable[..., Any]
    batch: tuple[Any, ...]


def classify(model: nn.Module, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    return functional.cross_entropy(model(x), y)


class ConvNet(nn.Module):
    """Batch norm, dropout, in-place ReLU, pooling and a skip connection."""

    def __init__(self, blocks: int = 4, channels: int = 8) -> None:
        super().__init__()
        self.first = nn.Conv2d(3, channels, 3, padding=1)
        self.blocks = nn.ModuleList(
            nn.Sequential(
                nn.Conv2d(channels, channels, 3, padding=1),
                nn.BatchNorm2d(channels),
                nn.ReLU(inplace=True),
                nn.Dropout(0.2),
            )
            for _ in range(blocks)
        )
        self.last = nn.Linear(channels, 10)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.first(x)
        for block in self.blocks:
            x = x + block(x)
        return self.last(functional.max_pool2d(x, 2).mean((2, 3)))


def conv_net(batch: int = 16) -> Case:
    return Case(ConvNet(), classify, (torch.randn(batch, 3, 16, 16), torch.randint(10, (batch,))))


class Down(nn.Module):
    def __init__(self, i: int, o: int) -> None:
        super().__init__()
        self.conv = nn.Sequential(nn.Conv2d(i, o, 3, padding=1), nn.BatchNorm2d(o), nn.ReLU(inplace=True))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.conv(x)


class UNet(nn.Module):
    """Long skips that are concatenated, as in segmentation."""

    def __init__(self, width: int = 8, depth: int = 3) -> None:
        super().__init__()
        sizes = [width << level for level in range(depth + 1)]
        self.down = nn.ModuleList(Down(i, o) for i, o in pairwise([3, *sizes]))
        self.up = nn.ModuleList(nn.ConvTranspose2d(o, i, 2, stride=2) for i, o in pairwise(sizes))
        self.join = nn.ModuleList(Down(2 * i, i) for i in sizes[:-1])
        self.head = nn.Conv2d(width, 2, 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        skips = []
        for level, down in enumerate(self.down):
            x = down(x if level == 0 else functional.max_pool2d(x, 2))
            skips.append(x)
        for up, join, skip in reversed(list(zip(self.up, self.join, skips[:-1], strict=True))):
            x = join(torch.cat([up(x), skip], 1))
        return self.head(x)


def unet(batch: int = 4, width: int = 8, size: int = 32) -> Case:
    x, y = torch.randn(batch, 3, size, size), torch.randint(2, (batch, size, size))
    return Case(UNet(width), classify, (x, y))


class Perceptron(nn.Module):
    def __init__(self, layers: int = 6, width: int = 64) -> None:
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(width, width) for _ in range(layers))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for layer in self.layers:
            x = torch.tanh(layer(x))
        return x


def squared(model: nn.Module, x: torch.Tensor) -> torch.Tensor:
    return model(x).square().mean()


def perceptron(batch: int = 256) -> Case:
    return Case(Perceptron(), squared, (torch.randn(batch, 64),))


class TiedLanguageModel(nn.Module):
    """An embedding whose table is also the last layer, ids as input, attention with dropout."""

    def __init__(self, words: int = 50, width: int = 32) -> None:
        super().__init__()
        self.table = nn.Embedding(words, width)
        self.norm = nn.LayerNorm(width)
        self.attention = nn.MultiheadAttention(width, 4, dropout=0.1, batch_first=True)
        self.out = nn.Linear(width, words, bias=False)
        self.out.weight = self.table.weight

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        x = self.table(ids)
        y = self.norm(x)
        x = x + self.attention(y, y, y, need_weights=False)[0]
        return self.out(x)


def tied(batch: int = 4) -> Case:
    ids = torch.randint(50, (batch, 12))
    return Case(
        TiedLanguageModel(),
        lambda model, x: functional.cross_entropy(model(x).flatten(0, 1), x.flatten()),
        (ids,),
    )


def gpt2() -> Case:
    config = transformers.GPT2Config(
        n_layer=3, n_embd=64, n_head=2, vocab_size=300, n_positions=64, bos_token_id=0, eos_token_id=0
    )
    model = transformers.GPT2LMHeadModel(config).train()
    return Case(model, lambda model, x: model(x, labels=x, use_cache=False).loss, (torch.randint(300, (4, 64)),))


def bert() -> Case:
    config = transformers.BertConfig(
        num_hidden_layers=3, hidden_size=64, num_attention_heads=2, intermediate_size=128, vocab_size=300
    )
    model = transformers.BertForSequenceClassification(config).train()
    ids, mask, labels = torch.randint(300, (4, 32)), torch.ones(4, 32, dtype=torch.long), torch.randint(2, (4,))
    return Case(model, lambda model, x, mask, y: model(x, attention_mask=mask, labels=y).loss, (ids, mask, labels))


def vit() -> Case:
    config = transformers.ViTConfig(
        num_hidden_layers=3, hidden_size=64, num_attention_heads=2, intermediate_size=128, image_size=64
    )
    model = transformers.ViTForImageClassification(config).train()
    images, labels = torch.randn(4, 3, 64, 64), torch.randint(2, (4,))
    return Case(model, lambda model, x, y: model(x, labels=y).loss, (images, labels))


def resnet() -> Case:
    config = transformers.ResNetConfig(embedding_size=16, hidden_sizes=[32, 64], depths=[2, 2], layer_type="bottleneck")
    model = transformers.ResNetForImageClassification(config).train()
    images, labels = torch.randn(4, 3, 64, 64), torch.randint(2, (4,))
    return Case(model, lambda model, x, y: model(x, labels=y).loss, (images, labels))
