package sysviews

import (
	"strings"

	"github.com/jobagent/jobagent/testenv/tsqld/catalog"
)

// unsupported are documented views and functions of the schema sys whose values this server does
// not measure or keep. Views of features that do not exist here are in absent.txt, and views of
// Azure alone are no objects (208), as in SQL Server.
var unsupported = func() map[string]bool {
	set := map[string]bool{}
	for _, name := range strings.Fields(`
		dm_db_file_space_usage dm_db_index_operational_stats dm_db_objects_impacted_on_version_change
		dm_db_session_space_usage dm_db_task_space_usage dm_exec_background_job_queue
		dm_exec_cached_plan_dependent_objects dm_exec_cached_plans dm_exec_describe_first_result_set
		dm_exec_describe_first_result_set_for_object dm_exec_function_stats dm_exec_input_buffer
		dm_exec_plan_attributes dm_exec_procedure_stats dm_exec_query_memory_grants dm_exec_query_plan
		dm_exec_query_plan_stats dm_exec_query_profiles dm_exec_query_statistics_xml dm_exec_query_stats
		dm_exec_text_query_plan dm_exec_trigger_stats dm_os_buffer_descriptors dm_os_latch_stats
		dm_os_memory_cache_counters dm_os_memory_clerks dm_os_memory_objects dm_os_performance_counters
		dm_os_ring_buffers dm_os_schedulers dm_os_sys_memory dm_os_tasks dm_os_threads dm_os_volume_stats
		dm_os_wait_stats dm_os_waiting_tasks dm_os_windows_info dm_os_workers
		dm_resource_governor_resource_pools dm_resource_governor_workload_groups dm_server_services
		dm_sql_referenced_entities dm_tran_current_snapshot dm_tran_current_transaction
		dm_tran_top_version_generators dm_tran_transactions_snapshot dm_tran_version_store
		sql_dependencies syscharsets sysdepends sysdevices syslockinfo sysmessages sysopentapes sysperfinfo
		sysprotects sysreferences`) {
		set[name] = true
	}
	return set
}()

// IsUnsupported reports whether a name without a database is that of a documented view or function
// that this server does not have.
func IsUnsupported(schema, name string) bool {
	return (schema == "" || catalog.EqualNames(schema, "sys")) && unsupported[catalog.Fold(name)] &&
		(schema != "" || strings.HasPrefix(catalog.Fold(name), "sys"))
}
