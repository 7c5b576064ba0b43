// Package winzone maps the time zone names of Windows, which SQL Server also uses, to IANA zones,
// and back. The zone of a Windows name is that of the territory 001 (the world) in CLDR's
// windowsZones: "W. Europe Standard Time" is Europe/Berlin, also where Windows is set to Vienna.
package winzone

import (
	_ "embed"
	"slices"
	"strings"
	"sync"
)

// table holds one line for each Windows name: the name, a tab, and its IANA zone (territory 001 of
// CLDR's windowsZones, as in package time of the Go release). testenv/tsqld/builtin/timezone has a
// copy of the file, and a test compares the two.
//
//go:embed windowszones.txt
var table string

// renamed are the present names of the zones that CLDR keeps under their first names. Both names
// are links of one zone in the IANA data (file backward).
var renamed = map[string]string{
	"Africa/Asmera": "Africa/Asmara", "America/Buenos_Aires": "America/Argentina/Buenos_Aires", "America/Godthab": "America/Nuuk",
	"America/Indianapolis": "America/Indiana/Indianapolis", "Asia/Calcutta": "Asia/Kolkata", "Asia/Katmandu": "Asia/Kathmandu",
	"Asia/Rangoon": "Asia/Yangon", "Europe/Kiev": "Europe/Kyiv", "Etc/UTC": "UTC",
}

// index holds the table in both directions. byName has lower-case names.
type index struct {
	names          []string
	byName, byZone map[string]string
}

var zones = sync.OnceValue(func() index {
	x := index{byName: map[string]string{}, byZone: map[string]string{}}
	for line := range strings.Lines(table) {
		name, zone, ok := strings.Cut(strings.TrimSpace(line), "\t")
		if !ok {
			continue
		}
		x.names = append(x.names, name)
		x.byName[strings.ToLower(name)], x.byZone[zone] = zone, name
		if now, ok := renamed[zone]; ok {
			x.byZone[now] = name
		}
	}
	x.byName["utc"], x.byName["coordinated universal time"] = "UTC", "UTC" // the table has Etc/UTC for this zone
	slices.Sort(x.names)
	return x
})

// IANA returns the IANA zone of a Windows name. It ignores case and surrounding blanks. ok is false
// if the name is unknown.
func IANA(name string) (zone string, ok bool) {
	zone, ok = zones().byName[strings.ToLower(strings.TrimSpace(name))]
	return zone, ok
}

// Of returns the Windows name that stands for an IANA zone. ok is false if there is none: Windows
// has one name for many zones, and the table has only the zone that the name is resolved to.
func Of(zone string) (name string, ok bool) {
	name, ok = zones().byZone[zone]
	return name, ok
}

// Names returns all Windows names, sorted. The caller must not change them.
func Names() []string { return zones().names }
