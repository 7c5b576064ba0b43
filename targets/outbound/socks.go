package outbound

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"net/url"
)

// Numbers of SOCKS 5 (RFC 1928, RFC 1929).
const (
	socksVersion      = 5
	socksNoAuth       = 0
	socksPassword     = 2
	socksConnect      = 1
	socksIPv4         = 1
	socksName         = 3
	socksIPv6         = 4
	socksAuthVersion  = 1
	socksMaxTextBytes = 255
)

// socksReplies are the texts of the replies 1 to 8.
var socksReplies = []string{"general failure", "not allowed by its rules", "network unreachable", "host unreachable",
	"connection refused", "time to live expired", "command not supported", "address type not supported"}

// socks5 asks a SOCKS 5 proxy for a connection to host:port.
func socks5(c net.Conn, user *url.Userinfo, host string, port uint16) error {
	method := byte(socksNoAuth)
	if user != nil {
		method = socksPassword
	}
	if _, err := c.Write([]byte{socksVersion, 1, method}); err != nil {
		return err
	}
	var answer [2]byte
	if _, err := io.ReadFull(c, answer[:]); err != nil {
		return fmt.Errorf("read the proxy's answer: %w", err)
	}
	if answer[0] != socksVersion || answer[1] != method {
		return errors.New("the proxy accepts no method of authentication that is configured")
	}
	if method == socksPassword {
		if err := socksLogin(c, user); err != nil {
			return err
		}
	}
	request := []byte{socksVersion, socksConnect, 0}
	if addr, err := netip.ParseAddr(host); err != nil {
		if len(host) > socksMaxTextBytes {
			return errors.New("the host's name is too long for the proxy")
		}
		request = append(append(request, socksName, byte(len(host))), host...)
	} else if addr.Is4() {
		request = append(append(request, socksIPv4), addr.AsSlice()...)
	} else {
		request = append(append(request, socksIPv6), addr.AsSlice()...)
	}
	if _, err := c.Write(append(request, byte(port>>8), byte(port))); err != nil {
		return err
	}
	return socksReply(c)
}

// socksLogin sends user and password.
func socksLogin(c net.Conn, user *url.Userinfo) error {
	name := user.Username()
	password, _ := user.Password()
	if len(name) > socksMaxTextBytes || len(password) > socksMaxTextBytes {
		return errors.New("proxy_credential is too long for SOCKS 5")
	}
	request := append([]byte{socksAuthVersion, byte(len(name))}, name...)
	request = append(append(request, byte(len(password))), password...)
	if _, err := c.Write(request); err != nil {
		return err
	}
	var answer [2]byte
	if _, err := io.ReadFull(c, answer[:]); err != nil {
		return fmt.Errorf("read the proxy's answer: %w", err)
	}
	if answer[1] != 0 {
		return errors.New("the proxy refused user and password")
	}
	return nil
}

// socksReply reads the answer to the request for a connection.
func socksReply(c net.Conn) error {
	var head [4]byte
	if _, err := io.ReadFull(c, head[:]); err != nil {
		return fmt.Errorf("read the proxy's answer: %w", err)
	}
	if code := int(head[1]); code != 0 {
		text := "unknown reply"
		if code <= len(socksReplies) {
			text = socksReplies[code-1]
		}
		return fmt.Errorf("the proxy refused the connection: %s", text)
	}
	size := 0
	switch head[3] {
	case socksIPv4:
		size = net.IPv4len
	case socksIPv6:
		size = net.IPv6len
	case socksName:
		var length [1]byte
		if _, err := io.ReadFull(c, length[:]); err != nil {
			return fmt.Errorf("read the proxy's answer: %w", err)
		}
		size = int(length[0])
	default:
		return errors.New("the proxy's answer is malformed")
	}
	if _, err := io.ReadFull(c, make([]byte, size+2)); err != nil {
		return fmt.Errorf("read the proxy's answer: %w", err)
	}
	return nil
}
