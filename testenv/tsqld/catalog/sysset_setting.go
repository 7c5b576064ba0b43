package catalog

import (
	"context"
	"os"
	"runtime"
	"strings"

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
			"is_event_logged bit, text nvarchar(2048)"},
		{name: "dbo.spt_values", columns: "name nvarchar(35)?, number int, type nchar(3), low int?, high int?, " +
			"status int?", rows: numberRows},
	}
}

// configurationsRows are the rows of sys.configurations.
func configurationsRows(_ context.Context, env *Env) ([]row, error) {
	var out []row
	for _, c := range Configurations {
		now, ok := env.Settings[c.ID]
		if !ok {
			now = Setting{c.Value, c.Value}
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

// Configuration is a server configuration option. Its value has no effect here.
type Configuration struct {
	ID                      int64
	Name                    string
	Value, Minimum, Maximum int64
	Description             string
	Advanced                bool
	Restart                 bool // a change takes effect after a restart (is_dynamic = 0)
}

// Setting is the value of an option of sp_configure before and after RECONFIGURE.
type Setting struct{ Configured, Running int64 }

// Configurations are the rows of sys.configurations: the options of SQL Server 2022 with their
// defaults, by configuration_id. Documentation: "Server configuration options".
var Configurations = []Configuration{
	{101, "recovery interval (min)", 0, 0, 32767, "Maximum recovery interval in minutes", true, false},
	{102, "allow updates", 0, 0, 1, "Allow updates to system tables", false, false},
	{103, "user connections", 0, 0, 32767, "Number of user connections allowed", true, true},
	{106, "locks", 0, 5000, 2147483647, "Number of locks for all users", true, true},
	{107, "open objects", 0, 0, 2147483647, "Number of open database objects", true, true},
	{109, "fill factor (%)", 0, 0, 100, "Default fill factor percentage", true, true},
	{114, "disallow results from triggers", 0, 0, 1, "Disallow returning results from triggers", true, false},
	{115, "nested triggers", 1, 0, 1, "Allow triggers to be invoked within triggers", false, false},
	{116, "server trigger recursion", 1, 0, 1, "Allow recursion for server level triggers", false, false},
	{117, "remote access", 1, 0, 1, "Allow remote access", false, true},
	{124, "default language", 0, 0, 9999, "default language", false, false},
	{400, "cross db ownership chaining", 0, 0, 1, "Allow cross db ownership chaining", false, false},
	{503, "max worker threads", 0, 128, 65535, "Maximum worker threads", true, false},
	{505, "network packet size (B)", 4096, 512, 32767, "Network packet size", true, false},
	{518, "show advanced options", 0, 0, 1, "show advanced options", false, false},
	{542, "remote proc trans", 0, 0, 1, "Create DTC transaction for remote procedures", false, false},
	{544, "c2 audit mode", 0, 0, 1, "c2 audit mode", true, true},
	{1126, "default full-text language", 1033, 0, 2147483647, "default full-text language", true, false},
	{1127, "two digit year cutoff", 2049, 1753, 9999, "two digit year cutoff", true, false},
	{1505, "index create memory (KB)", 0, 704, 2147483647, "Memory for index create sorts (kBytes)", true, false},
	{1517, "priority boost", 0, 0, 1, "Priority boost", true, true},
	{1519, "remote login timeout (s)", 10, 0, 2147483647, "remote login timeout", false, false},
	{1520, "remote query timeout (s)", 600, 0, 2147483647, "remote query timeout", false, false},
	{1531, "cursor threshold", -1, -1, 2147483647, "cursor threshold", true, false},
	{1532, "set working set size", 0, 0, 1, "set working set size", true, true},
	{1534, "user options", 0, 0, 32767, "user options", false, false},
	{1535, "affinity mask", 0, -2147483648, 2147483647, "affinity mask", true, false},
	{
		1536, "max text repl size (B)", 65536, -1, 2147483647, "Maximum size of a text field in replication.", false,
		false,
	},
	{1537, "media retention", 0, 0, 365, "Tape retention period in days", true, false},
	{1538, "cost threshold for parallelism", 5, 0, 32767, "cost threshold for parallelism", true, false},
	{1539, "max degree of parallelism", 0, 0, 32767, "maximum degree of parallelism", true, false},
	{1540, "min memory per query (KB)", 1024, 512, 2147483647, "minimum memory per query (kBytes)", true, false},
	{1541, "query wait (s)", -1, -1, 2147483647, "maximum time to wait for query memory (s)", true, false},
	{1543, "min server memory (MB)", 0, 0, 2147483647, "Minimum size of server memory (MB)", true, false},
	{1544, "max server memory (MB)", 2147483647, 128, 2147483647, "Maximum size of server memory (MB)", true, false},
	{
		1545, "query governor cost limit", 0, 0, 2147483647, "Maximum estimated cost allowed by query governor", true,
		false,
	},
	{1546, "lightweight pooling", 0, 0, 1, "User mode scheduler uses lightweight pooling", true, true},
	{1547, "scan for startup procs", 0, 0, 1, "scan for startup stored procedures", true, true},
	{1549, "affinity64 mask", 0, -2147483648, 2147483647, "affinity64 mask", true, false},
	{1550, "affinity I/O mask", 0, -2147483648, 2147483647, "affinity I/O mask", true, true},
	{1551, "affinity64 I/O mask", 0, -2147483648, 2147483647, "affinity64 I/O mask", true, true},
	{1555, "transform noise words", 0, 0, 1, "Transform noise words for full-text query", true, false},
	{1556, "precompute rank", 0, 0, 1, "Use precomputed rank for full-text query", true, false},
	{1557, "PH timeout (s)", 60, 1, 3600, "DB connection timeout for full-text protocol handler (s)", true, false},
	{1562, "clr enabled", 0, 0, 1, "CLR user code execution enabled in the server", false, false},
	{1563, "max full-text crawl range", 4, 0, 256, "Maximum  crawl ranges allowed in full-text indexing", true, false},
	{1564, "ft notify bandwidth (min)", 0, 0, 32767, "Number of reserved full-text notifications buffers", true, false},
	{1565, "ft notify bandwidth (max)", 100, 0, 32767, "Max number of full-text notifications buffers", true, false},
	{1566, "ft crawl bandwidth (min)", 0, 0, 32767, "Number of reserved full-text crawl buffers", true, false},
	{1567, "ft crawl bandwidth (max)", 100, 0, 32767, "Max number of full-text crawl buffers", true, false},
	{1568, "default trace enabled", 1, 0, 1, "Enable or disable the default trace", true, false},
	{1569, "blocked process threshold (s)", 0, 0, 86400, "Blocked process reporting threshold", true, false},
	{
		1570, "in-doubt xact resolution", 0, 0, 2, "Recovery policy for DTC transactions with unknown outcome", true,
		false,
	},
	{
		1576, "remote admin connections", 0, 0, 1, "Dedicated Admin Connections are allowed from remote clients", false,
		false,
	},
	{1577, "common criteria compliance enabled", 0, 0, 1, "Common Criteria compliance mode enabled", true, true},
	{1578, "EKM provider enabled", 0, 0, 1, "Enable or disable EKM provider", true, false},
	{1579, "backup compression default", 0, 0, 1, "Enable compression of backups by default", false, false},
	{1580, "filestream access level", 0, 0, 2, "Sets the FILESTREAM access level", false, false},
	{1581, "optimize for ad hoc workloads", 0, 0, 1, "When this option is set, " +
		"plan cache size is further reduced for single-use adhoc OLTP workload.", true, false},
	{
		1582, "access check cache bucket count", 0, 0, 65536,
		"Default hash bucket count for the access check result security cache", true, false,
	},
	{
		1583, "access check cache quota", 0, 0, 2147483647, "Default quota for the access check result security cache",
		true, false,
	},
	{1584, "backup checksum default", 0, 0, 1, "Enable checksum of backups by default", false, false},
	{1585, "automatic soft-NUMA disabled", 0, 0, 1, "Automatic soft-NUMA is enabled by default", true, true},
	{1586, "external scripts enabled", 0, 0, 1, "Allows execution of external scripts", false, false},
	{1587, "clr strict security", 1, 0, 1, "CLR strict security enabled in the server", true, false},
	{
		1588, "column encryption enclave type", 0, 0, 2, "Type of enclave used for computations on encrypted columns",
		false, true,
	},
	{
		1589, "tempdb metadata memory-optimized", 0, 0, 1, "Tempdb metadata memory-optimized is disabled by default.",
		true, true,
	},
	{1591, "ADR cleaner retry timeout (min)", 15, 0, 32767, "ADR cleaner retry timeout.", true, false},
	{1592, "ADR Preallocation Factor", 4, 0, 32767, "ADR Preallocation Factor.", true, false},
	{
		1593, "version high part of SQL Server", 1048576, -2147483648, 2147483647,
		"version high part of SQL Server that model database copied for", true, false,
	},
	{
		1594, "version low part of SQL Server", 65536006, -2147483648, 2147483647,
		"version low part of SQL Server that model database copied for", true, false,
	},
	{
		1595, "Data processed daily limit in TB", 2147483647, 0, 2147483647,
		"SQL On-demand data processed daily limit in TB", false, false,
	},
	{
		1596, "Data processed weekly limit in TB", 2147483647, 0, 2147483647,
		"SQL On-demand data processed weekly limit in TB", false, false,
	},
	{
		1597, "Data processed monthly limit in TB", 2147483647, 0, 2147483647,
		"SQL On-demand data processed monthly limit in TB", false, false,
	},
	{1598, "ADR Cleaner Thread Count", 1, 1, 32767, "Max number of threads ADR cleaner can assign.", true, false},
	{1599, "hardware offload enabled", 0, 0, 1, "Enable hardware offloading on the server", true, true},
	{1600, "hardware offload config", 0, 0, 255, "Configure hardware offload on the server", true, true},
	{1601, "hardware offload mode", 0, 0, 255, "Configure hardware offload mode on the server", true, true},
	{1602, "backup compression algorithm", 0, 0, 2, "Configure default backup compression algorithm", false, false},
	{16384, "Agent XPs", 0, 0, 1, "Enable or disable Agent XPs", true, false},
	{16386, "Database Mail XPs", 0, 0, 1, "Enable or disable Database Mail XPs", true, false},
	{16387, "SMO and DMO XPs", 1, 0, 1, "Enable or disable SMO and DMO XPs", true, false},
	{16388, "Ole Automation Procedures", 0, 0, 1, "Enable or disable Ole Automation Procedures", true, false},
	{16390, "xp_cmdshell", 0, 0, 1, "Enable or disable command shell", true, false},
	{16391, "Ad Hoc Distributed Queries", 0, 0, 1, "Enable or disable Ad Hoc Distributed Queries", true, false},
	{16392, "Replication XPs", 0, 0, 1, "Enable or disable Replication XPs", true, false},
	{
		16393, "contained database authentication", 0, 0, 1, "Enables contained databases and contained authentication",
		false, false,
	},
	{
		16394, "hadoop connectivity", 0, 0, 7,
		"Configure SQL Server to connect to external Hadoop or Microsoft Azure storage blob data sources through PolyBase",
		false, true,
	},
	{
		16395, "polybase network encryption", 1, 0, 1,
		"Configure SQL Server to encrypt control and data channels when using PolyBase", false, false,
	},
	{
		16396, "remote data archive", 0, 0, 1, "Allow the use of the REMOTE_DATA_ARCHIVE data access for databases",
		false, false,
	},
	{16397, "allow polybase export", 0, 0, 1, "Allow INSERT into a Hadoop external table", false, false},
	{16398, "allow filesystem enumeration", 1, 0, 1, "Allow enumeration of filesystem", true, false},
	{
		16399, "polybase enabled", 0, 0, 1, "Configure SQL Server to connect to external data sources through PolyBase",
		false, false,
	},
	{
		16400, "suppress recovery model errors", 0, 0, 1,
		"Return warning instead of error for unsupported ALTER DATABASE SET RECOVERY command", true, false,
	},
	{
		16401, "openrowset auto_create_statistics", 1, 0, 1,
		"Enable or disable auto create statistics for openrowset sources.", true, false,
	},
}
