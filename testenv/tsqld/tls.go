package tsqld

import (
	"bufio"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/binary"
	"fmt"
	"io"
	"math/big"
	"net"
	"time"

	"github.com/jobagent/jobagent/testenv/tsqld/tds"
)

// alpnTDS8 is the protocol name of TDS 8.0 in the TLS handshake (MS-TDS 2.1).
const alpnTDS8 = "tds/8.0"

// NewCertificate makes a self-signed certificate for localhost, the loopback addresses and the
// given hosts. Its validity, from 1990 to 2120, covers the clocks of tests.
func NewCertificate(hosts []string) (tls.Certificate, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return tls.Certificate{}, fmt.Errorf("make key: %w", err)
	}
	serial, err := rand.Int(rand.Reader, big.NewInt(1<<62))
	if err != nil {
		return tls.Certificate{}, fmt.Errorf("make serial number: %w", err)
	}
	template := &x509.Certificate{
		SerialNumber:          serial,
		Subject:               pkix.Name{CommonName: "SSL_Self_Signed_Fallback"}, // SQL Server's own name for a self-signed certificate
		NotBefore:             time.Date(1990, 1, 1, 0, 0, 0, 0, time.UTC),
		NotAfter:              time.Date(2120, 1, 1, 0, 0, 0, 0, time.UTC),
		KeyUsage:              x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
		ExtKeyUsage:           []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		BasicConstraintsValid: true,
		IsCA:                  true,
		DNSNames:              []string{"localhost", pipeHost},
		IPAddresses:           []net.IP{net.IPv4(127, 0, 0, 1), net.IPv6loopback},
	}
	for _, h := range hosts {
		if ip := net.ParseIP(h); ip != nil {
			template.IPAddresses = append(template.IPAddresses, ip)
		} else {
			template.DNSNames = append(template.DNSNames, h)
		}
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		return tls.Certificate{}, fmt.Errorf("make certificate: %w", err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, nil
}

// tlsConfig returns the server's TLS settings. In TDS 7 the handshake is carried in PRELOGIN
// packets, and with login-only encryption plain packets follow the login. That rules out TLS 1.3
// and session tickets, which send records after the handshake.
func (s *Server) tlsConfig(strict bool) (*tls.Config, error) {
	cert, err := s.certificate()
	if err != nil {
		return nil, err
	}
	cfg := &tls.Config{
		Certificates:                []tls.Certificate{cert},
		MinVersion:                  tls.VersionTLS12,
		MaxVersion:                  tls.VersionTLS12,
		SessionTicketsDisabled:      true,
		DynamicRecordSizingDisabled: true,
	}
	if strict {
		cfg.MaxVersion = tls.VersionTLS13
		cfg.NextProtos = []string{alpnTDS8}
	}
	return cfg, nil
}

// Certificate returns the server's certificate, for clients that verify it.
func (s *Server) Certificate() (*x509.Certificate, error) {
	cert, err := s.certificate()
	if err != nil {
		return nil, err
	}
	return x509.ParseCertificate(cert.Certificate[0])
}

// recordHeader is the size of the header of a TLS record: type, version, length.
const recordHeader = 5

// tlsTransport is the connection under TLS. While wrapped is set, TLS records are carried in
// PRELOGIN packets (MS-TDS 2.2.6.5, 3.3.5.2). Later, a read never goes beyond the current record,
// so that plain packets after the login stay in the buffer.
type tlsTransport struct {
	net.Conn
	in      *bufio.Reader
	out     *tds.MessageWriter
	wrapped bool
	packet  []byte // while wrapped, the rest of the payload of the current packet
	header  []byte // rest of the header of the current record
	body    int    // remaining bytes of the current record after its header
}

// Read implements [net.Conn].
func (t *tlsTransport) Read(p []byte) (int, error) {
	if t.wrapped {
		for len(t.packet) == 0 {
			h, payload, err := tds.ReadPacket(t.in)
			if err != nil {
				return 0, err
			}
			if h.Type != tds.PacketPrelogin {
				return 0, fmt.Errorf("packet of type %#02x inside the tls handshake", byte(h.Type))
			}
			t.packet = payload
		}
		n := copy(p, t.packet)
		t.packet = t.packet[n:]
		return n, nil
	}
	if len(t.header) == 0 && t.body == 0 {
		header := make([]byte, recordHeader)
		if _, err := io.ReadFull(t.in, header); err != nil {
			return 0, err
		}
		t.header, t.body = header, int(binary.BigEndian.Uint16(header[3:]))
	}
	if len(t.header) > 0 {
		n := copy(p, t.header)
		t.header = t.header[n:]
		return n, nil
	}
	n, err := t.in.Read(p[:min(len(p), t.body)])
	t.body -= n
	return n, err
}

// Write implements [net.Conn].
func (t *tlsTransport) Write(p []byte) (int, error) {
	if !t.wrapped {
		return t.Conn.Write(p)
	}
	t.out.Begin(tds.PacketPrelogin)
	if n, err := t.out.Write(p); err != nil {
		return n, err
	}
	return len(p), t.out.End()
}
