"""The GPU engine: kernels in CUDA C++, and what the host prepares for them."""
