package listen

import (
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
)

// parseProxies parses the settings trusted_proxies: CIDR prefixes and addresses.
func parseProxies(texts []string) ([]netip.Prefix, error) {
	var list []netip.Prefix
	for _, text := range texts {
		prefix, err := netip.ParsePrefix(text)
		if err != nil {
			var addr netip.Addr
			if addr, err = netip.ParseAddr(text); err == nil {
				prefix = netip.PrefixFrom(addr.WithZone(""), addr.BitLen())
			}
		}
		switch {
		case err != nil:
			return nil, fmt.Errorf(`invalid trusted_proxies %q: want a prefix such as "10.0.0.0/8", or an address`, text)
		case prefix.Bits() == 0:
			return nil, fmt.Errorf("invalid trusted_proxies %q: every client could choose its address", text)
		}
		list = append(list, prefix.Masked())
	}
	return list, nil
}

// forwarded returns a handler whose requests have the address of the client in RemoteAddr, if a
// trusted proxy has sent them. All that counts, logs or audits senders reads RemoteAddr.
func forwarded(proxies []netip.Prefix, next http.Handler) http.Handler {
	if len(proxies) == 0 {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r.RemoteAddr = client(proxies, r)
		next.ServeHTTP(w, r)
	})
}

// client returns the host:port of the client of a request. If the sender is a trusted proxy, this
// is the last address in the headers X-Forwarded-For or Forwarded (RFC 7239) that is not a trusted
// proxy's: each proxy adds its sender at the end, and the client may have invented the addresses
// before.
//
// A proxy sets one of the two headers, and may pass the other one on as the client has sent it. If
// the headers contradict each other, both are ignored, and the client is the proxy.
func client(proxies []netip.Prefix, r *http.Request) string {
	peer, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil || !trusted(proxies, peer.Addr()) {
		return r.RemoteAddr
	}
	var found netip.Addr
	for _, list := range [][]string{elements(r.Header.Values("X-Forwarded-For"), nil), elements(r.Header.Values("Forwarded"), forParameter)} {
		if len(list) == 0 {
			continue
		}
		addr := last(proxies, list)
		if !addr.IsValid() || found.IsValid() && found != addr {
			return r.RemoteAddr
		}
		found = addr
	}
	if !found.IsValid() {
		return r.RemoteAddr
	}
	return net.JoinHostPort(found.String(), "0") // the port of the client is not known
}

// trusted reports whether an address is one of the proxies.
func trusted(proxies []netip.Prefix, addr netip.Addr) bool {
	addr = addr.Unmap().WithZone("")
	return slices.ContainsFunc(proxies, func(p netip.Prefix) bool { return p.Contains(addr) })
}

// elements splits the values of a header at commas. read finds the text of an address in an
// element; nil means that the element is the text. Quoted addresses have no commas.
func elements(values []string, read func(string) string) (list []string) {
	for _, value := range values {
		for one := range strings.SplitSeq(value, ",") {
			if one = strings.Trim(one, " \t"); read != nil {
				one = read(one)
			}
			list = append(list, one)
		}
	}
	return list
}

// forParameter returns the parameter "for" of an element of the header Forwarded; empty if it has
// none or two.
func forParameter(element string) (found string) {
	for pair := range strings.SplitSeq(element, ";") {
		name, value, _ := strings.Cut(pair, "=")
		if !strings.EqualFold(strings.Trim(name, " \t"), "for") {
			continue
		}
		if found != "" {
			return ""
		}
		found = strings.Trim(strings.Trim(value, " \t"), `"`)
	}
	return found
}

// last returns the last address of a list that is not a trusted proxy's, or the first address if
// all are. The result is invalid if the text in its place is not an address, such as "unknown".
func last(proxies []netip.Prefix, list []string) (addr netip.Addr) {
	for _, text := range slices.Backward(list) {
		if addr = parseNode(text); !addr.IsValid() || !trusted(proxies, addr) {
			return addr
		}
	}
	return addr
}

// parseNode parses an address, with or without a port: some proxies add it.
func parseNode(text string) netip.Addr {
	addr, err := netip.ParseAddr(strings.TrimSuffix(strings.TrimPrefix(text, "["), "]"))
	if err != nil {
		withPort, err := netip.ParseAddrPort(text)
		if err != nil {
			return netip.Addr{}
		}
		addr = withPort.Addr()
	}
	return addr.Unmap().WithZone("")
}
