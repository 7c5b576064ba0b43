package cli_test

import (
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/cmd/jobagent/internal/clitest"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/embedded"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/exit"
	"github.com/jobagent/jobagent/testenv/fault"
)

// While the control database fails over, a command ends with one line that says what to do, and
// with the exit code of a connection, whatever the server answers and whether it does so at the
// login or later.
func TestCommandsInFailover(t *testing.T) {
	t.Parallel()
	server := clitest.Server(t)
	for name, c := range map[string]struct {
		begin func(*fault.Network)
		args  string
		want  string
	}{
		"nothing listens": {(*fault.Network).Cut, "job list", "check that the server runs"},
		"reset":           {(*fault.Network).ResetHalf, "job list", "check that the server runs"},
		"not available":   {refuse(40613, 17, true, "Database 'jobagent' on server 's' is not currently available."), "job list", "try again in a minute"},
		"service error":   {refuse(40197, 20, true, "The service has encountered an error processing your request."), "job list", "try again in a minute"},
		"busy":            {refuse(40501, 20, false, "The service is currently busy."), "job list", "try again in a minute"},
		"secondary":       {refuse(976, 14, true, "The target database is not accessible for queries."), "job list", "a failover"},
		"resolving":       {refuse(983, 14, true, "The database replica is not in the PRIMARY or SECONDARY role."), "job list", "a failover"},
		"read-only":       {refuse(3906, 16, false, "Failed to update database because the database is read-only."), "job create j", "secondary replica"},
		"no database":     {refuse(4060, 11, true, "Cannot open database requested by the login."), "job list", "check user, password and database"},
		"locked out":      {refuse(18486, 14, true, "Login failed for user 'sa' because the account is currently locked out."), "job list", "locked out"},
		"no login":        {refuse(18456, 14, true, "Login failed for user 'sa'."), "job list", "check user, password and database"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			proxy, err := fault.NewProxy(server.Address, nil)
			require.NoError(t, err)
			t.Cleanup(func() { require.NoError(t, proxy.Close()) })
			dsn, err := url.Parse(server.DSN(embedded.ControlDatabase))
			require.NoError(t, err)
			dsn.Host = proxy.Address()
			c.begin(proxy.Network)
			code, stdout, stderr := runContext(t.Context(), dsn.String(), "", strings.Fields(c.args)...)
			require.Equal(t, exit.CodeConnection, code, stderr)
			require.Empty(t, stdout)
			require.Contains(t, stderr, c.want)
			require.Len(t, errorLines(stderr), 1, stderr)
			require.NotContains(t, stderr, server.Password)
		})
	}
}

// refuse returns a way to refuse logins, or all requests.
func refuse(number int32, class uint8, logins bool, text string) func(*fault.Network) {
	return func(n *fault.Network) {
		n.Refuse(fault.Refusal{Number: number, State: 1, Class: class, Text: text, Logins: logins, Ends: class >= 20})
	}
}

// errorLines returns the lines of a text that say what failed.
func errorLines(text string) (lines []string) {
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "error: ") {
			lines = append(lines, line)
		}
	}
	return lines
}
