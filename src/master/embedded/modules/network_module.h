// SPDX-License-Identifier: MIT
#pragma once

#include "master/embedded/modules/module.h"

/// Functions of Salt's execution module `network`, by their names in Python.
namespace rest_fcgi::embedded::network_module {

[[nodiscard]] Reply interfaces(const Call& call);
[[nodiscard]] Reply hw_addr(const Call& call);
[[nodiscard]] Reply interface(const Call& call);
[[nodiscard]] Reply interface_ip(const Call& call);
[[nodiscard]] Reply ifacestartswith(const Call& call);
[[nodiscard]] Reply ip_addrs(const Call& call);
[[nodiscard]] Reply ip_addrs6(const Call& call);
[[nodiscard]] Reply ip_networks(const Call& call);
[[nodiscard]] Reply ip_networks6(const Call& call);
[[nodiscard]] Reply subnets(const Call& call);
[[nodiscard]] Reply subnets6(const Call& call);
[[nodiscard]] Reply in_subnet(const Call& call);

[[nodiscard]] Reply ip_in_subnet(const Call& call);
[[nodiscard]] Reply convert_cidr(const Call& call);
[[nodiscard]] Reply calc_net(const Call& call);
[[nodiscard]] Reply is_private(const Call& call);
[[nodiscard]] Reply is_loopback(const Call& call);
[[nodiscard]] Reply reverse_ip(const Call& call);
[[nodiscard]] Reply iphexval(const Call& call);

[[nodiscard]] Reply active_tcp(const Call& call);
[[nodiscard]] Reply arp(const Call& call);
[[nodiscard]] Reply default_route(const Call& call);
[[nodiscard]] Reply routes(const Call& call);
[[nodiscard]] Reply get_hostname(const Call& call);
[[nodiscard]] Reply get_fqdn(const Call& call);

}  // namespace rest_fcgi::embedded::network_module
