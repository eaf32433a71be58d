"""Which column of a log means what: guessed from the names that people use, or given."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TypedDict

from linkedbandits.errors import InvalidAttempts, InvalidParameter

_NAMES = {
    "request": "request requestid req reqid rid requestuuid requestkey trace traceid correlationid correlation session "
    "sessionid transaction transactionid txn txnid job jobid task taskid call callid query queryid conversationid "
    "message messageid orderid paymentid charge chargeid invocation invocationid operationid requestnumber uuid",
    "option": "option provider backend model server endpoint gateway target upstream vendor arm carrier processor "
    "service supplier replica psp acquirer engine optionname "
    "providername modelname modelid backendname servername gatewayname genairequestmodel upstreamhost upstreamaddr "
    "deployment",
    "outcome": "outcome success succeeded ok status statuscode httpstatus httpstatuscode httpcode responsecode "
    "responsestatus httpresponsestatuscode result error err exception errormessage errortype errorcode failure failed "
    "failurereason reward worked issuccess successful issuccessful iserror hit exitcode returncode resultcode state "
    "upstreamstatus",
    "position": "attempt attemptnumber attemptno attemptindex attemptid try tryno trynumber position pos rank retry "
    "retrycount retrynumber step place ordinal fallbackindex hop",
    "time": "time ts timestamp createdat datetime date startedat starttime eventtime loggedat when attemptedat at "
    "timestampms tsms timelocal timeiso8601 unixtime epoch timestamputc time_utc createdtime",
    "cost": "cost price usd costusd priceusd eur costeur amount fee costs spend totalcost",
    "seconds": "seconds secs ms latency latencyms latencys latencyseconds latencyus latencyns duration durationms "
    "durations durationseconds durationus durationns elapsed elapsedms elapsedseconds responsetime responsetimems "
    "took tookms runtime runtimems requesttime upstreamresponsetime",
    "order": "order options sequence chain candidates providers backends models servers routes fallbacks ranking tried "
    "attempts attempted triedoptions triedproviders triedmodels "
    "offered play plan ordering optionsinorder providerorder modelorder arms",
    "hit": "hit winner worked served servedby winningoption chosen answeredby successfuloption successby succeeded "
    "workingoption selected succeededat successoption answer resolvedby",
}
_KNOWN = {meaning: frozenset(name.replace("_", "") for name in names.split()) for meaning, names in _NAMES.items()}

_TRIED = frozenset(["tried", "attempted", "triedoptions", "triedproviders", "triedmodels", "upstreamaddr"])
"""Names of an order that has nothing but what was tried."""
_NGINX = {"order": "upstreamaddr", "outcome": "upstreamstatus", "seconds": "upstreamresponsetime"}
"""nginx writes a row a request, with all that was tried in the first two, and how long it took in the third."""

OF_AN_ATTEMPT = ("request", "option", "outcome")
OF_A_REQUEST = ("order", "hit")
OF_WHAT_WAS_TRIED = ("order", "outcome")
"""Of a request as well: a list of the options tried, with an outcome for each, or one for the last."""
BESIDE_ATTEMPTS = ("position", "time", "cost", "seconds")
BESIDE_REQUESTS = ("time", "cost", "seconds")

_SCALES = {"ms": 1e-3, "millis": 1e-3, "milliseconds": 1e-3, "us": 1e-6, "micros": 1e-6, "ns": 1e-9, "nanos": 1e-9}


class ColumnNames(TypedDict, total=False):
    """The column for a meaning: its name, "" if there is none, and None, or nothing, to have it guessed."""

    request: str | None
    option: str | None
    outcome: str | None
    position: str | None
    time: str | None
    cost: str | None
    seconds: str | None
    order: str | None
    hit: str | None


@dataclass(frozen=True)
class Layout:
    """Which shape a log has, and the name of its column for each meaning."""

    a_row_a_request: bool
    names: dict[str, str]
    given: frozenset[str] = frozenset()
    """Meanings whose column the user has named."""

    def __getitem__(self, meaning: str) -> str:
        return self.names[meaning]

    def __contains__(self, meaning: object) -> bool:
        return meaning in self.names

    @property
    def has_what_was_tried(self) -> bool:
        """Is the order one of options that were tried, so that nothing is behind the one that worked?"""
        return "outcome" in self or plain(self["order"]) in _TRIED

    @property
    def result(self) -> str:
        """What says how it ended: the outcome, or which option worked."""
        return "outcome" if "outcome" in self else "hit"

    @property
    def pairs(self) -> tuple[tuple[str, str], ...]:
        """(meaning, column), to be shown."""
        return tuple(self.names.items())


UNIMPORTANT = ("cost", "seconds")
"""What no verdict depends on: of several columns that could be it none is taken, unless one is given."""


def layout_of(
    columns: Sequence[str], given: Mapping[str, str | None], where: str, blank: Collection[str] = ()
) -> Layout:
    """The layout of a log with these columns.

    ``given`` names the column for a meaning; "" says that there is none, and None that it is to be guessed. Of the
    ``blank`` ones none is the option, unless it is given.

    >>> layout_of(["Trace-ID", "Provider", "http_status", "note"], {}, "log.csv").names
    {'request': 'Trace-ID', 'option': 'Provider', 'outcome': 'http_status'}
    >>> layout_of(["order", "hit", "ts"], {}, "log.csv").names
    {'order': 'order', 'hit': 'hit', 'time': 'ts'}
    >>> layout_of(["request", "upstream_addr", "status", "upstream_status"], {}, "log.csv").names
    {'order': 'upstream_addr', 'outcome': 'upstream_status'}
    """
    _check_given(columns, given, where)
    named = frozenset(meaning for meaning, name in given.items() if name)
    given = _as_nginx_has_it(columns, given)
    needed = _shape_of(columns, given, where)
    a_row_a_request = needed != OF_AN_ATTEMPT
    beside = BESIDE_REQUESTS if a_row_a_request else BESIDE_ATTEMPTS
    _check_that_it_belongs(given, {*needed, *beside, "request"}, a_row_a_request)
    taken = {name for meaning in (*needed, *beside) if (name := given.get(meaning))}
    names = {}
    for meaning in (*needed, *beside):
        left_out = {*taken, *(blank if meaning == "option" else ())}
        name = _column_for(meaning, [column for column in columns if column not in left_out], given, where)
        if name is not None:
            names[meaning] = name
            taken.add(name)
        elif meaning in needed:
            raise _missing(meaning, columns, where)
    return Layout(a_row_a_request, names, named)


def seconds_in_one(column: str) -> float:
    """How many seconds a column of durations counts by, going by the end of its name; one if it does not say.

    >>> seconds_in_one("latency_ms"), seconds_in_one("duration")
    (0.001, 1.0)
    """
    words = re.sub(r"([a-z])([A-Z])", r"\1 \2", column).lower()
    return _SCALES.get(re.split(r"[^a-z]+", words.strip(" )]"))[-1], 1.0)


def plain(name: str) -> str:
    """The name of a column without what people write in different ways."""
    return re.sub(r"[\W_]+", "", name.lower())


def _candidates(meaning: str, columns: Sequence[str]) -> list[str]:
    """Columns with a known name; of those inside of others, as in a JSON object, the last part may be it."""
    known = _KNOWN[meaning]
    found = [column for column in columns if {plain(column), plain(column.rpartition(".")[2])} & known]
    return [column for column in found if not any(column.startswith(f"{other}.") for other in found)]


def _column_for(meaning: str, columns: Sequence[str], given: Mapping[str, str | None], where: str) -> str | None:
    name = given.get(meaning)
    if name is not None:
        return name or None
    found = _candidates(meaning, columns)
    exact = [column for column in found if plain(column) == meaning]
    numbered = [column for column in found if plain(column).endswith("id")]
    if meaning == "request" and len(numbered) == 1:  # where there is an id, "request" is what was asked for
        return numbered[0]
    lists = [column for column in found if plain(column) in _TRIED]
    offered = [column for column in found if column not in lists]
    if meaning == "order" and offered and lists:  # with the first alone, requests that were cut off could not be told
        raise InvalidAttempts(
            f"{where} has the options as they were offered ({offered[0]!r}) and as they were tried ({lists[0]!r}); say "
            f"order={lists[0]!r} if some requests ended before an option worked or all had failed, else "
            f"order={offered[0]!r}"
        )
    if len(exact) == 1:  # a column that bears the very name needs no guess
        return exact[0]
    if len(found) > 1 and meaning in UNIMPORTANT:
        return None
    if len(found) > 1:
        which = f"{meaning}={found[0]!r}"
        if meaning == "outcome":  # a status may be blank, or an error say nothing, where an attempt has failed
            which = f"{meaning}=..., one that tells every failure from every success"
        raise InvalidAttempts(
            f"{where} has {len(found)} columns that could be the {meaning}: {' and '.join(map(repr, found))}; say "
            f"which with {which}" + ("" if meaning in OF_AN_ATTEMPT else f', or {meaning}="" for none')
        )
    return found[0] if found else None


def _as_nginx_has_it(columns: Sequence[str], given: Mapping[str, str | None]) -> Mapping[str, str | None]:
    """The two columns in which nginx lists what was tried, unless the user names others."""
    if any(given.get(meaning) for meaning in ("option", "outcome", "order", "hit")):
        return given
    found = {
        meaning: same[0]
        for meaning, name in _NGINX.items()
        if len(same := [column for column in columns if plain(column) == name]) == 1
    }
    if not {"order", "outcome"} <= found.keys():
        return given
    return {**found, **{meaning: name for meaning, name in given.items() if name is not None}}


def _shape_of(columns: Sequence[str], given: Mapping[str, str | None], where: str) -> tuple[str, ...]:
    """What a row needs: as one of an attempt, or as one of a request."""
    says = {meaning for meaning in ("option", "outcome", "order", "hit") if given.get(meaning)}
    if says & {"order", "hit"} and says & {"option", "outcome"} and says != set(OF_WHAT_WAS_TRIED):
        raise InvalidAttempts(
            "order and hit are of logs with a row for each request, option and outcome of logs with a row for each "
            "attempt; give one or the other, or order and outcome, if a row has a list of what was tried"
        )
    if says == set(OF_WHAT_WAS_TRIED):
        return OF_WHAT_WAS_TRIED
    if says & {"order", "hit"}:
        return OF_A_REQUEST
    if says:
        return OF_AN_ATTEMPT
    requests, attempts, tried = (
        all(given.get(meaning) != "" and _candidates(meaning, columns) for meaning in shape)
        for shape in (OF_A_REQUEST, OF_AN_ATTEMPT, OF_WHAT_WAS_TRIED)
    )
    if requests and attempts:
        raise InvalidAttempts(
            f"{where} could have a row for each request ({_shown(OF_A_REQUEST, columns)}) or for each attempt "
            f"({_shown(OF_AN_ATTEMPT, columns)}); say which with order= and hit=, or with option= and outcome="
        )
    if requests or attempts or not tried:
        return OF_A_REQUEST if requests else OF_AN_ATTEMPT
    order = _candidates("order", columns)
    if len(order) == 1 and plain(order[0]) in _TRIED:
        return OF_WHAT_WAS_TRIED
    raise InvalidAttempts(
        f"{where} has no column whose name says which option worked, and an outcome ("
        f"{_shown(OF_WHAT_WAS_TRIED, columns)}); if a row lists the options that were tried, up to the last, say so "
        f"with order={order[0]!r} and outcome={_candidates('outcome', columns)[0]!r}"
    )


def _shown(meanings: Sequence[str], columns: Sequence[str]) -> str:
    return ", ".join(f"{meaning} in {_candidates(meaning, columns)[0]!r}" for meaning in meanings)


def _check_given(columns: Sequence[str], given: Mapping[str, str | None], where: str) -> None:
    for meaning, name in given.items():
        if meaning not in _NAMES:
            raise InvalidParameter(f"{meaning}={name!r} is unknown; columns are {', '.join(_NAMES)}")
        if name and columns.count(name) != 1:
            raise InvalidAttempts(
                f"{where} has {columns.count(name) or 'no'} column{'s' * (name in columns)} {name!r}, which was given "
                f"as {meaning}; it has {_listed(columns)}"
            )


def _check_that_it_belongs(given: Mapping[str, str | None], known: set[str], a_row_a_request: bool) -> None:
    for meaning, name in given.items():
        if name and meaning not in known:
            each = "request" if a_row_a_request else "attempt"
            raise InvalidAttempts(
                f"{meaning}={name!r} has no meaning in a log with a row for each {each}; leave it out, or give a log "
                f"with a row for each {'attempt' if a_row_a_request else 'request'}"
            )


def _missing(meaning: str, columns: Sequence[str], where: str) -> InvalidAttempts:
    remedy = (
        f"say which with {meaning}=..."
        if meaning in OF_A_REQUEST
        else f"say which with {meaning}=..., or give order=... and hit=... if there is a row for each request"
    )
    return InvalidAttempts(
        f"{where} has no column whose name says that it is the {meaning}; it has {_listed(columns)}: {remedy}"
    )


def _listed(columns: Sequence[str]) -> str:
    shown = ", ".join(map(repr, columns[:30]))
    return shown + (f" and {len(columns) - 30} more" if len(columns) > 30 else "") if columns else "none"
