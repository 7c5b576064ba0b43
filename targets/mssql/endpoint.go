package mssql

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	mssqldb "github.com/microsoft/go-mssqldb"

	"github.com/jobagent/jobagent/targets"
)

// endpoint is a normalized server name. It is matched with a credential's patterns, and dialed.
type endpoint struct {
	// host is a name in lower case without a trailing dot, or an IP address in its usual form,
	// without brackets.
	host string
	// instance is in lower case. It is empty when a port is given, because the port takes
	// precedence.
	instance string
	// port is 0 when the host's SQL Server Browser must be queried for the port of the instance.
	port uint16
}

const (
	defaultPort = 1433
	browserPort = 1434 // UDP
)

// parseEndpoint parses a server name in SqlClient's form: host, host\instance or host,port,
// optionally after tcp:. It refuses SqlClient's other protocols (np:, lpc:, admin:), because the
// patterns of a credential do not describe their endpoints.
func parseEndpoint(server string) (endpoint, error) {
	host, instance, port, err := targets.SplitServer(server)
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

// String returns the name in the driver's form.
func (e endpoint) String() string {
	switch {
	case e.port != 0:
		return e.host + "," + strconv.Itoa(int(e.port))
	default:
		return e.host + `\` + e.instance
	}
}

// pattern describes servers. In each part, * stands for any run of characters.
type pattern struct {
	host string
	// An empty instance or port matches any.
	instance, port string
}

// parsePattern parses a pattern, which has the form of a server name.
func parsePattern(text string) (pattern, error) {
	host, instance, port, err := targets.SplitServer(text)
	if err == nil && strings.Trim(port, "0123456789*") != "" {
		err = targets.ErrServerForm
	}
	return pattern{host, instance, port}, err
}

// covers reports whether p covers e. While the port of an instance is not known, every pattern with
// a port covers it; covers must be called again with the port that the SQL Server Browser returned,
// before this port is dialed.
func (p pattern) covers(e endpoint) bool {
	if !p.coversHost(e.host) || p.instance != "" && !targets.MatchGlob(p.instance, e.instance) {
		return false
	}
	return p.port == "" || e.port == 0 || targets.MatchGlob(p.port, strconv.Itoa(int(e.port)))
}

// coversHost reports whether p covers a host. A pattern such as 10.0.* means addresses, not the
// name 10.0.example.net.
func (p pattern) coversHost(host string) bool {
	isAddress := strings.ContainsAny(p.host, "0123456789.") && strings.Trim(p.host, "0123456789.*") == ""
	if isAddress && strings.Contains(p.host, "*") {
		if _, err := netip.ParseAddr(host); err != nil {
			return false
		}
	}
	return targets.MatchGlob(p.host, host)
}

// covers reports whether c may be sent to e.
func (c Credential) covers(e endpoint) bool {
	return slices.ContainsFunc(c.Servers, func(text string) bool {
		p, err := parsePattern(text)
		return err == nil && p.covers(e)
	})
}

// boundDialer dials only servers to which its credential may be sent. It also checks the port that
// the SQL Server Browser returns for an instance, and the server of a redirect, which are not in
// the target group.
type boundDialer struct {
	mssqldb.HostDialer
	credential Credential
	first      endpoint // the server in the target group
}

// DialContext dials addr if the credential covers it. A refused name is not resolved.
func (d boundDialer) DialContext(ctx context.Context, network, addr string) (net.Conn, error) {
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return nil, err
	}
	e := endpoint{host: targets.NormalHost(targets.FoldName(host))}
	if e.host == d.first.host {
		e.instance = d.first.instance
	}
	if network != "udp" || port != strconv.Itoa(browserPort) {
		n, err := strconv.ParseUint(port, 10, 16)
		if err != nil || n == 0 {
			err := fmt.Errorf("invalid port %q: want 1 to 65535", port)
			return nil, &targets.ConfigError{Subject: fmt.Sprintf("server %q", addr), Err: err}
		}
		e.port = uint16(n)
	}
	if !d.credential.covers(e) {
		return nil, credentialError(d.credential.Name, fmt.Errorf("server %q leads to %s, "+
			"on which the credential may not be used; its servers are %s", d.first, e, strings.Join(d.credential.Servers, ", ")))
	}
	return d.HostDialer.DialContext(ctx, network, addr)
}
