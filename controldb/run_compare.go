package controldb

import (
	"context"
	"time"

	"github.com/google/uuid"
	mssqldb "github.com/microsoft/go-mssqldb"

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

// Longer returns by how much longer the target took than before, if both times are known.
func (t ComparedTarget) Longer() (time.Duration, bool) {
	if t.MS == nil || t.MSBefore == nil {
		return 0, false
	}
	return time.Duration(*t.MS-*t.MSBefore) * time.Millisecond, true
}

// runSpans are the targets of the run with a parameter's name, for compared.
const runSpans = ` AS (
    SELECT v.step_id, v.step_name, v.target_id, v.target_server_name, v.target_database_name, v.is_active, v.lifecycle, v.error_number,
        v.last_message, DATEDIFF_BIG(MILLISECOND, v.start_time, v.end_time) AS ms,
        CASE
            WHEN v.lifecycle IN (N'Succeeded', N'SucceededWithSkipped') THEN N'Good'
            WHEN v.lifecycle IN (N'Failed', N'TimedOut') THEN N'Bad'
            ELSE N'Other'
        END AS verdict
    FROM jobs.job_execution_targets AS v
    WHERE v.job_execution_id = `

// compared pairs the targets of the runs @p1 and @p2. Steps are paired by name.
const compared = `WITH present` + runSpans + `@p1
),
past` + runSpans + `@p2
),
pairs AS (
    SELECT
        COALESCE(a.step_name, b.step_name) AS step_name,
        COALESCE(a.target_id, b.target_id) AS target_id,
        COALESCE(a.target_server_name, b.target_server_name) AS target_server_name,
        COALESCE(a.target_database_name, b.target_database_name) AS target_database_name,
        a.step_id,
        COALESCE(a.lifecycle, N'') AS lifecycle,
        a.ms,
        a.error_number,
        a.last_message,
        b.step_id AS step_before,
        COALESCE(b.lifecycle, N'') AS lifecycle_before,
        b.ms AS ms_before,
        b.error_number AS error_before,
        CASE
            WHEN a.target_id IS NULL THEN N'Vanished'
            WHEN b.target_id IS NULL THEN N'NewTarget'
            WHEN a.is_active = 1 THEN N'NotFinal'
            WHEN a.verdict = N'Bad' AND b.verdict = N'Bad' THEN N'StillFailing'
            WHEN a.verdict = N'Bad' THEN N'NewlyFailing'
            WHEN a.verdict = N'Good' AND b.verdict = N'Bad' THEN N'NewlyFixed'
            WHEN a.verdict = N'Good' AND b.verdict = N'Good' AND a.ms >= 2 * b.ms AND a.ms >= b.ms + 1000 THEN N'Slower'
            WHEN a.verdict = N'Good' AND b.verdict = N'Good' AND b.ms >= 2 * a.ms AND b.ms >= a.ms + 1000 THEN N'Faster'
            ELSE N'Same'
        END AS change
    FROM present AS a
    FULL OUTER JOIN past AS b ON b.step_name = a.step_name AND b.target_id = a.target_id
)
`

// ChangeCount counts the targets of one change.
type ChangeCount struct {
	Change Change `db:"change"`
	Total  int    `db:"total"`
}

// CompareRuns counts how the targets of a run compare with those of another run of the job.
//
// Plan: the targets of both runs once by IX_target_executions_execution_id, and a hash join.
func (s *Store) CompareRuns(ctx context.Context, run, with uuid.UUID) (map[Change]int, error) {
	list, err := selectAll[ChangeCount](ctx, s, "compare runs", compared+`SELECT p.change, COUNT(*) AS total
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
// step, server and database. It reads all targets of both runs for every page.
func (s *Store) ComparedTargets(ctx context.Context, run, with uuid.UUID, change Change, p Page) ([]ComparedTarget, error) {
	top := p.Top
	if top <= 0 {
		top = defaultLimit
	}
	return selectAll[ComparedTarget](ctx, s, "list compared targets", compared+`SELECT p.change, p.step_name, p.target_id, p.target_server_name,
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
OFFSET @p4 ROWS FETCH NEXT @p5 ROWS ONLY;`,
		mssqldb.UniqueIdentifier(run), mssqldb.UniqueIdentifier(with), string(change), p.Skip, top)
}

// ChangedStep is a step whose definition differs between two versions of a job.
type ChangedStep struct {
	StepName string `db:"step_name"`
	// Change is Added, Removed or Changed: the command, its credential or its target group.
	Change string `db:"change"`
}

// ChangedSteps lists the steps whose command, credential or target group differ between two
// versions of a job.
func (s *Store) ChangedSteps(ctx context.Context, jobID uuid.UUID, from, to int) ([]ChangedStep, error) {
	if from == to {
		return nil, nil
	}
	return selectAll[ChangedStep](ctx, s, "list changed steps", `SELECT COALESCE(b.step_name, a.step_name) AS step_name,
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
