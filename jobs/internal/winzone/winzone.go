// Package winzone maps the time zone names of Windows, which SQL Server also uses, to IANA zones.
package winzone

import (
	_ "embed"
	"strings"
	"sync"
)

// table holds one line for each Windows name: the name, a tab, and its IANA zone (territory 001 of
// CLDR's windowsZones, as in package time of the Go release). testenv/tsqld/types has a copy of the
// file, and a test compares the two.
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
	byName["utc"], byName["coordinated universal time"] = "UTC", "UTC" // the table has Etc/UTC for this zone
	return byName
})

// IANA returns the IANA zone of a Windows name. It ignores case and surrounding blanks. ok is false
// if the name is unknown.
func IANA(name string) (zone string, ok bool) {
	zone, ok = zones()[strings.ToLower(strings.TrimSpace(name))]
	return zone, ok
}
