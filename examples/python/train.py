"""Trains GPT-2 (random weights) a few steps as usual, then in half the memory, with the same losses; then with fused kernels.

python examples/python/train.py [--layers 12] [--steps 4]
"""

import argparse
import copy
import math
import time

import torch
import transformers

import checkmate
from checkmate.torch import peak_bytes

MIB = 2**20


def make_model(layers):
    transformers.logging.set_verbosity_error()
    config = transformers.GPT2Config(
        n_layer=layers, n_embd=384, n_head=6, vocab_size=8192, n_positions=256, bos_token_id=0, eos_token_id=0
    )
    return transformers.GPT2LMHeadModel(config).train()


def loss_fn(model, ids):
    return model(ids, labels=ids, use_cache=False).loss


def train(model, step, batches):
    """The losses, the time of the last steps, and the most that one step held."""
    torch.manual_seed(1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    losses, seconds = [], []
    for ids in batches:
        optimizer.zero_grad()
        begin = time.perf_counter()
        losses.append(float(step(ids).detach()))
        seconds.append(time.perf_counter() - begin)
        optimizer.step()
    optimizer.zero_grad()
    held = sum(t.nbytes for t in [*model.parameters(), *model.buffers(), batches[0]])
    return losses, min(seconds), held + peak_bytes(lambda: step(batches[0]), torch.device("cpu"))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--layers", type=int, default=12)
    parser.add_argument("--steps", type=int, default=4)
    options = parser.parse_args()

    torch.manual_seed(0)
    model = make_model(options.layers)
    twin = copy.deepcopy(model)
    batches = [torch.randint(8192, (4, 256)) for _ in range(options.steps)]

    def eager(ids):
        loss = loss_fn(model, ids)
        loss.backward()
        return loss

    eager_losses, eager_seconds, eager_peak = train(model, eager, batches)
    steps, seen = {}, {"eager": (eager_losses, eager_seconds, eager_peak)}
    for kernels in ("aten", "fused"):
        own = copy.deepcopy(twin)
        steps[kernels] = checkmate.compile(own, loss_fn, example=(batches[0],), budget=eager_peak // 2, kernels=kernels)
        seen[kernels] = train(own, steps[kernels], batches)

    parameters = sum(p.numel() for p in model.parameters()) / 1e6
    print(f"GPT-2, {options.layers} layers, {parameters:.0f} million parameters, {options.steps} steps:\n")
    print("                     peak measured   time a step   losses")
    names = {"eager": "eager", "aten": "checkmate", "fused": "checkmate, fused"}
    for kernels, (losses, took, held) in seen.items():
        print(f"  {names[kernels]:17} {held / MIB:9.1f} MiB {took:11.2f} s   {' '.join(f'{loss:.6f}' for loss in losses)}")
    plan, (losses, _, peak) = steps["aten"].plan, seen["aten"]
    fused_losses, fused_seconds, fused_peak = seen["fused"]
    held = max(peak, fused_peak) <= plan.budget
    print(f"\nbudget {plan.budget / MIB:.1f} MiB: {'held' if held else 'NOT HELD'}; losses")
    print(f"{'agree to the last bit' if losses == eager_losses else 'differ'}; {plan.overhead:.3f}x the work, proven")
    print(f"within {plan.gap:.2%} of the least possible; planned in {steps['aten'].timings.solve:.1f} s.")
    close = all(math.isclose(a, b, rel_tol=1e-4) for a, b in zip(fused_losses, eager_losses, strict=True))
    print(f"Fused kernels take {fused_seconds / seen['aten'][1]:.2f} of the time of eager's own ops at this budget;")
    print(f"their losses are {'the same but for rounding' if close else 'DIFFERENT'}.")
    print(f"They took {steps['fused'].timings.kernels:.0f} s to compile, once.")
    return 0 if held and losses == eager_losses and close else 1


if __name__ == "__main__":
    raise SystemExit(main())
