package sqlfs

import (
	"io/fs"
	"regexp"
	"slices"
	"sort"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
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

var thrown = regexp.MustCompile(`\bTHROW ([0-9]{5})\b`)

// throws returns the numbers that a procedure throws, itself or in a procedure that it calls.
func throws(byName map[string]Description, name string, seen map[string]bool) []string {
	if seen[name] {
		return nil
	}
	seen[name] = true
	var numbers []string
	text := code(byName[name].Object)
	for _, m := range thrown.FindAllStringSubmatch(text, -1) {
		numbers = append(numbers, m[1])
	}
	for _, m := range regexp.MustCompile(`EXECUTE (?:@[a-z]+ = )?(jobs_internal\.[a-z_]+)`).FindAllStringSubmatch(text, -1) {
		numbers = append(numbers, throws(byName, m[1], seen)...)
	}
	slices.Sort(numbers)
	return slices.Compact(numbers)
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
			numbers := throws(byName, d.Name, map[string]bool{})
			// 50029 is about arguments that only a mistake of the caller makes invalid, and 50147
			// about the options of a session, so those of an inner procedure are not listed again.
			inner := slices.DeleteFunc(append([]string{}, numbers...), func(n string) bool {
				return (n == "50029" || n == "50147") && !slices.Contains(listed, n)
			})
			require.Equal(t, inner, listed, "Throws, in order")
		})
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
