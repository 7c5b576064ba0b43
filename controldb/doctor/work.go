package doctor

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/jobagent/jobagent/controldb"
	"github.com/jobagent/jobagent/controldb/dberror"
	"github.com/jobagent/jobagent/controldb/fleet"
	"github.com/jobagent/jobagent/controldb/installed"
	"github.com/jobagent/jobagent/controldb/internal/call"
	"github.com/jobagent/jobagent/controldb/summary"
	"github.com/jobagent/jobagent/jobs/tsql"
	"github.com/jobagent/jobagent/jobs/wording"
)

// agentCalls are the objects that an agent uses. Each call is refused because of its arguments or
// does nothing, so it changes nothing and holds no lock after the call.
var agentCalls = []struct{ object, text string }{
	{
		"jobs_internal.start_term",
		`EXECUTE jobs_internal.start_term @agent_id = NULL, @host_name = NULL, @version = NULL, @ttl_seconds = NULL;`,
	},
	{"jobs_internal.renew_term", `EXECUTE jobs_internal.renew_term @term_id = NULL, @ttl_seconds = NULL;`},
	{"jobs_internal.confirm_term", `EXECUTE jobs_internal.confirm_term @term_id = NULL;`},
	{"jobs_internal.end_term", `EXECUTE jobs_internal.end_term @term_id = NULL;`},
	{
		"jobs_internal.controller_pass",
		`EXECUTE jobs_internal.controller_pass @term_id = NULL, @max_tasks = NULL, @max_concurrent_targets = NULL;`,
	},
	{"jobs_internal.advance_part", `EXECUTE jobs_internal.advance_part @term_id = NULL, @max_tasks = NULL;`},
	{"jobs_internal.set_aside", `EXECUTE jobs_internal.set_aside @term_id = NULL;`},
	{"jobs_internal.take_set_asides", `EXECUTE jobs_internal.take_set_asides @term_id = NULL;`},
	{"jobs_internal.begin_send", `EXECUTE jobs_internal.begin_send @term_id = NULL, @sends = NULL;`},
	{"jobs_internal.report_callback", `EXECUTE jobs_internal.report_callback @token_hash = NULL, @success = NULL;`},
	{"jobs_internal.complete_tasks", `EXECUTE jobs_internal.complete_tasks @term_id = NULL, @outcomes = NULL;`},
	{
		"jobs_internal.complete_resolution",
		`EXECUTE jobs_internal.complete_resolution @term_id = NULL, @task_id = NULL, @attempt = NULL;`,
	},
	{"jobs_internal.get_command", `EXECUTE jobs_internal.get_command @command_id = NULL;`},
	{"jobs_internal.get_payload", `EXECUTE jobs_internal.get_payload @payload_id = NULL;`},
	{"jobs_internal.get_failure", `EXECUTE jobs_internal.get_failure @task_id = NULL;`},
	{"jobs_internal.get_members", `EXECUTE jobs_internal.get_members @task_id = NULL;`},
	{"jobs_internal.set_query_tags", `EXECUTE jobs_internal.set_query_tags @term_id = NULL, @task_id = NULL, @list = NULL;`},
	{"jobs_internal.get_secret", `EXECUTE jobs_internal.get_secret @name = NULL;`},
	{"jobs_internal.get_credential", `EXECUTE jobs_internal.get_credential @name = NULL;`},
	{"jobs_internal.reseal_secret", `EXECUTE jobs_internal.reseal_secret @name = NULL, @version = NULL, @keys = NULL;`},
	{"jobs_internal.read_ended_runs", `EXECUTE jobs_internal.read_ended_runs @term_id = NULL;`},
	{"jobs_internal.read_run_spans", `EXECUTE jobs_internal.read_run_spans @executions = NULL;`},
	{"jobs_internal.due_schedules", `EXECUTE jobs_internal.due_schedules @max = NULL;`},
	{"jobs_internal.fire_schedules", `EXECUTE jobs_internal.fire_schedules @term_id = NULL, @firings = NULL;`},
	{"jobs_internal.record_verdicts", `EXECUTE jobs_internal.record_verdicts @term_id = NULL, @verdicts = NULL;`},
	{
		"jobs_internal.record_drift",
		`EXECUTE jobs_internal.record_drift @term_id = NULL, @task_id = NULL, @attempt = NULL, @target_id = NULL, @server_name = NULL,
    @database_name = NULL, @options = NULL, @fingerprint = NULL, @objects = NULL, @against = NULL;`,
	},
	{"jobs_internal.claim_question", `EXECUTE jobs_internal.claim_question @term_id = NULL;`},
	{"jobs_internal.record_answers", `EXECUTE jobs_internal.record_answers @term_id = NULL, @question_id = NULL;`},
	{"jobs_internal.record_windows", `EXECUTE jobs_internal.record_windows @term_id = NULL, @windows = NULL;`},
	{"jobs_internal.recheck_schedules", `EXECUTE jobs_internal.recheck_schedules @term_id = NULL, @engine = NULL;`},
	{"jobs_internal.ensure_system_jobs", `EXECUTE jobs_internal.ensure_system_jobs @server_name = N'';`},
	{"jobs_internal.register_targets", `EXECUTE jobs_internal.register_targets @slice = 0;`},
	{"jobs_internal.purge_history", `EXECUTE jobs_internal.purge_history @batch_size = 0;`},
	{"jobs_internal.delete_leftovers", `EXECUTE jobs_internal.delete_leftovers @max_rows = 0;`},
	{"jobs_internal.advance_job_agent", `EXECUTE jobs_internal.advance_job_agent @lease_seconds = 0;`},
	{"jobs_internal.evaluate_alerts", `EXECUTE jobs_internal.evaluate_alerts @min_seconds = NULL;`},
	{
		"jobs_internal.claim_alert_deliveries",
		`EXECUTE jobs_internal.claim_alert_deliveries @holder = NULL, @channel_types = NULL, @with_secrets = NULL, @max = NULL, @lease_seconds = NULL;`,
	},
	{"jobs_internal.begin_alert_delivery", `EXECUTE jobs_internal.begin_alert_delivery @delivery_id = NULL, @holder = NULL;`},
	{
		"jobs_internal.end_alert_delivery",
		`EXECUTE jobs_internal.end_alert_delivery @delivery_id = NULL, @holder = NULL, @outcome = NULL;`,
	},
	{"jobs_internal.get_alert_secret", `EXECUTE jobs_internal.get_alert_secret @name = NULL;`},
	{"jobs_internal.schema_versions", `SELECT TOP (0) v.version FROM jobs_internal.schema_versions AS v;`},
	{"jobs_internal.code_objects", `SELECT TOP (0) o.name FROM jobs_internal.code_objects AS o;`},
	{"jobs_internal.agent_status", `SELECT TOP (0) a.agent_id FROM jobs_internal.agent_status AS a;`},
	{"jobs_internal.advance_status", `SELECT TOP (0) v.last_advanced_at FROM jobs_internal.advance_status AS v;`},
	{"jobs_internal.run_states", `SELECT TOP (0) r.lifecycle FROM jobs_internal.run_states AS r;`},
	{"jobs_internal.skip_counts", `SELECT TOP (0) k.cause FROM jobs_internal.skip_counts AS k;`},
	{"jobs_internal.agent_protocols", `SELECT TOP (0) p.oldest FROM jobs_internal.agent_protocols AS p;`},
	{"jobs.agent", `SELECT TOP (0) a.agent_name FROM jobs.agent AS a;`},
	{"jobs.control_database", `SELECT TOP (0) d.database_id FROM jobs.control_database AS d;`},
}

// checkRights tries the calls of an agent.
func checkRights(ctx context.Context, e *examination) ([]Finding, error) {
	if _, err := installed.ReadVersion(ctx, e.conn); errors.Is(err, dberror.ErrNotInstalled) {
		return nil, nil
	}
	user, err := currentUser(ctx, e.conn)
	if err != nil {
		return nil, err
	}
	var refused []string
	for _, a := range agentCalls {
		_, err := e.conn.ExecContext(ctx, a.text)
		server, ok := dberror.ServerError(err)
		switch {
		case err == nil:
		case !ok:
			return nil, err
		case dberror.IsDenied(server.Number):
			refused = append(refused, a.object)
		case dberror.KindOf(err) != dberror.KindNone:
			// The procedure rejected the arguments, so the login may call it.
		case server.Number == dberror.NumMissingProcedure || server.Number == dberror.NumInvalidObject:
			// A missing object is reported by checkSchema.
		default:
			return nil, err
		}
	}
	if len(refused) == 0 {
		return []Finding{
			good(
				CodeRights,
				"user %s may make all calls of an agent (%d calls tried)",
				tsql.Name(user),
				len(agentCalls),
			),
		}, nil
	}
	users, err := readRoleUsers(ctx, e.conn)
	if err != nil {
		return nil, err
	}
	if slices.ContainsFunc(users, func(u roleUser) bool { return u.Front }) {
		return []Finding{good(CodeRights, "user %s is that of a REST front; it may not make the calls of an agent", tsql.Name(user))}, nil
	}
	return []Finding{
		{
			Code:     CodeRights,
			Severity: SeverityError,
			Found: fmt.Sprintf(
				"user %s may not use %s (%s)",
				tsql.Name(user),
				wording.Count(len(refused), "object"),
				wording.First(refused),
			),
			Why: "an agent with this login fails",
			SQL: fixRole("jobs_agent", user),
		},
	}, nil
}

// checkClock compares this machine's clock with the server's. Of three measurements, the one with
// the shortest round trip counts: the server read its clock within that time, so half of it bounds
// the error.
func checkClock(ctx context.Context, e *examination) ([]Finding, error) {
	var difference, shortest time.Duration
	for i := range 3 {
		begin := time.Now()
		server, err := call.SelectOne[time.Time](ctx, e.conn, `SELECT SYSUTCDATETIME();`)
		if err != nil {
			return nil, err
		}
		roundTrip := time.Since(begin)
		if i == 0 || roundTrip < shortest {
			shortest, difference = roundTrip, server.Sub(begin.Add(roundTrip/2))
		}
	}
	return []Finding{clockFinding(difference, shortest)}, nil
}

// clockTolerance is the difference up to which the agent's log and the history can still be
// compared.
const clockTolerance = 5 * time.Second

// clockFinding is about the server's clock minus this machine's. roundTrip is the duration of the
// measurement.
func clockFinding(difference, roundTrip time.Duration) Finding {
	if difference.Abs() <= clockTolerance+roundTrip/2 {
		return good(
			CodeClock,
			"this machine's clock and the server's differ by less than %v",
			clockTolerance+(roundTrip/2).Round(time.Millisecond),
		)
	}
	direction := "ahead of"
	if difference < 0 {
		direction = "behind"
	}
	return Finding{
		Code:     CodeClock,
		Severity: SeverityWarning,
		Found: fmt.Sprintf(
			"the server's clock is %v %s this machine's",
			difference.Abs().Round(time.Second),
			direction,
		),
		Why:     "schedules go by the server's clock, and logs on this machine by its own: instants cannot be compared; tokens of Microsoft Entra ID may be refused",
		Command: "synchronise both clocks with NTP"}
}

// fileFacts is a row of doctor/files.sql; sizes are in pages.
type fileFacts struct {
	Name          string        `db:"name"`
	Type          string        `db:"type_desc"`
	Size          int64         `db:"size"`
	Max           int64         `db:"max_size"` // -1: no limit but the disk
	Growth        int64         `db:"growth"`   // 0: it does not grow
	PercentGrowth bool          `db:"is_percent_growth"`
	Used          sql.NullInt64 `db:"used"` // NULL for logs
}

const (
	pagesPerMB      = 128
	unlimitedLog    = 268435456 // max_size of a log that may grow to 2 TB
	fileFullPercent = 90
	logFullPercent  = 80
	expressDataMB   = 10 << 10 // limit of the data files in SQL Server Express
)

func checkFiles(ctx context.Context, e *examination) ([]Finding, error) {
	files, err := call.SelectRows[fileFacts](ctx, e.conn, Text("files"))
	if err != nil {
		return nil, err
	}
	return fileFindings(e.database, files), nil
}

// fileFindings are about free space in the files and about their growth. Azure SQL Database has no
// MODIFY FILE (https://learn.microsoft.com/sql/t-sql/statements/alter-database-transact-sql).
func fileFindings(d Facts, files []fileFacts) []Finding {
	const code = CodeSpace
	var found []Finding
	var data int64
	modify := func(f fileFacts, what string) string {
		if d.EngineEdition == EditionAzureDatabase {
			return "" // it does not let anybody modify files
		}
		return fixDatabase(d.Name, fmt.Sprintf("MODIFY FILE (NAME = %s, %s)", tsql.Literal(f.Name), what))
	}
	for _, f := range files {
		if f.Type == "ROWS" {
			data += f.Size
		}
		capacity := f.Max
		if f.Growth == 0 {
			capacity = f.Size
		}
		used := f.Size
		if f.Used.Valid {
			used = f.Used.Int64
		}
		switch {
		case capacity > 0 && capacity != unlimitedLog && (f.Type == "ROWS" || f.Growth != 0) && used*100 >= capacity*fileFullPercent:
			full := Finding{
				Code:     code,
				Severity: SeverityWarning,
				Found:    fmt.Sprintf("file %s uses %d of at most %d MB", f.Name, used/pagesPerMB, capacity/pagesPerMB),
				Why:      "when it is full, no run starts and no outcome is recorded (errors 1105 and 9002)",
				SQL:      modify(f, "MAXSIZE = UNLIMITED, FILEGROWTH = 256 MB"),
			}
			if full.SQL == "" {
				full.Command = "raise the maximum size of the database, or choose a service objective that permits more"
			}
			found = append(found, full)
		case f.PercentGrowth && f.Size >= 1024*pagesPerMB && d.EngineEdition != EditionAzureDatabase:
			found = append(
				found,
				Finding{
					Code:     code,
					Severity: SeverityWarning,
					Found: fmt.Sprintf(
						"file %s has %d MB and grows by %d percent",
						f.Name,
						f.Size/pagesPerMB,
						f.Growth,
					),
					Why: "each growth takes longer than the one before, and all sessions wait for it",
					SQL: modify(f, "FILEGROWTH = 256 MB"),
				},
			)
		}
	}
	if d.EngineEdition == EditionExpress && data*100 >= expressDataMB*pagesPerMB*fileFullPercent {
		found = append(
			found,
			Finding{
				Code:     code,
				Severity: SeverityWarning,
				Found: fmt.Sprintf(
					"the data files have %d of at most %d MB of SQL Server Express",
					data/pagesPerMB,
					expressDataMB,
				),
				Why: "when they are full, no run starts and no outcome is recorded (error 1827)",
				SQL: statementOf("shorten_history"),
			},
		)
	}
	if len(found) == 0 {
		return []Finding{
			good(code, "%s, %d MB of data; none is near its limit", wording.Count(len(files), "file"), data/pagesPerMB),
		}
	}
	return found
}

// logFacts is the row of doctor/log.sql, in bytes.
type logFacts struct {
	Total int64 `db:"total"`
	Used  int64 `db:"used"`
}

func checkLog(ctx context.Context, e *examination) ([]Finding, error) {
	l, err := call.SelectOne[logFacts](ctx, e.conn, Text("log"))
	if err != nil {
		return nil, err
	}
	return []Finding{logFinding(e.database, l)}, nil
}

// logFinding is about a log that fills up because it cannot be truncated.
func logFinding(d Facts, l logFacts) Finding {
	const mb = 1 << 20
	wait := d.LogReuseWait
	if l.Total == 0 || l.Used*100 < l.Total*logFullPercent || wait == "NOTHING" || wait == "CHECKPOINT" || wait == "" {
		return good(CodeLogSpace, "the log uses %d of %d MB", l.Used/mb, l.Total/mb)
	}
	f := Finding{
		Code:     CodeLogSpace,
		Severity: SeverityWarning,
		Found:    fmt.Sprintf("the log uses %d of %d MB and waits for %s", l.Used/mb, l.Total/mb, wait),
		Why:      "it grows until the disk is full; then every write fails (error 9002)",
		Command:  "see sys.databases.log_reuse_wait_desc for the reason",
	}
	switch wait {
	case "LOG_BACKUP":
		f.Command = "run your log backup job now, and have it run more often: a log backup that is made beside it would break its chain of backups"
	case "ACTIVE_TRANSACTION":
		f.SQL = fixOpenTransaction
	}
	return f
}

// checkSettings finds values that are out of range and names that no procedure reads.
func checkSettings(ctx context.Context, e *examination) ([]Finding, error) {
	if _, err := installed.ReadVersion(ctx, e.conn); errors.Is(err, dberror.ErrNotInstalled) {
		return nil, nil
	}
	rows, err := call.SelectRows[struct {
		Name    string        `db:"name"`
		Stored  string        `db:"stored_value"`
		Default sql.NullInt64 `db:"default_value"`
		Lowest  sql.NullInt64 `db:"lowest"`
		Highest sql.NullInt64 `db:"highest"`
		Used    bool          `db:"is_used"`
	}](ctx, e.conn, Text("settings"))
	if err != nil {
		return nil, err
	}
	var found []Finding
	for _, r := range rows {
		remove := fixSetting(r.Name)
		switch {
		case !r.Default.Valid:
			found = append(
				found,
				Finding{
					Code:     CodeSettings,
					Severity: SeverityWarning,
					Found:    fmt.Sprintf("the setting %s does not exist", tsql.Literal(r.Name)),
					Why:      "no procedure reads it; the name may be misspelled",
					SQL:      remove,
				},
			)
		case !r.Used:
			found = append(found, Finding{Code: CodeSettings, Severity: SeverityWarning,
				Found: fmt.Sprintf(
					"setting %s is %s, and only whole numbers from %d to %d are used",
					r.Name,
					tsql.Literal(r.Stored),
					r.Lowest.Int64,
					r.Highest.Int64,
				),
				Why: fmt.Sprintf("the default %d holds instead", r.Default.Int64), SQL: remove})
		}
	}
	if len(found) == 0 {
		found = append(found, good(CodeSettings, "%s stored, all within their ranges", wording.Count(len(rows), "setting")))
	}
	return found, nil
}

// purgeDelay is how long history may outlive the retention: the system job runs once a day.
const purgeDelay = 48 * time.Hour

// checkHistory checks that the retention keeps up.
func checkHistory(ctx context.Context, e *examination) ([]Finding, error) {
	if _, err := installed.ReadVersion(ctx, e.conn); errors.Is(err, dberror.ErrNotInstalled) {
		return nil, nil
	}
	h, err := call.SelectOne[struct {
		Oldest       time.Time `db:"oldest"`
		OldestPurged time.Time `db:"oldest_purged"`
		Targets      int64     `db:"target_executions"`
		Retention    int       `db:"retention_days"`
		Now          time.Time `db:"now"`
	}](ctx, e.conn, Text("history"))
	if err != nil {
		return nil, err
	}
	kept := time.Duration(h.Retention) * 24 * time.Hour
	switch age := h.Now.Sub(h.Oldest); {
	case !h.Oldest.IsZero() && age > kept+purgeDelay:
		return []Finding{{Code: CodeHistory, Severity: SeverityWarning,
			Found: fmt.Sprintf(
				"the oldest finished run ended %s ago, and history is kept for %s (%s in all)",
				wording.Count(int(age.Hours()/24), "day"),
				wording.Count(h.Retention, "day"),
				wording.Count(int(h.Targets), "target execution"),
			),
			Why: "the system job jobagent$history_retention does not run, or fails: the database grows without limit",
			SQL: fixHistory}}, nil
	case !h.OldestPurged.IsZero() && h.Now.Sub(h.OldestPurged) > purgeDelay:
		return []Finding{
			{
				Code:     CodeHistory,
				Severity: SeverityWarning,
				Found: fmt.Sprintf(
					"runs that were purged %s ago still have their rows",
					wording.Count(int(h.Now.Sub(h.OldestPurged).Hours()/24), "day"),
				),
				Why: "no agent deletes them: the database grows without limit",
				SQL: fixLeftovers,
			},
		}, nil
	}
	return []Finding{
		good(CodeHistory, "%s; history is kept for %s", wording.Count(int(h.Targets), "target execution"), wording.Count(h.Retention, "day")),
	}, nil
}

// termDelay is how long an expired term may lack its end: any live agent ends it within seconds.
const termDelay = time.Minute

// unfiredSQL lists schedules that are due, and sessions with open transactions, the oldest first.
const unfiredSQL = `SELECT TOP (20) j.name AS job_name, s.name AS schedule_name, s.kind, s.next_fire_at
FROM jobs_internal.schedules AS s
INNER JOIN jobs_internal.jobs AS j ON j.job_id = s.job_id
WHERE s.next_fire_at < DATEADD(MINUTE, -1, SYSUTCDATETIME()) AND j.deleted_at IS NULL
ORDER BY s.next_fire_at;
SELECT s.session_id, s.login_name, s.program_name, s.host_name, s.last_request_start_time
FROM sys.dm_exec_sessions AS s
WHERE s.database_id = DB_ID() AND s.open_transaction_count > 0
ORDER BY s.last_request_start_time;`

// checkAdvance checks that passes advance executions, and reports the sessions that prevent it.
func checkAdvance(ctx context.Context, e *examination) ([]Finding, error) {
	if _, err := installed.ReadVersion(ctx, e.conn); errors.Is(err, dberror.ErrNotInstalled) {
		return nil, nil
	}
	status, err := controldb.ReadAdvanceStatus(ctx, e.conn)
	if err != nil {
		return nil, err
	}
	var found []Finding
	if !status.UnfiredSince.IsZero() {
		found = append(found, Finding{Code: CodeAdvance, Severity: SeverityError,
			Found: fmt.Sprintf("schedules have been due since %s and do not fire", status.UnfiredSince.Format(time.RFC3339)),
			Why:   "an open transaction has locked the schedule or its job, or no live agent supports its kind",
			SQL:   unfiredSQL})
	}
	if status.SkippedSince.IsZero() {
		if len(found) == 0 {
			found = append(found, good(CodeAdvance, "passes of agents advance executions, and schedules fire"))
		}
		return found, nil
	}
	holders, visible, err := controldb.ReadLockHolders(ctx, e.conn)
	if err != nil {
		return nil, err
	}
	f := Finding{Code: CodeAdvance, Severity: SeverityError,
		Found: fmt.Sprintf(
			"no pass of an agent has advanced executions since %s; the application lock jobagent.advance is held by: %s",
			status.SkippedSince.Format(time.RFC3339),
			controldb.DescribeHolders(holders, visible),
		),
		Why: "executions neither start nor end"}
	if len(holders) == 0 {
		f.Command = "jobagent doctor, with a login that has the permission VIEW SERVER STATE, to see the session that holds the lock"
		return append(found, f), nil
	}
	var kills []string
	for _, h := range holders {
		kills = append(kills, fixSession(h.SessionID))
	}
	f.SQL = strings.Join(kills, "\n")
	return append(found, f), nil
}

// missingTypes checks that the live agents run the types of commands for which runs wait.
func missingTypes(ctx context.Context, e *examination) (findings []Finding, err error) {
	rows, err := call.SelectRows[summary.MissingType](ctx, e.conn, `SELECT c.command_type, COUNT(DISTINCT s.execution_id) AS runs, MIN(s.create_time) AS since
FROM jobs_internal.step_executions AS s
INNER JOIN jobs_internal.job_steps AS d ON d.job_id = s.job_id AND d.version = s.job_version AND d.step_id = s.step_id
INNER JOIN jobs_internal.step_commands AS c ON c.command_id = d.command_id
WHERE s.is_active = 1
    AND c.command_type <> N'Upkeep'
    AND NOT EXISTS (
        SELECT 1
        FROM jobs_internal.terms AS t
        WHERE t.ended_at IS NULL
            AND t.expires_at > SYSUTCDATETIME()
            AND CHARINDEX(N',' + c.command_type + N',', N',' + t.command_types + N',') > 0
    )
GROUP BY c.command_type
ORDER BY c.command_type;`)
	for _, r := range rows {
		findings = append(findings, Finding{
			Code: CodeAgents, Severity: SeverityWarning,
			Found:   fmt.Sprintf("no live agent runs commands of type %s; waiting for one: %s, since %s", r.CommandType, wording.Count(r.Runs, "run"), r.Since.Format(time.RFC3339)),
			Why:     "an agent runs a type only if its configuration permits it, such as processes",
			Command: "jobagent agent status -o wide",
		})
	}
	return findings, err
}

// checkAgents checks the agents' latest terms.
func checkAgents(ctx context.Context, e *examination) ([]Finding, error) {
	if _, err := installed.ReadVersion(ctx, e.conn); errors.Is(err, dberror.ErrNotInstalled) {
		return nil, nil
	}
	rows, err := call.SelectRows[struct {
		Host     string    `db:"host_name"`
		Version  string    `db:"version"`
		Term     int64     `db:"term_id"`
		Expires  time.Time `db:"expires_at"`
		Ended    time.Time `db:"ended_at"`
		Live     bool      `db:"is_live"`
		Held     int       `db:"held_tasks"`
		Engine   string    `db:"engine"`
		ZoneData string    `db:"zone_data"`
		Now      time.Time `db:"now"`
	}](ctx, e.conn, `SELECT host_name, version, term_id, expires_at, ended_at, is_live, held_tasks, engine, zone_data, SYSUTCDATETIME() AS now
FROM jobs_internal.agent_status
ORDER BY term_id;`)
	if err != nil {
		return nil, err
	}
	live, held := 0, 0
	var versions, lost []string
	var engines []fleet.Agent
	for _, r := range rows {
		engines = append(engines, fleet.Agent{Host: r.Host, Live: r.Live, Engine: r.Engine, ZoneData: r.ZoneData})
		switch {
		case r.Live:
			live++
			if !slices.Contains(versions, r.Version) {
				versions = append(versions, r.Version)
			}
		case r.Ended.IsZero() && r.Now.Sub(r.Expires) > termDelay:
			lost = append(lost, fmt.Sprintf("%d on %s", r.Term, r.Host))
			held += r.Held
		}
	}
	agents := good(CodeAgents, "%s, of version %s", wording.Count(live, "live agent"), strings.Join(versions, " and "))
	if live == 0 {
		agents = Finding{Code: CodeAgents, Severity: SeverityWarning, Found: "no live agent",
			Why: "no job runs, and no schedule fires", Command: "jobagent run"}
	}
	terms := good(CodeTerms, "no term has expired without an end")
	if len(lost) > 0 {
		terms = Finding{
			Code:     CodeTerms,
			Severity: SeverityWarning,
			Found: fmt.Sprintf(
				"%s expired and without an end (%s), with %s",
				wording.Count(len(lost), "term"),
				wording.First(lost),
				wording.Count(held, "task"),
			),
			Why:     "their tasks are not handed over, so runs that wait for them do not continue",
			Command: "jobagent run",
		}
	}
	findings := []Finding{agents, terms}
	if live > 0 {
		missing, err := missingTypes(ctx, e)
		if err != nil {
			return nil, err
		}
		findings = append(findings, missing...)
	}
	if found, advice := fleet.EngineNotice(engines); found != "" {
		findings = append(findings, Finding{Code: CodeAgents, Severity: SeverityWarning, Found: found, Why: fleet.EngineEffect + "; " + advice,
			Command: "jobagent agent status -o wide"})
	}
	return findings, nil
}
