package controldb_test

import (
	"encoding/json"
	"errors"
	"flag"
	"math/rand/v2"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"

	mssqldb "github.com/microsoft/go-mssqldb"
	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/controldb/catalog"
	"github.com/jobagent/jobagent/controldb/timetable"
	"github.com/jobagent/jobagent/jobs/rollout"
	"github.com/jobagent/jobagent/testenv"
)

var writePlans = flag.Bool("plans.write", false, "write the messages into jobs/rollout/testdata/wrong_plans.txt")

const wrongPlans = "../jobs/rollout/testdata/wrong_plans.txt"

var repeatedText = regexp.MustCompile(`<<(.*?)\*(\d+)>>`)

// expand repeats texts of the form <<TEXT*NUMBER>>.
func expand(text string) string {
	return repeatedText.ReplaceAllStringFunc(text, func(m string) string {
		parts := repeatedText.FindStringSubmatch(m)
		n, _ := strconv.Atoi(parts[2])
		return strings.Repeat(parts[1], n)
	})
}

// Each wrong plan is refused with all its faults in one message, and changes nothing.
func TestWrongPlans(t *testing.T) {
	testenv.Long(t)
	golden, err := os.ReadFile(wrongPlans)
	require.NoError(t, err)
	each(t, func(t *testing.T, c *control) {
		c.job(t, "j", nil)
		c.job(t, "u", nil)
		before := get[int](t, c, `SELECT COUNT(*) FROM jobs_internal.job_versions`)
		var b strings.Builder
		number := 0
		for record := range strings.SplitSeq(strings.TrimSpace(string(golden)), "\n\n") {
			plan, want, _ := strings.Cut(record, "\n")
			err := catalog.On(c.Store).SetJobRollout(t.Context(), "j", expand(plan), nil)
			require.Error(t, err, plan)
			var e mssqldb.Error
			require.True(t, errors.As(err, &e), plan)
			require.Equal(t, int32(50404), e.Number, plan)
			require.LessOrEqual(t, len([]rune(e.Message)), 2048)
			if !*writePlans {
				require.Equal(t, want, e.Message, plan)
			}
			b.WriteString(plan + "\n" + e.Message + "\n\n")
			number++
		}
		require.GreaterOrEqual(t, number, 60)
		require.Equal(t, before, get[int](t, c, `SELECT COUNT(*) FROM jobs_internal.job_versions`))
		if *writePlans {
			require.NoError(t, os.WriteFile(wrongPlans, []byte(b.String()), 0o644))
		}
	})
}

// randomPlan returns a text that is often a plan.
func randomPlan(r *rand.Rand) string {
	pick := func(list ...string) string { return list[r.IntN(len(list))] }
	var waves []string
	for i := range 1 + r.IntN(4) {
		wave := `{"name": "` + pick("w", "W", "wave ", "ü") + strconv.Itoa(i*r.IntN(3)) + `", ` +
			pick(`"targets": 1`, `"targets": "05"`, `"targets": "10 %"`, `"targets": "rest"`, `"names": ["s/\u0064", "a\\b/c\/d"]`, `"like": ["a%", "[_]\""]`)
		for range r.IntN(5) {
			wave += ", " + pick(`"order": "random"`, `"parallelism": 5`, `"pace": null`, `"bake_seconds": -0`, `"bake_seconds": 60`, `"approval": true`, `"approval": false`,
				`"max_failed": "01%"`, `"max_failed": 3`, `"max_failed": "0%"`, `"max_unknown": 2`, `"max_unreached": "100%"`, `"max_duration_percent": 150`,
				`"probe_job": "u"`, `"probe_every_seconds": 10`, `"probe_job": "u", "probe_max_rows": 0`, `"probe_job": "u", "probe_max_value": -0, "probe_min_value": -5`,
				`"probe_job": "u", "probe_max_percent": 120`, `"probe_min_percent": 80`, `"probe_min_value": 1, "probe_max_rows": 3`, `"window": "c"`, `"window": null`)
		}
		waves = append(waves, wave+"}")
	}
	text := `{"waves": [` + strings.Join(waves, ", ") + `]`
	for range r.IntN(4) {
		text += ", " + pick(`"preflight": "refuse"`, `"preflight": "none"`, `"preflight_options": {"refuse": ["blocking"], "rights": ["ALTER", "CREATE \u0054ABLE"], "min_log_mb": 100}`,
			`"preflight_options": {"warn": ["version"], "min_version": 15, "rights": null}`,
			`"seed": 12`, `"deadline_seconds": 60`, `"on_gate_failure": "abort"`, `"strict": true`, `"undo_job": "u"`, `"strict": null`, `"running_targets": "x"`)
	}
	return text + "}"
}

// T-SQL and Go accept the same plans, and store the same form of them, which is stable.
func TestPlanRulesAgree(t *testing.T) {
	testenv.Long(t)
	each(t, func(t *testing.T, c *control) {
		c.job(t, "u", nil)
		require.NoError(t, timetable.On(c.Store).AddCalendar(t.Context(), "c", `{"dates": ["2030-12-24"]}`))
		normal := func(text string) (stored string, err error) {
			err = c.db.QueryRowContext(t.Context(), `DECLARE @stored NVARCHAR(MAX);
EXECUTE jobs_internal.check_rollout_plan @plan = @p1, @stored = @stored OUTPUT;
SELECT @stored;`, text).Scan(&stored)
			return stored, err
		}
		r := rand.New(rand.NewPCG(1, 31))
		valid := 0
		for range 300 {
			text := randomPlan(r)
			plan, inGo := rollout.Parse(text)
			stored, err := normal(text)
			require.Equal(t, inGo == nil, err == nil, "%s\nGo: %v\nT-SQL: %v", text, inGo, err)
			if err != nil {
				continue
			}
			valid++
			var got, want any
			require.NoError(t, json.Unmarshal([]byte(stored), &got))
			require.NoError(t, json.Unmarshal([]byte(plan.Stored()), &want))
			require.Equal(t, want, got, text)
			for _, again := range []string{stored, plan.Stored(), plan.Short()} {
				twice, err := normal(again)
				require.NoError(t, err, again)
				require.Equal(t, stored, twice, text)
			}
		}
		require.Greater(t, valid, 50)
	})
}
