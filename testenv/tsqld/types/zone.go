package types

import (
	"strings"
	"sync"
	"time"
	_ "time/tzdata" // AT TIME ZONE must not depend on the machine

	"github.com/jobagent/jobagent/testenv/tsqld/mserr"
)

// windowsZones maps the Windows names that AT TIME ZONE takes to IANA's (Unicode CLDR,
// windowsZones, territory 001).
var windowsZones = map[string]string{
	"dateline standard time": "Etc/GMT+12", "utc-11": "Etc/GMT+11", "hawaiian standard time": "Pacific/Honolulu",
	"alaskan standard time": "America/Anchorage", "pacific standard time": "America/Los_Angeles",
	"us mountain standard time": "America/Phoenix", "mountain standard time": "America/Denver",
	"central america standard time": "America/Guatemala", "central standard time": "America/Chicago",
	"central standard time (mexico)": "America/Mexico_City", "canada central standard time": "America/Regina",
	"sa pacific standard time": "America/Bogota", "eastern standard time": "America/New_York",
	"us eastern standard time": "America/Indianapolis", "venezuela standard time": "America/Caracas",
	"atlantic standard time": "America/Halifax", "sa western standard time": "America/La_Paz",
	"pacific sa standard time": "America/Santiago", "newfoundland standard time": "America/St_Johns",
	"e. south america standard time": "America/Sao_Paulo", "argentina standard time": "America/Buenos_Aires",
	"sa eastern standard time": "America/Cayenne", "montevideo standard time": "America/Montevideo",
	"greenland standard time": "America/Godthab", "utc-02": "Etc/GMT+2", "azores standard time": "Atlantic/Azores",
	"cape verde standard time": "Atlantic/Cape_Verde", "utc": "UTC", "coordinated universal time": "UTC",
	"gmt standard time": "Europe/London", "greenwich standard time": "Atlantic/Reykjavik", "morocco standard time": "Africa/Casablanca",
	"w. europe standard time": "Europe/Berlin", "central europe standard time": "Europe/Budapest",
	"romance standard time": "Europe/Paris", "central european standard time": "Europe/Warsaw",
	"w. central africa standard time": "Africa/Lagos", "namibia standard time": "Africa/Windhoek",
	"jordan standard time": "Asia/Amman", "gtb standard time": "Europe/Bucharest", "middle east standard time": "Asia/Beirut",
	"egypt standard time": "Africa/Cairo", "e. europe standard time": "Europe/Chisinau", "syria standard time": "Asia/Damascus",
	"south africa standard time": "Africa/Johannesburg", "fle standard time": "Europe/Kiev", "israel standard time": "Asia/Jerusalem",
	"turkey standard time": "Europe/Istanbul", "arabic standard time": "Asia/Baghdad", "arab standard time": "Asia/Riyadh",
	"belarus standard time": "Europe/Minsk", "russian standard time": "Europe/Moscow", "e. africa standard time": "Africa/Nairobi",
	"iran standard time": "Asia/Tehran", "arabian standard time": "Asia/Dubai", "azerbaijan standard time": "Asia/Baku",
	"mauritius standard time": "Indian/Mauritius", "georgian standard time": "Asia/Tbilisi", "caucasus standard time": "Asia/Yerevan",
	"afghanistan standard time": "Asia/Kabul", "west asia standard time": "Asia/Tashkent", "ekaterinburg standard time": "Asia/Yekaterinburg",
	"pakistan standard time": "Asia/Karachi", "india standard time": "Asia/Calcutta", "sri lanka standard time": "Asia/Colombo",
	"nepal standard time": "Asia/Katmandu", "central asia standard time": "Asia/Almaty", "bangladesh standard time": "Asia/Dhaka",
	"n. central asia standard time": "Asia/Novosibirsk", "myanmar standard time": "Asia/Rangoon", "se asia standard time": "Asia/Bangkok",
	"north asia standard time": "Asia/Krasnoyarsk", "china standard time": "Asia/Shanghai", "north asia east standard time": "Asia/Irkutsk",
	"singapore standard time": "Asia/Singapore", "w. australia standard time": "Australia/Perth", "taipei standard time": "Asia/Taipei",
	"ulaanbaatar standard time": "Asia/Ulaanbaatar", "tokyo standard time": "Asia/Tokyo", "korea standard time": "Asia/Seoul",
	"yakutsk standard time": "Asia/Yakutsk", "cen. australia standard time": "Australia/Adelaide", "aus central standard time": "Australia/Darwin",
	"e. australia standard time": "Australia/Brisbane", "aus eastern standard time": "Australia/Sydney",
	"west pacific standard time": "Pacific/Port_Moresby", "tasmania standard time": "Australia/Hobart",
	"vladivostok standard time": "Asia/Vladivostok", "central pacific standard time": "Pacific/Guadalcanal",
	"new zealand standard time": "Pacific/Auckland", "utc+12": "Etc/GMT-12", "fiji standard time": "Pacific/Fiji",
	"tonga standard time": "Pacific/Tongatapu", "samoa standard time": "Pacific/Apia", "line islands standard time": "Pacific/Kiritimati",
}

// zones caches loaded locations by lower-case name.
var zones sync.Map

// zone finds a time zone by its Windows name or by its IANA name (an extension); error 9820 for an
// unknown one.
func zone(name string) (*time.Location, error) {
	key := strings.ToLower(strings.TrimSpace(name))
	if loc, ok := zones.Load(key); ok {
		return loc.(*time.Location), nil
	}
	iana, ok := windowsZones[key]
	if !ok {
		iana = strings.TrimSpace(name)
		if !strings.Contains(iana, "/") {
			return nil, mserr.InvalidTimeZone(name)
		}
	}
	loc, err := time.LoadLocation(iana)
	if err != nil {
		return nil, mserr.InvalidTimeZone(name)
	}
	zones.Store(key, loc)
	return loc, nil
}

// AtTimeZoneType is the type of "t AT TIME ZONE ..."; error 8116 for types without date and time.
func AtTimeZoneType(t Type) (Type, error) {
	switch t.ID {
	case DateTimeOffset, DateTime2:
		return Type{ID: DateTimeOffset, Scale: t.Scale}, nil
	case DateTime:
		return Type{ID: DateTimeOffset, Scale: 3}, nil
	case SmallDateTime:
		return Type{ID: DateTimeOffset, Scale: 0}, nil
	}
	return Type{}, mserr.InvalidArgumentType(t.Name(), 1, "AT TIME ZONE")
}

// AtTimeZone is "v AT TIME ZONE name": a datetimeoffset moves to the zone, another value gets the
// zone's offset at its local time. A local time that the zone skips moves on by the length of the
// gap; of two that it repeats, the one before the change counts ("AT TIME ZONE (Transact-SQL)").
// The result has the type that [AtTimeZoneType] tells.
func AtTimeZone(v Value, t Type, name string) (Value, error) {
	loc, err := zone(name)
	if err != nil {
		return nil, err
	}
	var utc int64
	switch v := v.(type) {
	case nil:
		return nil, nil
	case []byte:
		utc, _ = SplitOffset(v)
	case int64:
		local := TimeOf(v)
		guess := time.Date(local.Year(), local.Month(), local.Day(), local.Hour(), local.Minute(), local.Second(), local.Nanosecond(), loc)
		// The offset before a change is the one of some hours earlier; it is right both for repeated times
		// (the first of the two) and for skipped ones (they move on).
		_, before := guess.Add(-4 * time.Hour).Zone()
		if early := local.Add(-time.Duration(before) * time.Second); isRepeatedOrSkipped(early, local, guess, loc) {
			guess = early.In(loc)
		}
		utc = TicksOf(guess.UTC())
	}
	_, seconds := TimeOf(utc).In(loc).Zone()
	return MakeOffset(utc, seconds/60), nil
}

// isRepeatedOrSkipped reports whether early, the instant by the offset before, reads as the local
// time, or whether no instant does.
func isRepeatedOrSkipped(early, local, guess time.Time, loc *time.Location) bool {
	reads := func(t time.Time) bool {
		t = t.In(loc)
		return t.Hour() == local.Hour() && t.Minute() == local.Minute() && t.Day() == local.Day()
	}
	return reads(early) || !reads(guess)
}
