"""A Llama of 70 billion parameters, in torch's own modules: what an estimate is asked about that no machine here can hold."""

from __future__ import annotations

import torch
from torch import nn
from torch.nn import functional

LENGTH = 4096
WORDS = 32000


class Attention(nn.Module):
    """Grouped queries, rotated by their position."""

    def __init__(self, width: int, heads: int, groups: int) -> None:
        super().__init__()
        self.each = width // heads
        self.query = nn.Linear(width, width, bias=False)
        self.key = nn.Linear(width, groups * self.each, bias=False)
        self.value = nn.Linear(width, groups * self.each, bias=False)
        self.out = nn.Linear(width, width, bias=False)

    def forward(self, x: torch.Tensor, cosine: torch.Tensor, sine: torch.Tensor) -> torch.Tensor:
        query, key, value = (
            layer(x).unflatten(-1, (-1, self.each)).transpose(1, 2) for layer in (self.query, self.key, self.value)
        )
        query, key = (each * cosine + _turned(each) * sine for each in (query, key))
        mixed = functional.scaled_dot_product_attention(query, key, value, is_causal=True, enable_gqa=True)
        return self.out(mixed.transpose(1, 2).flatten(2))  # type: ignore[no-any-return]


def _turned(x: torch.Tensor) -> torch.Tensor:
    first, second = x.chunk(2, -1)
    return torch.cat((-second, first), -1)


class Block(nn.Module):
    """Attention, then a gated layer."""

    def __init__(self, width: int, inner: int, heads: int, groups: int) -> None:
        super().__init__()
        self.norms = nn.ModuleList(nn.RMSNorm(width) for _ in range(2))
        self.attention = Attention(width, heads, groups)
        self.gate = nn.Linear(width, inner, bias=False)
        self.up = nn.Linear(width, inner, bias=False)
        self.down = nn.Linear(inner, width, bias=False)

    def forward(self, x: torch.Tensor, cosine: torch.Tensor, sine: torch.Tensor) -> torch.Tensor:
        x = x + self.attention(self.norms[0](x), cosine, sine)
        y = self.norms[1](x)
        return x + self.down(functional.silu(self.gate(y)) * self.up(y))  # type: ignore[no-any-return]


class Llama(nn.Module):
    """Words in, words out."""

    def __init__(self, layers: int, width: int, inner: int, heads: int, groups: int) -> None:
        super().__init__()
        self.words = nn.Embedding(WORDS, width)
        self.layers = nn.ModuleList(Block(width, inner, heads, groups) for _ in range(layers))
        self.norm = nn.RMSNorm(width)
        self.head = nn.Linear(width, WORDS, bias=False)
        self.register_buffer("cosine", torch.empty(LENGTH, width // heads))
        self.register_buffer("sine", torch.empty(LENGTH, width // heads))

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        x = self.words(ids)
        for layer in self.layers:
            x = layer(x, self.cosine, self.sine)
        return self.head(self.norm(x))  # type: ignore[no-any-return]


def llama_70b(layers: int = 80) -> Llama:
    return Llama(layers, width=8192, inner=28672, heads=64, groups=8).to(torch.bfloat16)


def batch_of(sequences: int) -> tuple[torch.Tensor]:
    return (torch.zeros(sequences, LENGTH, dtype=torch.long, device="meta"),)


def language_loss(model: nn.Module, ids: torch.Tensor) -> torch.Tensor:
    return functional.cross_entropy(model(ids).flatten(0, 1).float(), ids.flatten())
