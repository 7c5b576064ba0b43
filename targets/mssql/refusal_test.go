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

// An admission is valid for admissionTime, for the same address, database and credential.
func TestAdmissionsExpire(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var p admissions
		k := admissionKey{"10.0.0.1:1433", "s", "d", "c"}
		require.False(t, p.has(k))
		p.add(k)
		require.True(t, p.has(k))
		require.False(t, p.has(admissionKey{"10.0.0.2:1433", "s", "d", "c"}))
		time.Sleep(admissionTime)
		require.False(t, p.has(k))
		for i := range maxAdmissions + 1 {
			p.add(admissionKey{server: string(rune('a' + i))})
		}
		require.LessOrEqual(t, len(p.since), maxAdmissions)
		require.True(t, p.has(admissionKey{server: "a"}))
	})
}
