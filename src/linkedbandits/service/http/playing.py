"""Ask and tell, from a request that was understood to the answer."""

from __future__ import annotations

import json
from collections.abc import Iterable

from starlette.responses import Response

from linkedbandits.errors import ConflictingTell
from linkedbandits.live import Play
from linkedbandits.model import Label
from linkedbandits.service.hosted import HostedExperiment
from linkedbandits.service.http.problems import document_response, problem_of
from linkedbandits.service.http.received import AskRequest, TellRequest
from linkedbandits.service.http.service import Service
from linkedbandits.service.replies import AskReply, Refused


async def ask(service: Service, experiment: str, wanted: AskRequest, key: str | None = None) -> Response:
    """Hand out plays; ``key`` counts where the request has none of its own."""
    asked = await service.bring(service.desk.ask(experiment, wanted.count, wanted.key or key))
    if not asked.repeated:
        service.metrics.asked(len(asked.plays))
    return Response(encode_asked(asked), media_type="application/json")


async def tell(service: Service, experiment: str, told: TellRequest, instance: str) -> Response:
    """Take in answers. Of a single one that is refused, the answer is the problem itself."""
    answers: list[tuple[int, Label | None]] = [(answer.play, answer.hit) for answer in told.answers]
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


def _compact(content: object) -> str:
    return json.dumps(content, separators=(",", ":"))


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


async def _describe(service: Service, experiment: str, play: int, refused: Refused, instance: str) -> dict[str, object]:
    """The problem document of a refused answer; a conflict says what is on record."""
    members: dict[str, object] = {"play": play}
    if isinstance(refused.error, ConflictingTell):
        members["on_record"] = await service.read(experiment, lambda hosted: _on_record(hosted, play))
    return problem_of(refused.error, instance, **members)


def _on_record(hosted: HostedExperiment, play: int) -> Label | None:
    hit = hosted.experiment.answers[play]
    return None if hit < 0 else hosted.experiment.arms[hit]
