package targetgroups

import (
	"context"
	"strings"
	"time"

	"github.com/google/uuid"
	mssqldb "github.com/microsoft/go-mssqldb"

	"github.com/jobagent/jobagent/controldb"
	"github.com/jobagent/jobagent/controldb/internal/call"
	"github.com/jobagent/jobagent/jobs"
	"github.com/jobagent/jobagent/targets"
)

// Use is a step of a job's current version that uses a target group.
type Use struct {
	Group    string `db:"target_group_name"`
	JobName  string `db:"job_name"`
	StepID   int    `db:"step_id"`
	StepName string `db:"step_name"`
}

// Uses lists the steps of the current versions that use one of some target groups, by group,
// job and step.
func (s Store) Uses(ctx context.Context, groups []string, limit int) ([]Use, error) {
	if len(groups) == 0 {
		return nil, nil
	}
	w := call.NewFilter(limit)
	call.In(w, "target_group_name", groups)
	return call.SelectAll[Use](ctx, s.conn, "list uses of target groups", `SELECT TOP (@p1) target_group_name, job_name, step_id, step_name
FROM jobs.jobsteps`+w.Text()+"\nORDER BY target_group_name, job_name, step_id;", w.Args...)
}

// Resolution is a row of the view jobs.group_resolutions: the list of targets that a step of a
// run made of a target group.
type Resolution struct {
	Run       uuid.UUID      `db:"job_execution_id"`
	JobName   string         `db:"job_name"`
	StepID    int            `db:"step_id"`
	StepName  string         `db:"step_name"`
	Lifecycle jobs.Lifecycle `db:"lifecycle"`
	Resolved  time.Time      `db:"resolved_time"`
}

// resolvedRuns is the number of the latest runs of a job that Resolutions reads.
const resolvedRuns = 8

// Resolutions lists the latest lists of targets of a group, the latest first. Only the latest
// runs of jobs that still use the group are searched.
//
// Plan: the jobs by IX_job_steps_target_group_id, per job the newest keys of
// IX_job_executions_job_id_create_time, per run its steps.
func (s Store) Resolutions(ctx context.Context, group uuid.UUID, limit int) ([]Resolution, error) {
	return call.SelectAll[Resolution](ctx, s.conn, "list resolutions of a target group", `SELECT TOP (@p1) r.job_execution_id, r.job_name, r.step_id,
    r.step_name, r.lifecycle, r.resolved_time
FROM (SELECT DISTINCT job_id FROM jobs.jobsteps WHERE target_group_id = @p2) AS u
CROSS APPLY (
    SELECT TOP (@p3) v.job_execution_id
    FROM jobs.job_executions AS v
    WHERE v.job_id = u.job_id AND v.step_id IS NULL
    ORDER BY v.create_time DESC, v.job_execution_id
) AS e
INNER JOIN jobs.group_resolutions AS r ON r.job_execution_id = e.job_execution_id
WHERE r.target_group_id = @p2
ORDER BY r.resolved_time DESC, r.job_execution_id, r.step_id;`, limit, mssqldb.UniqueIdentifier(group), resolvedRuns)
}

// ResolvedTarget is a target of a list.
type ResolvedTarget struct {
	Server    string         `db:"target_server_name"`
	Database  string         `db:"target_database_name"`
	Lifecycle jobs.Lifecycle `db:"lifecycle"`
}

// ResolvedTargets lists the targets of a step of a run whose server or database contains search, by
// server and database; the key of a target is its server and database.
func (s Store) ResolvedTargets(ctx context.Context, run uuid.UUID, step int, search string, p controldb.Page[ResolvedTarget]) ([]ResolvedTarget, error) {
	w := call.NewFilter(p.Top)
	w.Add("job_execution_id = %s AND step_id = %s", mssqldb.UniqueIdentifier(run), step)
	w.Add("target_type = N'SqlDatabase'")
	if after := p.After; after != nil {
		w.Add("(target_server_name > %s OR (target_server_name = %s AND target_database_name > %s))", after.Server, after.Server, after.Database)
	}
	if search != "" {
		w.Add("(CHARINDEX(%s, target_server_name) > 0 OR CHARINDEX(%s, target_database_name) > 0)", search, search)
	}
	return call.SelectAll[ResolvedTarget](ctx, s.conn, "list resolved targets", `SELECT target_server_name, target_database_name, lifecycle
FROM jobs.job_executions`+w.Text()+"\nORDER BY target_server_name, target_database_name"+p.Text(w)+";", w.Args...)
}

// CountResolvedTargets returns the number of targets of a step of a run.
func (s Store) CountResolvedTargets(ctx context.Context, run uuid.UUID, step int) (int, error) {
	list, err := call.SelectAll[int](ctx, s.conn, "count resolved targets", `SELECT COUNT(*)
FROM jobs.job_executions
WHERE job_execution_id = @p1 AND step_id = @p2 AND target_type = N'SqlDatabase';`, mssqldb.UniqueIdentifier(run), step)
	if err != nil || len(list) == 0 {
		return 0, err
	}
	return list[0], nil
}

// Size is the number of databases of a target group.
type Size struct {
	Databases int
	// Resolved is when a run resolved the group; zero if all members are databases.
	Resolved time.Time
}

// Size returns how many databases a run on a target group is expected to have: as many as
// when it was resolved last, or, if it was not, its members, if they are databases. ok is false if
// that is not known.
func (s Store) Size(ctx context.Context, id uuid.UUID, name string) (size Size, ok bool, err error) {
	list, err := s.Resolutions(ctx, id, 1)
	if err != nil {
		return size, false, err
	}
	if len(list) > 0 {
		size.Resolved = list[0].Resolved
		size.Databases, err = s.CountResolvedTargets(ctx, list[0].Run, list[0].StepID)
		return size, err == nil, err
	}
	members, err := s.Members(ctx, name)
	if err != nil || len(members) == 0 {
		return size, false, err
	}
	in, out := map[string]bool{}, map[string]bool{}
	for _, m := range members {
		key := targets.DatabaseKey(m.Server, m.Database)
		switch {
		case m.Kind != targets.SQLDatabase || m.IsPattern():
			return size, false, nil
		case m.Membership == targets.Exclude:
			out[key] = true
		default:
			in[key] = true
		}
	}
	for key := range in {
		if !out[key] {
			size.Databases++
		}
	}
	return size, true, nil
}

// MissingTargets lists targets of one list that another one does not have, by server and database,
// and their number.
//
// Plan: the targets of both runs by IX_target_executions_execution_id, each read once and grouped.
func (s Store) MissingTargets(ctx context.Context, in, notIn Resolution, limit int) (list []ResolvedTarget, count int, err error) {
	rows, err := call.SelectAll[struct {
		ResolvedTarget
		Count int `db:"missing"`
	}](ctx, s.conn, "compare lists of targets", `SELECT TOP (@p1) x.target_server_name, x.target_database_name, x.lifecycle, COUNT(*) OVER () AS missing
FROM (
    SELECT v.target_server_name, v.target_database_name, MAX(v.lifecycle) AS lifecycle,
        MAX(CASE WHEN v.job_execution_id = @p2 AND v.step_id = @p3 THEN 1 ELSE 0 END) AS is_in,
        MAX(CASE WHEN v.job_execution_id = @p4 AND v.step_id = @p5 THEN 1 ELSE 0 END) AS is_in_other
    FROM jobs.job_executions AS v
    WHERE v.target_type = N'SqlDatabase'
        AND ((v.job_execution_id = @p2 AND v.step_id = @p3) OR (v.job_execution_id = @p4 AND v.step_id = @p5))
    GROUP BY v.target_server_name, v.target_database_name
) AS x
WHERE x.is_in = 1
    AND x.is_in_other = 0
ORDER BY x.target_server_name, x.target_database_name;`, limit, mssqldb.UniqueIdentifier(in.Run), in.StepID, mssqldb.UniqueIdentifier(notIn.Run), notIn.StepID)
	for _, r := range rows {
		list, count = append(list, r.ResolvedTarget), r.Count
	}
	return list, count, err
}

// FailedTarget is a target that failed in some runs.
type FailedTarget struct {
	Server   string    `db:"target_server_name"`
	Database string    `db:"target_database_name"`
	Failures int       `db:"failures"`
	Last     time.Time `db:"last_failure"`
	// Message is one of its messages.
	Message string `db:"last_message"`
}

// FailedTargets lists the targets that failed most in some lists, most failures first.
func (s Store) FailedTargets(ctx context.Context, lists []Resolution, limit int) ([]FailedTarget, error) {
	if len(lists) == 0 {
		return nil, nil
	}
	w := call.NewFilter(limit)
	w.Add("target_type = N'SqlDatabase'")
	w.Add("lifecycle IN (%s, %s)", string(jobs.Failed), string(jobs.TimedOut))
	var pairs []string
	var values []any
	for _, r := range lists {
		pairs = append(pairs, "(job_execution_id = %s AND step_id = %s)")
		values = append(values, mssqldb.UniqueIdentifier(r.Run), r.StepID)
	}
	w.Add("("+strings.Join(pairs, " OR ")+")", values...)
	return call.SelectAll[FailedTarget](ctx, s.conn, "list failed targets", `SELECT TOP (@p1) target_server_name, target_database_name, COUNT(*) AS failures,
    MAX(end_time) AS last_failure, MAX(LEFT(last_message, 500)) AS last_message
FROM jobs.job_executions`+w.Text()+"\nGROUP BY target_server_name, target_database_name\nORDER BY COUNT(*) DESC, target_server_name, target_database_name\nOPTION ("+call.SmallGrant+");", w.Args...)
}
