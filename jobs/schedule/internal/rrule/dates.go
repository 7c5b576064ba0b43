package rrule

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/jobagent/jobagent/jobs/schedule/internal/engine"
	"github.com/jobagent/jobagent/jobs/schedule/internal/syntax"
	"github.com/jobagent/jobagent/jobs/schedule/internal/words"
)

// readDates parses the instants of RDATE and EXDATE (RFC 5545, 3.8.5.1 and 3.8.5.2).
func (t *lines) readDates() {
	for _, l := range t.dates {
		t.added = append(t.added, t.readList(l, "DATE-TIME", "DATE", "PERIOD")...)
	}
	for _, l := range t.exclusion {
		t.excluded = append(t.excluded, t.readList(l, "DATE-TIME", "DATE")...)
	}
	for _, list := range []*[]int64{&t.added, &t.excluded} {
		slices.Sort(*list)
		*list = slices.Compact(*list)
	}
	if start := t.p.Start.Unix(); len(t.added) > 0 && t.added[0] < start {
		t.p.Warn("RDATE " + t.show(t.added[0]) + " is before the start: it is not due")
		i, _ := slices.BinarySearch(t.added, start)
		t.added = t.added[i:]
	}
}

// readList parses the instants of one line.
func (t *lines) readList(l line, values ...string) []int64 {
	path := t.v.Path() + "." + l.name
	kind, zone := t.parameters(l, values...)
	var list []int64
	dateWithoutTime := ""
	for item := range strings.SplitSeq(l.value, ",") {
		if t.p.Faults.Full() {
			break
		}
		text, _, isPeriod := strings.Cut(strings.TrimSpace(item), "/")
		m, err := syntax.ParseDate(text)
		if err != nil || isPeriod && kind != "PERIOD" || kind == "DATE" && m.HasTime {
			allowed := "dates and times such as 20260131T080000Z, separated by commas"
			switch {
			case isPeriod && l.name == "RDATE":
				allowed += "; periods only after VALUE=PERIOD"
			case kind == "DATE":
				allowed = "dates such as 20260131 after VALUE=DATE"
			}
			t.p.Faults.Add(path, syntax.Quote(item), allowed, "")
			continue
		}
		if !m.HasTime && !t.startIsDate {
			// Values of different types never match.
			if dateWithoutTime = item; l.name == "EXDATE" {
				continue
			}
		}
		list = append(list, m.In(zone).Unix())
	}
	switch {
	case dateWithoutTime != "" && l.name == "EXDATE":
		t.p.Warn(fmt.Sprintf("EXDATE %s is a date without time and excludes nothing, because the runs of this rule have a time (RFC 5545): write date and time, or use a blackout", dateWithoutTime))
	case dateWithoutTime != "":
		t.p.Warn(fmt.Sprintf("RDATE %s is a date without time: the run is due at the first second of that day", dateWithoutTime))
	case kind == "PERIOD":
		t.p.Warn("RDATE with VALUE=PERIOD: only the start of a period counts, because a run has no planned end")
	}
	return list
}

func (t *lines) show(unix int64) string {
	return words.Instant(time.Unix(unix, 0), t.p.Zone)
}

// readLimits turns COUNT and UNTIL into limits of the schedule, and refuses other limits beside
// them. RDATE and EXDATE do not change what COUNT and UNTIL limit: the instants of the rule itself.
func (t *lines) readLimits(r *rule) bool {
	before := t.p.Faults.Count()
	alone := len(t.dates) == 0 && len(t.exclusion) == 0
	if r.has("COUNT") && alone {
		if t.p.Count > 0 && t.p.Count != r.count {
			t.p.Contradict(t.v.Path()+".COUNT", fmt.Sprint(r.count), fmt.Sprintf("the same number as count, %d", t.p.Count), "COUNT is used")
		}
		t.p.Count = r.count
	}
	if !r.until.IsZero() {
		if !t.p.End.IsZero() && !t.p.End.Equal(r.until) {
			t.p.Contradict(t.v.Path()+".UNTIL", syntax.Quote(r.given["UNTIL"]), "the same instant as endTime, "+t.p.End.Format(time.RFC3339), "UNTIL is used")
		}
		if alone {
			t.p.End = r.until
		}
	}
	return t.p.Faults.Count() == before
}

// combine adds and excludes the instants of RDATE and EXDATE. Without a rule, the start itself is
// an instant (RFC 5545, 3.8.2.4).
func (t *lines) combine(r *rule, inner engine.Schedule) engine.Schedule {
	if len(t.p.Faults.List) > 0 {
		return nil
	}
	if r != nil && len(t.dates) == 0 && len(t.exclusion) == 0 {
		return inner
	}
	start := t.p.Start
	switch {
	case r == nil && t.start != nil:
		t.added = append([]int64{start.Unix()}, t.added...)
		t.added = slices.Compact(t.added)
	case r != nil && (!r.until.IsZero() || r.count > 0):
		inner = engine.Bounded{Inner: inner, First: start, Last: r.until}
		if r.count > 0 {
			inner = engine.First(inner, start, r.count)
		}
	}
	t.words(r)
	all := engine.Instants(t.added)
	if inner != nil {
		inner = engine.Union{A: all, B: inner}
	} else {
		inner = all
	}
	if len(t.excluded) > 0 {
		t.warnOfExclusions(inner)
		inner = engine.Without{Inner: inner, Excluded: t.excluded}
	}
	return inner
}

// maxChecked is the largest number of exclusions that are checked for an effect.
const maxChecked = 20

// warnOfExclusions warns of an exclusion that is not an instant of the schedule.
func (t *lines) warnOfExclusions(s engine.Schedule) {
	idle := 0
	first := int64(0)
	for _, unix := range t.excluded[:min(len(t.excluded), maxChecked)] {
		at := time.Unix(unix, 0)
		if next, ok := s.Next(at.Add(-time.Nanosecond)); ok && next.Equal(at) && !at.Before(t.p.Start) {
			continue
		}
		if idle++; idle == 1 {
			first = unix
		}
	}
	switch {
	case idle == 1:
		t.p.Warn("EXDATE " + t.show(first) + " excludes nothing: nothing is due then")
	case idle > 1:
		t.p.Warn(fmt.Sprintf("EXDATE %s and %d more exclude nothing: nothing is due then", t.show(first), idle-1))
	}
}
