package agent_test

import (
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/agent"
	"github.com/jobagent/jobagent/controldb/drifts"
	"github.com/jobagent/jobagent/controldb/executions"
	"github.com/jobagent/jobagent/jobs"
	"github.com/jobagent/jobagent/jobs/model"
	"github.com/jobagent/jobagent/targets"
	"github.com/jobagent/jobagent/testenv"
)

// compares makes a step a comparison of schemas.
func compares(s *model.StepSpec) {
	kind := "Drift"
	s.CommandType = &kind
}

// outcomes returns the lifecycle and the message of each database on which a step of a run was
// carried out.
func outcomes(rows []executions.Execution, step int) (list []string) {
	for _, row := range rows {
		if row.StepID != nil && *row.StepID == step && row.Database != "" {
			message := row.LastMessage
			if _, of, ok := strings.Cut(message, "'). "); ok { // the control database says where the step succeeded
				message = of
			}
			list = append(list, row.Database+" "+string(row.Lifecycle)+": "+message)
		}
	}
	slices.Sort(list)
	return list
}

// TestDrift: the first step of a job records the schemas of its databases, and the second one fails
// on databases that differ from the majority. The history has the time since which a schema exists,
// and does not grow without a change. A comparison is not retried.
func TestDrift(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, testenv.Embedded(t, testenv.Options{}), 4)
		for _, name := range f.Targets {
			f.exec(t, name, `CREATE TABLE dbo.orders (id INT NOT NULL, note NVARCHAR(20) NULL);`)
		}
		f.exec(t, "db3", `CREATE INDEX IX_orders_id ON dbo.orders (id);`)
		f.AddJob(t, "drift", []string{`{"against": "none"}`, `{"against": "majority"}`}, compares)
		f.startAgent(t, agent.Config{})

		run := f.Start(t, "drift")
		rows := f.ended(t, run, time.Minute)
		require.Equal(t, jobs.Failed, rows[0].Lifecycle)
		require.Len(t, outcomes(rows, 1), 4)
		const like = " Succeeded: The schema is the one that 3 of 4 databases had when the step began."
		require.Equal(t, []string{
			"db1" + like, "db2" + like,
			"db3 Failed: The schema is not the one that 3 of 4 databases had when the step began: the database has in addition index IX_orders_id on dbo.orders.",
			"db4" + like,
		}, outcomes(rows, 2))
		for _, row := range rows {
			require.LessOrEqual(t, row.Attempts, 1)
		}
		history := func() (list []string) {
			all, err := drifts.On(f.Store).History(t.Context(), drifts.Filter{})
			require.NoError(t, err)
			for _, s := range all {
				require.False(t, s.LastSeen.Before(s.FirstSeen))
				list = append(list, s.Database+" "+s.Changes)
			}
			return list
		}
		require.Equal(t, []string{"db1 ", "db2 ", "db3 ", "db4 "}, history())

		// Nothing has changed: nothing is added. Then one is mended, another one changes.
		f.ended(t, f.Start(t, "drift"), time.Minute)
		require.Equal(t, []string{"db1 ", "db2 ", "db3 ", "db4 "}, history())
		f.exec(t, "db3", `DROP INDEX IX_orders_id ON dbo.orders;`)
		f.exec(t, "db1", `ALTER TABLE dbo.orders ALTER COLUMN note NVARCHAR(40) NULL;`)
		f.exec(t, "db1", `ALTER TABLE dbo.orders ADD more INT NULL;`)
		rows = f.ended(t, f.Start(t, "drift"), time.Minute)
		require.Equal(t, "db1 Failed: The schema is not the one that 3 of 4 databases had when the step began: "+
			"the database has in addition column more of dbo.orders; has another column note of dbo.orders.", outcomes(rows, 2)[0])
		require.Equal(t, []string{
			"db1 added column more of dbo.orders; changed column note of dbo.orders", "db1 ", "db2 ", "db3 dropped index IX_orders_id on dbo.orders", "db3 ", "db4 ",
		}, history())
	})
}

// TestDriftFromDatabase: the reference is the current schema of one database, although the job does
// not run on it. A baseline does not change with its database.
func TestDriftFromDatabase(t *testing.T) {
	testenv.Long(t)
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, testenv.Embedded(t, testenv.Options{}), 2)
		f.exec(t, "master", `CREATE DATABASE golden`)
		for _, name := range append([]string{"golden"}, f.Targets...) {
			f.exec(t, name, `CREATE TABLE dbo.orders (id INT NOT NULL);`)
		}
		golden := f.ServerName + "/golden"
		f.AddJob(t, "golden", []string{`{"against": "` + golden + `"}`}, compares)
		f.AddJob(t, "baseline", []string{`{"against": "v1"}`}, compares)
		f.AddJob(t, "away", []string{`{"against": "` + f.ServerName + `/none"}`}, compares, retries(0, 1))
		f.startAgent(t, agent.Config{})

		rows := f.ended(t, f.Start(t, "golden"), time.Minute)
		like := " Succeeded: The schema is that of " + golden + "."
		require.Equal(t, []string{"db1" + like, "db2" + like}, outcomes(rows, 1))

		rows = f.ended(t, f.Start(t, "baseline"), time.Minute)
		require.Equal(t, []string{"db1 Failed: The baseline 'v1' does not exist.", "db2 Failed: The baseline 'v1' does not exist."}, outcomes(rows, 1))
		require.NoError(t, drifts.On(f.Store).SetBaseline(t.Context(), "v1", targets.NewTarget(f.ServerName, "golden", "")))

		f.exec(t, "golden", `CREATE TABLE dbo.customers (id INT NOT NULL);`)
		rows = f.ended(t, f.Start(t, "golden"), time.Minute)
		differs := " Failed: The schema is not that of " + golden + ": the database lacks table dbo.customers."
		require.Equal(t, []string{"db1" + differs, "db2" + differs}, outcomes(rows, 1))
		rows = f.ended(t, f.Start(t, "baseline"), time.Minute)
		like = " Succeeded: The schema is the baseline 'v1'."
		require.Equal(t, []string{"db1" + like, "db2" + like}, outcomes(rows, 1))

		rows = f.ended(t, f.Start(t, "away"), time.Minute)
		for _, text := range outcomes(rows, 1) {
			require.Contains(t, text, "Failed: The database with which this one is compared, "+f.ServerName+"/none, could not be read: ")
		}
	})
}

// TestDriftGate: a wave of a roll-out whose databases are not alike after it stops the roll-out.
func TestDriftGate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, testenv.Embedded(t, testenv.Options{}), 4)
		for _, name := range f.Targets {
			f.exec(t, name, `CREATE TABLE dbo.orders (id INT NOT NULL);`)
		}
		f.exec(t, "db2", `ALTER TABLE dbo.orders ADD note INT NULL;`) // as somebody did by hand
		f.AddJob(t, "alike", []string{`{"against": "none"}`, `{"against": "majority"}`}, compares)
		f.AddJob(t, "add note", []string{`IF COL_LENGTH(N'dbo.orders', N'note') IS NULL ALTER TABLE dbo.orders ADD note NVARCHAR(20) NULL;`})
		f.exec(t, f.Control, `EXECUTE jobs.sp_set_job_rollout N'add note', N'{"waves": [
{"name": "canary", "targets": 1, "probe_job": "alike"}, {"name": "rest", "targets": "rest", "probe_job": "alike"}]}';`)
		f.startAgent(t, agent.Config{})
		id := uuid.MustParse("f0000000-0000-0000-0000-000000000001")
		f.exec(t, f.Control, `EXECUTE jobs.sp_start_job N'add note', @job_execution_id = @p1;`, id.String())
		f.rolledOut(t, id, "Stopped")
		var reason, wave string
		f.query(t, f.Control, `SELECT r.wave_name, r.reason FROM jobs.rollouts AS r;`, &wave, &reason)
		require.Equal(t, "rest", wave)
		require.Equal(t, "Wave 'rest': its probe ended as Failed.", reason)
		var message string
		f.query(t, f.Control, `SELECT e.last_message FROM jobs.job_executions AS e WHERE e.job_name = N'alike' AND e.lifecycle = N'Failed' AND e.target_database_name = N'db2';`, &message)
		require.Contains(t, message, "has another column note of dbo.orders")

		f.exec(t, "db2", `ALTER TABLE dbo.orders ALTER COLUMN note NVARCHAR(20) NULL;`)
		f.exec(t, f.Control, `EXECUTE jobs.sp_retry_rollout_wave @p1;`, id.String())
		f.rolledOut(t, id, "Succeeded")
	})
}
