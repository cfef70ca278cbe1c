"""Training loops of libraries, as those of loops.py: ten steps each, with a way to get the loss."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from typing import Any

import accelerate
import datasets
import peft
import tokenizers
import torch
import transformers
import trl
from accelerate.state import AcceleratorState
from lightning import pytorch as lightning
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from loops import STEPS, Layers, Way, batches, loss_fn

transformers.logging.set_verbosity_error()

TRAINING: dict[str, Any] = {  # of a trainer
    "max_steps": STEPS,
    "per_device_train_batch_size": 4,
    "learning_rate": 1e-3,
    "use_cpu": True,
    "report_to": "none",
    "save_strategy": "no",
    "disable_tqdm": True,
}


class LossByAWay:
    """For a trainer: the first batch is the example; evaluation, under no_grad, runs the model as it is."""

    def __init__(self, way: Way, **options: Any) -> None:
        super().__init__(**options)
        self.way = way
        self.step: Callable[..., Any] | None = None

    def compute_loss(self, model: nn.Module, inputs: Any, return_outputs: bool = False, num_items_in_batch: Any = None) -> Any:
        batch = (inputs, return_outputs, num_items_in_batch)
        if self.step is None:
            self.step = self.way(model, super().compute_loss, batch)  # type: ignore[misc]
        return self.step(*batch)


class WithinBudget(LossByAWay, transformers.Trainer):  # type: ignore[misc]
    pass


class FineTuner(LossByAWay, trl.SFTTrainer):  # type: ignore[misc]
    pass


def language_model(layers: int = 3, width: int = 32) -> nn.Module:
    config = transformers.GPT2Config(
        n_layer=layers, n_embd=width, n_head=2, vocab_size=64, n_positions=64, bos_token_id=0, eos_token_id=0, use_cache=False
    )
    return transformers.GPT2LMHeadModel(config)


def sentences() -> list[dict[str, torch.Tensor]]:
    ids = torch.randint(64, (4 * STEPS, 32), generator=torch.Generator().manual_seed(7))
    return [{"input_ids": row, "labels": row} for row in ids]


def trained_by_trainer(way: Way, model: nn.Module, **options: Any) -> nn.Module:
    with tempfile.TemporaryDirectory() as folder:
        arguments = transformers.TrainingArguments(folder, **TRAINING, **options)
        trainer = WithinBudget(way, model=model, args=arguments, train_dataset=sentences(), eval_dataset=sentences()[:4])
        trainer.train()
        trainer.evaluate()
    return model


def trainer(way: Way, **options: Any) -> nn.Module:
    return trained_by_trainer(way, language_model(), **options)


def trainer_that_accumulates(way: Way) -> nn.Module:
    return trained_by_trainer(way, language_model(), gradient_accumulation_steps=2)


def trainer_with_lora(way: Way) -> nn.Module:
    lora = peft.LoraConfig(r=4, lora_alpha=8, lora_dropout=0.1, target_modules=["c_attn"], fan_in_fan_out=True)
    return trained_by_trainer(way, peft.get_peft_model(language_model(), lora))


def supervised_fine_tuning(way: Way) -> nn.Module:
    model = language_model(layers=8, width=128)  # TRL's own loss takes 128 KiB per token in addition
    with tempfile.TemporaryDirectory() as folder:
        plain_data = {"dataset_kwargs": {"skip_prepare_dataset": True}}
        arguments = trl.SFTConfig(folder, **TRAINING, bf16=False, gradient_checkpointing=False, **plain_data)
        data = datasets.Dataset.from_dict({"input_ids": [row["input_ids"].tolist() for row in sentences()]})
        FineTuner(way, model=model, args=arguments, train_dataset=data, processing_class=tokenizer()).train()
    return model


def tokenizer() -> Any:
    """Of 64 words; the trainer wants one, and batches come as numbers already."""
    words = tokenizers.models.WordLevel({f"w{number}": number for number in range(64)}, unk_token="w0")
    return transformers.PreTrainedTokenizerFast(tokenizer_object=tokenizers.Tokenizer(words), pad_token="w0", eos_token="w1")


def loader() -> DataLoader[tuple[torch.Tensor, ...]]:
    xs, ys = zip(*batches(), strict=True)
    return DataLoader(TensorDataset(torch.cat(xs), torch.cat(ys)), batch_size=len(xs[0]))


class Lit(lightning.LightningModule):
    def __init__(self, way: Way) -> None:
        super().__init__()
        self.network = Layers()
        self.step = way(self.network, loss_fn, next(batches()))

    def training_step(self, batch: Any) -> torch.Tensor:
        self.zero_grad()  # Lightning does it after this, when gradients of two steps would be in memory
        return self.step(*batch)

    def configure_optimizers(self) -> torch.optim.Optimizer:
        return torch.optim.AdamW(self.network.parameters(), lr=1e-3)


def automatic_optimisation(way: Way) -> nn.Module:
    module = Lit(way)
    runner = lightning.Trainer(
        max_steps=STEPS,
        accelerator="cpu",
        gradient_clip_val=1.0,
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
    )
    runner.fit(module, loader())
    return module


def accelerated(way: Way, precision: str = "no") -> nn.Module:
    AcceleratorState._reset_state()  # which an accelerator of another precision has left
    accelerator = accelerate.Accelerator(cpu=True, gradient_accumulation_steps=2, mixed_precision=precision)
    model = Layers()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    prepared, optimizer, data = accelerator.prepare(model, optimizer, loader())
    step = way(prepared, loss_fn, next(batches()))
    for _epoch in range(2):
        for batch in data:
            with accelerator.accumulate(prepared):
                accelerator.backward(step(*batch))
                accelerator.clip_grad_norm_(prepared.parameters(), 1.0)
                optimizer.step()
                optimizer.zero_grad()
    return model


def accelerated_in_bfloat16(way: Way) -> nn.Module:
    return accelerated(way, "bf16")
