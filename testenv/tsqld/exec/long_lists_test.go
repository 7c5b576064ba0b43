package exec

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/testenv/tsqld/session"
)

// Lists whose elements are looked for among each other have limits, and are cheap up to them.
func TestLongListsOfNames(t *testing.T) {
	t.Parallel()
	list := func(n int, separator, format string) string {
		var b strings.Builder
		for i := range n {
			if i > 0 {
				b.WriteString(separator)
			}
			fmt.Fprintf(&b, strings.ReplaceAll(format, "#", "%[1]d"), i)
		}
		return b.String()
	}
	const many = 50_000
	for name, c := range map[string]struct {
		text   string
		number int32
	}{
		"columns and ORDER BY": {"SELECT " + list(many, ", ", "# AS c#") + " ORDER BY " + list(many, ", ", "c#"), 1056},
		"parameters":           {"EXEC sp_executesql N'SELECT 1', N'" + list(many, ", ", "@p# int") + "', " + list(many, ", ", "@p# = #"), 180},
		"expressions":          {"WITH " + list(many, ", ", "c# AS (SELECT # AS a)") + " SELECT a FROM c1", 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			out := batchOutput(t, workSession(t, newInstance(t)), c.text)
			if c.number == 0 {
				require.NotContains(t, out, "Msg ")
				return
			}
			require.Contains(t, out, fmt.Sprintf("Msg %d, ", c.number))
		})
	}
}

// A canceled batch leaves the tables of its many table variables to the next batch that needs such
// tables, and a variable of the same name begins empty.
func TestVariablesOfACanceledBatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		inst, err := New(session.Config{SAPassword: "secret"})
		require.NoError(t, err)
		defer func() { require.NoError(t, inst.Close()) }()
		s := openSession(t, inst, session.Login{User: "sa", Password: "secret"})
		defer func() { require.NoError(t, s.Close()) }()
		const kept = 200 // tables that a connection keeps for table variables
		const many = kept + 100
		tables := func() int64 {
			row, err := s.Conn.QueryRow(t.Context(), "SELECT count(*) FROM main.sqlite_master WHERE type = 'table' AND name <> 'rowset'", nil)
			require.NoError(t, err)
			return row[0].(int64)
		}
		var declared, filled strings.Builder
		for i := range many {
			fmt.Fprintf(&declared, "DECLARE @v%d TABLE (a INT);\n", i)
			fmt.Fprintf(&filled, "INSERT @v%d VALUES (1);\n", i)
		}
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(time.Minute, func() { cancel(errAttention) })
		require.ErrorIs(t, s.Batch(ctx, declared.String()+filled.String()+"WAITFOR DELAY '01:00:00'", &recorder{}), errAttention)
		require.EqualValues(t, many, tables())
		for range 2 {
			require.Equal(t, "[n int]\n0\n(1)\n", must(t, s, declared.String()+fmt.Sprintf("SELECT COUNT(*) AS n FROM @v%d", many-1)))
			require.EqualValues(t, kept, tables())
		}
	})
}

// A definition that is canceled while it is compiled ends the request: the cancellation is not
// taken for an error in its text.
func TestDefinitionsAreCanceled(t *testing.T) {
	t.Parallel()
	inst := newInstance(t)
	check := func() {} // at each check of the request
	inst.Pool().OnCheck = func(int) { check() }
	s := workSession(t, inst)
	columns := strings.Repeat("1 + 1, ", 200) + "1"
	conditions := strings.Repeat("a > 1 + 1 AND ", 100) + "a > 1"
	for _, text := range []string{
		"CREATE VIEW dbo.v AS SELECT CONCAT(" + columns + ") AS a",
		"CREATE FUNCTION dbo.f () RETURNS TABLE AS RETURN SELECT CONCAT(" + columns + ") AS a",
		"CREATE FUNCTION dbo.g () RETURNS @t TABLE (a INT CHECK (" + conditions + ")) AS BEGIN RETURN END",
		"CREATE TABLE #t (a INT, CHECK (" + conditions + "))",
		"DECLARE @t TABLE (a INT CHECK (" + conditions + "))",
	} {
		for canceled := 0; ; canceled++ {
			ctx, cancel := context.WithCancelCause(t.Context())
			checks := 0
			check = func() {
				if checks++; checks > canceled {
					cancel(errAttention)
				}
			}
			err := s.Batch(ctx, fmt.Sprintf("/* %d */ %s", canceled, text), &recorder{})
			check = func() {}
			cancel(nil)
			if checks <= canceled || err == nil && checks == canceled+1 { // the last check was that of the end
				require.Positive(t, canceled, text)
				break
			}
			require.ErrorIs(t, err, errAttention, "%.50s: canceled at check %d of %d", text, canceled, checks)
		}
	}
}

// The first GOTO of a list searches it for the label; the others find it in an index.
func TestManyJumps(t *testing.T) {
	t.Parallel()
	out := batchOutput(t, workSession(t, newInstance(t)), `
		DECLARE @i INT = 0;
		first: SET @i += 1; PRINT CONCAT('first ', @i);
		IF @i < 3 GOTO FIRST;
		IF 1 = 1 BEGIN
			second: SET @i += 1; PRINT CONCAT('second ', @i);
			IF @i = 5 GOTO third;
		END
		IF @i < 7 GOTO Second;
		GOTO ende;
		WHILE 1 = 1 BEGIN
			third: SET @i += 1; PRINT CONCAT('third ', @i); GOTO second;
		END
		ende: PRINT 'end';`)
	require.Equal(t, "print: first 1\nprint: first 2\nprint: first 3\nprint: second 4\nprint: second 5\nprint: third 6\nprint: second 7\nprint: end\n", out)
}

// TestGrantsOfManyNames: what GRANT, DENY and REVOKE cost grows with their length, not with the
// product of their lists.
func TestGrantsOfManyNames(t *testing.T) {
	t.Parallel()
	inst := newInstance(t)
	s := workSession(t, inst)
	steps := 0
	inst.Pool().OnCheck = func(n int) { steps += n }
	var users, names, permissions strings.Builder
	for i := range 200 {
		fmt.Fprintf(&users, "CREATE USER u%d WITHOUT LOGIN; ", i)
		fmt.Fprintf(&names, ", u%d", i)
	}
	must(t, s, users.String())
	for i := range 20_000 {
		fmt.Fprintf(&permissions, ", P%d", i)
	}
	require.Contains(t, batchOutput(t, s, "GRANT "+permissions.String()[2:]+" TO "+names.String()[2:]), "more than 256 permissions")
	of := func(n int) string {
		return strings.Repeat("SELECT, ", n) + "INSERT TO " + strings.Repeat(names.String()[2:]+", ", n/200) + "public"
	}
	for _, action := range []string{"GRANT ", "DENY ", "REVOKE "} {
		steps = 0
		must(t, s, action+of(2000))
		short := steps
		steps = 0
		must(t, s, action+of(8000))
		require.Less(t, steps, 6*short, "%s: %d steps, %d with a quarter of the names", action, steps, short)
		want := map[string]int{"GRANT ": 2 * 201, "DENY ": 2 * 201, "REVOKE ": 0}[action]
		require.Equal(t, fmt.Sprintf("[n int]\n%d\n(1)\n", want),
			must(t, s, "SELECT COUNT(*) AS n FROM sys.database_permissions WHERE permission_name IN ('SELECT', 'INSERT') AND class = 0"), action)
	}
}
