"""Which option is best, when you try options in order and stop at the first that works.

>>> import linkedbandits as lb
>>> runs = lb.simulate([0.1, 0.4, 0.2], lb.LinkedEGE(delta=0.1, gap=0.2), trials=100, seed=1)
>>> runs.error_rate()
0.0
"""

import ast
from importlib import import_module
from pathlib import Path

# The stub lists the public names once. They are fetched when they are first used: a command listens to Ctrl-C before
# numpy and all else is read.
_HOMES = {
    name.name: statement.module
    for statement in ast.parse(Path(__file__).with_name("__init__.pyi").read_text(encoding="utf-8")).body
    if isinstance(statement, ast.ImportFrom)
    for name in statement.names
}
__all__ = [*sorted(_HOMES)]  # noqa: PLE0604 - strings, which the linter cannot see


def __getattr__(name):
    home = _HOMES.get(name, __name__)
    module = f"{home}.{name}" if home == __name__ else home
    try:
        found = import_module(module)
    except ModuleNotFoundError as error:
        if error.name != module:
            raise
        raise AttributeError(f"linkedbandits has no {name!r}; dir(linkedbandits) lists what it has") from None
    if home != __name__:
        found = getattr(found, name)
    globals()[name] = found
    return found


def __dir__():
    return __all__
