package sqlfs

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// StatementKind says what a statement of a migration does, as far as locks and durations differ.
type StatementKind string

// The kinds of statements.
const (
	CreateTable   StatementKind = "create table"
	AddColumn     StatementKind = "add column"              // NULL is allowed
	AddFilled     StatementKind = "add column with a value" // NOT NULL with a default
	AlterColumn   StatementKind = "alter column"            //
	CheckRows     StatementKind = "add checked constraint"  // reads all rows
	CreateIndex   StatementKind = "create index"            // or build it again
	ChangeRows    StatementKind = "change rows"             // INSERT, UPDATE, DELETE
	AlterMetadata StatementKind = "change metadata"         // drops, options, schemas, users
	ManyKinds     StatementKind = "several, with variables" // a batch that cannot be divided
)

// LongTables are the tables whose rows grow with runs, targets and calls. A statement whose
// duration depends on their rows needs a comment "-- size:".
var LongTables = []string{
	"jobs_internal.job_executions", "jobs_internal.step_executions", "jobs_internal.target_queues",
	"jobs_internal.target_executions", "jobs_internal.task_executions", "jobs_internal.task_messages",
	"jobs_internal.callbacks", "jobs_internal.audit_entries",
}

// LeaseTable is the table that a renewal of a lease writes to. It is changed by steps of its own,
// so that no lease waits for another table.
const LeaseTable = "jobs_internal.terms"

// LeaseProcedures are the procedures that a renewal of a lease executes. They read and write no
// other table than LeaseTable, and call no other procedure.
var LeaseProcedures = []string{"jobs_internal.renew_term"}

// Statement is one statement of a migration.
type Statement struct {
	// Text is the statement with its semicolon and without the comments above it.
	Text string
	// Line is the line in the file, from 1.
	Line int
	Kind StatementKind
	// Table is the table with its schema; empty for a schema or a user.
	Table string
	// Index is the name of the index; only for CreateIndex.
	Index string
	// New is true if the migration itself creates the table, which therefore has no rows.
	New bool
	// Size is the text of the comment "-- size:" above the statement: how its duration grows with
	// the table.
	Size string
	// Batches is true if a comment "-- batches:" is above the statement, which changes a bounded
	// number of rows and is repeated until it changes none.
	Batches bool
}

// Step is the part of a migration that takes effect as a whole. A step of several statements is one
// transaction, with each statement as a batch. An index of a table that exists is a step of its own
// without a transaction, because a transaction would keep the locks of an online build; so is
// each statement that is repeated.
type Step struct {
	// Number counts from 1 within the migration.
	Number     int
	Statements []Statement
}

// Single reports whether the step is a statement that runs outside of a transaction.
func (s Step) Single() bool {
	only := s.Statements[0]
	return len(s.Statements) == 1 && (only.Batches || only.Kind == CreateIndex && !only.New)
}

// Tables returns the names of the step's tables.
func (s Step) Tables() []string {
	var names []string
	for _, st := range s.Statements {
		if st.Table != "" && !slices.Contains(names, st.Table) {
			names = append(names, st.Table)
		}
	}
	return names
}

// Steps divides a migration into steps. Statements about the same table that follow each other are
// one step, so that a constraint is checked in the transaction that has filled its column. Each
// index of an existing table is a step. So no transaction holds the locks of two tables that exist.
// A migration with variables or control flow is one step. sp_executesql with a constant text stands
// for the statements in it, since each statement is a batch anyway.
func (m Migration) Steps() ([]Step, error) {
	all, err := splitStatements(m.Text, 1)
	if err != nil {
		return nil, fmt.Errorf("migrations/%s.sql: %w", m.Name, err)
	}
	if slices.ContainsFunc(all, func(s Statement) bool { return controlFlow.MatchString(s.Text) }) {
		return []Step{{Number: 1, Statements: []Statement{{Text: m.Text, Line: 1, Kind: ManyKinds}}}}, nil
	}
	created := map[string]bool{}
	var steps []Step
	for _, s := range all {
		if s.Kind == CreateTable {
			created[s.Table] = true
		}
		s.New = created[s.Table]
		alone := func(s Statement) bool {
			return s.Table == "" || s.Batches || s.Kind == CreateIndex && !s.New
		}
		if n := len(steps); n > 0 {
			last := &steps[n-1]
			before := last.Statements[len(last.Statements)-1]
			if before.Table == s.Table && !alone(s) && !alone(before) {
				last.Statements = append(last.Statements, s)
				continue
			}
		}
		steps = append(steps, Step{Number: len(steps) + 1, Statements: []Statement{s}})
	}
	if len(steps) == 0 {
		return nil, fmt.Errorf("migrations/%s.sql has no statement", m.Name)
	}
	return steps, nil
}

var (
	// controlFlow matches the beginning of a statement that cannot stand alone.
	controlFlow = regexp.MustCompile(`(?i)^(DECLARE|SET\s+@|IF|ELSE|WHILE|BEGIN|END|RETURN|THROW)\b`)
	// constantBatch matches sp_executesql with one constant.
	constantBatch = regexp.MustCompile(`(?is)^EXEC(?:UTE)?\s+(?:sys\.)?sp_executesql\s+N'(.*)';$`)

	createTable   = regexp.MustCompile(`(?i)^CREATE\s+TABLE\s+([\w.]+)`)
	createIndex   = regexp.MustCompile(`(?i)^CREATE\s+(?:UNIQUE\s+)?INDEX\s+(\w+)\s+ON\s+([\w.]+)`)
	rebuildIndex  = regexp.MustCompile(`(?i)^ALTER\s+INDEX\s+(\w+)\s+ON\s+([\w.]+)\s+REBUILD\b`)
	dropIndex     = regexp.MustCompile(`(?i)^DROP\s+INDEX\s+\w+\s+ON\s+([\w.]+)`)
	alterTable    = regexp.MustCompile(`(?i)^ALTER\s+TABLE\s+([\w.]+)\s+(.*)`)
	checkedRows   = regexp.MustCompile(`(?is)^(?:WITH\s+CHECK\s+)?ADD\s+CONSTRAINT\b.*\b(?:CHECK|FOREIGN\s+KEY|UNIQUE|PRIMARY\s+KEY)\b`)
	filledColumn  = regexp.MustCompile(`(?is)^ADD\b.*\bNOT\s+NULL\b`)
	insertOf      = regexp.MustCompile(`(?i)^INSERT\s+(?:INTO\s+)?([\w.]+)`)
	changedAlias  = regexp.MustCompile(`(?i)\b(?:UPDATE|DELETE)\s+(?:TOP\s*\([^)]*\)\s+)?(?:FROM\s+)?([\w.]+)`)
	rowsStatement = regexp.MustCompile(`(?i)^(?:INSERT|UPDATE|DELETE|WITH)\b`)
	tableAlias    = regexp.MustCompile(`(?i)\b(jobs_internal\.\w+)\s+AS\s+(\w+)`)
)

// classify sets Kind, Table and Index.
func (s *Statement) classify() {
	text := s.Text
	s.Kind = AlterMetadata
	if m := createTable.FindStringSubmatch(text); m != nil {
		s.Kind, s.Table = CreateTable, m[1]
		return
	}
	if m := createIndex.FindStringSubmatch(text); m != nil {
		s.Kind, s.Index, s.Table = CreateIndex, m[1], m[2]
		return
	}
	if m := rebuildIndex.FindStringSubmatch(text); m != nil {
		s.Kind, s.Index, s.Table = CreateIndex, m[1], m[2]
		return
	}
	if m := dropIndex.FindStringSubmatch(text); m != nil {
		s.Table = m[1]
		return
	}
	if m := alterTable.FindStringSubmatch(strings.ReplaceAll(text, "\n", " ")); m != nil {
		s.Table = m[1]
		switch what := m[2]; {
		case checkedRows.MatchString(what):
			s.Kind = CheckRows
		case filledColumn.MatchString(what):
			s.Kind = AddFilled
		case strings.HasPrefix(strings.ToUpper(what), "ADD"):
			s.Kind = AddColumn
		case strings.HasPrefix(strings.ToUpper(what), "ALTER COLUMN"):
			s.Kind = AlterColumn
		}
		return
	}
	if !rowsStatement.MatchString(text) {
		return
	}
	s.Kind = ChangeRows
	if m := insertOf.FindStringSubmatch(text); m != nil {
		s.Table = m[1]
		return
	}
	if m := changedAlias.FindStringSubmatch(text); m != nil {
		s.Table = m[1]
		for _, a := range tableAlias.FindAllStringSubmatch(text, -1) {
			if strings.EqualFold(a[2], m[1]) {
				s.Table = a[1]
			}
		}
	}
}

// splitStatements divides a batch at the semicolons that end statements. line is that of its first
// line.
func splitStatements(text string, line int) ([]Statement, error) {
	var all []Statement
	var s Statement
	begin, depth := -1, 0
	for i := 0; i < len(text); {
		rest := text[i:]
		next := 1
		switch {
		case strings.HasPrefix(rest, "--"):
			comment, _, _ := strings.Cut(rest, "\n")
			next = len(comment)
			if begin < 0 {
				s.answer(comment)
			}
		case strings.HasPrefix(rest, "/*"):
			end := strings.Index(rest, "*/")
			if end < 0 {
				return nil, fmt.Errorf("line %d: a comment is not closed", line)
			}
			next = end + 2
		case rest[0] == '\n' || rest[0] == '\r' || rest[0] == ' ' || rest[0] == '\t':
		default:
			if begin < 0 {
				begin, s.Line = i, line
			}
			switch rest[0] {
			case '\'':
				end := stringEnd(rest)
				if end < 0 {
					return nil, fmt.Errorf("line %d: a string is not closed", line)
				}
				next = end
			case '(':
				depth++
			case ')':
				depth--
			case ';':
				if depth != 0 {
					return nil, fmt.Errorf("line %d: a semicolon within parentheses", line)
				}
				s.Text = text[begin : i+1]
				more, err := s.expand()
				if err != nil {
					return nil, err
				}
				all = append(all, more...)
				s, begin = Statement{}, -1
			}
		}
		line += strings.Count(rest[:next], "\n")
		i += next
	}
	if begin >= 0 {
		return nil, fmt.Errorf("line %d: a statement without a semicolon", s.Line)
	}
	return all, nil
}

// answer reads the comments "-- size:" and "-- batches:" above a statement.
func (s *Statement) answer(comment string) {
	text := strings.TrimSpace(strings.TrimPrefix(comment, "--"))
	if size, ok := strings.CutPrefix(text, "size:"); ok {
		s.Size = strings.TrimSpace(size)
	}
	s.Batches = s.Batches || strings.HasPrefix(text, "batches:")
}

// expand returns the statements of a constant batch, or the statement itself.
func (s Statement) expand() ([]Statement, error) {
	if m := constantBatch.FindStringSubmatch(s.Text); m != nil {
		return splitStatements(strings.ReplaceAll(m[1], "''", "'"), s.Line)
	}
	s.classify()
	return []Statement{s}, nil
}

// stringEnd returns the length of the string at the beginning of text, or -1.
func stringEnd(text string) int {
	for i := 1; i < len(text); i++ {
		if text[i] != '\'' {
			continue
		}
		if i+1 < len(text) && text[i+1] == '\'' {
			i++
			continue
		}
		return i + 1
	}
	return -1
}

// Online returns the text of a CreateIndex with ONLINE = ON, for an edition that permits it. With
// lowPriority, the locks at the begin and the end of the build wait at low priority for a minute,
// so that nobody queues behind them (SQL Server 2022 and later, Azure SQL;
// https://learn.microsoft.com/sql/t-sql/statements/create-index-transact-sql,
// "WAIT_AT_LOW_PRIORITY").
func (s Statement) Online(lowPriority bool) string {
	option := "ONLINE = ON"
	if lowPriority {
		option += " (WAIT_AT_LOW_PRIORITY (MAX_DURATION = 1 MINUTES, ABORT_AFTER_WAIT = SELF))"
	}
	text := strings.TrimSuffix(s.Text, ";")
	if i := strings.LastIndex(text, "WITH ("); i >= 0 && strings.HasSuffix(text, ")") && !strings.Contains(text[i:], "ONLINE") {
		return text[:len(text)-1] + ", " + option + ");"
	}
	return text + "\n    WITH (" + option + ");"
}
