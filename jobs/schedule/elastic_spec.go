package schedule

import "time"

// elasticDialect is the interval schedule of Azure Elastic Jobs.
var elasticDialect = dialect{
	elements:  []string{"schedule_interval_type", "schedule_interval_count", "schedule_start_time", "schedule_end_time"},
	keepsPast: true,
	read:      (*parser).elastic,
}

// elastic reads Elastic Jobs' four elements. Start and end are UTC whatever the zone, because its
// intervals are elapsed time (D-Z5); months step in UTC as well.
func (p *parser) elastic() Schedule {
	e := Elastic{Count: 1}
	if v := p.reader.take("schedule_interval_type"); v == nil {
		p.faults.add("schedule_interval_type", "null", "one of Once, Minutes, Hours, Days, Weeks, Months", "")
	} else if text, ok := p.reader.text(v, "one of Once, Minutes, Hours, Days, Weeks, Months"); ok {
		var err error
		e.Interval, err = ParseInterval(text)
		p.faults.merge(v.path, err)
	}
	if v := p.reader.take("schedule_interval_count"); v != nil {
		n, ok := p.reader.integer(v, 1, 1<<31-1, "a whole number from 1 to 2147483647")
		if !ok {
			n = 1
		}
		e.Count = int(n)
	}
	p.start = p.wholeInstant("schedule_start_time", p.plannedStart)
	p.end = p.wholeInstant("schedule_end_time", time.Time{})
	if p.start.UTC().Year() <= 1 {
		p.start = Anchor(p.start, p.needCreation("schedule_start_time"))
	}
	p.checkBounds("schedule_end_time")
	// end is checked here and bounds the plan; e itself needs none.
	e.Start = p.start
	return e
}

// wholeInstant is an instant in UTC, a fraction of a second rounded up as in Elastic.Start.
func (p *parser) wholeInstant(name string, absent time.Time) time.Time {
	v := p.reader.take(name)
	if v == nil {
		return absent
	}
	text, ok := p.reader.text(v, dateForms)
	if !ok {
		return absent
	}
	m, err := parseDate(text)
	if err != nil {
		p.faults.add(v.path, v.raw, dateForms, dateProposal(text))
		return absent
	}
	at := m.in(time.UTC)
	if m.fraction {
		at = at.Add(time.Second)
	}
	return at
}
