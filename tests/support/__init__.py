"""What tests share, and no test by itself. What benchmarks need as well is in ``tools``."""
