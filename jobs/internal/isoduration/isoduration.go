// Package isoduration parses durations of ISO 8601, such as P1DT2H or PT90S.
package isoduration

import (
	"strconv"
	"strings"
)

// Duration holds a duration by its units. The caller decides on the length of a year and a month.
type Duration struct{ Years, Months, Weeks, Days, Hours, Minutes, Seconds int64 }

// Parse parses P, then numbers with the units Y, M, W and D, then T and numbers with the units H, M
// and S. Numbers are whole and not negative. Each unit occurs at most once, and larger units come
// first. The second result is false for any other text.
func Parse(text string) (Duration, bool) {
	var d Duration
	rest, ok := strings.CutPrefix(text, "P")
	days, clock, hasClock := strings.Cut(rest, "T")
	if !ok || rest == "" || hasClock && clock == "" {
		return Duration{}, false
	}
	ok = take(days, "YMWD", &d.Years, &d.Months, &d.Weeks, &d.Days) && take(clock, "HMS", &d.Hours, &d.Minutes, &d.Seconds)
	if !ok {
		return Duration{}, false
	}
	return d, true
}

// take parses numbers with units into numbers, which has one element for each unit. The units must
// occur in the order of units. It returns false for any other text.
func take(text, units string, numbers ...*int64) bool {
	for text != "" {
		end := strings.IndexAny(text, units)
		if end < 1 || strings.Trim(text[:end], "0123456789") != "" {
			return false
		}
		unit := strings.IndexByte(units, text[end])
		n, err := strconv.ParseInt(text[:end], 10, 64)
		if err != nil {
			return false
		}
		*numbers[unit] = n
		units, numbers, text = units[unit+1:], numbers[unit+1:], text[end+1:]
	}
	return true
}
