"""What the service answers, with examples; the OpenAPI document is made of these models."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from linkedbandits.assumptions import INDEPENDENT_OPTIONS
from linkedbandits.live import Receipt
from linkedbandits.model import Status
from linkedbandits.service.audit import Action
from linkedbandits.service.records import Role, RunStatus
from linkedbandits.service.webhooks import DeliveryState, EventKind

SentLabel = str | bool | int | float
"""An experiment that was made without HTTP may have labels that HTTP would refuse."""


class PolicyView(BaseModel):
    """The policy that decides."""

    name: str
    parameters: dict[str, Any]


class AssumptionOut(BaseModel):
    """What has to hold of the options, or the answer may be wrong more often than stated."""

    model_config = ConfigDict(json_schema_extra={"examples": [asdict(INDEPENDENT_OPTIONS)]})

    name: str
    condition: str = Field(description='How a sentence goes on that ends with "if".')
    sentence: str = Field(description="What is assumed, for whom it holds and for whom it does not.")
    remedy: str = Field(description="What to use where it does not hold.")


class LogOut(BaseModel):
    """The log that an experiment began with."""

    attempts: Literal["first", "duels", "all"] = Field(description="Which attempts of it may be read.")
    requests: int
    samples: int = Field(description="Samples of the arms in it that may be read; pairs, if those are what is read.")
    assumes_independence: bool = Field(description="Are attempts among them that others had failed before?")
    on_your_word: bool = Field(description="Has it one order, and was the word given that options are independent?")


class BeforeOut(BaseModel):
    """The experiment that one goes on from."""

    experiment: str
    why: str
    arms: list[SentLabel]
    plays: int
    arm: SentLabel = Field(description="That of its verdict, or what led.")
    status: Status
    kept: int = Field(description="How many of its plays are a log for the one that goes on.")


class ExperimentInfo(BaseModel):
    """An experiment, as it was opened, and where it stands."""

    id: str
    name: str
    status: RunStatus
    arms: list[SentLabel]
    policy: PolicyView
    linkage: str
    assumptions: list[AssumptionOut] | None = Field(
        description="What its policy takes for granted; null if this version does not know the policy."
    )
    seed: int
    max_plays: int | None
    parallel: int | None
    lease_seconds: float
    whole_chains: bool = Field(description="Do plays go on with the rest of the arms when their own have failed?")
    log: LogOut | None = Field(description="What it began with, where that is a log; the view says how much was read.")
    before: BeforeOut | None = Field(description="What it goes on from, if anything.")
    tags: list[str]
    created_at: float = Field(description="Unix time, in seconds.")
    head: int = Field(description="The number of its last journal entry.")


class DamagedOut(BaseModel):
    """An experiment that cannot be read."""

    id: str
    name: str
    created_at: float = Field(description="Unix time, in seconds; 0 where it is not known.")
    arms: int | None = Field(description="How many, where that is known.")
    detail: str = Field(description="What to do about it.")


class ExperimentList(BaseModel):
    """Experiments: all that match, or a page of them."""

    experiments: list[ExperimentInfo]
    total: int = Field(description="How many experiments there are.")
    matching: int = Field(description="How many of them match what was asked for.")
    pages: int | None = Field(description="How many pages these fill; null where no page was asked for.")
    damaged: list[DamagedOut] = Field(
        description="Those that match and cannot be read, which are left out, and what to do about them."
    )


class CurveOfArm(BaseModel):
    """What was known of an arm at every point; null where it had no samples, or was far from the best."""

    label: SentLabel
    mean: list[float | None]
    low: list[float | None]
    high: list[float | None]
    log10_evidence: list[float | None]


class Curves(BaseModel):
    """What was known of the arms as plays were told: points at which these had grown by a fiftieth, at most 150."""

    at: list[float] = Field(description="Unix time, in seconds.")
    plays: list[int]
    leading: list[list[SentLabel]] = Field(description="Which arms led; none before there was enough to say so.")
    arms: list[CurveOfArm] = Field(description="Up to eight arms, those that lead first, then by estimate.")


class PlayOut(BaseModel):
    """A play to make: try the arms from left to right until the first success, then tell."""

    id: int
    arms: list[SentLabel]
    rest: list[SentLabel] = Field(
        default=[], description="In whole chains, what to go on with when all arms have failed. Else it is left out."
    )


class AskResponse(BaseModel):
    """The plays, and until when to answer them."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [{"plays": [{"id": 0, "arms": ["north", "east", "south"]}], "expires_at": 1767225660.0}]
        }
    )

    plays: list[PlayOut]
    expires_at: float = Field(description="Unix time, in seconds; a later answer is late.")


class TupleOut(BaseModel):
    """The arms of plays, and the rest of whole chains, as a play has them."""

    arms: list[SentLabel]
    rest: list[SentLabel] = []


class AskedTuples(BaseModel):
    """The plays with `tuples=true`: play number `first` + i has the arms of `tuples[plays[i]]`."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {"first": 0, "tuples": [{"arms": ["north", "east"]}], "plays": [0, 0], "expires_at": 1767225660.0}
            ]
        }
    )

    first: int = Field(description="The number of the first play; those behind it follow one by one.")
    tuples: list[TupleOut]
    plays: list[int] = Field(description="Of every play, the place of its arms in `tuples`.")
    expires_at: float = Field(description="Unix time, in seconds; a later answer is late.")


class Problem(BaseModel):
    """What went wrong (RFC 9457)."""

    model_config = ConfigDict(
        extra="allow",
        json_schema_extra={
            "examples": [
                {
                    "type": "urn:linkedbandits:conflicting-tell",
                    "title": "Conflicting tell",
                    "status": 409,
                    "detail": "play 3 was told hit='east' before and now hit=None; the first answer stands",
                    "instance": "/v1/experiments/x7c2/tell",
                    "play": 3,
                    "on_record": "east",
                    "request_id": "5f0d9c1b7a3e-42",
                }
            ]
        },
    )

    type: str
    title: str
    status: int
    detail: str
    instance: str | None = None
    request_id: str | None = Field(
        default=None, description="The request's name in the log of the service; also in the header X-Request-Id."
    )


class TellResponse(BaseModel):
    """One receipt an answer, in order; a refused one is a problem document and does not spoil the others."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"receipts": ["counted", "repeated"], "done": False}]})

    receipts: list[Receipt | Problem]
    done: bool


class AbandonResponse(BaseModel):
    """How many of them were still out."""

    abandoned: int


class EstimateOut(BaseModel):
    """What is known of an arm's mean from all plays told so far."""

    arm: SentLabel
    samples: int = Field(description="How often it was tried; as the first tried of a play, if only first tries count.")
    successes: int
    mean: float | None
    still_in: bool


ONLY_FIRST_TRIES = Field(
    description="Are an arm's samples those alone in which it was the first tried of a play? So it is where the policy "
    "does not take arms to be independent: what an arm does behind the failure of others is then no sample of its mean."
)


class EstimateList(BaseModel):
    """All arms, in order."""

    plays: int
    only_first_tries: bool = ONLY_FIRST_TRIES
    estimates: list[EstimateOut]


class VerdictOut(BaseModel):
    """The answer to "which arm is best?"."""

    arm: SentLabel
    top: list[SentLabel] = Field(description="The k best, best first, where more than one was asked for.")
    status: Status
    plays: int
    error_bound: float | None
    proved: bool = Field(description="Did the policy stop by its own rule, with a proved bound on its error?")
    assumes: list[str] = Field(
        description="The names of what its policy takes for granted; the experiment has the sentences.",
        examples=[[INDEPENDENT_OPTIONS.name]],
    )
    contradicted: list[str] = Field(description="Those of them that what was seen speaks against.")


class Recommendation(BaseModel):
    """The verdict; before there is one, the arm that leads, with status "running"."""

    done: bool
    verdict: VerdictOut


class ArmsView(BaseModel):
    """The arms in order, a list a column. Limits are 95 %, each at all times together.

    Samples, and what follows from them, are those of `only_first_tries`.
    """

    label: list[SentLabel]
    samples: list[int]
    successes: list[int]
    mean: list[float | None]
    low: list[float]
    high: list[float]
    still_in: list[bool]
    log10_evidence: list[float | None] | None = Field(description="Evidence against each arm, where it is kept.")


class OutlookView(BaseModel):
    """What any policy needs on average at the present estimates, and what this one may still need."""

    lower_bound: float | None
    estimate_total: float | None
    estimate_left: float | None


class UpgradeView(BaseModel):
    """The experiment goes on with a version of the library that would have asked otherwise."""

    version: str
    before: str | None = Field(description="The version that played until then, where it is known.")
    plays: int = Field(description="Plays before that. They are in the estimates and are not read again.")
    evidence: list[float] | None = Field(
        description="The evidence against every arm by then, as powers of ten, that the policy goes on from; null if "
        "it begins from nothing."
    )
    spent: float = Field(
        description="What versions before may have been wrong with that left no evidence to go on from."
    )


class FromLogView(BaseModel):
    """What was read of the log that the experiment began with."""

    attempts: Literal["first", "duels", "all"] = Field(description="Which attempts of the log may be read.")
    requests: int = Field(description="Requests in the log.")
    samples: int = Field(description="Samples of the arms in it that may be read; pairs, if those are what is read.")
    read: int = Field(description="How many of them the decision has used so far.")
    on_your_word: bool = Field(description="Has it one order, and was the word given that options are independent?")


class RateView(BaseModel):
    """How often attempts worked."""

    successes: int
    attempts: int


class AlarmView(BaseModel):
    """What is on record that a verdict could not bear, and what to do about it."""

    kind: Literal["drift", "dependence", "position", "memory", "losses"]
    option: SentLabel
    log10_evidence: float = Field(description="The most evidence that was reached, as a power of ten.")
    level: float = Field(description="The evidence that it took.")
    since: int = Field(description="The request with which it began; those of a log that it began with come first.")
    noticed: int = Field(description="The request at which it was noticed.")
    before: RateView
    after: RateView
    sentence: str
    remedy: str
    evidence: str = Field(description="When it was noticed and how much evidence there is, in words.")
    picture: str | None = Field(description="What it is about, as SVG; null behind the first dozen of alarms.")


class GoalView(BaseModel):
    """What its policy looks for."""

    delta: float | None = Field(description="How often the answer may be wrong; null where the policy is not told.")
    k: int = Field(description="How many arms the answer has.")
    tolerance: float = Field(description="How far below the k-th best mean an arm may be and still be a right answer.")
    neighbours: int = Field(description="How many places an arm may be away from a right answer and still be one.")
    budget: int | None = Field(description="The plays that the policy takes at most, where it has a limit of its own.")
    costs: list[float] = Field(
        description="What a try of each arm costs, if the arm with most successes per cost is looked for; else empty."
    )


class LearningView(BaseModel):
    """What whole chains have cost so far, and what as many plays in the best order known would have."""

    plays: int
    attempts: int
    failed: int = Field(description="Plays in which nothing worked.")
    of_best_order: float = Field(description="Attempts that the best order would have taken, reckoned from estimates.")
    cost: float | None = Field(description="The cost of the attempts, where costs are known.")
    cost_of_best_order: float | None


class EstimatedOut(BaseModel):
    """A mean with its limits."""

    mean: float
    low: float | None = Field(description="Null where there is too little to go by.")
    high: float | None = Field(description="Null where there is too little to go by; beside a low, if it has no limit.")
    proved: bool = Field(
        description="Do the limits hold at all times together? Those that do not are asymptotic, and hold for those "
        "who begin to look late enough: so it is where nothing says how large a number can be."
    )


class OptionExpenses(BaseModel):
    """What first attempts say of an arm; null where there is nothing to say."""

    option: SentLabel
    tries: int
    successes: int
    success: EstimatedOut | None
    seconds: EstimatedOut | None
    cost: EstimatedOut | None = Field(description="As it is known, or as it was measured.")
    success_per_cost: EstimatedOut | None


class ExpensesOut(BaseModel):
    """What first attempts took and cost in all processes that have told it. No verdict goes by it."""

    confidence: float = Field(description="That of every limit.")
    sources: int = Field(description="Processes that are kept apart; the sums have those of earlier ones, too.")
    at: float | None = Field(
        description="When the last of them told something; null if none has. Unix time, in seconds."
    )
    costs: Literal["known", "measured"] | None
    order: list[SentLabel] | None = Field(
        description="All arms by success per cost, as first attempts say; null before there are ten of each."
    )
    arms: int = Field(
        description="How many arms there are; a view has 25 of them at most, those with most successes per cost."
    )
    options: list[OptionExpenses]


class Kept(BaseModel):
    """Was it kept? If not, the sums of this source were added to those of others: begin anew, under another name."""

    kept: bool
    sources: int = Field(description="Processes that have told so far, this one included; 0 if it was not kept.")


class Forgotten(BaseModel):
    """Of how many sources it was."""

    forgotten: int


class SourceOut(BaseModel):
    """What one process has told, all arms together."""

    source: str | None = Field(description="Its name; null for all that are gone, which are added up.")
    at: float = Field(description="When it last told something. Unix time, in seconds.")
    tries: int
    successes: int
    seconds: float = Field(description="How long its attempts took together.")
    most_seconds: float | None = Field(description="The most that it says one can take; limits are wide by it.")
    cost: float
    most_cost: float | None


class SourceList(BaseModel):
    """Those that are kept apart, the one that told longest ago first."""

    sources: list[SourceOut]


class View(BaseModel):
    """All that the live page shows of an experiment."""

    id: str
    name: str
    status: RunStatus
    linkage: str
    linkage_words: str = Field(description='How a sentence goes on that begins with "Arms are tried".')
    policy: PolicyView
    assumptions: list[AssumptionOut] = Field(description="What its policy takes for granted.")
    goal: GoalView
    created_at: float
    head: int
    plays: int
    in_flight: int
    abandoned: int
    late: int
    waiting: int = Field(description="Plays told that the decision will use when answers before them have come.")
    max_plays: int | None
    from_log: FromLogView | None
    upgrade: UpgradeView | None
    done: bool
    verdict: VerdictOut | None
    leading: VerdictOut
    leads: bool = Field(
        description="Is there enough to say who leads? Ten samples of every arm that is still in, or the verdict."
    )
    order: list[SentLabel] = Field(description="All arms in the best order known; what is served after the verdict.")
    learning: LearningView | None = Field(description="What the experiment has cost; null without whole chains.")
    before: BeforeOut | None = Field(description="What it goes on from, if anything.")
    successor: str | None = Field(description="The experiment that goes on from this one.")
    tags: list[str]
    only_first_tries: bool = ONLY_FIRST_TRIES
    arms: ArmsView
    expenses: ExpensesOut | None = Field(
        description="What first attempts took and cost; null if no process has told it."
    )
    outlook: OutlookView
    alarms: list[AlarmView] = Field(description="What speaks against what a verdict needs; looked for now and then.")
    alarms_after: int | None = Field(description="Plays told when alarms were last looked for; null if not yet.")
    history: list[tuple[int, float, int]] = Field(description="Journal number, Unix time, plays.")


class Me(BaseModel):
    """The role of the caller; without tokens, on this machine, every caller is an admin.

    ``name`` is that of the token or of the user; ``limited`` says that only some experiments are there for the caller.
    """

    role: Role
    name: str | None = None
    limited: bool = False


class AuditActor(BaseModel):
    """Who did it: a token, a user whom a proxy has signed in, somebody at the command line, anyone, or the service."""

    kind: Literal["token", "user", "command-line", "anyone", "service"]
    id: str | None = None
    name: str | None = None


class AuditEntryOut(BaseModel):
    """One thing that was done; ``subject`` is the identifier of the experiment or token that it was done to."""

    id: str
    at: float
    action: Action
    by: AuditActor
    subject: str | None
    details: dict[str, Any]


class AuditPage(BaseModel):
    """Entries of the audit, the newest first; ``next`` is what to send as ``before`` for older ones, if there are."""

    entries: list[AuditEntryOut]
    next: str | None


class Health(BaseModel):
    """Whether the service is up."""

    status: Literal["ok"] = "ok"
    version: str


class DeliveryOut(BaseModel):
    """A message to a webhook."""

    id: str = Field(description="In the header webhook-id; the same however often it is sent.")
    kind: EventKind | Literal["test"]
    experiment: str | None
    at: float = Field(description="When it happened: Unix time, in seconds.")
    state: DeliveryState
    attempts: int
    said: str | None = Field(description="What came of the last attempt.")


class WebhookOut(BaseModel):
    """A webhook, and the last messages to it."""

    id: str
    url: str
    experiment: str | None = Field(description="null: all of them.")
    events: list[EventKind]
    created_at: float = Field(description="Unix time, in seconds.")
    deliveries: list[DeliveryOut] = Field(description="The latest first.")


class NewWebhookOut(WebhookOut):
    """A webhook that was just made."""

    secret: str = Field(description="For the receiver to verify signatures with. It is not shown again.")


class WebhookList(BaseModel):
    """Webhooks, oldest first."""

    webhooks: list[WebhookOut]
