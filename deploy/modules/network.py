# SPDX-License-Identifier: MIT

import fnmatch
import ipaddress
import json
import socket

from salt.exceptions import CommandExecutionError

ROUTE4 = ((0x2, "G"), (0x4, "H"), (0x8, "R"), (0x10, "D"), (0x20, "M"), (0x200, "!"))  # netstat shows these letters
ROUTE6 = ((0x2, "G"), (0x4, "H"), (0x10000, "D"), (0x40000, "A"), (0x200000, "n"), (0x400000, "e"))
ESTABLISHED = "01"


def interfaces():
    """Return all interfaces with their addresses."""
    found = {}
    for link in _links():
        one = found[link["ifname"]] = {"up": "UP" in link["flags"]}
        if "link" in link or "link_index" in link:
            one["parent"] = link.get("link") or f"if{link['link_index']}"
        if "address" in link:
            one["hwaddr"] = link["address"]
        for address in link["addr_info"]:
            if address.get("family") == "inet":
                kind = "secondary" if address.get("secondary") else "inet"
                one.setdefault(kind, []).append(_address4(address, kind))
            elif address.get("family") == "inet6":
                shown = {"address": address["local"], "prefixlen": str(address["prefixlen"]), "scope": address["scope"]}
                one.setdefault("inet6", []).append(shown)
    return found


def interface(iface):
    """
    Return the IPv4 addresses of an interface.

    CLI Example:

        salt '*' network.interface eth0
    """
    return _of_interface(iface, lambda one: one.get("inet", ""))


def interface_ip(iface):
    """Return the first IPv4 address of an interface."""
    return _of_interface(iface, lambda one: one["inet"][0]["address"] if "inet" in one else "")


def hw_addr(iface):
    """Return the hardware address of an interface."""
    return _of_interface(iface, lambda one: one.get("hwaddr", ""))


def ip_addrs(interface=None, include_loopback=False, cidr=None, type=None):
    """
    Return the IPv4 addresses of this host. ``interface`` selects interfaces, ``cidr`` a network, and ``type`` the
    ``public`` or ``private`` addresses.

    CLI Example:

        salt '*' network.ip_addrs cidr=10.0.0.0/8
    """
    found = _addresses(4, interface, include_loopback)
    if cidr:
        found = _within(found, cidr)
    elif type in ("public", "private"):
        found = [address for address in found if address.is_private == (type == "private")]
    return [str(address) for address in found]


def ip_addrs6(interface=None, include_loopback=False, cidr=None):
    """Return the IPv6 addresses of this host. ``interface`` selects interfaces, and ``cidr`` a network."""
    found = _addresses(6, interface, include_loopback)
    return [str(address) for address in (_within(found, cidr) if cidr else found)]


hwaddr, ipaddrs, ipaddrs6 = hw_addr, ip_addrs, ip_addrs6  # Salt has these aliases


def subnets(interfaces=None):
    """Return the IPv4 networks of this host, or of the named interfaces. Loopback is left out."""
    return _networks(4, interfaces)


def subnets6():
    """Return the IPv6 networks of this host. Loopback is left out."""
    return _networks(6, None)


def in_subnet(cidr):
    """Return whether this host has an address in a network."""
    return bool(_within(_addresses(4, None, False) + _addresses(6, None, False), cidr))


def ip_in_subnet(ip_addr, cidr):
    """
    Return whether an address is in a network. Of a list, at least one address must be in the network.

    CLI Example:

        salt '*' network.ip_in_subnet 172.17.0.4 172.16.0.0/12
    """
    network = _network(cidr)
    asked = ip_addr if isinstance(ip_addr, list) else [ip_addr]
    return network is not None and any(ipaddress.ip_address(one) in network for one in asked)


def is_private(ip_addr):
    """Return whether an address is in a private network."""
    return ipaddress.ip_address(ip_addr).is_private


def is_loopback(ip_addr):
    """Return whether an address is a loopback address."""
    return ipaddress.ip_address(ip_addr).is_loopback


def reverse_ip(ip_addr):
    """
    Return the reverse DNS name of an address.

    CLI Example:

        salt '*' network.reverse_ip 172.17.0.4
    """
    return ipaddress.ip_address(ip_addr).reverse_pointer


def get_hostname():
    """
    Return the name of this host.

    CLI Example:

        salt '*' network.get_hostname
    """
    return socket.gethostname()


def get_fqdn():
    """Return the fully qualified name of this host."""
    return socket.getfqdn()


def routes(family=None):
    """Return the routing tables. ``family`` selects ``inet`` or ``inet6``."""
    if family not in (None, "inet", "inet6"):
        raise CommandExecutionError(f"Invalid address family {family}")
    found = []
    if family != "inet6":
        found += [_route4(words) for words in _table("route")[1:] if len(words) >= 8]
    if family != "inet":
        found += [_route6(words) for words in _table("ipv6_route") if len(words) >= 10]
    return found


def default_route(family=None):
    """Return the default routes. ``family`` selects ``inet`` or ``inet6``."""
    return [route for route in routes(family) if route["destination"] in ("0.0.0.0", "::/0")]


def arp():
    """Return the ARP table, which maps hardware addresses to IP addresses."""
    found = {}
    for words in _table("arp")[1:]:
        if len(words) >= 6 and words[2] != "0x0":  # flags 0x0 mark an incomplete entry
            found.setdefault(words[3], words[0])
    return found


def active_tcp():
    """
    Return the established TCP connections.

    CLI Example:

        salt '*' network.active_tcp
    """
    rows = [words for name in ("tcp", "tcp6") for words in _table(name)[1:] if words[3] == ESTABLISHED]
    found = {}
    for number, words in enumerate(rows):
        local, remote = (word.split(":") for word in words[1:3])
        found[str(number)] = {
            "local_addr": _end(local[0]),
            "local_port": int(local[1], 16),
            "remote_addr": _end(remote[0]),
            "remote_port": int(remote[1], 16),
        }
    return found


def _links():
    result = __salt__["cmd.run_all"](["ip", "-json", "address"], ignore_retcode=True)
    if result["retcode"] != 0:
        raise CommandExecutionError(result["stderr"])
    return [link for link in json.loads(result["stdout"]) if "ifname" in link]


def _address4(address, kind):
    shown = {"type": "inet"} if kind == "secondary" else {}
    prefix = address["prefixlen"]
    shown["address"] = address["local"]
    shown["netmask"] = str(ipaddress.ip_network(f"0.0.0.0/{prefix}").netmask) if prefix else ""
    shown["broadcast"] = address.get("broadcast")
    shown["label"] = address.get("label", "")
    return shown


def _of_interface(name, take):
    found = interfaces()
    if name in found:
        return take(found[name])
    names = ", ".join(f'"{one}"' for one in found)
    return f'Interface "{name}" not in available interfaces: {names}'


def _addresses(version, patterns, loopback):
    patterns = patterns.split(",") if isinstance(patterns, str) else patterns
    found = set()
    for link in _links():
        if patterns is None or any(fnmatch.fnmatch(link["ifname"], one) for one in patterns):
            found.update(ipaddress.ip_address(one["local"]) for one in link["addr_info"] if "local" in one)
    return sorted(one for one in found if one.version == version and (loopback or not one.is_loopback))


def _networks(version, names):
    names = [names] if isinstance(names, str) else names
    found = set()
    for link in _links():
        if names is None or link["ifname"] in names:
            for one in link["addr_info"]:
                found.add(ipaddress.ip_network(f"{one['local']}/{one['prefixlen']}", strict=False))
    return [str(one) for one in sorted(one for one in found if one.version == version and not one.is_loopback)]


def _network(cidr):
    try:
        return ipaddress.ip_network(cidr)
    except ValueError:
        return None


def _within(addresses, cidr):
    network = _network(cidr)
    return [one for one in addresses if network is not None and one in network]


def _table(name):
    """Yields the words of each line of a table in /proc/net."""
    try:
        with open(f"/proc/net/{name}", encoding="utf-8", errors="replace") as file:
            return [line.split() for line in file]
    except FileNotFoundError:
        return []


def _end(digits):
    """Returns the address for the kernel's hexadecimal digits. Each group of four bytes has the host's byte order."""
    groups = [bytes.fromhex(digits[at : at + 8]) for at in range(0, len(digits), 8)]
    address = ipaddress.ip_address(b"".join(socket.ntohl(int.from_bytes(one, "big")).to_bytes(4, "big") for one in groups))
    return str(getattr(address, "ipv4_mapped", None) or address)


def _route4(words):
    flags = int(words[3], 16)
    return {
        "addr_family": "inet",
        "destination": _end(words[1]),
        "gateway": _end(words[2]),
        "netmask": _end(words[7]),
        "flags": ("U" if flags & 1 else "") + "".join(letter for bit, letter in ROUTE4 if flags & bit),
        "interface": words[0],
    }


def _route6(words):
    flags = int(words[8], 16)
    return {
        "addr_family": "inet6",
        "destination": f"{ipaddress.ip_address(bytes.fromhex(words[0]))}/{int(words[1], 16)}",
        "gateway": str(ipaddress.ip_address(bytes.fromhex(words[4]))),
        "netmask": "",
        "flags": ("!" if flags & 0x200 else "U") + "".join(letter for bit, letter in ROUTE6 if flags & bit),
        "interface": words[9],
    }
