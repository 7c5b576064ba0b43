package outbound

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/jobagent/jobagent/targets"
)

// RefusedError is the reason why a host or port may not be dialed. It is wrapped in a
// *targets.ConfigError that names the host. Its text does not hold the address, because the text is
// shown to authors of jobs, who may not learn the addresses of a network by trying names.
type RefusedError struct {
	Host string
	// Address is invalid if the port was refused.
	Address netip.Addr
	// Rule names the range, such as "loopback", or the port.
	Rule string

	remedy string
}

// Error implements error.
func (e *RefusedError) Error() string {
	return fmt.Sprintf("the agent's outbound rules refuse it (%s): %s", e.Rule, e.remedy)
}

// refused returns the error of a refused host.
func refused(e *RefusedError) error {
	return &targets.ConfigError{Subject: fmt.Sprintf("host %q", e.Host), Err: e}
}

// guard decides which addresses may be dialed.
type guard struct {
	prefixes []netip.Prefix
	hosts    []string // globs in normal form
	ports    []uint16
}

// allow adds an entry of Config.Allow.
func (g *guard) allow(entry string) error {
	if addr, err := netip.ParseAddr(strings.Trim(entry, "[]")); err == nil {
		addr = addr.Unmap().WithZone("")
		g.prefixes = append(g.prefixes, netip.PrefixFrom(addr, addr.BitLen()))
		return nil
	}
	if strings.Contains(entry, "/") {
		prefix, err := netip.ParsePrefix(entry)
		if err != nil {
			return fmt.Errorf("invalid entry %q: want a CIDR prefix such as 10.1.0.0/16, an address or a host name", entry)
		}
		if prefix.Addr().Is4In6() && prefix.Bits() >= 96 {
			prefix = netip.PrefixFrom(prefix.Addr().Unmap(), prefix.Bits()-96)
		}
		g.prefixes = append(g.prefixes, prefix.Masked())
		return nil
	}
	pattern, err := parseHostPattern(entry)
	if err != nil || pattern.port != "" {
		return fmt.Errorf("invalid entry %q: want a CIDR prefix such as 10.1.0.0/16, an address or a host name", entry)
	}
	g.hosts = append(g.hosts, pattern.host)
	return nil
}

// addressRange is a set of addresses that are refused unless they are allowed.
type addressRange struct {
	rule     string
	prefixes []netip.Prefix
}

func prefixes(texts ...string) []netip.Prefix {
	var list []netip.Prefix
	for _, text := range texts {
		list = append(list, netip.MustParsePrefix(text))
	}
	return list
}

// refusedRanges are the ranges of the IANA special-purpose registries that no public service uses.
// netip regards many of them as global unicast, so that its methods do not suffice.
var refusedRanges = []addressRange{
	{"loopback address", prefixes("127.0.0.0/8", "::1/128")},
	{"link-local address", prefixes("169.254.0.0/16", "fe80::/10")},
	{"unspecified address", prefixes("0.0.0.0/8", "::/128")},
	{"multicast address", prefixes("224.0.0.0/4", "ff00::/8")},
	{"broadcast address", prefixes("255.255.255.255/32")},
	{"private address", prefixes("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "fc00::/7", "fec0::/10")},
	{"shared address", prefixes("100.64.0.0/10")},
	{"reserved address", prefixes("192.0.0.0/24", "192.0.2.0/24", "192.88.99.0/24", "198.18.0.0/15", "198.51.100.0/24",
		"203.0.113.0/24", "240.0.0.0/4", "100::/64", "2001:db8::/32", "3fff::/20", "5f00::/16")},
	{"address that embeds an IPv4 address", embedding},
}

// embedding are the ranges of IPv6 that embed an IPv4 address: NAT64 (RFC 6052, RFC 8215), 6to4,
// Teredo, IPv4-compatible and IPv4-translated addresses.
var embedding = prefixes("64:ff9b::/96", "64:ff9b:1::/48", "2002::/16", "2001::/32", "::/96", "::ffff:0:0:0/96")

// metadataAddresses give credentials and secrets of a cloud's machine to everything that runs on
// it. They are only allowed alone.
var metadataAddresses = func() []netip.Addr {
	var list []netip.Addr
	for _, text := range []string{
		"169.254.169.254", "fd00:ec2::254", "fd20:ce::254", // most clouds; AWS and Google by IPv6
		"169.254.170.2", "169.254.170.23", "fd00:ec2::23", // AWS containers
		"168.63.129.16",   // Azure's wire server
		"100.100.100.200", // Alibaba
		"192.0.0.192",     // Oracle
	} {
		list = append(list, netip.MustParseAddr(text))
	}
	return list
}()

// embedded returns the IPv4 addresses in an IPv6 address.
func embedded(a netip.Addr) []netip.Addr {
	b := a.As16()
	last := netip.AddrFrom4([4]byte(b[12:16]))
	switch {
	case !a.Is6():
		return nil
	case embedding[0].Contains(a), embedding[4].Contains(a), embedding[5].Contains(a):
		return []netip.Addr{last}
	case embedding[1].Contains(a): // the place depends on the length of the network's own prefix
		return []netip.Addr{
			last,
			netip.AddrFrom4([4]byte{b[6], b[7], b[9], b[10]}),
			netip.AddrFrom4([4]byte{b[7], b[9], b[10], b[11]}),
			netip.AddrFrom4([4]byte(b[9:13])),
		}
	case embedding[2].Contains(a):
		return []netip.Addr{netip.AddrFrom4([4]byte(b[2:6]))}
	case embedding[3].Contains(a): // server, and the client with its bits inverted
		return []netip.Addr{
			netip.AddrFrom4([4]byte(b[4:8])),
			netip.AddrFrom4([4]byte{^b[12], ^b[13], ^b[14], ^b[15]}),
		}
	default:
		return nil
	}
}

// refusedRule returns the name of the range that refuses an address, or "".
func refusedRule(a netip.Addr) string {
	for _, r := range refusedRanges {
		if slices.ContainsFunc(r.prefixes, func(p netip.Prefix) bool { return p.Contains(a) }) {
			return r.rule
		}
	}
	return ""
}

// remedyAllow is the remedy of most refusals.
const remedyAllow = "outbound.allow of the agent's configuration can allow the host or its address range"

// checkAddress reports whether an address of a host may be dialed. The error is a
// *targets.ConfigError.
func (g *guard) checkAddress(host string, addr netip.Addr) error {
	a := addr.Unmap().WithZone("")
	if slices.Contains(metadataAddresses, a) {
		if slices.Contains(g.prefixes, netip.PrefixFrom(a, a.BitLen())) {
			return nil
		}
		return refused(&RefusedError{Host: host, Address: addr, Rule: "metadata address of a cloud",
			remedy: "only an entry of outbound.allow with this address alone can allow it"})
	}
	rule := refusedRule(a)
	if rule == "" {
		return nil
	}
	if !g.allows(host, a) {
		return refused(&RefusedError{Host: host, Address: addr, Rule: rule, remedy: remedyAllow})
	}
	if a == netip.IPv6Loopback() || a == netip.IPv6Unspecified() {
		return nil
	}
	for _, inner := range embedded(a) {
		if err := g.checkAddress(host, inner); err != nil {
			return err
		}
	}
	return nil
}

// allows reports whether the configuration allows an address of a refused range.
func (g *guard) allows(host string, a netip.Addr) bool {
	return slices.ContainsFunc(g.prefixes, func(p netip.Prefix) bool { return p.Contains(a) }) ||
		slices.ContainsFunc(g.hosts, func(glob string) bool { return coversHost(glob, host) })
}

// checkPort reports whether a port may be dialed.
func (g *guard) checkPort(host string, port uint16) error {
	if port == 80 || port == 443 || port >= 1024 || slices.Contains(g.ports, port) {
		return nil
	}
	return refused(&RefusedError{Host: host, Rule: fmt.Sprintf("port %d", port),
		remedy: "want port 80, 443 or 1024 to 65535; outbound.allow_ports of the agent's configuration can allow others"})
}

// splitAddress splits host:port into a host in normal form and a port.
func splitAddress(address string) (host string, port uint16, err error) {
	host, text, err := net.SplitHostPort(address)
	if err != nil {
		return "", 0, fmt.Errorf("invalid address %q: want host:port", address)
	}
	number, err := strconv.ParseUint(text, 10, 16)
	if err != nil || number == 0 || host == "" {
		return "", 0, fmt.Errorf("invalid address %q: want host:port with a port from 1 to 65535", address)
	}
	return normalHost(host), uint16(number), nil
}

// Check reports whether host:port may be dialed as far as this is known without the name service:
// the port, and an address in place of a name. The error is a *targets.ConfigError.
func (n *Network) Check(address string) error {
	host, port, err := splitAddress(address)
	if err != nil {
		return &targets.ConfigError{Subject: fmt.Sprintf("address %q", address), Err: err}
	}
	if err := n.guard.checkPort(host, port); err != nil {
		return err
	}
	if addr, err := netip.ParseAddr(host); err == nil {
		return n.guard.checkAddress(host, addr)
	}
	return nil
}

// hostPattern describes hosts and ports. In each part, * stands for any run of characters. An empty
// port matches any.
type hostPattern struct{ host, port string }

var errHostPattern = errors.New("want host or host:port, in which * stands for any run of characters")

func parseHostPattern(text string) (hostPattern, error) {
	fault := fmt.Errorf("invalid host pattern %q: %w", text, errHostPattern)
	if strings.TrimSpace(text) == "" || strings.ContainsAny(text, "/@?#\\, ;") ||
		strings.ContainsFunc(text, unicode.IsControl) {
		return hostPattern{}, fault
	}
	if addr, err := netip.ParseAddr(strings.Trim(text, "[]")); err == nil {
		return hostPattern{host: addr.Unmap().WithZone("").String()}, nil
	}
	if i := strings.LastIndexByte(text, ':'); i >= 0 && !strings.HasSuffix(text, "]") {
		host, port := text[:i], text[i+1:]
		if host == "" || port == "" || strings.Trim(port, "0123456789*") != "" ||
			strings.Contains(host, ":") && !strings.HasPrefix(host, "[") {
			return hostPattern{}, fault
		}
		return hostPattern{host: normalHost(host), port: port}, nil
	}
	return hostPattern{host: normalHost(text)}, nil
}

// normalHost returns a host in the form in which hosts are compared: an address in its usual form,
// or a name in lower case without a trailing dot.
func normalHost(host string) string {
	host = strings.ToLower(strings.Trim(strings.TrimSpace(host), "[]"))
	if addr, err := netip.ParseAddr(host); err == nil {
		return addr.Unmap().WithZone("").String()
	}
	return strings.TrimSuffix(host, ".")
}

// covers reports whether p covers a host in normal form and a port.
func (p hostPattern) covers(host string, port uint16) bool {
	return coversHost(p.host, host) && (p.port == "" || targets.MatchGlob(p.port, strconv.Itoa(int(port))))
}

// coversHost reports whether a glob covers a host. A glob such as 10.0.* means addresses, not the
// name 10.0.example.net. No glob covers a host that is not in ASCII, because the name that is
// dialed would be another text.
func coversHost(glob, host string) bool {
	if strings.ContainsFunc(host, func(r rune) bool { return r >= utf8.RuneSelf }) {
		return false
	}
	isAddress := strings.ContainsAny(glob, "0123456789") && strings.Trim(glob, "0123456789.*") == ""
	if isAddress && strings.Contains(glob, "*") {
		if _, err := netip.ParseAddr(host); err != nil {
			return false
		}
	}
	return targets.MatchGlob(glob, host)
}
