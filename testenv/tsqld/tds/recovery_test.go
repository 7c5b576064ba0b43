package tds_test

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/testenv/tdsclient"
	"github.com/jobagent/jobagent/testenv/tsqld/session"
	. "github.com/jobagent/jobagent/testenv/tsqld/tds"
)

// sampleRecovery has states with both forms of a length.
func sampleRecovery() *Recovery {
	return &Recovery{
		Initial: RecoveryPart{
			Database: "master", Collation: []byte{9, 4, 0xD0, 0, 0x34}, Language: "us_english",
			States: []session.State{{ID: 0, Value: []byte{1, 2}}, {ID: 7, Value: []byte{}}, {ID: 9, Value: bytes.Repeat([]byte{3}, 300)}},
		},
		Current: RecoveryPart{Language: "Français", States: []session.State{{ID: 7, Value: []byte{5}}}},
	}
}

func TestRecoveryRoundTrip(t *testing.T) {
	t.Parallel()
	want := sampleRecovery()
	data := tdsclient.AppendRecovery(nil, want)
	got, err := ReadRecovery(data)
	require.NoError(t, err)
	require.Equal(t, want, got)
	got, err = ReadRecovery(nil)
	require.NoError(t, err)
	require.Nil(t, got)
	for i := 1; i < len(data); i++ {
		_, err := ReadRecovery(data[:i])
		require.Error(t, err, "cut off after %d bytes", i)
	}
	_, err = ReadRecovery(append(data, 0))
	require.Error(t, err)
}

// TestSessionStateNumbers: only changed states are sent, and the last number ends the feature
// (MS-TDS 2.2.7.21).
func TestSessionStateNumbers(t *testing.T) {
	t.Parallel()
	state := func(a, b byte, lost bool) []session.State {
		return []session.State{{ID: 4, Value: []byte{a}}, {ID: 8, Value: []byte{b}, Lost: lost}}
	}
	s := NewSessionStates(state(1, 0, false), state(1, 0, false))
	require.Empty(t, s.AppendChanges(nil, state(1, 0, false)))
	require.Equal(t, []byte{0xE4, 8, 0, 0, 0, 0, 0, 0, 0, 1, 4, 1, 2}, s.AppendChanges(nil, state(2, 0, false)))
	require.Equal(t, []byte{
		0xE4, 8, 0, 0, 0, 1, 0, 0, 0, 1, 4, 1, 3,
		0xE4, 8, 0, 0, 0, 2, 0, 0, 0, 0, 8, 1, 1,
	}, s.AppendChanges(nil, state(3, 1, true)))
	s.Reset()
	require.Empty(t, s.AppendChanges(nil, state(1, 0, false)), "both sides know the initial states")
	s.SetNext(LastNumber)
	require.Equal(t, []byte{0xE4, 8, 0, 0, 0, 255, 255, 255, 255, 0, 4, 1, 9}, s.AppendChanges(nil, state(9, 0, false)))
	require.Empty(t, s.AppendChanges(nil, state(1, 0, false)))
}

// FuzzReadRecovery: what can be read is written and read again without a change.
func FuzzReadRecovery(f *testing.F) {
	f.Add(tdsclient.AppendRecovery(nil, sampleRecovery()))
	f.Add([]byte{3, 0, 0, 0, 0, 0, 0, 3, 0, 0, 0, 0, 0, 0})
	f.Fuzz(func(t *testing.T, data []byte) {
		r, err := ReadRecovery(data)
		if err != nil || r == nil {
			return
		}
		again, err := ReadRecovery(tdsclient.AppendRecovery(nil, r))
		require.NoError(t, err)
		require.Equal(t, r, again)
	})
}
