package controldb_test

import (
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/controldb"
	"github.com/jobagent/jobagent/controldb/callbacks"
	"github.com/jobagent/jobagent/controldb/dberror"
	"github.com/jobagent/jobagent/controldb/sap"
	"github.com/jobagent/jobagent/jobs/action"
	"github.com/jobagent/jobagent/targets"
)

// taskSpec is a task with a schedule.
func taskSpec(name string) sap.JobSpec {
	spec := sapSpec(name, cron(""))
	spec.JobType, spec.Action = sap.TaskJob, sap.TaskPrefix+"nightly"
	return spec
}

// TestSAPTaskRuns: the end of a process decides, and so does the setting for its time.
func TestSAPTaskRuns(t *testing.T) {
	each(t, func(t *testing.T, c *control) {
		scope := c.sapProvider(t)
		ctx := t.Context()
		start := func() controldb.TermID {
			t.Helper()
			term, err := c.StartTerm(ctx, controldb.Agent{
				ID: uuid.New(), Host: "host", Version: "v", MaxConcurrentTargets: 100, CommandTypes: []action.Type{action.TypeTSQL, action.TypeProcess},
			}, time.Hour)
			require.NoError(t, err)
			return term.ID
		}
		var (
			job      int64
			schedule uuid.UUID
		)
		latest := func() sap.Run { return c.mustRuns(t, scope, job, schedule)[0] }
		run := func(term controldb.TermID) controldb.Task {
			t.Helper()
			require.Empty(t, c.pass(t, term).Tasks)
			made, err := sap.On(c.Store).CreateJob(ctx, scope, by, taskSpec("task "+uuid.NewString()))
			require.NoError(t, err)
			job, schedule = made.Job, made.Schedules[0]
			c.validateAll(t, term, time.Now().UTC().Truncate(time.Second))
			due, err := c.DueSchedules(ctx, 10)
			require.NoError(t, err)
			s := due.Schedules[0]
			_, err = c.FireSchedules(ctx, term, []controldb.Firing{{Schedule: s.ID, Revision: s.Revision, DueAt: s.DueAt, Runs: []time.Time{s.DueAt}}})
			require.NoError(t, err)
			task := c.pass(t, term).Tasks[0]
			require.Equal(t, action.TypeProcess, task.CommandType)
			require.NoError(t, c.CompleteResolution(ctx, term, task.ID, controldb.Resolution{
				Attempt: task.Attempt, Targets: []targets.Target{targets.NewTarget("process:nightly", "", "")},
			}))
			require.Equal(t, "SCHEDULED", latest().State)
			return c.pass(t, term).Tasks[0]
		}

		term := start()
		_, err := sap.On(c.Store).SetTimeout(ctx, scope, by, 77)
		require.NoError(t, err)
		task := run(term)
		require.InDelta(t, 77, task.Timeout.Seconds(), 2)
		require.Equal(t, "SCHEDULED", latest().State)
		require.ErrorIs(t, sap.On(c.Store).ReportRun(ctx, scope, job, schedule, latest().ID, callbacks.Report{Success: true}), dberror.ErrSAPTaskRun)

		// An agent that is lost before the process starts is replaced by another one.
		require.NoError(t, c.EndTerm(ctx, term))
		term = start()
		task = c.pass(t, term).Tasks[0]
		c.begin(t, term, task, nil)
		require.Equal(t, []any{"RUNNING", "ACK_RECVD", true}, []any{latest().Status, latest().State, latest().Task})
		require.ErrorIs(t, sap.On(c.Store).ReportRun(ctx, scope, job, schedule, latest().ID, callbacks.Report{Success: true}), dberror.ErrSAPTaskRun)

		// Nobody has seen the end of a process whose agent is lost, and no second one is started.
		require.NoError(t, c.EndTerm(ctx, term))
		term = start()
		require.Empty(t, c.pass(t, term).Tasks)
		require.Equal(t, []any{"COMPLETED", "UNKNOWN"}, []any{latest().Status, latest().State})
		require.Contains(t, latest().Text, "is unknown")
		require.ErrorIs(t, sap.On(c.Store).ReportRun(ctx, scope, job, schedule, latest().ID, callbacks.Report{Success: true}), dberror.ErrCallbackEnded)

		for _, one := range []struct {
			outcome controldb.Outcome
			began   bool
			state   string
		}{
			{controldb.Outcome{Outcome: targets.Succeeded, Messages: []targets.Message{{Kind: targets.KindExit, Text: "exit code 0"}}}, true, "SUCCESS"},
			{controldb.Outcome{Outcome: targets.Failed, Message: "m", Messages: []targets.Message{{Kind: targets.KindExit, Number: 3, Text: "exit code 3"}}}, true, "ERROR"},
			{controldb.Outcome{Outcome: targets.Failed, Message: "m"}, true, "REQUEST_ERROR"}, // the start failed
			{controldb.Outcome{Outcome: targets.Failed, Message: "m", Unsent: true}, false, "REQUEST_ERROR"},
			{controldb.Outcome{Outcome: targets.TimedOut, Message: "m"}, true, "TIMEOUT"},
			{controldb.Outcome{Outcome: targets.Canceled, Message: "m"}, true, "ERROR"},
			{controldb.Outcome{Outcome: targets.Unknown, Message: "m"}, true, "UNKNOWN"},
		} {
			task := run(term)
			if one.began {
				c.begin(t, term, task, nil)
			}
			one.outcome.Task, one.outcome.Attempt = task.ID, task.Attempt
			refused, err := c.CompleteTasks(ctx, term, []controldb.Outcome{one.outcome})
			require.NoError(t, err)
			require.Empty(t, refused)
			require.Equal(t, []any{"COMPLETED", one.state}, []any{latest().Status, latest().State}, "%+v", one.outcome)
		}

		got, err := sap.On(c.Store).Job(ctx, scope, sap.JobRef{ID: job})
		require.NoError(t, err)
		name := got.Name
		// The process may change, the type may not.
		change := func(process string) error {
			_, err := sap.On(c.Store).UpdateJob(ctx, scope, by, job, sap.JobChange{Action: &process})
			return err
		}
		for _, wrong := range []string{"https://h/", "process:", "process:/bin/sh", "process:$(param.x)", "PROCESS:nightly"} {
			require.Equal(t, dberror.KindInvalid, dberror.KindOf(change(wrong)), wrong)
		}
		require.NoError(t, change("process:nightly"))
		require.NoError(t, change("process:daily"))
		_, err = sap.On(c.Store).PutJob(ctx, scope, by, sapSpec(name, cron("")))
		require.ErrorContains(t, err, "The type of a job cannot be changed")
		got, err = sap.On(c.Store).Job(ctx, scope, sap.JobRef{ID: job})
		require.NoError(t, err)
		require.Equal(t, []any{"CF_TASK", "process:daily"}, []any{got.JobType, got.Action})
	})
}
