package tsqld

import (
	"bufio"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"strings"
)

// clientKey is the key of a client in the counts of [lockout]: its address, or its IPv6 network.
// All loopback addresses are one machine; where the system tells which user a client on loopback
// is, each user has a key, so that a user's guesses lock nobody else out.
func clientKey(c net.Conn) string {
	key := addressKey(c.RemoteAddr())
	if key != loopbackKey {
		return key
	}
	client, err := netip.ParseAddrPort(c.RemoteAddr().String())
	if err != nil {
		return key
	}
	server, err := netip.ParseAddrPort(c.LocalAddr().String())
	if err != nil {
		return key
	}
	if user, ok := peerUser(client, server); ok {
		return key + " " + user
	}
	return key
}

// peerUser returns the user ID of the socket at the client's end of a connection on this machine.
// Where the kernel does not answer socketUser, Linux lists sockets in /proc/net/tcp and tcp6
// (proc(5)); elsewhere there is no such file.
func peerUser(client, server netip.AddrPort) (user string, ok bool) {
	if user, ok := socketUser(unmapped(client), unmapped(server)); ok {
		return user, true
	}
	for _, file := range []string{"/proc/net/tcp", "/proc/net/tcp6"} {
		f, err := os.Open(file)
		if err != nil {
			continue
		}
		user, ok = findUser(f, client, server)
		_ = f.Close() // only read
		if ok {
			return user, true
		}
	}
	return "", false
}

// findUser looks for a socket in a table of the format of /proc/net/tcp.
func findUser(table io.Reader, local, remote netip.AddrPort) (user string, ok bool) {
	lines := bufio.NewScanner(table)
	for lines.Scan() {
		f := strings.Fields(lines.Text())
		if len(f) < 8 {
			continue
		}
		if at, ok := socketAddress(f[1]); !ok || at != unmapped(local) {
			continue
		}
		if at, ok := socketAddress(f[2]); ok && at == unmapped(remote) {
			return f[7], true
		}
	}
	return "", false
}

// socketAddress parses an address such as 0100007F:0599: hexadecimal digits of words of 32 bits in
// the byte order of the machine, and the port.
func socketAddress(text string) (at netip.AddrPort, ok bool) {
	digits, port, ok := strings.Cut(text, ":")
	b, err := hex.DecodeString(digits)
	var number uint16
	if _, scanErr := fmt.Sscanf(port, "%x", &number); !ok || err != nil || scanErr != nil {
		return netip.AddrPort{}, false
	}
	for i := 0; i+4 <= len(b); i += 4 {
		binary.BigEndian.PutUint32(b[i:], binary.NativeEndian.Uint32(b[i:]))
	}
	ip, ok := netip.AddrFromSlice(b)
	return netip.AddrPortFrom(ip.Unmap(), number), ok
}

// unmapped is an address without the form of IPv4 in IPv6, and without a zone.
func unmapped(a netip.AddrPort) netip.AddrPort {
	return netip.AddrPortFrom(a.Addr().Unmap().WithZone(""), a.Port())
}
