package rrule

import (
	"cmp"
	"fmt"
	"regexp"
	"sort"
	"strconv"
	"strings"
	"time"

	"github.com/jobagent/jobagent/jobs/internal/suggest"
	"github.com/jobagent/jobagent/jobs/schedule/internal/civil"
	"github.com/jobagent/jobagent/jobs/schedule/internal/engine"
	"github.com/jobagent/jobagent/jobs/schedule/internal/syntax"
)

// Forms describes the accepted forms of a rule in messages.
const Forms = "a rule such as FREQ=WEEKLY;INTERVAL=2;BYDAY=MO,FR (RFC 5545), alone or after RRULE: and with a line DTSTART"

// frequency is the frequency of a rule. The smaller the unit, the larger the value.
type frequency int

const (
	yearly frequency = iota
	monthly
	weekly
	daily
	hourly
	minutely
	secondly
)

var frequencyNames = []string{"YEARLY", "MONTHLY", "WEEKLY", "DAILY", "HOURLY", "MINUTELY", "SECONDLY"}

// rule is a recurrence rule. The start fills its missing parts.
type rule struct {
	freq      frequency
	interval  int64
	weekStart int // 0 is Monday

	months    uint16 // 0: every month
	weeks     []int
	yearDays  []int
	days      []int // of the month
	weekdays  uint8
	nth       []engine.Occurrence
	hours     uint32
	minutes   uint64
	seconds   uint64
	positions []int

	start civil.Date
}

// Dialect is the dialect of RFC 5545.
var Dialect = syntax.Dialect{
	Elements: []string{"rrule", "startTime", "endTime", "count"},
	Line:     "rrule",
	Read:     read,
}

// read parses a rule and the elements that the command line adds.
func read(p *syntax.Parser) engine.Schedule {
	v := p.Reader.Take("rrule")
	p.ReadBounds()
	p.ReadCount(p.Reader)
	if v == nil {
		p.Faults.Add("rrule", "null", Forms, "")
		return nil
	}
	text, ok := p.Reader.Text(v, Forms)
	if !ok {
		return nil
	}
	return Read(p, v, text)
}

// Read returns the schedule of a text of one or two lines.
func Read(p *syntax.Parser, v *syntax.Value, text string) engine.Schedule {
	body := ""
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		name, rest, hasName := strings.Cut(line, ":")
		property, parameters, _ := strings.Cut(name, ";")
		switch upper := strings.ToUpper(property); {
		case line == "":
		case hasName && upper == "DTSTART":
			readStart(p, v, parameters, rest)
		case hasName && upper == "RRULE" && body == "":
			body = rest
		case !hasName && body == "":
			body = line
		default:
			p.Faults.Add(v.Path, syntax.Quote(line), "one RRULE and one DTSTART, with blackouts or further schedules in place of RDATE, EXDATE and EXRULE", "")
			return nil
		}
	}
	assumed := p.Start.IsZero()
	if assumed {
		p.Start = p.NeedCreation(v.Path + ".DTSTART")
	}
	p.Start = p.Start.Truncate(time.Second)
	r, given := readParts(p, v, body)
	if r == nil {
		return nil
	}
	if assumed && given["BYHOUR"] && !given["BYMINUTE"] {
		p.Warn("BYHOUR without BYMINUTE and without DTSTART: minute and second are those at which the schedule was given; add BYMINUTE=0;BYSECOND=0 for the full hour")
	}
	return buildSchedule(p, v, r, given)
}

// readStart parses DTSTART with TZID or VALUE.
func readStart(p *syntax.Parser, v *syntax.Value, parameters, text string) {
	path := v.Path + ".DTSTART"
	for parameter := range strings.SplitSeq(parameters, ";") {
		name, content, _ := strings.Cut(parameter, "=")
		switch strings.ToUpper(name) {
		case "", "VALUE":
		case "TZID":
			zone, err := syntax.LoadZone(content)
			switch {
			case err != nil:
				p.MergeAt(path+".TZID", err)
			case p.ZoneGiven && zone.String() != p.Zone.String():
				p.Faults.Add(path+".TZID", syntax.Quote(content), "the same zone as timeZone, "+p.Zone.String(), "")
			default:
				p.Zone, p.ZoneGiven = zone, true
			}
		default:
			p.Faults.Add(path, syntax.Quote(parameter), "the parameters TZID and VALUE", "")
		}
	}
	m, err := syntax.ParseDate(strings.TrimSpace(text))
	if err != nil {
		p.Faults.Add(path, syntax.Quote(text), "a date and time such as 20260131T080000Z", syntax.DateProposal(text))
		return
	}
	p.Start = m.In(p.Zone)
}

var partNames = []string{"FREQ", "INTERVAL", "COUNT", "UNTIL", "WKST", "BYMONTH", "BYWEEKNO", "BYYEARDAY", "BYMONTHDAY", "BYDAY", "BYHOUR",
	"BYMINUTE", "BYSECOND", "BYSETPOS"}

// readParts parses the parts of a rule. given holds the names of the parts. r is nil after a fault.
func readParts(p *syntax.Parser, v *syntax.Value, body string) (r *rule, given map[string]bool) {
	before := len(p.Faults.List)
	r, given = &rule{interval: 1, freq: -1}, map[string]bool{}
	for part := range strings.SplitSeq(strings.TrimSuffix(body, ";"), ";") {
		name, text, ok := strings.Cut(part, "=")
		name = strings.ToUpper(strings.TrimSpace(name))
		path := v.Path + "." + name
		if known := suggest.Nearest(name, partNames); !ok || known != name {
			p.Faults.Add(v.Path, syntax.Quote(part), "parts NAME=value with "+strings.Join(partNames, ", "), known)
			continue
		}
		if given[name] {
			p.Faults.Add(path, syntax.Quote(text), "each part at most once", "")
			continue
		}
		given[name] = true
		readPart(p, r, path, name, strings.ToUpper(strings.TrimSpace(text)))
	}
	if !given["FREQ"] {
		p.Faults.Add(v.Path+".FREQ", "null", "one of "+strings.Join(frequencyNames, ", "), "")
	}
	if given["COUNT"] && given["UNTIL"] {
		p.Faults.Add(v.Path+".COUNT", fmt.Sprint(p.Count), "COUNT or UNTIL, not both", "")
	}
	if r.freq >= 0 {
		checkFits(p, v, r, given)
	}
	if len(p.Faults.List) > before {
		return nil, nil
	}
	return r, given
}

// checkFits refuses parts that have no meaning with the frequency (RFC 5545, 3.3.10).
func checkFits(p *syntax.Parser, v *syntax.Value, r *rule, given map[string]bool) {
	refuse := func(name, allowed string) {
		if given[name] {
			p.Faults.Add(v.Path+"."+name, syntax.Quote(frequencyNames[r.freq]), name+" only with FREQ="+allowed, "")
		}
	}
	if r.freq != yearly {
		refuse("BYWEEKNO", "YEARLY")
	}
	if r.freq == monthly || r.freq == weekly || r.freq == daily {
		refuse("BYYEARDAY", "YEARLY, HOURLY, MINUTELY or SECONDLY")
	}
	if r.freq == weekly {
		refuse("BYMONTHDAY", "YEARLY, MONTHLY, DAILY, HOURLY, MINUTELY or SECONDLY")
	}
	if len(r.nth) > 0 && (r.freq != monthly && r.freq != yearly || given["BYWEEKNO"]) {
		p.Faults.Add(v.Path+".BYDAY", syntax.Quote(frequencyNames[r.freq]), "numbers before weekdays only with FREQ=MONTHLY or YEARLY, and without BYWEEKNO", "")
	}
	if given["BYSETPOS"] {
		for _, name := range partNames[5:13] {
			if given[name] {
				return
			}
		}
		p.Faults.Add(v.Path+".BYSETPOS", syntax.Quote(frequencyNames[r.freq]), "BYSETPOS only together with another BY part", "")
	}
}

// readPart parses one part.
func readPart(p *syntax.Parser, r *rule, path, name, text string) {
	list := func(low, high int) []int {
		var numbers []int
		for item := range strings.SplitSeq(text, ",") {
			n, err := strconv.Atoi(item)
			if err != nil || !syntax.IsDigits(strings.TrimLeft(item, "+-")) || n < low || n > high || n == 0 && low < 0 {
				allowed := fmt.Sprintf("whole numbers from %d to %d", low, high)
				if low < 0 {
					allowed = fmt.Sprintf("whole numbers from 1 to %d, or from -1 to %d counted from the end", high, low)
				}
				p.Faults.Add(path, syntax.Quote(item), allowed, suggest.Clamp(item, low, high))
				continue
			}
			numbers = append(numbers, n)
		}
		return numbers
	}
	set := func(low, high int) (mask uint64) {
		for _, n := range list(low, high) {
			mask |= 1 << n
		}
		return mask
	}
	number := func(most int64) int64 {
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil || n < 1 || n > most {
			p.Faults.Add(path, syntax.Quote(text), fmt.Sprintf("a whole number from 1 to %d", most), cmp.Or(suggest.Clamp(text, 1, int(most)), "1"))
			return 1
		}
		return n
	}
	switch name {
	case "FREQ":
		for i, f := range frequencyNames {
			if f == text {
				r.freq = frequency(i)
			}
		}
		if r.freq < 0 {
			p.Faults.Add(path, syntax.Quote(text), "one of "+strings.Join(frequencyNames, ", "), suggest.Nearest(text, frequencyNames))
		}
	case "INTERVAL":
		r.interval = number(1_000_000)
	case "COUNT":
		p.Count = number(1 << 53)
	case "UNTIL":
		readUntil(p, path, text)
	case "WKST":
		day, ok := parseWeekday(text)
		if !ok {
			p.Faults.Add(path, syntax.Quote(text), "one of MO, TU, WE, TH, FR, SA, SU", nearWeekday(text))
		}
		r.weekStart = day
	case "BYMONTH":
		r.months = uint16(set(1, 12))
	case "BYWEEKNO":
		r.weeks = list(-53, 53)
	case "BYYEARDAY":
		r.yearDays = list(-366, 366)
	case "BYMONTHDAY":
		r.days = list(-31, 31)
	case "BYDAY":
		readDays(p, r, path, text)
	case "BYHOUR":
		r.hours = uint32(set(0, 23))
	case "BYMINUTE":
		r.minutes = set(0, 59)
	case "BYSECOND":
		r.seconds = set(0, 59)
	case "BYSETPOS":
		r.positions = list(-366, 366)
	}
}

// readUntil parses the last instant. A date alone means its first second.
func readUntil(p *syntax.Parser, path, text string) {
	m, err := syntax.ParseDate(text)
	if err != nil {
		p.Faults.Add(path, syntax.Quote(text), "a date and time such as 20261231T235959Z", syntax.DateProposal(text))
		return
	}
	if !m.HasTime {
		p.Warn("UNTIL is a date without time: it stands for the first second of that day, and later runs of that day are not made")
	}
	until := m.In(p.Zone)
	if p.End.IsZero() || until.Before(p.End) {
		p.End = until
	}
	if !p.Start.IsZero() && until.Before(p.Start) {
		p.Faults.Add(path, syntax.Quote(text), "an instant not before the start "+p.Start.Format(time.RFC3339), p.Start.UTC().Format("20060102T150405Z"))
	}
}

var weekdays = []string{"MO", "TU", "WE", "TH", "FR", "SA", "SU"}

func parseWeekday(text string) (int, bool) {
	for i, name := range weekdays {
		if name == text {
			return i, true
		}
	}
	return 0, false
}

// nearWeekday returns the short name of a weekday that is written out.
func nearWeekday(text string) string {
	if len(text) >= 2 {
		if _, ok := parseWeekday(text[:2]); ok {
			return text[:2]
		}
	}
	return ""
}

// readDays parses BYDAY: weekdays, with or without a number.
func readDays(p *syntax.Parser, r *rule, path, text string) {
	for item := range strings.SplitSeq(text, ",") {
		name := strings.TrimLeft(item, "+-0123456789")
		day, ok := parseWeekday(name)
		number := strings.TrimSuffix(item, name)
		n, err := strconv.Atoi(number)
		switch {
		case !ok:
			near := nearWeekday(name)
			if near != "" {
				near = number + near
			}
			p.Faults.Add(path, syntax.Quote(item), "MO, TU, WE, TH, FR, SA, SU, or with a number such as 1MO or -1FR", near)
		case number == "":
			r.weekdays |= 1 << day
		case err != nil || n == 0 || n < -53 || n > 53:
			p.Faults.Add(path, syntax.Quote(item), "a number from 1 to 53 or -1 to -53 before the weekday", suggest.Clamp(number, -53, 53)+name)
		default:
			r.nth = append(r.nth, engine.Occurrence{Day: day, N: n})
		}
	}
}

// buildSchedule fills the missing parts of a rule from its start and returns its schedule.
func buildSchedule(p *syntax.Parser, v *syntax.Value, r *rule, given map[string]bool) engine.Schedule {
	at := civil.Seconds(p.Start.In(p.Zone))
	day, second := civil.FloorDiv(at, civil.DaySeconds), int(civil.FloorMod(at, civil.DaySeconds))
	r.start = civil.DateOf(day)
	if r.weeks == nil && r.yearDays == nil && r.days == nil && !given["BYDAY"] {
		switch r.freq {
		case yearly:
			if r.months == 0 {
				r.months = 1 << r.start.Month
			}
			r.days = []int{r.start.Day}
		case monthly:
			r.days = []int{r.start.Day}
		case weekly:
			r.weekdays = 1 << civil.Weekday(day)
		}
	}
	if r.freq >= hourly {
		return buildElapsed(p, v, r, given, second)
	}
	clock := engine.Times{Hours: r.hours, Minutes: r.minutes, Seconds: r.seconds}
	if !given["BYHOUR"] {
		clock.Hours = 1 << (second / 3600)
	}
	if !given["BYMINUTE"] {
		clock.Minutes = 1 << (second / 60 % 60)
	}
	if !given["BYSECOND"] {
		clock.Seconds = 1 << (second % 60)
	}
	var pattern engine.Pattern = &engine.OnDays{Days: r.dayMask(), Times: clock}
	if r.positions != nil {
		if r.freq == daily {
			pattern = &engine.OnDays{Days: r.dayMask(), Times: engine.Times{List: choose(clock.All(), r.positions)}}
		} else {
			pattern = &positioned{rule: r, days: r.dayMask(), times: clock.All()}
		}
	}
	if _, ok := pattern.Next(day * civil.DaySeconds); !ok {
		p.Faults.Add(v.Path, v.Raw, "a rule that matches some day; this one matches none within 400 years", p.FirstValid("rrule", withNearDays(v.Text)...))
		return nil
	}
	p.Words = r.words(clock)
	return p.Wall(pattern, true)
}

// choose returns the items at the given positions. Positions count from 1, or from -1 at the end.
// The result is in the order of items and without duplicates.
func choose[T any](items []T, positions []int) []T {
	chosen := make([]T, 0, len(positions))
	for _, i := range indexes(len(items), positions) {
		chosen = append(chosen, items[i])
	}
	return chosen
}

// indexes returns the indexes of the given positions in a list of a length. The result is ascending
// and without duplicates.
func indexes(length int, positions []int) []int {
	var list []int
	for _, n := range positions {
		if n < 0 {
			n += length + 1
		}
		if n >= 1 && n <= length {
			list = append(list, n-1)
		}
	}
	sort.Ints(list)
	unique := list[:0]
	for i, n := range list {
		if i == 0 || n != list[i-1] {
			unique = append(unique, n)
		}
	}
	return unique
}

var (
	ruleMonthDays = regexp.MustCompile(`BYMONTHDAY=[^;]*`)
	ruleNthDays   = regexp.MustCompile(`([+-]?)[0-9]+(MO|TU|WE|TH|FR|SA|SU)`)
)

// withNearDays returns variants of a rule whose days exist in the months.
func withNearDays(text string) []string {
	var lines []string
	for _, d := range syntax.LastDays {
		lines = append(lines, ruleMonthDays.ReplaceAllLiteralString(text, "BYMONTHDAY="+d))
	}
	return append(lines, ruleNthDays.ReplaceAllString(text, "${1}5${2}"))
}
