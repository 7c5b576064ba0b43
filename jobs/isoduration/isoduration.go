// Package isoduration parses durations: those of ISO 8601, such as P1DT2H or PT90S, and those of
// .NET, such as 1.02:00:00.
package isoduration

import (
	"regexp"
	"strconv"
	"strings"
)

// Duration holds a duration by its units. The caller decides on the length of a year and a month. A
// sum of all units in seconds does not overflow, whatever their lengths are up to 366 days.
type Duration struct {
	Years, Months, Weeks, Days, Hours, Minutes, Seconds, Nanoseconds int64
}

// form has a group for each unit, and one for the fraction of a second. A number has at most ten
// digits beside leading zeros.
var form = func() *regexp.Regexp {
	const number = `(?:0*(\d{1,10})`
	text := `^P`
	for _, unit := range "YMWD" {
		text += number + string(unit) + `)?`
	}
	return regexp.MustCompile(text + `(?:T` + number + `H)?` + number + `M)?` + number + `(?:[.,](\d{1,9}))?S)?)?$`)
}()

// Parse parses P, then numbers with the units Y, M, W and D, then T and numbers with the units H, M
// and S, in any case. Numbers are whole and not negative; seconds may have a fraction. Each unit
// occurs at most once, and larger units come first. The second result is false for any other text.
func Parse(text string) (Duration, bool) {
	text = strings.ToUpper(text)
	m := form.FindStringSubmatch(text)
	if m == nil || text == "P" || strings.HasSuffix(text, "T") {
		return Duration{}, false
	}
	var d Duration
	for i, n := range []*int64{&d.Years, &d.Months, &d.Weeks, &d.Days, &d.Hours, &d.Minutes, &d.Seconds} {
		*n = number(m[i+1])
	}
	if m[8] != "" {
		d.Nanoseconds = number((m[8] + "00000000")[:9])
	}
	return d, true
}

// number returns the number of some digits; 0 for none.
func number(digits string) int64 {
	n, _ := strconv.ParseInt(digits, 10, 64)
	return n
}

// span is the form of .NET: [d.]hh:mm:ss[.fffffff].
var span = regexp.MustCompile(`^(?:(\d{1,10})\.)?(\d{1,10}):(\d\d):(\d\d)(?:\.\d+)?$`)

// ParseSeconds parses a duration of ISO 8601 or .NET, as Azure Scheduler and the Task Scheduler
// have them, and returns its whole seconds. A year has 365 days and a month 30. The second result
// is false for any other text.
func ParseSeconds(text string) (int64, bool) {
	const minute, hour, day = 60, 3600, 86400
	if d, ok := Parse(text); ok {
		return (365*d.Years+30*d.Months+7*d.Weeks+d.Days)*day + d.Hours*hour + d.Minutes*minute + d.Seconds, true
	}
	m := span.FindStringSubmatch(text)
	if m == nil {
		return 0, false
	}
	return number(m[1])*day + number(m[2])*hour + number(m[3])*minute + number(m[4]), true
}
