package exec

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/testenv/tsqld/mserr"
	"github.com/jobagent/jobagent/testenv/tsqld/session"
)

// A verified ticket opens the login of its principal, under each of three names, and nothing else
// opens it: no password, and no ticket of another realm.
func TestWindowsLogins(t *testing.T) {
	t.Parallel()
	inst := newInstance(t)
	s := openSession(t, inst, session.Login{User: "sa", Password: "secret"})
	must(t, s, `CREATE LOGIN [CORP\ann] FROM WINDOWS; CREATE LOGIN [CORP.EXAMPLE.TEST\bob] FROM WINDOWS; CREATE LOGIN [eve@CORP.EXAMPLE.TEST] FROM WINDOWS;
		CREATE LOGIN [CORP\off] FROM WINDOWS; ALTER LOGIN [CORP\off] DISABLE; CREATE LOGIN [sql@CORP.EXAMPLE.TEST] WITH PASSWORD = 'Right-1'`)
	ticket := func(user, realm string) (*Session, error) {
		return inst.NewSession(context.Background(), session.Login{User: user, Realm: realm, Windows: true, Foreign: realm != "CORP.EXAMPLE.TEST"})
	}
	for user, name := range map[string]string{"ann": `CORP\ann`, "bob": `CORP.EXAMPLE.TEST\bob`, "eve": "eve@CORP.EXAMPLE.TEST"} {
		got, err := ticket(user, "CORP.EXAMPLE.TEST")
		require.NoError(t, err)
		shown, _ := got.Login.Label()
		require.Equal(t, name, shown)
		require.NoError(t, got.Close())
	}
	for _, c := range []struct{ user, realm, reason string }{
		{"off", "CORP.EXAMPLE.TEST", "the login is disabled"},
		{"sql", "CORP.EXAMPLE.TEST", "could not find a login matching the name provided"}, // it needs its password
		{"sa", "CORP.EXAMPLE.TEST", "could not find a login matching the name provided"},
		{"ann", "CORP.OTHER.TEST", "could not find a login matching the name provided"}, // a trusted realm with the same first label
		{"bob", "OTHER.TEST", "could not find a login matching the name provided"},
	} {
		_, err := ticket(c.user, c.realm)
		var refused *session.LoginError
		require.ErrorAs(t, err, &refused, c.user)
		require.Equal(t, c.reason, refused.Reason, c.user)
		require.EqualValues(t, 18456, refused.Message.Number)
	}
	for _, password := range []string{"", "secret"} {
		_, err := inst.NewSession(context.Background(), session.Login{User: `CORP\ann`, Password: password})
		var m *mserr.Error
		require.ErrorAs(t, err, &m)
		require.Equal(t, mserr.LoginFailed(`CORP\ann`), m)
	}
	require.NoError(t, s.Close())
}
