package outbound

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"fmt"
	"net"
	"os"

	"github.com/jobagent/jobagent/targets"
	"github.com/jobagent/jobagent/targets/secretref"
)

// handshake makes the TLS handshake, and closes c if it fails.
func (n *Network) handshake(ctx context.Context, c net.Conn, address string, auth *Auth) (net.Conn, error) {
	host, port, _ := splitAddress(address)
	config := n.tlsConfig(host, port)
	if auth != nil {
		auth.presentCertificate(config)
	}
	secured := tls.Client(c, config)
	_, err := phase(ctx, "TLS handshake", HandshakeTimeout, func(ctx context.Context) (struct{}, error) {
		return struct{}{}, secured.HandshakeContext(ctx)
	})
	if err != nil {
		_ = c.Close()
		return nil, err
	}
	return secured, nil
}

// TLSConfig returns the TLS configuration for host:port of a protocol that begins TLS by itself, as
// SMTP does with STARTTLS.
func (n *Network) TLSConfig(address string) (*tls.Config, error) {
	host, port, err := splitAddress(address)
	if err != nil {
		return nil, &targets.ConfigError{Subject: fmt.Sprintf("address %q", address), Err: err}
	}
	return n.tlsConfig(host, port), nil
}

// tlsConfig returns the TLS configuration of a connection.
func (n *Network) tlsConfig(host string, port uint16) *tls.Config {
	config := &tls.Config{MinVersion: tls.VersionTLS12, ServerName: host, RootCAs: n.roots}
	for _, s := range n.servers {
		if !s.match.covers(host, port) {
			continue
		}
		if len(s.pins) > 0 {
			config.InsecureSkipVerify = true // the pins verify
			config.VerifyConnection = s.verifyPins
		} else if s.insecure {
			config.InsecureSkipVerify = true
		}
		break
	}
	return config
}

// PinError means that no certificate of the server matches a pin.
type PinError struct{}

// Error implements error.
func (PinError) Error() string { return "no certificate of the server matches certificate_sha256" }

// verifyPins compares the server's own certificate with the pins.
func (s serverTLS) verifyPins(state tls.ConnectionState) error {
	if len(state.PeerCertificates) == 0 {
		return PinError{}
	}
	leaf := state.PeerCertificates[0]
	for _, der := range [][]byte{leaf.Raw, leaf.RawSubjectPublicKeyInfo} {
		sum := sha256.Sum256(der)
		text := []byte(hex.EncodeToString(sum[:]))
		for _, pin := range s.pins {
			if subtle.ConstantTimeCompare(text, []byte(pin)) == 1 {
				return nil
			}
		}
	}
	return PinError{}
}

// readRoots returns the system's authorities and those of a file; nil for the system's alone.
func readRoots(reference string) (*x509.CertPool, error) {
	if reference == "" {
		return nil, nil
	}
	path, ok := secretref.File(reference)
	if !ok {
		return nil, fmt.Errorf("invalid reference %q: want file:PATH", reference)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	pool, err := x509.SystemCertPool()
	if err != nil {
		pool = x509.NewCertPool()
	}
	if !pool.AppendCertsFromPEM(text) {
		return nil, fmt.Errorf("the file %s holds no PEM certificate", path)
	}
	return pool, nil
}
