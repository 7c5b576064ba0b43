package syntax

import (
	"strconv"
	"strings"
)

// ParseClock parses h[.mm[:ss]]am, …pm, or H.mm[:ss]. A colon and a point are equivalent. The
// text must be in lower case. The result is in seconds of the day.
func ParseClock(text string) (int, bool) {
	half := -1
	if body, ok := strings.CutSuffix(text, "am"); ok {
		half, text = 0, body
	} else if body, ok := strings.CutSuffix(text, "pm"); ok {
		half, text = 12, body
	}
	parts := strings.Split(strings.ReplaceAll(text, ":", "."), ".")
	if len(parts) > 3 || len(parts) == 1 && half < 0 {
		return 0, false
	}
	clock := [3]int{}
	for i, part := range parts {
		if !IsDigits(part) || len(part) > 2 || i > 0 && len(part) != 2 {
			return 0, false
		}
		clock[i], _ = strconv.Atoi(part)
	}
	if half >= 0 {
		if clock[0] < 1 || clock[0] > 12 {
			return 0, false
		}
		clock[0] = clock[0]%12 + half
	}
	if clock[0] > 23 || clock[1] > 59 || clock[2] > 59 {
		return 0, false
	}
	return clock[0]*3600 + clock[1]*60 + clock[2], true
}

// ClockProposal returns another spelling of the same clock time. It returns "" if there is none.
func ClockProposal(text string) string {
	t := strings.ToLower(strings.TrimSpace(text))
	tries := []string{
		strings.ReplaceAll(t, " ", ""), strings.NewReplacer(" ", "", "a.m.", "am", "p.m.", "pm").Replace(t),
		strings.NewReplacer(",", ".", "h", ".").Replace(t),
	}
	if len(t) == 4 && IsDigits(t) {
		tries = append(tries, t[:2]+"."+t[2:])
	}
	if t == "noon" {
		tries = append(tries, "12.00")
	}
	// A number alone may be an hour of either half of the day, unless it is 0 or above 12.
	if n, err := strconv.Atoi(t); err == nil && IsDigits(t) && len(t) <= 2 && (n == 0 || n > 12) {
		tries = append(tries, t+".00")
	}
	// 13pm is 13.00, and 0.30am is 0.30; 13am and 0pm contradict themselves.
	for i, suffix := range []string{"am", "pm"} {
		body, ok := strings.CutSuffix(t, suffix)
		hour, _, _ := strings.Cut(strings.ReplaceAll(body, ":", "."), ".")
		n, err := strconv.Atoi(hour)
		if ok && err == nil && (i == 0 && n == 0 || i == 1 && n > 12) {
			tries = append(tries, body, body+".00")
		}
	}
	for _, try := range tries {
		if _, ok := ParseClock(try); ok && try != text {
			return try
		}
	}
	return ""
}
