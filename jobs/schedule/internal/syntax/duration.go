package syntax

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

const DurationForms = "a length of time such as 90s, 1h30m, PT90S or P1D"

// ParseDuration reads Go's form or that of ISO 8601 without years and months, which have no one length.
func ParseDuration(text string) (time.Duration, error) {
	text = strings.TrimSpace(text)
	rest, iso := strings.CutPrefix(strings.ToUpper(text), "P")
	if !iso {
		d, err := time.ParseDuration(text)
		if err != nil {
			return 0, fmt.Errorf("%q is not %s", text, DurationForms)
		}
		return d, nil
	}
	bad := fmt.Errorf("%q is not %s", text, DurationForms)
	datePart, timePart, hasTime := strings.Cut(rest, "T")
	if rest == "" || hasTime && timePart == "" {
		return 0, bad
	}
	var total time.Duration
	for _, part := range []struct {
		text, units string
	}{{datePart, "WD"}, {timePart, "HMS"}} {
		for t := part.text; t != ""; {
			i := strings.IndexAny(t, part.units)
			if i < 1 || !IsDigits(t[:i]) {
				return 0, bad
			}
			unit := map[byte]time.Duration{'W': 7 * 24 * time.Hour, 'D': 24 * time.Hour, 'H': time.Hour, 'M': time.Minute, 'S': time.Second}[t[i]]
			n, err := strconv.ParseInt(t[:i], 10, 64)
			if err != nil || n > int64((1<<63-1-total)/unit) {
				return 0, bad
			}
			total += time.Duration(n) * unit
			// Units come once each, the larger before the smaller.
			part.units = part.units[strings.IndexByte(part.units, t[i])+1:]
			t = t[i+1:]
		}
	}
	return total, nil
}

func IsDigits(s string) bool { return s != "" && strings.Trim(s, "0123456789") == "" }

// DurationProposal is the length of time that a wrong one most likely means; empty when none is near.
func DurationProposal(text string) string {
	text = strings.TrimPrefix(strings.TrimSpace(text), "-")
	tries := []string{text, strings.ReplaceAll(strings.ToUpper(text), "PT", "P"), strings.ToLower(strings.ReplaceAll(text, " ", ""))}
	if IsDigits(text) {
		tries = append(tries, text+"s")
	}
	if seconds, _, ok := ParseInterval(text); ok && seconds < math.MaxInt64/int64(time.Second) {
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
		if d, err := ParseDuration(try); err == nil && d >= 0 {
			return try
		}
	}
	return ""
}
