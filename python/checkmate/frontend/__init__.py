"""What the front ends of PyTorch and TensorFlow share: options, cached plans, comparisons, the machine."""
