package targets_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/targets"
	"github.com/jobagent/jobagent/testenv/hostile"
)

// hostileRunner makes a runner whose every server is in one mode.
func hostileRunner(t *testing.T, mode hostile.Mode) *targets.Runner {
	t.Helper()
	server := hostile.New(mode)
	server.Pace = 500 * time.Millisecond
	t.Cleanup(server.Close)
	set, err := targets.NewCredentialSet(targets.LoginCredential("default", "sa", "secret", "*"))
	require.NoError(t, err)
	servers, err := targets.NewServers(targets.Config{Credentials: set, Encrypt: "disable", Dialer: server, LoginTimeout: 6 * time.Second})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, servers.Close()) })
	return targets.NewRunner(servers, targets.Limits{})
}

// What the driver would allocate, index or loop by is refused before the driver sees it, with a line that names it; what became of the
// script is not known then (I8).
func TestHostileStreams(t *testing.T) {
	for _, stream := range hostile.Streams() {
		t.Run(stream.Name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				runner := hostileRunner(t, hostile.Of(stream))
				for _, output := range []*targets.Output{nil, {Server: "out", Database: "d", Table: "t"}} {
					start := time.Now()
					res := runner.Run(t.Context(), targets.Attempt{Target: targets.NewTarget("s", "d", ""), Script: "EXEC script", Output: output})
					require.Zero(t, time.Since(start), "it is refused at once")
					require.Contains(t, res.Summary, "the server does not keep to the protocol: ")
					require.NotContains(t, res.Summary, "\n")
					require.Equal(t, targets.ClassLostConnection, res.Error.Class)
					want := targets.Unknown
					if stream.Login {
						want = targets.Failed
					}
					require.Equal(t, want, res.Outcome, res.Summary)
				}
			})
		})
	}
}

// hostileEnds are how attempts on the modes of package hostile end that have a time limit of 15 s, and what their summary says. The others
// are TimedOut, as they send without an end, or nothing.
var hostileEnds = map[string]struct {
	outcome targets.Outcome
	says    string
}{
	"silent":                         {targets.Failed, "no answer to the login in time"},
	"trickle":                        {targets.Failed, "no answer to the login in time"},
	"login unanswered":               {targets.Failed, "no answer to the login in time"},
	"login without an end":           {targets.Failed, "no answer to the login in time"},
	"empty packets":                  {targets.Failed, "the server's answer to PRELOGIN is malformed"},
	"garbage":                        {targets.Failed, "the server's answer to PRELOGIN is malformed"},
	"HTTP":                           {targets.Failed, "the server's answer to PRELOGIN is malformed"},
	"reset":                          {targets.Failed, "connect to s/d"},
	"endless PRELOGIN":               {targets.Failed, "the server's answer to PRELOGIN is malformed"},
	"PRELOGIN without an encryption": {targets.Failed, "the server's answer to PRELOGIN is malformed"},
	"PRELOGIN outside of itself":     {targets.Failed, "the server's answer to PRELOGIN is malformed"},
	"PRELOGIN without options":       {targets.Failed, "the server's answer to PRELOGIN is malformed"},
	"login refused":                  {targets.Failed, "Msg 18456"},
	"redirect in a circle":           {targets.Failed, "the server redirects in a circle"},
	"closes after the script":        {targets.Unknown, "its outcome on the target is unknown"},
	"messages of 60 KB":              {targets.Failed, "limits.message_bytes (32KB) is exceeded: a message of 60000 bytes"},
	"closes in a result set":         {targets.Unknown, "unexpected EOF"},
	"packet numbers and session ids at random":      {targets.Succeeded, ""},
	"one byte at a time":                            {targets.Succeeded, ""},
	"an answer behind the answer":                   {targets.Succeeded, ""},
	"packets of the wrong type":                     {targets.Unknown, "a packet of type 0x01"},
	"packets larger than agreed":                    {targets.Unknown, "a packet of 65021 bytes, where 32767 are the most"},
	"names of 255 characters, numbers out of range": {targets.Failed, "Msg -2147483648, Level 255"},
	"fewer columns than asked for":                  {targets.TimedOut, "a question of the agent was answered with 1 columns, where 2 are needed"},
	"more columns than asked for":                   {targets.TimedOut, "a question of the agent was answered with 9 columns"},
	"other types than asked for":                    {targets.TimedOut, "a question of the agent was answered with 1 columns"},
	"more rows than asked for":                      {targets.TimedOut, "a question of the agent was answered with more than one row"},
	"more sets than asked for":                      {targets.TimedOut, "a question of the agent was answered with more than one result set"},
	"no rows":                                       {targets.TimedOut, "a question of the agent was answered with no row"},
	"no result set":                                 {targets.TimedOut, "a question of the agent was answered with 0 columns"},
	"a huge answer":                                 {targets.TimedOut, "a row of 4194304 bytes as the answer to a question of the agent"},
}

// Whatever a target does, the attempt ends within its limit and 22 s, and says why.
func TestHostileModes(t *testing.T) {
	const limit = 15 * time.Second
	for _, mode := range hostile.Modes() {
		t.Run(mode.Name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				runner := hostileRunner(t, mode)
				ctx, cancel := context.WithTimeoutCause(t.Context(), limit, targets.ErrTimeout)
				defer cancel()
				start := time.Now()
				res := runner.Run(ctx, targets.Attempt{Target: targets.NewTarget("s", "d", ""), Script: "EXEC script"})
				require.LessOrEqual(t, time.Since(start), limit+22*time.Second)
				want, listed := hostileEnds[mode.Name]
				if !listed {
					want.outcome, want.says = targets.TimedOut, "The step's time limit passed"
				}
				require.Equal(t, want.outcome, res.Outcome, res.Summary)
				require.Contains(t, res.Summary, want.says)
			})
		})
	}
}
