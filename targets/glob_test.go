package targets_test

import (
	"strings"
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

func TestMatchName(t *testing.T) {
	t.Parallel()
	for pattern, names := range map[string]map[string]bool{
		"Cust*":   {"cust1": true, "CUST": true, "xcust": false},
		"*_old":   {"a_OLD": true, "_old": true, "a_older": false},
		"c?st":    {"cust": true, "cst": false, "c\U0001F600st": true},
		"*a*b*":   {"xxaxxbxx": true, "ba": false},
		"x":       {"X": true, "xy": false},
		"?*":      {"": false, "a": true},
		"a.b[c]":  {"a.b[c]": true, "aXb[c]": false, "a.bc": false},
		"*aab":    {"aaaab": true, "aaba": false},
		"İ*":      {"İstanbul": true},
		"Tenant?": {"Tenant10": false, "tenant1": true},
	} {
		for name, want := range names {
			require.Equal(t, want, targets.MatchName(pattern, name), "%q on %q", pattern, name)
		}
	}
	require.False(t, targets.MatchName(strings.Repeat("*a", 64)+"b", strings.Repeat("a", 128)), "no backtracking beyond the last star")
}
