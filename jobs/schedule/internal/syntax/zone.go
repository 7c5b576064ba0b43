package syntax

import (
	"github.com/jobagent/jobagent/jobs/internal/suggest"
	"github.com/jobagent/jobagent/jobs/internal/winzone"

	_ "embed"
	"strings"
	"sync"
	"time"

	_ "time/tzdata"
)

// for machines without zone files

// zoneNames are the names of the IANA data of Go's time/tzdata, links included, one on a line.
//
//go:embed zones.txt
var zoneNames string

// Zones returns the names of all zones, sorted. They are the names that time/tzdata of the Go
// release has with which zones.txt was made; the rules are those of the machine, or else of
// time/tzdata.
var Zones = sync.OnceValue(func() []string { return strings.Fields(zoneNames) })

// abbreviations maps short names that are often mistaken for zones to the most likely zone (D-Z1).
// Some of them are files of the IANA data, kept for old programs. They are refused as well.
var abbreviations = map[string]string{
	"BST": "Europe/London", "CDT": "America/Chicago", "CEST": "Europe/Berlin", "CET": "Europe/Berlin", "CST": "America/Chicago",
	"EDT": "America/New_York", "EEST": "Europe/Athens", "EET": "Europe/Athens", "EST": "America/New_York", "HST": "Pacific/Honolulu",
	"IST": "Asia/Kolkata", "JST": "Asia/Tokyo", "MDT": "America/Denver", "MEST": "Europe/Berlin", "MET": "Europe/Berlin",
	"MEZ": "Europe/Berlin", "MESZ": "Europe/Berlin", "MST": "America/Denver", "MSK": "Europe/Moscow", "PDT": "America/Los_Angeles",
	"PST": "America/Los_Angeles", "WEST": "Europe/Lisbon", "WET": "Europe/Lisbon", "AEST": "Australia/Sydney", "AEDT": "Australia/Sydney",
	"LOCAL": "UTC", "Z": "UTC",
}

// zones caches the loaded zones, because every schedule loads one.
var zones sync.Map // string to *time.Location

// LoadZone returns the zone of an IANA name (D-Z1). It refuses abbreviations, Windows names,
// "Local" and names in another case. The error is a *Error with the path timeZone.
func LoadZone(name string) (*time.Location, error) {
	if zone, ok := zones.Load(name); ok {
		return zone.(*time.Location), nil
	}
	f := Fault{Path: "timeZone", Value: Quote(name), Allowed: "the name of an IANA time zone, such as Europe/Berlin"}
	if near, short := abbreviations[strings.ToUpper(name)]; short {
		f.Nearest = near
		return nil, &Error{Faults: []Fault{f}}
	}
	for _, known := range Zones() {
		if known != name {
			continue
		}
		zone := time.UTC
		if name != "UTC" {
			var err error
			if zone, err = time.LoadLocation(name); err != nil {
				f.Allowed = "a zone of which this machine has the rules (" + err.Error() + ")"
				return nil, &Error{Faults: []Fault{f}}
			}
		}
		zones.Store(name, zone)
		return zone, nil
	}
	if zone, ok := winzone.IANA(name); ok {
		f.Nearest = zone
	} else {
		f.Nearest = nearestZone(name)
	}
	return nil, &Error{Faults: []Fault{f}}
}

// nearestZone returns the zone nearest to a name. It also compares the city alone: "Berlin" is
// Europe/Berlin.
func nearestZone(name string) string {
	name = strings.ReplaceAll(strings.TrimSpace(name), " ", "_")
	for _, known := range Zones() {
		if strings.EqualFold(known, name) {
			return known
		}
	}
	for _, known := range Zones() {
		if strings.EqualFold(known[strings.LastIndexByte(known, '/')+1:], name) {
			return known
		}
	}
	return suggest.Nearest(name, Zones())
}
