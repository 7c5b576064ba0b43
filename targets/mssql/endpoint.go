package mssql

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"unicode"

	mssqldb "github.com/microsoft/go-mssqldb"

	"github.com/jobagent/jobagent/targets"
)

// endpoint is a server's name after normalisation: what is matched with a credential's patterns, and what is dialed.
type endpoint struct {
	// host is a name in lower case without a trailing dot, or an IP address in its usual form, without brackets.
	host string
	// instance is in lower case; empty when a port is given, for the port decides then, and the instance is a remark.
	instance string
	// port is 0 when the SQL Server Browser of the host is to be asked for the instance's.
	port uint16
}

const (
	defaultPort = 1433
	browserPort = 1434 // UDP
)

// parseEndpoint reads a server's name in a form that SqlClient knows: host, host\instance or host,port, also after tcp: . The other
// protocols of SqlClient (np:, lpc:, admin:) lead elsewhere than a credential's patterns say, and are refused.
func parseEndpoint(server string) (endpoint, error) {
	host, instance, port, err := splitServer(server)
	if err != nil {
		return endpoint{}, err
	}
	e := endpoint{host: host, instance: instance}
	switch {
	case port != "":
		n, err := strconv.ParseUint(port, 10, 16)
		if err != nil || n == 0 {
			return endpoint{}, fmt.Errorf("invalid port %q: want 1 to 65535", port)
		}
		e.port = uint16(n)
	case instance == "":
		e.port = defaultPort
	}
	return e, nil
}

// splitServer divides a server's name, or a pattern of such names, into normalised parts. The instance is empty when there is a port.
func splitServer(server string) (host, instance, port string, err error) {
	name := strings.TrimPrefix(targets.FoldName(server), "tcp:")
	if strings.ContainsFunc(name, unicode.IsControl) || strings.ContainsAny(name, ";='\"{}") {
		return "", "", "", errServerForm
	}
	name, port, hasPort := strings.Cut(name, ",")
	host, instance, hasInstance := strings.Cut(strings.TrimSpace(name), `\`)
	host, instance, port = normalHost(host), strings.TrimSpace(instance), strings.TrimSpace(port)
	switch {
	case host == "" && hasInstance && instance != "":
		host = "localhost"
	case host == "", hasPort && port == "", hasInstance && instance == "", strings.ContainsAny(port, `,\`), strings.Contains(instance, `\`):
		return "", "", "", errServerForm
	}
	if strings.Contains(host, ":") {
		if _, err := netip.ParseAddr(host); err != nil && !strings.Contains(host, "*") {
			return "", "", "", errServerForm
		}
	}
	if hasPort {
		instance = ""
	}
	return host, instance, port, nil
}

var errServerForm = errors.New(`invalid server name: want host, host\instance or host,port`)

// normalHost makes a host comparable.
func normalHost(host string) string {
	host = strings.TrimSpace(host)
	switch host {
	case ".", "(local)":
		return "localhost"
	}
	if inner, ok := strings.CutPrefix(host, "["); ok && strings.HasSuffix(inner, "]") {
		host = strings.TrimSuffix(inner, "]")
	}
	if addr, err := netip.ParseAddr(host); err == nil {
		return addr.Unmap().String()
	}
	return strings.TrimSuffix(host, ".")
}

// String is the name in the form that the driver reads.
func (e endpoint) String() string {
	switch {
	case e.port != 0:
		return e.host + "," + strconv.Itoa(int(e.port))
	default:
		return e.host + `\` + e.instance
	}
}

// pattern stands for servers. Each part may hold * for any run of characters.
type pattern struct {
	host string
	// instance and port are empty for any.
	instance, port string
}

// parsePattern reads a pattern, which has the form of a server's name.
func parsePattern(text string) (pattern, error) {
	host, instance, port, err := splitServer(text)
	if err == nil && strings.Trim(port, "0123456789*") != "" {
		err = errServerForm
	}
	return pattern{host, instance, port}, err
}

// covers says whether p covers e. While the port of an instance is not known, any port may come to be covered; e with the port that
// came back must be asked about before it is dialed.
func (p pattern) covers(e endpoint) bool {
	if !p.coversHost(e.host) || p.instance != "" && !globMatch(p.instance, e.instance) {
		return false
	}
	return p.port == "" || e.port == 0 || globMatch(p.port, strconv.Itoa(int(e.port)))
}

// coversHost says whether p covers a host. A pattern such as 10.0.* means addresses, and not the name 10.0.example.net.
func (p pattern) coversHost(host string) bool {
	if strings.Contains(p.host, "*") && strings.ContainsAny(p.host, "0123456789.") && strings.Trim(p.host, "0123456789.*") == "" {
		if _, err := netip.ParseAddr(host); err != nil {
			return false
		}
	}
	return globMatch(p.host, host)
}

// covers says whether c may be sent to e.
func (c Credential) covers(e endpoint) bool {
	return slices.ContainsFunc(c.Servers, func(text string) bool {
		p, err := parsePattern(text)
		return err == nil && p.covers(e)
	})
}

// boundDialer dials what a credential may be sent to, and nothing else: the port that the SQL Server Browser names for an instance, and
// the server that the first one sends its client on to, are not what the target group says.
type boundDialer struct {
	mssqldb.HostDialer
	credential Credential
	first      endpoint // what the name says
}

// DialContext dials addr if the credential covers it. It has looked up nothing when it refuses.
func (d boundDialer) DialContext(ctx context.Context, network, addr string) (net.Conn, error) {
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return nil, err
	}
	e := endpoint{host: normalHost(targets.FoldName(host))}
	if e.host == d.first.host {
		e.instance = d.first.instance
	}
	if network != "udp" || port != strconv.Itoa(browserPort) {
		n, err := strconv.ParseUint(port, 10, 16)
		if err != nil || n == 0 {
			return nil, &targets.ConfigError{Subject: fmt.Sprintf("server %q", addr), Err: fmt.Errorf("invalid port %q: want 1 to 65535", port)}
		}
		e.port = uint16(n)
	}
	if !d.credential.covers(e) {
		return nil, &targets.ConfigError{Subject: fmt.Sprintf("credential %q", d.credential.Name), Err: fmt.Errorf("server %q leads to %s, "+
			"on which the credential may not be used; its servers are %s", d.first, e, strings.Join(d.credential.Servers, ", "))}
	}
	return d.HostDialer.DialContext(ctx, network, addr)
}
