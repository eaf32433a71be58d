"""The deployments of a LiteLLM router as chains: tried until one answers, in an order that is learned.

    router = ChainRouter(litellm.Router(model_list=[...], fallbacks=[...]), delta=0.05)
    router.completion(model="chat", messages=[...])

LiteLLM's own places for routing strategies choose one deployment at a time, and its retries, cooldowns and kinds of
errors decide whether there is a next one; so none of them gives whole chains. Here the chain is on the outside: each
deployment is called through the router by its id, without retries, and LiteLLM's fallbacks to other model groups
follow when all deployments of a group have failed. ``docs/chains-with-litellm.md`` has the whole story.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib import import_module
from typing import Any

from linkedbandits.chain import Chain
from linkedbandits.errors import ChainFailed, InvalidParameter, MissingExtra
from linkedbandits.model import Label

Options = dict[str, Any]
Messages = Sequence[Mapping[str, Any]]

FAILURES = (
    "APIConnectionError",
    "APIError",
    "APIResponseValidationError",
    "AuthenticationError",
    "BadGatewayError",
    "InternalServerError",
    "NotFoundError",
    "PermissionDeniedError",
    "RateLimitError",
    "ServiceUnavailableError",
    "Timeout",
)
"""LiteLLM's errors that speak of the deployment. A BadRequestError speaks of the request, and ends the call."""
FALLBACKS = ("fallbacks", "context_window_fallbacks", "content_policy_fallbacks")
MOST_FALLBACKS = 5
"""How many model groups a call falls back to, one behind the other, as in LiteLLM."""


class ChainRouter:
    """A LiteLLM router whose model groups are chains, for ``completion`` and ``acompletion``.

    ``groups`` are the model groups that are; by default all that have more than one deployment. ``chains`` has the
    chain of each, with the ids of deployments as options. All other calls, and all other attributes, are the router's.

    If every deployment of a group fails, the call goes on with the router's ``fallbacks``; without any it raises the
    LiteLLM error of the last deployment. ``failures`` are errors that make the next deployment be tried. All else goes
    to :class:`~linkedbandits.Chain`.
    """

    def __init__(
        self,
        router: Any,
        groups: Sequence[str] | None = None,
        *,
        failures: tuple[type[Exception], ...] | None = None,
        **chain: Any,
    ) -> None:
        self._litellm = need_litellm()
        if not isinstance(router, self._litellm.Router):
            raise InvalidParameter(f"{router!r} is no LiteLLM router; give litellm.Router(model_list=[...])")
        self.router = router
        deployments = deployments_of(router)
        if isinstance(groups, str):
            groups = [groups]
        if groups is None:
            groups = [group for group, ids in deployments.items() if len(ids) > 1]
            if not groups:
                raise InvalidParameter("no model group of the router has more than one deployment; a chain needs two")
        for group in groups:
            if group not in deployments:
                raise InvalidParameter(f"the router has no model group {group!r}; it has {', '.join(deployments)}")
        if chain.get("state") is not None and len(groups) > 1:
            raise InvalidParameter("a state is given for more than one chain; make a ChainRouter for each of groups=")
        if failures is None:
            failures = tuple(getattr(self._litellm.exceptions, name) for name in FAILURES)
        self.chains = {group: self._chain(deployments[group], failures, chain) for group in groups}

    def completion(self, model: str, messages: Messages, **options: Any) -> Any:
        """The answer of the first deployment that works."""
        return self._completion(model, messages, options, 0)

    async def acompletion(self, model: str, messages: Messages, **options: Any) -> Any:
        """The answer of the first deployment that works."""
        return await self._acompletion(model, messages, options, 0)

    def close(self) -> None:
        """Let go of what the chains hold; what was learned is kept."""
        for chain in self.chains.values():
            chain.close()

    def __getattr__(self, name: str) -> Any:
        return getattr(self.__dict__["router"], name)

    def _completion(self, model: str, messages: Messages, options: Options, depth: int) -> Any:
        group = group_of(self.router, model)
        if group not in self.chains:
            return self.router.completion(model=model, messages=messages, **options)
        try:
            return self.chains[group](messages, without_fallbacks(options)).value
        except Exception as error:
            failed = of_litellm(error)
        for target, changed in self._fallbacks(group, options, failed, depth):
            try:
                return self._completion(target, messages, changed, depth + 1)
            except Exception as error:
                failed = error
        try:
            raise failed
        finally:
            del failed  # which knows this frame by now

    async def _acompletion(self, model: str, messages: Messages, options: Options, depth: int) -> Any:
        group = group_of(self.router, model)
        if group not in self.chains:
            return await self.router.acompletion(model=model, messages=messages, **options)
        try:
            return (await self.chains[group].acall(messages, without_fallbacks(options))).value
        except Exception as error:
            failed = of_litellm(error)
        for target, changed in self._fallbacks(group, options, failed, depth):
            try:
                return await self._acompletion(target, messages, changed, depth + 1)
            except Exception as error:
                failed = error
        try:
            raise failed
        finally:
            del failed

    def _chain(self, ids: Sequence[str], failures: tuple[type[Exception], ...], given: Mapping[str, Any]) -> Chain:
        options: dict[Label, Callable[..., Any]] = {name: Deployment(self.router, name) for name in ids}
        return Chain(options, failures=failures, **given)

    def _fallbacks(self, group: str, options: Options, error: Exception, depth: int) -> Iterator[tuple[str, Options]]:
        """The model groups to go on with after an error, with what a call of them is given."""
        if options.get("disable_fallbacks") or depth >= MOST_FALLBACKS:
            return
        if isinstance(error, self._litellm.ContextWindowExceededError):
            kind = "context_window_fallbacks"
        elif isinstance(error, self._litellm.ContentPolicyViolationError):
            kind = "content_policy_fallbacks"
        else:
            kind = "fallbacks"
        table = options.get(kind, getattr(self.router, kind, None)) or options.get("fallbacks", self.router.fallbacks)
        for target in targets_of(table or (), group):
            if isinstance(target, Mapping):
                changed = {**options, **target}
                yield changed.pop("model", group), changed
            elif target != group:
                yield target, dict(options)


class Deployment:
    """An option of a chain: one deployment of the router, called by its id, once."""

    def __init__(self, router: Any, identifier: str) -> None:
        self._router = router
        self._id = identifier

    def __call__(self, messages: Messages, options: Options) -> Any:
        """What it answers."""
        return self._router.completion(model=self._id, messages=messages, **self._own(options))

    async def acall(self, messages: Messages, options: Options) -> Any:
        """The same, awaited."""
        return await self._router.acompletion(model=self._id, messages=messages, **self._own(options))

    def _own(self, options: Options) -> Options:
        """Options of this attempt alone: LiteLLM writes into the metadata."""
        own = {**options, "num_retries": 0, "disable_fallbacks": True}
        if options.get("metadata") is not None:
            own["metadata"] = dict(options["metadata"])
        return own


def need_litellm() -> Any:
    """LiteLLM, which takes seconds to import; or an error that says how to get it."""
    try:
        return import_module("litellm")
    except ModuleNotFoundError as error:
        raise MissingExtra(
            "a ChainRouter needs litellm; install it with: pip install 'linkedbandits[litellm]'"
        ) from error


def deployments_of(router: Any) -> dict[str, list[str]]:
    """The ids of deployments by model group."""
    found: dict[str, list[str]] = {}
    for deployment in router.model_list:
        found.setdefault(deployment["model_name"], []).append(deployment["model_info"]["id"])
    return found


def group_of(router: Any, model: str) -> str:
    """The model group that a name stands for."""
    alias = (router.model_group_alias or {}).get(model, model)
    return str(alias["model"] if isinstance(alias, Mapping) else alias)


def without_fallbacks(options: Options) -> Options:
    """What is for deployments: fallbacks follow behind them."""
    return {name: value for name, value in options.items() if name not in FALLBACKS}


def of_litellm(error: Exception) -> Exception:
    """The error of the last deployment that was tried, which a caller of LiteLLM knows; others are what they are."""
    if not isinstance(error, ChainFailed):
        return error
    last = error.causes[error.tried[-1]]
    last.add_note(f"{error}; this is what came of the last")
    return last


def targets_of(table: Sequence[Any], group: str) -> Sequence[Any]:
    """Where a table of fallbacks leads from a model group: names, or mappings of what is changed.

    >>> table = [{"chat": ["backup"]}, {"*": ["any"]}]
    >>> targets_of(table, "chat"), targets_of(table, "code"), targets_of(["other"], "chat")
    (['backup'], ['any'], ['other'])
    """
    if all(isinstance(entry, str) or "model" in entry for entry in table):
        return list(table)
    for name in (group, "*"):
        for entry in table:
            if isinstance(entry, Mapping) and name in entry:
                found: Sequence[Any] = entry[name]
                return found
    return []
