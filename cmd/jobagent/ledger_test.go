//go:build unix

package main

import (
	"context"
	"database/sql"
	"flag"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	mssqldb "github.com/microsoft/go-mssqldb"
	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/cmd/jobagent/internal/embedded"
	"github.com/jobagent/jobagent/controldb"
	"github.com/jobagent/jobagent/controldb/catalog"
	"github.com/jobagent/jobagent/controldb/executions"
	"github.com/jobagent/jobagent/controldb/targetgroups"
	"github.com/jobagent/jobagent/jobs/model"
	"github.com/jobagent/jobagent/targets"
	"github.com/jobagent/jobagent/testenv"
	"github.com/jobagent/jobagent/testenv/invariant"
)

// A long run: go test ./cmd/jobagent -run TestLedger -ledger.duration=30m -ledger.targets=40
// -timeout 60m -v
var (
	ledgerDuration = flag.Duration("ledger.duration", 8*time.Second, "how long TestLedger breaks processes")
	ledgerSeed     = flag.Uint64("ledger.seed", 0, "seed of TestLedger; 0: a new one")
	ledgerPause    = flag.Duration("ledger.pause", time.Second, "average time between two failures of TestLedger")
	ledgerTargets  = flag.Int("ledger.targets", 6, "number of target databases of TestLedger")
)

const (
	ledgerAgents = 2
	// ledgerSide is the database into which some scripts write in addition.
	ledgerSide = "ledger_side"
	// createLedger creates the table into which the scripts of ledgerJobs write. The parts of a
	// script are numbered from 1.
	createLedger = `CREATE TABLE dbo.ledger (
    id     INT IDENTITY PRIMARY KEY,
    run    UNIQUEIDENTIFIER NOT NULL,
    source SYSNAME NOT NULL,
    part   INT NOT NULL
);`
	writePart = `INSERT INTO dbo.ledger (run, source, part) VALUES ($(job_execution_id), DB_NAME(), %d);`
	// failSometimes fails in one of three executions.
	failSometimes = "IF ABS(CHECKSUM(NEWID()) % 3) = 0 THROW 50001, N'no luck', 1;"
)

// ledgerJob is a job of the ledger harness: one step on all targets.
type ledgerJob struct {
	name      string
	batches   []string
	attempts  int
	once      bool // at_most_once
	giveUp    bool // on_unknown_outcome = Fail
	writeSide bool // the script also writes to the database ledgerSide
}

// ledgerJobs returns all kinds of scripts: two batches with a row each, a failure between them, a
// second database, each with and without at_most_once.
func ledgerJobs(side string) []ledgerJob {
	part := func(n int) string { return fmt.Sprintf(writePart, n) }
	wait := "WAITFOR DELAY '00:00:00.300';"
	second := "INSERT INTO " + side + ".dbo.ledger (run, source, part) VALUES ($(job_execution_id), DB_NAME(), 1);"
	return []ledgerJob{
		{name: "plain", batches: []string{part(1), wait + part(2)}, attempts: 20},
		{name: "plain slow", batches: []string{part(1), "WAITFOR DELAY '00:00:02';" + part(2)}, attempts: 20},
		{name: "plain that fails", batches: []string{part(1), failSometimes + part(2)}, attempts: 3},
		{name: "plain on two databases", batches: []string{part(1) + second, part(2)}, attempts: 20, writeSide: true},
		{name: "plain that gives up", batches: []string{part(1), wait + part(2)}, attempts: 20, giveUp: true},
		{name: "once", batches: []string{part(1), wait + part(2)}, attempts: 20, once: true},
		{name: "once slow", batches: []string{part(1), "WAITFOR DELAY '00:00:02';" + part(2)}, attempts: 20, once: true},
		{name: "once that fails", batches: []string{part(1), failSometimes + part(2)}, attempts: 3, once: true},
		{name: "once that gives up", batches: []string{part(1), wait + part(2)}, attempts: 20, once: true, giveUp: true},
	}
}

// ledger is one run of the ledger harness.
type ledger struct {
	*crash
	store *controldb.Store
	jobs  []ledgerJob
	names []string // of the target databases
	next  int      // index of the job that is started next
	turn  int      // number of calls of work
}

// TestLedger runs a server and agents as processes under load, causes failures as TestCrash does,
// and stops and reruns runs. The scripts write ledgers into their targets. At the end, the control
// database and the ledgers must show that nothing was lost and that nothing was done twice.
func TestLedger(t *testing.T) {
	testenv.Long(t)
	l := &ledger{crash: newCrash(t, *ledgerSeed, externalServer(t))}
	l.store = l.server.store(t)
	l.define()
	l.startAgents(ledgerAgents)
	l.breakThings(*ledgerDuration, *ledgerPause, l.work)
	l.settle(l.store)
	l.audit()
}

// define creates databases with ledgers, and the jobs.
func (l *ledger) define() {
	t := l.t
	server := strings.Replace(l.server.address, ":", ",", 1)
	master := l.server.open(t, "master")
	_, err := targetgroups.On(l.store).Add(t.Context(), "all")
	require.NoError(t, err)
	side := l.server.prefix + ledgerSide
	for i := range *ledgerTargets + 1 {
		name := l.server.prefix + fmt.Sprintf("ledger%d", i)
		if i == 0 {
			name = side
		}
		l.server.create(t, master, name)
		_, err = l.server.open(t, name).ExecContext(t.Context(), createLedger)
		require.NoError(t, err)
		if name == side {
			continue
		}
		l.names = append(l.names, name)
		_, err = targetgroups.On(l.store).AddMember(t.Context(), "all", targets.Member{Membership: targets.Include,
			Kind: targets.SQLDatabase, Server: server, Database: name})
		require.NoError(t, err)
	}
	l.jobs = ledgerJobs(side)
	step, seconds, giveUp := 1, 1, "Fail"
	for i := range l.jobs {
		j := &l.jobs[i]
		_, err := catalog.On(l.store).AddJob(t.Context(), model.JobSpec{Name: j.name})
		require.NoError(t, err)
		_, err = catalog.On(l.store).AddJobStep(t.Context(), model.StepSpec{
			JobName: j.name, Command: new(strings.Join(j.batches, "\nGO\n")), TargetGroup: new("all"),
			RetryAttempts: &j.attempts, InitialRetryInterval: &seconds, MaximumRetryInterval: &seconds,
		})
		require.NoError(t, err)
		options := model.StepSpec{JobName: j.name, StepID: &step, AtMostOnce: &j.once}
		if j.giveUp {
			options.OnUnknownOutcome = &giveUp
		}
		_, err = catalog.On(l.store).UpdateJobStep(t.Context(), options)
		require.NoError(t, err)
	}
}

// work starts a run every 300 ms, and sometimes stops or reruns a run. It records the acknowledged
// ones.
func (l *ledger) work() {
	l.turn++
	ctx, cancel := context.WithTimeout(l.t.Context(), 2*time.Second)
	defer cancel()
	switch {
	case l.turn%3 == 0:
		id, err := executions.On(l.store).StartJob(ctx, l.jobs[l.next%len(l.jobs)].name, uuid.New())
		if err == nil {
			l.started = append(l.started, id)
			l.next++
		}
	case l.turn%11 == 0 && len(l.started) > 0:
		latest := l.started[max(0, len(l.started)-3):]
		if executions.On(l.store).Stop(ctx, latest[l.rng.IntN(len(latest))]) == nil { // refused if the run has ended
			l.counts["stop requested"]++
		}
	case l.turn%7 == 0 && len(l.started) > 0:
		only := []string{"", "Failed", "Canceled", "Unknown", "Failed,Unknown", "Skipped"}[l.rng.IntN(6)]
		origin := l.started[l.rng.IntN(len(l.started))]
		id, err := executions.On(l.store).Rerun(ctx, executions.RerunRequest{Origin: origin, Only: only, ID: uuid.New()})
		if err == nil { // refused if the run is active, or has no target in such a state
			l.started = append(l.started, id)
			l.counts["rerun"]++
		}
	}
}

// ledgerRow is a part of a script that a run has committed in a database.
type ledgerRow struct {
	run    uuid.UUID
	source string // the database that ran the script
	part   int
}

// ledgerTarget is a target of a run in the control database.
type ledgerTarget struct {
	run        uuid.UUID
	database   string
	internalID uuid.UUID // the same in reruns
	job        string
	lifecycle  string
	attempts   int
	unclean    int // attempts that were sent and did not succeed, with or without effect
}

// String describes the target in test output.
func (x ledgerTarget) String() string {
	return fmt.Sprintf("job %q, run %s on %s (internal id %s), %s after %d attempts, %d of them unclean,",
		x.job, x.run, x.database, x.internalID, x.lifecycle, x.attempts, x.unclean)
}

// written counts the rows of a ledger.
func (l *ledger) written(database string) map[ledgerRow]int {
	rows, err := l.server.open(l.t, database).QueryContext(l.t.Context(),
		"SELECT run, source, part, COUNT(*) FROM dbo.ledger GROUP BY run, source, part;")
	require.NoError(l.t, err)
	defer rows.Close()
	counts := map[ledgerRow]int{}
	for rows.Next() {
		var (
			r   ledgerRow
			run mssqldb.UniqueIdentifier
			n   int
		)
		require.NoError(l.t, rows.Scan(&run, &r.source, &r.part, &n))
		r.run = uuid.UUID(run)
		counts[r] = n
	}
	require.NoError(l.t, rows.Err())
	return counts
}

// targets returns all targets of all runs of the harness's jobs.
func (l *ledger) targets(control *sql.DB) (list []ledgerTarget) {
	rows, err := control.QueryContext(l.t.Context(), `
SELECT e.job_execution_id, t.database_name, t.internal_id, j.name, t.lifecycle, t.attempts,
    (SELECT COUNT(*) FROM jobs_internal.task_executions AS k
        WHERE k.execution_id = t.execution_id AND k.target_execution_id = t.target_execution_id AND k.outcome NOT IN (N'Succeeded', N'Returned'))
FROM jobs_internal.target_executions AS t
INNER JOIN jobs_internal.job_executions AS e ON e.execution_id = t.execution_id
INNER JOIN jobs_internal.jobs AS j ON j.job_id = e.job_id
WHERE j.is_system = 0;`)
	require.NoError(l.t, err)
	defer rows.Close()
	for rows.Next() {
		var (
			t             ledgerTarget
			run, internal mssqldb.UniqueIdentifier
		)
		require.NoError(l.t, rows.Scan(&run, &t.database, &internal, &t.job, &t.lifecycle, &t.attempts, &t.unclean))
		t.run, t.internalID = uuid.UUID(run), uuid.UUID(internal)
		list = append(list, t)
	}
	require.NoError(l.t, rows.Err())
	return list
}

// audit compares the ledgers with the control database.
func (l *ledger) audit() {
	t := l.t
	control := l.server.open(t, embedded.ControlDatabase)
	found, err := invariant.Find(t.Context(), control, true)
	require.NoError(t, err)
	for _, v := range found {
		t.Errorf("invariant violated: %s", v)
	}
	for _, id := range l.started {
		var n int
		require.NoError(t, control.QueryRowContext(t.Context(),
			"SELECT COUNT(*) FROM jobs_internal.job_executions WHERE job_execution_id = @p1;",
			mssqldb.UniqueIdentifier(id)).Scan(&n))
		if n != 1 {
			t.Errorf("lost: the start of run %s was acknowledged, and the control database has %d of it", id, n)
		}
	}
	rows := map[ledgerRow]int{}
	for _, name := range l.names {
		for r, n := range l.written(name) {
			if r.source != name {
				t.Errorf("wrong place: the script of run %s on %s wrote into %s", r.run, r.source, name)
			}
			rows[r] = n
		}
	}
	side := l.written(l.server.prefix + ledgerSide)
	kinds := map[string]ledgerJob{}
	for _, j := range l.jobs {
		kinds[j.name] = j
	}
	list := l.targets(control)
	lifecycles, known := map[string]int{}, map[ledgerRow]bool{}
	once := map[uuid.UUID][2]int{} // by internal ID: rows of parts 1 and 2 in all runs
	repeated, ledgerRows, attempts := 0, 0, 0
	for _, x := range list {
		kind := kinds[x.job]
		lifecycles[x.lifecycle]++
		attempts += x.attempts
		var parts [2]int
		for i := range parts {
			key := ledgerRow{x.run, x.database, i + 1}
			known[key] = true
			parts[i] = rows[key]
			ledgerRows += parts[i]
			if parts[i] > x.attempts {
				t.Errorf("twice: %v committed part %d %d times", x, i+1, parts[i])
			}
			if parts[i] > 1 {
				repeated++
			}
		}
		sum := once[x.internalID]
		sum[0], sum[1] = sum[0]+parts[0], sum[1]+parts[1]
		once[x.internalID] = sum
		switch {
		case x.lifecycle == "Skipped" && parts != [2]int{}:
			t.Errorf("skipped, and run: %v committed %v", x, parts)
		case x.lifecycle == "Succeeded" && !kind.once && min(parts[0], parts[1]) == 0:
			t.Errorf("lost: %v committed %v", x, parts)
		case parts[0] > 1+x.unclean:
			t.Errorf("twice: %v committed %v, more than its unfinished attempts explain", x, parts)
		case kind.giveUp && parts[0] > 1:
			t.Errorf("twice: %v gives up after an unknown outcome, and committed %v", x, parts)
		}
		if n := side[ledgerRow{x.run, x.database, 1}]; n > x.attempts || kind.writeSide && x.lifecycle == "Succeeded" &&
			n == 0 {
			t.Errorf("second database: %v committed %d rows there", x, n)
		}
	}
	for _, x := range list {
		if !kinds[x.job].once {
			continue
		}
		sum := once[x.internalID]
		if sum[0] > 1 || sum[1] > 1 {
			t.Errorf("twice: %v is to run at most once, and committed %v in all its runs", x, sum)
		}
		if sum[0] != sum[1] {
			t.Errorf("half done: %v runs in one transaction, and committed %v", x, sum)
		}
		if x.lifecycle == "Succeeded" && sum != [2]int{1, 1} {
			t.Errorf("lost: %v committed %v", x, sum)
		}
	}
	for r := range rows {
		if !known[r] {
			t.Errorf("the ledger has part %d of run %s on %s, of which the control database knows nothing", r.part, r.run,
				r.source)
		}
	}
	for r := range side {
		if !known[ledgerRow{r.run, r.source, 1}] {
			t.Errorf("the second database has part %d of run %s on %s, of which the control database knows nothing", r.part,
				r.run, r.source)
		}
	}
	t.Logf("%d starts and reruns acknowledged; %d targets, %d attempts, %d ledger rows, %d parts repeated; ended: %v; events: %s",
		len(l.started), len(list), attempts, ledgerRows, repeated, lifecycles, counted(l.counts))
}

// counted formats counts in the order of their names.
func counted(counts map[string]int) string {
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(counts)) {
		parts = append(parts, fmt.Sprintf("%s %d", name, counts[name]))
	}
	return strings.Join(parts, ", ")
}
