"""`docs/models.md`, from the records of a run."""
from __future__ import annotations
from typing import Any
def markdown(records, outcomes, budgets): return ""
