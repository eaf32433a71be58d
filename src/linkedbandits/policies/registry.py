"""Policies that the library does not ship: found in a module by whoever runs a command, and known by name from then on.

Nothing is ever imported because of a name that came from elsewhere: :func:`load_own` is for what the person at the
command line has written, there or in a study file. Saved experiments and callers of a service name policies by their
names alone, and those that nobody has loaded here do not exist.
"""

from __future__ import annotations

import ast
import importlib
import sys
from collections.abc import Mapping
from dataclasses import dataclass, is_dataclass
from pathlib import Path
from types import ModuleType, NoneType, UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

from linkedbandits.errors import InvalidParameter
from linkedbandits.policy import INHERITED, WRITTEN

_CUSTOM: dict[str, Any] = {}
"""Those that were loaded, by the names that they give themselves."""

_SIMPLE = {int: "a whole number", float: "a number", bool: "true or false", str: "text"}


@dataclass(frozen=True, slots=True)
class Written:
    """``package.module:Class:key=value`` in its parts."""

    module: str
    kind: str
    parameters: str

    @property
    def class_named(self) -> str:
        """Without the parameters."""
        return f"{self.module}:{self.kind}"


def names_code(text: str) -> bool:
    """Does a policy's name say where its code is? So it does with a dot before the first colon, or with a class after.

    >>> names_code("mine.policies:Mine"), names_code("mine:Mine:delta=0.1"), names_code("linked-ege:median=fresh")
    (True, True, False)
    """
    before, colon, after = text.partition(":")
    return "." in before or bool(colon and before.isidentifier() and after.partition(":")[0].strip().isidentifier())


def own_form(name: str) -> str:
    """How a policy of one's own is written, by the name that was written instead. Nothing is imported for that.

    >>> own_form("every-other")
    'written module:Class, as mine:EveryOther for a class in mine.py'
    """
    file = Path(f"{name}.py")
    if not name.isidentifier() or not file.is_file():
        module, kind = (name, "Class") if name.isidentifier() else ("mine", "EveryOther")
        return f"written module:Class, as {module}:{kind} for a class in {module}.py"
    try:
        parts = ast.parse(file.read_bytes()).body
    except (OSError, SyntaxError, ValueError):
        parts = []
    kinds = [part.name for part in parts if isinstance(part, ast.ClassDef)]
    return f"written module:Class, and {file} is here: {' or '.join(f'{name}:{kind}' for kind in kinds or ['Class'])}"


def in_parts(text: str) -> Written:
    """A policy's name that says where its code is."""
    module, _, rest = text.partition(":")
    kind, _, parameters = rest.partition(":")
    if module.endswith(".py") or "/" in module:
        plain = module.removesuffix(".py").strip("./").replace("/", ".")
        raise InvalidParameter(f"{module!r} is a file, and a module is wanted; write {plain}:{kind or 'Class'}")
    if not kind:
        raise InvalidParameter(f"{text!r} names no class of the module {module!r}; write {module}:Class")
    return Written(module, kind, parameters)


def load_own(written: Written, shipped: Mapping[str, Any]) -> Any:
    """The class, which is known by its name from now on. The current folder is importable, as with ``python -m``.

    ``shipped`` has the policies of the library, whose names are taken.
    """
    module = _imported(written.module, written.class_named)
    found = getattr(module, written.kind, None)
    if found is None:
        raise InvalidParameter(f"the module {written.module!r} has no {written.kind!r}; {_policies_in(module)}")
    _check_is_policy_class(written, found, module)
    name = found.name
    known = shipped.get(name) or _CUSTOM.get(name)
    if known is not None and known is not found:
        there = f"{known.__module__}:{known.__qualname__}"
        raise InvalidParameter(
            f"{written.class_named} and {there} are both called {name!r}; write another name in one of them, as "
            f'name = "{name}-2"'
        )
    if known is None:
        _CUSTOM[name] = found
    return found


def converted(cls: Any, name: str, parameters: dict[str, Any]) -> dict[str, Any]:
    """The values in the types that the fields of a user's class have, or an error that says which does not fit."""
    try:
        kinds = get_type_hints(cls)
    except (NameError, AttributeError, TypeError, SyntaxError):  # what is only imported to check types is not there
        return parameters
    return {key: _converted(name, key, value, kinds.get(key)) for key, value in parameters.items()}


def _converted(name: str, key: str, value: Any, kind: Any) -> Any:
    wanted = set(get_args(kind)) if get_origin(kind) in (Union, UnionType) else {kind}
    if not wanted <= {*_SIMPLE, NoneType} or (value is None and NoneType in wanted):
        return value  # of other types the class itself knows more
    if bool in wanted and value in ("true", "false"):
        return value == "true"
    if float in wanted and isinstance(value, int) and not isinstance(value, bool) and int not in wanted:
        return float(value)
    if str in wanted and not isinstance(value, (list, dict)):
        return value if type(value) in wanted else str(value)
    if type(value) in wanted:
        return value
    words = " or ".join([*(_SIMPLE[each] for each in _SIMPLE if each in wanted), *["none"] * (NoneType in wanted)])
    raise InvalidParameter(f"{key}={value} of {name} is not what it takes; give {words}")


def _imported(module: str, wanted: str) -> ModuleType:
    here = str(Path.cwd())
    if here not in sys.path and "" not in sys.path:
        sys.path.insert(0, here)
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        if error.name is not None and (module == error.name or module.startswith(f"{error.name}.")):
            raise InvalidParameter(
                f"there is no module {error.name!r} for {wanted}; it was looked for in {here} and where Python has its "
                "packages: run the command where it is, install it, or set PYTHONPATH"
            ) from error
        raise _cannot_import(module, error) from error
    except Exception as error:  # code of the user's, which may fail in any way
        raise _cannot_import(module, error) from error


def _cannot_import(module: str, error: Exception) -> InvalidParameter:
    return InvalidParameter(
        f"the module {module!r} cannot be imported ({type(error).__name__}: {error}); mend it, and try it with "
        f"python -c 'import {module}'"
    )


def _check_is_policy_class(written: Written, found: Any, module: ModuleType) -> None:
    what = written.class_named
    if not isinstance(found, type):
        raise InvalidParameter(f"{what} is a {type(found).__name__}, not a class; {_policies_in(module)}")
    if not hasattr(found, "observe"):
        raise InvalidParameter(
            f"{what} is no policy; inherit from linkedbandits.PlainPolicy, or from linkedbandits.policy.Policy"
        )
    lacking = [part for part in (*WRITTEN, *INHERITED) if not hasattr(found, part)]
    if lacking:
        raise InvalidParameter(
            f"{what} is not a whole policy: it lacks {', '.join(lacking)}; inherit from linkedbandits.PlainPolicy, or "
            "from linkedbandits.policy.Policy"
        )
    unwritten = sorted(getattr(found, "__abstractmethods__", ()))
    if unwritten:
        raise InvalidParameter(f"{what} is not a whole policy: write {', '.join(unwritten)}")
    if not is_dataclass(found):
        raise InvalidParameter(
            f"{what} is no dataclass, so its parameters are not known; write @dataclass(frozen=True) above it"
        )


def _policies_in(module: ModuleType) -> str:
    names = [
        name
        for name, value in vars(module).items()
        if isinstance(value, type) and value.__module__ == module.__name__ and hasattr(value, "observe")
    ]
    return f"there is {', '.join(names)}" if names else "it has no policies; write one that inherits from PlainPolicy"
