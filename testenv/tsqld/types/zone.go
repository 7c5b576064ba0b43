package types

import (
	_ "embed"
	"strings"
	"sync"
	"time"
	_ "time/tzdata" // AT TIME ZONE must not depend on the machine

	"github.com/jobagent/jobagent/testenv/tsqld/mserr"
)

// windowsZones maps Windows names of time zones, in lower case, to IANA names (Unicode CLDR,
// windowsZones, territory 001). The file is a copy of the one in jobs/internal/winzone, because
// tsqld imports nothing of the product.
var windowsZones = sync.OnceValue(func() map[string]string {
	byName := map[string]string{}
	for line := range strings.Lines(windowsZoneTable) {
		if name, zone, ok := strings.Cut(strings.TrimSpace(line), "\t"); ok {
			byName[strings.ToLower(name)] = zone
		}
	}
	byName["coordinated universal time"] = "UTC"
	return byName
})

//go:embed windowszones.txt
var windowsZoneTable string

// zones caches loaded locations by lower-case name.
var zones sync.Map

// zone finds a time zone by its Windows name or by its IANA name (an extension); error 9820 for an
// unknown one.
func zone(name string) (*time.Location, error) {
	key := strings.ToLower(strings.TrimSpace(name))
	if loc, ok := zones.Load(key); ok {
		return loc.(*time.Location), nil
	}
	iana, ok := windowsZones()[key]
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

// AtTimeZoneType returns the type of "t AT TIME ZONE ..."; error 8116 for types without date and
// time.
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

// AtTimeZone computes "v AT TIME ZONE name", with the type [AtTimeZoneType]. A datetimeoffset is
// converted to the zone; another value gets the zone's offset at its local time. A local time that
// the zone skips is moved forward by the length of the gap. For a repeated local time the first
// occurrence counts ("AT TIME ZONE (Transact-SQL)").
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
		// The offset before a change is that of some hours earlier. It is right for repeated times
		// (their first occurrence) and for skipped ones (moved forward).
		_, before := guess.Add(-4 * time.Hour).Zone()
		if early := local.Add(-time.Duration(before) * time.Second); isRepeatedOrSkipped(early, local, guess, loc) {
			guess = early.In(loc)
		}
		utc = TicksOf(guess.UTC())
	}
	_, seconds := TimeOf(utc).In(loc).Zone()
	return MakeOffset(utc, seconds/60), nil
}

// isRepeatedOrSkipped reports whether the local time is repeated (early, its instant by the offset
// before the change, shows that local time) or skipped (no instant shows it).
func isRepeatedOrSkipped(early, local, guess time.Time, loc *time.Location) bool {
	reads := func(t time.Time) bool {
		t = t.In(loc)
		return t.Hour() == local.Hour() && t.Minute() == local.Minute() && t.Day() == local.Day()
	}
	return reads(early) || !reads(guess)
}
