"""Gradients that are added to those of earlier steps as soon as they are made, instead of being kept to the end."""

from __future__ import annotations

from collections.abc import Mapping

import torch

from checkmate.torch.capture import Capture


def accumulate_into(capture: Capture, existing: Mapping[str, torch.Tensor]) -> None:
    """Adds the existing gradients to the inputs of the captured step, after the batch, in the order of `existing`.

    A plan then counts them as resident, and what is added to them is free again at once.
    """
    graph = capture.graph
    last_input = capture.placeholders[-1]
    for name, gradient in existing.items():
        made = capture.gradients.pop(name)
        with graph.inserting_after(last_input):
            last_input = graph.placeholder("grad_" + name.replace(".", "_"))
            last_input.meta["val"] = torch.empty_like(gradient, device="meta")
        with graph.inserting_after(made):
            added = graph.call_function(torch.ops.aten.add_.Tensor, (last_input, made))
            added.meta = {"val": last_input.meta["val"], "custom": {"phase": "update", "module": ""}}
        capture.placeholders.append(last_input)
