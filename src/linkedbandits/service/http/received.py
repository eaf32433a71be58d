"""What callers send, with examples: these models are the OpenAPI document and the validation in one.

Text may not hold control characters: PostgreSQL cannot store a NUL, and people cannot read the others. What is new may
not hold either what turns the text around it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field
from pydantic.config import JsonDict

from linkedbandits.errors import InvalidParameter
from linkedbandits.intervals import RunningMean
from linkedbandits.linkage import LINKAGES
from linkedbandits.model import Label
from linkedbandits.option_estimates import LARGEST, MOST_TRIES, SMALLEST, FirstAttempts
from linkedbandits.service.http.limits import (
    LONGEST_KEY,
    LONGEST_LABEL,
    LONGEST_LEASE,
    LONGEST_NAME,
    MOST_ARMS,
    MOST_PLAYS_A_REQUEST,
)
from linkedbandits.service.http.whole_numbers import LARGEST_EXACT, Whole
from linkedbandits.service.records import NOT_SEEN, what_is_not_seen
from linkedbandits.service.tags import LONGEST_TAG, MOST_TAGS
from linkedbandits.service.webhooks import EVENTS, LONGEST_URL, EventKind

_PRINTABLE = r"^[^\x00-\x1f\x7f]+$"
_SEEN = f"^[^{NOT_SEEN}]+$"
_LARGEST_COUNT = 2**62
_EACH_ONCE: JsonDict = {"uniqueItems": True}


def _refuse_whole(number: object) -> object:
    """Else a whole number that is too large for a label would be taken for the fraction next to it."""
    if isinstance(number, int):
        raise ValueError(f"a whole number beyond {LARGEST_EXACT} changes in a browser; send it as text")
    return number


def _seen(text: str) -> str:
    """In words, where the pattern that the schema has would be all that is said."""
    wrong = what_is_not_seen(text)
    if wrong is not None:
        raise ValueError(f"the text {wrong}")
    return text


_SCHEMA_OF_SEEN: JsonDict = {"pattern": _SEEN}
_SCHEMA_OF_NAMES: JsonDict = {"type": "string", "minLength": 1, "maxLength": LONGEST_NAME, "pattern": _SEEN}
Name = Annotated[
    str,
    Field(min_length=1, max_length=LONGEST_NAME, json_schema_extra=_SCHEMA_OF_SEEN, strict=True),
    AfterValidator(_seen),
]
Tag = Annotated[
    str,
    Field(
        min_length=1,
        max_length=LONGEST_TAG,
        pattern=rf"^[^\s,{NOT_SEEN}]([^,{NOT_SEEN}]*[^\s,{NOT_SEEN}])?$",
        strict=True,
    ),
]
Key = Annotated[str, Field(min_length=1, max_length=LONGEST_KEY, pattern=_SEEN, strict=True)]
_NoFraction = (
    Annotated[bool, Field(strict=True)] | Annotated[int, Field(strict=True, ge=-LARGEST_EXACT, le=LARGEST_EXACT)]
)
_Fraction = Annotated[float, Field(strict=True, allow_inf_nan=False)]
# No schema tells 1e17 from the same number written out, so what is new may be neither.
_NewFraction = Annotated[
    float,
    Field(strict=True, allow_inf_nan=False, ge=-LARGEST_EXACT, le=LARGEST_EXACT),
    BeforeValidator(_refuse_whole),
]
# Experiments that were opened before there was a rule for labels go on, so what names an arm may be anything they have.
ReceivedLabel = (
    Annotated[str, Field(min_length=1, max_length=LONGEST_LABEL, pattern=_PRINTABLE, strict=True)]
    | _NoFraction
    | _Fraction
)
NewLabel = (
    Annotated[
        str,
        Field(min_length=1, max_length=LONGEST_LABEL, json_schema_extra=_SCHEMA_OF_SEEN, strict=True),
        AfterValidator(_seen),
    ]
    | _NoFraction
    | _NewFraction
)
PlayId = Annotated[int, Whole(0, _LARGEST_COUNT)]
Count = Annotated[int, Whole(1, _LARGEST_COUNT)]
Parameter = (
    Annotated[str, Field(max_length=LONGEST_NAME, pattern=r"^[^\x00-\x1f\x7f]*$", strict=True)]
    | Annotated[bool, Field(strict=True)]
    | Annotated[int, Field(strict=True, ge=-_LARGEST_COUNT, le=_LARGEST_COUNT)]
    | Annotated[float, Field(strict=True, allow_inf_nan=False)]
    | Annotated[list[Annotated[float, Field(strict=True, allow_inf_nan=False)]], Field(max_length=MOST_ARMS)]
    | None
)


class Received(BaseModel):
    """Something a caller sends; a field that does not exist is a mistake, not a wish."""

    model_config = ConfigDict(extra="forbid")


class PolicyChoice(Received):
    """A policy by name, with its parameters."""

    name: Name = "linked-elimination"
    parameters: dict[Name, Parameter] = Field(
        default={"delta": 0.05}, max_length=20, json_schema_extra={"propertyNames": _SCHEMA_OF_NAMES}
    )


if TYPE_CHECKING:
    LinkageName = str
else:
    LinkageName = Literal[tuple(LINKAGES)]  # so that the schema names those that there are


class LoggedRequest(Received):
    """A request of a log: the options as they were offered, and the one that worked, or null.

    What comes after the hit was not tried.
    """

    order: list[ReceivedLabel] = Field(min_length=1, max_length=MOST_ARMS)
    hit: ReceivedLabel | None


class NewExperiment(Received):
    """An experiment to open."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "name": "payment gateways",
                    "arms": ["north", "east", "south"],
                    "policy": {"name": "linked-elimination", "parameters": {"delta": 0.05}},
                    "linkage": "ordered",
                    "lease_seconds": 60,
                }
            ]
        }
    )

    name: Name
    arms: list[NewLabel] = Field(min_length=2, max_length=MOST_ARMS, json_schema_extra=_EACH_ONCE)
    policy: PolicyChoice = PolicyChoice()
    linkage: LinkageName | None = Field(
        default=None, description="What a play may be; unless given, ordered, or free for a policy that needs it."
    )
    seed: Annotated[int, Whole(0, _LARGEST_COUNT)] = 0
    max_plays: Count | None = Field(default=None, description="End with the leading arm after this many answers.")
    parallel: Count | None = Field(default=None, description="How many plays may be out at once.")
    lease_seconds: float = Field(
        default=60.0,
        strict=True,
        gt=0,
        le=LONGEST_LEASE,
        description="A play that is not answered in this time goes back.",
    )
    whole_chains: bool = Field(
        default=False,
        strict=True,
        description="Plays have a rest, all other arms, to go on with when their arms have failed; an answer of null "
        "then means that nothing worked.",
    )
    key: Key | None = Field(
        default=None,
        description="The same key with the same experiment gets the one that was opened then, as long as it is there. "
        "Also read from the header Idempotency-Key.",
    )
    log: list[LoggedRequest] | None = Field(
        default=None,
        description="Requests from before, in the order they came, whose choice used the past alone: what they decide "
        "is not played. If it is too large for one body, send the last part of it.",
    )
    log_attempts: Literal["first", "duels", "all"] = Field(
        default="first",
        description="What of the log may be read: first attempts, the first two options of each request (for "
        "linked-duels), or all attempts, if options are independent.",
    )
    log_others: Literal["refuse", "ignore"] = Field(
        default="refuse", description="What becomes of options in the log that are no arms."
    )
    log_independent: bool = Field(
        default=False,
        strict=True,
        description="Your word that options are independent, for all attempts of a log in one order, which cannot show "
        "it.",
    )
    log_judged: float = Field(
        default=0.0,
        ge=0,
        le=1,
        description="The delta of verdicts that were asked of the log before, in sum: the error bound of the "
        "experiment covers them, too.",
    )

    tags: list[Tag] = Field(
        default=[], max_length=MOST_TAGS, description="Words to find it by, each once.", json_schema_extra=_EACH_ONCE
    )

    def check_log(self) -> None:
        """Refuse what is said of a log that is not there: fields that are valid, and make no sense together."""
        about = sorted(self.model_fields_set & {"log_attempts", "log_others", "log_independent", "log_judged"})
        if self.log is None and about:
            raise InvalidParameter(f"{about[0]} is about a log, and there is none; give log as well, or leave it out")


class TagsRequest(Received):
    """Words to find an experiment by, in place of those that it had."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"tags": ["cards", "eu"]}]})

    tags: list[Tag] = Field(max_length=MOST_TAGS, json_schema_extra=_EACH_ONCE)


class SuccessorRequest(Received):
    """What is to change: the arms, or everything that was told before, which says nothing any more after a drift."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"arms": ["north", "east", "west"], "why": "a new provider"}]}
    )

    arms: list[ReceivedLabel] | None = Field(
        default=None, min_length=2, max_length=MOST_ARMS, description="The same as before, if they are left out."
    )
    keep: bool = Field(default=True, strict=True, description="Is what was told before a log for the new one?")
    why: Name = Field(default="changed", description="For the record.")


class AskRequest(Received):
    """How many plays to hand out; with a key, asking again after a lost answer hands out the same ones."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"count": 2, "key": "web1-000017"}]})

    count: Annotated[int, Whole(1, MOST_PLAYS_A_REQUEST)] = 1
    key: Key | None = Field(default=None, description="Also read from the header Idempotency-Key.")


class Answer(Received):
    """How a play ended: the arm that succeeded, of the rest in whole chains, or null."""

    play: PlayId
    hit: ReceivedLabel | None


class TellRequest(Received):
    """Answers to plays. Telling the same answer again is harmless."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"answers": [{"play": 0, "hit": "east"}, {"play": 1, "hit": None}]}]}
    )

    answers: list[Answer] = Field(min_length=1, max_length=MOST_PLAYS_A_REQUEST)


class AbandonRequest(Received):
    """Plays that will not be answered. They count as lost, unless they were ``unused``: nothing of them was tried."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"plays": [4, 5]}]})

    plays: list[PlayId] = Field(min_length=1, max_length=MOST_PLAYS_A_REQUEST)
    unused: bool = Field(default=False, strict=True)


Sum = Annotated[float, Field(strict=True, ge=0, le=LARGEST, allow_inf_nan=False)]
Tries = Annotated[int, Whole(0, MOST_TRIES)]


class Sums(Received):
    """Numbers of at least 0 as sums; ``RunningMean`` of the library keeps them.

    With a `most` each square is that of the distance to (most/2 + sum before)/(1 + count before), else to the mean.
    """

    most: Annotated[float, Field(strict=True, ge=SMALLEST, le=LARGEST, allow_inf_nan=False)] | None = Field(
        default=None, description="The most that one can be, told before the first came: with it limits are proved."
    )
    count: Tries = 0
    total: Sum = 0.0
    squares: Sum = Field(default=0.0, description="The sum of squared distances.")

    def kept(self) -> RunningMean:
        """As the library has it."""
        return RunningMean(self.most, self.count, self.total, self.squares)


class OptionSums(Received):
    """What attempts of an arm came to that a call began with."""

    option: ReceivedLabel
    tries: Tries
    successes: Tries
    seconds: Sums = Field(description="How long each of them took.")
    cost: Sums = Field(default=Sums(), description="What each of them has cost, of those for which that is known.")


class ExpensesReport(Received):
    """All that one process has seen so far. It takes the place of what the same one told before."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "options": [
                        {
                            "option": "north",
                            "tries": 2,
                            "successes": 1,
                            "seconds": {"most": 2.0, "count": 2, "total": 0.5, "squares": 0.8125},
                        }
                    ]
                }
            ]
        }
    )

    options: list[OptionSums] = Field(min_length=1, max_length=MOST_ARMS)

    def firsts(self) -> list[tuple[Label, FirstAttempts]]:
        """As the library has them."""
        return [
            (said.option, FirstAttempts(said.seconds.kept(), said.cost.kept(), said.tries, said.successes))
            for said in self.options
        ]


class NewWebhook(Received):
    """Where to send what happens, and what of it."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"url": "https://example.org/hook", "events": ["verdict", "alarm"]}]}
    )

    url: str = Field(
        min_length=8,
        max_length=LONGEST_URL,
        pattern=r'^https?://(\[[0-9A-Fa-f:.]+\]|[0-9A-Za-z._-]+)(:[0-9]{1,5})?([/?][!"$-~]*)?$',
        strict=True,
        description="Of a web server that others can reach; the service may be allowed to send to private ones.",
    )
    events: list[EventKind] = Field(
        default=["verdict", "alarm"], min_length=1, max_length=len(EVENTS), description="What is told."
    )
    experiment: str | None = Field(
        default=None,
        max_length=64,
        pattern="^[0-9a-zA-Z_-]+$",
        strict=True,
        description="Of which experiment; of all, if it is left out.",
    )
