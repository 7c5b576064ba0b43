package catalog

import (
	_ "embed"
	"fmt"
	"strings"
	"sync"
)

// Configuration is a server configuration option. Its value has no effect here.
type Configuration struct {
	ID                      int64
	Name                    string
	Value, Minimum, Maximum int64
	Advanced                bool
	Restart                 bool // a change takes effect after a restart (is_dynamic = 0)
	Description             string
}

// Setting is the value of an option of sp_configure before and after RECONFIGURE.
type Setting struct{ Configured, Running int64 }

// configurationList has the options of SQL Server 2022 (documentation: "Server configuration
// options"), one a line and by configuration_id. The columns, separated by tabs, are the fields of
// [Configuration].
//
//go:embed configurations.txt
var configurationList string

// Configurations returns the rows of sys.configurations by configuration_id. They are shared.
var Configurations = sync.OnceValue(func() []Configuration {
	var out []Configuration
	for line := range strings.Lines(configurationList) {
		f := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		c := Configuration{Name: f[1], Advanced: f[5] == "1", Restart: f[6] == "1", Description: f[7]}
		if _, err := fmt.Sscan(f[0]+" "+f[2]+" "+f[3]+" "+f[4], &c.ID, &c.Value, &c.Minimum, &c.Maximum); err != nil {
			panic(fmt.Errorf("configurations.txt: %q: %w", line, err))
		}
		out = append(out, c)
	}
	return out
})

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
