package cli_test

import (
	"context"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/cmd/jobagent/internal/clitest"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/embedded"
	"github.com/jobagent/jobagent/jobs/secret"
	"github.com/jobagent/jobagent/testenv/fault"
)

// If a person interrupts the call that stores a key, or its answer is lost, the control database
// may have the key. Its private half must stay, because secrets are sealed for the key from then
// on.
func TestKeyWhoseCallIsInterrupted(t *testing.T) {
	t.Parallel()
	server := clitest.Server(t)
	ctx, interrupt := context.WithCancel(t.Context())
	proxy, err := fault.NewProxy(server.Address, func(c fault.Call) fault.Kind {
		if c.Name == "built-in procedure" { // sp_executesql, which only the changing call needs
			interrupt()
		}
		return fault.None
	})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, proxy.Close()) })
	dsn, err := url.Parse(server.DSN(embedded.ControlDatabase))
	require.NoError(t, err)
	dsn.Host = proxy.Address()
	file := filepath.Join(t.TempDir(), "private.key")
	code, stdout, stderr := runContext(ctx, dsn.String(), "", "key", "generate", file)
	require.NotZero(t, code, stderr)
	require.Empty(t, stdout)
	require.Contains(t, stderr, "may have been stored, so its private half stays in "+file)
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	_, err = secret.ParsePrivateKey(strings.TrimSpace(string(text)))
	require.NoError(t, err)
}
