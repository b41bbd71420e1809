"""Which addresses webhooks may have, and which hosts they may reach."""

from __future__ import annotations

import ipaddress
import socket

import pytest

from workers.webhooks.addresses import Guard, NotAllowed, Target, is_public, lookup, parse


@pytest.mark.parametrize(
    ("address", "target", "authority"),
    [
        ("https://example.org", Target("https", "example.org", 443, "/"), "example.org"),
        ("HTTPS://Example.ORG/a?b=c%20d", Target("https", "example.org", 443, "/a?b=c%20d"),
         "example.org"),
        ("http://example.org:8080/", Target("http", "example.org", 8080, "/"), "example.org:8080"),
        ("https://exämple.com/ä", Target("https", "xn--exmple-cua.com", 443, "/%C3%A4"),
         "xn--exmple-cua.com"),
        ("https://[2606:4700::1]:8443/x", Target("https", "2606:4700::1", 8443, "/x"),
         "[2606:4700::1]:8443"),
        ("https://example.org./", Target("https", "example.org", 443, "/"), "example.org"),
        ("https://example.org/@me", Target("https", "example.org", 443, "/@me"), "example.org"),
        ("http://127.1/", Target("http", "127.0.0.1", 80, "/"), "127.0.0.1"),
    ],
)  # fmt: skip
def test_addresses_are_parsed(address: str, target: Target, authority: str) -> None:
    assert parse(address) == target
    assert target.authority == authority
    assert target.place == f"{authority.removesuffix(f':{target.port}')}:{target.port}"


@pytest.mark.parametrize(
    ("address", "message"),
    [
        ("", "begins with https"),
        ("example.org/x", "begins with https"),
        ("ftp://example.org", "begins with https"),
        ("file:///etc/passwd", "begins with https"),
        ("https:example.org", "begins with https"),
        (" https://example.org", "begins with https"),
        ("https://example.org/a b", "no spaces"),
        ("https://example.org/\r\nHost: x", "no spaces"),
        ("https://example.org\\@10.0.0.1/", "no spaces"),
        ("https://me:secret@example.org/", "no user name"),
        ("https://@example.org/", "no user name"),
        ("https://example.org/#part", "no fragment"),
        ("https://example.org/#", "no fragment"),
        ("https://example.org:0/", "between 1 and 65535"),
        ("https://example.org:65536/", "cannot be read"),
        ("https://example.org:x/", "cannot be read"),
        ("https://", "cannot be read"),
        ("https://./", "name of a host"),
        ("https://[::1", "cannot be read"),
        ("https://[fe80::1%25eth0]/", "cannot be read"),
        ("https://1.2.3.256/", "cannot be read"),
        (f"https://{'a.' * 127}org/", "253"),
        (f"https://example.org/{'a' * 2048}", "2048 characters"),
    ],
)
def test_other_addresses_are_refused(address: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        parse(address)


PRIVATE = [
    "127.0.0.1",
    "127.1",
    "127.255.255.254",
    "2130706433",
    "0x7f000001",
    "0177.0.0.1",
    "%31%32%37.0.0.1",
    "①②⑦.0.0.1",
    "0.0.0.0",
    "0",
    "10.1.2.3",
    "172.16.0.1",
    "192.168.1.1",
    "100.64.0.1",
    "169.254.169.254",
    "198.18.0.1",
    "203.0.113.5",
    "224.0.0.1",
    "240.0.0.1",
    "255.255.255.255",
    "[::]",
    "[::1]",
    "[::127.0.0.1]",
    "[::ffff:127.0.0.1]",
    "[::ffff:7f00:1]",
    "[::ffff:169.254.169.254]",
    "[64:ff9b::10.0.0.1]",
    "[64:ff9b:1::1]",
    "[2002:7f00:1::1]",
    "[2002:a9fe:a9fe::]",
    "[2001:0:1:2::3]",
    "[fe80::1]",
    "[fec0::1]",
    "[fc00::1]",
    "[fd12:3456::1]",
    "[ff02::1]",
    "[2001:db8::1]",
    "[3fff::1]",
    "[100::1]",
    "localhost",
    "LOCALHOST.",
    "db.localhost",
]
PUBLIC = [
    "1.1.1.1",
    "8.8.8.8",
    "[2606:4700:4700::1111]",
    "[::ffff:8.8.8.8]",
    "[64:ff9b::8.8.8.8]",
    "[2002:808:808::1]",
]


@pytest.mark.parametrize("host", PRIVATE)
def test_private_addresses_are_refused_in_every_spelling(host: str) -> None:
    with pytest.raises(NotAllowed):
        Guard().check(parse(f"http://{host}/"))


@pytest.mark.parametrize("host", [*PUBLIC, "example.org", "10.example.org", "localhost.example"])
def test_public_addresses_and_names_are_accepted(host: str) -> None:
    Guard().check(parse(f"https://{host}/"))


def test_a_setting_allows_networks() -> None:
    guard = Guard([ipaddress.ip_network("10.0.0.0/8"), ipaddress.ip_network("::1/128")])
    for host in ("10.1.2.3", "[::ffff:10.1.2.3]", "[64:ff9b::10.1.2.3]", "[::1]", "8.8.8.8"):
        guard.check(parse(f"http://{host}/"))
    for host in ("127.0.0.1", "192.168.0.1", "[fd00::1]"):
        with pytest.raises(NotAllowed):
            guard.check(parse(f"http://{host}/"))


def resolving(*addresses: str) -> Guard:
    def resolve(host: str, port: int) -> list[tuple[int, tuple[str, int]]]:
        return [(socket.AF_INET6 if ":" in a else socket.AF_INET, (a, port)) for a in addresses]

    return Guard(resolve=resolve)


def test_a_host_with_any_private_address_is_refused() -> None:
    target = parse("https://example.org/")
    assert len(resolving("8.8.8.8", "2606:4700::1").addresses(target)) == 2
    for mixed in (
        ("8.8.8.8", "10.0.0.1"),
        ("127.0.0.1", "8.8.8.8"),
        ("2606:4700::1", "fe80::1%2"),
        ("8.8.8.8", "::ffff:10.0.0.1"),
    ):
        with pytest.raises(NotAllowed):
            resolving(*mixed).addresses(target)
    with pytest.raises(OSError, match="no address"):
        resolving().addresses(target)


def test_addresses_from_the_system_resolver_are_checked() -> None:
    assert lookup("127.0.0.1", 80) == [(socket.AF_INET, ("127.0.0.1", 80))]
    with pytest.raises(NotAllowed):
        Guard().addresses(Target("http", "localhost", 80, "/"))
    with pytest.raises(OSError):
        Guard().addresses(Target("https", "a" * 80, 443, "/"))


def test_no_reserved_block_is_public() -> None:
    # The registries of special-purpose addresses (IANA), those not globally reachable.
    blocks = (
        "0.0.0.0/8 10.0.0.0/8 100.64.0.0/10 127.0.0.0/8 169.254.0.0/16 172.16.0.0/12 192.0.2.0/24 "
        "192.168.0.0/16 198.18.0.0/15 198.51.100.0/24 203.0.113.0/24 224.0.0.0/4 240.0.0.0/4 "
        "::/128 ::1/128 64:ff9b:1::/48 100::/64 2001::/32 2001:2::/48 2001:db8::/32 3fff::/20 "
        "5f00::/16 fc00::/7 fe80::/10 fec0::/10 ff00::/8"
    )
    for block in blocks.split():
        network = ipaddress.ip_network(block)
        for address in (network[0], network[-1], network[network.num_addresses // 2]):
            assert not is_public(address), address
