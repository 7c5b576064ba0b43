package exec

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/testenv/tsqld/catalog"
	"github.com/jobagent/jobagent/testenv/tsqld/mserr"
	"github.com/jobagent/jobagent/testenv/tsqld/session"
)

// TestUnknownLoginsCostAsMuchAsKnownOnes: a login with an unknown name takes as long as a wrong
// password and gives the client the same error. Only the operator gets the reason.
func TestUnknownLoginsCostAsMuchAsKnownOnes(t *testing.T) {
	t.Parallel()
	inst := newInstance(t)
	s := openSession(t, inst, session.Login{User: "sa", Password: "secret"})
	must(t, s,
		"CREATE LOGIN ann WITH PASSWORD = 'Right-1'; CREATE LOGIN stopped WITH PASSWORD = 'Right-1'; ALTER LOGIN stopped DISABLE")
	must(t, s,
		"CREATE DATABASE c CONTAINMENT = PARTIAL; EXEC ('USE c; CREATE USER guest1 WITH PASSWORD = ''Right-1''; CREATE USER bare WITHOUT LOGIN; CREATE ROLE r')")
	require.NoError(t, s.Close())
	calls := 0
	inst.Config.CheckPassword = func(hash []byte, password string) bool {
		calls++
		return catalog.CheckPassword(hash, password)
	}
	for name, c := range map[string]struct {
		login  session.Login
		reason string
	}{
		"unknown":                   {session.Login{User: "nobody"}, "unknown login"},
		"unknown, with a database":  {session.Login{User: "nobody", Database: "c"}, "unknown login"},
		"unknown, and its database": {session.Login{User: "nobody", Database: "none"}, "unknown login"},
		"sa":                        {session.Login{User: "sa"}, "wrong password"},
		"known":                     {session.Login{User: "ann"}, "wrong password"},
		"known, with a database":    {session.Login{User: "ann", Database: "c"}, "wrong password"},
		"disabled":                  {session.Login{User: "stopped"}, "wrong password"},
		"disabled, right":           {session.Login{User: "stopped", Password: "Right-1"}, "the login is disabled"},
		"contained":                 {session.Login{User: "guest1", Database: "c"}, "wrong password"},
		"without login":             {session.Login{User: "bare", Database: "c"}, "unknown login"},
		"a role":                    {session.Login{User: "r", Database: "c"}, "unknown login"},
	} {
		calls = 0
		if c.login.Password == "" {
			c.login.Password = "wrong"
		}
		_, err := inst.NewSession(context.Background(), c.login)
		var m *mserr.Error
		require.ErrorAs(t, err, &m, name)
		require.Equal(t, mserr.LoginFailed(c.login.User), m, name)
		var l *session.LoginError
		require.True(t, errors.As(err, &l), name)
		require.Equal(t, c.reason, l.Reason, name)
		require.Equal(t, 1, calls, name)
	}
	s = openSession(t, inst, session.Login{User: "guest1", Password: "Right-1", Database: "c"})
	require.NoError(t, s.Close())
}

func TestPasswordsHaveAtMost128Characters(t *testing.T) {
	t.Parallel()
	inst := newInstance(t)
	s := openSession(t, inst, session.Login{User: "sa", Password: "secret"})
	defer func() { require.NoError(t, s.Close()) }()
	longest := strings.Repeat("p", session.MaxPassword)
	must(t, s, "CREATE LOGIN ann WITH PASSWORD = '"+longest+"'")
	ann := openSession(t, inst, session.Login{User: "ann", Password: longest})
	require.NoError(t, ann.Close())
	for _, statement := range []string{"CREATE LOGIN bob WITH PASSWORD = '", "ALTER LOGIN ann WITH PASSWORD = '"} {
		var out recorder
		require.NoError(t, s.Batch(context.Background(), statement+longest+"p'", &out))
		require.Contains(t, out.b.String(), "Msg 40517")
		require.NotContains(t, out.b.String(), "ppp")
	}
	_, err := New(session.Config{SAPassword: longest + "p"})
	require.ErrorContains(t, err, "more than 128 characters")
}
