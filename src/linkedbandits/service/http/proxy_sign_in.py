"""What a proxy says of its callers, their address and their name, which is believed from stated addresses alone."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from ipaddress import IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network

from linkedbandits.errors import AccessDenied, InvalidParameter
from linkedbandits.service.records import LONGEST_TEXT, Role, what_is_not_seen

_HEADER_NAME = re.compile(r"[A-Za-z][A-Za-z0-9-]{0,63}")
_NEVER = {"authorization", "connection", "content-length", "content-type", "cookie", "host", "origin"}


@dataclass(frozen=True, slots=True)
class TrustedProxy:
    """Which header, from which addresses, and the role of those whom it names.

    Without a header it signs nobody in, and is believed where callers come from.
    """

    header: str | None
    addresses: tuple[IPv4Network | IPv6Network, ...]
    role: Role

    @classmethod
    def of(cls, header: str | None, addresses: Iterable[str], role: Role) -> TrustedProxy:
        """Refuses what would let anybody be anyone.

        >>> proxy = TrustedProxy.of("X-Forwarded-User", ["127.0.0.1", "10.1.0.0/16"], "viewer")
        >>> proxy.trusts("10.1.2.3"), proxy.trusts("10.2.0.1"), proxy.trusts(None)
        (True, False, False)
        """
        if header is not None and (_HEADER_NAME.fullmatch(header) is None or header.lower() in _NEVER):
            raise InvalidParameter(f"--trust-header {header!r} is no header for a name; X-Forwarded-User is usual")
        networks = []
        for address in addresses:
            try:
                network = ip_network(address)
            except ValueError as error:
                raise InvalidParameter(f"--trusted-proxy {address!r} is no address or network ({error})") from error
            if network.prefixlen == 0:
                raise InvalidParameter(
                    f"--trusted-proxy {address} is everybody, and everybody could be anyone; name the proxy's address"
                )
            networks.append(network)
        if not networks:
            raise InvalidParameter("--trust-header needs the address of the proxy; add --trusted-proxy ADDRESS")
        return cls(None if header is None else header.lower(), tuple(networks), role)

    def trusts(self, client: str | None) -> bool:
        """Does a connection from this address come from the proxy?"""
        try:
            address = ip_address(client or "")
        except ValueError:
            return False
        if isinstance(address, IPv6Address) and address.ipv4_mapped is not None:
            address = address.ipv4_mapped
        return any(address in network for network in self.addresses)

    def user_of(self, headers: Mapping[str, str], client: str | None) -> str | None:
        """The user whom the proxy names, if it is the proxy and names one.

        A browser sends along what the proxy knows its user by, whichever page asks for it: so a request of a page from
        elsewhere is refused.
        """
        if self.header is None or not self.trusts(client):
            return None
        said = headers.get(self.header, "").strip(" \t")
        if not said:
            return None
        several = getattr(headers, "getlist", None)
        if (several is not None and len(several(self.header)) > 1) or "," in said:
            raise AccessDenied(
                f"the header {self.header} came twice; let the proxy replace what its callers send",
                reason="missing_token",
            )
        user = _in_utf8(said)
        if user is None or len(user) > LONGEST_TEXT or what_is_not_seen(user) is not None:
            raise AccessDenied(
                f"the header {self.header} has no name that can be kept; let the proxy send one in UTF-8, of at most "
                f"{LONGEST_TEXT} characters that can be seen",
                reason="missing_token",
            )
        origin = headers.get("origin")
        foreign = origin is not None and origin.partition("://")[2] != headers.get("host", "")
        if foreign or headers.get("sec-fetch-site") == "cross-site":
            raise AccessDenied(
                "a page from elsewhere may not use the sign-in of the proxy; if it is the service's own page, let the "
                "proxy pass on the Host that it was called by"
            )
        return user

    def address_of(self, headers: Mapping[str, str], client: str | None) -> str | None:
        """Where a request comes from: behind the proxy, what it says."""
        if not self.trusts(client):
            return client
        said = headers.get("x-forwarded-for", "").rpartition(",")[2].strip()
        try:
            return str(ip_address(said))
        except ValueError:
            return client


def _in_utf8(header: str) -> str | None:
    """What proxies mean by the bytes of a header, which were read as Latin-1; None if they mean nothing."""
    try:
        return header.encode("latin-1").decode()
    except UnicodeError:
        return None
