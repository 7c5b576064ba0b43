package embedded

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"net"
	"os"

	"github.com/jobagent/jobagent/cmd/jobagent/internal/exit"
	"github.com/jobagent/jobagent/testenv/tsqld"
)

// LoadOrCreateCertificate reads a certificate and its key from two files. If there are none, it
// creates them, for the host of listen and this machine. Clients that trust the certificate can
// thus connect after a restart.
func LoadOrCreateCertificate(certificate, key, listen string) (*tls.Certificate, error) {
	loaded, err := tls.LoadX509KeyPair(certificate, key)
	if err == nil {
		return &loaded, nil
	}
	if !errors.Is(err, os.ErrNotExist) {
		return nil, exit.Usagef("%s and %s are not a certificate and its key; delete both: %w", certificate, key, err)
	}
	var hosts []string
	if host, _, err := net.SplitHostPort(listen); err == nil && host != "" {
		hosts = append(hosts, host)
	}
	if name, err := os.Hostname(); err == nil {
		hosts = append(hosts, name)
	}
	created, err := tsqld.NewCertificate(hosts)
	if err != nil {
		return nil, err
	}
	der, err := x509.MarshalPKCS8PrivateKey(created.PrivateKey)
	if err != nil {
		return nil, err
	}
	if err := os.WriteFile(key, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}), 0o600); err != nil {
		return nil, err
	}
	return &created, os.WriteFile(certificate, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE",
		Bytes: created.Certificate[0]}), 0o644)
}
