package syntax

import (
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/jobagent/jobagent/jobs/isoduration"
)

// DurationForms describes the accepted forms of a length of time in faults.
const DurationForms = "a length of time such as 90s, 1h30m, PT90S or P1D"

// ParseDuration parses Go's form, or the form of ISO 8601 without years and months, whose length
// varies.
func ParseDuration(text string) (time.Duration, error) {
	text = strings.TrimSpace(text)
	iso := strings.ToUpper(text)
	if !strings.HasPrefix(iso, "P") {
		d, err := time.ParseDuration(text)
		if err != nil {
			return 0, fmt.Errorf("invalid length of time %q: want %s", text, DurationForms)
		}
		return d, nil
	}
	d, ok := isoduration.Parse(iso)
	if days, _, _ := strings.Cut(iso, "T"); strings.ContainsAny(days, "YM") || d.Nanoseconds > 0 {
		ok = false
	}
	var total time.Duration
	for _, part := range []struct {
		n    int64
		unit time.Duration
	}{{d.Weeks, 7 * 24 * time.Hour}, {d.Days, 24 * time.Hour}, {d.Hours, time.Hour}, {d.Minutes, time.Minute}, {d.Seconds, time.Second}} {
		if part.n > int64((math.MaxInt64-total)/part.unit) {
			ok = false
			break
		}
		total += time.Duration(part.n) * part.unit
	}
	if !ok {
		return 0, fmt.Errorf("invalid length of time %q: want %s", text, DurationForms)
	}
	return total, nil
}

// IsDigits reports whether s holds decimal digits only, and at least one.
func IsDigits(s string) bool {
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return s != ""
}

// Digits returns the number that up to nine decimal digits mean. ok is false for any other text.
func Digits(s string) (n int, ok bool) {
	if len(s) > 9 || !IsDigits(s) {
		return 0, false
	}
	for i := range len(s) {
		n = 10*n + int(s[i]-'0')
	}
	return n, true
}

// DurationProposal returns another spelling of the same length of time. It returns "" if there is
// none: the unit of a number alone is not certain, and a negative length is not a positive one.
func DurationProposal(text string) string {
	text = strings.TrimSpace(text)
	tries := []string{strings.ReplaceAll(strings.ToUpper(text), "PT", "P"), strings.ToLower(strings.ReplaceAll(text, " ", ""))}
	words := text
	if _, near, ok := ParseInterval(words); !ok && near != "" {
		words = near
	}
	unit := strings.ToLower(words[strings.LastIndexByte(words, ' ')+1:])
	seconds, _, ok := ParseInterval(words)
	if ok && seconds < math.MaxInt64/int64(time.Second) && !strings.HasPrefix(unit, "month") && !strings.HasPrefix(unit, "year") {
		switch {
		case seconds%3600 == 0:
			tries = append(tries, fmt.Sprintf("%dh", seconds/3600))
		case seconds%60 == 0:
			tries = append(tries, fmt.Sprintf("%dm", seconds/60))
		default:
			tries = append(tries, fmt.Sprintf("%ds", seconds))
		}
	}
	for _, try := range tries {
		if d, err := ParseDuration(try); err == nil && d >= 0 && try != text {
			return try
		}
	}
	return ""
}
