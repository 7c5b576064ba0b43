package embedded

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"syscall"

	"github.com/jobagent/jobagent/cmd/jobagent/internal/exit"
	"github.com/jobagent/jobagent/testenv/tsqld"
)

// LockFile is the file whose lock the process holds that uses a data directory.
const LockFile = "in-use.lock"

// LockDirectory takes the lock of a data directory, and returns the function that releases it. The
// system releases it when the process ends.
func LockDirectory(dir string) (release func(), err error) {
	f, err := os.OpenFile(filepath.Join(dir, LockFile), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, exit.Usagef("data directory: %w", err)
	}
	taken, err := tryLock(f)
	switch {
	case err != nil:
		return nil, errors.Join(exit.Usagef("lock the data directory %s: %w", dir, err), f.Close())
	case !taken:
		return nil, errors.Join(exit.With(exit.CodeConflict, fmt.Errorf("the data directory %s is in use by another jobagent dev: end that one, or use another directory", dir)), f.Close())
	}
	return func() { unlock(f) }, nil
}

// CheckListen checks an address to listen on, the value of a flag.
func CheckListen(flag, address string) error {
	_, port, err := net.SplitHostPort(address)
	if err != nil {
		return exit.Usagef("--%s %q: want HOST:PORT, such as 127.0.0.1:1433", flag, address)
	}
	if _, err := strconv.ParseUint(port, 10, 16); err != nil {
		return exit.Usagef("--%s %q: the port must be 0 to 65535", flag, address)
	}
	return nil
}

// CheckFree fails if an address cannot be listened on.
func CheckFree(ctx context.Context, address string) error {
	listener, err := listen(ctx, address)
	if err != nil {
		return err
	}
	return listener.Close()
}

func listen(ctx context.Context, address string) (net.Listener, error) {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", address)
	return listener, ListenError(address, "--listen", err)
}

// ListenError returns the error for an address that cannot be listened on; nil for nil.
func ListenError(address, flag string, err error) error {
	var name *net.DNSError
	switch {
	case err == nil:
		return nil
	case errors.Is(err, syscall.EADDRINUSE):
		return exit.With(exit.CodeConflict, fmt.Errorf("%s is in use by another program: end that one, or choose another address with %s (port 0: any that is free)", address, flag))
	case errors.Is(err, syscall.EADDRNOTAVAIL), errors.As(err, &name):
		return exit.Usagef("listen on %s: this machine has no such address; choose another one with %s: %w", address, flag, err)
	}
	return exit.With(exit.CodeConnection, fmt.Errorf("listen on %s (choose another address with %s): %w", address, flag, err))
}

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
