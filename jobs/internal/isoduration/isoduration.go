// Package isoduration reads lengths of time as ISO 8601 writes them, such as P1DT2H or PT90S.
package isoduration

import (
	"strconv"
	"strings"
)

// Duration is a length of time by its units. How long a year or a month is, the caller decides.
type Duration struct{ Years, Months, Weeks, Days, Hours, Minutes, Seconds int64 }

// Parse reads P, then numbers with the units Y, M, W and D, then, after T, with H, M and S. Numbers
// are whole and not negative; units come once each, the larger before the smaller. The second
// result is false for any other text.
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

// take reads numbers with units, in the order of units, into the numbers of the same order.
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
