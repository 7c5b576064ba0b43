package sim

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/agent"
	"github.com/jobagent/jobagent/controldb/executions"
	"github.com/jobagent/jobagent/jobs"
)

// everySecond writes to the ledger every second for a minute.
const everySecond = `
DECLARE @i INT = 0;
WHILE @i < 60
BEGIN
    ` + WriteLedger + `
    WAITFOR DELAY '00:00:01';
    SET @i += 1;
END;`

// An agent that gets no answer from the control database for longer than its lease cancels its work
// before another agent may start it. Another agent has the work within two leases. When the network
// is back, the reports of the first agent are refused, and it rejoins under a new term.
func TestSilentAgentLosesItsWorkAndRejoins(t *testing.T) {
	const lease = 12 * time.Second
	for _, tc := range []struct {
		name       string
		alsoTarget bool // the agent cannot reach its targets either, so it cannot cancel its scripts
	}{{"control database only", false}, {"control database and targets", true}} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := NewWorld(t, 2)
				cfg := agent.Config{Lease: lease, Grace: time.Second}
				first := w.StartAgent(t, cfg, nil)
				w.AddJob(t, "j", []string{everySecond}, Retries(3, 1))
				id := w.Start(t, "j")
				require.Eventually(t, func() bool { return len(running(t, w, id)) == 2 }, 10*time.Second, 100*time.Millisecond)
				second := w.StartAgent(t, cfg, nil)
				<-time.After(5 * time.Second)

				first.Control.Silence()
				if tc.alsoTarget {
					first.Targets.Silence()
				}
				silent := time.Now()
				require.Eventually(t, func() bool {
					list := running(t, w, id)
					return len(list) == 2 && list[0].Attempts == 2 && list[1].Attempts == 2
				}, 2*lease, 100*time.Millisecond, "the second agent has the work within two leases")
				<-time.After(2*lease - time.Since(silent))
				first.Control.Heal()
				first.Targets.Heal()

				root, ended := w.Ended(t, id, 10*time.Minute)
				require.True(t, ended)
				require.Equal(t, jobs.Succeeded, root.Lifecycle, root.LastMessage)
				require.Len(t, second.Logs.FilterMessage("term started").All(), 1)
				require.Len(t, first.Logs.FilterMessage("term started").All(), 2, "the first one has rejoined")
				failures := first.Logs.FilterMessage("core failed, restarting").All()
				require.NotEmpty(t, failures)
				require.Contains(t, failures[0].ContextMap()["reason"], "another process has started a term with the same agent ID")
				rows, err := executions.On(w.Store).Rows(t.Context(), id)
				require.NoError(t, err)
				for _, e := range rows {
					if e.TargetType == "SqlDatabase" {
						require.Equal(t, 2, e.Attempts)
						require.GreaterOrEqual(t, w.Ledger(t, e.Database, id, 1), 60+10, "both attempts have begun, one has ended")
						if !tc.alsoTarget {
							var changes int
							require.NoError(t, w.DB(t, e.Database).QueryRowContext(t.Context(),
								"SELECT COUNT(*) FROM dbo.ledger AS a INNER JOIN dbo.ledger AS b ON b.id = a.id + 1 WHERE a.spid <> b.spid;").Scan(&changes))
							// The second attempt's session may have the session ID of the first
							// one, which has ended.
							require.LessOrEqual(t, changes, 1, "the first attempt had ended when the second began")
						}
					}
				}
				require.NoError(t, first.Stop())
				require.NoError(t, second.Stop())
				w.Check(t, true)
			})
		})
	}
}

// Another agent has the work of a killed agent within two leases.
func TestKilledAgentsWorkIsHandedOverWithinTwoLeases(t *testing.T) {
	const lease = 12 * time.Second
	synctest.Test(t, func(t *testing.T) {
		w := NewWorld(t, 3)
		cfg := agent.Config{Lease: lease}
		first := w.StartAgent(t, cfg, nil)
		w.AddJob(t, "j", []string{WriteLedger + " WAITFOR DELAY '00:01:00';"}, Retries(3, 1))
		id := w.Start(t, "j")
		require.Eventually(t, func() bool { return len(running(t, w, id)) == 3 }, 10*time.Second, 100*time.Millisecond)
		w.StartAgent(t, cfg, nil)
		<-time.After(5 * time.Second)
		first.Kill()
		require.Eventually(t, func() bool {
			for _, e := range running(t, w, id) {
				if e.Attempts < 2 {
					return false
				}
			}
			return len(running(t, w, id)) == 3
		}, 2*lease, 100*time.Millisecond)
		root, ended := w.Ended(t, id, 10*time.Minute)
		require.True(t, ended)
		require.Equal(t, jobs.Succeeded, root.Lifecycle, root.LastMessage)
		w.Check(t, true)
	})
}
