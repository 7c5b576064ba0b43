package naming

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"
	mssqldb "github.com/microsoft/go-mssqldb"

	"github.com/jobagent/jobagent/controldb/internal/call"
)

// Kind is a kind of objects whose names a person may type.
type Kind int

// The kinds of names. A name is what the command line takes as an argument: for members of target
// groups, alerts, backfills and runs it is the ID.
const (
	OfJobs Kind = iota
	OfTargetGroups
	OfMembers // Of: the target group
	OfSteps   // Of: the job
	OfSchedules
	OfCalendars
	OfLimits // Of: the scope
	OfServers
	OfCredentials
	OfSecrets
	OfAlertRules
	OfAlertChannels
	OfAlerts
	OfAccounts
	OfBackfills
	OfExecutions
	OfActiveExecutions
	OfRollouts
	OfTriggers // Of: the job
	OfSettings
	OfQuestions
)

// Name is a name with what tells it from others.
type Name struct {
	Name   string `db:"name"`
	Detail string `db:"detail"`
	// Created is when a run was created; zero for other kinds.
	Created time.Time `db:"created"`
}

// Filter restricts [Store.List].
type Filter struct {
	Kind Kind
	// Prefix is what the names begin with; empty: any.
	Prefix string
	// Of names the object whose parts are listed; empty: those of all objects.
	Of string
	// Limit is the maximum number of names; 0 means 1000000.
	Limit int
}

// recentRuns is the number of the latest runs among which [OfExecutions] searches, so that the
// cost does not grow with the history.
const recentRuns = 10_000

// nameReads are the reads of [Store.List]: the name, what tells it from others, the rows, the
// column of Of, a condition, and the order if it is not that of the names. Columns of IDs are texts
// in lower case, so that a prefix fits.
var nameReads = map[Kind]struct{ name, detail, created, from, of, where, order string }{
	OfJobs:          {name: "job_name", detail: "description", from: "jobs.job_details", where: "is_system = 0"},
	OfTargetGroups:  {name: "target_group_name", from: "jobs.target_groups"},
	OfMembers:       {name: "LOWER(CAST(target_id AS CHAR(36)))", detail: "CONCAT(membership_type, N' ', target_type, N' ', server_name, tag_filter, member_group_name, N' ', COALESCE(database_name, elastic_pool_name))", from: "jobs.target_group_member_details", of: "target_group_name", order: "target_id"},
	OfSteps:         {name: "step_name", detail: "CONCAT(N'step ', step_id, N', ', command_type)", from: "jobs.jobsteps", of: "job_name", order: "step_id"},
	OfSchedules:     {name: "schedule_name", detail: "CONCAT(kind, N', ', state)", from: "jobs.schedules", of: "job_name", where: "schedule_name <> N''"},
	OfCalendars:     {name: "calendar_name", detail: "LEFT(spec, 100)", from: "jobs.calendars"},
	OfLimits:        {name: "name", detail: "CONCAT(scope, N', at most ', max_concurrent_targets)", from: "jobs.limits", of: "scope"},
	OfServers:       {name: "server_name", from: "(SELECT DISTINCT server_name FROM jobs.target_group_members WHERE server_name IS NOT NULL) AS s"},
	OfCredentials:   {name: "credential_name", detail: "username", from: "jobs.credentials"},
	OfSecrets:       {name: "secret_name", from: "jobs.secrets", where: "owner = N''"},
	OfAlertRules:    {name: "alert_name", detail: "condition", from: "jobs.alert_rules"},
	OfAlertChannels: {name: "channel_name", detail: "channel_type", from: "jobs.alert_channels"},
	OfAlerts:        {name: "CAST(alert_id AS NVARCHAR(20))", detail: "CONCAT(state, N', ', title)", created: "raised_time", from: "jobs.alerts", where: "state <> N'Resolved'", order: "alert_id DESC"},
	OfAccounts:      {name: "agent_name", detail: "state", from: "jobs.agent"},
	OfBackfills:     {name: "CAST(backfill_id AS NVARCHAR(20))", detail: "CONCAT(job_name, N' ', schedule_name, N', ', state)", from: "jobs.schedule_backfills", where: "state = N'Open'", order: "backfill_id DESC"},
	OfExecutions:    {name: "LOWER(CAST(job_execution_id AS CHAR(36)))", detail: "CONCAT(job_name, N', ', lifecycle)", created: "create_time", from: latestRuns(""), order: "create_time DESC, job_execution_id"},
	OfActiveExecutions: {
		name: "LOWER(CAST(job_execution_id AS CHAR(36)))", detail: "CONCAT(job_name, N', ', lifecycle)", created: "create_time",
		from: latestRuns(" AND is_active = 1"), order: "create_time DESC, job_execution_id",
	},
	OfRollouts: {
		name: "LOWER(CAST(job_execution_id AS CHAR(36)))", detail: "CONCAT(job_name, N', ', state)", created: "created_at", from: "jobs.rollouts",
		order: "created_at DESC, job_execution_id",
	},
	OfSettings:  {name: "name", detail: "meaning", from: "jobs.settings"},
	OfQuestions: {name: "CAST(question_id AS NVARCHAR(20))", detail: "CONCAT(target_group_name, N', ', lifecycle)", created: "asked_time", from: "jobs.questions", order: "question_id DESC"},
	OfTriggers:  {name: "trigger_name", detail: "CONCAT(run_when, N': ', upstream_jobs)", from: "jobs.job_triggers", of: "job_name"},
}

// latestRuns are the runs among which [OfExecutions] searches.
//
// Plan: the newest keys of IX_job_executions_create_time, or of the same index of active runs.
func latestRuns(condition string) string {
	return fmt.Sprintf(`(
    SELECT TOP (%d) job_execution_id, job_name, lifecycle, create_time
    FROM jobs.job_executions
    WHERE step_id IS NULL%s
    ORDER BY create_time DESC, job_execution_id
) AS r`, recentRuns, condition)
}

// likePrefix escapes what LIKE would take for a pattern.
var likePrefix = strings.NewReplacer(`\`, `\\`, "%", `\%`, "_", `\_`, "[", `\[`)

// List lists names that begin with a prefix, in their order; runs and alerts the latest first.
func (s Store) List(ctx context.Context, f Filter) ([]Name, error) {
	r, ok := nameReads[f.Kind]
	if !ok {
		return nil, fmt.Errorf("list names: invalid kind %d", f.Kind)
	}
	w := call.NewFilter(f.Limit)
	if f.Prefix != "" {
		w.Add(r.name+` LIKE %s ESCAPE N'\'`, likePrefix.Replace(f.Prefix)+"%")
	}
	if f.Of != "" && r.of != "" {
		w.Add(r.of+" = %s", f.Of)
	}
	if r.where != "" {
		w.Add(r.where)
	}
	detail, created, order := "N''", "CAST(NULL AS DATETIME2(7))", "name"
	if r.detail != "" {
		detail = r.detail
	}
	if r.created != "" {
		created = r.created
	}
	if r.order != "" {
		order = r.order
	}
	return call.SelectAll[Name](ctx, s.conn, "list names", "SELECT TOP (@p1) "+r.name+" AS name, "+detail+" AS detail, "+created+" AS created\nFROM "+r.from+
		w.Text()+"\nORDER BY "+order+";", w.Args...)
}

// Executions lists the IDs among the latest 10,000 runs that begin with a text, the latest
// first, and at most limit. The text is the beginning of a GUID, with hyphens or without.
func (s Store) Executions(ctx context.Context, prefix string, limit int) ([]Name, error) {
	digits := strings.ToLower(strings.ReplaceAll(prefix, "-", ""))
	var b strings.Builder
	for i, r := range digits {
		if i == 8 || i == 12 || i == 16 || i == 20 {
			b.WriteByte('-')
		}
		b.WriteRune(r)
	}
	if id, err := uuid.Parse(prefix); err == nil {
		return call.SelectAll[Name](ctx, s.conn, "find a run", `SELECT TOP (@p1) LOWER(CAST(job_execution_id AS CHAR(36))) AS name, CONCAT(job_name, N', ', lifecycle) AS detail, create_time AS created
FROM jobs.job_executions
WHERE job_execution_id = @p2
    AND step_id IS NULL;`, limit, mssqldb.UniqueIdentifier(id))
	}
	return s.List(ctx, Filter{Kind: OfExecutions, Prefix: b.String(), Limit: limit})
}
