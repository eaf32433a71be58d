"""OpenTelemetry spans of the calls of a chain: one for each call, and in it one for each attempt.

    chain = lb.Chain(options, tracing=Spans())

The span of an attempt is current while the option runs, in its thread or task, so that spans of HTTP clients and the
like are its children. ``docs/tracing-chains.md`` lists names and attributes.
"""

from __future__ import annotations

from contextvars import Token
from typing import Any

from linkedbandits.chain.results import Attempt, Role
from linkedbandits.chain.tally import Ending
from linkedbandits.errors import ChainFailed, InvalidParameter, MissingExtra
from linkedbandits.model import Label, Verdict
from linkedbandits.version import __version__

try:
    from opentelemetry import context, trace
except ModuleNotFoundError as missing:
    raise MissingExtra(
        "spans need opentelemetry-api; install it with: pip install 'linkedbandits[opentelemetry]'"
    ) from missing

SCOPE = "linkedbandits"
"""The instrumentation scope, and the first word of the attributes."""


class Spans:
    """Gives the calls of a chain spans; for ``Chain(..., tracing=Spans())``.

    ``name`` tells chains of a program apart. ``provider`` makes the spans; by default the one that is set when the
    first call is made.
    """

    def __init__(self, name: str = "chain", provider: trace.TracerProvider | None = None) -> None:
        if not isinstance(name, str) or not name:
            raise InvalidParameter(f"name={name!r} is no name of a chain; give one such as 'payments'")
        self._name = name
        self._provider = provider
        self._tracer: trace.Tracer | None = None

    @property
    def tracer(self) -> trace.Tracer:
        """What makes the spans."""
        if self._tracer is None:
            self._tracer = trace.get_tracer(SCOPE, __version__, self._provider)
        return self._tracer

    def call(self, role: Role) -> CallSpan:
        """The span of a call begins."""
        return CallSpan(self.tracer, self._name, role)

    def verdict(self, verdict: Verdict) -> None:
        """A span without length, which begins a trace of its own and is linked to the call that brought the verdict."""
        self._tell(
            "verdict",
            {
                "option": str(verdict.arm),
                "status": verdict.status,
                "plays": verdict.plays,
                "error_bound": verdict.error_bound,
                "assumes": verdict.assumes,
            },
        )

    def alarm(self, alarm: Any) -> None:
        """The same for an alarm."""
        self._tell("alarm", {"kind": alarm.kind, "sentence": str(alarm)})

    def _tell(self, what: str, told: dict[str, Any]) -> None:
        cause = trace.get_current_span().get_span_context()
        span = self.tracer.start_span(
            f"{self._name} {what}",
            context=context.Context(),
            links=[trace.Link(cause)] if cause.is_valid else [],
            attributes={f"{SCOPE}.chain": self._name}
            | {f"{SCOPE}.{what}.{name}": value for name, value in told.items() if value is not None},
        )
        span.end()


class CallSpan:
    """The spans of one call."""

    __slots__ = ("_attempt", "_attempt_token", "_error", "_name", "_role", "_span", "_token", "_tracer", "_tried")

    def __init__(self, tracer: trace.Tracer, name: str, role: Role) -> None:
        self._tracer = tracer
        self._name = name
        self._role = role
        self._span = tracer.start_span(name, attributes={f"{SCOPE}.chain": name, f"{SCOPE}.role": role})
        self._token: Token[context.Context] = context.attach(trace.set_span_in_context(self._span))
        self._attempt: trace.Span | None = None
        self._attempt_token: Token[context.Context] | None = None
        self._tried: list[str] = []
        self._error: BaseException | None = None

    def attempt(self, option: Label) -> None:
        """The span of an attempt begins, and is current."""
        self._attempt = self._tracer.start_span(
            f"{self._name} {option}",
            attributes={
                f"{SCOPE}.chain": self._name,
                f"{SCOPE}.option": str(option),
                f"{SCOPE}.place": len(self._tried),
                f"{SCOPE}.role": self._role,
            },
        )
        self._tried.append(str(option))
        self._attempt_token = context.attach(trace.set_span_in_context(self._attempt))

    def attempted(self, attempt: Attempt) -> None:
        """It ends."""
        span, token = self._attempt, self._attempt_token
        self._error = attempt.error
        self._attempt = self._attempt_token = None
        if token is not None:
            context.detach(token)
        if span is not None:
            span.set_attribute(f"{SCOPE}.outcome", attempt.outcome)
            if attempt.error is not None:
                span.record_exception(attempt.error)
                failed(span, attempt.error)
            span.end()

    def end(self, ending: Ending) -> None:
        """The span of the call ends."""
        context.detach(self._token)
        self._span.set_attribute(f"{SCOPE}.outcome", ending)
        self._span.set_attribute(f"{SCOPE}.tried", self._tried)
        if ending == "worked":
            self._span.set_attribute(f"{SCOPE}.option", self._tried[-1])
        elif ending == "failed":
            failed(self._span, ChainFailed(f"none of {', '.join(self._tried)} worked"))
        elif self._error is not None:
            failed(self._span, self._error)
        self._error = None  # it knows the frame of the call, and that knows this
        self._span.end()


def failed(span: trace.Span, error: BaseException) -> None:
    """A span that ended with an error, as the semantic conventions have it."""
    span.set_attribute("error.type", qualified(error))
    span.set_status(trace.StatusCode.ERROR, str(error))


def qualified(error: BaseException) -> str:
    """The full name of the type of an error.

    >>> qualified(TimeoutError()), qualified(ChainFailed("none worked"))
    ('TimeoutError', 'linkedbandits.errors.ChainFailed')
    """
    kind = type(error)
    return kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"
