"""The engine ``gpu``: a block of threads a pixel, on one or more graphics cards, through CuPy."""
