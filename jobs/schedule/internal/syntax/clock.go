package syntax

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/jobagent/jobagent/jobs/internal/suggest"
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

var clockParts = regexp.MustCompile(`^([0-9]{1,3})[.:]([0-9]{1,3})(?:[.:]([0-9]{1,3}))?(am|pm)?$`)

// ClockProposal returns the valid clock time nearest to an invalid one. It returns "" if none is
// near.
func ClockProposal(text string) string {
	t := strings.ToLower(strings.TrimSpace(text))
	tries := []string{
		strings.ReplaceAll(t, " ", ""), strings.NewReplacer(" ", "", "a.m.", "am", "p.m.", "pm").Replace(t),
		strings.NewReplacer(",", ".", "h", ".", "-", ".").Replace(t), t + ".00",
	}
	if len(t) == 4 && IsDigits(t) {
		tries = append(tries, t[:2]+"."+t[2:])
	}
	if t == "noon" {
		tries = append(tries, "12.00")
	}
	if t == "midnight" || t == "24:00" || t == "24.00" {
		tries = append(tries, "0.00")
	}
	// The proposal for 13pm is 13.00, because 1am is unlikely to be meant.
	for _, suffix := range []string{"am", "pm"} {
		if body, ok := strings.CutSuffix(t, suffix); ok {
			tries = append(tries, body, body+".00")
		}
	}
	if m := clockParts.FindStringSubmatch(t); m != nil {
		high := 23
		if m[4] != "" {
			high = 12
		}
		try := suggest.Clamp(m[1], 0, high) + "." + fmt.Sprintf("%02s", suggest.Clamp(m[2], 0, 59))
		if m[3] != "" {
			try += ":" + fmt.Sprintf("%02s", suggest.Clamp(m[3], 0, 59))
		}
		tries = append(tries, try+m[4])
	}
	for _, try := range tries {
		if _, ok := ParseClock(try); ok && try != text {
			return try
		}
	}
	return ""
}
