package sim

import (
	"database/sql"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"
	mssqldb "github.com/microsoft/go-mssqldb"
	"github.com/stretchr/testify/require"
)

// Audit contains the counts of an audit, for the test's log.
type Audit struct {
	Runs, Targets, LedgerRows int // runs, targets of their steps, rows in all ledgers
	Due, Started, Skipped     int // due instants, and how many of them were started and skipped
	Unknown, Terms            int // attempts whose outcome is unknown; terms
	// Extra has rows of ledgers that the attempts do not explain, because the control database was
	// restored to a time before these attempts.
	Extra map[Work]int
	// Lost has rows of runs that the control database does not have, because it was restored to a
	// time before their start.
	Lost map[Work]int
	// Forgotten has work that ran under the procedures of an earlier version, which drew internal
	// ids, and that a backup has only the run of. at_most_once does not recognise it.
	Forgotten map[Work]bool
}

// String formats the counts for the test's log.
func (a Audit) String() string {
	return fmt.Sprintf("%d runs on %d targets, %d ledger rows; %d due instants: %d started, %d skipped; %d attempts unknown, %d terms",
		a.Runs, a.Targets, a.LedgerRows, a.Due, a.Started, a.Skipped, a.Unknown, a.Terms)
}

// Work identifies a step of a run on a database.
type Work struct {
	Run      uuid.UUID
	Step     int
	Database string
}

// String names the work in test output.
func (w Work) String() string { return fmt.Sprintf("run %s, step %d on %s", w.Run, w.Step, w.Database) }

// ReadLedgers counts the rows of ledgers. targets contains, by name, the databases that have one
// (see [CreateLedger]).
func ReadLedgers(t testing.TB, targets map[string]*sql.DB) map[Work]int {
	t.Helper()
	ledger := map[Work]int{}
	for database, db := range targets {
		rows, err := db.QueryContext(t.Context(), "SELECT run, step, COUNT(*) FROM dbo.ledger GROUP BY run, step;")
		require.NoError(t, err)
		for rows.Next() {
			var (
				run     mssqldb.UniqueIdentifier
				step, n int
			)
			require.NoError(t, rows.Scan(&run, &step, &n))
			ledger[Work{uuid.UUID(run), step, database}] = n
		}
		require.NoError(t, rows.Err())
		require.NoError(t, rows.Close())
	}
	return ledger
}

// AuditLedgers compares the ledgers with the control database. A target that succeeded has a ledger
// row. No script has run more often than its attempts were counted, nor more than once if its step
// has at_most_once.
//
// control is open on the control database. targets contains, by name, the databases that have a
// ledger (see [CreateLedger]).
func AuditLedgers(t testing.TB, a *Audit, control *sql.DB, targets map[string]*sql.DB) {
	t.Helper()
	ledger := ReadLedgers(t, targets)
	for _, n := range ledger {
		a.LedgerRows += n
	}
	rows, err := control.QueryContext(t.Context(), `
SELECT e.job_execution_id, t.step_id, t.database_name, t.lifecycle, t.attempts, d.at_most_once, COALESCE(e.mode, N'')
FROM jobs_internal.target_executions AS t
INNER JOIN jobs_internal.job_executions AS e ON e.execution_id = t.execution_id
INNER JOIN jobs_internal.job_steps AS d ON d.job_id = e.job_id AND d.version = e.job_version AND d.step_id = t.step_id;`)
	require.NoError(t, err)
	for rows.Next() {
		var (
			run       mssqldb.UniqueIdentifier
			key       Work
			lifecycle string
			attempts  int
			once      bool
			mode      string
		)
		require.NoError(t, rows.Scan(&run, &key.Step, &key.Database, &lifecycle, &attempts, &once, &mode))
		if targets[key.Database] == nil {
			continue // the target of a system job
		}
		key.Run = uuid.UUID(run)
		written := ledger[key]
		delete(ledger, key)
		a.Targets++
		if mode != "" { // a trial or a preflight leaves nothing
			if written > 0 {
				t.Errorf("%s is a %s, but has %d rows in its ledger", key, mode, written)
			}
			continue
		}
		if lifecycle == "Succeeded" && written == 0 {
			t.Errorf("lost work: %s is Succeeded, but its ledger is empty", key)
		}
		if once && written > 1 && !a.Forgotten[key] {
			t.Errorf("repeated work: %s has at_most_once, but %d rows in its ledger", key, written)
		}
		if extra := a.Extra[key]; written > attempts+extra {
			t.Errorf("repeated work: %s has %d attempts, and %d rows of the time before a restore, but %d rows in its ledger", key, attempts, extra, written)
		}
	}
	require.NoError(t, rows.Err())
	require.NoError(t, rows.Close())
	for key, written := range ledger {
		if lost := a.Lost[key]; written != lost {
			t.Errorf("ledger row without an execution: %s has %d rows, %d of them lost by a restore", key, written, lost)
		}
	}
	require.NoError(t, control.QueryRowContext(t.Context(), `
SELECT
    (SELECT COUNT(*) FROM jobs_internal.job_executions),
    (SELECT COUNT(*) FROM jobs_internal.task_executions WHERE outcome = N'Unknown'),
    (SELECT COUNT(*) FROM jobs_internal.terms);`).Scan(&a.Runs, &a.Unknown, &a.Terms))
}

// AuditSchedule checks each due instant of a job: every interval from the first known instant until
// end. Each instant must have one execution (I2) or one record that it was skipped (I10). The
// interval must have a fixed length. The first instant is the time of the activation and may have a
// fraction of a second; the others are counted from its whole second.
func AuditSchedule(t testing.TB, a *Audit, control *sql.DB, job string, interval time.Duration, end time.Time) {
	t.Helper()
	rows, err := control.QueryContext(t.Context(), `
SELECT e.due_at, 1 AS n, 1 AS started
FROM jobs_internal.job_executions AS e
INNER JOIN jobs_internal.jobs AS j ON j.job_id = e.job_id
WHERE j.name = @p1 AND e.due_at IS NOT NULL
UNION ALL
SELECT k.due_at, k.skipped, 0
FROM jobs_internal.schedule_skips AS k
INNER JOIN jobs_internal.jobs AS j ON j.job_id = k.job_id
WHERE j.name = @p1;`, job)
	require.NoError(t, err)
	answered := map[time.Time]int{}
	for rows.Next() {
		var (
			due     time.Time
			n       int
			started bool
		)
		require.NoError(t, rows.Scan(&due, &n, &started))
		if started {
			a.Started++
		} else {
			a.Skipped += n
		}
		for i := range n {
			answered[due.UTC().Truncate(time.Second).Add(time.Duration(i)*interval)]++
		}
	}
	require.NoError(t, rows.Err())
	require.NoError(t, rows.Close())
	if len(answered) == 0 {
		t.Errorf("job %q was never due", job)
		return
	}
	instants := make([]time.Time, 0, len(answered))
	for at := range answered {
		instants = append(instants, at)
	}
	slices.SortFunc(instants, time.Time.Compare)
	for at := instants[0]; !at.After(end); at = at.Add(interval) {
		a.Due++
		if n := answered[at]; n != 1 {
			t.Errorf("job %q: the instant %s was handled %d times", job, at.Format(time.RFC3339), n)
		}
		delete(answered, at)
	}
	for at := range answered {
		t.Errorf("job %q: %s was handled, but is not a due instant", job, at.Format(time.RFC3339))
	}
}
