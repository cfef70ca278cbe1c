"""Steps over kernels that Inductor compiles for groups of ops."""
