package syntax

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestDelay(t *testing.T) {
	for _, tt := range []struct {
		text string
		want time.Duration
		ok   bool
	}{
		{"00:00:01", time.Second, true},
		{"1:2", time.Hour + 2*time.Minute, true},
		{" 00:00:00.5 ", 500 * time.Millisecond, true},
		{"0:0:0.2", 200 * time.Millisecond, true},
		{"00:00:00:200", 200 * time.Millisecond, true},
		{"12:00:00.1 AM", 100 * time.Millisecond, true},
		{"12:00 pm", 12 * time.Hour, true},
		{"00:00 PM", 0, false},
		{"00:00:00.1PM", 0, false},
		{"00:00:00.0005", 0, false},
		{"00:00:00:1000", 0, false},
		{"24:00:00", 0, false},
		{"5", 0, false},
		{":05", 0, false},
		{"2020-01-01 00:00:00", 0, false},
		{"00:60:00", 0, false},
		{"x", 0, false},
		{"", 0, true},
		{"00:00:00.", 0, true},
		{"-1:00", 0, false},
	} {
		got, ok := Delay(tt.text)
		require.Equal(t, tt.ok, ok, tt.text)
		if ok {
			require.Equal(t, tt.want, got, tt.text)
		}
	}
}

func FuzzDelay(f *testing.F) {
	f.Add("00:00:01.5")
	f.Fuzz(func(t *testing.T, text string) {
		if d, ok := Delay(text); ok && (d < 0 || d >= 24*time.Hour) {
			t.Errorf("%q is %s", text, d)
		}
	})
}
