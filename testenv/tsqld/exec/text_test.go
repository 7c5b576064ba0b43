package exec

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestParseDelay(t *testing.T) {
	for _, tt := range []struct {
		text string
		want time.Duration
		ok   bool
	}{
		{"00:00:01", time.Second, true},
		{"1:2", time.Hour + 2*time.Minute, true},
		{" 00:00:00.5 ", 500 * time.Millisecond, true},
		{"00:00:00.0000001", 100 * time.Nanosecond, true},
		{"24:00:00", 24 * time.Hour, true},
		{"24:00:01", 0, false},
		{"00:60:00", 0, false},
		{"x", 0, false},
		{"", 0, false},
		{"00:00:00.", 0, true},
		{"-1:00", 0, false},
	} {
		got, ok := parseDelay(tt.text)
		require.Equal(t, tt.ok, ok, tt.text)
		if ok {
			require.Equal(t, tt.want, got, tt.text)
		}
	}
}

func FuzzParseDelay(f *testing.F) {
	f.Add("00:00:01.5")
	f.Fuzz(func(t *testing.T, text string) {
		if d, ok := parseDelay(text); ok && (d < 0 || d > 24*time.Hour) {
			t.Errorf("%q is %s", text, d)
		}
	})
}
