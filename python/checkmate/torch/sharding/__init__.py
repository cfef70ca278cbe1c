"""Training on several processes, each of which holds a part of the parameters."""
