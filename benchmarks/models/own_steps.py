"""Training steps written by hand: more than a model and a loss."""

from __future__ import annotations

import copy
from typing import Any

import torch
import torch.nn.functional as F  # noqa: N812
from torch import Tensor, nn

from models import Training
from models.own_models import MODELS, Over, UNet, classes, classify, cnn, conv, entry, mlp

__all__ = ["MODELS"]  # with those of own_models.py


@entry("ddpm")
def _() -> Training:
    def loss_fn(model: nn.Module, x: Tensor) -> Tensor:
        noise, kept = torch.randn_like(x), torch.linspace(0.99, 0.01, 1000)[torch.randint(1000, x.shape[:1])].view(-1, 1, 1, 1)
        return F.mse_loss(model(kept.sqrt() * x + (1 - kept).sqrt() * noise), noise)

    return Training(UNet(out=3), loss_fn, lambda: (torch.randn(8, 3, 64, 64),))


@entry("vae")
def _() -> Training:
    def loss_fn(model: Any, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        mean, spread = model.encoder(x).chunk(2, 1)
        again = model.decoder(mean + torch.randn_like(mean) * (spread / 2).exp())
        error = F.mse_loss(again, x)
        divergence = (mean**2 + spread.exp() - 1 - spread).mean() / 2
        return error + 0.1 * divergence, error.detach(), divergence.detach()

    encoder = nn.Sequential(conv(3, 16, 2), conv(16, 32, 2), nn.Conv2d(32, 16, 1))
    decoder = nn.Sequential(nn.ConvTranspose2d(8, 32, 4, 2, 1), nn.ReLU(), nn.ConvTranspose2d(32, 3, 4, 2, 1))
    return Training(
        Over(lambda m, x: m.decoder(x), encoder=encoder, decoder=decoder), loss_fn, lambda: (torch.randn(16, 3, 64, 64),)
    )


@entry("vae with torch.distributions", "vae")
def _() -> Training:
    def loss_fn(model: Any, x: Tensor) -> Tensor:
        mean, spread = model.encoder(x).chunk(2, -1)
        posterior = torch.distributions.Normal(mean, F.softplus(spread) + 1e-3)
        prior = torch.distributions.Normal(torch.zeros(()), torch.ones(()))
        likelihood = torch.distributions.Bernoulli(logits=model.decoder(posterior.rsample()))
        divergence = torch.distributions.kl_divergence(posterior, prior.expand(mean.shape)).sum(-1)
        return (divergence - likelihood.log_prob(x).sum(-1)).mean()

    model = Over(lambda m, x: m.decoder(x), encoder=mlp(128, 3, 32), decoder=nn.Sequential(nn.Linear(16, 128), mlp(128, 3, 128)))
    return Training(model, loss_fn, lambda: (torch.randint(2, (1024, 128)).float(),))


@entry("vq-vae")
def _() -> Training:
    def loss_fn(model: Any, x: Tensor) -> Tensor:
        z = model.encoder(x).movedim(1, -1)
        nearest = torch.cdist(z.flatten(0, -2), model.codes.weight).argmin(-1).view(z.shape[:-1])
        code = model.codes(nearest)
        again = model.decoder((z + (code - z).detach()).movedim(-1, 1))
        return F.mse_loss(again, x) + F.mse_loss(code, z.detach()) + 0.25 * F.mse_loss(z, code.detach())

    encoder = nn.Sequential(conv(3, 16, 2), conv(16, 32, 2), nn.Conv2d(32, 16, 1))
    decoder = nn.Sequential(nn.ConvTranspose2d(16, 32, 4, 2, 1), nn.ReLU(), nn.ConvTranspose2d(32, 3, 4, 2, 1))
    model = Over(lambda m, x: m.decoder(x), encoder=encoder, decoder=decoder, codes=nn.Embedding(64, 16))
    return Training(model, loss_fn, lambda: (torch.randn(8, 3, 64, 64),))


def gan() -> Over:
    up, down = ((16, 64), (64, 32), (32, 16)), ((3, 16), (16, 32), (32, 64))
    generate = [m for i, o in up for m in (nn.ConvTranspose2d(i, o, 4, 2, 1), nn.BatchNorm2d(o), nn.ReLU())]
    judge = [m for i, o in down for m in (nn.Conv2d(i, o, 4, 2, 1), nn.LeakyReLU(0.2))]
    generator = nn.Sequential(nn.Unflatten(1, (16, 4, 4)), *generate, nn.Conv2d(16, 3, 3, 1, 1), nn.Tanh())
    critic = nn.Sequential(*judge, nn.Flatten(), nn.Linear(64 * 16, 1))
    return Over(lambda m, z: m.critic(m.generator(z)), generator=generator, critic=critic)


@entry("gan, generator step", "gan")
def _() -> Training:
    model = gan()
    model.critic.requires_grad_(False)
    return Training(model, lambda m, z: F.softplus(-m(z)).mean(), lambda: (torch.randn(32, 256),))


@entry("gan, discriminator step", "gan")
def _() -> Training:
    def loss_fn(m: Any, z: Tensor, real: Tensor) -> Tensor:
        with torch.no_grad():
            fake = m.generator(z)
        return (F.softplus(m.critic(fake)) + F.softplus(-m.critic(real))).mean()

    return Training(gan(), loss_fn, lambda: (torch.randn(32, 256), torch.randn(32, 3, 32, 32)))


@entry("wgan-gp")
def _() -> Training:
    def loss_fn(m: Any, z: Tensor, real: Tensor) -> Tensor:
        fake = m.generator(z).detach()
        between = (real + torch.rand(len(real), 1, 1, 1) * (fake - real)).requires_grad_()
        slope = torch.autograd.grad(m.critic(between).sum(), between, create_graph=True)[0]
        return m.critic(fake).mean() - m.critic(real).mean() + 10 * ((slope.flatten(1).norm(dim=1) - 1) ** 2).mean()

    return Training(gan(), loss_fn, lambda: (torch.randn(32, 256), torch.randn(32, 3, 32, 32)))


@entry("siamese, triplet loss", "siamese")
def _() -> Training:
    return Training(cnn(out=32), lambda m, a, p, n: F.triplet_margin_loss(m(a), m(p), m(n)),
                    lambda: tuple(torch.randn(8, 3, 32, 32) for _ in range(3)))  # fmt: skip


@entry("simclr", "contrastive")
def _() -> Training:
    def loss_fn(model: nn.Module, a: Tensor, b: Tensor) -> Tensor:
        z = F.normalize(model(torch.cat([a, b])), dim=1)
        alike = (z @ z.T / 0.1).masked_fill(torch.eye(len(z), dtype=torch.bool), -1e9)
        return F.cross_entropy(alike, torch.arange(len(z)).roll(len(a)))

    return Training(cnn(out=32), loss_fn, lambda: (torch.randn(16, 3, 32, 32), torch.randn(16, 3, 32, 32)))


@entry("moco")
def _() -> Training:
    online = cnn(out=32)
    model = Over(lambda m, x: m.online(x), online=online, slow=copy.deepcopy(online).requires_grad_(False))
    model.register_buffer("queue", F.normalize(torch.randn(256, 32), dim=1))

    def loss_fn(m: Any, a: Tensor, b: Tensor) -> Tensor:
        with torch.no_grad():
            for slow, fast in zip(m.slow.parameters(), m.online.parameters(), strict=True):
                slow.mul_(0.99).add_(fast, alpha=0.01)
            keys = F.normalize(m.slow(b), dim=1)
        queries = F.normalize(m.online(a), dim=1)
        logits = torch.cat([(queries * keys).sum(1, keepdim=True), queries @ m.queue.clone().T], 1) / 0.07
        with torch.no_grad():
            m.queue.copy_(torch.cat([keys, m.queue[: -len(keys)]]))
        return F.cross_entropy(logits, torch.zeros(len(a), dtype=torch.long))

    return Training(model, loss_fn, lambda: (torch.randn(16, 3, 32, 32), torch.randn(16, 3, 32, 32)))


@entry("distillation")
def _() -> Training:
    model = Over(lambda m, x: m.student(x), student=cnn(12), teacher=cnn(24))

    def loss_fn(m: Any, x: Tensor) -> Tensor:
        with torch.no_grad():
            goal = m.teacher(x).softmax(1)
        return F.kl_div(m.student(x).log_softmax(1), goal, reduction="batchmean")

    return Training(model, loss_fn, lambda: (torch.randn(16, 3, 48, 48),))


@entry("physics-informed, second derivatives", "pinn")
def _() -> Training:
    model = nn.Sequential(nn.Linear(2, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, 1))

    def loss_fn(m: nn.Module, x: Tensor) -> Tensor:
        x = x.clone().requires_grad_()
        first = torch.autograd.grad(m(x).sum(), x, create_graph=True)[0]
        second = torch.autograd.grad(first[:, 0].sum(), x, create_graph=True)[0][:, 0]
        return (first[:, 1] - second).square().mean()

    return Training(model, loss_fn, lambda: (torch.rand(4096, 2),))


@entry("policy gradient", "reinforce")
def _() -> Training:
    def loss_fn(m: nn.Module, state: Tensor, action: Tensor, gain: Tensor) -> Tensor:
        policy = torch.distributions.Categorical(logits=m(state))
        return -(policy.log_prob(action) * gain).mean() - 0.01 * policy.entropy().mean()

    return Training(mlp(), loss_fn, lambda: (torch.randn(2048, 128), torch.randint(10, (2048,)), torch.randn(2048)))


@entry("normalizing flow", "realnvp")
def _() -> Training:
    def loss_fn(m: Any, x: Tensor) -> Tensor:
        logdet = torch.zeros(len(x))
        for net in m.nets:
            a, b = x.chunk(2, 1)
            shift, scale = net(a).chunk(2, 1)
            x, logdet = torch.cat([b * scale.tanh().exp() + shift, a], 1), logdet + scale.tanh().sum(1)
        return (x.square().sum(1) / 2 - logdet).mean()

    return Training(
        Over(lambda m, x: m.nets[0](x), nets=nn.ModuleList(mlp(32, 2, 64) for _ in range(4))),
        loss_fn,
        lambda: (torch.randn(1024, 64),),
    )


@entry("neural ode by euler steps", "neural ode")
def _() -> Training:
    def forward(m: Any, x: Tensor) -> Tensor:
        for _ in range(12):
            x = x + m.field(x) / 12
        return m.head(x)

    return Training(Over(forward, field=mlp(64, 2, 64), head=nn.Linear(64, 10)), classify, classes(1024, 64))
