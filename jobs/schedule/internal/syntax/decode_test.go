package syntax

import (
	"encoding/json"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestScannerIsLikeTheDecoder compares the scanner with json.Decoder on random pieces of JSON.
func TestScannerIsLikeTheDecoder(t *testing.T) {
	t.Parallel()
	pieces := []string{"{", "}", "[", "]", ",", ":", `"a"`, `"b"`, `"\u00e9\n\""`, `"é<>&"`, "\"\xff\xff\"", "1", "-2.5e3", "true", "false", "null", " ", "\n\t", "[1, 2]", `{"a": 1}`, `{"b" : [ ] }`, "{}"}
	r := rand.New(rand.NewPCG(1, 5))
	valid := 0
	for range 60_000 {
		var text strings.Builder
		for range 1 + r.IntN(9) {
			text.WriteString(pieces[r.IntN(len(pieces))])
		}
		want, wantErr := decodeText([]byte(text.String()))
		got, err := ReadValue([]byte(text.String()))
		if wantErr != nil {
			require.Error(t, err, "%q", text.String())
			continue
		}
		valid++
		require.NoError(t, err, "%q", text.String())
		require.Equal(t, want, got, "%q", text.String())
		require.True(t, json.Valid([]byte(got.Raw)), "%q", text.String())
	}
	require.Greater(t, valid, 1000)
	for depth, ok := range map[int]bool{32: true, 33: false} {
		_, err := ReadValue([]byte(strings.Repeat("[", depth) + "1" + strings.Repeat("]", depth)))
		require.Equal(t, ok, err == nil, "%d", depth)
	}
}
