package mssql

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// A login that cannot see databases is refused if it can enter one with the control database's
// name.
func TestRefusalWithoutSight(t *testing.T) {
	t.Parallel()
	control := Instance{Server: "before", Database: "control", GUID: "11111111-1111-1111-1111-111111111111"}
	for _, c := range []struct {
		database string
		mayEnter bool
		has      bool
		seen     bool
		want     string
	}{
		{"d", true, false, false, "GRANT VIEW ANY DATABASE"},
		{"d", true, false, true, ""},
		{"d", true, true, true, "can enter the control database"},
		{"d", false, true, true, ""},
		{"master", false, false, false, ""},
		{"master", false, true, true, "holds the control database"},
		{"CONTROL", false, false, false, ""},
		{"CONTROL", false, true, true, "is the control database"},
	} {
		got, err := control.refusal(identity{server: "now", database: c.database, mayEnter: c.mayEnter},
			func() (has, seen bool, err error) { return c.has, c.seen, nil })
		require.NoError(t, err)
		if c.want == "" {
			require.Empty(t, got, c)
			continue
		}
		require.Contains(t, got, c.want, c)
	}
}

// The GUID of master and model, all zeros, identifies nothing.
func TestInstanceGUID(t *testing.T) {
	t.Parallel()
	require.False(t, Instance{Database: "a", GUID: noGUID}.hasGUID(noGUID))
	require.False(t, Instance{Database: "a"}.hasGUID(""))
	require.True(t, Instance{Database: "a",
		GUID: "1111111A-1111-1111-1111-111111111111"}.hasGUID("1111111a-1111-1111-1111-111111111111"))
}

// A copy of the control database is another database.
func TestInstanceIs(t *testing.T) {
	t.Parallel()
	control := Instance{Server: "before", Database: "control", GUID: "11111111-1111-1111-1111-111111111111"}
	require.True(t, control.matches("BEFORE", "Control", ""))
	require.True(t, control.matches("now", "control", control.GUID))
	require.False(t, control.matches("now", "control", "22222222-2222-2222-2222-222222222222"))
	require.False(t, control.matches("before", "tenant", control.GUID))
	require.False(t, Instance{}.matches("", "", ""))
}

// An admission is valid for admissionTime, for the same address, database and credential. The
// admission of a further database ends with the answers about the server that it relies on.
func TestAdmissionsExpire(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var p admissions
		has := func(k admissionKey, database string) bool {
			_, admitted := p.find(k, database)
			return admitted
		}
		k, id := admissionKey{"10.0.0.1:1433", "s", "c"}, identity{spid: 51, server: "S", edition: 3}
		require.False(t, has(k, "d"))
		p.add(k, "d", id, false)
		require.True(t, has(k, "d"))
		require.False(t, has(admissionKey{"10.0.0.2:1433", "s", "c"}, "d"))
		require.False(t, has(k, "e"))
		known, _ := p.find(k, "e")
		require.Equal(t, identity{server: "S", edition: 3}, known, "the session is another one")
		time.Sleep(admissionTime - time.Second)
		p.add(k, "e", id, true)
		require.True(t, has(k, "e"))
		time.Sleep(time.Second)
		require.False(t, has(k, "d"))
		require.False(t, has(k, "e"))
		p.add(k, "e", id, true)
		require.False(t, has(k, "e"), "the answers about the server have expired")
		p.add(k, "e", id, false)
		require.True(t, has(k, "e"))
		require.False(t, has(k, "d"))
		time.Sleep(admissionTime)
		for i := range maxAdmissions + 1 {
			p.add(admissionKey{server: string(rune('a' + i%100))}, string(rune('a'+i)), identity{}, false)
		}
		require.Equal(t, maxAdmissions, p.databases)
		require.Len(t, p.servers, 100)
		require.True(t, has(admissionKey{server: "a"}, "a"))
	})
}

// The queries are sent without their comments.
func TestQueriesWithoutComments(t *testing.T) {
	t.Parallel()
	for _, text := range []string{identityText, identityDatabaseText, identityControlText} {
		require.NotContains(t, text, "--")
		require.NotContains(t, text, "\n\n")
		require.Regexp(t, `(?s)^SELECT\n.*;\n$`, text)
	}
	require.Equal(t, "SELECT\n    1\n", withoutComments("-- a\n-- b\nSELECT\n    -- c\n    1 -- d\n"))
}
