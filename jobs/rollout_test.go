package jobs_test

import (
	"errors"
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/jobs/rollout"
)

var (
	repeated = regexp.MustCompile(`<<(.*?)\*(\d+)>>`)
	// proposal is at the end of a fault. The database proposes nothing for a word with two slips.
	proposal = regexp.MustCompile(`; did you mean "([a-z_]+)"\?`)
)

// The faults of wrong plans are those of the database, whose messages the file has
// (controldb.TestWrongPlans).
func TestWrongRollouts(t *testing.T) {
	golden, err := os.ReadFile("rollout/testdata/wrong_plans.txt")
	require.NoError(t, err)
	for record := range strings.SplitSeq(strings.TrimSpace(string(golden)), "\n\n") {
		text, want, _ := strings.Cut(record, "\n")
		plan := repeated.ReplaceAllStringFunc(text, func(m string) string {
			parts := repeated.FindStringSubmatch(m)
			n, _ := strconv.Atoi(parts[2])
			return strings.Repeat(parts[1], n)
		})
		_, err := rollout.Parse(plan)
		require.Error(t, err, text)
		var faults rollout.Faults
		if !errors.As(err, &faults) {
			require.ErrorContains(t, err, strings.TrimSuffix(strings.TrimPrefix(want, "Invalid @plan: "), "."))
			continue
		}
		var b strings.Builder
		fmt.Fprintf(&b, "Invalid @plan, %d %s.", len(faults), map[bool]string{true: "fault", false: "faults"}[len(faults) == 1])
		for i, f := range faults {
			b.WriteString(" ")
			if len(faults) > 1 {
				fmt.Fprintf(&b, "%d. ", i+1)
			}
			b.WriteString(f.Path + ": " + f.Message)
			if !strings.HasSuffix(f.Message, "?") {
				b.WriteString(".")
			}
		}
		got := b.String()
		want, _, _ = strings.Cut(want, " And ")
		for _, m := range proposal.FindAllString(want, -1) {
			require.Contains(t, got, m, text)
		}
		plain := func(s string) string { return strings.ReplaceAll(proposal.ReplaceAllString(s, "."), "..", ".") }
		require.True(t, strings.HasPrefix(plain(got), plain(want)), "%s\ngot  %s\nwant %s", text, plain(got), plain(want))
	}
}

// The stored form has every member, and the short one only those that have not their defaults.
func TestRolloutForms(t *testing.T) {
	const text = `{"undo_job": "u", "strict": false, "waves": [
		{"targets": 3, "name": "canary", "approval": true, "max_failed": "0%", "bake_seconds": 60, "pace": null},
		{"name": "b", "names": ["s/a", "s\u002fb"]}, {"name": "rest", "targets": "rest", "max_failed": "01 %", "parallelism": 50}]}`
	plan, err := rollout.Parse(text)
	require.NoError(t, err)
	const short = `{"waves":[{"name":"canary","targets":"3","bake_seconds":60,"approval":"any"},{"name":"b","names":["s/a","s/b"]},` +
		`{"name":"rest","targets":"rest","parallelism":50,"max_failed":"1%"}],"undo_job":"u"}`
	require.Equal(t, short, plan.Short())
	require.Contains(t, plan.Stored(), `{"name":"b","targets":null,"names":["s/a","s/b"],"like":null,"tags":null,"order":"resolution","order_tag":null,`+
		`"parallelism":null,"pace":null,"bake_seconds":0,"approval":"none","max_failed":"0","max_unknown":0,"max_unreached":"0",`+
		`"max_duration_percent":null,"probe_job":null,"probe_every_seconds":null,"probe_max_rows":null,"probe_min_value":null,"probe_max_value":null,`+
		`"probe_min_percent":null,"probe_max_percent":null,"window":null,"allow_empty":false}`)
	for _, again := range []string{plan.Stored(), short} {
		same, err := rollout.Parse(again)
		require.NoError(t, err)
		require.Equal(t, plan.Stored(), same.Stored())
		require.Equal(t, short, same.Short())
	}
	none, err := rollout.Parse(" ")
	require.NoError(t, err)
	require.Nil(t, none)
}

func TestRolloutFaultsSayAll(t *testing.T) {
	_, err := rollout.Parse(`{"waves": [{"name": "a", "targets": 0}], "strict": 1}`)
	require.EqualError(t, err, `invalid plan, 2 faults: 1. strict: want true or false, not 1; 2. waves[0].targets: `+
		`want a number of targets from 1 to 1000000, a percentage from "1%" to "100%" without decimals, or "rest", not 0`)
	_, err = rollout.Parse(`{"waves": []}`)
	require.EqualError(t, err, `invalid plan, 1 fault: waves: want an array of 1 to 100 waves, not 0 elements`)
}

// A plan that was written is read again, and is the same.
func FuzzRollout(f *testing.F) {
	golden, err := os.ReadFile("rollout/testdata/wrong_plans.txt")
	require.NoError(f, err)
	for record := range strings.SplitSeq(string(golden), "\n\n") {
		text, _, _ := strings.Cut(record, "\n")
		f.Add(text)
	}
	f.Add(`{"waves": [{"name": "a", "targets": "1 %"}, {"name": "b", "like": ["\u0000"], "max_failed": "007"}], "seed": 1}`)
	f.Fuzz(func(t *testing.T, text string) {
		plan, err := rollout.Parse(text)
		if err != nil || plan == nil {
			return
		}
		for _, again := range []string{plan.Stored(), plan.Short()} {
			same, err := rollout.Parse(again)
			require.NoError(t, err, again)
			require.Equal(t, plan.Stored(), same.Stored())
		}
	})
}
