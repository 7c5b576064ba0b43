package doctor

import (
	"context"
	"embed"
	"fmt"

	"github.com/jmoiron/sqlx"

	"github.com/jobagent/jobagent/controldb/dberror"
	"github.com/jobagent/jobagent/controldb/installed"
	"github.com/jobagent/jobagent/controldb/internal/call"
)

// Severity is the severity of a finding.
type Severity string

// The severities. A finding about something that the login may not see has SeverityOK, and its text
// says so.
const (
	SeverityOK      Severity = "ok"
	SeverityWarning Severity = "warning" // works, but slower, later or less safely than possible
	SeverityError   Severity = "error"   // does not work
)

// Finding is the result of one check.
type Finding struct {
	// Code is part of the public interface: a code never changes its meaning.
	Code string `json:"code"` // names the check
	// Severity is SeverityOK when nothing needs to be done.
	Severity Severity `json:"severity"`
	Found    string   `json:"found"`
	// Why is empty when there is no harm.
	Why string `json:"why,omitempty"` // the consequence
	// SQL is run in the control database unless it says otherwise.
	SQL     string `json:"sql,omitempty"`     // T-SQL that corrects it
	Command string `json:"command,omitempty"` // the remedy where T-SQL is none
}

// Fix returns SQL, or Command if SQL is empty. Both are empty when nothing needs to be fixed.
func (f Finding) Fix() string {
	if f.SQL != "" {
		return f.SQL
	}
	return f.Command
}

// The codes of findings.
const (
	CodeServerVersion  = "server-version"
	CodeServerName     = "server-name"
	CodeCompatibility  = "compatibility-level"
	CodeRowVersions    = "row-versions"
	CodeCollation      = "collation"
	CodeState          = "database-state"
	CodeRecovery       = "recovery"
	CodeDurability     = "durability"
	CodeSnapshot       = "snapshot-isolation"
	CodeIdentityCache  = "identity-cache"
	CodeAutoClose      = "auto-close"
	CodeAutoShrink     = "auto-shrink"
	CodeSpace          = "space"
	CodeLogSpace       = "log-space"
	CodeSchema         = "schema"
	CodeModuleOptions  = "module-options"
	CodeIndexes        = "indexes"
	CodeLockEscalation = "lock-escalation"
	CodeForeign        = "foreign-objects"
	CodeRights         = "rights"
	CodeGrants         = "grants"
	CodeCallers        = "callers"
	CodeAdministrators = "administrators"
	CodeDeployRights   = "deployment-rights"
	CodeClock          = "clock"
	CodeSettings       = "settings"
	CodeHistory        = "history"
	CodeAgents         = "agents"
	CodeAdvance        = "advance"
	CodeTerms          = "terms"
	CodeClockChanges   = "clock-changes"
	CodeParameters     = "parameters"
	CodeNames          = "names"
	CodePause          = "pause"
	CodePlace          = "place"
	CodeTargetWindows  = "target-windows"
	CodeTargetPauses   = "target-pauses"
	CodeSetAsides      = "set-asides"
)

//go:embed *.sql
var doctorFiles embed.FS

// Text returns a statement of this folder.
func Text(name string) string {
	text, err := doctorFiles.ReadFile(name + ".sql")
	if err != nil {
		panic(err) // the files are embedded, and the names are constants
	}
	return string(text)
}

// examination is the state of one [Store.Examine].
type examination struct {
	conn     *sqlx.Conn
	database Facts
	// sees is true if the login sees the definitions of objects on which it has no permission.
	sees bool
}

// check examines one subject, or a few that one query covers.
type check struct {
	code string
	run  func(context.Context, *examination) ([]Finding, error)
	// definitions is true if the check needs VIEW DEFINITION. Without it, objects seem to be
	// missing.
	definitions bool
}

// checks are the checks that need an installed schema, in the order of the report.
var checks = []check{
	{CodeSchema, checkSchema, false},
	{CodeModuleOptions, checkModuleOptions, true},
	{CodeIndexes, checkIndexes, true},
	{CodeLockEscalation, checkLockEscalation, true},
	{CodeCollation, checkCollations, true},
	{CodeForeign, checkForeign, true},
	{CodeRights, checkRights, false},
	{CodeGrants, checkGrants, true},
	{CodeCallers, checkCallers, false},
	{CodeAdministrators, checkAdministrators, true},
	{CodeSettings, checkSettings, false},
	{CodeHistory, checkHistory, false},
	{CodeAgents, checkAgents, false},
	{CodeAdvance, checkAdvance, false},
	{CodePause, checkPause, false},
	{CodePlace, checkPlace, false},
	{CodeClockChanges, checkClockChanges, false},
	{CodeParameters, checkParameters, false},
	{CodeNames, checkNames, false},
	{CodeTargetWindows, checkTargetWindows, false},
	{CodeTargetPauses, checkTargetPauses, false},
	{CodeSetAsides, checkSetAsides, false},
}

// Examine looks for problems of the control database: the server, the database, the schema, the
// permissions of the login, and the activity of agents. It changes nothing. Each subject has at
// least one finding, good or bad. The error is about the connection only.
func (s Store) Examine(ctx context.Context) ([]Finding, error) {
	const op = "examine the control database"
	conn, err := call.DB(s.conn).Connx(ctx)
	if err != nil {
		return nil, dberror.Translate(op, err)
	}
	defer conn.Close()
	e := &examination{conn: conn}
	if e.database, err = ReadFacts(ctx, conn); err != nil {
		return nil, dberror.Translate(op, err)
	}
	found := databaseFindings(e.database)
	if worst := Worst(found[:1]); worst == SeverityError {
		return found, nil // other queries need a newer version
	}
	run := func(list []check) error {
		for _, c := range list {
			more, err := e.answer(ctx, c)
			if err != nil {
				return dberror.Translate(op, err)
			}
			found = append(found, more...)
		}
		return nil
	}
	if err := run([]check{{CodeClock, checkClock, false}, {CodeSpace, checkFiles, false}, {CodeLogSpace, checkLog, false}}); err != nil {
		return nil, err
	}
	if e.sees, err = installed.SeesDefinitions(ctx, conn); err != nil {
		return nil, dberror.Translate(op, err)
	}
	return found, run(checks)
}

// ExamineDatabase is the part of [Store.Examine] that a deployment depends on: the server and the
// database, without the schema.
func (s Store) ExamineDatabase(ctx context.Context) ([]Finding, error) {
	const op = "examine the control database"
	conn, err := call.DB(s.conn).Connx(ctx)
	if err != nil {
		return nil, dberror.Translate(op, err)
	}
	defer conn.Close()
	facts, err := ReadFacts(ctx, conn)
	if err != nil {
		return nil, dberror.Translate(op, err)
	}
	return databaseFindings(facts), nil
}

// Worst returns the highest severity among findings; SeverityOK without any.
func Worst(findings []Finding) Severity {
	worst := SeverityOK
	for _, f := range findings {
		if f.Severity == SeverityError || f.Severity == SeverityWarning && worst == SeverityOK {
			worst = f.Severity
		}
	}
	return worst
}

// answer runs a check. A missing permission is a finding, and so is any other error of the server.
func (e *examination) answer(ctx context.Context, c check) ([]Finding, error) {
	if c.definitions && !e.sees {
		return []Finding{
			{Code: c.code, Severity: SeverityOK, Found: "not checked: the login lacks VIEW DEFINITION in the database"},
		}, nil
	}
	found, err := c.run(ctx, e)
	if err == nil {
		return found, nil
	}
	server, ok := dberror.ServerError(err)
	switch {
	case !ok || ctx.Err() != nil:
		return nil, err
	case dberror.IsDenied(server.Number):
		return []Finding{
			{
				Code:     c.code,
				Severity: SeverityOK,
				Found:    fmt.Sprintf("not checked: %s (error %d)", server.Message, server.Number),
			},
		}, nil
	}
	return []Finding{{
		Code: c.code, Severity: SeverityWarning,
		Found: fmt.Sprintf("the check ended with an error: %s (error %d)", server.Message, server.Number),
		Why:   "the result of the check is unknown", Command: "fix the errors above, then run jobagent doctor again",
	}}, nil
}

// good returns a finding that needs no action.
func good(code, format string, args ...any) Finding {
	return Finding{Code: code, Severity: SeverityOK, Found: fmt.Sprintf(format, args...)}
}
