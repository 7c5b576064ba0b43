package controldb_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/controldb"
	"github.com/jobagent/jobagent/controldb/catalog"
	"github.com/jobagent/jobagent/controldb/dberror"
	"github.com/jobagent/jobagent/controldb/deploy"
	"github.com/jobagent/jobagent/controldb/doctor"
	"github.com/jobagent/jobagent/controldb/installed"
	"github.com/jobagent/jobagent/controldb/timetable"
	"github.com/jobagent/jobagent/jobs/model"
	"github.com/jobagent/jobagent/testenv"
)

// findings examines the database and returns the findings of some codes.
func (c *control) findings(t *testing.T, codes ...string) []doctor.Finding {
	t.Helper()
	store := c.Store
	if store == nil {
		store = c.env.OpenControl(t, c.name)
	}
	all, err := doctor.On(store).Examine(t.Context())
	require.NoError(t, err)
	var list []doctor.Finding
	for _, f := range all {
		if slices.Contains(codes, f.Code) {
			list = append(list, f)
		}
	}
	return list
}

// TestExamineFresh: on a fresh install the only problem is that no agent runs, and each subject has
// a finding.
func TestExamineFresh(t *testing.T) {
	each(t, func(t *testing.T, c *control) {
		all, err := doctor.On(c.Store).Examine(t.Context())
		require.NoError(t, err)
		codes := map[string]bool{}
		for _, f := range all {
			codes[f.Code] = true
			if f.Code == doctor.CodeAgents {
				require.Equal(t, doctor.SeverityWarning, f.Severity)
				continue
			}
			require.Equal(t, doctor.SeverityOK, f.Severity, "%+v", f)
			require.NotContains(t, f.Found, "not seen", f.Code)
		}
		for _, code := range []string{
			doctor.CodeServerVersion, doctor.CodeServerName, doctor.CodeCompatibility, doctor.CodeRowVersions, doctor.CodeCollation, doctor.CodeState,
			doctor.CodeRecovery, doctor.CodeDurability, doctor.CodeSnapshot, doctor.CodeIdentityCache, doctor.CodeAutoClose, doctor.CodeAutoShrink, doctor.CodeSpace, doctor.CodeLogSpace, doctor.CodeSchema,
			doctor.CodeModuleOptions, doctor.CodeIndexes, doctor.CodeLockEscalation, doctor.CodeForeign, doctor.CodeRights, doctor.CodeGrants, doctor.CodeCallers, doctor.CodeAdministrators, doctor.CodeClock,
			doctor.CodeSettings, doctor.CodeHistory, doctor.CodeAgents, doctor.CodeTerms, doctor.CodePause, doctor.CodePlace,
		} {
			require.True(t, codes[code], "no finding %s", code)
		}
	})
}

// TestExamine creates each problem, expects its finding, runs the T-SQL of the finding, and expects
// that the problem is gone.
func TestExamine(t *testing.T) {
	testenv.Long(t)
	tests := []struct {
		name, code string
		setup      []string
		severity   doctor.Severity
		found      string // part of what is reported
	}{
		{
			name: "row versions", code: doctor.CodeRowVersions, severity: doctor.SeverityError,
			found: "is off",
			setup: []string{`ALTER DATABASE CURRENT SET READ_COMMITTED_SNAPSHOT OFF WITH ROLLBACK IMMEDIATE;`},
		},
		{
			name: "compatibility level", code: doctor.CodeCompatibility, severity: doctor.SeverityError,
			found: "is 120",
			setup: []string{`ALTER DATABASE CURRENT SET COMPATIBILITY_LEVEL = 120;`},
		},
		{
			name: "durability", code: doctor.CodeDurability, severity: doctor.SeverityWarning,
			found: "DELAYED_DURABILITY is FORCED",
			setup: []string{`ALTER DATABASE CURRENT SET DELAYED_DURABILITY = FORCED;`},
		},
		{
			name: "identity cache", code: doctor.CodeIdentityCache, severity: doctor.SeverityWarning,
			found: "IDENTITY_CACHE is OFF",
			setup: []string{`ALTER DATABASE SCOPED CONFIGURATION SET IDENTITY_CACHE = OFF;`},
		},
		{
			name: "auto close", code: doctor.CodeAutoClose, severity: doctor.SeverityWarning,
			found: "AUTO_CLOSE is on",
			setup: []string{`ALTER DATABASE CURRENT SET AUTO_CLOSE ON;`},
		},
		{
			name: "auto shrink", code: doctor.CodeAutoShrink, severity: doctor.SeverityWarning,
			found: "AUTO_SHRINK is on",
			setup: []string{`ALTER DATABASE CURRENT SET AUTO_SHRINK ON;`},
		},
		{
			name: "read-only", code: doctor.CodeState, severity: doctor.SeverityError,
			found: "is read-only",
			setup: []string{`ALTER DATABASE CURRENT SET READ_ONLY WITH ROLLBACK IMMEDIATE;`},
		},
		{
			name: "restricted user", code: doctor.CodeState, severity: doctor.SeverityWarning,
			found: "restricted-user",
			setup: []string{`ALTER DATABASE CURRENT SET RESTRICTED_USER WITH ROLLBACK IMMEDIATE;`},
		},
		{
			name: "missing index", code: doctor.CodeIndexes, severity: doctor.SeverityWarning,
			found: "IX_task_executions_held of jobs_internal.task_executions is missing",
			setup: []string{`DROP INDEX IX_task_executions_held ON jobs_internal.task_executions;`},
		},
		{
			name: "changed index", code: doctor.CodeIndexes, severity: doctor.SeverityWarning,
			found: "IX_task_executions_held of jobs_internal.task_executions is not as declared",
			setup: []string{`CREATE INDEX IX_task_executions_held ON jobs_internal.task_executions (term_id, task_id) WHERE ended_at IS NULL WITH (DROP_EXISTING = ON);`},
		},
		{
			name: "missing CHECK constraint", code: doctor.CodeIndexes, severity: doctor.SeverityWarning,
			found: "CK_schedules_interval_count of jobs_internal.schedules is missing",
			setup: []string{`ALTER TABLE jobs_internal.schedules DROP CONSTRAINT CK_schedules_interval_count;`},
		},
		{
			name: "changed CHECK constraint", code: doctor.CodeIndexes, severity: doctor.SeverityWarning,
			found: "CK_schedules_state of jobs_internal.schedules is not as declared",
			setup: []string{
				`ALTER TABLE jobs_internal.schedules DROP CONSTRAINT CK_schedules_state;`,
				`ALTER TABLE jobs_internal.schedules ADD CONSTRAINT CK_schedules_state CHECK (state IN (N'Enabled', N'Disabled', N'Completed', N'Faulted', N'Other'));`,
			},
		},
		{
			name: "missing foreign key", code: doctor.CodeIndexes, severity: doctor.SeverityWarning,
			found: "FK_schedules_jobs of jobs_internal.schedules is missing",
			setup: []string{`ALTER TABLE jobs_internal.schedules DROP CONSTRAINT FK_schedules_jobs;`},
		},
		{
			name: "changed foreign key", code: doctor.CodeIndexes, severity: doctor.SeverityWarning,
			found: "FK_schedules_jobs of jobs_internal.schedules is not as declared",
			setup: []string{
				`ALTER TABLE jobs_internal.schedules DROP CONSTRAINT FK_schedules_jobs;`,
				`ALTER TABLE jobs_internal.schedules ADD CONSTRAINT FK_schedules_jobs FOREIGN KEY (job_id) REFERENCES jobs_internal.jobs (job_id);`,
			},
		},
		{
			name: "disabled index", code: doctor.CodeIndexes, severity: doctor.SeverityWarning,
			found: "IX_job_executions_hot of jobs_internal.job_executions is disabled",
			setup: []string{`ALTER INDEX IX_job_executions_hot ON jobs_internal.job_executions DISABLE;`},
		},
		{
			name: "missing constraint", code: doctor.CodeIndexes, severity: doctor.SeverityWarning,
			found: "UQ_schedule_skips_due_at of jobs_internal.schedule_skips is missing",
			setup: []string{`ALTER TABLE jobs_internal.schedule_skips DROP CONSTRAINT UQ_schedule_skips_due_at;`},
		},
		{
			name: "disabled foreign key", code: doctor.CodeIndexes, severity: doctor.SeverityWarning,
			found: "constraint FK_schedules_jobs of jobs_internal.schedules is disabled",
			setup: []string{`ALTER TABLE jobs_internal.schedules NOCHECK CONSTRAINT FK_schedules_jobs;`},
		},
		{
			name: "unchecked rows", code: doctor.CodeIndexes, severity: doctor.SeverityWarning,
			found: "constraint CK_schedules_state of jobs_internal.schedules was off when rows changed",
			setup: []string{`ALTER TABLE jobs_internal.schedules NOCHECK CONSTRAINT CK_schedules_state; ALTER TABLE jobs_internal.schedules CHECK CONSTRAINT CK_schedules_state;`},
		},
		{
			name: "lock escalation", code: doctor.CodeLockEscalation, severity: doctor.SeverityWarning,
			found: "LOCK_ESCALATION of jobs_internal.task_executions is TABLE",
			setup: []string{`ALTER TABLE jobs_internal.task_executions SET (LOCK_ESCALATION = TABLE);`},
		},
		{
			name: "extra grants", code: doctor.CodeGrants, severity: doctor.SeverityWarning,
			found: "roles have 2 permissions beyond their files (jobs_reader: EXECUTE ON OBJECT::[jobs].[sp_start_job], jobs_reader: EXECUTE ON SCHEMA::[jobs])",
			setup: []string{`GRANT EXECUTE ON SCHEMA::jobs TO jobs_reader; GRANT EXECUTE ON OBJECT::jobs.sp_start_job TO jobs_reader;`},
		},
		{
			name: "missing grants", code: doctor.CodeGrants, severity: doctor.SeverityError,
			found: "roles lack 2 permissions (jobs_agent: EXECUTE ON OBJECT::[jobs_internal].[renew_term], jobs_front: IMPERSONATE ON USER::[jobagent_admin])",
			setup: []string{`REVOKE IMPERSONATE ON USER::jobagent_admin FROM jobs_front; REVOKE EXECUTE ON OBJECT::jobs_internal.renew_term FROM jobs_agent;`},
		},
		{
			name: "denied", code: doctor.CodeGrants, severity: doctor.SeverityWarning,
			found: "1 permission denied to roles (jobs_operator: EXECUTE ON OBJECT::[jobs].[sp_stop_job])",
			setup: []string{`DENY EXECUTE ON OBJECT::jobs.sp_stop_job TO jobs_operator;`},
		},
		{
			name: "foreign view", code: doctor.CodeForeign, severity: doctor.SeverityWarning,
			found: "[jobs_internal].[mine] is in the schema of jobagent",
			setup: []string{`CREATE VIEW jobs_internal.mine AS SELECT 1 AS one;`},
		},
		{
			name: "foreign trigger", code: doctor.CodeForeign, severity: doctor.SeverityWarning,
			found: "[jobs_internal].[watch]",
			setup: []string{`CREATE TRIGGER jobs_internal.watch ON jobs_internal.jobs AFTER INSERT AS SET NOCOUNT ON;`},
		},
		{
			name: "administrator by a fixed role", code: doctor.CodeAdministrators, severity: doctor.SeverityWarning,
			found: "user [a deployer] is a member of db_ddladmin, db_securityadmin",
			setup: []string{`CREATE USER [a deployer] WITHOUT LOGIN; ALTER ROLE db_ddladmin ADD MEMBER [a deployer]; ALTER ROLE db_securityadmin ADD MEMBER [a deployer];`},
		},
		{
			name: "reader who owns everything", code: doctor.CodeAdministrators, severity: doctor.SeverityWarning,
			found: "user [a reader] is a member of db_owner",
			setup: []string{`CREATE USER [a reader] WITHOUT LOGIN; ALTER ROLE jobs_reader ADD MEMBER [a reader]; ALTER ROLE db_owner ADD MEMBER [a reader];`},
		},
		{
			name: "setting below its range", code: doctor.CodeSettings, severity: doctor.SeverityWarning,
			found: "history_retention_days is N'-1', and only whole numbers from 0 to 36500",
			setup: []string{`INSERT INTO jobs_internal.settings (name, value) VALUES (N'history_retention_days', N'-1');`},
		},
		{
			name: "setting above its range", code: doctor.CodeSettings, severity: doctor.SeverityWarning,
			found: "is N'4000000'",
			setup: []string{`INSERT INTO jobs_internal.settings (name, value) VALUES (N'unreachable_days', N'4000000');`},
		},
		{
			name: "setting that is not a number", code: doctor.CodeSettings, severity: doctor.SeverityWarning,
			found: "is N'12 days'",
			setup: []string{`INSERT INTO jobs_internal.settings (name, value) VALUES (N'unreachable_days', N'12 days');`},
		},
		{
			name: "unknown setting", code: doctor.CodeSettings, severity: doctor.SeverityWarning,
			found: "the setting N'it''s' does not exist",
			setup: []string{`INSERT INTO jobs_internal.settings (name, value) VALUES (N'it''s', N'1');`},
		},
	}
	each(t, func(t *testing.T, c *control) {
		c.Store = nil // the state may have closed connections, so each examination opens a new one
		// An examination costs a quarter of a second of processor time, so that of a test shows,
		// too, that the fix of the test before it has worked.
		fixed := ""
		for _, test := range tests {
			t.Run(test.name, func(t *testing.T) {
				for _, batch := range test.setup {
					c.fresh(t, batch)
				}
				var bad []doctor.Finding
				for _, f := range c.findings(t, test.code, fixed) {
					if f.Severity != doctor.SeverityOK {
						bad = append(bad, f)
					}
				}
				require.Len(t, bad, 1, "those of %s and of %s, which was fixed", test.code, fixed)
				require.Equal(t, test.code, bad[0].Code)
				require.Equal(t, test.severity, bad[0].Severity)
				require.Contains(t, bad[0].Found, test.found)
				require.NotEmpty(t, bad[0].Why)
				require.NotEmpty(t, bad[0].SQL)
				c.fix(t, bad[0].SQL)
				fixed = test.code
			})
		}
		require.Equal(t, doctor.SeverityOK, doctor.Worst(c.findings(t, fixed)))
	})
}

// fresh runs a batch on a new connection.
func (c *control) fresh(t *testing.T, text string) {
	t.Helper()
	db := c.env.DB(t, c.name)
	_, err := db.ExecContext(t.Context(), text)
	require.NoError(t, err, text)
}

// fix runs the T-SQL of a finding on a new connection. Statements that must not wait for other
// sessions close their connections, including the test's own.
func (c *control) fix(t *testing.T, text string) {
	t.Helper()
	c.fresh(t, strings.Replace(text, "WITH NO_WAIT", "WITH ROLLBACK IMMEDIATE", 1))
}

// TestExamineHistory: the retention job does not run.
func TestExamineHistory(t *testing.T) {
	testenv.Long(t)
	each(t, func(t *testing.T, c *control) {
		c.job(t, "j", nil)
		run := c.start(t, "j")
		c.exec(t, `EXECUTE jobs.sp_stop_job @job_execution_id = @p1;`, run.String())
		term := c.term(t)
		c.pass(t, term)
		require.Equal(t, doctor.SeverityOK, doctor.Worst(c.findings(t, doctor.CodeHistory)))
		c.exec(
			t,
			`UPDATE jobs_internal.job_executions SET create_time = DATEADD(DAY, -60, create_time), start_time = DATEADD(DAY, -60, start_time), end_time = DATEADD(DAY, -60, end_time);`,
		)
		found := c.findings(t, doctor.CodeHistory)
		require.Equal(t, doctor.SeverityWarning, doctor.Worst(found))
		require.Contains(t, found[0].Found, "ended 60 days ago, and history is kept for 45 days")
		c.fix(t, found[0].SQL)
		require.Equal(t, doctor.SeverityOK, doctor.Worst(c.findings(t, doctor.CodeHistory)))
	})
}

// TestExamineAgents: live agents, and a term that expired while there was no other live agent.
func TestExamineAgents(t *testing.T) {
	testenv.Long(t)
	each(t, func(t *testing.T, c *control) {
		term := c.term(t)
		require.Equal(
			t,
			doctor.SeverityOK,
			doctor.Worst(append(c.findings(t, doctor.CodeAgents), c.findings(t, doctor.CodeTerms)...)),
		)
		c.exec(
			t,
			`UPDATE jobs_internal.terms SET started_at = DATEADD(HOUR, -2, started_at), expires_at = DATEADD(HOUR, -2, expires_at) WHERE term_id = @p1;`,
			term.Number,
		)
		require.Equal(t, "no live agent", c.findings(t, doctor.CodeAgents)[0].Found)
		found := c.findings(t, doctor.CodeTerms)
		require.Equal(t, doctor.SeverityWarning, found[0].Severity)
		require.Contains(t, found[0].Found, "1 term expired")
		next := c.term(t)
		c.pass(t, next) // the first one after a gap ends no term
		require.Equal(t, doctor.SeverityWarning, c.findings(t, doctor.CodeTerms)[0].Severity)
		c.exec(t, `UPDATE jobs_internal.advance_state SET terms_until = SYSUTCDATETIME()`)
		c.pass(t, next)
		require.Equal(
			t,
			doctor.SeverityOK,
			doctor.Worst(append(c.findings(t, doctor.CodeAgents), c.findings(t, doctor.CodeTerms)...)),
		)
	})
}

// TestExamineMissingTypes: a run waits for an agent that runs processes.
func TestExamineMissingTypes(t *testing.T) {
	testenv.Long(t)
	each(t, func(t *testing.T, c *control) {
		term := c.term(t)
		c.job(t, "j", func(s *model.StepSpec) {
			s.CommandType, s.Command, s.TargetGroup = ptr("Process"), ptr(`{"entry": "backup"}`), nil
		})
		c.start(t, "j")
		c.pass(t, term)
		found := c.findings(t, doctor.CodeAgents)
		require.Equal(t, doctor.SeverityWarning, doctor.Worst(found))
		require.Contains(t, found[len(found)-1].Found, "no live agent runs commands of type Process; waiting for one: 1 run, since ")
	})
}

// TestExamineModules: modules that differ from this program's, and modules with other options.
func TestExamineModules(t *testing.T) {
	testenv.Long(t)
	each(t, func(t *testing.T, c *control) {
		c.exec(t, `DROP VIEW jobs.job_versions;`)
		found := c.findings(t, doctor.CodeSchema)
		require.Equal(t, doctor.SeverityError, found[0].Severity)
		require.Equal(t, "1 object missing (jobs.job_versions)", found[0].Found)
		require.Equal(t, "jobagent db migrate", found[0].Command)
		require.NoError(t, deploy.On(c.Store).Migrate(t.Context()))
		require.Equal(t, doctor.SeverityOK, doctor.Worst(c.findings(t, doctor.CodeSchema)))

		text := get[string](t, c, `SELECT definition FROM sys.sql_modules WHERE object_id = OBJECT_ID(N'jobs_internal.get_command')`)
		text = strings.Replace(text, "CREATE", "ALTER", 1)
		conn, err := c.db.Conn(t.Context())
		require.NoError(t, err)
		defer conn.Close()
		_, err = conn.ExecContext(t.Context(), "SET QUOTED_IDENTIFIER OFF;")
		require.NoError(t, err)
		_, err = conn.ExecContext(t.Context(), text)
		require.NoError(t, err)
		found = c.findings(t, doctor.CodeModuleOptions)
		require.Equal(t, doctor.SeverityError, found[0].Severity)
		require.Contains(t, found[0].Found, "1 module with QUOTED_IDENTIFIER or ANSI_NULLS off (jobs_internal.get_command)")
		require.ErrorIs(t, installed.On(c.Store).Verify(t.Context()), dberror.ErrSchemaVersion)
		require.NoError(t, deploy.On(c.Store).Migrate(t.Context()))
		require.Equal(t, doctor.SeverityOK, doctor.Worst(c.findings(t, doctor.CodeModuleOptions)))
	})
}

// login creates a login with a user of the same name and opens the database with it.
func (c *control) login(t *testing.T, name string, batches ...string) *controldb.Store {
	t.Helper()
	master := c.env.DB(t, "master")
	_, err := master.ExecContext(t.Context(), `CREATE LOGIN [`+name+`] WITH PASSWORD = N'Only-4-tests';`)
	require.NoError(t, err)
	c.exec(t, `CREATE USER [`+name+`] FOR LOGIN [`+name+`];`)
	for _, b := range batches {
		c.exec(t, b)
	}
	return c.env.OpenControlAs(t, c.name, name, "Only-4-tests")
}

// TestExamineRights: permissions are tried with the login itself. Subjects that it may not see have
// one finding.
func TestExamineRights(t *testing.T) {
	testenv.Long(t)
	each(t, func(t *testing.T, c *control) {
		low := &control{
			Store: c.login(
				t,
				"low_"+strings.ToLower(c.name),
				`ALTER ROLE jobs_reader ADD MEMBER [low_`+strings.ToLower(c.name)+`];`,
				`GRANT SELECT ON OBJECT::jobs_internal.schema_versions TO jobs_reader;`,
			),
			env:  c.env,
			name: c.name,
			db:   c.db,
		}
		found := low.findings(t, doctor.CodeRights)
		require.Len(t, found, 1)
		require.Equal(t, doctor.SeverityError, found[0].Severity)
		require.Contains(t, found[0].Found, "44 objects (jobs_internal.start_term, jobs_internal.renew_term, jobs_internal.confirm_term,")
		for _, code := range []string{doctor.CodeIndexes, doctor.CodeSettings, doctor.CodeHistory, doctor.CodeAgents} {
			for _, f := range low.findings(t, code) {
				require.Equal(t, doctor.SeverityOK, f.Severity)
				require.Contains(t, f.Found, "not checked: ", f.Code)
			}
		}
		c.fix(t, found[0].SQL)
		require.Equal(t, doctor.SeverityOK, doctor.Worst(low.findings(t, doctor.CodeRights)))

		c.exec(t, `REVOKE EXECUTE ON OBJECT::jobs_internal.fire_schedules FROM jobs_agent;`)
		require.Contains(t, low.findings(t, doctor.CodeRights)[0].Found, "1 object (jobs_internal.fire_schedules)")
	})
}

// TestRefusedDeployments: one message gives the reason and the fix, and nothing is changed.
func TestRefusedDeployments(t *testing.T) {
	testenv.Long(t)
	for _, test := range []struct {
		name    string
		setup   string
		message string
		fix     string // empty: the T-SQL in the message
	}{
		{"compatibility level", `ALTER DATABASE CURRENT SET COMPATIBILITY_LEVEL = 120;`,
			"the compatibility level of database [control] is 120: OPENJSON and STRING_SPLIT need level 130 or above; to fix it: ALTER DATABASE [control] SET COMPATIBILITY_LEVEL = 160;", ""},
		{"read-only", `ALTER DATABASE CURRENT SET READ_ONLY WITH ROLLBACK IMMEDIATE;`,
			"database [control] is read-only: nothing can be written; to fix it: ALTER DATABASE [control] SET READ_WRITE WITH NO_WAIT;", `ALTER DATABASE CURRENT SET READ_WRITE WITH ROLLBACK IMMEDIATE;`},
		{"schema of another product", `EXECUTE (N'CREATE SCHEMA jobs;'); EXECUTE (N'CREATE TABLE jobs.jobs_of_azure (id INT);');`,
			"the database has the schema jobs already, and jobagent did not create it; it holds 1 object (jobs.jobs_of_azure): the schemas belong to another product", `DROP TABLE jobs.jobs_of_azure; DROP SCHEMA jobs;`},
		{"empty foreign schema", `CREATE SCHEMA jobs_internal;`,
			"the database has the schema jobs_internal already, and jobagent did not create it: a deployment creates the schemas jobs, jobs_internal and jobs_rest; to fix it: DROP SCHEMA [jobs_internal];", ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			testenv.Each(t, func(t *testing.T, env *testenv.Env) {
				name := env.CreateDatabase(t, "control")
				c := &control{env: env, name: name, db: env.DB(t, name)}
				c.fresh(t, test.setup)
				store := env.OpenControl(t, name)
				err := deploy.On(store).Install(t.Context())
				var unfit *doctor.UnfitError
				require.ErrorAs(t, err, &unfit)
				require.ErrorIs(t, err, doctor.ErrUnfit)
				require.Contains(t, strings.ReplaceAll(err.Error(), "["+name+"]", "[control]"), test.message)
				require.ErrorIs(t, installed.On(store).CheckVersion(t.Context()), dberror.ErrNotInstalled, "nothing was changed")
				text := test.fix
				if text == "" {
					text = unfit.Finding.SQL
				}
				c.fix(t, text)
				require.NoError(t, deploy.On(env.OpenControl(t, name)).Install(t.Context()))

				if strings.HasPrefix(test.name, "compat") || test.name == "read-only" {
					c.fresh(t, `DROP VIEW jobs.job_versions;`)
					c.fresh(t, test.setup)
					require.ErrorIs(t, deploy.On(env.OpenControl(t, name)).Migrate(t.Context()), doctor.ErrUnfit)
					c.fix(t, text)
					require.NoError(t, deploy.On(env.OpenControl(t, name)).Migrate(t.Context()))
				}
			})
		})
	}
}

// TestRefusedWithoutRights: a login that may not create schemas is refused before anything is
// changed.
func TestRefusedWithoutRights(t *testing.T) {
	testenv.Each(t, func(t *testing.T, env *testenv.Env) {
		name := env.CreateDatabase(t, "control")
		c := &control{env: env, name: name, db: env.DB(t, name)}
		user := "guest_of_" + strings.ToLower(name)
		store := c.login(t, user)
		err := deploy.On(store).Install(t.Context())
		var unfit *doctor.UnfitError
		require.ErrorAs(t, err, &unfit)
		require.Contains(t, err.Error(), "user ["+user+"] may not create the objects of the schema: ")
		c.exec(t, unfit.Finding.SQL)
		require.NoError(t, deploy.On(store).Install(t.Context()))
		require.NoError(t, installed.On(store).Verify(t.Context()))
		require.Empty(t, c.rows(t, `SELECT name FROM sys.schemas WHERE name LIKE N'jobagent%'`), "what was tried is taken back")
	})
}

// TestInstallTurnsRowVersionsOn, but only while no other session is connected.
func TestInstallTurnsRowVersionsOn(t *testing.T) {
	testenv.Each(t, func(t *testing.T, env *testenv.Env) {
		const off = `ALTER DATABASE CURRENT SET READ_COMMITTED_SNAPSHOT OFF WITH ROLLBACK IMMEDIATE;`
		const isOn = `SELECT CAST(is_read_committed_snapshot_on AS INT) FROM sys.databases WHERE name = @p1`
		ctx := t.Context()
		master := env.DB(t, "master")
		state := func(name string) (on int) {
			require.NoError(t, master.QueryRowContext(ctx, isOn, name).Scan(&on))
			return on
		}
		alone := env.CreateDatabase(t, "alone")
		_, err := master.ExecContext(ctx, strings.Replace(off, "CURRENT", "["+alone+"]", 1))
		require.NoError(t, err)
		require.Equal(t, 0, state(alone))
		require.NoError(t, deploy.On(env.OpenControl(t, alone)).Install(ctx))
		require.Equal(t, 1, state(alone))

		shared := env.CreateDatabase(t, "shared")
		_, err = master.ExecContext(ctx, strings.Replace(off, "CURRENT", "["+shared+"]", 1))
		require.NoError(t, err)
		other, err := env.DB(t, shared).Conn(ctx)
		require.NoError(t, err)
		defer other.Close()
		require.NoError(t, other.PingContext(ctx))
		store := env.OpenControl(t, shared)
		require.NoError(t, deploy.On(store).Install(ctx))
		require.Equal(t, 0, state(shared))
		require.NoError(t, other.PingContext(ctx), "no connection was closed")
		found, err := doctor.On(store).ExamineDatabase(ctx)
		require.NoError(t, err)
		require.Equal(t, doctor.SeverityError, doctor.Worst(found))
		err = doctor.On(store).CheckRowVersions(ctx)
		require.ErrorIs(t, err, doctor.ErrUnfit)
		require.ErrorContains(t, err, "SET READ_COMMITTED_SNAPSHOT ON WITH NO_WAIT")
		require.NoError(t, deploy.On(store).Migrate(ctx), "a deployment needs no row versions")
		require.NoError(t, other.Close())
		require.NoError(t, store.Close())
		_, err = master.ExecContext(ctx, "ALTER DATABASE ["+shared+"] SET READ_COMMITTED_SNAPSHOT ON WITH ROLLBACK IMMEDIATE;")
		require.NoError(t, err)
		require.NoError(t, doctor.On(env.OpenControl(t, shared)).CheckRowVersions(ctx))
	})
}

// TestInstallUnderOtherCollations: the schema is installed under every collation. .ci/long runs the
// procedures' scripts and the migrations under them, too.
func TestInstallUnderOtherCollations(t *testing.T) {
	testenv.Long(t)
	for _, collation := range []string{"Latin1_General_100_CS_AS", "Latin1_General_BIN2", "Turkish_100_CI_AS"} {
		t.Run(collation, func(t *testing.T) {
			testenv.Each(t, func(t *testing.T, env *testenv.Env) {
				name := env.CreateDatabaseWith(t, "control", collation)
				store := env.OpenControl(t, name)
				require.NoError(t, deploy.On(store).Install(t.Context()))
				require.NoError(t, installed.On(store).Verify(t.Context()))
				c := &control{Store: store, env: env, name: name, db: env.DB(t, name)}
				for _, f := range c.findings(t, doctor.CodeCollation) {
					require.Equal(t, doctor.SeverityOK, f.Severity, f.Found)
				}
				require.Equal(t, doctor.SeverityOK, doctor.Worst(c.findings(t, doctor.CodeIndexes)))
				require.Equal(t, doctor.SeverityOK, doctor.Worst(c.findings(t, doctor.CodeForeign)))
			})
		})
	}
}

// TestExamineCollation: a column that was changed is changed back, not the database. The fix of the
// database's collation adds all constraints again, whether or not the server changes the collation.
// The embedded server never does.
func TestExamineCollation(t *testing.T) {
	testenv.Long(t)
	each(t, func(t *testing.T, c *control) {
		const constraints = `SELECT STRING_AGG(CAST(CONCAT(OBJECT_NAME(parent_object_id), N' ', name, N' ', definition, is_disabled, is_not_trusted) AS NVARCHAR(MAX)), N'
') WITHIN GROUP (ORDER BY name) FROM sys.check_constraints`
		before := get[string](t, c, constraints)
		require.Contains(t, before, "CK_schedules_state")
		c.exec(t, `ALTER TABLE jobs_internal.calendars ALTER COLUMN spec NVARCHAR(MAX) COLLATE Latin1_General_100_BIN2 NOT NULL;`)
		found := c.findings(t, doctor.CodeCollation)
		i := slices.IndexFunc(found, func(f doctor.Finding) bool { return f.Severity == doctor.SeverityError })
		require.GreaterOrEqual(t, i, 0)
		require.Contains(t, found[i].Found, "1 column with another collation than the database's (jobs_internal.calendars.spec ")
		c.exec(t, found[i].SQL)
		require.Equal(t, doctor.SeverityOK, doctor.Worst(c.findings(t, doctor.CodeCollation)))
		fix := strings.ReplaceAll(doctor.Text("change_collation"), "$(collation)", "Latin1_General_100_BIN2")
		_, _ = c.env.DB(t, c.name).ExecContext(t.Context(), fix)
		require.Equal(t, before, get[string](t, c, constraints))
	})
}

// TestExamineClockChanges: the finding is about enabled schedules that an agent has validated with
// warnings.
func TestExamineClockChanges(t *testing.T) {
	testenv.Long(t)
	each(t, func(t *testing.T, c *control) {
		c.job(t, "j", nil)
		term := c.term(t)
		for _, name := range []string{"on", "off"} {
			id, err := timetable.On(c.Store).Add(t.Context(), timetable.Spec{
				JobName: "j", Name: name, Kind: new("cron5"), Spec: new(`{"cron": "*/15 * * * *", "gap": "skip", "overlap": "first", "blackouts": {"calendars": ["c"]}}`),
				TimeZone: ptr("Europe/Berlin"), Enabled: ptr(name == "on"),
			})
			require.NoError(t, err)
			_, err = c.RecordValidations(t.Context(), term, []controldb.Validation{{
				Schedule: id, Revision: 2, Zone: "Europe/Berlin", Engine: "1", NextDueAt: time.Date(2999, 1, 1, 0, 0, 0, 0, time.UTC), Warnings: []string{"some"},
			}})
			require.NoError(t, err)
		}
		require.Equal(t, doctor.SeverityOK, doctor.Worst(c.findings(t, doctor.CodeClockChanges)), "an overlap that counts once")
		// Every night twice, and no night in March: whichever change is the next one.
		c.exec(t, `UPDATE s SET s.spec = N'{"cron": "*/15 2 * * *", "gap": "skip", "overlap": "both"}' FROM jobs_internal.schedules AS s WHERE s.name IN (N'on', N'off');`)
		found := c.findings(t, doctor.CodeClockChanges)
		require.Len(t, found, 1)
		require.Equal(t, doctor.SeverityWarning, found[0].Severity)
		require.Contains(t, found[0].Found, "1 schedule loses or doubles runs at the next change of clocks: on of job j: ")
	})
}

// TestSchedulesWithUnfitParameters: the doctor, the sums of jobs and the schedules themselves tell
// why a schedule starts no runs.
func TestSchedulesWithUnfitParameters(t *testing.T) {
	testenv.Long(t)
	each(t, func(t *testing.T, c *control) {
		c.job(t, "j", nil)
		for _, name := range []string{"on", "off"} {
			_, err := timetable.On(c.Store).Add(t.Context(), timetable.Spec{
				JobName: "j", Name: name, Kind: new("cron5"), Spec: new(`{"cron": "0 1 * * *"}`), Enabled: ptr(name == "on"),
			})
			require.NoError(t, err)
		}
		require.Equal(t, doctor.SeverityOK, doctor.Worst(c.findings(t, doctor.CodeParameters)))
		require.NoError(t, catalog.On(c.Store).SetJobParameters(t.Context(), "j", `[{"name": "tenant", "required": true}]`, nil))
		schedules, err := timetable.On(c.Store).List(t.Context(), timetable.Filter{JobName: "j", Name: ptr("on")})
		require.NoError(t, err)
		require.Contains(t, schedules[0].ParametersFault, "tenant")
		found := c.findings(t, doctor.CodeParameters)
		require.Len(t, found, 1)
		require.Equal(t, doctor.SeverityWarning, found[0].Severity)
		require.Equal(t, "the parameters of 1 schedule do not fit what the jobs declare: on of job j: "+schedules[0].ParametersFault, found[0].Found)
		plans, err := catalog.On(c.Store).JobPlans(t.Context(), "j")
		require.NoError(t, err)
		require.Equal(t, "on: "+schedules[0].ParametersFault, plans[0].ParametersFault)

		require.NoError(t, catalog.On(c.Store).SetJobParameters(t.Context(), "j", `[{"name": "tenant", "default": "x"}]`, nil))
		require.Equal(t, doctor.SeverityOK, doctor.Worst(c.findings(t, doctor.CodeParameters)))
		plans, err = catalog.On(c.Store).JobPlans(t.Context(), "j")
		require.NoError(t, err)
		require.Empty(t, plans[0].ParametersFault)
	})
}
