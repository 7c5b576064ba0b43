package sysviews

import (
	"context"
	"os"
	"runtime"
	"strings"

	"github.com/jobagent/jobagent/testenv/tsqld/catalog"
	"github.com/jobagent/jobagent/testenv/tsqld/types"
)

// settingSets returns the system tables about the configuration of the instance and its machine.
func settingSets() []declaration {
	return []declaration{
		{name: "sys.configurations", columns: "configuration_id int, name nvarchar(35), value sql_variant?, " +
			"minimum sql_variant?, maximum sql_variant?, value_in_use sql_variant?, " +
			"description nvarchar(255), is_dynamic bit, is_advanced bit", live: true, rows: configurationsRows},
		{name: "sys.spt_collations", columns: "name sysname, description nvarchar(1000)", rows: sptCollationsRows},
		{name: "sys.dm_os_host_info", columns: "host_platform nvarchar(256), host_distribution nvarchar(256), " +
			"host_release nvarchar(256), host_service_pack_level nvarchar(256), " +
			"host_sku int?, os_language_version int, host_architecture nvarchar(256)",
			live: true, rows: singleRow(dmOsHostInfoRow)},
		{name: "sys.dm_os_sys_info", columns: "cpu_ticks bigint, ms_ticks bigint, cpu_count int, " +
			"hyperthread_ratio int, physical_memory_kb bigint, virtual_memory_kb bigint, " +
			"committed_kb bigint, committed_target_kb bigint, visible_target_kb bigint, stack_size_in_bytes int, " +
			"os_quantum bigint, os_error_mode int, os_priority_class int?, " +
			"max_workers_count int, scheduler_count int, scheduler_total_count int, " +
			"deadlock_monitor_serial_number int, sqlserver_start_time_ms_ticks bigint, " +
			"sqlserver_start_time datetime, affinity_type int, affinity_type_desc nvarchar(60), " +
			"process_kernel_time_ms bigint, process_user_time_ms bigint, time_source int, " +
			"time_source_desc nvarchar(60), virtual_machine_type int, virtual_machine_type_desc nvarchar(60), " +
			"softnuma_configuration int, softnuma_configuration_desc nvarchar(60), " +
			"process_physical_affinity nvarchar(3072), sql_memory_model int, sql_memory_model_desc nvarchar(120), " +
			"socket_count int, cores_per_socket int, numa_node_count int, " +
			"container_type int, container_type_desc nvarchar(60)", live: true, rows: singleRow(dmOsSysInfoRow)},
		{name: "sys.dm_os_process_memory", columns: "physical_memory_in_use_kb bigint, " +
			"large_page_allocations_kb bigint, locked_page_allocations_kb bigint, " +
			"total_virtual_address_space_kb bigint, " +
			"virtual_address_space_reserved_kb bigint, virtual_address_space_committed_kb bigint, " +
			"virtual_address_space_available_kb bigint, page_fault_count bigint, " +
			"memory_utilization_percentage int, available_commit_limit_kb bigint, process_physical_memory_low bit, " +
			"process_virtual_memory_low bit", live: true, rows: singleRow(dmOsProcessMemoryRow)},
		{name: "sys.syslanguages", columns: "langid smallint, dateformat nchar(3), datefirst tinyint, upgrade int?, " +
			"name sysname, alias sysname, months nvarchar(372)?, " +
			"shortmonths nvarchar(132)?, days nvarchar(217)?, lcid int, msglangid smallint", rows: syslanguagesRows},
		{name: "sys.endpoints", columns: endpointColumns, rows: singleRow(func(*Env) row { return endpoint })},
		{name: "sys.tcp_endpoints", columns: endpointColumns + ", port int, is_dynamic_port bit, " +
			"ip_address nvarchar(45)?", rows: singleRow(func(*Env) row { return endpoint })},
		{name: "sys.servers", columns: "server_id int, name sysname, product sysname, provider sysname, " +
			"data_source nvarchar(4000)?, location nvarchar(4000)?, provider_string nvarchar(4000)?, " +
			"catalog sysname?, connect_timeout int?, query_timeout int?, is_linked bit, " +
			"is_remote_login_enabled bit, is_rpc_out_enabled bit, is_data_access_enabled bit, " +
			"is_collation_compatible bit, uses_remote_collation bit, collation_name sysname?, " +
			"lazy_schema_validation bit, is_system bit, is_publisher bit, is_subscriber bit?, " +
			"is_distributor bit?, is_nonsql_subscriber bit?, is_remote_proc_transaction_promotion_enabled bit?, " +
			"modify_date datetime, is_rda_server bit?", rows: singleRow(serversRow)},
		{name: "sys.messages", columns: "message_id int, language_id smallint, severity tinyint?, " +
			"is_event_logged bit, text nvarchar(2048)", live: true, rows: messagesRows},
		{name: "dbo.spt_values", columns: "name nvarchar(35)?, number int, type nchar(3), low int?, high int?, " +
			"status int?", rows: numberRows},
	}
}

// configurationsRows are the rows of sys.configurations.
func configurationsRows(_ context.Context, env *Env) ([]row, error) {
	var out []row
	for _, c := range catalog.Configurations {
		now, ok := env.Settings[c.ID]
		if !ok {
			now = catalog.Setting{Configured: c.Value, Running: c.Value}
		}
		r := row{
			"configuration_id": c.ID, "name": c.Name, "description": c.Description,
			"is_dynamic": bit(!c.Restart), "is_advanced": bit(c.Advanced),
		}
		for col, n := range map[string]int64{
			"value": now.Configured, "minimum": c.Minimum, "maximum": c.Maximum, "value_in_use": now.Running,
		} {
			v, err := variant(n, types.IntType)
			if err != nil {
				return nil, err
			}
			r[col] = v
		}
		out = append(out, r)
	}
	return out, nil
}

// sptCollationsRows are the rows of sys.spt_collations.
func sptCollationsRows(context.Context,
	*Env) ([]row, error) {
	var out []row
	for _, c := range types.Collations() {
		out = append(out, row{"name": c.String(), "description": c.Description()})
	}
	return out, nil
}

// dmOsHostInfoRow is the row of sys.dm_os_host_info.
func dmOsHostInfoRow(*Env) row {
	platform, distribution, release := hostSystem()
	return row{
		"host_platform": platform, "host_distribution": distribution, "host_release": release,
		"host_service_pack_level": "", "host_architecture": architecture(),
	}
}

// dmOsSysInfoRow is the row of sys.dm_os_sys_info.
func dmOsSysInfoRow(env *Env) row {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	cpus := int64(runtime.NumCPU())
	return row{
		"cpu_count": cpus, "scheduler_count": cpus, "scheduler_total_count": cpus,
		"hyperthread_ratio": int64(1), "socket_count": int64(1), "cores_per_socket": cpus,
		"numa_node_count": int64(1), "physical_memory_kb": physicalMemory(),
		"committed_kb": int64(m.Sys / 1024), "committed_target_kb": int64(m.Sys / 1024),
		"visible_target_kb": int64(m.Sys / 1024), "sqlserver_start_time": env.Started,
		"affinity_type": int64(2), "affinity_type_desc": "AUTO",
		"virtual_machine_type_desc": "NONE", "softnuma_configuration_desc": "OFF", "sql_memory_model": int64(1),
		"sql_memory_model_desc": "CONVENTIONAL",
		"time_source_desc":      "QUERY_PERFORMANCE_COUNTER", "container_type_desc": "NONE",
	}
}

// dmOsProcessMemoryRow is the row of sys.dm_os_process_memory.
func dmOsProcessMemoryRow(*Env) row {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return row{
		"physical_memory_in_use_kb":          int64(m.Sys-m.HeapReleased) / 1024,
		"virtual_address_space_reserved_kb":  int64(m.Sys / 1024),
		"virtual_address_space_committed_kb": int64(m.Sys-m.HeapReleased) / 1024,
		"memory_utilization_percentage":      int64(100),
	}
}

// messagesRows are the rows of sys.messages: the messages of users.
func messagesRows(_ context.Context, env *Env) ([]row, error) {
	var out []row
	for _, m := range env.Messages {
		out = append(out, row{
			"message_id": m.ID, "language_id": int64(1033), "severity": m.Severity, "is_event_logged": bit(m.Logged), "text": m.Text,
		})
	}
	return out, nil
}

// syslanguagesRows are the rows of sys.syslanguages.
func syslanguagesRows(context.Context,
	*Env) ([]row, error) {
	var out []row
	for _, l := range types.Languages() {
		out = append(out, row{
			"langid": int64(l.ID), "dateformat": l.Order.String(), "datefirst": int64(l.FirstDay),
			"upgrade": int64(0), "name": l.Name, "alias": l.Alias,
			"months": l.Months(), "shortmonths": l.ShortMonths(), "days": l.Days(), "lcid": int64(l.LCID),
			"msglangid": int64(l.MessageLCID)})
	}
	return out, nil
}

// serversRow is the row of sys.servers.
func serversRow(env *Env) row {
	return row{
		"name": env.Server, "product": "SQL Server", "provider": "SQLNCLI", "data_source": env.Server,
		"connect_timeout": int64(0), "query_timeout": int64(0),
		"is_remote_login_enabled": int64(1), "is_rpc_out_enabled": int64(1), "uses_remote_collation": int64(1),
		"is_subscriber": int64(0), "is_distributor": int64(0),
		"is_nonsql_subscriber": int64(0), "is_remote_proc_transaction_promotion_enabled": int64(0),
		"modify_date": env.Started, "is_rda_server": int64(0),
	}
}

// endpointColumns are the columns of sys.endpoints.
const endpointColumns = "name sysname, endpoint_id int, principal_id int?, protocol tinyint, " +
	"protocol_desc nvarchar(60)?, type tinyint, type_desc nvarchar(60)?, state tinyint?, " +
	"state_desc nvarchar(60)?, is_admin_endpoint bit"

// endpoint is the only endpoint. sys.dm_exec_connections refers to it.
var endpoint = row{
	"name": "TSQL Default TCP", "endpoint_id": int64(4), "principal_id": int64(1), "protocol": int64(2),
	"protocol_desc": "TCP", "type": int64(2), "type_desc": "TSQL",
	"state": int64(0), "state_desc": "STARTED",
}

// singleRow returns the rows function of a system table with one row.
func singleRow(makeRow func(env *Env) row) func(context.Context, *Env) ([]row, error) {
	return func(_ context.Context, env *Env) ([]row, error) { return []row{makeRow(env)}, nil }
}

// hostSystem returns the operating system for sys.dm_os_host_info; on Linux from /etc/os-release.
func hostSystem() (platform, distribution, release string) {
	switch runtime.GOOS {
	case "windows":
		return "Windows", "Windows", ""
	case "linux":
		platform = "Linux"
	default:
		return runtime.GOOS, runtime.GOOS, ""
	}
	distribution = platform
	text, err := os.ReadFile("/etc/os-release")
	if err != nil { // the file is optional
		return platform, distribution, ""
	}
	for line := range strings.Lines(string(text)) {
		key, value, _ := strings.Cut(strings.TrimSpace(line), "=")
		switch value = strings.Trim(value, `"`); key {
		case "NAME":
			distribution = value
		case "VERSION_ID":
			release = value
		}
	}
	return platform, distribution, release
}

// architecture returns host_architecture: X64 or ARM64.
func architecture() string {
	if runtime.GOARCH == "amd64" {
		return "X64"
	}
	return strings.ToUpper(runtime.GOARCH)
}

// physicalMemory returns the memory of the machine in KB, or 0 without /proc.
func physicalMemory() int64 {
	text, err := os.ReadFile("/proc/meminfo")
	if err != nil { // Linux only
		return 0
	}
	for line := range strings.Lines(string(text)) {
		if f := strings.Fields(line); len(f) > 1 && f[0] == "MemTotal:" {
			n := int64(0)
			for _, c := range f[1] {
				n = n*10 + int64(c-'0')
			}
			return n
		}
	}
	return 0
}

// numberRows are the rows of master.dbo.spt_values that scripts read: the numbers 0 to 2047 with
// their byte and bit (type P), the page size (type E), and the words for yes and no (type B).
func numberRows(context.Context, *Env) ([]row, error) {
	var out []row
	add := func(kind string, number int64, name, low, high types.Value) {
		out = append(out,
			row{"name": name, "number": number, "type": kind, "low": low, "high": high, "status": int64(0)})
	}
	add("B", -1, "YES OR NO", nil, nil)
	add("B", 0, "no", nil, nil)
	add("B", 1, "yes", nil, nil)
	add("B", 2, "none", nil, nil)
	add("E", 0, "SQLSERVER HOST TYPE", nil, nil)
	add("E", 1, "WINDOWS/NT", int64(8192), nil)
	for n := range int64(2048) {
		add("P", n, nil, n/8+1, int64(1)<<(n%8))
	}
	return out, nil
}
