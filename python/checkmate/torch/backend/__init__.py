"""`torch.compile(model, backend="checkmate")`: any training loop within a budget."""
