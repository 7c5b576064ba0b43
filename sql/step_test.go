package sqlfs

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/testenv/tsqld/syntax"
)

// unannotated is the last migration without comments about sizes. Earlier files are immutable.
const unannotated = 21

// migrationFaults finds what would make a migration block agents for long, or surprise whoever
// runs it.
func migrationFaults(m Migration) []string {
	steps, err := m.Steps()
	if err != nil {
		return []string{err.Error()}
	}
	var found []string
	fault := func(s Statement, format string, args ...any) {
		found = append(found, fmt.Sprintf("line %d: ", s.Line)+fmt.Sprintf(format, args...))
	}
	for _, step := range steps {
		for _, s := range step.Statements {
			if s.Kind == ManyKinds {
				for _, table := range append([]string{LeaseTable}, LongTables...) {
					if regexp.MustCompile(`\b` + regexp.QuoteMeta(table) + `\b`).MatchString(s.Text) {
						fault(s, "a migration with variables is one transaction, and must not use %s", table)
					}
				}
				continue
			}
			if s.Table != LeaseTable && regexp.MustCompile(`(?i)REFERENCES\s+`+regexp.QuoteMeta(LeaseTable)+`\b`).MatchString(s.Text) {
				fault(s, "a foreign key on %s locks it", LeaseTable)
			}
			if slices.Contains(LongTables, s.Table) && scans(s) && s.Size == "" {
				fault(s, "%s on %s needs a comment -- size:", s.Kind, s.Table)
			}
			if slices.Contains(LongTables, s.Table) && s.Kind == ChangeRows && !s.New && !s.Batches {
				fault(s, "a change of all rows of %s needs a comment -- batches:, and TOP", s.Table)
			}
			if s.Batches && !regexp.MustCompile(`(?i)^(?:WITH\b.*)?(?:UPDATE|DELETE)\s+TOP\s*\(\d+\)`).MatchString(strings.ReplaceAll(s.Text, "\n", " ")) {
				fault(s, "a statement that is repeated needs TOP (n)")
			}
		}
	}
	return found
}

// scans reports whether the statement reads or writes every row of its table in an edition of SQL
// Server without online operations.
func scans(s Statement) bool {
	switch s.Kind {
	case AddFilled, AlterColumn, CheckRows, CreateIndex, ChangeRows, ManyKinds:
		return !s.New
	}
	return false
}

// TestMigrationsDoNotBlockAgents: see the rules of migrations in DESIGN.md.
func TestMigrationsDoNotBlockAgents(t *testing.T) {
	all, err := Migrations()
	require.NoError(t, err)
	for _, m := range all[min(unannotated, len(all)):] {
		require.Empty(t, migrationFaults(m), m.Name)
	}
	bad := func(name string) []string {
		text, err := os.ReadFile("testdata/" + name + ".sql")
		require.NoError(t, err)
		return migrationFaults(Migration{Name: name, Text: string(text)})
	}
	require.Equal(t, []string{
		"line 1: a migration with variables is one transaction, and must not use jobs_internal.terms",
		"line 1: a migration with variables is one transaction, and must not use jobs_internal.job_executions",
	}, bad("bad_migration"))
	require.Equal(t, []string{
		"line 2: add column with a value on jobs_internal.job_executions needs a comment -- size:",
		"line 3: add checked constraint on jobs_internal.target_executions needs a comment -- size:",
		"line 7: create index on jobs_internal.task_messages needs a comment -- size:",
		"line 8: change rows on jobs_internal.task_messages needs a comment -- size:",
		"line 8: a change of all rows of jobs_internal.task_messages needs a comment -- batches:, and TOP",
		"line 11: change rows on jobs_internal.callbacks needs a comment -- size:",
		"line 11: a statement that is repeated needs TOP (n)",
		"line 12: a foreign key on jobs_internal.terms locks it",
	}, bad("bad_sizes"))
}

// describeSteps describes the steps of a migration, a line each.
func describeSteps(t *testing.T, m Migration) []string {
	t.Helper()
	steps, err := m.Steps()
	require.NoError(t, err)
	var lines []string
	for _, s := range steps {
		line := fmt.Sprint(s.Number)
		if s.Single() {
			line += " alone"
		}
		for _, st := range s.Statements {
			line += fmt.Sprintf(" | %d %s %s", st.Line, st.Kind, strings.TrimPrefix(st.Table, "jobs_internal."))
		}
		lines = append(lines, line)
	}
	return lines
}

// TestStepsLockOneTable: no step of any migration changes the definition of two tables that exist,
// every statement of a step is T-SQL, and together they are the whole file.
func TestStepsLockOneTable(t *testing.T) {
	all, err := Migrations()
	require.NoError(t, err)
	for _, m := range all {
		steps, err := m.Steps()
		require.NoError(t, err)
		length := 0
		for _, s := range steps {
			require.LessOrEqual(t, len(s.Tables()), 1, "%s, step %d", m.Name, s.Number)
			for _, st := range s.Statements {
				parse(t, st.Text)
				length += len(st.Text)
				if st.Kind == CreateIndex {
					parse(t, st.Online(false))
					parse(t, st.Online(true))
					require.Regexp(t, `WITH \((DROP_EXISTING = ON, |FILLFACTOR = \d+, )?ONLINE = ON \(`, st.Online(true))
					require.Equal(t, 1, strings.Count(st.Online(true), "ONLINE"))
				}
			}
		}
		code := regexp.MustCompile(`(?m)^\s*--.*\n`).ReplaceAllString(m.Text, "")
		if len(steps) > 1 {
			code = regexp.MustCompile(`(?s)EXECUTE sys\.sp_executesql N'(.*?)';(\n|$)`).ReplaceAllStringFunc(code, func(text string) string {
				return strings.ReplaceAll(strings.TrimSuffix(strings.TrimPrefix(strings.TrimSpace(text), "EXECUTE sys.sp_executesql N'"), "';"), "''", "'")
			})
			require.Equal(t, len(regexp.MustCompile(`\s`).ReplaceAllString(code, "")), func() (n int) {
				for _, s := range steps {
					for _, st := range s.Statements {
						n += len(regexp.MustCompile(`\s`).ReplaceAllString(regexp.MustCompile(`(?m)^\s*--.*\n`).ReplaceAllString(st.Text, ""), ""))
					}
				}
				return n
			}(), m.Name)
		}
		require.Positive(t, length)
	}
	require.Equal(t, []string{
		"1 | 2 change metadata step_commands | 3 add checked constraint step_commands",
		"2 | 8 change metadata job_steps | 9 add checked constraint job_steps",
		"3 | 12 add column with a value terms | 14 change rows terms",
		"4 | 19 add column with a value job_executions",
		"5 | 20 add column with a value step_executions",
		"6 | 21 add column with a value target_executions",
		"7 | 22 add column task_executions",
		"8 | 24 add checked constraint job_executions",
		"9 | 26 add checked constraint step_executions",
		"10 | 28 change metadata job_executions",
		"11 alone | 29 create index job_executions",
		"12 alone | 32 create index job_executions",
		"13 alone | 34 create index step_executions",
		"14 | 38 change metadata target_executions | 39 add checked constraint target_executions",
		"15 alone | 46 create index target_executions",
		"16 | 49 change metadata task_executions | 50 add checked constraint task_executions",
		"17 | 58 change metadata task_messages | 59 alter column task_messages | 60 add checked constraint task_messages",
		"18 | 64 create table callbacks | 91 create index callbacks | 93 create index callbacks | 95 create index callbacks | 97 create index callbacks | 101 change metadata callbacks",
	}, describeSteps(t, all[4]))
}

// TestSplitStatements: semicolons end statements only outside of comments and strings.
func TestSplitStatements(t *testing.T) {
	steps, err := Migration{Text: "/* a; */ UPDATE a SET b = N'c;''d' -- e;\n;\nDELETE FROM b;"}.Steps()
	require.NoError(t, err)
	require.Len(t, steps, 2)
	require.Equal(t, []Statement{{Text: "UPDATE a SET b = N'c;''d' -- e;\n;", Line: 1, Kind: ChangeRows, Table: "a"}}, steps[0].Statements)
	require.Equal(t, []Statement{{Text: "DELETE FROM b;", Line: 3, Kind: ChangeRows, Table: "b"}}, steps[1].Statements)
	for _, bad := range []string{"SELECT 'a;", "/* a", "SELECT (1;", "SELECT 1", "-- a"} {
		_, err := Migration{Name: "m", Text: bad}.Steps()
		require.ErrorContains(t, err, "migrations/m.sql", bad)
	}
}

// TestLeaseProcedures: a renewal of a lease uses the table of terms and nothing else, so that it
// never waits for another step of a deployment.
func TestLeaseProcedures(t *testing.T) {
	r := readTree(t)
	for _, name := range LeaseProcedures {
		p := r.procedures[name]
		require.NotNil(t, p, name)
		syntax.Inspect(p, func(n syntax.Node) bool {
			switch n := n.(type) {
			case *syntax.TableName:
				if n.Name.String() != "t" {
					require.Equal(t, LeaseTable, n.Name.String(), name)
				}
			case *syntax.ExecStmt:
				t.Errorf("%s calls another procedure", name)
			}
			return true
		})
	}
}

// TestGrants: the files of roles grant what the matrix of permissions has.
func TestGrants(t *testing.T) {
	grants, err := Grants()
	require.NoError(t, err)
	require.Contains(t, grants, Grant{Permission: "SELECT", Class: "SCHEMA", Name: "jobs", Role: "jobs_reader"})
	require.Contains(t, grants, Grant{Permission: "IMPERSONATE", Class: "USER", Name: "jobagent_admin", Role: "jobs_front"})
	lines := 0
	all, err := Objects()
	require.NoError(t, err)
	for _, o := range all {
		if o.Kind == KindRole {
			lines += strings.Count(o.Text, "\nGRANT ")
		}
	}
	require.Len(t, grants, lines)
}
