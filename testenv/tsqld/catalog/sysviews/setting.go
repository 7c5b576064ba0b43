package sysviews

import (
	"context"
	"encoding/binary"
	"os"
	"runtime"
	"strings"

	"github.com/jobagent/jobagent/testenv/tsqld/catalog"
	"github.com/jobagent/jobagent/testenv/tsqld/types"
)

// settingSets returns the system tables about the configuration of the instance and its machine.
func settingSets() []declaration {
	return []declaration{
		{name: "sys.configurations", live: true, rows: configurationsRows},
		{name: "sys.spt_collations", rows: sptCollationsRows},
		{name: "sys.dm_os_host_info", live: true, rows: singleRow(dmOsHostInfoRow)},
		{name: "sys.dm_os_sys_info", live: true, rows: singleRow(dmOsSysInfoRow)},
		{name: "sys.dm_os_process_memory", live: true, rows: singleRow(dmOsProcessMemoryRow)},
		{name: "sys.syslanguages", rows: syslanguagesRows},
		{name: "sys.endpoints", rows: singleRow(constantRow)},
		{name: "sys.tcp_endpoints", rows: singleRow(constantRow)},
		{name: "sys.servers", rows: singleRow(serversRow)},
		{name: "sys.messages", live: true, rows: adding(messagesRows)},
		{name: "dbo.spt_values", rows: numberRows},
	}
}

// configurationsRows are the rows of sys.configurations.
func configurationsRows(_ context.Context, env *Env) ([]row, error) {
	var out []row
	for _, c := range catalog.Configurations() {
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
func sptCollationsRows(context.Context, *Env) ([]row, error) {
	var out []row
	for _, c := range types.Collations() {
		out = append(out, row{
			"name": c.String(), "description": c.Description(),
			"tds_collation": append(binary.LittleEndian.AppendUint32(nil, c.Wire()), c.SortID()),
		})
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
		"cpu_count": cpus, "scheduler_count": cpus, "scheduler_total_count": cpus, "cores_per_socket": cpus,
		"physical_memory_kb": physicalMemory(), "committed_kb": int64(m.Sys / 1024),
		"committed_target_kb": int64(m.Sys / 1024), "visible_target_kb": int64(m.Sys / 1024),
		"sqlserver_start_time": env.Started,
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
	}
}

// messagesRows are the rows of sys.messages: the messages of users.
func messagesRows(env *Env, add func(row)) {
	for _, m := range env.Messages {
		add(row{
			"message_id": m.ID, "severity": m.Severity, "is_event_logged": bit(m.Logged), "text": m.Text,
		})
	}
}

// syslanguagesRows are the rows of sys.syslanguages.
func syslanguagesRows(context.Context, *Env) ([]row, error) {
	var out []row
	for _, l := range types.Languages() {
		out = append(out, row{
			"langid": int64(l.ID), "dateformat": l.Order.String(), "datefirst": int64(l.FirstDay),
			"name": l.Name, "alias": l.Alias, "months": l.Months(), "shortmonths": l.ShortMonths(),
			"days": l.Days(), "lcid": int64(l.LCID), "msglangid": int64(l.MessageLCID),
		})
	}
	return out, nil
}

// serversRow is the row of sys.servers.
func serversRow(env *Env) row {
	return row{
		"name": env.Server, "data_source": env.Server, "modify_date": env.Started,
	}
}

// singleRow returns the rows function of a system table with one row.
func singleRow(makeRow func(env *Env) row) func(context.Context, *Env) ([]row, error) {
	return func(_ context.Context, env *Env) ([]row, error) { return []row{makeRow(env)}, nil }
}

// constantRow is a row whose values are in columns.txt.
func constantRow(*Env) row { return row{} }

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
			row{
				"name": name, "number": number, "type": kind, "low": low, "high": high,
			})
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
