package sqlfs

import (
	"io/fs"
	"regexp"
	"slices"
	"sort"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/testenv/tsqld/syntax"
)

// all returns the description of every object, by name.
func all(t *testing.T) ([]Description, map[string]Description) {
	t.Helper()
	list, err := DescribeAll()
	require.NoError(t, err)
	byName := map[string]Description{}
	for _, d := range list {
		byName[d.Name] = d
	}
	return list, byName
}

// code returns an object's text without its comments.
func code(o Object) string {
	return regexp.MustCompile(`(?m)--.*$`).ReplaceAllString(o.Text, "")
}

func TestInstallListsEveryFileOnce(t *testing.T) {
	list, _ := all(t)
	var listed []string
	for _, d := range list {
		require.NotContains(t, listed, d.File)
		listed = append(listed, d.File)
	}
	var present []string
	for _, folder := range []string{"schema", "users", "views", "procs", "roles"} {
		require.NoError(t, fs.WalkDir(files, folder, func(path string, d fs.DirEntry, err error) error {
			if err == nil && !d.IsDir() {
				present = append(present, path)
			}
			return err
		}))
	}
	sort.Strings(listed)
	sort.Strings(present)
	require.Equal(t, present, listed)
}

func TestMigrationsAreNumberedWithoutGaps(t *testing.T) {
	_, err := Migrations()
	require.NoError(t, err)
}

// TestInstallOrder: an object that a table, view or role needs at its creation comes before it.
// Procedures find the objects that they call at run time.
func TestInstallOrder(t *testing.T) {
	list, byName := all(t)
	reference := regexp.MustCompile(`\b(jobs(?:_internal)?\.[a-z_]+)\b`)
	var done []string
	for _, d := range list {
		if d.Kind != KindProcedure {
			for _, m := range reference.FindAllStringSubmatch(code(d.Object), -1) {
				if _, ok := byName[m[1]]; ok && m[1] != d.Name {
					require.Contains(t, done, m[1], "%s needs %s", d.File, m[1])
				}
			}
		}
		done = append(done, d.Name)
	}
}

func TestFileHoldsItsObject(t *testing.T) {
	list, _ := all(t)
	first := map[Kind]string{
		KindSchema: "CREATE SCHEMA ", KindTable: "CREATE TABLE ", KindView: "CREATE OR ALTER VIEW ",
		KindProcedure: "CREATE OR ALTER PROCEDURE ", KindRole: "IF DATABASE_PRINCIPAL_ID(N'",
		KindUser: "CREATE USER ",
	}
	for _, d := range list {
		t.Run(d.File, func(t *testing.T) {
			require.True(t, strings.HasPrefix(strings.TrimSpace(code(d.Object)), first[d.Kind]+d.Name), "the first statement")
			require.NotEmpty(t, d.Summary)
			require.NotRegexp(t, `(?m)^\s*GO\s*$`, d.Text)
			require.NotContains(t, d.Text, "\t")
			require.True(t, strings.HasSuffix(d.Text, ";\n"))
		})
	}
}

func TestBannedConstructs(t *testing.T) {
	list, _ := all(t)
	for _, d := range list {
		for _, banned := range []string{
			`(?i)\bNOLOCK\b`, `(?i)READ\s+UNCOMMITTED`, `(?i)\bGETDATE\b`, `(?i)\bSYSDATETIME\b`, `(?i)@@IDENTITY`, `(?i)\bRAISERROR\b`,
			`(?i)\bMERGE\b`, `(?i)\bCURSOR\b`, `(?i)\bWAITFOR\b`, `(?i)EXECUTE\s+AS\b`, `SELECT\s+\*`, `(?i)sp_executesql`,
		} {
			require.NotRegexp(t, banned, code(d.Object), d.File)
		}
	}
}

// throws returns the numbers that a procedure throws, itself or in an internal procedure that it
// calls. A writer (store_…) does what its parameter @mode says: mode is its value, and what happens
// in other modes only does not count.
func (r *tree) throws(name, mode string, seen map[string]bool) []string {
	if seen[name] {
		return nil
	}
	seen[name] = true
	var numbers []string
	var visit func(n syntax.Node)
	visit = func(n syntax.Node) {
		syntax.Inspect(n, func(n syntax.Node) bool {
			switch n := n.(type) {
			case *syntax.IfStmt:
				may, must := inMode(n.Cond, mode)
				if may {
					visit(n.Then)
				}
				if !must && n.Else != nil {
					visit(n.Else)
				}
				return false
			case *syntax.ThrowStmt:
				if number, ok := n.Number.(*syntax.Literal); ok {
					numbers = append(numbers, number.Text)
				}
			case *syntax.ExecStmt:
				if n.Module != nil && n.Module.Schema() == "jobs_internal" {
					called := ""
					for _, a := range n.Args {
						if text, ok := a.Value.(*syntax.Literal); ok && a.Name == "@mode" {
							called = text.Text
						}
					}
					numbers = append(numbers, r.throws(n.Module.String(), called, seen)...)
				}
			}
			return true
		})
	}
	if p := r.procedures[name]; p != nil {
		for _, s := range p.Body {
			visit(s)
		}
	}
	slices.Sort(numbers)
	return slices.Compact(numbers)
}

// inMode reports whether a condition may hold, and whether it must, in a mode of a writer; "" if
// the procedure is none, or is not called by a public procedure.
func inMode(c syntax.Cond, mode string) (may, must bool) {
	ofMode := func(x syntax.Expr) bool {
		v, ok := x.(*syntax.VarRef)
		return ok && v.Name == "@mode" && mode != ""
	}
	text := func(x syntax.Expr) string { return x.(*syntax.Literal).Text }
	switch c := c.(type) {
	case *syntax.ParenCond:
		return inMode(c.X, mode)
	case *syntax.CompareCond:
		if ofMode(c.X) {
			holds := (text(c.Y) == mode) == (c.Op == syntax.OpEQ)
			return holds, holds
		}
	case *syntax.InCond:
		if ofMode(c.X) {
			holds := slices.ContainsFunc(c.List, func(x syntax.Expr) bool { return text(x) == mode }) != c.Not
			return holds, holds
		}
	case *syntax.LogicCond:
		may1, must1 := inMode(c.X, mode)
		may2, must2 := inMode(c.Y, mode)
		if c.Op == syntax.OpAnd {
			return may1 && may2, must1 && must2
		}
		return may1 || may2, must1 || must2
	}
	return true, false
}

// callers returns the procedures that call one.
func (r *tree) callers(name string) []string {
	var list []string
	for other, called := range r.called {
		if slices.Contains(called, name) {
			list = append(list, other)
		}
	}
	return list
}

// others matches the names of the procedures whose errors a header does not repeat.
var others = regexp.MustCompile(`The errors of (sp_\w+) and (sp_\w+) are errors of this procedure`)

func TestThrowsDependOnTheMode(t *testing.T) {
	r := newTree(t, `CREATE OR ALTER PROCEDURE jobs_internal.store_thing
    @mode NVARCHAR(10)
AS
BEGIN
    IF @mode = N'Add' AND @mode IS NOT NULL
        THROW 50001, N'', 1;
    ELSE IF @mode <> N'Set'
        THROW 50002, N'', 1;
    IF @mode IN (N'Add', N'Set')
    BEGIN
        IF 1 = 1
            THROW 50003, N'', 1;
    END
    ELSE
        THROW 50004, N'', 1;
END;`, `CREATE OR ALTER PROCEDURE jobs.sp_add_thing AS EXECUTE jobs_internal.store_thing @mode = N'Add';`,
		`CREATE OR ALTER PROCEDURE jobs.sp_set_thing AS EXECUTE jobs_internal.store_thing @mode = N'Set';`,
		`CREATE OR ALTER PROCEDURE jobs.sp_update_thing AS EXECUTE jobs_internal.store_thing @mode = N'Update';`)
	for name, want := range map[string][]string{
		"jobs.sp_add_thing": {"50001", "50002", "50003"}, "jobs.sp_set_thing": {"50003"}, "jobs.sp_update_thing": {"50002", "50004"},
		"jobs_internal.store_thing": {"50001", "50002", "50003", "50004"},
	} {
		require.Equal(t, want, r.throws(name, "", map[string]bool{}), name)
	}
}

// TestCaseIsIgnoredByAnExplicitCollation: LOWER follows the database's collation, and
// LOWER(N'Inline') is not N'inline' in Turkish. Arguments in any case are therefore compared with
// COLLATE Latin1_General_100_CI_AS.
func TestCaseIsIgnoredByAnExplicitCollation(t *testing.T) {
	list, _ := all(t)
	for _, d := range list {
		text := regexp.MustCompile(`LOWER\([a-z_.@]+ COLLATE Latin1_General_100_CI_AS\)`).ReplaceAllString(code(d.Object), "")
		require.NotRegexp(t, `\b(LOWER|UPPER)\(`, text, d.File)
	}
}

func TestProcedureHeaders(t *testing.T) {
	list, byName := all(t)
	r := readTree(t)
	for _, d := range list {
		if d.Kind != KindProcedure {
			continue
		}
		t.Run(d.Name, func(t *testing.T) {
			require.Contains(t, d.Text, "\n    SET NOCOUNT ON;\n    SET XACT_ABORT ON;\n")
			require.NotEmpty(t, d.CalledBy)
			require.NotEmpty(t, d.Locks)
			require.NotEmpty(t, d.Returns)
			for _, section := range []string{"Parameters:", "Called by:", "Locks:", "Returns:", "Throws:"} {
				require.LessOrEqual(t, strings.Count(d.Text, "\n-- "+section), 1, section)
			}

			head, _, ok := strings.Cut(code(d.Object), "\nAS\n")
			require.True(t, ok)
			var declared, documented []string
			for _, m := range regexp.MustCompile(`(?m)^    (@[a-z0-9_]+) `).FindAllStringSubmatch(head, -1) {
				declared = append(declared, m[1])
			}
			for _, p := range d.Parameters {
				documented = append(documented, p.Name)
				require.NotEmpty(t, p.Text, p.Name)
				require.NotEmpty(t, p.Type, p.Name)
			}
			require.Equal(t, declared, documented)
			if i := slices.Index(declared, "@now"); i >= 0 {
				require.Equal(t, len(declared)-1, i, "@now comes last")
			}
			if strings.HasPrefix(d.Name, "jobs.") {
				require.NotContains(t, declared, "@now", "public signatures are Azure's")
			}

			listed := []string{}
			for _, e := range d.Throws {
				listed = append(listed, e.Name)
				require.NotEmpty(t, e.Text)
			}
			numbers := r.throws(d.Name, "", map[string]bool{})
			if m := others.FindStringSubmatch(d.Summary); m != nil {
				known := append(r.throws("jobs."+m[1], "", map[string]bool{}), r.throws("jobs."+m[2], "", map[string]bool{})...)
				numbers = slices.DeleteFunc(numbers, func(n string) bool { return slices.Contains(known, n) && !slices.Contains(listed, n) })
			}
			// 50029 is about arguments that only a mistake of the caller makes invalid, and 50147
			// about the options of a session, so those of an inner procedure are not listed again.
			inner := slices.DeleteFunc(append([]string{}, numbers...), func(n string) bool {
				return (n == "50029" || n == "50147") && !slices.Contains(listed, n)
			})
			if callers := r.callers(d.Name); strings.Contains(d.Text, "\n-- Throws:    the errors of its callers.\n") {
				for _, c := range callers {
					for _, e := range byName[c].Throws {
						listed = append(listed, e.Name)
					}
				}
				slices.Sort(listed)
				if !*update { // which may change the headers of the callers
					require.Equal(t, inner, slices.Compact(listed), "the errors of %v", callers)
				}
				return
			}
			if *update && !slices.Equal(inner, listed) {
				writeThrows(t, d, inner, list)
				return
			}
			require.Equal(t, inner, listed, "Throws, in order: run: go test ./sql -run TestProcedureHeaders -update")
		})
	}
}

// TestStepColumns: a setting of a step is copied to the next version, written, and part of the
// state by which the writer sees a change.
func TestStepColumns(t *testing.T) {
	_, byName := all(t)
	declared := regexp.MustCompile(`(?m)^    ([a-z_]+)\s+[A-Z]`).FindAllStringSubmatch(code(byName["jobs_internal.job_steps"].Object), -1)
	require.Greater(t, len(declared), 25)
	for _, m := range declared {
		name := m[1]
		if slices.Contains([]string{"job_id", "version", "step_id", "revision", "bind_parameters"}, name) { // the last is not used
			continue
		}
		column := regexp.MustCompile(`\bs\.` + name + `\b`)
		require.Regexp(t, column, code(byName["jobs_internal.copy_steps"].Object), "copy_steps does not copy it")
		state := code(byName["jobs_internal.state_of_step"].Object)
		if name == "target_group_id" { // the state has its name
			state = code(byName["jobs_internal.store_step"].Object)
		}
		require.Regexp(t, column, state, "state_of_step lacks it, so that a change of it would make no version")
		if !slices.Contains([]string{"has_after", "run_when", "on_targets"}, name) {
			require.Regexp(t, regexp.MustCompile(`\bs\.`+name+` = `), code(byName["jobs_internal.store_step"].Object), "store_step does not write it")
		}
	}
}

func TestTableColumnsAreDocumented(t *testing.T) {
	list, _ := all(t)
	for _, d := range list {
		if d.Kind != KindTable {
			continue
		}
		var documented []string
		for _, c := range d.Columns {
			for name := range strings.SplitSeq(c.Name, ",") {
				if name = strings.TrimSpace(name); name != "" {
					documented = append(documented, name)
				}
			}
		}
		var declared []string
		body := code(d.Object)
		for _, m := range regexp.MustCompile(`(?m)^    ([a-z_0-9]+)\s+[A-Z]`).FindAllStringSubmatch(body, -1) {
			declared = append(declared, m[1])
		}
		slices.Sort(declared)
		slices.Sort(documented)
		require.Equal(t, declared, documented, d.Name)
		require.NotRegexp(t, `(?i)\b(PRIMARY KEY|UNIQUE|FOREIGN KEY|CHECK|DEFAULT)\b`,
			regexp.MustCompile(`(?i)CONSTRAINT [A-Z]+_[a-z_]+\s+(PRIMARY KEY|UNIQUE|FOREIGN KEY|CHECK|DEFAULT)|CREATE UNIQUE INDEX`).ReplaceAllString(body, ""),
			"%s: every constraint has a name", d.Name)
	}
}

func TestReferenceNamesEverything(t *testing.T) {
	reference, err := Reference()
	require.NoError(t, err)
	list, _ := all(t)
	for _, d := range list {
		if d.Kind == KindSchema {
			continue
		}
		require.Contains(t, reference, "### "+d.Name+"\n")
		for _, e := range slices.Concat(d.Parameters, d.Columns) {
			require.Contains(t, reference, "| `"+e.Name+"` |", d.Name)
		}
	}
}

func FuzzDescribe(f *testing.F) {
	objects, err := Objects()
	if err != nil {
		f.Fatal(err)
	}
	for _, o := range objects {
		f.Add(o.Text)
	}
	f.Add("--\n-- Parameters:\n--   @a\n--\n")
	f.Fuzz(func(t *testing.T, text string) {
		d := Describe(Object{Kind: KindProcedure, Text: text})
		for _, e := range slices.Concat(d.Parameters, d.Columns, d.Throws) {
			if e.Name == "" {
				t.Errorf("an entry without a name in %q", text)
			}
		}
	})
}
