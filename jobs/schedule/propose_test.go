package schedule

import (
	"encoding/json"
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestProposalsAreRight checks that each proposal is valid itself (D-E5). It replaces each invalid
// part of random cron fields by its proposal.
func TestProposalsAreRight(t *testing.T) {
	t.Parallel()
	kinds := map[Kind][]string{
		KindCron5:  {"minute", "hour", "dayOfMonth", "month", "dayOfWeek"},
		KindCron6:  {"second", "minute", "hour", "dayOfMonth", "month", "dayOfWeek"},
		KindQuartz: {"second", "minute", "hour", "dayOfMonth", "month", "dayOfWeek", "year"},
		KindSAP:    {"year", "month", "day", "dayOfWeek", "hour", "minute", "second"},
	}
	words := []string{"0", "1", "5", "7", "8", "13", "24", "31", "32", "59", "60", "99", "2026", "99999999999999999999", "-1", "-40", "*", "?", "L", "W", "#", ".", "/", "-", ":", "mon", "Tuesday", "wedd", "jan", "febr", "x", "é", ""}
	faultsOf := func(kind Kind, parts []string) []Fault {
		line := strings.Join(parts, " ")
		spec, err := json.Marshal(map[string]string{"cron": line})
		require.NoError(t, err)
		_, err = Parse(kind, spec, Options{})
		var all *Error
		errors.As(err, &all)
		if all == nil {
			return nil
		}
		return all.Faults
	}
	r := rand.New(rand.NewPCG(7, 9))
	proposed := 0
	for range 500 {
		for _, kind := range []Kind{KindCron5, KindCron6, KindQuartz, KindSAP} {
			fields := kinds[kind]
			parts := slices.Repeat([]string{"*"}, len(fields))
			if kind == KindQuartz {
				parts[5] = "?"
			}
			i := r.IntN(len(fields))
			if kind == KindQuartz && fields[i] == "dayOfWeek" {
				parts[3] = "?"
			}
			parts[i] = ""
			for range 1 + r.IntN(4) {
				parts[i] += words[r.IntN(len(words))]
			}
			if parts[i] == "" || strings.Contains(parts[i], ",") {
				continue
			}
			for _, f := range faultsOf(kind, parts) {
				var text string
				require.NoError(t, json.Unmarshal([]byte(f.Value), &text))
				if f.Nearest == "" || text != parts[i] || strings.HasPrefix(f.Nearest, "the kind ") {
					continue
				}
				proposed++
				again := slices.Clone(parts)
				again[i] = f.Nearest
				for _, g := range faultsOf(kind, again) {
					require.NotEqual(t, f.Path, g.Path, "%s: %s: %q becomes %q: %s", kind, f.Path, parts[i], f.Nearest, g.Allowed)
				}
			}
		}
	}
	require.Greater(t, proposed, 10)
}
