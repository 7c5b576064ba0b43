package targets_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/targets"
)

func TestMatchGlob(t *testing.T) {
	t.Parallel()
	for pattern, names := range map[string]map[string]bool{
		"*":     {"": true, "x": true},
		"a*":    {"a": true, "ab": true, "ba": false},
		"*a":    {"a": true, "ba": true, "ab": false},
		"a*a":   {"a": false, "aa": true, "aba": true},
		"a*b*c": {"abc": true, "axxbyyc": true, "acb": false, "ac": false, "abbc": true},
		"a**c":  {"ac": true, "abc": true},
		"":      {"": true, "x": false},
		"?":     {"?": true, "x": false},
	} {
		for name, want := range names {
			require.Equal(t, want, targets.MatchGlob(pattern, name), "%q on %q", pattern, name)
		}
	}
}
