package syntax

import (
	_ "embed"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	_ "time/tzdata" // for machines without zone files

	"github.com/jobagent/jobagent/jobs/internal/winzone"
	"github.com/jobagent/jobagent/jobs/suggest"
)

// zoneNames are the names of the IANA data of Go's time/tzdata, links included, one on a line.
//
//go:embed zones.txt
var zoneNames string

// Zones returns the names of all zones, sorted. They are the names that time/tzdata of the Go
// release has with which zones.txt was made; the rules are those of the machine, or else of
// time/tzdata.
var Zones = sync.OnceValue(func() []string { return strings.Fields(zoneNames) })

// WindowsZones returns the Windows names of zones, sorted. The caller must not change them.
func WindowsZones() []string { return winzone.Names() }

// WindowsZone returns the Windows name that stands for an IANA zone; empty means none.
func WindowsZone(zone string) string {
	name, _ := winzone.Of(zone)
	return name
}

// ZoneWords are the valid values of a time zone, for messages.
const ZoneWords = "the name of an IANA time zone, such as Europe/Berlin, or of Windows, such as W. Europe Standard Time"

// abbreviations maps short names that are often mistaken for zones to the most likely zone (D-Z1).
// Some of them are files of the IANA data, kept for old programs. They are refused as well.
var abbreviations = map[string]string{
	"CDT": "America/Chicago", "CEST": "Europe/Berlin", "CET": "Europe/Berlin",
	"EDT": "America/New_York", "EEST": "Europe/Athens", "EET": "Europe/Athens", "EST": "America/New_York", "HST": "Pacific/Honolulu",
	"JST": "Asia/Tokyo", "MDT": "America/Denver", "MEST": "Europe/Berlin", "MET": "Europe/Berlin",
	"MEZ": "Europe/Berlin", "MESZ": "Europe/Berlin", "MST": "America/Denver", "MSK": "Europe/Moscow", "PDT": "America/Los_Angeles",
	"PST": "America/Los_Angeles", "WEST": "Europe/Lisbon", "WET": "Europe/Lisbon", "AEST": "Australia/Sydney", "AEDT": "Australia/Sydney",
	"AKST": "America/Anchorage", "AKDT": "America/Anchorage", "NZST": "Pacific/Auckland", "NZDT": "Pacific/Auckland",
	"SAST": "Africa/Johannesburg", "ART": "America/Argentina/Buenos_Aires", "LOCAL": "UTC", "Z": "UTC",
}

// ambiguous maps the abbreviations that far apart places share to these places. None is proposed.
var ambiguous = map[string]string{
	"AST": "America/Halifax or Asia/Riyadh", "BST": "Europe/London or Asia/Dhaka", "CST": "America/Chicago, Asia/Shanghai or America/Havana",
	"GST": "Asia/Dubai or Atlantic/South_Georgia", "IST": "Asia/Kolkata, Asia/Jerusalem or Europe/Dublin", "SST": "Asia/Singapore or Pacific/Pago_Pago",
}

// zones caches the loaded zones by their IANA names, because every schedule loads one.
var zones sync.Map // string to *time.Location

// LoadZone returns the zone of an IANA name or of a Windows name (D-Z1). The name of the result is
// the IANA name. Windows names may be in any case, and IANA names only as they are written.
// Abbreviations and "Local" are refused. The error is a *Error with the path timeZone.
func LoadZone(name string) (*time.Location, error) {
	if zone, ok := zones.Load(name); ok {
		return zone.(*time.Location), nil
	}
	f := Fault{Path: "timeZone", Value: Quote(name), Allowed: ZoneWords}
	if why, near := explainZone(name); why != "" {
		f.Allowed, f.Nearest = f.Allowed+"; "+why, near
		return nil, &Error{Faults: []Fault{f}}
	}
	known := name
	if _, ok := slices.BinarySearch(Zones(), name); !ok {
		if known, ok = winzone.IANA(name); !ok {
			f.Nearest = nearestOf(name)
			return nil, &Error{Faults: []Fault{f}}
		}
	}
	zone := time.UTC
	if known != "UTC" {
		var err error
		if zone, err = time.LoadLocation(known); err != nil {
			f.Allowed = "a zone of which this machine has the rules (" + err.Error() + ")"
			return nil, &Error{Faults: []Fault{f}}
		}
	}
	zones.Store(known, zone)
	return zone, nil
}

// TakeZone returns the zone at the beginning of a text that was split at its blanks, and the words
// behind it: Windows names contain blanks. first is the first word of the zone.
func TakeZone(first string, words []string) (name string, rest []string) {
	const longest = 6 // words of a Windows name
	for n := min(len(words), longest-1); n > 0; n-- {
		name := first + " " + strings.Join(words[:n], " ")
		if _, ok := winzone.IANA(name); ok {
			return name, words[n:]
		}
	}
	return first, words
}

var (
	// offsetText matches offsets that are given in place of a zone. "UTC-02" and the like are
	// Windows names, and are not asked for here.
	offsetText = regexp.MustCompile(`^(?i:UTC|GMT|Z)? ?([+-])(\d{1,2})(?::?(\d\d))?$`)
	// posixText matches what the variable TZ may hold on Unix: CET-1CEST,M3.5.0,M10.5.0/3.
	posixText = regexp.MustCompile(`^([A-Za-z]{3,5})[+-]?\d{1,2}(?::\d\d)?(?:[A-Za-z]{3,5}.*)?$`)
)

// explainZone says why a text that is often taken for the name of a zone is none, and returns the
// zone that is most likely meant. why is empty if there is nothing to explain.
func explainZone(name string) (why, near string) {
	upper := strings.ToUpper(name)
	if near, short := abbreviations[upper]; short {
		switch upper {
		case "LOCAL":
			return "the zone of a machine differs between machines", near
		case "Z":
			return "Z stands for UTC in instants only", near
		}
		return upper + " is an abbreviation, which does not say when clocks are changed", near
	}
	if places, shared := ambiguous[upper]; shared {
		return upper + " is an abbreviation for several zones: " + places, ""
	}
	if _, known := winzone.IANA(name); known || slices.Contains(Zones(), name) {
		return "", ""
	}
	if m := offsetText.FindStringSubmatch(name); m != nil {
		return "an offset does not say when clocks are changed, and Etc/GMT-1 is one hour ahead of UTC", offsetZone(m)
	}
	if m := posixText.FindStringSubmatch(name); m != nil {
		return "a rule of the variable TZ is not the name of a zone", abbreviations[strings.ToUpper(m[1])]
	}
	return "", ""
}

// offsetZone returns the zone of a fixed offset in whole hours, a match of offsetText. The signs of
// these names are those of POSIX: Etc/GMT-1 is UTC+1.
func offsetZone(m []string) string {
	hours, err := strconv.Atoi(m[2])
	if err != nil || m[3] != "" && m[3] != "00" {
		return ""
	}
	sign := map[string]string{"+": "-", "-": "+"}[m[1]]
	name := "Etc/GMT" + sign + strconv.Itoa(hours)
	if hours == 0 {
		name = "UTC"
	}
	if !slices.Contains(Zones(), name) {
		return ""
	}
	return name
}

// lastNearest is the latest answer of nearestOf: a faulty text is parsed several times, as the text
// of each kind and with each proposal.
var lastNearest atomic.Pointer[[2]string]

// nearestOf returns the result of nearestZone.
func nearestOf(name string) string {
	if last := lastNearest.Load(); last != nil && last[0] == name {
		return last[1]
	}
	near := nearestZone(name)
	if len(name) <= 64 {
		lastNearest.Store(&[2]string{name, near})
	}
	return near
}

// nearestZone returns the name nearest to a misspelled one, of IANA and of Windows. It also
// compares the city alone: "Berlin" is Europe/Berlin.
func nearestZone(name string) string {
	name = strings.TrimSpace(name)
	if len(name) > 64 {
		return ""
	}
	place := strings.ReplaceAll(name, " ", "_")
	for _, known := range Zones() {
		if strings.EqualFold(known, place) {
			return known
		}
	}
	for _, same := range []func(a, b string) bool{strings.EqualFold, oneEdit} {
		for _, known := range Zones() {
			if city := known[strings.LastIndexByte(known, '/')+1:]; len(place) > 3 && same(strings.ToLower(city), strings.ToLower(place)) {
				return known
			}
		}
	}
	// Windows also has a name for the summer time of a zone.
	standard := strings.Replace(strings.ToLower(name), " daylight time", " standard time", 1)
	if strings.Contains(name, " ") {
		if near := suggest.Nearest(standard, winzone.Names()); near != "" {
			return near
		}
	}
	return suggest.Nearest(place, allNames())
}

// allNames are the names of zones, of IANA and of Windows.
var allNames = sync.OnceValue(func() []string { return slices.Concat(Zones(), winzone.Names()) })

// oneEdit reports whether two texts differ in one letter: one too many, one too few, another one,
// or two neighbours that are swapped.
func oneEdit(a, b string) bool {
	start := 0
	for start < min(len(a), len(b)) && a[start] == b[start] {
		start++
	}
	a, b = a[start:], b[start:]
	for len(a) > 0 && len(b) > 0 && a[len(a)-1] == b[len(b)-1] {
		a, b = a[:len(a)-1], b[:len(b)-1]
	}
	swapped := len(a) == 2 && len(b) == 2 && a[0] == b[1] && a[1] == b[0]
	return swapped || len(a) <= 1 && len(b) <= 1
}
