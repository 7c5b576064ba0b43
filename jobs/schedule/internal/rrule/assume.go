package rrule

import (
	"fmt"
	"strings"

	"github.com/jobagent/jobagent/jobs/schedule/internal/civil"
	"github.com/jobagent/jobagent/jobs/schedule/internal/syntax"
)

// assume returns the civil second that fills the missing parts of a rule without a start. at is
// that of the creation. Nobody wants the second of the creation, and beside an hour nobody wants
// its minute: both become 0. The assumptions say so.
func (r *rule) assume(p *syntax.Parser, at int64) int64 {
	if r.freq == secondly && !r.filtered() {
		return at
	}
	var zero, created []string
	if !r.has("BYSECOND") {
		at -= civil.FloorMod(at, 60)
		zero = append(zero, "second 0")
	}
	second := civil.FloorMod(at, civil.DaySeconds)
	if r.freq < hourly && !r.has("BYHOUR") {
		created = append(created, fmt.Sprintf("hour %d", second/3600))
	}
	switch {
	case r.has("BYMINUTE"):
	case r.has("BYHOUR"):
		at -= civil.FloorMod(at, 3600) - civil.FloorMod(at, 60)
		zero = append(zero, "minute 0")
	case r.freq < minutely:
		created = append(created, fmt.Sprintf("minute %d", second/60%60))
	}
	for _, a := range []struct {
		parts []string
		from  string
	}{{zero, ""}, {created, " from the creation"}} {
		if len(a.parts) > 0 {
			text := strings.Join(a.parts, " and ")
			these := "this"
			if len(a.parts) > 1 {
				these = "these"
			}
			p.Assume(strings.ToUpper(text[:1]) + text[1:] + a.from + ": the text has neither " + these + " nor a start.")
		}
	}
	return at
}
