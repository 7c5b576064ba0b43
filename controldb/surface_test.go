package controldb_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The public surface, from the specification, sections 1, 2 and 7. An asterisk marks OUTPUT. The
// lengths are the limits: a text that comes in is declared one character longer (texts_test.go).
var publicProcedures = map[string]string{
	"sp_add_job": "job_name nvarchar(128), description nvarchar(512), enabled bit, schedule_interval_type nvarchar(50)" +
		", schedule_interval_count int, schedule_start_time datetime2(7), schedule_end_time datetime2(7)" +
		", job_id uniqueidentifier*",
	"sp_update_job": "job_name nvarchar(128), new_name nvarchar(128), description nvarchar(512), enabled bit" +
		", schedule_interval_type nvarchar(50), schedule_interval_count int, schedule_start_time datetime2(7)" +
		", schedule_end_time datetime2(7), if_match bigint",
	"sp_delete_job": "job_name nvarchar(128), force bit, if_match bigint",
	"sp_add_jobstep": "job_name nvarchar(128), step_id int*, step_name nvarchar(128), command_type nvarchar(50)" +
		", command_source nvarchar(50), command nvarchar(max), credential_name nvarchar(128)" +
		", target_group_name nvarchar(128), initial_retry_interval_seconds int" +
		", maximum_retry_interval_seconds int, retry_interval_backoff_multiplier real, retry_attempts int" +
		", step_timeout_seconds int, output_type nvarchar(50), output_credential_name nvarchar(128)" +
		", output_subscription_id uniqueidentifier, output_resource_group_name nvarchar(128)" +
		", output_server_name nvarchar(256), output_database_name nvarchar(128)" +
		", output_schema_name nvarchar(128), output_table_name nvarchar(128), job_version int*" +
		", max_parallelism int, after nvarchar(max), run_when nvarchar(50), on_targets nvarchar(50), retry_errors nvarchar(50), tolerated_failures nvarchar(10)" +
		", on_unknown_outcome nvarchar(10), at_most_once bit, bind_parameters bit",
	"sp_update_jobstep": "job_name nvarchar(128), step_id int, step_name nvarchar(128), new_id int, new_name nvarchar(128)" +
		", command_type nvarchar(50), command_source nvarchar(50), command nvarchar(max)" +
		", credential_name nvarchar(128), target_group_name nvarchar(128), initial_retry_interval_seconds int" +
		", maximum_retry_interval_seconds int, retry_interval_backoff_multiplier real, retry_attempts int" +
		", step_timeout_seconds int, output_type nvarchar(50), output_credential_name nvarchar(128)" +
		", output_server_name nvarchar(256), output_database_name nvarchar(128)" +
		", output_schema_name nvarchar(128), output_table_name nvarchar(128), job_version int*" +
		", max_parallelism int, output_subscription_id uniqueidentifier" +
		", output_resource_group_name nvarchar(128)" +
		", after nvarchar(max), run_when nvarchar(50), on_targets nvarchar(50), if_match bigint" +
		", retry_errors nvarchar(50), tolerated_failures nvarchar(10), on_unknown_outcome nvarchar(10), at_most_once bit, bind_parameters bit",
	"sp_delete_jobstep":      "job_name nvarchar(128), step_id int, step_name nvarchar(128), job_version int*, if_match bigint",
	"sp_start_job":           "job_name nvarchar(128), job_execution_id uniqueidentifier*, parameters nvarchar(max), only_targets nvarchar(max)",
	"sp_stop_job":            "job_execution_id uniqueidentifier",
	"sp_add_target_group":    "target_group_name nvarchar(128), target_group_id uniqueidentifier*",
	"sp_delete_target_group": "target_group_name nvarchar(128), if_match bigint",
	"sp_add_target_group_member": "target_group_name nvarchar(128), membership_type nvarchar(128), target_type nvarchar(128)" +
		", refresh_credential_name nvarchar(128), server_name nvarchar(128), database_name nvarchar(128)" +
		", elastic_pool_name nvarchar(128), shard_map_name nvarchar(128), target_id uniqueidentifier*",
	"sp_delete_target_group_member": "target_group_name nvarchar(128), target_id uniqueidentifier",
	"sp_purge_jobhistory":           "job_name nvarchar(128), job_id uniqueidentifier, oldest_date datetime2(7)",
}

var publicViews = map[string]string{
	"job_executions": "job_execution_id uniqueidentifier, job_name nvarchar(128), job_id uniqueidentifier, job_version int" +
		", step_id int, is_active bit, lifecycle nvarchar(50), create_time datetime2(7)" +
		", start_time datetime2(7), end_time datetime2(7), current_attempts int" +
		", current_attempt_start_time datetime2(7), next_attempt_start_time datetime2(7)" +
		", last_message nvarchar(max), target_type nvarchar(128), target_id uniqueidentifier" +
		", target_group_name nvarchar(128), target_server_name nvarchar(256)" +
		", target_database_name nvarchar(128)",
	"jobs": "job_name nvarchar(128), job_id uniqueidentifier, job_version int, description nvarchar(512)" +
		", enabled bit, schedule_interval_type nvarchar(50), schedule_interval_count int" +
		", schedule_start_time datetime2(7), schedule_end_time datetime2(7)",
	"job_versions": "job_name nvarchar(128), job_id uniqueidentifier, job_version int",
	"jobsteps": "job_name nvarchar(128), job_id uniqueidentifier, job_version int, step_id int, step_name nvarchar(128)" +
		", command_type nvarchar(50), command_source nvarchar(50), command nvarchar(max)" +
		", credential_name nvarchar(128), target_group_name nvarchar(128), target_group_id uniqueidentifier" +
		", initial_retry_interval_seconds int, maximum_retry_interval_seconds int" +
		", retry_interval_backoff_multiplier real, retry_attempts int, step_timeout_seconds int" +
		", output_type nvarchar(11), output_credential_name nvarchar(128)" +
		", output_subscription_id uniqueidentifier, output_resource_group_name nvarchar(128)" +
		", output_server_name nvarchar(256), output_database_name nvarchar(128)" +
		", output_schema_name nvarchar(max), output_table_name nvarchar(max), max_parallelism int",
	"jobstep_versions": "job_name nvarchar(128), job_id uniqueidentifier, job_version int, step_id int, step_name nvarchar(128)" +
		", command_type nvarchar(50), command_source nvarchar(50), command nvarchar(max)" +
		", credential_name nvarchar(128), target_group_name nvarchar(128), target_group_id uniqueidentifier" +
		", initial_retry_interval_seconds int, maximum_retry_interval_seconds int" +
		", retry_interval_backoff_multiplier real, retry_attempts int, step_timeout_seconds int" +
		", output_type nvarchar(11), output_credential_name nvarchar(128)" +
		", output_subscription_id uniqueidentifier, output_resource_group_name nvarchar(128)" +
		", output_server_name nvarchar(256), output_database_name nvarchar(128)" +
		", output_schema_name nvarchar(max), output_table_name nvarchar(max), max_parallelism int",
	"target_groups": "target_group_name nvarchar(128), target_group_id uniqueidentifier",
	"target_group_members": "target_group_name nvarchar(128), target_group_id uniqueidentifier, membership_type nvarchar(128)" +
		", target_type nvarchar(128), target_id uniqueidentifier, refresh_credential_name nvarchar(128)" +
		", subscription_id uniqueidentifier, resource_group_name nvarchar(128), server_name nvarchar(128)" +
		", database_name nvarchar(128), elastic_pool_name nvarchar(128)",
}

// typeText formats a type as in declarations.
const typeText = `CONCAT(TYPE_NAME(x.user_type_id), CASE
    WHEN TYPE_NAME(x.user_type_id) = N'nvarchar' AND x.max_length = -1 THEN N'(max)'
    WHEN TYPE_NAME(x.user_type_id) = N'nvarchar' THEN CONCAT(N'(', x.max_length / 2, N')')
    WHEN TYPE_NAME(x.user_type_id) = N'datetime2' THEN CONCAT(N'(', x.scale, N')')
END)`

func TestPublicProceduresMatchAzure(t *testing.T) {
	each(t, func(t *testing.T, c *control) {
		for name, want := range publicProcedures {
			got := c.rows(t, `SELECT CONCAT(SUBSTRING(x.name, 2, 200), N' ', `+strings.Replace(typeText, "max_length / 2", "max_length / 2 - 1", 1)+`, CASE WHEN x.is_output = 1 THEN N'*' END)
FROM sys.parameters AS x WHERE x.object_id = OBJECT_ID(@p1) ORDER BY x.parameter_id;`, "jobs."+name)
			require.Equal(t, want, strings.Join(got, ", "), name)
		}
	})
}

func TestPublicViewsMatchAzure(t *testing.T) {
	each(t, func(t *testing.T, c *control) {
		for name, want := range publicViews {
			got := c.rows(t, `SELECT CONCAT(x.name, N' ', `+typeText+`)
FROM sys.columns AS x WHERE x.object_id = OBJECT_ID(@p1) ORDER BY x.column_id;`, "jobs."+name)
			require.Equal(t, want, strings.Join(got, ", "), name)
		}
	})
}
