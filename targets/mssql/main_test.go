package mssql_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"go.uber.org/goleak"

	"github.com/jobagent/jobagent/testenv/mitm"
)

// authority is the one authority that this process trusts.
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
		_ = os.RemoveAll(dir) // a directory of the system's for such things
		os.Exit(code)
	}))
}

// trustAuthority makes an authority, and has crypto/x509 take it for the machine's only one. No certificate has been verified yet.
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
