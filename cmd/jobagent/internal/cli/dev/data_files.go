package dev

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"

	"github.com/jobagent/jobagent/cmd/jobagent/internal/exit"
	"github.com/jobagent/jobagent/testenv/tsqld"
)

// loadOrCreateCertificate reads the server's certificate and key from files in dir. If there are
// none, it creates them. Clients that trust the certificate can thus connect after a restart.
func loadOrCreateCertificate(dir string, listen string) (*tls.Certificate, error) {
	certificate, key := filepath.Join(dir, CertificateFile), filepath.Join(dir, KeyFile)
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

// loadOrCreateText reads a text from a file in dir. If there is no such file, it creates one with
// mode 0600.
func loadOrCreateText(dir, name string, newText func() string) (string, error) {
	path := filepath.Join(dir, name)
	b, err := os.ReadFile(path)
	if err == nil {
		return strings.TrimSpace(string(b)), nil
	}
	if !errors.Is(err, os.ErrNotExist) {
		return "", err
	}
	text := newText()
	return text, os.WriteFile(path, []byte(text+"\n"), 0o600)
}
