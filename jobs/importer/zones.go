package importer

import (
	_ "embed"
	"strings"
	"sync"

	"github.com/jobagent/jobagent/jobs/schedule"
)

// windowsZones lists the names of Windows' time zones with the IANA zone of each (territory 001 of CLDR's windowsZones, as the
// Go release's package time quotes it), separated by a tab.
//
//go:embed windowszones.txt
var windowsZones string

var zoneOfWindows = sync.OnceValue(func() map[string]string {
	zones := map[string]string{}
	for line := range strings.Lines(windowsZones) {
		if name, zone, ok := strings.Cut(strings.TrimSpace(line), "\t"); ok {
			zones[strings.ToLower(name)] = zone
		}
	}
	zones["utc"], zones["coordinated universal time"] = "UTC", "UTC" // Etc/UTC in the list: the same, shorter
	return zones
})

// Zone finds the IANA zone of a name of Windows in any case, as SQL Server's CURRENT_TIMEZONE_ID() returns it, or of an IANA
// name (D-Z1). The error is a *schedule.Error.
func Zone(name string) (string, error) {
	if zone, ok := zoneOfWindows()[strings.ToLower(strings.TrimSpace(name))]; ok {
		name = zone
	}
	if _, err := schedule.LoadZone(name); err != nil {
		return "", err
	}
	return name, nil
}
