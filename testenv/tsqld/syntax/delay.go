package syntax

import (
	"strconv"
	"strings"
	"time"
)

// Delay parses the text of WAITFOR, less than 24 hours, and reports whether it is valid. It accepts
// the formats of a datetime without a date: hh:mm, hh:mm:ss with a fraction after a point or
// milliseconds after a colon, mm:ss.fff, each with AM or PM after a blank; an empty text is zero.
// The fraction, of at most three digits, distinguishes mm:ss.fff from hh:mm.
func Delay(text string) (time.Duration, bool) {
	text = strings.Trim(text, " ")
	if text == "" {
		return 0, true
	}
	clock, half, twelve := strings.Cut(strings.ToUpper(text), " ")
	parts := strings.Split(clock, ":")
	switch {
	case len(parts) == 2 && strings.Contains(parts[1], "."):
		parts = []string{"0", parts[0], parts[1]}
	case len(parts) == 4 && !strings.Contains(parts[2], "."):
		parts = []string{parts[0], parts[1], parts[2] + "." + strings.Repeat("0", max(3-len(parts[3]), 0)) + parts[3]}
	}
	if len(parts) < 2 || len(parts) > 3 {
		return 0, false
	}
	fraction := ""
	if len(parts) == 3 {
		parts[2], fraction, _ = strings.Cut(parts[2], ".")
	}
	var fields [3]uint64
	for i, limit := range []uint64{23, 59, 59}[:len(parts)] {
		n, err := strconv.ParseUint(parts[i], 10, 8)
		if err != nil || n > limit {
			return 0, false
		}
		fields[i] = n
	}
	if twelve {
		if fields[0] == 0 || fields[0] > 12 || half != "AM" && half != "PM" {
			return 0, false
		}
		fields[0] %= 12
		if half == "PM" {
			fields[0] += 12
		}
	}
	millis := uint64(0)
	if fraction != "" {
		n, err := strconv.ParseUint(fraction+strings.Repeat("0", max(3-len(fraction), 0)), 10, 64)
		if err != nil || len(fraction) > 3 {
			return 0, false
		}
		millis = n
	}
	return time.Duration(((fields[0]*60+fields[1])*60+fields[2])*1000+millis) * time.Millisecond, true
}
