package controldb_test

import (
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/controldb"
	"github.com/jobagent/jobagent/controldb/alerting"
	"github.com/jobagent/jobagent/controldb/sap"
	"github.com/jobagent/jobagent/jobs/action"
	"github.com/jobagent/jobagent/targets"
)

// TestSAPDelayEvents: a run that starts more than 20 minutes after its due instant is an event of
// delay, once, if the job asks for it. How the run ends is an event of its own.
func TestSAPDelayEvents(t *testing.T) {
	each(t, func(t *testing.T, c *control) {
		ctx := t.Context()
		scope := c.sapProvider(t)
		require.NoError(t, alerting.On(c.Store).AddChannel(ctx, "events", "Http", `{"url": "https://h.example/events"}`, true))
		c.exec(t, `UPDATE n SET n.events_channel = N'events' FROM jobs_internal.tenants AS n WHERE n.is_provider = 1;`)
		term, err := c.StartTerm(ctx, controldb.Agent{
			ID: uuid.New(), Host: "host", Version: "v", MaxConcurrentTargets: 100, CommandTypes: []action.Type{action.TypeTSQL, action.TypeProcess},
		}, time.Hour)
		require.NoError(t, err)
		for _, one := range []struct {
			name, ans string
			late      time.Duration
			outcome   controldb.Outcome
			want      []string
		}{
			{"late", `{"onDelay": true}`, 25 * time.Minute, controldb.Outcome{Outcome: targets.Succeeded}, []string{"The job 'late' has started 25 minutes late|WARNING"}},
			{"within the threshold", `{"onDelay": true}`, 19 * time.Minute, controldb.Outcome{Outcome: targets.Succeeded}, nil},
			{"late, and no JSON", `onDelay`, 25 * time.Minute, controldb.Outcome{Outcome: targets.Succeeded}, nil},
			{"late, and no truth value", `{"onDelay": "perhaps"}`, 25 * time.Minute, controldb.Outcome{Outcome: targets.Succeeded}, nil},
			{"late, and nobody asked", `{"onError": true}`, 25 * time.Minute, controldb.Outcome{Outcome: targets.Succeeded}, nil},
			{
				"late, and failed", `{"onDelay": true, "onError": true}`, 40 * time.Minute, controldb.Outcome{Outcome: targets.Failed, Message: "m"},
				[]string{"The job 'late, and failed' has failed: REQUEST_ERROR|ERROR", "The job 'late, and failed' has started 40 minutes late|WARNING"},
			},
		} {
			spec := taskSpec(one.name)
			spec.Ans = one.ans
			_, err := sap.On(c.Store).CreateJob(ctx, scope, by, spec)
			require.NoError(t, err)
			c.validateAll(t, term.ID, time.Now().UTC().Add(-one.late).Truncate(time.Second))
			due, err := c.DueSchedules(ctx, 10)
			require.NoError(t, err)
			require.Len(t, due.Schedules, 1, one.name)
			s := due.Schedules[0]
			_, err = c.FireSchedules(ctx, term.ID, []controldb.Firing{{Schedule: s.ID, Revision: s.Revision, DueAt: s.DueAt, Runs: []time.Time{s.DueAt}}})
			require.NoError(t, err)
			task := c.pass(t, term.ID).Tasks[0]
			require.NoError(t, c.CompleteResolution(ctx, term.ID, task.ID, controldb.Resolution{
				Attempt: task.Attempt, Targets: []targets.Target{targets.NewTarget("process:nightly", "", "")},
			}))
			task = c.pass(t, term.ID).Tasks[0]
			c.begin(t, term.ID, task, nil)
			one.outcome.Task, one.outcome.Attempt = task.ID, task.Attempt
			refused, err := c.CompleteTasks(ctx, term.ID, []controldb.Outcome{one.outcome})
			require.NoError(t, err)
			require.Empty(t, refused)
			c.pass(t, term.ID)
			for range 2 { // the second evaluation finds nothing new
				_, err = alerting.On(c.Store).Evaluate(ctx, 0)
				require.NoError(t, err)
			}
			got := c.rows(t, `SELECT d.title, JSON_VALUE(d.event, '$.severity') FROM jobs_internal.alert_deliveries AS d WHERE d.kind = N'Event' ORDER BY d.title`)
			require.ElementsMatch(t, one.want, got, one.name)
			c.exec(t, `DELETE FROM jobs_internal.alert_deliveries`)
		}
	})
}
