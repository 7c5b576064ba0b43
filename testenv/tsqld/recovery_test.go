package tsqld

import (
	"encoding/hex"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/testenv/tdsclient"
	"github.com/jobagent/jobagent/testenv/tsqld/session"
	"github.com/jobagent/jobagent/testenv/tsqld/tds"
	"github.com/jobagent/jobagent/testenv/tsqld/types"
)

// resilientClient keeps what a client with connection resiliency keeps of its session.
type resilientClient struct {
	*rawClient
	f        *fixture
	recovery tds.Recovery
	lost     map[uint8]bool // states in which the session cannot be recovered
	tran     uint64         // descriptor of the last transaction
}

// logInResilient logs in with the feature SESSIONRECOVERY.
func logInResilient(t *testing.T, f *fixture) *resilientClient {
	t.Helper()
	s := &resilientClient{f: f, lost: map[uint8]bool{}}
	raw, a := logInWith(t, f, tds.Login{Features: []tds.Feature{{ID: tds.FeatureSessionRecovery, Data: []byte{}}}})
	require.NotZero(t, a.ack)
	s.rawClient = raw
	s.recovery.Initial = tds.RecoveryPart{Database: "master", Language: "us_english", States: readStates(a.features[1])}
	require.NotEmpty(t, s.recovery.Initial.States)
	return s
}

// readStates reads a SessionStateDataSet.
func readStates(b []byte) []session.State {
	var states []session.State
	for len(b) > 0 {
		n := 2 + int(b[1])
		states = append(states, session.State{ID: b[0], Value: b[2:n]})
		b = b[n:]
	}
	return states
}

// keep keeps the states of an answer.
func (s *resilientClient) keep(a *rawAnswer) {
	for _, token := range a.states {
		for _, st := range readStates(token[1:]) {
			s.lost[st.ID] = token[0] == 0
			kept, found := s.recovery.Current.States, false
			for i := range kept {
				if kept[i].ID == st.ID {
					kept[i], found = st, true
				}
			}
			if !found {
				s.recovery.Current.States = append(kept, st)
			}
		}
	}
}

// run runs a batch and keeps the states of its answer.
func (s *resilientClient) run(status tds.Status, text string) *rawAnswer {
	s.t.Helper()
	batch := tds.Batch{Text: text}
	if text == "ROLLBACK" {
		batch.Descriptor = s.tran
	}
	payload := tdsclient.AppendBatch(nil, &batch, tds.Version74)
	_, err := s.conn.Write(tds.AppendPacket(nil, tds.Header{Type: tds.PacketBatch, Status: tds.StatusEOM | status}, payload))
	require.NoError(s.t, err)
	a := s.answer()
	s.tran = a.descriptor
	if status&tds.StatusReset != 0 {
		s.recovery.Current, s.lost = tds.RecoveryPart{}, map[uint8]bool{}
	}
	s.keep(a)
	return a
}

// recoverable reports whether a client may recover the session.
func (s *resilientClient) recoverable() bool {
	for _, lost := range s.lost {
		if lost {
			return false
		}
	}
	return true
}

// reconnect logs in again and returns the answer.
func (s *resilientClient) reconnect() *rawAnswer {
	s.t.Helper()
	s.conn.Close()
	raw, a := logInWith(s.t, s.f, tds.Login{Features: []tds.Feature{{ID: tds.FeatureSessionRecovery, Data: tdsclient.AppendRecovery(nil, &s.recovery)}}})
	s.rawClient = raw
	return a
}

// check compares the values of expressions, -9 for NULL.
func (s *resilientClient) check(want map[string]int32) {
	s.t.Helper()
	for expression, n := range want {
		a := s.run(0, "SELECT ISNULL(CAST("+expression+" AS int), -9) n")
		require.Equal(s.t, []int32{n}, a.ints, expression)
		require.Empty(s.t, a.states, expression)
	}
}

// TestSessionRecovery: a client that has lost its connection continues with the options, the
// language and the database of its session, and a reset returns to those of its first login.
func TestSessionRecovery(t *testing.T) {
	t.Parallel()
	s := logInResilient(t, newRealServer(t, Config{}))
	require.Empty(t, s.run(0, "CREATE DATABASE d; CREATE DATABASE gone").states)
	a := s.run(0, `SET LANGUAGE Italian; SET DATEFORMAT ymd; SET DATEFIRST 3; SET NOCOUNT ON; SET XACT_ABORT ON; SET LOCK_TIMEOUT 1234;
		SET DEADLOCK_PRIORITY -7; SET TEXTSIZE 5000; SET ROWCOUNT 17; SET CONTEXT_INFO 0x0102; SET TRANSACTION ISOLATION LEVEL SERIALIZABLE; USE d`)
	require.Len(t, a.states, 1)
	require.True(t, s.recoverable())
	s.recovery.Current.Database, s.recovery.Current.Language = "d", "Italiano"
	require.Empty(t, s.run(0, "SET NOCOUNT ON").states, "nothing has changed")
	changed := map[string]int32{
		"@@LANGID": 6, "@@DATEFIRST": 3, "MONTH('2020-05-06')": 5, "@@LOCK_TIMEOUT": 1234, "@@TEXTSIZE": 5000, "@@OPTIONS & 16896": 16896,
		"CAST(SUBSTRING(CONTEXT_INFO(), 1, 2) AS smallint)": 258, "DB_ID() - DB_ID('d')": 0,
		"(SELECT transaction_isolation_level FROM sys.dm_exec_sessions WHERE session_id = @@SPID)": 4,
		"(SELECT deadlock_priority FROM sys.dm_exec_sessions WHERE session_id = @@SPID)":           -7,
	}
	s.check(changed)
	a = s.reconnect()
	require.NotZero(t, a.ack)
	require.Equal(t, []byte{1, 7, 2, 4}, a.env)
	require.Len(t, readStates(a.features[1]), len(s.recovery.Initial.States))
	s.check(changed)
	require.Len(t, s.run(0, "SELECT ISNULL(CAST(value AS int), 0) n FROM GENERATE_SERIES(1, 20)").ints, 17, "ROWCOUNT")

	initial := map[string]int32{
		"@@LANGID": 0, "@@DATEFIRST": 7, "@@LOCK_TIMEOUT": -1, "@@TEXTSIZE": 2147483647, "@@OPTIONS & 16896": 0,
		"SUBSTRING(CONTEXT_INFO(), 1, 2)": -9, "DB_ID()": 1,
	}
	a = s.run(tds.StatusReset, "PRINT 'x'")
	require.Equal(t, []byte{18}, a.env)
	require.Len(t, a.states, 1, "a reset keeps the isolation level, and returns to the initial states otherwise")
	require.Len(t, s.recovery.Current.States, 1)
	s.check(initial)
	require.NotZero(t, s.reconnect().ack)
	s.check(initial)

	s.recovery.Current.Database = "gone"
	require.Empty(t, s.run(0, "DROP DATABASE gone").numbers)
	require.Equal(t, []int32{4060, 18456}, s.reconnect().numbers)
}

// TestSessionsThatCannotBeRecovered: while a session has something that a new session would not
// have, the client is told not to recover it.
func TestSessionsThatCannotBeRecovered(t *testing.T) {
	t.Parallel()
	s := logInResilient(t, newRealServer(t, Config{}))
	require.Empty(t, s.run(0, "CREATE TABLE tempdb.dbo.i (n int IDENTITY)").numbers)
	for begin, end := range map[string]string{
		"BEGIN TRAN":                                     "ROLLBACK",
		"CREATE TABLE #t (n int)":                        "DROP TABLE #t",
		"CREATE TABLE ##t (n int)":                       "DROP TABLE ##t",
		"DECLARE c CURSOR FOR SELECT 1 n":                "DEALLOCATE c",
		"EXEC sp_set_session_context 'k', 1":             "",
		"EXECUTE AS LOGIN = 'sa'":                        "REVERT",
		"SET IDENTITY_INSERT tempdb.dbo.i ON":            "SET IDENTITY_INSERT tempdb.dbo.i OFF",
		"EXEC ('CREATE PROC #p AS PRINT ''x''')":         "DROP PROC #p",
		"EXEC sp_getapplock 'l', 'Exclusive', 'Session'": "EXEC sp_releaseapplock 'l', 'Session'",
	} {
		require.True(t, s.recoverable())
		require.Empty(t, s.run(0, begin).numbers, begin)
		require.False(t, s.recoverable(), begin)
		if end == "" {
			s.run(tds.StatusReset, "PRINT 'x'")
		} else {
			s.run(0, end)
		}
		require.True(t, s.recoverable(), end)
	}
	s.keep(s.rawClient.begin(1))
	require.False(t, s.recoverable())
}

// TestBrokenRecoveryData: data that the server has not sent refuses the login.
func TestBrokenRecoveryData(t *testing.T) {
	t.Parallel()
	s := logInResilient(t, newRealServer(t, Config{}))
	good := s.recovery
	flags := good.Initial.States[0].Value[0]
	for what, states := range map[string][]session.State{
		"unknown":       {{ID: 200, Value: []byte{1}}},
		"too short":     {{ID: 1, Value: []byte{1}}},
		"twice":         {{ID: 2, Value: []byte{1}}, {ID: 2, Value: []byte{1}}},
		"isolation":     {{ID: 2, Value: []byte{9}}},
		"date order":    {{ID: 1, Value: []byte{6, 1}}},
		"first day":     {{ID: 1, Value: []byte{0, 8}}},
		"priority":      {{ID: 3, Value: []byte{11}}},
		"timeout":       {{ID: 4, Value: []byte{0, 0, 0, 0x80}}},
		"row count":     {{ID: 5, Value: []byte{0, 0, 0, 0, 0, 0, 0, 0x80}}},
		"text size":     {{ID: 6, Value: []byte{0, 0, 0, 0}}},
		"context":       {{ID: 7, Value: []byte{0}}},
		"lost":          {{ID: 8, Value: []byte{1, 0}}},
		"flags":         {{ID: 0, Value: append([]byte{99}, make([]byte, 8)...)}},
		"all flags off": {{ID: 0, Value: append([]byte{flags}, make([]byte, 8)...)}},
		"more flags":    {{ID: 0, Value: []byte{flags, 255, 255, 255, 255, 255, 255, 255, 255}}},
	} {
		s.recovery = good
		s.recovery.Current.States = states
		require.Equal(t, []int32{17832}, s.reconnect().numbers, what)
		s.recovery = good
		s.recovery.Initial.States = states
		require.Equal(t, []int32{17832}, s.reconnect().numbers, what)
	}
	s.recovery = good
	s.recovery.Current.Language = "Klingon"
	require.Equal(t, []int32{17832}, s.reconnect().numbers)
	for _, text := range []string{"01", "00000000", "0300000000000001000000", "03000000000000040000000000000009", "0600000000000001050003000000000000"} {
		data, err := hex.DecodeString(text)
		require.NoError(t, err)
		_, a := logInWith(t, s.f, tds.Login{Features: []tds.Feature{{ID: tds.FeatureSessionRecovery, Data: data}}})
		require.Equal(t, []int32{17832}, a.numbers, text)
	}
	s.recovery = good
	require.NotZero(t, s.reconnect().ack)
}

// TestStatesOfSeveralRequests: the SESSIONSTATE tokens of all sessions of a connection with MARS
// have common numbers, which the strict reader checks. One comes before the DONEPROC of a call.
func TestStatesOfSeveralRequests(t *testing.T) {
	t.Parallel()
	f := newRealServer(t, Config{})
	c := connectMultiple(t, f, tds.Feature{ID: tds.FeatureSessionRecovery, Data: []byte{}})
	a, b := c.open(), c.open()
	for i, s := range []*rawClient{a, b, b, a} {
		s.batch(fmt.Sprintf("SET LOCK_TIMEOUT %d", i))
		require.Len(t, s.answer().states, 1)
	}
	call, err := tdsclient.AppendRPC(nil, tds.Headers{}, []tds.RPC{{Proc: "sp_set_session_context", Params: []tds.Param{
		{Type: types.NVarCharOf(9), Value: "k"}, {Type: types.IntType, Value: int64(1)},
	}}}, tds.Version74)
	require.NoError(t, err)
	a.send(tds.PacketRPC, call)
	answer := a.answer()
	require.Empty(t, answer.numbers)
	require.Len(t, answer.states, 1)
	require.Equal(t, []byte{0x79, 0xE4, 0xFE}, answer.tokens[len(answer.tokens)-3:])
}
