package controldb_test

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestRoles: each role may do its work, and everything else is refused (229: permission denied).
func TestRoles(t *testing.T) {
	each(t, func(t *testing.T, c *control) {
		c.job(t, "j", nil)
		const (
			read     = `DECLARE @n INT = (SELECT COUNT(*) FROM jobs.job_executions) + (SELECT COUNT(*) FROM jobs.jobsteps)`
			live     = `DECLARE @n INT = (SELECT live_agents FROM jobs.live_agents)`
			inside   = `DECLARE @n INT = (SELECT COUNT(*) FROM jobs_internal.jobs)`
			start    = `EXEC jobs.sp_start_job N'j'`
			define   = `EXEC jobs.sp_update_job N'j', @description = N'x'`
			group    = `EXEC jobs.sp_add_target_group_member N'g', @target_type = N'SqlServer', @server_name = N'x'`
			purge    = `EXEC jobs.sp_purge_jobhistory N'j'`
			due      = `EXEC jobs_internal.due_schedules @max = 1`
			pass     = `EXEC jobs_internal.controller_pass @term_id = 1, @max_tasks = 1, @max_concurrent_targets = 1`
			settle   = `EXEC jobs_internal.record_outcomes @outcomes = N'[]'`
			status   = `DECLARE @n INT = (SELECT COUNT(*) FROM jobs_internal.agent_status)`
			versions = `DECLARE @n INT = (SELECT COUNT(*) FROM jobs_internal.schema_versions)`
		)
		c.term(t)
		all := []string{read, live, inside, start, define, group, purge, due, pass, settle, status, versions}
		for role, allowed := range map[string][]string{
			"jobs_reader":   {read, live},
			"jobs_operator": {read, live, start, status},
			"jobs_author":   {read, live, start, define, group, status},
			"jobs_admin":    {read, live, start, define, group, purge, status},
			"jobs_agent":    {due, pass, status, versions},
			"":              {},
		} {
			user := "u_" + role
			c.exec(t, `CREATE USER [`+user+`] WITHOUT LOGIN;`)
			if role != "" {
				c.exec(t, `ALTER ROLE [`+role+`] ADD MEMBER [`+user+`];`)
			}
			for _, statement := range all {
				as := `EXECUTE AS USER = N'` + user + `'; ` + statement + `; REVERT;`
				may := false
				for _, a := range allowed {
					may = may || a == statement
				}
				if may {
					c.exec(t, as)
				} else {
					require.Contains(t, c.fails(t, 229, as), "permission was denied", "%s: %s", role, statement)
				}
			}
		}
	})
}
