package targets

import (
	"errors"
	"net/netip"
	"strconv"
	"strings"
	"unicode"
)

// SplitServer splits a server name in SqlClient's form (host, host\instance or host,port,
// optionally after tcp:), or a pattern of such names, into normalized parts. The instance is empty
// when there is a port. It refuses SqlClient's other protocols (np:, lpc:, admin:).
func SplitServer(server string) (host, instance, port string, err error) {
	name := strings.TrimPrefix(FoldName(server), "tcp:")
	if strings.ContainsFunc(name, unicode.IsControl) || strings.ContainsAny(name, ";='\"{}") {
		return "", "", "", ErrServerForm
	}
	name, port, hasPort := strings.Cut(name, ",")
	host, instance, hasInstance := strings.Cut(strings.TrimSpace(name), `\`)
	host, instance, port = NormalHost(host), strings.TrimSpace(instance), strings.TrimSpace(port)
	switch {
	case host == "" && hasInstance && instance != "":
		host = "localhost"
	case host == "", hasPort && port == "", hasInstance && instance == "",
		strings.ContainsAny(port, `,\`), strings.Contains(instance, `\`):
		return "", "", "", ErrServerForm
	}
	if strings.Contains(host, ":") {
		if _, err := netip.ParseAddr(host); err != nil && !strings.Contains(host, "*") {
			return "", "", "", ErrServerForm
		}
	}
	if strings.ContainsAny(host+instance, " /@[]") {
		return "", "", "", ErrServerForm
	}
	if hasPort {
		instance = ""
	}
	return host, instance, port, nil
}

// CheckServer reports whether a text has the form of one server's name in a target group, as the
// procedure jobs_internal.check_external_names does.
func CheckServer(name string) error {
	_, _, port, err := SplitServer(name)
	if err == nil && strings.Contains(name, "*") {
		err = ErrServerForm
	}
	if err == nil && port != "" {
		if n, parseErr := strconv.ParseUint(port, 10, 16); parseErr != nil || n == 0 {
			err = ErrServerForm
		}
	}
	return err
}

// ErrServerForm means that a text is no server name.
var ErrServerForm = errors.New(`invalid server name: want host, host\instance or host,port`)

// NormalHost returns a host in the form in which hosts are compared.
func NormalHost(host string) string {
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
