package listen

import (
	"net"
	"net/netip"
)

// Network returns the network that a sender, host:port, is counted for: an IPv4 address, or the 64
// bits of an IPv6 network, whose hosts choose their addresses themselves. Anything else is counted
// as one network.
func Network(remote string) netip.Prefix {
	host, _, err := net.SplitHostPort(remote)
	if err != nil {
		return netip.Prefix{}
	}
	addr, err := netip.ParseAddr(host)
	if err != nil {
		return netip.Prefix{}
	}
	addr = addr.Unmap().WithZone("")
	bits := addr.BitLen()
	if addr.Is6() {
		bits = 64
	}
	prefix, err := addr.Prefix(bits)
	if err != nil {
		return netip.Prefix{}
	}
	return prefix
}
