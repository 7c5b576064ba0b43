package controldb_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestViewsAreReadOnly changes each public view as an owner of the database.
func TestViewsAreReadOnly(t *testing.T) {
	each(t, func(t *testing.T, c *control) {
		c.exec(t, `EXEC jobs.sp_add_job N'j'; EXEC jobs.sp_add_target_group N'g'; EXEC jobs.sp_add_target_group_member N'g', @target_type = N'SqlServer', @server_name = N's';
EXEC jobs.sp_add_jobstep N'j', @command = N'SELECT 1;', @target_group_name = N'g'; EXEC jobs.sp_start_job N'j';`)
		columns := c.rows(t, `SELECT CONCAT(N'jobs.', v.name), c.name
FROM sys.views AS v
INNER JOIN sys.columns AS c ON c.object_id = v.object_id
WHERE SCHEMA_NAME(v.schema_id) = N'jobs'
ORDER BY v.name, c.column_id;`)
		require.Greater(t, len(columns), 300)
		last := ""
		for _, line := range columns {
			view, column, _ := strings.Cut(line, "|")
			want := "The view " + view + " is read only. "
			require.Contains(t, c.fails(t, 50099, `UPDATE `+view+` SET [`+column+`] = NULL;`), want)
			if view == last {
				continue
			}
			last = view
			require.Contains(t, c.fails(t, 50099, `DELETE FROM `+view+`;`), want)
			require.Contains(t, c.fails(t, 50099, `INSERT INTO `+view+` ([`+column+`]) VALUES (NULL);`), want)
			require.Contains(t, c.fails(t, 50099, `DELETE v FROM `+view+` AS v;`), want)
		}
		require.Equal(t, []string{"1|1|1|1"}, c.rows(t, `SELECT (SELECT COUNT(*) FROM jobs.jobs), (SELECT COUNT(*) FROM jobs.target_groups),
    (SELECT COUNT(*) FROM jobs.jobsteps), (SELECT COUNT(*) FROM jobs.job_executions WHERE step_id IS NULL);`))
		require.Contains(t, c.fails(t, 50099, `DELETE FROM jobs.jobs;`),
			"The view jobs.jobs is read only. Use jobs.sp_add_job, jobs.sp_set_job, jobs.sp_update_job and jobs.sp_delete_job.")
	})
}

// TestNoRoleMayChangeViews reads the permissions of everybody except owners: nobody may change rows
// of a public view, nor the views, nor the tables behind them.
func TestNoRoleMayChangeViews(t *testing.T) {
	each(t, func(t *testing.T, c *control) {
		granted := c.rows(t, `SELECT DISTINCT USER_NAME(p.grantee_principal_id), p.permission_name, p.class_desc,
    COALESCE(OBJECT_SCHEMA_NAME(p.major_id), SCHEMA_NAME(p.major_id))
FROM sys.database_permissions AS p
WHERE p.state IN ('G', 'W')
    AND p.permission_name IN (N'INSERT', N'UPDATE', N'DELETE', N'ALTER', N'CONTROL', N'TAKE OWNERSHIP', N'MERGE')
    AND COALESCE(OBJECT_SCHEMA_NAME(p.major_id), SCHEMA_NAME(p.major_id), N'jobs') IN (N'jobs', N'jobs_internal', N'jobs_rest');`)
		require.Empty(t, granted)
		require.NotEmpty(t, c.rows(t, `SELECT p.permission_name FROM sys.database_permissions AS p
WHERE p.class_desc = N'SCHEMA' AND SCHEMA_NAME(p.major_id) = N'jobs' AND p.permission_name = N'SELECT';`))
	})
}
