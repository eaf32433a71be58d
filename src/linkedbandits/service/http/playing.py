"""Ask, tell and the like, from a request that was understood to the answer: by the server that owns the experiment."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence

from starlette.responses import Response

from linkedbandits.errors import ConflictingTell
from linkedbandits.live import Play
from linkedbandits.model import Label
from linkedbandits.service.hosted import HostedExperiment
from linkedbandits.service.http import commands
from linkedbandits.service.http.limits import LARGEST_ASKED
from linkedbandits.service.http.problems import document_response, problem_of
from linkedbandits.service.http.received import AskRequest, ExpensesReport, TellRequest
from linkedbandits.service.http.service import Service
from linkedbandits.service.replies import AskReply, Refused
from linkedbandits.service.reply_size import ReplyLimit

_LIMITS = {tuples_once: ReplyLimit(LARGEST_ASKED, tuples_once) for tuples_once in (False, True)}


async def ask(
    service: Service, experiment: str, wanted: AskRequest, key: str | None = None, tuples_once: bool = False
) -> Response:
    """Hand out plays; ``key`` counts where the request has none of its own."""
    key = wanted.key or key
    forwarded = await service.forwarding.answer(
        experiment,
        lambda: commands.ask(experiment, wanted.count, key, tuples_once),
        repeatable=key is not None,  # without one, what is asked once more hands out other plays
    )
    return forwarded or await ask_here(service, experiment, wanted.count, key, tuples_once)


async def ask_here(service: Service, experiment: str, count: int, key: str | None, tuples_once: bool) -> Response:
    """The same, by this server."""
    asked = await service.bring(service.desk.ask(experiment, count, key, _LIMITS[tuples_once]))
    if not asked.repeated:
        service.metrics.asked(len(asked.plays))
    return Response(encode_tuples(asked) if tuples_once else encode_asked(asked), media_type="application/json")


async def tell(service: Service, experiment: str, told: TellRequest, instance: str) -> Response:
    """Take in answers. Of a single one that is refused, the answer is the problem itself."""
    answers = [(answer.play, answer.hit) for answer in told.answers]
    forwarded = await service.forwarding.answer(
        experiment, lambda: commands.tell(experiment, answers, instance), repeatable=True
    )
    return forwarded or await tell_here(service, experiment, answers, instance)


async def tell_here(
    service: Service, experiment: str, answers: Sequence[tuple[int, Label | None]], instance: str
) -> Response:
    """The same, by this server."""
    outcome = await service.bring(service.desk.tell(experiment, answers))
    service.metrics.told("refused" if isinstance(receipt, Refused) else receipt for receipt in outcome.receipts)
    receipts: list[object] = list(outcome.receipts)
    for index, receipt in enumerate(outcome.receipts):
        if isinstance(receipt, Refused):
            problem = await _describe(service, experiment, answers[index][0], receipt, instance)
            if len(receipts) == 1:
                return document_response(problem)
            receipts[index] = problem
    return Response(_compact({"receipts": receipts, "done": outcome.done}), media_type="application/json")


async def abandon(service: Service, experiment: str, plays: Sequence[int], unused: bool) -> Response:
    """Give plays up; to do it twice does no harm, but then the answer is that none of them was out."""
    forwarded = await service.forwarding.answer(
        experiment, lambda: commands.abandon(experiment, plays, unused), repeatable=True
    )
    return forwarded or await abandon_here(service, experiment, plays, unused)


async def abandon_here(service: Service, experiment: str, plays: Sequence[int], unused: bool) -> Response:
    """The same, by this server."""
    abandoned = await service.bring(service.desk.abandon(experiment, plays, unused))
    return Response(_compact({"abandoned": abandoned}), media_type="application/json")


async def keep_expenses(service: Service, experiment: str, source: str, told: ExpensesReport) -> Response:
    """Keep what a source tells of its first attempts."""
    forwarded = await service.forwarding.answer(
        experiment, lambda: commands.expenses(experiment, source, told.model_dump_json()), repeatable=True
    )
    return forwarded or await keep_expenses_here(service, experiment, source, told)


async def keep_expenses_here(service: Service, experiment: str, source: str, told: ExpensesReport) -> Response:
    """The same, by this server."""
    sources = await service.bring(service.desk.keep_expenses(experiment, source, told.firsts()))
    return Response(_compact({"kept": sources > 0, "sources": sources}), media_type="application/json")


_compact = json.JSONEncoder(separators=(",", ":")).encode


def encode_asked(asked: AskReply) -> str:
    """The answer to an ask. Plays in a row mostly have the same arms, which are encoded once."""
    return f'{{"plays":[{",".join(_encode_plays(asked.plays))}],"expires_at":{asked.expires_at!r}}}'


def _encode_plays(plays: Iterable[Play]) -> Iterable[str]:
    last: tuple[tuple[Label, ...] | None, tuple[Label, ...]] = (None, ())
    text = ""
    for play in plays:
        if play.arms is not last[0] or play.rest is not last[1]:
            last = play.arms, play.rest
            rest = f',"rest":{_compact(play.rest)}' if play.rest else ""
            text = f',"arms":{_compact(play.arms)}{rest}}}'
        yield f'{{"id":{play.id}{text}'


def encode_tuples(asked: AskReply) -> str:
    """The answer with every tuple of arms once, and of each play which of them it has."""
    tuples: list[str] = []
    places: dict[int, str] = {}
    which: list[str] = []
    for number, times in asked.runs:
        if number not in places:
            places[number] = str(len(tuples))
            play = asked.plays[len(which)]
            rest = f',"rest":{_compact(play.rest)}' if play.rest else ""
            tuples.append(f'{{"arms":{_compact(play.arms)}{rest}}}')
        which += [places[number]] * times
    return (
        f'{{"first":{asked.plays[0].id},"tuples":[{",".join(tuples)}],"plays":[{",".join(which)}],'
        f'"expires_at":{asked.expires_at!r}}}'
    )


async def _describe(service: Service, experiment: str, play: int, refused: Refused, instance: str) -> dict[str, object]:
    """The problem document of a refused answer; a conflict says what is on record."""
    members: dict[str, object] = {"play": play}
    if isinstance(refused.error, ConflictingTell):
        members["on_record"] = await service.read(experiment, lambda hosted: _on_record(hosted, play))
    return problem_of(refused.error, instance, **members)


def _on_record(hosted: HostedExperiment, play: int) -> Label | None:
    hit = hosted.experiment.answers[play]
    return None if hit < 0 else hosted.experiment.arms[hit]
