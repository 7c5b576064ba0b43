package differential

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"time"
)

// zoneNames are the zones of the rules: gaps and overlaps of an hour, of half an hour, of two
// hours, at midnight, of a day, in the winter, and none.
var zoneNames = []string{
	"UTC", "Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "America/Sao_Paulo", "Pacific/Apia", "Africa/Casablanca",
	"Europe/Dublin", "Asia/Kolkata", "Antarctica/Troll",
}

// firstYear and lastYear bound the starts of rules.
const firstYear, lastYear = 2008, 2035

// place is a zone with its changes of offset between firstYear and lastYear.
type place struct {
	*time.Location
	changes []time.Time
	odd     []time.Time // changes of half an hour, and gaps in which a day begins
}

func places() []place {
	var list []place
	for _, name := range zoneNames {
		zone, err := time.LoadLocation(name)
		if err != nil {
			panic(err)
		}
		p := place{Location: zone}
		end := time.Date(lastYear, 12, 1, 0, 0, 0, 0, time.UTC)
		for at := time.Date(firstYear, 1, 1, 0, 0, 0, 0, time.UTC); ; {
			if _, at = at.In(zone).ZoneBounds(); at.IsZero() || at.After(end) {
				break
			}
			p.changes = append(p.changes, at)
			before, after := wall(zone, at.Add(-time.Second)), wall(zone, at)
			if offset(zone, at)%3600 != offset(zone, at.Add(-time.Second))%3600 || before.Day() != after.Day() {
				p.odd = append(p.odd, at)
			}
		}
		list = append(list, p)
	}
	return list
}

// drawStart returns a start: half of them are within three days of a change of offset.
func drawStart(r *rand.Rand, p place) time.Time {
	const threeDays = 3 * 24 * 3600
	if len(p.changes) > 0 && r.IntN(2) == 0 {
		return p.changes[r.IntN(len(p.changes))].Add(time.Duration(r.IntN(2*threeDays)-threeDays) * time.Second).UTC()
	}
	from := time.Date(firstYear, 1, 1, 0, 0, 0, 0, time.UTC)
	days := (lastYear - firstYear + 1) * 365
	return from.Add(time.Duration(r.IntN(days*24*3600)) * time.Second)
}

// field describes a field of a cron line: its values and names.
type field struct {
	low, high int
	names     []string // of the values from low on
}

var (
	weekdayNames = []string{"SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT"}
	monthNames   = []string{"JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC"}
	cronFields   = []field{{high: 59}, {high: 59}, {high: 23}, {low: 1, high: 31}, {low: 1, high: 12, names: monthNames}, {high: 7, names: weekdayNames}}
)

// draw returns a random field: stars, steps, values, ranges and lists of them.
func (f field) draw(r *rand.Rand) string {
	switch r.IntN(8) {
	case 0, 1:
		return "*"
	case 2:
		return "*/" + strconv.Itoa(2+r.IntN(max(2, (f.high-f.low)/2)))
	}
	parts := make([]string, 1+r.IntN(3))
	for i := range parts {
		parts[i] = f.part(r)
	}
	return strings.Join(parts, ",")
}

func (f field) part(r *rand.Rand) string {
	a, b := f.low+r.IntN(f.high-f.low+1), f.low+r.IntN(f.high-f.low+1)
	a, b = min(a, b), max(a, b)
	switch r.IntN(4) {
	case 0:
		return fmt.Sprintf("%d-%d", a, b)
	case 1:
		return fmt.Sprintf("%d-%d/%d", a, b, 1+r.IntN(6))
	case 2:
		if i := a - f.low; i < len(f.names) {
			return f.names[i]
		}
	}
	return strconv.Itoa(a)
}

// drawLine returns a random line of five or six fields.
func drawLine(r *rand.Rand, fields int) []string {
	line := make([]string, 0, fields)
	for _, f := range cronFields[len(cronFields)-fields:] {
		line = append(line, f.draw(r))
	}
	if r.IntN(3) == 0 { // the hours of most changes of clocks
		line[fields-4] = strings.Join(numbers(r, 0, 4, false), ",")
		if r.IntN(2) == 0 {
			line[fields-4] = fmt.Sprintf("%d-%d", r.IntN(3), 2+r.IntN(3))
		}
		line[fields-2] = "*"
	}
	return line
}

// recurrence is a rule of RFC 5545. The parts are in the order of their names there.
type recurrence struct {
	freq     string
	interval int
	parts    map[string][]string
}

var (
	frequencies = []string{"YEARLY", "MONTHLY", "WEEKLY", "DAILY", "HOURLY", "MINUTELY", "SECONDLY"}
	byDayNames  = []string{"MO", "TU", "WE", "TH", "FR", "SA", "SU"}
	partNames   = []string{"BYMONTH", "BYWEEKNO", "BYYEARDAY", "BYMONTHDAY", "BYDAY", "BYHOUR", "BYMINUTE", "BYSECOND", "BYSETPOS", "WKST"}
)

func (x recurrence) has(part string) bool { return len(x.parts[part]) > 0 }

// limited reports whether a rule has a part that selects instants.
func (x recurrence) limited() bool {
	return slices.ContainsFunc(partNames[:9], x.has)
}

// without returns the rule without a part; with returns it with other values of the part.
func (x recurrence) with(part string, values ...string) recurrence {
	y := x
	y.parts = map[string][]string{}
	for name, list := range x.parts {
		y.parts[name] = list
	}
	y.parts[part] = values
	return y
}

// sorted returns the rule with ascending lists of clock times: libical has the instants of a period
// in the order of the lists.
func (x recurrence) sorted() recurrence {
	for _, part := range []string{"BYHOUR", "BYMINUTE", "BYSECOND"} {
		list := slices.Clone(x.parts[part])
		slices.SortFunc(list, func(a, b string) int { return cmp.Or(cmp.Compare(len(a), len(b)), cmp.Compare(a, b)) })
		x = x.with(part, list...)
	}
	return x
}

func (x recurrence) String() string {
	text := "FREQ=" + x.freq
	if x.interval > 1 {
		text += ";INTERVAL=" + strconv.Itoa(x.interval)
	}
	for _, name := range partNames {
		if x.has(name) {
			text += ";" + name + "=" + strings.Join(x.parts[name], ",")
		}
	}
	return text
}

// step returns the shortest time between two periods of a rule.
func (x recurrence) step() time.Duration {
	unit := map[string]time.Duration{"YEARLY": 365 * 24 * time.Hour, "MONTHLY": 28 * 24 * time.Hour, "WEEKLY": 7 * 24 * time.Hour,
		"DAILY": 24 * time.Hour, "HOURLY": time.Hour, "MINUTELY": time.Minute, "SECONDLY": time.Second}
	return unit[x.freq] * time.Duration(x.interval)
}

// belowDay reports whether a rule is HOURLY, MINUTELY or SECONDLY.
func (x recurrence) belowDay() bool { return x.step() < 24*time.Hour*time.Duration(x.interval) }

// numbers returns up to three different numbers in [low, high], also negative ones if signed.
func numbers(r *rand.Rand, low, high int, signed bool) []string {
	var list []string
	for range 1 + r.IntN(3) {
		n := low + r.IntN(high-low+1)
		if signed && r.IntN(3) == 0 {
			n = -n
		}
		if text := strconv.Itoa(n); !slices.Contains(list, text) {
			list = append(list, text)
		}
	}
	return list
}

// drawRecurrence returns a random rule that RFC 5545, 3.3.10 allows.
func drawRecurrence(r *rand.Rand) recurrence {
	x := recurrence{freq: frequencies[r.IntN(len(frequencies))], interval: 1, parts: map[string][]string{}}
	if r.IntN(2) == 0 {
		x.interval = 1 + r.IntN(6)
	}
	yearly, monthly, weekly := x.freq == "YEARLY", x.freq == "MONTHLY", x.freq == "WEEKLY"
	often := func(n int, name string, values func() []string) {
		if r.IntN(n) == 0 {
			x.parts[name] = values()
		}
	}
	often(5, "BYMONTH", func() []string { return numbers(r, 1, 12, false) })
	if yearly {
		often(6, "BYWEEKNO", func() []string { return numbers(r, 1, 53, true) })
	}
	if yearly || x.belowDay() {
		often(8, "BYYEARDAY", func() []string { return numbers(r, 1, 366, true) })
	}
	if !weekly {
		often(4, "BYMONTHDAY", func() []string { return numbers(r, 1, 31, true) })
	}
	often(3, "BYDAY", func() []string { return drawWeekdays(r, (yearly || monthly) && !x.has("BYWEEKNO")) })
	often(4, "BYHOUR", func() []string { return numbers(r, 0, 23, false) })
	often(4, "BYMINUTE", func() []string { return numbers(r, 0, 59, false) })
	often(6, "BYSECOND", func() []string { return numbers(r, 0, 59, false) })
	if x.limited() {
		often(6, "BYSETPOS", func() []string { return numbers(r, 1, 4, true) })
	}
	often(4, "WKST", func() []string { return byDayNames[r.IntN(7):][:1] })
	return x
}

// drawWeekdays returns weekdays, with numbers if nth is set.
func drawWeekdays(r *rand.Rand, nth bool) []string {
	var list []string
	for range 1 + r.IntN(3) {
		name := byDayNames[r.IntN(7)]
		if nth && r.IntN(2) == 0 {
			name = []string{"1", "2", "3", "4", "5", "-1", "-2"}[r.IntN(7)] + name
		}
		if !slices.Contains(list, name) {
			list = append(list, name)
		}
	}
	return list
}
