package controldb_test

import (
	"fmt"
	"strings"
	"testing"
	"unicode"

	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/controldb"
	"github.com/jobagent/jobagent/jobs"
)

// TestNameRule tries names with every procedure that adds or renames an object. What a procedure
// refuses, doctor lists and jobs.CheckName refuses, and nothing else: the three have the same list
// of characters.
func TestNameRule(t *testing.T) {
	good := []string{"a", "...a", "a.b", ".a", "a/b", `a\b`, "a?b#c", "日本語 👨\u200d👩", "a  b", "a/.../b", "c:d", "é"}
	bad := []string{
		".", "..", "a.", "a..", "...", " a", "\u00a0a", "a\u00a0", "a/../b", `a\..\b`, "../a", "a/./b", "./a", "a/..", "a\nb", "\ta", "a\x1b[2J", "a\rb", "a\x01", "a\x7f",
		"a\u0080b", "a\u009b2J", "a\u009fb", "a\u202eb", "a\u202ab", "a\u2066b", "a\u2069b", "a\u200eb", "a\u200fb", "a\u061cb", "a\u200bb", "a\u2028b", "a\u2029b", "a\ufeffb",
		"a\u2060b", "a\u206fb", "a\u00adb", "a\u180eb", "a\ufff9b", "a\x00b",
	}
	each(t, func(t *testing.T, c *control) {
		c.job(t, "j", nil)
		_, err := c.AddJob(t.Context(), controldb.JobSpec{Name: "empty"})
		require.NoError(t, err)
		doors := map[string]string{ // @n is the name
			"job":                   `EXECUTE jobs.sp_add_job @job_name = @n;`,
			"job by upsert":         `EXECUTE jobs.sp_set_job @job_name = @n;`,
			"renamed job":           `EXECUTE jobs.sp_update_job @job_name = N'empty', @new_name = @n;`,
			"step":                  `EXECUTE jobs.sp_add_jobstep @job_name = N'empty', @step_name = @n, @command = N'SELECT 1', @target_group_name = N'g';`,
			"step by upsert":        `EXECUTE jobs.sp_set_jobstep @job_name = N'empty', @step_name = @n, @command = N'SELECT 1', @target_group_name = N'g';`,
			"renamed step":          `EXECUTE jobs.sp_update_jobstep @job_name = N'j', @step_id = 1, @new_name = @n;`,
			"schedule":              `EXECUTE jobs.sp_add_schedule @job_name = N'empty', @schedule_name = @n, @kind = N'cron5', @spec = N'{"cron": "0 0 * * *"}';`,
			"target group":          `EXECUTE jobs.sp_add_target_group @target_group_name = @n;`,
			"target group (upsert)": `EXECUTE jobs.sp_set_target_group @target_group_name = @n;`,
			"calendar":              `EXECUTE jobs.sp_add_calendar @calendar_name = @n, @spec = N'{"dates": ["2026-12-24"]}';`,
			"private endpoint":      `EXECUTE jobs.sp_set_private_endpoint @private_endpoint_name = @n, @target_server_resource_id = N'/x';`,
			"alert rule":            `EXECUTE jobs.sp_add_alert @alert_name = @n, @condition = N'NoAgent';`,
		}
		try := func(door, statement, name string) error {
			_, err := c.db.ExecContext(t.Context(), `BEGIN TRANSACTION; DECLARE @n NVARCHAR(128) = @p1; `+statement+` IF @@TRANCOUNT > 0 ROLLBACK;`, name)
			return err
		}
		for _, name := range bad {
			require.Error(t, jobs.CheckName(name), "%q", name)
		}
		for _, name := range good {
			require.NoError(t, jobs.CheckName(name), "%q", name)
		}
		for r := rune(1); r <= 0xffff; r++ { // the characters about which the lists could differ, and their neighbors
			if !unicode.In(r, unicode.C, unicode.Z) && !unicode.In(r+1, unicode.C, unicode.Z) || unicode.In(r, unicode.Cs, unicode.Co) {
				continue
			}
			name := "a" + string(r) + "b"
			ruled := try("check_name", `EXECUTE jobs_internal.check_name @name = @n, @parameter = N'@n';`, name)
			require.Equal(t, ruled == nil, jobs.CheckName(name) == nil, "U+%04X: %v", r, ruled)
		}
		for door, statement := range doors {
			for _, name := range bad {
				err := try(door, statement, name)
				require.ErrorContains(t, err, "Invalid @", "%s %q", door, name)
				require.NotContains(t, strings.Split(err.Error(), "'")[0], "\u202e", "the message has no hostile character")
			}
			for _, name := range good {
				require.NoError(t, try(door, statement, name), "%s %q", door, name)
			}
		}
		// Names that are older than the rule: doctor lists them, and they can be renamed and
		// deleted.
		require.Equal(t, controldb.SeverityOK, controldb.Worst(c.findings(t, controldb.CodeNames)))
		for i, name := range good {
			_, err := c.AddTargetGroup(t.Context(), name)
			require.NoError(t, err, i)
		}
		found := c.findings(t, controldb.CodeNames)
		require.Equal(t, controldb.SeverityOK, controldb.Worst(found), "%+v", found)
		for _, name := range good {
			c.exec(t, `EXECUTE jobs.sp_delete_target_group @target_group_name = @p1;`, name)
		}
		list := func(names ...string) {
			t.Helper()
			for _, name := range names {
				_, err := c.AddTargetGroup(t.Context(), "old")
				require.NoError(t, err)
				c.exec(t, `UPDATE g SET g.name = @p1 FROM jobs_internal.target_groups AS g WHERE g.name = N'old';`, name)
			}
			found = c.findings(t, controldb.CodeNames)
			require.Len(t, found, 1)
			require.Equal(t, controldb.SeverityWarning, found[0].Severity, "%q", names)
			require.Contains(t, found[0].Found, fmt.Sprintf("(%d): target group ", len(names)))
			for _, name := range names {
				c.exec(t, `EXECUTE jobs.sp_delete_target_group @target_group_name = @p1;`, name)
			}
		}
		var hidden []string // with a number each: collations compare without some of these characters
		for i, name := range bad {
			if strings.ContainsFunc(name, func(r rune) bool { return r < ' ' || r >= 0x7f && r != 0xa0 }) {
				hidden = append(hidden, fmt.Sprint(i, name))
			} else {
				list(name)
			}
		}
		list(hidden...)
		c.exec(t, `UPDATE j SET j.name = N'..' FROM jobs_internal.jobs AS j WHERE j.name = N'empty';`)
		c.exec(t, `EXECUTE jobs.sp_set_job @job_name = N'..', @description = N'an older object can be changed';`)
		require.NoError(t, c.UpdateJob(t.Context(), controldb.JobUpdate{Name: "..", NewName: ptr("renamed")}))
		require.Equal(t, controldb.SeverityOK, controldb.Worst(c.findings(t, controldb.CodeNames)))
	})
}
