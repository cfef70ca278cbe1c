"""Imports what models need, once, for all processes that are forked from the one that imported this."""

from __future__ import annotations

import torch._dynamo  # noqa: F401
from transformers import GPT2LMHeadModel, ViTForImageClassification  # noqa: F401

import checkmate.torch  # noqa: F401
import models

models.catalogue()
