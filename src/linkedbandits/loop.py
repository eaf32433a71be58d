"""The loop of a run: a policy asks, something answers, the policy observes, until it stops.

Simulation, live play, logs, replays and forecasts differ in what answers, and share this loop.
"""

from __future__ import annotations

from collections.abc import Callable

from linkedbandits.model import Counts, Request, check_request
from linkedbandits.policy import AnyPolicy, LaneState


def play_on(
    policy: AnyPolicy,
    state: LaneState,
    fulfil: Callable[[Request], Counts | None],
    goes_on: Callable[[], bool],
    request: Request | None = None,
) -> Request | None:
    """Let the policy ask and observe until ``fulfil`` has no answer, or ``goes_on`` ends it after an observation.

    Returns the request that waits for its answer; pass it as ``request`` to go on from there. None at the end.
    """
    while True:
        if request is None:
            request = policy.request(state)
            check_request(request)
        counts = fulfil(request)
        if counts is None:
            return request
        policy.observe(state, counts)
        if not goes_on():
            return None
        request = None
