"""Each experiment has one server that changes it, its owner, where several servers share a store.

Otherwise every server would replay what the others wrote before it may add to it, and all would do the work of all.
Who is first asked for an experiment owns it. Later it goes to the server through which most of its requests come, or
where they come through all alike, to one that owns fewer: so a balancer that sends an experiment always to the same
server has its way, and one that does not has the work shared out.

It is a hint. A server that does not know better changes an experiment that another one owns, and that costs time alone.
"""

from __future__ import annotations

import secrets
import threading
from collections import Counter
from collections.abc import Callable, Collection, Mapping
from concurrent.futures import Future
from logging import WARNING
from time import monotonic
from urllib.parse import urlsplit

from linkedbandits.errors import InvalidParameter
from linkedbandits.service.addresses import mistaken, said_of
from linkedbandits.service.owner_tables import GONE_AFTER, ServerRecord, SharedStore

BEAT_SECONDS = 1.0
"""How often a server gives a sign of life, and looks who else does."""
SOONEST_SECONDS = 0.05
"""It does so at once where an experiment has no owner, but not more often than this."""
REVIEW_SECONDS = 1.0
"""How often a server looks whether others should own what it has owned since the last time."""
IDLE_SECONDS = 60.0
"""An experiment that nobody has asked for so long needs no owner."""
AVOID_SECONDS = 5.0
"""A server that did not answer another is left alone for so long, and its experiments are changed without it."""
LASTING_SECONDS = GONE_AFTER + 2 * BEAT_SECONDS
"""Two servers with one address are a mistake if it lasts so long: else one of them was gone."""
ENOUGH = 100
"""Requests from which can be told through which server they come."""
MOST_OF_THEM = 2 / 3
MOST_MOVES = 20
"""Experiments that get another owner at a time: each has to be opened there."""
MOST_WANTED = 1_000

Traffic = Mapping[str, Counter[str]]
"""How many requests for each experiment came through each server lately."""


class Owners:
    """What one server knows of the others, and of who owns what. Any thread may ask.

    Without a store that can be shared, and before :meth:`start`, it is alone.
    """

    def __init__(
        self,
        store: SharedStore | None,
        on_trouble: Callable[[str, Exception], None],
        clock: Callable[[], float] = monotonic,
        on_news: Callable[..., None] = lambda event, **fields: None,
    ) -> None:
        """``on_trouble`` is told what failed and why, and ``on_news`` who has come and who is gone.

        Both are called in the thread that gives signs of life.
        """
        self.id = secrets.token_hex(8)
        self.secret = secrets.token_urlsafe(32)
        self._store = store
        self._on_trouble = on_trouble
        self._on_news = on_news
        self._clock = clock
        self._url: str | None = None
        self._others: dict[str, ServerRecord] = {}
        self._owner_of: dict[str, str] = {}
        self._avoided: dict[str, float] = {}
        self._mistaken_since: dict[str, float] = {}
        self._told: set[str] = set()
        self._lock = threading.Lock()  # for what follows
        self._wanted: set[str] = set()
        self._claimed: Future[None] = Future()
        self._traffic: dict[str, Counter[str]] = {}
        self._used_at: dict[str, float] = {}
        self._owned_before: set[str] = set()
        self._review_at = clock() + REVIEW_SECONDS
        self._due = threading.Event()
        self._leaving = threading.Event()
        self._thread = threading.Thread(target=self._work, name="owners", daemon=True)

    @property
    def may_share(self) -> bool:
        """Can other servers have the same store?"""
        return self._store is not None

    def start(self, url: str) -> None:
        """Let the others know where this server is; once, and only with a store that can be shared.

        One that listens on all addresses is reached at the one from which it reaches the database.
        """
        self._url = url
        self._thread.start()

    def leave(self, seconds: float = 2.0) -> None:
        """Give up what this server owns, so that the others need not wait until it is gone."""
        if self._url is None or self._leaving.is_set():
            return
        self._leaving.set()
        self._due.set()
        self._thread.join(seconds)

    def elsewhere(self, experiment: str, through: str | None = None) -> ServerRecord | None:
        """The server that a request for this experiment should go to; None if it is this one.

        ``through`` is the server that passed it on, if one did: it is never passed on again.
        """
        if not self._others:
            return None
        owner = self._owner_of.get(experiment)
        if owner == self.id:
            with self._lock:
                self._traffic.setdefault(experiment, Counter())[through or self.id] += 1
            return None
        found = None if owner is None or through is not None else self._others.get(owner)
        return None if found is None or self._is_avoided(found.id) else found

    def claim(self, experiment: str) -> Future[None] | None:
        """Where an experiment has no owner, let it have one: this server, or another that was asked for it before.

        The future is done when that is known, or could not be found out. None if there is an owner, or no other server.
        """
        if not self._others or (owner := self._owner_of.get(experiment)) == self.id or owner in self._others:
            return None
        with self._lock:
            if len(self._wanted) < MOST_WANTED:
                self._wanted.add(experiment)
            claimed = self._claimed
        self._due.set()
        return claimed

    def is_elsewhere(self, experiment: str) -> bool:
        """Does another server look after it?"""
        return self._owner_of.get(experiment) in self._others

    def is_alive(self, server: str) -> bool:
        """Was the server seen a moment ago?"""
        return server in self._others

    def avoid(self, server: str) -> bool:
        """A server did not answer. Is that news?"""
        news = not self._is_avoided(server)
        self._avoided[server] = self._clock() + AVOID_SECONDS
        return news

    def beat(self) -> None:
        """Give a sign of life, see who else does, claim what was asked for here, and share out what this one owns."""
        if self._store is None or self._url is None:
            return
        with self._lock:
            wanted, self._wanted = self._wanted, set()
            claimed, self._claimed = self._claimed, Future()
        try:
            # The sign of life comes first, and is for good: what follows may have to wait for others, and fail.
            any_gone = self._look_around(self._store, self._url)
            self._share_out(self._store, wanted, any_gone)
        finally:
            claimed.set_result(None)

    def _look_around(self, store: SharedStore, url: str) -> bool:
        """Give the sign of life, and see which other servers there are, and who owns what; have some long been gone?"""
        with store.owning() as tables:
            if on_all_addresses(url):
                url = self._url = with_host(url, tables.address_here or "127.0.0.1")
            tables.sign_of_life(ServerRecord(self.id, url, self.secret))
            servers = tables.alive()
            lost = self._out_of_reach(servers)
            others = [] if self.id in lost else [server for server in servers if server.id not in (self.id, *lost)]
            alive = {server.id: server for server in others}
            owner_of = tables.owners() if alive or lost else {}
            any_gone = tables.any_long_gone()
        before, self._others, self._owner_of = self._others, alive, owner_of
        for server in alive.keys() - before.keys():
            self._on_news("server-came", server=server, url=alive[server].url)
        for server in before.keys() - alive.keys():
            self._on_news("server-gone", server=server, url=before[server].url)
        return any_gone

    def _share_out(self, store: SharedStore, wanted: Collection[str], any_gone: bool) -> None:
        """Claim what is wanted here, hand over and release what is not, and forget who has long been gone."""
        if self._others:
            moves, idle = self._review(self._others, self._owner_of)
        else:  # nobody can ask it for what it owns
            moves, idle = {}, [experiment for experiment, owner in self._owner_of.items() if owner == self.id]
        claims = wanted if self._others else ()
        if not (claims or moves or idle or any_gone):
            return
        with store.owning() as tables:
            if any_gone:
                tables.forget_the_long_gone()
            if claims:
                tables.claim(claims, self.id)
            if moves:
                tables.hand_over(moves, self.id)
            if idle:
                tables.release(idle, self.id)
            owner_of = tables.owners() if self._others else {}
        self._owner_of = owner_of
        if moves:
            self._on_news("experiments-handed-over", to=dict(Counter(moves.values())))

    def _out_of_reach(self, servers: Collection[ServerRecord]) -> set[str]:
        """Servers that others would look for in the wrong place, where they would tell a stranger their secret.

        One that was killed and is back has its own old address for a while, which is no mistake.
        """
        now = self._clock()
        found = mistaken({server.id: server.url for server in servers})
        self._mistaken_since = {server: self._mistaken_since.get(server, now) for server in found}
        lasting = {server for server, since in self._mistaken_since.items() if now - since > LASTING_SECONDS}
        for server in servers:
            if server.id in lasting - self._told:
                said = said_of(found[server.id])
                self._on_news("server-out-of-reach", level=WARNING, server=server.id, url=server.url, reason=said)
        self._told = lasting
        return {server for server, mistake in found.items() if mistake == "loopback" or server in lasting}

    def _review(self, alive: Collection[str], owner_of: dict[str, str]) -> tuple[dict[str, str], list[str]]:
        """What should get another owner, and what none, if it is time to look."""
        now = self._clock()
        mine = [experiment for experiment, owner in owner_of.items() if owner == self.id]
        with self._lock:
            for experiment in mine:
                if experiment in self._traffic or experiment not in self._used_at:
                    self._used_at[experiment] = now
            if now < self._review_at:
                return {}, []
            self._review_at = now + REVIEW_SECONDS
            settled = self._owned_before  # of what has come since nothing is known yet
            self._owned_before = set(mine)
            moves = handovers(self.id, alive, owner_of, self._traffic)
            moves = {experiment: server for experiment, server in moves.items() if experiment in settled}
            idle = [experiment for experiment in mine if now - self._used_at[experiment] >= IDLE_SECONDS]
            self._used_at = {experiment: self._used_at[experiment] for experiment in set(mine).difference(moves, idle)}
            self._traffic = _halved(self._traffic)
        return moves, [experiment for experiment in idle if experiment not in moves]

    def _is_avoided(self, server: str) -> bool:
        return self._clock() < self._avoided.get(server, 0.0)

    def _work(self) -> None:
        while not self._leaving.is_set():
            self._due.clear()
            try:
                self.beat()
            except Exception as error:  # whatever it is, it must not be the last sign of life
                self._on_trouble("sign-of-life-failed", error)
            if not self._leaving.wait(SOONEST_SECONDS):
                self._due.wait(BEAT_SECONDS)
        try:
            if self._store is not None:
                with self._store.owning() as tables:
                    tables.leave(self.id)
        except Exception as error:  # the others notice in a few seconds
            self._on_trouble("leaving-failed", error)


def check_url_for_others(url: str) -> str:
    """The address, if it is one that servers can use among each other.

    >>> check_url_for_others("http://10.0.0.1:8000/")
    'http://10.0.0.1:8000'
    >>> check_url_for_others("https://bandits.example")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ...
    linkedbandits.errors.InvalidParameter: 'https://bandits.example' is no http://ADDRESS:PORT; give the address of ...
    """
    parts = urlsplit(url)
    try:
        whole = parts.scheme == "http" and parts.hostname and parts.port and not on_all_addresses(url)
    except ValueError:  # a port that is none
        whole = False
    if not whole or parts.path.strip("/") or parts.query or parts.username is not None:
        raise InvalidParameter(
            f"{url!r} is no http://ADDRESS:PORT; give the address of this very server in the network that it shares "
            "with the others, not that of a proxy"
        )
    return url.rstrip("/")


def on_all_addresses(url: str) -> bool:
    """Does a server there listen on every address that it has?

    >>> on_all_addresses("http://0.0.0.0:8000"), on_all_addresses("http://[::]:8000"), on_all_addresses("http://a:80")
    (True, True, False)
    """
    return urlsplit(url).hostname in ("0.0.0.0", "::")


def with_host(url: str, host: str) -> str:
    """The same at another address.

    >>> with_host("http://0.0.0.0:8000", "10.0.0.1"), with_host("http://[::]:8000", "fd00::1")
    ('http://10.0.0.1:8000', 'http://[fd00::1]:8000')
    """
    parts = urlsplit(url)
    return f"{parts.scheme}://{f'[{host}]' if ':' in host else host}:{parts.port}"


def handovers(here: str, others: Collection[str], owner_of: Mapping[str, str], traffic: Traffic) -> dict[str, str]:
    """Which experiments of a server should get which other owner.

    >>> handovers("a", ["b"], {"x": "a", "y": "a"}, {"x": Counter(a=10, b=990), "y": Counter(a=500, b=500)})
    {'x': 'b'}
    >>> handovers("a", ["b"], {"x": "a", "y": "a"}, {"x": Counter(a=500, b=500), "y": Counter(a=500, b=500)})
    {'x': 'b'}
    """
    moves: dict[str, str] = {}
    anywhere: list[str] = []
    for experiment in sorted(experiment for experiment, owner in owner_of.items() if owner == here):
        through = _most_come_through(traffic.get(experiment))
        if through is None:
            anywhere.append(experiment)
        elif through != here and through in others:
            moves[experiment] = through
    owned = Counter(dict.fromkeys((here, *others), 0))
    owned.update(moves.get(experiment, owner) for experiment, owner in owner_of.items() if owner in owned)
    for experiment in anywhere:
        least = min(others, key=lambda server: (owned[server], server))
        if owned[here] - owned[least] < 2:
            break
        moves[experiment] = least
        owned[here] -= 1
        owned[least] += 1
    return dict(list(moves.items())[:MOST_MOVES])


def _most_come_through(seen: Counter[str] | None) -> str | None:
    """The server through which most requests come; None if there are few, or if they come through all alike."""
    if seen is None or seen.total() < ENOUGH:
        return None
    server, times = seen.most_common(1)[0]
    return server if times > MOST_OF_THEM * seen.total() else None


def _halved(traffic: Traffic) -> dict[str, Counter[str]]:
    """The same, counting for half: what was long ago counts for nothing."""
    halved = (
        (name, +Counter({server: times // 2 for server, times in seen.items()})) for name, seen in traffic.items()
    )
    return {name: seen for name, seen in halved if seen}
