package controldb

import (
	"context"
	"embed"
	"fmt"

	"github.com/jmoiron/sqlx"
)

// Severity says how much a finding hurts.
type Severity string

// The severities. What the login may not see is SeverityOK, and its finding says so.
const (
	SeverityOK      Severity = "ok"
	SeverityWarning Severity = "warning" // works, but slower, later or less safely than it could
	SeverityError   Severity = "error"   // does not work
)

// Finding is what [Store.Examine] found out about one matter.
type Finding struct {
	// Code names the matter. Codes are part of the interface: they never change their meaning.
	Code string
	// Severity says how much it hurts.
	Severity Severity
	// Found is what is the case.
	Found string
	// Why says what the harm is; empty when there is none.
	Why string
	// SQL is the T-SQL that mends it, for the control database unless it says otherwise; empty where T-SQL cannot.
	SQL string
	// Command is what mends it where SQL is empty: a command line, or what to do.
	Command string
}

// Mend is what mends the finding: SQL, else Command; empty when nothing needs to be mended.
func (f Finding) Mend() string {
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
	CodeDeployRights   = "deployment-rights"
	CodeClock          = "clock"
	CodeSettings       = "settings"
	CodeHistory        = "history"
	CodeAgents         = "agents"
	CodeAdvance        = "advance"
	CodeTerms          = "terms"
)

//go:embed doctor/*.sql
var doctorFiles embed.FS

// doctorText is a statement of the folder doctor.
func doctorText(name string) string {
	text, err := doctorFiles.ReadFile("doctor/" + name + ".sql")
	if err != nil {
		panic(err) // the files are part of the program, and the names constants
	}
	return string(text)
}

// examination is the state of one [Store.Examine].
type examination struct {
	conn     *sqlx.Conn
	database databaseFacts
	// sees says whether the login sees the definitions of objects that it has no right on.
	sees bool
}

// check answers one question, or a few that one query answers.
type check struct {
	code string
	run  func(context.Context, *examination) ([]Finding, error)
	// definitions says that the check needs the right VIEW DEFINITION: without it, objects seem to be missing.
	definitions bool
}

// checks are those that need an installed schema, in the order of the report.
var checks = []check{
	{CodeSchema, checkSchema, false},
	{CodeModuleOptions, checkModuleOptions, true},
	{CodeIndexes, checkIndexes, true},
	{CodeLockEscalation, checkLockEscalation, true},
	{CodeCollation, checkCollations, true},
	{CodeForeign, checkForeign, true},
	{CodeRights, checkRights, false},
	{CodeSettings, checkSettings, false},
	{CodeHistory, checkHistory, false},
	{CodeAgents, checkAgents, false},
	{CodeAdvance, checkAdvance, false},
}

// Examine looks for what would hurt in the control database: at the server, the database, the schema, the rights of the login and
// what the agents do. It changes nothing. Each matter has at least one finding, good or bad. The error is about the connection only.
func (s *Store) Examine(ctx context.Context) ([]Finding, error) {
	const op = "examine the control database"
	conn, err := s.db.Connx(ctx)
	if err != nil {
		return nil, translate(op, err)
	}
	defer conn.Close()
	e := &examination{conn: conn}
	if e.database, err = readDatabase(ctx, conn); err != nil {
		return nil, translate(op, err)
	}
	found := judgeDatabase(e.database)
	if worst := Worst(found[:1]); worst == SeverityError {
		return found, nil // the version is too old for every other question
	}
	run := func(list []check) error {
		for _, c := range list {
			more, err := e.answer(ctx, c)
			if err != nil {
				return translate(op, err)
			}
			found = append(found, more...)
		}
		return nil
	}
	if err := run([]check{{CodeClock, checkClock, false}, {CodeSpace, checkFiles, false}, {CodeLogSpace, checkLog, false}}); err != nil {
		return nil, err
	}
	if e.sees, err = seesDefinitions(ctx, conn); err != nil {
		return nil, translate(op, err)
	}
	return found, run(checks)
}

// ExamineDatabase is the part of [Store.Examine] that a deployment depends on: server and database, but not the schema.
func (s *Store) ExamineDatabase(ctx context.Context) ([]Finding, error) {
	const op = "examine the control database"
	conn, err := s.db.Connx(ctx)
	if err != nil {
		return nil, translate(op, err)
	}
	defer conn.Close()
	facts, err := readDatabase(ctx, conn)
	if err != nil {
		return nil, translate(op, err)
	}
	return judgeDatabase(facts), nil
}

// Worst is the greatest severity among findings; SeverityOK without any.
func Worst(findings []Finding) Severity {
	worst := SeverityOK
	for _, f := range findings {
		if f.Severity == SeverityError || f.Severity == SeverityWarning && worst == SeverityOK {
			worst = f.Severity
		}
	}
	return worst
}

// answer makes a check. That the login may not see what it is about is a finding, and so is an error of the server.
func (e *examination) answer(ctx context.Context, c check) ([]Finding, error) {
	if c.definitions && !e.sees {
		return []Finding{{Code: c.code, Severity: SeverityOK, Found: "not seen: the login lacks VIEW DEFINITION in the database"}}, nil
	}
	found, err := c.run(ctx, e)
	if err == nil {
		return found, nil
	}
	server, ok := sqlError(err)
	switch {
	case !ok || ctx.Err() != nil:
		return nil, err
	case isDenied(server.Number):
		return []Finding{{Code: c.code, Severity: SeverityOK, Found: fmt.Sprintf("not seen: %s (error %d)", server.Message, server.Number)}}, nil
	}
	return []Finding{{
		Code: c.code, Severity: SeverityWarning, Found: fmt.Sprintf("the check ended with an error: %s (error %d)", server.Message, server.Number),
		Why: "what it would have found is not known", Command: "mend the errors above, and run jobagent doctor again",
	}}, nil
}

// isDenied says whether an error of the server is about a missing right: 229 and 230 on an object or column, 262 in the database, 297
// and 300 on the server, 371 in Azure SQL Database, 6004 and 15247 in general.
func isDenied(number int32) bool {
	switch number {
	case 229, 230, 262, 297, 300, 371, 6004, 15247:
		return true
	}
	return false
}

// good is the finding of a matter that needs nothing.
func good(code, format string, args ...any) Finding {
	return Finding{Code: code, Severity: SeverityOK, Found: fmt.Sprintf(format, args...)}
}

// plural is "1 object" or "2 objects".
func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
