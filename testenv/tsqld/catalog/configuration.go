package catalog

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

// ScopedOption begins the keys of [Options.Other] that hold database scoped configurations.
const ScopedOption = "SCOPED CONFIGURATION "

// onByDefault are the ON/OFF options without an effect here that are ON by default.
var onByDefault = map[string]bool{"AUTO_CREATE_STATISTICS": true, "AUTO_UPDATE_STATISTICS": true}

// On reports whether an ON/OFF option without an effect here is ON.
func (d *Database) On(option string) bool {
	if v, ok := d.Options.Other[option]; ok {
		return v != "OFF"
	}
	return onByDefault[option]
}

// Recovery returns the recovery model: FULL, SIMPLE or BULK_LOGGED.
func (d *Database) Recovery() string {
	switch v := d.Options.Other["RECOVERY"]; {
	case v != "":
		return v
	case d.ID == DatabaseMaster || d.ID == DatabaseTemp || d.ID == DatabaseMSDB:
		return "SIMPLE"
	}
	return "FULL"
}
