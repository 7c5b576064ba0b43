package config

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestLimitsOfTheConfiguration(t *testing.T) {
	t.Parallel()
	var cfg File
	require.NoError(t, json.Unmarshal([]byte(`{"limits": {"value_bytes": "16MB", "row_bytes": "32 mb", "answer_bytes": 4294967296, "message_bytes": "64KB", "messages": 7}}`), &cfg))
	got := cfg.Limits.Limits()
	require.Equal(t, int64(16<<20), got.ValueBytes)
	require.Equal(t, int64(32<<20), got.RowBytes)
	require.Equal(t, int64(4<<30), got.AnswerBytes)
	require.Equal(t, int64(64<<10), got.MessageBytes)
	require.Equal(t, int64(7), got.Messages)
	for _, bad := range []string{`"16 MiB"`, `"MB"`, `"-1KB"`, `0`, `1.5`, `true`, `null`, `"99999999999GB"`, `""`} {
		var s ByteSize
		require.ErrorContains(t, s.UnmarshalJSON([]byte(bad)), "invalid size", bad)
	}
}
