"""Which addresses webhooks may go to: their text, and what their hosts resolve to.

An address is read by one parser, of WHATWG's URL standard (pydantic's), which turns every spelling
of an IPv4 address (`127.1`, `0x7f.1`, `2130706433`) into the dotted one, so the connection goes to
the very address that was checked.
"""

from __future__ import annotations

import ipaddress
import re
import socket
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from pydantic_core import Url

LONGEST = 2048
"""The largest number of characters in an address."""

IPAddress = ipaddress.IPv4Address | ipaddress.IPv6Address
Network = ipaddress.IPv4Network | ipaddress.IPv6Network

_BEGINNING = re.compile(r"https?://([^/?]*)", re.IGNORECASE)
_NEVER = re.compile(r"[\s\\\x00-\x20\x7f-\x9f]")
_NAT64 = ipaddress.IPv6Network("64:ff9b::/96")
_NOT_GLOBAL: tuple[ipaddress.IPv6Network, ...] = (
    # `ipaddress` does not know all of them in every release of Python.
    ipaddress.IPv6Network("64:ff9b:1::/48"),
    ipaddress.IPv6Network("3fff::/20"),
    ipaddress.IPv6Network("5f00::/16"),
)


class NotAllowed(Exception):
    """The host has an address that webhooks may not be sent to."""


@dataclass(frozen=True, slots=True)
class Target:
    """An address in its parts. host : ASCII, without brackets. path : with the query."""

    scheme: str
    host: str
    port: int
    path: str

    @property
    def authority(self) -> str:
        """Host and, unless it is the scheme's own, port: the Host header."""
        usual = {"http": 80, "https": 443}[self.scheme]
        return self._host if self.port == usual else self.place

    @property
    def place(self) -> str:
        """Host and port, always both: they identify a receiver."""
        return f"{self._host}:{self.port}"

    @property
    def _host(self) -> str:
        return f"[{self.host}]" if ":" in self.host else self.host


def parse(address: str) -> Target:
    """The parts of an address. Raises ValueError with a message that states what is accepted."""
    if len(address) > LONGEST:
        raise ValueError(f"A webhook's address has {LONGEST} characters at most.")
    beginning = _BEGINNING.match(address)
    if beginning is None:
        raise ValueError("A webhook's address begins with https:// or http://.")
    if _NEVER.search(address):
        raise ValueError("A webhook's address has no spaces, control characters or backslashes.")
    if "@" in beginning[1]:
        raise ValueError("A webhook's address has no user name or password in it.")
    if "#" in address:
        raise ValueError("A webhook's address has no fragment (#).")
    try:
        url = Url(address)
    except ValueError:
        raise ValueError(
            "A webhook's address is an absolute URL as https://example.org/hooks/1; its host or "
            "port cannot be read."
        ) from None
    host = (url.host or "").removeprefix("[").removesuffix("]").rstrip(".")
    if not host or len(host) > 253:
        raise ValueError("A webhook's address has the name of a host, of 253 characters at most.")
    if not url.port:
        raise ValueError("The port of a webhook's address lies between 1 and 65535.")
    path = (url.path or "/") + (f"?{url.query}" if url.query is not None else "")
    return Target(url.scheme, host, url.port, path)


def place_of(address: str) -> str:
    """The receiver at an address, as `Target.place`; "?" where it can no longer be read."""
    try:
        return parse(address).place
    except ValueError:
        return "?"


SocketAddress = tuple[int, Any]
"""The address family, and the argument of `socket.connect`."""

Resolve = Callable[[str, int], Iterable[SocketAddress]]
"""resolve(host, port): the socket addresses of a host. OSError where it has none."""


def lookup(host: str, port: int) -> list[SocketAddress]:
    """The socket addresses that the system's resolver gives."""
    # As bytes: Python's own codec for names would refuse some that the resolver accepts.
    entries = socket.getaddrinfo(host.encode("ascii"), port, type=socket.SOCK_STREAM)
    return [(family, address) for family, _, _, _, address in entries]


class Guard:
    """Allows addresses of the public internet, and the networks in a setting."""

    def __init__(self, allowed: Iterable[Network] = (), resolve: Resolve = lookup) -> None:
        self._allowed = tuple(allowed)
        self._resolve = resolve

    def check(self, target: Target) -> None:
        """Raises NotAllowed where the host is a refused address, or a name of this machine.

        Other names are looked up only when the webhook is sent.
        """
        host = target.host.lower()
        if host == "localhost" or host.endswith(".localhost"):
            host = "127.0.0.1"
        try:
            address = ipaddress.ip_address(host)
        except ValueError:
            return
        self._check(address)

    def addresses(self, target: Target) -> list[SocketAddress]:
        """The socket addresses to connect to, without looking the host up again.

        Raises NotAllowed if any address of the host is refused, OSError where it has none.
        """
        addresses = list(self._resolve(target.host, target.port))
        if not addresses:
            raise OSError("no address")
        for _, address in addresses:
            self._check(ipaddress.ip_address(address[0]))
        return addresses

    def _check(self, address: IPAddress) -> None:
        inner = _inner(address)
        if any(address in network or inner in network for network in self._allowed):
            return
        if not is_public(address):
            raise NotAllowed


def is_public(address: IPAddress) -> bool:
    """Whether it is a unicast address of the public internet.

    An IPv6 address that carries an IPv4 one (mapped, 6to4, NAT64) is as public as that one.
    """
    inner = _inner(address)
    if inner != address:
        return is_public(inner)
    if not address.is_global or address.is_multicast or address.is_reserved:
        return False
    if isinstance(address, ipaddress.IPv6Address):
        if address.is_site_local or address.teredo is not None:
            return False
        return not any(address in network for network in _NOT_GLOBAL)
    return True


def _inner(address: IPAddress) -> IPAddress:
    """The IPv4 address that an IPv6 one carries, else the address itself."""
    if isinstance(address, ipaddress.IPv4Address):
        return address
    if address.ipv4_mapped is not None:
        return address.ipv4_mapped
    if address.sixtofour is not None:
        return address.sixtofour
    if address in _NAT64:
        return ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)
    return address
