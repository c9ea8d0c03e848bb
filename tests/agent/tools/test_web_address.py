"""Which addresses a page may be fetched from."""

from __future__ import annotations

import ipaddress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.tools.web_address import PrivateAddress, addresses_of, kind_of, system_resolve

PRIVATE = [
    "127.0.0.1",
    "127.255.0.9",
    "10.0.0.1",
    "172.16.0.1",
    "172.31.255.255",
    "192.168.1.1",
    "169.254.169.254",
    "100.64.0.1",
    "100.100.100.200",
    "0.0.0.0",
    "0.1.2.3",
    "192.0.0.192",
    "192.0.2.1",
    "198.18.0.1",
    "198.51.100.1",
    "203.0.113.1",
    "168.63.129.16",
    "224.0.0.1",
    "239.255.255.250",
    "240.0.0.1",
    "255.255.255.255",
    "::1",
    "::",
    "::ffff:127.0.0.1",
    "::ffff:169.254.169.254",
    "::127.0.0.1",
    "2002:7f00:1::",
    "2002:a9fe:a9fe::",
    "64:ff9b::7f00:1",
    "64:ff9b::a9fe:a9fe",
    "64:ff9b:1::808:808",
    "2001::1",
    "fe80::1",
    "fe80::1%eth0",
    "fc00::1",
    "fd00:ec2::254",
    "fec0::1",
    "ff02::1",
    "2001:db8::1",
    "100::1",
    "2606:4700::5efe:7f00:1",
    "2606:4700::200:5efe:a00:1",
]
PUBLIC = [
    "8.8.8.8",
    "1.1.1.1",
    "93.184.216.34",
    "2606:4700:4700::1111",
    "2a00:1450:4001:81b::200e",
    "64:ff9b::808:808",
    "::ffff:8.8.8.8",
]


@pytest.mark.parametrize("address", PRIVATE)
def test_what_is_not_on_the_public_internet_is_told_apart(address):
    assert kind_of(address)


@pytest.mark.parametrize("address", PUBLIC)
def test_a_public_address_is_one(address):
    assert kind_of(address) == ""


@given(st.ip_addresses(v=4))
def test_an_ipv4_address_is_judged_the_same_inside_of_an_ipv6_one(address):
    packed = int(address)
    inside = [0xFFFF << 32 | packed, 0x2002 << 112 | packed << 80, int(ipaddress.IPv6Address("64:ff9b::")) | packed]
    for number in inside:
        if kind_of(str(address)):
            assert kind_of(str(ipaddress.IPv6Address(number)))


@pytest.mark.parametrize("spelling", ["2130706433", "0x7f.1", "127.1", "localhost", "0", "017700000001"])
async def test_a_spelling_is_judged_by_the_address_that_the_system_makes_of_it(spelling):
    with pytest.raises(PrivateAddress):
        await addresses_of(spelling, 80, system_resolve, allows_private=False)


async def test_one_private_address_among_public_ones_refuses_the_name():
    async def resolve(host: str, port: int) -> list[str]:
        return ["8.8.8.8", "10.0.0.1"]

    with pytest.raises(PrivateAddress, match=r"10\.0\.0\.1"):
        await addresses_of("mixed.example", 443, resolve, allows_private=False)


@pytest.mark.parametrize("name", ["no-such-host.invalid", "a..b", "x" * 70 + ".example"])
async def test_a_name_without_an_address_is_an_error_of_the_system(name):
    with pytest.raises(OSError):
        await addresses_of(name, 80, system_resolve, allows_private=False)
