"""The door: how many connections there may be, how long a request may take to come in, and who has to make room.

Nobody has shown a token here yet. A connection *waits* as long as no whole request of its is unanswered: it is new, or
half a request has come, or the next one has not begun. What waits for too long is closed. When there are as many
connections as the process can have, a new one pushes out one that waits, so that whoever sends whole requests is
served however many others only hold a place. A connection with a whole request is never pushed out, unless its answer
is left unread.
"""

from __future__ import annotations

from collections import Counter, OrderedDict
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Literal, Protocol, get_args

MOST_CONNECTIONS = 8_000
"""However many files the process may open."""
FILES_WITHOUT_LIMIT = 4_096
"""What is taken for the number of open files where the system does not say it."""

A_MOMENT = 1.0
"""Seconds that a connection may wait, or leave an answer unread, before that tells it from those that do no harm."""

Reason = Literal["full", "pushed-out", "idle", "slow", "unread", "large", "wrong"]
"""Why a connection was closed before it had an answer: no room, or room for another was made, or what it did."""
REASONS: tuple[Reason, ...] = get_args(Reason)
Part = Literal["nothing", "head", "body"]
"""What of the next request has come in: nothing, some of its head (first line and headers), or some of its body."""


def places_for_connections() -> int:
    """Three quarters of the files that this process may open: the store, its files and new sockets need the others."""
    try:
        from resource import RLIM_INFINITY, RLIMIT_NOFILE, getrlimit  # not on every system
    except ImportError:
        files = FILES_WITHOUT_LIMIT
    else:
        files = getrlimit(RLIMIT_NOFILE)[0]
        if files == RLIM_INFINITY:
            files = FILES_WITHOUT_LIMIT
    return max(8, min(MOST_CONNECTIONS, files * 3 // 4))


@dataclass(frozen=True, slots=True)
class DoorLimits:
    """What a connection may do before it is known who is there."""

    connections: int
    head_bytes: int = 32_768
    url_bytes: int = 8_192
    headers: int = 100
    requests_ahead: int = 16
    """Requests that may come before the one at work is answered."""
    bytes_after_an_answer: int = 1_000_000
    """How much of a body is still read, and thrown away, when its request was refused already."""
    head_seconds: float = 10.0
    request_seconds: float = 30.0
    """From the first byte to the last."""
    idle_seconds: float = 80.0
    """Between two requests. The web server closes idle connections a little sooner; this is for those that evade it."""
    unread_seconds: float = 30.0
    """For how long a client may leave an answer unread."""
    share_of_an_address: float = 0.25
    """Who has more connections than this share of all makes room for himself."""


class Connection(Protocol):
    """What the door knows of a connection."""

    address: Hashable
    part: Part
    since: float
    """When it began to wait, or its request to come in, or its answer to be unread."""
    is_known: bool
    """Has a request been served on it that was allowed to do something?"""

    def push_out(self) -> None:
        """Close it, at once."""

    def time_out(self, seconds: float) -> None:
        """Close it, and say that its request took longer than this."""


Queue = OrderedDict[Connection, None]


class Door:
    """All connections, in the order in which they began to wait. One thread, that of the event loop, uses it."""

    def __init__(self, limits: DoorLimits, clock: Callable[[], float]) -> None:
        self.limits = limits
        self.clock = clock
        self.turned_away: Counter[Reason] = Counter()
        """How many connections were closed before they had an answer, by reason."""
        self._strangers: dict[Hashable, Queue] = {}  # by address
        self._oldest_strangers: Queue = OrderedDict()
        self._known: Queue = OrderedDict()
        self._unread: dict[bool, Queue] = {False: OrderedDict(), True: OrderedDict()}  # by whether it is known
        self._of_address: Counter[Hashable] = Counter()
        self._present = 0

    @property
    def present(self) -> int:
        """Open connections."""
        return self._present

    def enter(self, connection: Connection) -> bool:
        """Let a new connection in, which waits; or not, if all others are being served."""
        if self._present >= self.limits.connections and not self._make_room(connection.address):
            self.turned_away["full"] += 1
            return False
        self._present += 1
        self._of_address[connection.address] += 1
        self.waits(connection)
        return True

    def leave(self, connection: Connection) -> None:
        """It is closed."""
        self.is_served(connection)
        self.is_read(connection)
        self._present -= 1
        self._of_address[connection.address] -= 1
        if self._of_address[connection.address] <= 0:
            del self._of_address[connection.address]

    def waits(self, connection: Connection) -> None:
        """It has no whole request that is unanswered."""
        connection.since = self.clock()
        if connection.is_known:
            self._known[connection] = None
            return
        self._oldest_strangers[connection] = None
        queue = self._strangers.get(connection.address)
        if queue is None:
            queue = self._strangers[connection.address] = OrderedDict()
        queue[connection] = None

    def is_served(self, connection: Connection) -> None:
        """A whole request has come."""
        if connection in self._oldest_strangers:
            del self._oldest_strangers[connection]
            queue = self._strangers[connection.address]
            del queue[connection]
            if not queue:
                del self._strangers[connection.address]
        else:
            self._known.pop(connection, None)

    def is_unread(self, connection: Connection) -> None:
        """It does not take its answer as fast as it comes."""
        connection.since = self.clock()
        self._unread[connection.is_known][connection] = None

    def is_read(self, connection: Connection) -> None:
        """It takes its answer again."""
        for queue in self._unread.values():
            queue.pop(connection, None)

    def sweep(self) -> None:
        """Close what has waited for too long; to be called every second or so."""
        now, limits = self.clock(), self.limits
        seconds = {"head": limits.head_seconds, "body": limits.request_seconds, "nothing": limits.idle_seconds}
        for connection in [*self._oldest_strangers, *self._known]:
            if now - connection.since > seconds[connection.part]:
                self.turned_away["idle" if connection.part == "nothing" else "slow"] += 1
                connection.time_out(seconds[connection.part])
        for connection in [*self._unread[False], *self._unread[True]]:
            if now - connection.since > limits.unread_seconds:
                self.turned_away["unread"] += 1
                connection.push_out()

    def _make_room(self, address: Hashable) -> bool:
        victim = self._who_makes_room(address)
        if victim is None:
            return False
        self.turned_away["pushed-out"] += 1
        victim.push_out()
        return True

    def _who_makes_room(self, address: Hashable) -> Connection | None:
        """The one that has waited longest: a stranger of the same address if it has many places, else any stranger.

        If none of them has waited for a moment, one who leaves an answer unread: who has only just come may be about to
        send a request. Then who is known.
        """
        strangers = self._oldest_strangers
        if self._of_address[address] > self.limits.share_of_an_address * self.limits.connections:
            strangers = self._strangers.get(address, strangers)
        stranger = next(iter(strangers), None)
        if stranger is not None and self._for_a_moment(stranger):
            return stranger
        return (
            self._longest_unread(of_known=False)
            or stranger
            or next(iter(self._known), None)
            or self._longest_unread(of_known=True)
        )

    def _longest_unread(self, of_known: bool) -> Connection | None:
        oldest = next(iter(self._unread[of_known]), None)
        # Whoever downloads much is behind for moments all the time.
        return oldest if oldest is not None and self._for_a_moment(oldest) else None

    def _for_a_moment(self, connection: Connection) -> bool:
        return self.clock() - connection.since > A_MOMENT
