"""What the clients send, and how they read the answers; how it travels is theirs.

An answer that is a problem document becomes the error that an experiment in this process would have raised.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, Generic, NamedTuple, TypeGuard, TypeVar
from urllib.parse import quote

from linkedbandits.assumptions import INDEPENDENT_OPTIONS, Assumption
from linkedbandits.attempts.alarms import Alarm, Rate
from linkedbandits.attempts.log import AttemptLog, Which
from linkedbandits.checks import check_probability
from linkedbandits.errors import ConflictingTell, InvalidParameter, LinkedBanditError, UnexpectedAnswer
from linkedbandits.intervals import Estimated
from linkedbandits.linkage import find_linkage
from linkedbandits.live import Before, Estimate, FromLog, Learning, Play, Receipt, Upgrade
from linkedbandits.live.warm_start import Others
from linkedbandits.model import Label, Verdict
from linkedbandits.option_estimates import FirstAttempts, OptionEstimate, OptionEstimates
from linkedbandits.policies import describe_policy, make_policy
from linkedbandits.policy import AnyPolicy, linkage_of
from linkedbandits.service.problem_types import PREFIX, error_for

T = TypeVar("T")

LONGEST_REQUEST_ID = 200


@dataclass(frozen=True)
class Call(Generic[T]):
    """A request, and what its answer means. One that is not ``repeatable`` might be carried out twice if sent twice.

    ``key`` is sent as the header Idempotency-Key, and ``request_id``, the same for all attempts, as X-Request-Id. One
    that ``removes`` has done so where an attempt was not answered and the next is told that nothing is there. ``read``
    raises a KeyError, IndexError, TypeError or ValueError where
    the answer is not one to this request.
    """

    method: str
    path: str
    read: Callable[[Any], T]
    body: dict[str, Any] | None = None
    repeatable: bool = True
    key: str | None = None
    removes: bool = False
    request_id: str | None = None


@dataclass(frozen=True, slots=True)
class Told:
    """What became of each answer, in order; of a refused one, why. ``done`` says whether there is a verdict."""

    receipts: list[Receipt | LinkedBanditError]
    done: bool

    def note_request(self, request_id: str | None) -> None:
        """Say of refused answers in which request they were."""
        for receipt in self.receipts:
            if isinstance(receipt, LinkedBanditError):
                note_request(receipt, request_id)


class Listed(NamedTuple):
    """An experiment in a list."""

    id: str
    name: str
    status: str


def experiments() -> Call[list[Listed]]:
    """All experiments, oldest first."""
    return Call("GET", "/v1/experiments", _listed)


def create(
    name: str,
    arms: Sequence[Label],
    policy: AnyPolicy,
    linkage: str | None,
    seed: int,
    max_plays: int | None,
    parallel: int | None,
    lease_seconds: float,
    whole_chains: bool = False,
    log: AttemptLog | None = None,
    log_attempts: Which = "first",
    log_others: Others = "refuse",
    log_independent: bool = False,
    log_judged: float | None = None,
    key: str | None = None,
    tags: Sequence[str] = (),
) -> Call[str]:
    """Open an experiment; its identifier. The key makes it repeatable.

    It goes as a header, which a service that is too old to know it takes no notice of; a field it would refuse.
    """
    body: dict[str, Any] = {
        "name": name,
        "arms": list(arms),
        "policy": describe_policy(policy),
        "linkage": linkage_of([policy], linkage).name,
        "seed": seed,
        "max_plays": max_plays,
        "parallel": parallel,
        "lease_seconds": lease_seconds,
    }
    if whole_chains:
        body["whole_chains"] = True
    if log is not None:  # else an older service would not know the names
        logged = [{"order": list(order), "hit": hit} for order, hit in log.plays()]
        body |= {"log": logged, "log_attempts": log_attempts, "log_others": log_others}
        if log_independent:
            body["log_independent"] = True
        if spent := log.judged() if log_judged is None else log_judged:
            body["log_judged"] = spent
    if tags:
        body["tags"] = list(tags)
    return Call("POST", "/v1/experiments", lambda found: str(found["id"]), body, key is not None, key)


def successor(experiment: str, arms: Sequence[Label] | None, keep: bool, why: str) -> Call[str]:
    """Go on with a new experiment; its identifier. There is one for good, so it can be sent again."""
    body: dict[str, Any] = {"arms": None if arms is None else list(arms), "keep": keep, "why": why}
    return Call("POST", f"{_path(experiment)}/successor", lambda found: str(found["id"]), body)


def before(experiment: str) -> Call[Before | None]:
    """What it goes on from."""
    return Call("GET", _path(experiment), _before)


def previous(experiment: str) -> Call[str | None]:
    """The identifier of what it goes on from."""
    return Call("GET", _path(experiment), lambda found: (found.get("before") or {}).get("experiment"))


def following(experiment: str) -> Call[str | None]:
    """The identifier of what goes on from it."""
    return Call("GET", f"{_path(experiment)}/view", lambda found: found.get("successor"))


def delete(experiment: str, force: bool) -> Call[None]:
    """Delete it; told again, there is no such experiment."""
    return Call("DELETE", f"{_path(experiment)}{'?force=true' if force else ''}", lambda _: None, removes=True)


def set_status(experiment: str, verb: str) -> Call[str]:
    """Pause, resume or archive; the status it has now."""
    return Call("POST", f"{_path(experiment)}/{verb}", lambda found: str(found["status"]))


def ask(experiment: str, count: int, key: str) -> Call[list[Play]]:
    """Plays. The key makes it repeatable. The arms of equal plays are sent once, but by older services."""
    return Call("POST", f"{_path(experiment)}/ask?tuples=true", _plays, {"count": count, "key": key})


def tell(experiment: str, answers: Sequence[tuple[int, Label | None]]) -> Call[Told]:
    """Answers."""
    body = {"answers": [{"play": play, "hit": hit} for play, hit in answers]}
    return Call("POST", f"{_path(experiment)}/tell", lambda found: _told(found, len(answers)), body)


def abandon(experiment: str, plays: Sequence[int], unused: bool = False) -> Call[int]:
    """Give plays back; how many of them were out?"""
    body = {"plays": list(plays), "unused": unused}
    return Call("POST", f"{_path(experiment)}/abandon", lambda found: int(found["abandoned"]), body)


def recommend(experiment: str) -> Call[tuple[bool, Verdict]]:
    """Is there a verdict, and which; before there is, the arm that leads."""
    return Call("GET", f"{_path(experiment)}/verdict", lambda found: (found["done"], _verdict(found)))


def assumptions(experiment: str) -> Call[tuple[Assumption, ...]]:
    """What its policy takes for granted."""
    return Call("GET", _path(experiment), _assumptions)


def upgrade(experiment: str) -> Call[Upgrade | None]:
    """With which version of the library it goes on, where that would have asked otherwise."""
    return Call("GET", f"{_path(experiment)}/view", _upgrade)


def from_log(experiment: str) -> Call[FromLog | None]:
    """What was read of the log that it began with."""
    return Call("GET", f"{_path(experiment)}/view", _from_log)


def alarms(experiment: str) -> Call[tuple[Alarm, ...]]:
    """What is on record that a verdict could not bear."""
    return Call("GET", f"{_path(experiment)}/view", _alarms)


def order(experiment: str) -> Call[tuple[Label, ...]]:
    """All arms in the best order known."""
    return Call("GET", f"{_path(experiment)}/view", lambda found: tuple(found["order"]))


def learning(experiment: str) -> Call[Learning | None]:
    """What whole chains have cost so far."""
    return Call("GET", f"{_path(experiment)}/view", _learning)


def estimates(experiment: str) -> Call[tuple[int, list[Estimate]]]:
    """Plays told so far, and what they say of each arm."""
    return Call("GET", f"{_path(experiment)}/estimates", _estimates)


def option_estimates(experiment: str, confidence: float) -> Call[OptionEstimates]:
    """What first attempts of all processes say of each arm."""
    check_probability("confidence", confidence)
    return Call("GET", f"{_path(experiment)}/expenses?confidence={float(confidence)!r}", _option_estimates)


def report_expenses(experiment: str, source: str, firsts: Mapping[Label, FirstAttempts]) -> Call[int]:
    """What first attempts of one process have come to; how many processes have told by now? 0 to begin anew."""
    options = [{"option": option, **first.to_json()} for option, first in firsts.items()]
    path = f"{_path(experiment)}/expenses/{_part(source)}"
    return Call("PUT", path, lambda found: int(found["sources"]), {"options": options})


def only_receipt(told: Told) -> Receipt:
    """The receipt of a single answer; raises why it was refused."""
    (receipt,) = told.receipts
    if isinstance(receipt, LinkedBanditError):
        raise receipt
    return receipt


def is_problem(content: Any) -> bool:
    """Is it a problem document?"""
    return isinstance(content, dict) and isinstance(content.get("type"), str)


def error_of(problem: Any) -> LinkedBanditError:
    """The error that a problem document speaks of, with what it has on record and the number of the request."""
    if not is_problem(problem):
        return UnexpectedAnswer(f"{problem!r:.200} is no problem document; is this address a linkedbandits service?")
    detail = str(problem.get("detail", problem.get("title", "")))
    invalid = problem["type"] == PREFIX + "invalid-request"
    error = InvalidParameter(detail) if invalid else error_for(problem["type"], detail)
    if error is None:
        status = problem.get("status")
        error = UnexpectedAnswer(f"{status} {detail}", status if isinstance(status, int) else None)
    if isinstance(error, ConflictingTell):
        error.on_record = problem.get("on_record")
    return note_request(error, problem.get("request_id"))


def note_request(error: LinkedBanditError, request_id: object) -> LinkedBanditError:
    """The same error with the number of its request, which the service's log has, too; unless it has one already.

    >>> str(note_request(UnexpectedAnswer("it broke"), "4f1c"))
    'it broke (request 4f1c)'
    """
    if is_request_id(request_id) and error.request_id is None:
        error.request_id = request_id
        error.args = (f"{error.args[0]} (request {request_id})", *error.args[1:])
    return error


def is_request_id(said: object) -> TypeGuard[str]:
    """Is it something to call a request by?"""
    return isinstance(said, str) and 0 < len(said) <= LONGEST_REQUEST_ID and said.isprintable()


def _path(experiment: str) -> str:
    """Where an experiment is. Whatever its name, it stays one part of the path; dots alone would be a step up.

    >>> _path("../x")
    '/v1/experiments/%2E%2E%2Fx'
    """
    return f"/v1/experiments/{_part(experiment)}"


def _part(name: str) -> str:
    return quote(name, safe="").replace(".", "%2E")


def _listed(found: Any) -> list[Listed]:
    return [Listed(one["id"], one["name"], one["status"]) for one in found["experiments"]]


def _plays(found: Any) -> list[Play]:
    if "tuples" in found:
        tuples = [(tuple(each["arms"]), tuple(each.get("rest", ()))) for each in found["tuples"]]
        if not all(0 <= place < len(tuples) for place in found["plays"]):
            raise ValueError("every play has one of the tuples")
        plays = [Play(number, *tuples[place]) for number, place in enumerate(found["plays"], start=found["first"])]
    else:
        plays = [Play(play["id"], tuple(play["arms"]), tuple(play.get("rest", ()))) for play in found["plays"]]
    if not plays:
        raise ValueError("there is at least one play in an answer")
    return plays


def _told(found: Any, answers: int) -> Told:
    if len(found["receipts"]) != answers:
        raise ValueError("there is one receipt an answer")
    receipts = [error_of(receipt) if isinstance(receipt, dict) else receipt for receipt in found["receipts"]]
    return Told(receipts, found["done"])


def _verdict(found: Any) -> Verdict:
    verdict = found["verdict"]
    return Verdict(
        verdict["arm"],
        verdict["status"],
        verdict["plays"],
        verdict["error_bound"],
        top=tuple(verdict["top"]),
        # A service that does not say is an older one, whose policies nearly all assumed this.
        assumes=tuple(verdict.get("assumes", [INDEPENDENT_OPTIONS.name])),
        contradicted=tuple(verdict.get("contradicted", ())),
    )


def _assumptions(found: Any) -> tuple[Assumption, ...]:
    """As the service says; one that does not, an older one, still says what the policy is."""
    said = found.get("assumptions")
    if said is not None:
        return tuple(Assumption(*(each[field.name] for field in fields(Assumption))) for each in said)
    policy = make_policy(found["policy"]["name"], found["policy"]["parameters"])
    return policy.assumptions(find_linkage(found["linkage"]))


def _upgrade(found: Any) -> Upgrade | None:
    said = found.get("upgrade")
    return None if said is None else Upgrade.from_json({name: said[name] for name in Upgrade._fields})


def _from_log(found: Any) -> FromLog | None:
    said = found.get("from_log")
    return None if said is None else FromLog(*(said[name] for name in FromLog._fields))


def _before(found: Any) -> Before | None:
    said = found.get("before")
    if said is None:
        return None
    return Before(*(said[name] for name in Before._fields))._replace(arms=tuple(said["arms"]))


def _learning(found: Any) -> Learning | None:
    said = found.get("learning")
    return None if said is None else Learning(**{field.name: said[field.name] for field in fields(Learning)})


def _alarms(found: Any) -> tuple[Alarm, ...]:
    return tuple(_alarm(said) for said in found.get("alarms", ()))


def _alarm(said: dict[str, Any]) -> Alarm:
    """Words and pictures that the page is sent with it are left out."""
    rates: dict[str, Any] = {
        name: Rate(said[name]["successes"], said[name]["attempts"]) for name in ("before", "after")
    }
    return Alarm(**{field.name: said[field.name] for field in fields(Alarm) if field.name not in rates}, **rates)


def _estimates(found: Any) -> tuple[int, list[Estimate]]:
    return found["plays"], [Estimate(**estimate) for estimate in found["estimates"]]


def _option_estimates(found: Any) -> OptionEstimates:
    return OptionEstimates(
        OptionEstimate(
            said["option"],
            said["tries"],
            said["successes"],
            _estimated(said["success"]),
            _estimated(said["seconds"]),
            _estimated(said["cost"]),
            _estimated(said["success_per_cost"]),
        )
        for said in found["options"]
    )


def _estimated(said: dict[str, Any] | None) -> Estimated | None:
    """JSON has no infinity: what it has then is a lower limit without an upper one."""
    if said is None:
        return None
    endless = said["low"] is not None and said["high"] is None
    return Estimated(said["mean"], said["low"], math.inf if endless else said["high"], said["proved"])
