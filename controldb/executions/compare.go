package executions

import (
	"context"

	"github.com/google/uuid"
	mssqldb "github.com/microsoft/go-mssqldb"

	"github.com/jobagent/jobagent/controldb/internal/call"
	"github.com/jobagent/jobagent/jobs"
)

// Change is how a target of a run compares with the same step and target of another run.
type Change string

// The changes. A target is good if it succeeded, and bad if it failed or timed out.
const (
	NewlyFailing Change = "NewlyFailing" // bad, and not bad before
	StillFailing Change = "StillFailing" // bad in both
	NewlyFixed   Change = "NewlyFixed"   // good, and bad before
	NewTarget    Change = "NewTarget"    // not in the other run
	Vanished     Change = "Vanished"     // only in the other run
	Slower       Change = "Slower"       // good in both, at least twice as long, and one second longer
	Faster       Change = "Faster"       // the reverse
	NotFinal     Change = "NotFinal"     // it is active, so it may still change
	Same         Change = "Same"         // all others
)

// Changes returns all values, in the order in which people look for them.
func Changes() []Change {
	return []Change{NewlyFailing, StillFailing, NewlyFixed, NewTarget, Vanished, Slower, Faster, NotFinal, Same}
}

// ComparedTarget is a target of two runs. Of a target that only one of them has, the other's
// columns are zero.
type ComparedTarget struct {
	Change   Change    `db:"change"`
	StepName string    `db:"step_name"`
	TargetID uuid.UUID `db:"target_id"`
	Server   string    `db:"target_server_name"`
	Database string    `db:"target_database_name"`
	// StepID is the number of the step in the run, and StepBefore that in the other one.
	StepID          int            `db:"step_id"`
	Lifecycle       jobs.Lifecycle `db:"lifecycle"`
	MS              *int64         `db:"ms"`
	ErrorNumber     *int32         `db:"error_number"`
	Message         string         `db:"last_message"`
	StepBefore      int            `db:"step_before"`
	LifecycleBefore jobs.Lifecycle `db:"lifecycle_before"`
	MSBefore        *int64         `db:"ms_before"`
	ErrorBefore     *int32         `db:"error_before"`
}

// Place names the target: server/database, or the server of an endpoint alone.
func (t ComparedTarget) Place() string {
	return Execution{Server: t.Server, Database: t.Database}.Place()
}

// compared pairs the targets of the runs @p1 and @p2. Steps are paired by name. Grouping reads each
// run once; a full join would need an index on the names of steps on servers without hash joins.
const compared = `WITH sides AS (
    SELECT
        v.step_name,
        v.target_id,
        MAX(v.target_server_name) AS target_server_name,
        MAX(v.target_database_name) AS target_database_name,
        MAX(CASE WHEN v.job_execution_id = @p1 THEN v.step_id END) AS step_id,
        MAX(CASE WHEN v.job_execution_id = @p1 THEN v.lifecycle END) AS lifecycle,
        MAX(CASE WHEN v.job_execution_id = @p1 THEN CAST(v.is_active AS INT) END) AS is_active,
        MAX(CASE WHEN v.job_execution_id = @p1 THEN v.duration_ms END) AS ms,
        MAX(CASE WHEN v.job_execution_id = @p1 THEN v.error_number END) AS error_number,
        MAX(CASE WHEN v.job_execution_id = @p1 THEN v.last_message END) AS last_message,
        MAX(CASE WHEN v.job_execution_id = @p2 THEN v.step_id END) AS step_before,
        MAX(CASE WHEN v.job_execution_id = @p2 THEN v.lifecycle END) AS lifecycle_before,
        MAX(CASE WHEN v.job_execution_id = @p2 THEN v.duration_ms END) AS ms_before,
        MAX(CASE WHEN v.job_execution_id = @p2 THEN v.error_number END) AS error_before
    FROM jobs.job_execution_targets AS v
    WHERE v.job_execution_id IN (@p1, @p2)
    GROUP BY v.step_name, v.target_id
),
judged AS (
    SELECT s.step_name, s.target_id, s.target_server_name, s.target_database_name, s.step_id, s.lifecycle, s.is_active, s.ms, s.error_number,
        s.last_message, s.step_before, s.lifecycle_before, s.ms_before, s.error_before,
        CASE WHEN s.lifecycle IN (N'Succeeded', N'SucceededWithSkipped') THEN 1 ELSE 0 END AS good,
        CASE WHEN s.lifecycle IN (N'Failed', N'TimedOut') THEN 1 ELSE 0 END AS bad,
        CASE WHEN s.lifecycle_before IN (N'Succeeded', N'SucceededWithSkipped') THEN 1 ELSE 0 END AS good_before,
        CASE WHEN s.lifecycle_before IN (N'Failed', N'TimedOut') THEN 1 ELSE 0 END AS bad_before
    FROM sides AS s
),
pairs AS (
    SELECT j.step_name, j.target_id, j.target_server_name, j.target_database_name, j.step_id, COALESCE(j.lifecycle, N'') AS lifecycle, j.ms,
        j.error_number, j.last_message, j.step_before, COALESCE(j.lifecycle_before, N'') AS lifecycle_before, j.ms_before, j.error_before,
        CASE
            WHEN j.lifecycle IS NULL THEN N'Vanished'
            WHEN j.lifecycle_before IS NULL THEN N'NewTarget'
            WHEN j.is_active = 1 THEN N'NotFinal'
            WHEN j.bad = 1 AND j.bad_before = 1 THEN N'StillFailing'
            WHEN j.bad = 1 THEN N'NewlyFailing'
            WHEN j.good = 1 AND j.bad_before = 1 THEN N'NewlyFixed'
            WHEN j.good = 1 AND j.good_before = 1 AND j.ms >= 2 * j.ms_before AND j.ms >= j.ms_before + 1000 THEN N'Slower'
            WHEN j.good = 1 AND j.good_before = 1 AND j.ms_before >= 2 * j.ms AND j.ms_before >= j.ms + 1000 THEN N'Faster'
            ELSE N'Same'
        END AS change
    FROM judged AS j
)
`

// ChangeCount counts the targets of one change.
type ChangeCount struct {
	Change Change `db:"change"`
	Total  int    `db:"total"`
}

// Compare counts how the targets of a run compare with those of another run of the job.
//
// Plan: the targets of both runs once by UQ_target_executions_target_id, and a hash aggregate.
func (s Store) Compare(ctx context.Context, run, with uuid.UUID) (map[Change]int, error) {
	list, err := call.SelectAll[ChangeCount](ctx, s.conn, "compare runs", compared+`SELECT p.change, COUNT(*) AS total
FROM pairs AS p
GROUP BY p.change;`, mssqldb.UniqueIdentifier(run), mssqldb.UniqueIdentifier(with))
	if err != nil {
		return nil, err
	}
	counts := make(map[Change]int, len(list))
	for _, c := range list {
		counts[c.Change] = c.Total
	}
	return counts, nil
}

// ComparedTargets lists the targets of one change: those whose time has changed most first, then by
// step, server and database; top of them behind the first skip ones. It reads all targets of both
// runs for every page.
func (s Store) ComparedTargets(ctx context.Context, run, with uuid.UUID, change Change, skip, top int) ([]ComparedTarget, error) {
	return call.SelectAll[ComparedTarget](ctx, s.conn, "list compared targets", compared+`SELECT p.change, p.step_name, p.target_id, p.target_server_name,
    p.target_database_name, p.step_id, p.lifecycle, p.ms, p.error_number, p.last_message, p.step_before, p.lifecycle_before, p.ms_before,
    p.error_before
FROM pairs AS p
WHERE p.change = @p3
ORDER BY
    CASE WHEN p.change IN (N'Slower', N'Faster') THEN ABS(p.ms - p.ms_before) END DESC,
    p.step_id,
    p.target_server_name,
    p.target_database_name,
    p.target_id
OFFSET @p4 ROWS FETCH NEXT @p5 ROWS ONLY
OPTION (`+call.SmallGrant+`);`,
		mssqldb.UniqueIdentifier(run), mssqldb.UniqueIdentifier(with), string(change), skip, top)
}

// ChangedStep is a step whose definition differs between two versions of a job.
type ChangedStep struct {
	StepName string `db:"step_name"`
	// Change is Added, Removed or Changed: the command, its credential or its target group.
	Change string `db:"change"`
}

// ChangedSteps lists the steps whose command, credential or target group differ between two
// versions of a job.
func (s Store) ChangedSteps(ctx context.Context, jobID uuid.UUID, from, to int) ([]ChangedStep, error) {
	if from == to {
		return nil, nil
	}
	return call.SelectAll[ChangedStep](ctx, s.conn, "list changed steps", `SELECT COALESCE(b.step_name, a.step_name) AS step_name,
    CASE WHEN a.step_name IS NULL THEN N'Added' WHEN b.step_name IS NULL THEN N'Removed' ELSE N'Changed' END AS change
FROM (
    SELECT v.step_id, v.step_name, v.command_type, v.command, v.credential_name, v.target_group_name
    FROM jobs.jobstep_versions AS v
    WHERE v.job_id = @p1
        AND v.job_version = @p2
) AS a
FULL OUTER JOIN (
    SELECT v.step_id, v.step_name, v.command_type, v.command, v.credential_name, v.target_group_name
    FROM jobs.jobstep_versions AS v
    WHERE v.job_id = @p1
        AND v.job_version = @p3
) AS b ON b.step_name = a.step_name
WHERE a.step_name IS NULL
    OR b.step_name IS NULL
    OR a.command_type <> b.command_type
    OR CAST(a.command AS VARBINARY(MAX)) <> CAST(b.command AS VARBINARY(MAX)) -- collations may take different texts for equal
    OR COALESCE(a.credential_name, N'') <> COALESCE(b.credential_name, N'')
    OR COALESCE(a.target_group_name, N'') <> COALESCE(b.target_group_name, N'')
ORDER BY COALESCE(b.step_id, a.step_id), COALESCE(b.step_name, a.step_name);`, mssqldb.UniqueIdentifier(jobID), from, to)
}
