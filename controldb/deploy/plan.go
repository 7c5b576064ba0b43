package deploy

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/jmoiron/sqlx"

	"github.com/jobagent/jobagent/controldb"
	"github.com/jobagent/jobagent/controldb/dberror"
	"github.com/jobagent/jobagent/controldb/doctor"
	"github.com/jobagent/jobagent/controldb/installed"
	"github.com/jobagent/jobagent/controldb/internal/call"
	"github.com/jobagent/jobagent/jobs/wording"
	sqlfs "github.com/jobagent/jobagent/sql"
)

// Plan is what [Store.Migrate] would do.
type Plan struct {
	Version int    `json:"version" doc:"installed"`
	Want    int    `json:"want" doc:"of this program"`
	Edition string `json:"edition" doc:"of the server"`
	// Online also means that columns with a value are added without writing each row.
	Online bool `json:"online" doc:"the edition builds indexes online"`
	// Steps are the steps of migrations that have not been applied.
	Steps []PlannedStep `json:"steps"`
	Code  int           `json:"code" doc:"number of procedures, views, triggers and roles to create, replace or drop"`
	// Agents are those at work.
	Agents []PlannedAgent `json:"agents"`
	// Warnings are sentences about what will keep agents waiting.
	Warnings []string `json:"warnings"`
}

// PlannedStep is a step of a migration: one transaction, or one statement.
type PlannedStep struct {
	Migration string `json:"migration"`
	Step      int    `json:"step"`  // from 1
	Of        int    `json:"of"`    // number of steps of the migration
	Table     string `json:"table"` // empty for none, or several
	// Rows and MB are 0 for a table that does not exist yet.
	Rows       int64              `json:"rows"` // of the table
	MB         int64              `json:"mb"`   // of the table, with its indexes
	Statements []PlannedStatement `json:"statements"`
}

// PlannedStatement is a statement of a step.
type PlannedStatement struct {
	Kind  sqlfs.StatementKind `json:"kind"`
	Text  string              `json:"text"`           // its first line
	Lock  string              `json:"lock"`           // that keeps others waiting
	Grows bool                `json:"grows"`          // the duration grows with the rows of the table while others wait
	Size  string              `json:"size,omitempty"` // how the duration grows, as the migration says
}

// PlannedAgent is an agent at work.
type PlannedAgent struct {
	Host     string `db:"host_name" json:"host"`
	Version  string `db:"version" json:"version"`
	Protocol int    `db:"protocol" json:"protocol"`
	Tasks    int    `db:"held_tasks" json:"tasks"`
}

// offlineRows is the number of rows from which a step that reads each row of a table offline takes
// so long that the plan warns of it.
const offlineRows = 1_000_000

// Plan returns what [Store.MigrateWith] would do. It only reads, and no table of runs. The
// errors are those of Migrate.
func (s Store) Plan(ctx context.Context, o MigrateOptions) (Plan, error) {
	const op = "plan the migration"
	objects, migrations, err := installed.Embedded()
	if err != nil {
		return Plan{}, err
	}
	conn, err := call.DB(s.conn).Connx(ctx)
	if err != nil {
		return Plan{}, dberror.Translate(op, err)
	}
	defer conn.Close()
	p := Plan{Want: len(migrations), Steps: []PlannedStep{}, Warnings: []string{}}
	if p.Version, err = installed.ReadVersion(ctx, conn); err != nil {
		return p, err
	}
	if p.Version > p.Want {
		return p, &dberror.SchemaVersionError{Have: p.Version, Want: p.Want}
	}
	if err := checkNotNewer(ctx, conn, s.program, o.AllowOlder); err != nil {
		return p, err
	}
	facts, err := doctor.ReadFacts(ctx, conn)
	if err != nil {
		return p, dberror.Translate(op, err)
	}
	p.Edition, p.Online = facts.Edition, facts.Online()
	if err := p.addSteps(ctx, conn, migrations, facts); err != nil {
		return p, err
	}
	deployed, err := installed.ReadObjects(ctx, conn)
	if err != nil {
		return p, err
	}
	differs, err := installed.CompareObjects(ctx, conn, objects, deployed)
	if err != nil {
		return p, err
	}
	lease, rest, err := codeChanges(objects, deployed, differs)
	if err != nil {
		return p, err
	}
	p.Code = len(lease) + len(rest)
	p.Agents, err = call.SelectRows[PlannedAgent](ctx, conn, `SELECT a.host_name, a.version, t.protocol, (
        SELECT COUNT(*)
        FROM jobs_internal.task_executions AS k
        WHERE k.term_id = t.term_id
            AND k.ended_at IS NULL
    ) AS held_tasks
FROM jobs_internal.terms AS t
INNER JOIN jobs_internal.agents AS a ON a.agent_id = t.agent_id
WHERE t.ended_at IS NULL
    AND t.expires_at > SYSUTCDATETIME()
ORDER BY a.host_name, t.term_id;`)
	if err != nil {
		return p, dberror.Translate(op, err)
	}
	p.warn()
	return p, nil
}

// addSteps adds the steps that have not been applied.
func (p *Plan) addSteps(ctx context.Context, conn *sqlx.Conn, migrations []sqlfs.Migration, facts doctor.Facts) error {
	type tableSize struct {
		Table string `db:"table_name"`
		Rows  int64  `db:"row_count"`
		Pages int64  `db:"pages"`
	}
	rows, err := call.SelectRows[tableSize](ctx, conn, doctor.Text("table_sizes"))
	if err != nil {
		return dberror.Translate("read the sizes of the tables", err)
	}
	sizes := map[string]tableSize{}
	for _, r := range rows {
		sizes[r.Table] = r
	}
	done, err := readProgress(ctx, conn)
	if err != nil {
		return err
	}
	for _, m := range migrations[p.Version:] {
		steps, err := m.Steps()
		if err != nil {
			return fmt.Errorf("read the embedded migrations: %w", err)
		}
		for _, s := range steps {
			if done.version == m.Version && s.Number <= done.steps {
				continue
			}
			planned := PlannedStep{Migration: m.Name, Step: s.Number, Of: len(steps)}
			if tables := s.Tables(); len(tables) == 1 {
				planned.Table = tables[0]
				planned.Rows, planned.MB = sizes[tables[0]].Rows, sizes[tables[0]].Pages/128
			}
			for _, st := range s.Statements {
				text, _, _ := strings.Cut(st.Text, "\n")
				lock, grows := lockOf(st, facts)
				planned.Statements = append(planned.Statements, PlannedStatement{Kind: st.Kind, Text: text, Lock: lock, Grows: grows, Size: st.Size})
			}
			p.Steps = append(p.Steps, planned)
		}
	}
	return nil
}

// lockOf says which lock of a statement makes others wait, and whether the time grows with the rows
// of the table (https://learn.microsoft.com/sql/t-sql/statements/alter-table-transact-sql, "Locks
// and ALTER TABLE"; https://learn.microsoft.com/sql/t-sql/statements/create-index-transact-sql,
// "ONLINE").
func lockOf(s sqlfs.Statement, f doctor.Facts) (lock string, grows bool) {
	switch {
	case s.New:
		return "none that others wait for: the table is new", false
	case s.Kind == sqlfs.CreateTable:
		return "Sch-M on the new table and on those that it refers to, for a moment", false
	case s.Kind == sqlfs.CreateIndex && f.Online():
		return "S for a moment at the begin and at the end: built online", false
	case s.Kind == sqlfs.CreateIndex:
		return "S while each row is read: writers wait", true
	case s.Kind == sqlfs.AddFilled && f.Online():
		return "Sch-M for a moment: only metadata changes", false
	case s.Kind == sqlfs.AddFilled:
		return "Sch-M while each row is written: all others wait", true
	case s.Kind == sqlfs.CheckRows:
		return "Sch-M while each row is read: all others wait", true
	case s.Kind == sqlfs.AlterColumn:
		return "Sch-M, for a moment if the type only becomes longer, else while each row is read", true
	case s.Kind == sqlfs.ChangeRows && s.Batches:
		return "X on the rows of one batch at a time", false
	case s.Kind == sqlfs.ChangeRows:
		return "X on the rows that change, until the step ends", true
	case s.Kind == sqlfs.ManyKinds:
		return "those of all its statements, until the step ends", true
	}
	return "Sch-M for a moment: only metadata changes", false
}

// warn adds the warnings.
func (p *Plan) warn() {
	var long []string
	for _, s := range p.Steps {
		if s.Rows < offlineRows || !slices.ContainsFunc(s.Statements, func(st PlannedStatement) bool { return st.Grows }) {
			continue
		}
		long = append(long, fmt.Sprintf("%s step %d (%s, %s)", s.Migration, s.Step, s.Table, wording.Count(int(s.Rows), "row")))
	}
	if len(long) > 0 {
		p.Warnings = append(p.Warnings, fmt.Sprintf("passes and outcomes wait during %s through a large table: %s; "+
			"agents keep their leases and repeat their calls; choose a time with little work", wording.Count(len(long), "step"), strings.Join(long, ", ")))
	}
	for _, a := range p.Agents {
		if a.Protocol > controldb.AgentProtocol {
			p.Warnings = append(p.Warnings, fmt.Sprintf("the agent on %s is newer than this program (protocol %d)", a.Host, a.Protocol))
		}
	}
}

// codeChanges returns the code objects that a deployment creates, replaces or drops: those of
// leases, and the others.
func codeChanges(
	objects []sqlfs.Object,
	deployed map[string]installed.Object,
	differs installed.Comparison,
) (lease, rest []sqlfs.Object, err error) {
	triggers, err := sqlfs.ReadOnly()
	if err != nil {
		return nil, nil, fmt.Errorf("read the embedded schema: %w", err)
	}
	differ := func(name string) bool {
		return slices.Contains(differs.Changed, name) || slices.Contains(differs.Missing, name)
	}
	known := map[string]bool{}
	for _, o := range objects {
		known[strings.ToLower(o.Name)] = true
		switch {
		case !o.Kind.IsCode() || !differ(o.Name):
		case slices.Contains(sqlfs.LeaseProcedures, o.Name):
			lease = append(lease, o)
		default:
			rest = append(rest, o)
		}
	}
	for _, o := range triggers {
		if differ(o.Name) || slices.Contains(differs.Missing, sqlfs.ViewOf(o)) {
			rest = append(rest, o)
		}
	}
	for key, d := range deployed {
		if !known[key] {
			rest = append(rest, sqlfs.Object{Name: d.Name, File: d.Name, Text: dropText(d.Kind, d.Name)})
		}
	}
	return lease, rest, nil
}
