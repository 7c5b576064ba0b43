package controldb_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	mssqldb "github.com/microsoft/go-mssqldb"
	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/controldb/catalog"
	"github.com/jobagent/jobagent/controldb/dberror"
	"github.com/jobagent/jobagent/controldb/targetgroups"
	"github.com/jobagent/jobagent/controldb/timetable"
)

// uncutTexts are the texts with a length that need no check, with the reason.
var uncutTexts = map[string]string{
	"jobs_rest.get_job @name": "a name has at most 128 characters, so a text of 4,000 and more finds no job",
}

// textParameter is a parameter of a public procedure whose type has a length.
type textParameter struct {
	procedure, name, kind string
	length                int // of its type, in characters
	arguments             []string
}

// textParameters reads the parameters of all public procedures from the catalog.
func textParameters(t *testing.T, c *control) []textParameter {
	t.Helper()
	all := c.rows(t, `SELECT CONCAT(OBJECT_SCHEMA_NAME(p.object_id), N'.', OBJECT_NAME(p.object_id)), p.name, TYPE_NAME(p.system_type_id),
    p.max_length, CAST(p.is_output AS INT)
FROM sys.parameters AS p
INNER JOIN sys.procedures AS o ON o.object_id = p.object_id
WHERE OBJECT_SCHEMA_NAME(p.object_id) IN (N'jobs', N'jobs_rest')
ORDER BY p.object_id, p.parameter_id;`)
	arguments := map[string][]string{}
	var texts []textParameter
	for _, line := range all {
		var p textParameter
		var bytes, output int
		f := strings.Split(line, "|")
		p.procedure, p.name, p.kind = f[0], f[1], f[2]
		_, err := fmt.Sscan(f[3]+" "+f[4], &bytes, &output)
		require.NoError(t, err, line)
		if output == 0 {
			arguments[p.procedure] = append(arguments[p.procedure], p.name)
		}
		if !strings.HasSuffix(p.kind, "char") || bytes == -1 || output == 1 || uncutTexts[p.procedure+" "+p.name] != "" {
			continue
		}
		p.length = bytes / 2
		texts = append(texts, p)
	}
	for i := range texts {
		texts[i].arguments = arguments[texts[i].procedure]
	}
	return texts
}

// call returns a call with value for the parameter, and NULL for all others.
func (p textParameter) call(value string) string {
	var list []string
	for _, a := range p.arguments {
		if a == p.name {
			list = append(list, a+" = @text")
		} else {
			list = append(list, a+" = NULL")
		}
	}
	return "DECLARE @text NVARCHAR(MAX) = " + value + ";\nEXECUTE " + p.procedure + " " + strings.Join(list, ", ") + ";"
}

// TestNoTextIsCut calls each public procedure with texts that are longer than their limits. The
// procedures and their parameters come from the catalog, so a new one needs no entry here: SQL
// Server would cut its text to the length of the parameter, and the procedure must refuse a text
// of exactly this length.
func TestNoTextIsCut(t *testing.T) {
	each(t, func(t *testing.T, c *control) {
		const changes = `SELECT CONCAT((SELECT COUNT(*) FROM jobs_internal.audit_entries), N' ', (SELECT MAX(revision) FROM jobs_internal.jobs), N' ',
    (SELECT COUNT(*) FROM jobs_internal.jobs), N' ', (SELECT COUNT(*) FROM jobs_internal.settings));`
		c.exec(t, `EXEC jobs.sp_add_job N'j';`)
		before := get[string](t, c, changes)
		texts := textParameters(t, c)
		require.Greater(t, len(texts), 150)
		for _, p := range texts {
			require.Equal(t, "nvarchar", p.kind, "%s %s", p.procedure, p.name)
			limit := p.length - 1
			want := fmt.Sprintf("Invalid %s: want at most %d characters, not %d or more.", p.name, limit, limit+1)
			for _, value := range []string{
				fmt.Sprintf("REPLICATE(N'x', %d)", limit+1),
				fmt.Sprintf("CONCAT(N'x', REPLICATE(N' ', %d))", 2*limit), // = and LEN ignore blanks at the end
			} {
				require.Equal(t, want, c.fails(t, 50097, p.call(value)), "%s %s", p.procedure, p.name)
			}
			_, err := c.db.ExecContext(t.Context(), "BEGIN TRANSACTION;\n"+p.call(fmt.Sprintf("REPLICATE(N'x', %d)", limit))+"\nROLLBACK TRANSACTION;")
			var e mssqldb.Error
			if errors.As(err, &e) {
				require.NotEqual(t, int32(50097), e.Number, "%s %s: %s", p.procedure, p.name, e.Message)
			}
		}
		require.Equal(t, before, get[string](t, c, changes))
	})
}

// TestLongNamesAddressNothing repeats what the review of new users found: a name whose first 128
// characters are the name of another object.
func TestLongNamesAddressNothing(t *testing.T) {
	each(t, func(t *testing.T, c *control) {
		ctx := t.Context()
		name := strings.Repeat("x", 128)
		c.exec(t, `EXEC jobs.sp_add_job @p1; EXEC jobs.sp_add_target_group @p1; EXEC jobs.sp_add_calendar @p1, N'{"dates":["2030-12-24"]}';`, name)
		for label, err := range map[string]error{
			"delete job":          catalog.On(c.Store).DeleteJob(ctx, name+"y", true),
			"delete target group": targetgroups.On(c.Store).Delete(ctx, name+strings.Repeat("y", 372)),
			"delete calendar":     timetable.On(c.Store).DeleteCalendar(ctx, name+" "),
		} {
			require.Equal(t, dberror.KindInvalid, dberror.KindOf(err), label)
			require.Equal(t, int32(50097), dberror.NumberOf(err), "%s: %v", label, err)
			require.ErrorContains(t, err, "want at most 128 characters", label)
		}
		require.Equal(t, []string{"1|1|1"}, c.rows(t, `SELECT (SELECT COUNT(*) FROM jobs.jobs), (SELECT COUNT(*) FROM jobs.target_groups), (SELECT COUNT(*) FROM jobs.calendars);`))
	})
}
