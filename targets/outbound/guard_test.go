package outbound_test

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/targets"
	"github.com/jobagent/jobagent/targets/outbound"
)

// names is a name service.
type names map[string][]string

// LookupNetIP implements outbound.Resolver.
func (n names) LookupNetIP(_ context.Context, _, host string) ([]netip.Addr, error) {
	texts, ok := n[host]
	if !ok {
		return nil, &net.DNSError{Err: "no such host", Name: host, IsNotFound: true}
	}
	var list []netip.Addr
	for _, text := range texts {
		list = append(list, netip.MustParseAddr(text))
	}
	return list, nil
}

// errDialed is the answer of a dialer that only records.
var errDialed = errors.New("dialed")

// recorder returns a configuration whose dialer appends each address to list.
func recorder(list *[]string, resolver names, allow ...string) outbound.Config {
	return outbound.Config{
		Allow: allow, Resolver: resolver,
		Dialer: func(_ context.Context, _, address string) (net.Conn, error) {
			*list = append(*list, address)
			return nil, errDialed
		},
	}
}

func network(t *testing.T, cfg outbound.Config) *outbound.Network {
	t.Helper()
	n, err := outbound.New(cfg)
	require.NoError(t, err)
	return n
}

// requireRefused checks that an error names the host and the rule, and not the address of a name.
func requireRefused(t *testing.T, err error, host, rule string) {
	t.Helper()
	var config *targets.ConfigError
	require.ErrorAs(t, err, &config)
	require.Contains(t, config.Subject, host)
	var refused *outbound.RefusedError
	require.ErrorAs(t, err, &refused)
	require.Equal(t, rule, refused.Rule)
	require.Contains(t, err.Error(), rule)
	class, ok := targets.ClassifyCause(err)
	require.True(t, ok)
	require.Equal(t, targets.ClassConfig, class.Class)
}

// Case 108, and all ranges of the specification's table.
func TestCase108RefusedAddresses(t *testing.T) {
	t.Parallel()
	const reserved, embeds = "reserved address", "address that embeds an IPv4 address"
	const metadata, private, loopback = "metadata address of a cloud", "private address", "loopback address"
	for address, rule := range map[string]string{
		"127.0.0.1": loopback, "127.255.255.254": loopback, "::1": loopback, "::ffff:127.0.0.1": loopback,
		"169.254.1.1": "link-local address", "fe80::1": "link-local address", "fe80::1%eth0": "link-local address",
		"0.0.0.0": "unspecified address", "::": "unspecified address", "0.1.2.3": "unspecified address",
		"224.0.0.1": "multicast address", "ff02::1": "multicast address", "255.255.255.255": "broadcast address",
		"10.0.0.1": private, "::ffff:10.0.0.1": private, "172.16.0.1": private, "172.31.255.255": private,
		"192.168.0.1": private, "fc00::1": private, "fdff::1": private, "fec0::1": private,
		"100.64.0.1": "shared address", "100.127.255.255": "shared address",
		"192.0.0.1": reserved, "192.0.2.1": reserved, "198.18.0.1": reserved, "198.19.255.255": reserved,
		"198.51.100.1": reserved, "203.0.113.1": reserved, "240.0.0.1": reserved, "2001:db8::1": reserved,
		"64:ff9b::7f00:1": embeds, "64:ff9b::808:808": embeds, "64:ff9b:1::1": embeds, "2002:7f00:1::": embeds,
		"2001::1": embeds, "::7f00:1": embeds, "::ffff:0:7f00:1": embeds,
		"168.63.129.16": metadata, "169.254.169.254": metadata, "::ffff:169.254.169.254": metadata,
		"fd00:ec2::254": metadata, "100.100.100.200": metadata,
	} {
		var dialed []string
		n := network(t, recorder(&dialed, names{"h.example": {address}}))
		_, err := n.For(nil, nil).Dial(t.Context(), "h.example:443")
		requireRefused(t, err, "h.example", rule)
		require.NotContains(t, err.Error(), address, "a message does not tell the address of a name")
		require.Empty(t, dialed, address)

		_, err = n.For(nil, nil).Dial(t.Context(), net.JoinHostPort(address, "443"))
		var refused *outbound.RefusedError
		require.ErrorAs(t, err, &refused, address)
		require.Error(t, n.Check(net.JoinHostPort(address, "443")))
		require.Empty(t, dialed, address)
	}
}

func TestAllowedAddresses(t *testing.T) {
	t.Parallel()
	all := "0.0.0.0/0"
	for _, c := range []struct {
		address string
		allow   []string
		ok      bool
	}{
		{"8.8.8.8", nil, true},
		{"172.15.0.1", nil, true},
		{"172.32.0.1", nil, true},
		{"100.63.255.255", nil, true},
		{"2606:4700::1", nil, true},
		{"10.1.2.3", []string{"10.1.0.0/16"}, true},
		{"::ffff:10.1.2.3", []string{"10.1.0.0/16"}, true},
		{"10.1.2.3", []string{"::ffff:10.1.0.0/112"}, true},
		{"10.2.2.3", []string{"10.1.0.0/16"}, false},
		{"10.2.2.3", []string{"h.example"}, true},
		{"10.2.2.3", []string{"*.EXAMPLE."}, true},
		{"10.2.2.3", []string{"x.example"}, false},
		{"127.0.0.1", outbound.LoopbackAllowed(), true},
		{"::1", outbound.LoopbackAllowed(), true},
		{"169.254.169.254", []string{"169.254.0.0/16", all, "h.example"}, false},
		{"169.254.169.254", []string{"169.254.169.254/32"}, true},
		{"169.254.169.254", []string{"169.254.169.254"}, true},
		{"168.63.129.16", []string{all}, false},
		{"fd00:ec2::254", []string{"fc00::/7"}, false},
		{"64:ff9b::808:808", []string{"64:ff9b::/96"}, true},
		{"64:ff9b::7f00:1", []string{"64:ff9b::/96"}, false},
		{"64:ff9b::7f00:1", []string{"64:ff9b::/96", "127.0.0.0/8"}, true},
		{"64:ff9b::a9fe:a9fe", []string{"::/0", all}, false},
		{"64:ff9b:1:7f00:0:100::", []string{"::/0"}, false},
		{"2002:808:808::1", []string{"2002::/16"}, true},
		{"2002:a00:1::1", []string{"2002::/16"}, false},
		{"2001:0:808:808::f7f7:f7f7", []string{"2001::/32"}, true},
		{"2001:0:808:808::f5ff:fffe", []string{"2001::/32"}, false}, // the client is 10.0.0.1
		{"::10.0.0.1", []string{"::/96"}, false},
	} {
		var dialed []string
		n := network(t, recorder(&dialed, names{"h.example": {c.address}}, c.allow...))
		_, err := n.For(nil, nil).Dial(t.Context(), "h.example:443")
		if c.ok {
			require.ErrorIs(t, err, errDialed, "%s %v", c.address, c.allow)
		} else {
			var refused *outbound.RefusedError
			require.ErrorAs(t, err, &refused, "%s %v", c.address, c.allow)
			require.Empty(t, dialed)
		}
	}
}

func TestPorts(t *testing.T) {
	t.Parallel()
	var dialed []string
	cfg := recorder(&dialed, names{"h.example": {"8.8.8.8"}})
	cfg.AllowPorts = []int{25}
	n := network(t, cfg)
	for port, ok := range map[string]bool{"80": true, "443": true, "1024": true, "65535": true, "25": true,
		"22": false, "1": false, "1023": false, "0": false, "65536": false, "": false, "-1": false} {
		_, err := n.For(nil, nil).Dial(t.Context(), "h.example:"+port)
		require.Equal(t, ok, errors.Is(err, errDialed), "port %s: %v", port, err)
		require.Equal(t, ok, n.Check("h.example:"+port) == nil, port)
	}
}

// The check is of the address that is dialed: a name that resolves to another address the second
// time does not pass. This test uses the operating system's sockets.
func TestDialedAddressIsChecked(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer listener.Close()
	address := listener.Addr().String()
	_, err = network(t, outbound.Config{}).For(nil, nil).Dial(t.Context(), address)
	requireRefused(t, err, "127.0.0.1", "loopback address")
	_, port, err := net.SplitHostPort(address)
	require.NoError(t, err)
	_, err = network(t, outbound.Config{}).For(nil, nil).Dial(t.Context(), "localhost:"+port)
	requireRefused(t, err, "localhost", "loopback address")

	c, err := network(t, outbound.Config{Allow: outbound.LoopbackAllowed()}).For(nil, nil).Dial(t.Context(), address)
	require.NoError(t, err)
	require.NoError(t, c.Close())
}

// An allowed address of a name is used even if others are refused, and the refusal is the error if
// none is left.
func TestNameWithSeveralAddresses(t *testing.T) {
	t.Parallel()
	var dialed []string
	n := network(t, recorder(&dialed, names{"h.example": {"10.0.0.1", "8.8.8.8", "127.0.0.1"}}))
	_, err := n.For(nil, nil).Dial(t.Context(), "h.example:443")
	requireRefused(t, err, "h.example", "private address")
	require.Equal(t, []string{"8.8.8.8:443"}, dialed)
}

func TestConfigReportsAllFaults(t *testing.T) {
	t.Parallel()
	err := outbound.Config{
		Allow: []string{"10.0.0.0/33", "a b", "http://x/", ""}, AllowPorts: []int{0, 70000},
		Proxy: "ftp://u:hunter2@proxy", TrustProxyACL: true, ProxyCredential: "hunter2", CA: "hunter3",
		Servers: []outbound.Server{{Match: "a/b", TLS: "none", CertificateSHA256: []string{"ab"}}},
		Credentials: []outbound.Credential{
			{Name: "a", Kind: outbound.KindBearer, Hosts: []string{"*"}, Secret: "env:A"},
			{Name: "A", Kind: outbound.KindBearer, Hosts: []string{"*"}, Secret: "env:A"},
			{Name: "b", Kind: "magic"},
			{Name: "m", Kind: outbound.KindManagedIdentity, Hosts: []string{"*"}},
		},
	}.Validate()
	for _, text := range []string{"outbound.allow[0]", "outbound.allow[1]", "outbound.allow[2]", "outbound.allow[3]",
		"allow_ports[0]", "allow_ports[1]", "outbound.proxy: ", "outbound.proxy_credential", "outbound.ca", "outbound.servers[0]",
		"host pattern", `tls "none"`, "64 hexadecimal digits", `duplicate name "A"`, `invalid kind "magic"`,
		"the hosts are missing", "are not available here"} {
		require.ErrorContains(t, err, text)
	}
	require.NotContains(t, err.Error(), "hunter2")
	require.ErrorContains(t, outbound.Config{Proxy: "http://proxy:3128"}.Validate(), "trust_proxy_acl")
}
