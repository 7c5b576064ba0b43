package mssql_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"go.uber.org/goleak"

	"github.com/jobagent/jobagent/testenv/mitm"
)

// authority is the only authority that this process trusts.
var authority *mitm.Authority

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "jobagent-targets-")
	if err == nil {
		authority, err = trustAuthority(dir)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	goleak.VerifyTestMain(m, goleak.Cleanup(func(code int) {
		_ = os.RemoveAll(dir) // a directory for temporary files
		os.Exit(code)
	}))
}

// trustAuthority creates an authority and makes crypto/x509 use it in place of the machine's
// authorities. It must run before the first verification.
func trustAuthority(dir string) (*mitm.Authority, error) {
	a, err := mitm.NewAuthority()
	if err != nil {
		return nil, err
	}
	path := filepath.Join(dir, "authority.pem")
	if err := os.WriteFile(path, a.PEM(), 0o600); err != nil {
		return nil, err
	}
	return a, os.Setenv("SSL_CERT_FILE", path)
}
