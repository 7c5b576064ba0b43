package timezone

import (
	_ "embed"
	"strings"
	"sync"
	"time"
	_ "time/tzdata" // AT TIME ZONE must not depend on the machine

	"github.com/jobagent/jobagent/testenv/tsqld/mserr"
	"github.com/jobagent/jobagent/testenv/tsqld/types"
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

// Type returns the type of "t AT TIME ZONE ..."; error 8116 for types without date and time.
func Type(t types.Type) (types.Type, error) {
	switch t.ID {
	case types.DateTimeOffset, types.DateTime2:
		return types.Type{ID: types.DateTimeOffset, Scale: t.Scale}, nil
	case types.DateTime:
		return types.Type{ID: types.DateTimeOffset, Scale: 3}, nil
	case types.SmallDateTime:
		return types.Type{ID: types.DateTimeOffset, Scale: 0}, nil
	}
	return types.Type{}, mserr.InvalidArgumentType(t.MessageName(), 1, "AT TIME ZONE")
}

// At computes "v AT TIME ZONE name", with the type [Type]. A datetimeoffset is converted to the
// zone; another value gets the zone's offset at its local time. A local time that the zone skips is
// moved forward by the length of the gap. For a repeated local time the first occurrence counts
// ("AT TIME ZONE (Transact-SQL)").
func At(v types.Value, t types.Type, name string) (types.Value, error) {
	loc, err := zone(name)
	if err != nil {
		return nil, err
	}
	var utc int64
	switch v := v.(type) {
	case nil:
		return nil, nil
	case []byte:
		utc, _ = types.SplitOffset(v)
	case int64:
		local := types.TimeOf(v)
		guess := time.Date(local.Year(), local.Month(), local.Day(), local.Hour(), local.Minute(), local.Second(), local.Nanosecond(), loc)
		// The offset before a change is that of some hours earlier. It is right for repeated times
		// (their first occurrence) and for skipped ones (moved forward).
		_, before := guess.Add(-4 * time.Hour).Zone()
		if early := local.Add(-time.Duration(before) * time.Second); isRepeatedOrSkipped(early, local, guess, loc) {
			guess = early.In(loc)
		}
		utc = types.TicksOf(guess.UTC())
	}
	_, seconds := types.TimeOf(utc).In(loc).Zone()
	return types.MakeOffset(utc, seconds/60), nil
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
