"""The engine ``compiled``: machine code, made by numba when it is first used."""
