"""Steps of which only shapes are asked: a model on the meta device is captured as if it were on a real one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from checkmate.torch.checks import only_device
from checkmate.torch.strides import EagerLayouts


def device_without_values(named: Sequence[tuple[str, torch.Tensor]]) -> torch.device:
    """The one device of all inputs. What is on the meta device goes with the others, or is on the CPU if there are none."""
    placed = [(name, tensor) for name, tensor in named if tensor.device.type != "meta"]
    return only_device(placed) if placed or not named else torch.device("cpu")


class Valueless(EagerLayouts):  # type: ignore[no-untyped-call]
    """A mode in which tensors on the meta device that nobody registered, such as tables in plain attributes, are on that one."""

    def __init__(self, device: torch.device) -> None:
        super().__init__(allow_non_fake_inputs=True)
        self._device = device

    def validate_and_convert_non_fake_tensors(self, func: Any, converter: Any, flat_args: Any, args_spec: Any) -> Any:
        """As torch has it, but for those."""
        placed = [converter.from_meta_and_device(self, each, self._device) if self._is_meta(each) else each for each in flat_args]
        return super().validate_and_convert_non_fake_tensors(func, converter, placed, args_spec)

    def _is_meta(self, argument: Any) -> bool:
        return isinstance(argument, torch.Tensor) and not self.is_our_fake(argument) and argument.device.type == "meta"
