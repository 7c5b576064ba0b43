package controldb_test

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode"

	mssql "github.com/microsoft/go-mssqldb"
	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/controldb/catalog"
	"github.com/jobagent/jobagent/controldb/dberror"
	"github.com/jobagent/jobagent/controldb/doctor"
	"github.com/jobagent/jobagent/controldb/targetgroups"
	"github.com/jobagent/jobagent/jobs"
	"github.com/jobagent/jobagent/jobs/model"
	"github.com/jobagent/jobagent/targets"
	"github.com/jobagent/jobagent/testenv"
)

// TestNameRule tries names with every procedure that adds or renames an object. What a procedure
// refuses, doctor lists and jobs.CheckName refuses, and nothing else: the three have the same list
// of characters.
func TestNameRule(t *testing.T) {
	testenv.Long(t)
	good := []string{"a", "...a", "a.b", ".a", "a/b", `a\b`, "a?b#c", "日本語 👨\u200d👩", "🚀 a 🚀", "a  b", "a/.../b", "c:d", "é"}
	bad := []string{
		".", "..", "a.", "a..", "...", " a", "\u00a0a", "a\u00a0", "a/../b", `a\..\b`, "../a", "a/./b", "./a", "a/..", "a\nb", "\ta", "a\x1b[2J", "a\rb", "a\x01", "a\x7f",
		"a\u0080b", "a\u009b2J", "a\u009fb", "a\u202eb", "a\u202ab", "a\u2066b", "a\u2069b", "a\u200eb", "a\u200fb", "a\u061cb", "a\u200bb", "a\u2028b", "a\u2029b", "a\ufeffb",
		"a\u2060b", "a\u206fb", "a\u00adb", "a\u180eb", "a\ufff9b", "a\x00b",
	}
	each(t, func(t *testing.T, c *control) {
		c.job(t, "j", nil)
		_, err := catalog.On(c.Store).AddJob(t.Context(), model.JobSpec{Name: "empty"})
		require.NoError(t, err)
		doors := map[string]string{ // @n is the name
			"job":                   `EXECUTE jobs.sp_add_job @job_name = @n;`,
			"job by upsert":         `EXECUTE jobs.sp_set_job @job_name = @n;`,
			"renamed job":           `EXECUTE jobs.sp_update_job @job_name = N'empty', @new_name = @n;`,
			"step":                  `EXECUTE jobs.sp_add_jobstep @job_name = N'empty', @step_name = @n, @command = N'SELECT 1', @target_group_name = N'g';`,
			"step by upsert":        `EXECUTE jobs.sp_set_jobstep @job_name = N'empty', @step_name = @n, @command = N'SELECT 1', @target_group_name = N'g';`,
			"renamed step":          `EXECUTE jobs.sp_update_jobstep @job_name = N'j', @step_id = 1, @new_name = @n;`,
			"schedule":              `EXECUTE jobs.sp_add_schedule @job_name = N'empty', @schedule_name = @n, @kind = N'cron5', @spec = N'{"cron": "0 0 * * *"}';`,
			"trigger":               `EXECUTE jobs.sp_add_job_trigger @job_name = N'empty', @trigger_name = @n, @upstream_jobs = N'["j"]';`,
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
		// Without the long tests, each procedure tries a third of the names, and each name meets a
		// third of the procedures. All of them call check_name, which has met all characters above.
		third := 0
		sample := func(names []string) (some []string) {
			for i, name := range names {
				if testenv.IsLong() || i%3 == third%3 {
					some = append(some, name)
				}
			}
			return some
		}
		for _, door := range slices.Sorted(maps.Keys(doors)) {
			statement := doors[door]
			third++
			for _, name := range sample(bad) {
				err := try(door, statement, name)
				require.ErrorContains(t, err, "Invalid @", "%s %q", door, name)
				require.NotContains(t, strings.Split(err.Error(), "'")[0], "\u202e", "the message has no hostile character")
			}
			for _, name := range sample(good) {
				require.NoError(t, try(door, statement, name), "%s %q", door, name)
			}
		}
		// Names that are older than the rule: doctor lists them, and they can be renamed and
		// deleted.
		require.Equal(t, doctor.SeverityOK, doctor.Worst(c.findings(t, doctor.CodeNames)))
		for i, name := range good {
			_, err := targetgroups.On(c.Store).Add(t.Context(), name)
			require.NoError(t, err, i)
		}
		found := c.findings(t, doctor.CodeNames)
		require.Equal(t, doctor.SeverityOK, doctor.Worst(found), "%+v", found)
		for _, name := range good {
			c.exec(t, `EXECUTE jobs.sp_delete_target_group @target_group_name = @p1;`, name)
		}
		list := func(names ...string) {
			t.Helper()
			for _, name := range names {
				_, err := targetgroups.On(c.Store).Add(t.Context(), "old")
				require.NoError(t, err)
				c.exec(t, `UPDATE g SET g.name = @p1 FROM jobs_internal.target_groups AS g WHERE g.name = N'old';`, name)
			}
			found = c.findings(t, doctor.CodeNames)
			require.Len(t, found, 1)
			require.Equal(t, doctor.SeverityWarning, found[0].Severity, "%q", names)
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
		require.NoError(t, catalog.On(c.Store).UpdateJob(t.Context(), model.JobSpec{Name: "..", NewName: ptr("renamed")}))
		require.Equal(t, doctor.SeverityOK, doctor.Worst(c.findings(t, doctor.CodeNames)))
	})
}

// TestExternalNames tries names of servers, databases and logins with every procedure that takes
// them. What a procedure refuses, doctor lists. Of servers, targets.CheckServer refuses the same,
// so that no run fails because of the form of a name.
func TestExternalNames(t *testing.T) {
	testenv.Long(t)
	servers := []string{
		"s", "server1.database.windows.net", "tcp:s", "TCP:S,1433", "s,14330", `s\inst`, `s\inst,5`, ".", "(local)", `\inst`, `.\inst`, "10.0.0.1", "[::1],1433", "::1", "fe80::1%eth0",
		"under_score", "日本", "s,65535", "s , 1433", "s,00001433", "a$b",
	}
	wrong := []string{
		"s;Encrypt=no", "s=t", "s'", `s"`, "{s}", "*.example.com", "s,", "s,x", "s,-1", "s,+1", "s,0", "s,65536", "s,1,2", "s,99999999999", `s\`, `s\a\b`, `\`, "np:s", "lpc:s", "admin:s", "tcp:", "a b", "a/b", "a@b",
		"[::1", "a[b]", "http://s", "::zz", ",1433",
	}
	names := []string{"d", "a.", "a/../b", "a;b", "日本 👨\u200d👩", "..", `it's "x"`, "[a]", "50%"}
	hidden := []string{"a\nb", "a\rb", "a\tb", "\x01a", "a\x7f", "a\u0085b", "a\u202eb", "a\u200bb", "a\ufeffb", "a\u00adb", "a\u2028b"}
	for _, name := range servers {
		require.NoError(t, targets.CheckServer(name), "%q", name)
	}
	for _, name := range wrong {
		require.Error(t, targets.CheckServer(name), "%q", name)
	}
	each(t, func(t *testing.T, c *control) {
		c.job(t, "j", nil)
		add := `EXECUTE jobs.sp_add_target_group_member N'g', @target_type = N'`
		doors := map[string]string{ // @n is the name
			"member":                 add + `SqlServer', @server_name = @n;`,
			"member by upsert":       `DECLARE @m NVARCHAR(MAX) = (SELECT N'SqlServer' AS target_type, @n AS server_name FOR JSON PATH); EXECUTE jobs.sp_set_target_group N'g', @m;`,
			"output":                 `EXECUTE jobs.sp_update_jobstep N'j', 1, @output_type = N'SqlDatabase', @output_server_name = @n, @output_database_name = N'd', @output_table_name = N't';`,
			"output of a new step":   `EXECUTE jobs.sp_add_jobstep N'j', NULL, N'new', @command = N'SELECT 1', @target_group_name = N'g', @output_type = N'SqlDatabase', @output_server_name = @n, @output_database_name = N'd', @output_table_name = N't';`,
			"database":               add + `SqlDatabase', @server_name = N's', @database_name = @n;`,
			"database by upsert":     `DECLARE @m NVARCHAR(MAX) = (SELECT N'SqlDatabase' AS target_type, N's' AS server_name, @n AS database_name FOR JSON PATH); EXECUTE jobs.sp_set_target_group N'g', @m;`,
			"pool":                   add + `SqlElasticPool', @server_name = N's', @elastic_pool_name = @n;`,
			"shard map":              add + `SqlShardMap', @server_name = N's', @database_name = N'd', @shard_map_name = @n;`,
			"database of an output":  `EXECUTE jobs.sp_update_jobstep N'j', 1, @output_type = N'SqlDatabase', @output_server_name = N's', @output_database_name = @n, @output_table_name = N't';`,
			"table of an output":     `EXECUTE jobs.sp_update_jobstep N'j', 1, @output_type = N'SqlDatabase', @output_server_name = N's', @output_database_name = N'd', @output_table_name = @n;`,
			"server of a limit":      `EXECUTE jobs.sp_set_limit N'Server', @n, NULL, 1;`,
			"pool of a limit":        `EXECUTE jobs.sp_set_limit N'ElasticPool', @n, N's', 1;`,
			"server of a pool limit": `EXECUTE jobs.sp_set_limit N'ElasticPool', N'p', @n, 1;`,
		}
		try := func(door, name string) error {
			_, err := c.db.ExecContext(t.Context(), `BEGIN TRANSACTION; DECLARE @n NVARCHAR(128) = @p1; `+doors[door]+` IF @@TRANCOUNT > 0 ROLLBACK;`, name)
			return err
		}
		for door := range doors {
			for _, name := range hidden {
				err := try(door, name)
				require.Equal(t, int32(50093), sqlNumber(err), "%s %q: %v", door, name, err)
			}
		}
		for _, door := range []string{"member", "member by upsert", "output", "output of a new step"} {
			for _, name := range servers {
				require.NoError(t, try(door, name), "%s %q", door, name)
			}
			for _, name := range wrong {
				err := try(door, name)
				require.Equal(t, int32(50403), sqlNumber(err), "%s %q: %v", door, name, err)
			}
		}
		for _, door := range []string{"database", "database by upsert", "pool", "shard map", "database of an output", "table of an output"} {
			for _, name := range names {
				require.NoError(t, try(door, name), "%s %q", door, name)
			}
		}
		_, err := c.db.ExecContext(t.Context(), `EXECUTE jobs.sp_set_target_group N'g', N'[{"target_type": "SqlServer", "server_name": "s"}, {"target_type": "SqlServer", "server_name": "s;Encrypt=no"}]';`)
		require.ErrorContains(t, err, `Member 2 of the target group 'g': invalid server_name 's;Encrypt=no': want a server as host, host\instance or host,port.`)

		// doctor lists older names, and no others.
		require.Equal(t, doctor.SeverityOK, doctor.Worst(c.findings(t, doctor.CodeNames)))
		check := func(statement, kind, name string, bad bool) {
			t.Helper()
			c.exec(t, statement, name)
			found := c.findings(t, doctor.CodeNames)
			require.Equal(t, bad, found[0].Severity == doctor.SeverityWarning, "%s %q: %s", kind, name, found[0].Found)
			if bad {
				require.Contains(t, found[0].Found, "(1): "+kind+" "+strconv.QuoteToASCII(name))
			}
		}
		const server = `UPDATE m SET m.server_name = @p1, m.database_name = N'd' FROM jobs_internal.target_group_members AS m;`
		c.exec(t, `EXECUTE jobs.sp_set_target_group N'g', N'[{"target_type": "SqlDatabase", "server_name": "s", "database_name": "d"}]';`)
		for _, name := range servers {
			check(server, "server in the target group", name, false)
		}
		for _, name := range append(wrong, hidden...) {
			check(server, "server in the target group", name, true)
		}
		check(server, "server in the target group", "s", false)
		const database = `UPDATE m SET m.database_name = @p1 FROM jobs_internal.target_group_members AS m;`
		for _, name := range names {
			check(database, "database in the target group", name, false)
		}
		check(database, "database in the target group", "a\nb", true)
		check(database, "database in the target group", "d", false)
		const output = `UPDATE s SET s.output_server_name = @p1 FROM jobs_internal.job_steps AS s WHERE s.step_name = N's';`
		c.exec(t, `UPDATE s SET s.step_name = N's' FROM jobs_internal.job_steps AS s WHERE s.job_id = (SELECT j.job_id FROM jobs_internal.jobs AS j WHERE j.name = N'j');`)
		check(output, "output server in the job", "s=t", true)
		check(output, "output server in the job", "s", false)
		const login = `IF NOT EXISTS (SELECT 1 FROM jobs_internal.credentials) INSERT INTO jobs_internal.credentials (name, username, created_at, updated_at, updated_by) VALUES (N'c', @p1, SYSUTCDATETIME(), SYSUTCDATETIME(), N'x');
			UPDATE c SET c.username = @p1 FROM jobs_internal.credentials AS c;`
		check(login, "user name in the credential", "u\nv", true)
		check(login, "user name in the credential", "u v.", false)
		const tenant = `DELETE t FROM jobs_internal.tenants AS t; INSERT INTO jobs_internal.tenants (tenant_id, subdomain, created_at) VALUES (@p1, N'', SYSUTCDATETIME());`
		check(tenant, "tenant", "..", true)
		check(tenant, "tenant", "a", false)
		const agent = `UPDATE a SET a.name = @p1, a.sku = N'JA100', a.capacity = 100, a.state = N'Ready' FROM jobs_internal.job_agent AS a;`
		check(agent, "job agent", "a\u202eb", true)
		check(agent, "job agent", "a", false)
	})
}

// sqlNumber is the number of an error of the driver.
func sqlNumber(err error) int32 {
	var e mssql.Error
	errors.As(err, &e)
	return e.Number
}

// TestMembersOfOtherCase: names that agents take for one database are one member of a group.
func TestMembersOfOtherCase(t *testing.T) {
	each(t, func(t *testing.T, c *control) {
		set := func(servers ...string) error {
			var members []targets.Member
			for i, s := range servers {
				members = append(members, targets.Member{Kind: "SqlDatabase", Server: s, Database: []string{"d", "D"}[i%2]})
			}
			_, err := targetgroups.On(c.Store).Set(t.Context(), "g", members, nil)
			return err
		}
		for _, other := range []string{"s1", "S1", "tcp:S1", "TCP:s1,1433", "s1,1433"} {
			require.Equal(t, int32(50078), dberror.NumberOf(set("s1", other)), other)
		}
		for _, other := range []string{"s2", "s1,1434", `s1\i`, "s1.example.com"} {
			require.NoError(t, set("s1", other), other)
		}
		require.NoError(t, set("s1"))
		list, err := targetgroups.On(c.Store).Members(t.Context(), "g")
		require.NoError(t, err)
		require.NoError(t, set("S1"), "another spelling is a change")
		changed, err := targetgroups.On(c.Store).Members(t.Context(), "g")
		require.NoError(t, err)
		require.Equal(t, "S1", changed[0].Server)
		require.NotEqual(t, list[0].ID, changed[0].ID)
	})
}
