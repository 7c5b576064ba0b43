package exec

import (
	"context"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/testenv/script"
	"github.com/jobagent/jobagent/testenv/tsqld/session"
)

// scriptSession runs the batches of a script on a session, without TDS.
type scriptSession struct {
	session *Session
	closed  chan error // receives the result of closing a killed session
}

// newScriptSession opens a session of the database work.
func newScriptSession(t testing.TB, inst *Instance) script.Session {
	t.Helper()
	s, err := inst.NewSession(t.Context(),
		session.Login{User: "sa", Password: "secret", Database: "work", App: "test", Host: "here"})
	require.NoError(t, err)
	c := &scriptSession{session: s, closed: make(chan error, 1)}
	// The connection of a killed session closes the session if it runs no request.
	s.OnKill(func() { go func() { c.closed <- s.Close() }() })
	return c
}

// Run implements script.Session.
func (c *scriptSession) Run(_ context.Context, batch string) (*script.Result, error) {
	var r recorder
	err := c.session.Batch(context.Background(), batch, &r)
	return &r.b, err
}

// Close implements script.Session.
func (c *scriptSession) Close() error {
	if c.session.IsKilled() {
		return <-c.closed
	}
	return c.session.Close()
}

// TestScripts runs testdata/*.txt.
func TestScripts(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			inst := newInstance(t)
			script.Run(t, file, "embedded", func(t testing.TB, _ string) script.Session {
				return newScriptSession(t, inst)
			})
		})
	}
}
