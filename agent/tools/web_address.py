"""Which addresses of a name may be connected to: the public ones, unless a person's settings say more.

A name is resolved once for each request, every address it has is looked at, and the connection goes to one of exactly
these: a name that resolves to something else a moment later changes nothing.
"""

from __future__ import annotations

import asyncio
import ipaddress
import socket
from collections.abc import Awaitable, Callable
from functools import partial
from threading import Thread

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
Resolve = Callable[[str, int], Awaitable[list[str]]]
"""The addresses of a name for a port, best first. Raises OSError."""

MOST_ADDRESSES = 4  # of a name with more, the first ones are tried

_NAT64 = ipaddress.ip_network("64:ff9b::/96")
_ONLY_LOCAL = tuple(
    map(
        ipaddress.ip_network,
        (
            "0.0.0.0/8",
            "100.64.0.0/10",  # shared by the customers of a provider; one cloud has its metadata there
            "168.63.129.16/32",  # what a cloud tells its machines, at an address that looks public
            "192.0.0.0/24",
            "198.18.0.0/15",
            "240.0.0.0/4",
            "64:ff9b:1::/48",  # the same as 64:ff9b::/96, for private networks
            "100::/64",
            "fec0::/10",
        ),
    )
)


class PrivateAddress(Exception):
    """A name has an address that is not on the public internet. The text says which and what it is."""


async def system_resolve(host: str, port: int) -> list[str]:
    """Ask the system. In a thread of its own, so that an answer that does not come holds up nobody, not even the end."""
    loop = asyncio.get_running_loop()
    found: asyncio.Future[list[str]] = loop.create_future()

    def look() -> None:
        try:
            known = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
            settle = partial(_settle, found, list(dict.fromkeys(str(one[4][0]) for one in known)))
        except (OSError, UnicodeError) as error:
            settle = partial(_fail, found, error if isinstance(error, OSError) else OSError(str(error)))
        try:
            loop.call_soon_threadsafe(settle)
        except RuntimeError:
            pass  # the loop ended meanwhile

    Thread(target=look, name="hermes-resolve", daemon=True).start()
    return await found


async def addresses_of(host: str, port: int, resolve: Resolve, *, allows_private: bool) -> list[str]:
    """The addresses to try, all of them looked at. Raises PrivateAddress, or OSError where the name has none."""
    found = await resolve(host, port)
    if not found:
        raise OSError("the name has no address")
    if not allows_private:
        for address in found:
            if kind := kind_of(address):
                raise PrivateAddress(f"{host} is at {address}, {kind}")
    return found[:MOST_ADDRESSES]


def kind_of(text: str) -> str:
    """What an address is that is not on the public internet, "" for one that is. Also those that stand in another."""
    try:
        address = ipaddress.ip_address(text.partition("%")[0])
    except ValueError:
        return "which is no address"
    kinds = [_kind(one) for one in [address, *_within(address)]]
    return next(filter(None, kinds), "")


def _kind(address: Address) -> str:
    if address.is_loopback:
        return "this machine itself"
    if address.is_link_local:
        return "a link-local address, where clouds keep their metadata"
    if address.is_multicast:
        return "a multicast address"
    if address.is_unspecified:
        return "no address of one machine"
    is_local = any(address in network for network in _ONLY_LOCAL if network.version == address.version)
    return "" if address.is_global and not is_local else "an address of a private or special network"


def _within(address: Address) -> list[Address]:
    """The IPv4 addresses that an IPv6 one stands for or holds, as far as its form tells."""
    if isinstance(address, ipaddress.IPv4Address):
        return []
    low = ipaddress.IPv4Address(int(address) & 0xFFFF_FFFF)
    server, client = address.teredo or (None, None)
    held = [address.ipv4_mapped, address.sixtofour, server, client]
    is_isatap = (int(address) >> 32) & 0xFCFF_FFFF == 0x5EFE
    if address in _NAT64 or is_isatap or int(address) >> 32 == 0:
        held.append(low)
    return [one for one in held if one is not None]


def _settle(future: asyncio.Future[list[str]], found: list[str]) -> None:
    if not future.done():
        future.set_result(found)


def _fail(future: asyncio.Future[list[str]], error: OSError) -> None:
    if not future.done():
        future.set_exception(error)
