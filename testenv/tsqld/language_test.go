package tsqld

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/testenv/tdsclient"
	"github.com/jobagent/jobagent/testenv/tsqld/tds"
)

// logInWith sends a login and returns the answer.
func logInWith(t *testing.T, f *fixture, l tds.Login) (*rawClient, *rawAnswer) {
	t.Helper()
	c := connectRaw(t, f, tds.Version74)
	l.Asked, l.User, l.Password = tds.Version74, "sa", "secret"
	c.send(tds.PacketLogin7, tdsclient.AppendLogin(nil, &l))
	return c, c.answer()
}

// TestLoginLanguage: the language of LOGIN7 becomes the language of the session, and a reset of the
// connection restores it.
func TestLoginLanguage(t *testing.T) {
	t.Parallel()
	f := newRealServer(t, Config{})
	const required = 1 // fLanguage in OptionFlags2
	for _, c := range []struct {
		language string
		flags    uint8
		numbers  []int32
		id       int32 // @@LANGID; -1 for a refused login
		first    int32 // @@DATEFIRST
		may      int32 // the day of '05/06/2020'
	}{
		{"", required, []int32{5701, 5703}, 0, 7, 6},
		{"Italian", required, []int32{5701, 5703}, 6, 1, 5},
		{"Français", 0, []int32{5701, 5703}, 2, 1, 5},
		{"British", required, []int32{5701, 5703}, 23, 1, 5},
		{"us_english", required, []int32{5701, 5703}, 0, 7, 6},
		{"Klingon", 0, []int32{5701, 4016, 5703}, 0, 7, 6},
		{"Klingon", required, []int32{4019, 18456}, -1, 0, 0},
	} {
		raw, a := logInWith(t, f, tds.Login{Language: c.language, Flags2: c.flags})
		require.Equal(t, c.numbers, a.numbers, c.language)
		if c.id < 0 {
			require.Zero(t, a.ack, "the login is refused")
			continue
		}
		for _, status := range []tds.Status{0, tds.StatusReset} {
			for query, want := range map[string]int32{
				"SELECT ISNULL(CAST(@@LANGID AS int), 0) n":           c.id,
				"SELECT ISNULL(CAST(@@DATEFIRST AS int), 0) n":        c.first,
				"SELECT ISNULL(DAY(CAST('05/06/2020' AS date)), 0) n": c.may,
			} {
				payload := tdsclient.AppendBatch(nil, &tds.Batch{Text: query}, tds.Version74)
				_, err := raw.conn.Write(tds.AppendPacket(nil, tds.Header{Type: tds.PacketBatch, Status: tds.StatusEOM | status}, payload))
				require.NoError(t, err)
				require.Equal(t, []int32{want}, raw.answer().ints, "%s: %s", c.language, query)
			}
			raw.batch("SET LANGUAGE Deutsch")
			require.Equal(t, []int32{5703}, raw.answer().numbers)
		}
	}
}

// TestCollationOfDatabase: clients learn the collation of the database at the login and when USE
// changes it (MS-TDS 2.2.7.9, type 7).
func TestCollationOfDatabase(t *testing.T) {
	t.Parallel()
	f := newRealServer(t, Config{})
	raw, a := logInWith(t, f, tds.Login{})
	usual := []byte{5, 0x09, 0x04, 0xD0, 0x00, 0x34, 0}
	require.Equal(t, usual, a.collation)
	raw.batch("CREATE DATABASE turkish COLLATE Turkish_100_CI_AS")
	raw.answer()
	raw.batch("USE turkish")
	a = raw.answer()
	turkish := []byte{5, 0x1F, 0x04, 0xD0, 0x20, 0x00, 0}
	require.Equal(t, turkish, a.collation)
	raw.batch("USE turkish; EXEC ('USE turkish')")
	require.Nil(t, raw.answer().collation)
	raw.batch("EXEC ('USE master')")
	require.Equal(t, turkish, raw.answer().collation, "the end of the text reverts its USE")
	_, a = logInWith(t, f, tds.Login{Database: "turkish"})
	require.Equal(t, turkish, a.collation)
}
