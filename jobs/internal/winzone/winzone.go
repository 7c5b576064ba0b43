// Package winzone knows the names that Windows, and so SQL Server, gives to time zones.
package winzone

import (
	_ "embed"
	"strings"
	"sync"
)

// table lists the names of Windows with the IANA zone of each (territory 001 of CLDR's
// windowsZones, as the Go release's package time has it), separated by a tab. testenv/tsqld/types
// has a copy of the file, and a test that compares the two.
//
//go:embed windowszones.txt
var table string

var zones = sync.OnceValue(func() map[string]string {
	byName := map[string]string{}
	for line := range strings.Lines(table) {
		if name, zone, ok := strings.Cut(strings.TrimSpace(line), "\t"); ok {
			byName[strings.ToLower(name)] = zone
		}
	}
	byName["utc"], byName["coordinated universal time"] = "UTC", "UTC" // Etc/UTC in the list: the same, shorter
	return byName
})

// IANA returns the IANA zone of a name of Windows, which may be in any case and have blanks around
// it; false: the name is unknown.
func IANA(name string) (zone string, ok bool) {
	zone, ok = zones()[strings.ToLower(strings.TrimSpace(name))]
	return zone, ok
}
