"""Models written by hand, as people write them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F  # noqa: N812
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint, checkpoint_sequential

from models import Entry, Training

MODELS: dict[str, Entry] = {}
Build = Callable[[], Training]


def entry(name: str, architecture: str | None = None) -> Callable[[Build], Build]:
    def register(build: Build) -> Build:
        MODELS[name] = Entry(architecture or name, build)
        return build

    return register


def classify(model: nn.Module, x: Tensor, y: Tensor) -> Tensor:
    return F.cross_entropy(model(x), y)


def regress(model: nn.Module, x: Tensor, y: Tensor) -> Tensor:
    return F.mse_loss(model(x), y)


def classes(*shape: int, count: int = 10) -> Callable[[], tuple[Tensor, Tensor]]:
    return lambda: (torch.randn(shape), torch.randint(count, shape[:1]))


class Residual(nn.Module):
    def __init__(self, *layers: nn.Module) -> None:
        super().__init__()
        self.layers = nn.Sequential(*layers)

    def forward(self, x: Tensor) -> Tensor:
        return x + self.layers(x)


class Lambda(nn.Module):
    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__()
        self.function = function

    def forward(self, *inputs: Any) -> Any:
        return self.function(*inputs)


class Over(nn.Module):
    """Several parts and a function of them: `Over(f, a=..., b=...)(x)` is `f(self, x)`."""

    def __init__(self, function: Callable[..., Any], **parts: nn.Module) -> None:
        super().__init__()
        self.function = function
        for name, part in parts.items():
            self.add_module(name, part)

    def forward(self, *inputs: Any) -> Any:
        return self.function(self, *inputs)


def mlp(width: int = 128, depth: int = 4, out: int = 10) -> nn.Sequential:
    hidden = [layer for _ in range(depth) for layer in (nn.Linear(width, width), nn.ReLU())]
    return nn.Sequential(*hidden, nn.Linear(width, out))


def conv(i: int, o: int, stride: int = 1) -> nn.Sequential:
    return nn.Sequential(nn.Conv2d(i, o, 3, stride, 1, bias=False), nn.BatchNorm2d(o), nn.ReLU(inplace=True))


def cnn(width: int = 24, out: int = 10) -> nn.Sequential:
    pooled = (nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(2 * width, out))
    return nn.Sequential(conv(3, width), conv(width, width), conv(width, 2 * width, 2), conv(2 * width, 2 * width), *pooled)


@entry("mlp")
def _() -> Training:
    return Training(mlp(), classify, classes(2048, 128))


@entry("mlp with dropout and batch norm", "mlp")
def _() -> Training:
    layers = [layer for _ in range(4) for layer in (nn.Linear(128, 128), nn.BatchNorm1d(128), nn.GELU(), nn.Dropout(0.2))]
    return Training(nn.Sequential(*layers, nn.Linear(128, 10)), classify, classes(2048, 128))


@entry("deep residual mlp", "mlp")
def _() -> Training:
    blocks = [Residual(nn.LayerNorm(96), nn.Linear(96, 192), nn.SiLU(), nn.Linear(192, 96)) for _ in range(12)]
    return Training(nn.Sequential(*blocks, nn.Linear(96, 10)), classify, classes(1024, 96))


@entry("cnn")
def _() -> Training:
    return Training(cnn(), classify, classes(16, 3, 48, 48))


@entry("cnn in bfloat16 autocast", "cnn")
def _() -> Training:
    def loss_fn(model: nn.Module, x: Tensor, y: Tensor) -> Tensor:
        with torch.autocast("cpu", torch.bfloat16):
            return F.cross_entropy(model(x).float(), y)

    return Training(cnn(), loss_fn, classes(16, 3, 48, 48))


def recurrent(kind: type[nn.RNNBase], **options: Any) -> Training:
    width = 2 if options.get("bidirectional") else 1
    parts = {
        "embed": nn.Embedding(200, 64),
        "rnn": kind(64, 96, 2, batch_first=True, **options),
        "head": nn.Linear(96 * width, 200),
    }

    def loss_fn(model: nn.Module, ids: Tensor) -> Tensor:
        return F.cross_entropy(model(ids[:, :-1]).flatten(0, 1), ids[:, 1:].flatten())

    return Training(
        Over(lambda m, ids: m.head(m.rnn(m.embed(ids))[0]), **parts), loss_fn, lambda: (torch.randint(200, (16, 33)),)
    )


MODELS["lstm"] = Entry("lstm", lambda: recurrent(nn.LSTM))
MODELS["lstm, bidirectional with dropout"] = Entry("lstm", lambda: recurrent(nn.LSTM, bidirectional=True, dropout=0.1))
MODELS["gru"] = Entry("gru", lambda: recurrent(nn.GRU))
MODELS["rnn"] = Entry("rnn", lambda: recurrent(nn.RNN))


@entry("lstm cells in a loop", "lstm")
def _() -> Training:
    def forward(m: Any, x: Tensor) -> Tensor:
        h = c = x.new_zeros(x.shape[0], 96)
        for t in range(x.shape[1]):
            h, c = m.cell(x[:, t], (h, c))
        return m.head(h)

    return Training(Over(forward, cell=nn.LSTMCell(32, 96), head=nn.Linear(96, 10)), classify, classes(64, 24, 32))


@entry("encoder-decoder with attention", "gru")
def _() -> Training:
    def forward(m: Any, source: Tensor, target: Tensor) -> Tensor:
        memory, state = m.encoder(m.embed(source))
        hidden, _ = m.decoder(m.embed(target), state)
        return m.head(hidden + (hidden @ memory.mT).softmax(-1) @ memory)

    model = Over(
        forward,
        embed=nn.Embedding(200, 64),
        encoder=nn.GRU(64, 64, batch_first=True),
        decoder=nn.GRU(64, 64, batch_first=True),
        head=nn.Linear(64, 200),
    )

    def loss_fn(model: nn.Module, source: Tensor, target: Tensor) -> Tensor:
        return F.cross_entropy(model(source, target[:, :-1]).flatten(0, 1), target[:, 1:].flatten())

    return Training(model, loss_fn, lambda: (torch.randint(200, (16, 48)), torch.randint(200, (16, 49))))


@entry("nn.Transformer", "transformer")
def _() -> Training:
    transformer = nn.Transformer(64, 4, 2, 2, 128, batch_first=True)
    model = Over(lambda m, s, t, mask: m.head(m.core(m.embed(s), m.embed(t), tgt_mask=mask, tgt_is_causal=True)),
                 embed=nn.Embedding(200, 64), core=transformer, head=nn.Linear(64, 200))  # fmt: skip

    def loss_fn(model: nn.Module, source: Tensor, target: Tensor) -> Tensor:
        mask = nn.Transformer.generate_square_subsequent_mask(target.shape[1] - 1)
        return F.cross_entropy(model(source, target[:, :-1], mask).flatten(0, 1), target[:, 1:].flatten())

    return Training(model, loss_fn, lambda: (torch.randint(200, (8, 64)), torch.randint(200, (8, 65))))


@entry("nn.TransformerEncoder with padding", "transformer")
def _() -> Training:
    encoder = nn.TransformerEncoder(
        nn.TransformerEncoderLayer(64, 4, 128, batch_first=True, norm_first=True), 3, enable_nested_tensor=False
    )
    model = Over(lambda m, x, pad: m.head(m.core(x, src_key_padding_mask=pad).mean(1)), core=encoder, head=nn.Linear(64, 10))
    padding = torch.arange(64) >= torch.randint(32, 64, (16, 1))
    return Training(model, lambda m, x, pad, y: F.cross_entropy(m(x, pad), y),
                    lambda: (torch.randn(16, 64, 64), padding, torch.randint(10, (16,))))  # fmt: skip


class Causal(nn.Module):
    """A block of a small GPT, with scaled_dot_product_attention."""

    def __init__(self, width: int = 96, heads: int = 4, mix: nn.Module | None = None) -> None:
        super().__init__()
        self.heads, self.first, self.second = heads, nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.mix = mix or nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width), nn.Dropout(0.1))

    def forward(self, x: Tensor) -> Tensor:
        q, k, v = self.qkv(self.first(x)).unflatten(-1, (3, self.heads, -1)).permute(2, 0, 3, 1, 4)
        x = x + self.out(F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).flatten(2))
        return x + self.mix(self.second(x))


class Experts(nn.Module):
    """Every token goes to its best expert; all experts see all tokens, weighted, so that shapes are fixed."""

    def __init__(self, width: int = 96, count: int = 4) -> None:
        super().__init__()
        self.gate = nn.Linear(width, count)
        self.up = nn.Parameter(torch.randn(count, width, 2 * width) / width**0.5)
        self.down = nn.Parameter(torch.randn(count, 2 * width, width) / width**0.5)

    def forward(self, x: Tensor) -> Tensor:
        weights, chosen = self.gate(x).softmax(-1).topk(2)
        weight = torch.zeros(*x.shape[:-1], len(self.up)).scatter(-1, chosen, weights)
        hidden = F.gelu(torch.einsum("btd,edh->ebth", x, self.up))
        return torch.einsum("ebth,ehd,bte->btd", hidden, self.down, weight)


def next_word(model: nn.Module, ids: Tensor) -> Tensor:
    return F.cross_entropy(model(ids[:, :-1]).flatten(0, 1), ids[:, 1:].flatten())


def small_gpt(block: Callable[[], nn.Module], run: Callable[[Any, Tensor], Tensor] | None = None) -> Training:
    blocks = nn.Sequential(*(block() for _ in range(3)))
    through = run or (lambda blocks, x: blocks(x))
    model = Over(lambda m, ids: m.head(m.norm(through(m.blocks, m.embed(ids)))),
                 embed=nn.Embedding(256, 96), blocks=blocks, norm=nn.LayerNorm(96), head=nn.Linear(96, 256))  # fmt: skip
    model.head.weight = model.embed.weight
    return Training(model, next_word, lambda: (torch.randint(256, (8, 97)),))


def checkpointed(reentrant: bool) -> Callable[[Any, Tensor], Tensor]:
    def run(blocks: Any, x: Tensor) -> Tensor:
        for block in blocks:
            x = checkpoint(block, x, use_reentrant=reentrant)
        return x

    return run


MODELS["gpt"] = Entry("gpt", lambda: small_gpt(Causal))
MODELS["gpt, checkpointed"] = Entry("gpt", lambda: small_gpt(Causal, checkpointed(False)))
MODELS["gpt, checkpointed, reentrant"] = Entry("gpt", lambda: small_gpt(Causal, checkpointed(True)))
MODELS["gpt, checkpoint_sequential"] = Entry(
    "gpt", lambda: small_gpt(Causal, lambda blocks, x: checkpoint_sequential(blocks, 2, x, use_reentrant=False))
)
MODELS["mixture of experts"] = Entry("mixture of experts", lambda: small_gpt(lambda: Causal(mix=Experts())))


@entry("gpt, four microbatches", "gpt")
def _() -> Training:
    whole = small_gpt(Causal)
    return whole._replace(loss_fn=lambda m, ids: torch.stack([next_word(m, part) for part in ids.chunk(4)]).mean())


class UNet(nn.Module):
    def __init__(self, width: int = 16, channels: int = 3, out: int = 2) -> None:
        super().__init__()
        w = width
        self.down = nn.ModuleList([conv(channels, w), conv(w, 2 * w), conv(2 * w, 4 * w)])
        self.up = nn.ModuleList([nn.ConvTranspose2d(4 * w, 2 * w, 2, 2), nn.ConvTranspose2d(2 * w, w, 2, 2)])
        self.join = nn.ModuleList([conv(4 * w, 2 * w), conv(2 * w, w)])
        self.head = nn.Conv2d(w, out, 1)

    def forward(self, x: Tensor) -> Tensor:
        kept = []
        for index, block in enumerate(self.down):
            x = block(F.max_pool2d(x, 2) if index else x)
            kept.append(x)
        for up, join, skip in zip(self.up, self.join, reversed(kept[:-1]), strict=True):
            x = join(torch.cat([up(x), skip], 1))
        return self.head(x)


@entry("u-net")
def _() -> Training:
    return Training(UNet(), classify, lambda: (torch.randn(8, 3, 64, 64), torch.randint(2, (8, 64, 64))))


@entry("u-net with dice loss", "u-net")
def _() -> Training:
    def loss_fn(model: nn.Module, x: Tensor, y: Tensor) -> Tensor:
        p = model(x).sigmoid()
        return 1 - (2 * (p * y).sum() + 1) / (p.sum() + y.sum() + 1) + F.binary_cross_entropy(p, y)

    return Training(UNet(out=1), loss_fn, lambda: (torch.randn(8, 3, 64, 64), torch.randint(2, (8, 1, 64, 64)).float()))


def graph(nodes: int = 2000, edges: int = 8000, width: int = 32) -> Callable[[], tuple[Tensor, ...]]:
    return lambda: (torch.randn(nodes, width), torch.randint(nodes, (2, edges)), torch.randint(5, (nodes,)))


@entry("graph convolution by scatter", "gcn")
def _() -> Training:
    def forward(m: Any, x: Tensor, edges: Tensor) -> Tensor:
        for layer in m.layers:
            x = layer(x + torch.zeros_like(x).index_add_(0, edges[1], x[edges[0]])).relu()
        return m.head(x)

    model = Over(forward, layers=nn.ModuleList(nn.Linear(32, 32) for _ in range(4)), head=nn.Linear(32, 5))
    return Training(model, lambda m, x, e, y: F.cross_entropy(m(x, e), y), graph())


@entry("graph attention by scatter", "gat")
def _() -> Training:
    def forward(m: Any, x: Tensor, edges: Tensor) -> Tensor:
        for layer in m.layers:
            h = layer(x)
            score = F.leaky_relu((h[edges[0]] * h[edges[1]]).sum(1) / 6).exp()
            total = torch.zeros(len(x)).scatter_add(0, edges[1], score)
            x = F.elu(x + torch.zeros_like(h).index_add(0, edges[1], h[edges[0]] * (score / total[edges[1]])[:, None]))
        return m.head(x)

    model = Over(forward, layers=nn.ModuleList(nn.Linear(32, 32) for _ in range(3)), head=nn.Linear(32, 5))
    return Training(model, lambda m, x, e, y: F.cross_entropy(m(x, e), y), graph())


@entry("depthwise separable convolutions", "mobilenet")
def _() -> Training:
    def block(i: int, o: int) -> list[nn.Module]:
        return [
            nn.Conv2d(i, i, 3, 1, 1, groups=i),
            nn.BatchNorm2d(i),
            nn.Hardswish(),
            nn.Conv2d(i, o, 1),
            nn.BatchNorm2d(o),
            nn.ReLU6(),
        ]

    layers = [
        *block(3, 16),
        *block(16, 32),
        nn.MaxPool2d(2),
        *block(32, 64),
        nn.AdaptiveAvgPool2d(1),
        nn.Flatten(),
        nn.Linear(64, 10),
    ]
    return Training(nn.Sequential(*layers), classify, classes(8, 3, 48, 48))


@entry("3-d convolutions", "c3d")
def _() -> Training:
    layers = [
        nn.Conv3d(1, 8, 3, 1, 1),
        nn.GroupNorm(4, 8),
        nn.ReLU(),
        nn.MaxPool3d(2),
        nn.Conv3d(8, 16, 3, 1, 1),
        nn.InstanceNorm3d(16),
        nn.ReLU(),
    ]
    return Training(
        nn.Sequential(*layers, nn.AdaptiveAvgPool3d(1), nn.Flatten(), nn.Linear(16, 10)), classify, classes(4, 1, 16, 32, 32)
    )


@entry("wavenet")
def _() -> Training:
    class Gated(nn.Module):
        def __init__(self, dilation: int) -> None:
            super().__init__()
            self.pad, self.conv, self.out = dilation, nn.Conv1d(24, 48, 2, dilation=dilation), nn.Conv1d(24, 24, 1)

        def forward(self, x: Tensor) -> Tensor:
            a, b = self.conv(F.pad(x, (self.pad, 0))).chunk(2, 1)
            return x + self.out(a.tanh() * b.sigmoid())

    model = nn.Sequential(nn.Conv1d(1, 24, 1), *(Gated(2**i) for i in range(6)), nn.Conv1d(24, 1, 1))
    return Training(model, lambda m, x: F.smooth_l1_loss(m(x[..., :-1]), x[..., 1:]), lambda: (torch.randn(8, 1, 2049),))


@entry("speech recognition with ctc", "deepspeech")
def _() -> Training:
    front = nn.Sequential(nn.Conv1d(40, 64, 5, 2, 2), nn.ReLU(), nn.Conv1d(64, 64, 5, 1, 2), nn.ReLU())
    model = Over(
        lambda m, x: m.head(m.rnn(m.front(x).mT)[0]).log_softmax(-1),
        front=front,
        rnn=nn.GRU(64, 64, batch_first=True),
        head=nn.Linear(64, 30),
    )

    def loss_fn(m: nn.Module, x: Tensor, y: Tensor) -> Tensor:
        p = m(x).transpose(0, 1)
        return F.ctc_loss(p, y, torch.full((p.shape[1],), p.shape[0]), torch.full((len(y),), y.shape[1]))

    return Training(model, loss_fn, lambda: (torch.randn(8, 40, 128), torch.randint(1, 30, (8, 12))))


@entry("recommender with embedding bags", "dlrm")
def _() -> Training:
    def forward(m: Any, dense: Tensor, sparse: Tensor) -> Tensor:
        rows = [m.bottom(dense), *(bag(ids) for bag, ids in zip(m.bags, sparse.unbind(1), strict=True))]
        x = torch.stack(rows, 1)
        pairs = (x @ x.mT).flatten(1)
        return m.top(torch.cat([rows[0], pairs], 1)).squeeze(1)

    model = Over(forward, bottom=mlp(32, 2, 16), top=nn.Sequential(nn.Linear(16 + 25, 64), mlp(64, 2, 1)),
                 bags=nn.ModuleList(nn.EmbeddingBag(500, 16, mode="sum") for _ in range(4)))  # fmt: skip
    return Training(model, lambda m, d, s, y: F.binary_cross_entropy_with_logits(m(d, s), y),
                    lambda: (torch.randn(2048, 32), torch.randint(500, (2048, 4, 5)), torch.rand(2048)))  # fmt: skip


@entry("state-space scan", "s4d")
def _() -> Training:
    class Scan(nn.Module):
        def __init__(self, width: int = 48) -> None:
            super().__init__()
            self.decay, self.inward, self.out = nn.Parameter(torch.rand(width)), nn.Linear(width, width), nn.Linear(width, width)

        def forward(self, x: Tensor) -> Tensor:
            steps = torch.arange(x.shape[1])
            kernel = torch.fft.rfft((-self.decay.abs() * steps[:, None]).exp(), n=2 * len(steps), dim=0)
            y = torch.fft.irfft(torch.fft.rfft(self.inward(x), n=2 * len(steps), dim=1) * kernel, dim=1)[:, : len(steps)]
            return x + self.out(F.silu(y))

    return Training(
        nn.Sequential(nn.Linear(8, 48), Scan(), Scan(), Scan(), Lambda(lambda x: x.mean(1)), nn.Linear(48, 10)),
        classify,
        classes(8, 256, 8),
    )


@entry("point cloud", "pointnet")
def _() -> Training:
    layers = [nn.Conv1d(3, 32, 1), nn.BatchNorm1d(32), nn.ReLU(), nn.Conv1d(32, 128, 1), nn.BatchNorm1d(128), nn.ReLU()]
    return Training(nn.Sequential(*layers, Lambda(lambda x: x.amax(2)), nn.Linear(128, 10)), classify, classes(16, 3, 512))


@entry("super resolution", "espcn")
def _() -> Training:
    model = nn.Sequential(
        nn.Conv2d(3, 32, 5, 1, 2),
        nn.PReLU(),
        nn.Conv2d(32, 32, 3, 1, 1),
        nn.PReLU(),
        nn.Conv2d(32, 12, 3, 1, 1),
        nn.PixelShuffle(2),
    )
    return Training(model, lambda m, x, y: F.l1_loss(m(x), y), lambda: (torch.randn(8, 3, 48, 48), torch.randn(8, 3, 96, 96)))


@entry("spatial transformer with grid_sample", "stn")
def _() -> Training:
    def forward(m: Any, x: Tensor) -> Tensor:
        where = F.affine_grid(m.locate(x).view(-1, 2, 3), list(x.shape), align_corners=False)
        return m.classify(F.grid_sample(x, where, align_corners=False))

    return Training(Over(forward, locate=cnn(8, 6), classify=cnn(16)), classify, classes(8, 3, 48, 48))
