package agent_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/agent"
	"github.com/jobagent/jobagent/controldb/targetgroups"
	"github.com/jobagent/jobagent/controldb/timetable"
	"github.com/jobagent/jobagent/jobs/model"
	"github.com/jobagent/jobagent/targets"
	"github.com/jobagent/jobagent/testenv"
)

// The agent reports which attempts did not reach their target. A script that fails has reached its
// target.
func TestScheduleOfUnreachableTargetsIsDisabled(t *testing.T) {
	testenv.Long(t)
	longBubble(t, func(t *testing.T, env *testenv.Env) {
		f := newFixture(t, env, 1)
		env.CreateDatabase(t, "here")
		f.exec(t, "master", "DROP DATABASE db1;")
		group := func(name string, m targets.Member) {
			_, err := targetgroups.On(f.Store).Add(t.Context(), name)
			require.NoError(t, err)
			m.Membership = targets.Include
			_, err = targetgroups.On(f.Store).AddMember(t.Context(), name, m)
			require.NoError(t, err)
		}
		group("here", targets.Member{Kind: targets.SQLDatabase, Server: env.ServerName, Database: "here"})
		group("refused", targets.Member{
			Kind: targets.SQLServer, Server: env.ServerName, RefreshCredential: "unknown to the agent",
		})
		f.exec(t, f.Control, "INSERT INTO jobs_internal.settings (name, value) VALUES (N'unreachable_days', N'0');")
		on := func(name string) func(*model.StepSpec) {
			return func(s *model.StepSpec) { s.TargetGroup = new(name) }
		}
		f.AddJob(t, "gone", []string{"SELECT 1;"}, retries(0, 1))
		f.AddJob(t, "wrong", []string{"SELECT 1 / 0;"}, retries(0, 1), on("here"))
		f.AddJob(t, "unresolved", []string{"SELECT 1;"}, retries(0, 1), on("refused"))
		f.startAgent(t, agent.Config{})
		for _, job := range []string{"gone", "wrong", "unresolved"} {
			f.every(t, job, 1)
		}
		<-time.After(3*time.Minute + 30*time.Second)
		for job, want := range map[string]bool{"gone": false, "wrong": true, "unresolved": false} {
			list, err := timetable.On(f.Store).List(t.Context(), timetable.Filter{JobName: job})
			require.NoError(t, err)
			require.Equal(t, want, list[0].Enabled, "%s: %s", job, list[0].Reason)
			require.Equal(t, "Failed", list[0].LastLifecycle, job)
			runs := int64(4)
			if !want {
				runs = 2 // the first run detects it, the second confirms that it lasts
				require.Contains(t, list[0].Reason, "no target of the job has been reachable", job)
			}
			require.Equal(t, []int64{runs, runs, runs}, []int64{list[0].Executions, list[0].Failures, list[0].Faults}, job)
		}
	})
}

// The outcome of the first attempt is unknown. A second attempt that does not reach its target
// leaves it unknown; one that reaches its target does not.
func TestUnknownStaysUnknown(t *testing.T) {
	longBubble(t, func(t *testing.T, env *testenv.Env) {
		f := newFixture(t, env, 2)
		f.AddJob(t, "j", []string{`
IF OBJECT_ID(N'dbo.marker') IS NULL
BEGIN
    CREATE TABLE dbo.marker (i INT);
    WAITFOR DELAY '00:10:00';
END;
THROW 50000, N'no', 1;`}, retries(1, 120))
		f.startAgent(t, agent.Config{})
		id := f.Start(t, "j")
		<-time.After(5 * time.Second)
		f.exec(t, f.Control, endTerm)
		<-time.After(time.Minute)
		f.exec(t, "master", "DROP DATABASE db1;")
		rows := f.ended(t, id, 5*time.Minute)
		unknown := map[string]bool{}
		for _, e := range rows {
			require.Equal(t, "Failed", string(e.Lifecycle))
			unknown[e.Database] = e.OutcomeUnknown
		}
		require.Equal(t, map[string]bool{"": false, "db1": true, "db2": false}, unknown)
	})
}
