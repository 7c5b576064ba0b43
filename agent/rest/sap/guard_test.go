package sap

import (
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestLiteralAddresses: an address in place of a name that agents may not call is refused when the
// action is stored (S-54).
func TestLiteralAddresses(t *testing.T) {
	t.Parallel()
	guard := func(address string) error {
		if strings.HasPrefix(address, "169.254.") || strings.HasSuffix(address, ":25") {
			return errors.New("not a public address")
		}
		return nil
	}
	for url, refused := range map[string]bool{
		"http://169.254.169.254/latest": true, "https://h.example:25/": true, "https://h.example/": false, "http://h.example:8080/": false,
	} {
		r := &definitionReader{guard: guard}
		v, faults := readObject([]byte(`{"action":"` + url + `"}`))
		require.Empty(t, faults)
		r.action(v.Get("action"))
		require.Equal(t, refused, len(r.faults) == 1, "%s: %v", url, r.faults)
		if refused {
			require.Contains(t, r.faults[0].detail, "not a public address")
		}
	}
}
