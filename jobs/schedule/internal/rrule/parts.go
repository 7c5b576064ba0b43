package rrule

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/jobagent/jobagent/jobs/schedule/internal/civil"
	"github.com/jobagent/jobagent/jobs/schedule/internal/engine"
	"github.com/jobagent/jobagent/jobs/schedule/internal/syntax"
	"github.com/jobagent/jobagent/jobs/suggest"
)

// partNames are the names of the parts of a rule. The BY parts begin at index 5, with BYSETPOS as
// the last one.
var partNames = []string{"FREQ", "INTERVAL", "COUNT", "UNTIL", "WKST", "BYMONTH", "BYWEEKNO", "BYYEARDAY", "BYMONTHDAY", "BYDAY", "BYHOUR",
	"BYMINUTE", "BYSECOND", "BYSETPOS"}

// maxCount is the largest COUNT: whole numbers of JSON are exact up to it.
const maxCount = 1 << 53

// readParts parses the parts of a rule. It returns nil after a fault.
func readParts(p *syntax.Parser, v *syntax.Value, body string) *rule {
	before := p.Faults.Count()
	r := &rule{interval: 1, freq: -1, given: map[string]string{}}
	for part := range strings.SplitSeq(strings.TrimSuffix(body, ";"), ";") {
		name, text, ok := strings.Cut(part, "=")
		name = strings.ToUpper(strings.TrimSpace(name))
		path := v.Path() + "." + name
		if !ok || !slices.Contains(partNames, name) {
			if p.Faults.Skip() {
				continue
			}
			p.Faults.Add(v.Path(), syntax.Quote(part), "parts NAME=value with "+strings.Join(partNames, ", "), nearPart(name, part, text, ok))
			continue
		}
		if r.has(name) {
			if p.Faults.Skip() {
				continue
			}
			p.Faults.Add(path, syntax.Quote(text), "each part at most once", "")
			continue
		}
		r.given[name] = text
		r.readPart(p, path, name, strings.ToUpper(strings.TrimSpace(text)))
	}
	if !r.has("FREQ") {
		p.Faults.Add(v.Path()+".FREQ", "null", "one of "+strings.Join(frequencyNames, ", "), "")
	}
	if r.has("COUNT") && r.has("UNTIL") {
		p.Faults.Add(v.Path()+".COUNT", fmt.Sprint(r.count), "COUNT or UNTIL, not both", "")
	}
	if r.freq >= 0 {
		r.checkFits(p, v)
	}
	if p.Faults.Count() > before {
		return nil
	}
	return r
}

// nearPart returns the valid spelling of a part whose name is unknown or that has no "=".
func nearPart(name, part, value string, hasValue bool) string {
	if near := suggest.Nearest(name, partNames); hasValue && near != "" && strings.Trim(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZ") == "" {
		return near + "=" + value // a digit before a name may belong to the part before it
	}
	// FREQ:DAILY and FREQ DAILY are FREQ=DAILY.
	if i := strings.IndexAny(part, ": "); i > 0 {
		if name = strings.ToUpper(part[:i]); slices.Contains(partNames, name) {
			return name + "=" + strings.TrimSpace(part[i+1:])
		}
	}
	if slices.Contains(frequencyNames, name) {
		return "FREQ=" + name
	}
	return ""
}

// checkFits refuses parts that have no meaning with the frequency (RFC 5545, 3.3.10).
func (r *rule) checkFits(p *syntax.Parser, v *syntax.Value) {
	refuse := func(name, allowed string) {
		if r.has(name) {
			p.Faults.Add(v.Path()+"."+name, syntax.Quote(r.given[name]), name+" only with FREQ="+allowed+", and not with FREQ="+frequencyNames[r.freq], "")
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
	if len(r.nth) > 0 && (r.freq != monthly && r.freq != yearly || r.has("BYWEEKNO")) {
		p.Faults.Add(v.Path()+".BYDAY", syntax.Quote(r.given["BYDAY"]), "numbers before weekdays only with FREQ=MONTHLY or YEARLY, and without BYWEEKNO", "")
	}
	if r.has("BYSETPOS") && !slices.ContainsFunc(partNames[5:13], r.has) {
		p.Faults.Add(v.Path()+".BYSETPOS", syntax.Quote(r.given["BYSETPOS"]), "BYSETPOS only together with another BY part", "")
	}
}

// readPart parses one part.
func (r *rule) readPart(p *syntax.Parser, path, name, text string) {
	list := func(low, high int) []int { return readNumbers(p, path, text, low, high, nil) }
	set := func(low, high int, names []string) (mask uint64) {
		for _, n := range readNumbers(p, path, text, low, high, names) {
			mask |= 1 << n
		}
		return mask
	}
	number := func(most int64) int64 {
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil || !syntax.IsDigits(text) || n < 1 || n > most {
			p.Faults.Add(path, syntax.Quote(text), fmt.Sprintf("a whole number from 1 to %d", most), "")
			return 1
		}
		return n
	}
	switch name {
	case "FREQ":
		if r.freq = frequency(slices.Index(frequencyNames, text)); r.freq < 0 {
			p.Faults.Add(path, syntax.Quote(text), "one of "+strings.Join(frequencyNames, ", "), nearFrequency(text))
		}
	case "INTERVAL":
		r.interval = number(1_000_000)
	case "COUNT":
		r.count = number(maxCount)
	case "UNTIL":
		r.readUntil(p, path, text)
	case "WKST":
		day, ok := parseWeekday(text)
		if !ok {
			p.Faults.Add(path, syntax.Quote(text), "one of MO, TU, WE, TH, FR, SA, SU", nearWeekday(text))
		}
		r.weekStart = day
	case "BYMONTH":
		r.months = uint16(set(1, 12, civil.MonthNames))
	case "BYWEEKNO":
		r.weeks = list(-53, 53)
	case "BYYEARDAY":
		r.yearDays = list(-366, 366)
	case "BYMONTHDAY":
		r.days = list(-31, 31)
	case "BYDAY":
		r.readDays(p, path, text)
	case "BYHOUR":
		r.hours = uint32(set(0, 23, nil))
	case "BYMINUTE":
		r.minutes = set(0, 59, nil)
	case "BYSECOND":
		r.seconds = set(0, 59, nil)
	case "BYSETPOS":
		r.positions = list(-366, 366)
	}
}

// nearFrequency returns the frequency that a word means: DAY, or a misspelling of DAILY.
func nearFrequency(text string) string {
	units := []string{"YEAR", "MONTH", "WEEK", "DAY", "HOUR", "MINUTE", "SECOND"}
	if i := slices.Index(units, strings.TrimSuffix(text, "S")); i >= 0 {
		return frequencyNames[i]
	}
	if text == "ANNUALLY" {
		return frequencyNames[yearly]
	}
	return suggest.Nearest(text, frequencyNames)
}

// readNumbers parses a list of whole numbers. The result is ascending and has no number twice. If
// low is negative, 0 is refused. names are the names of the numbers, for proposals.
func readNumbers(p *syntax.Parser, path, text string, low, high int, names []string) []int {
	numbers := []int{}
	for item := range strings.SplitSeq(text, ",") {
		n, ok := readNumber(item, low, high)
		if !ok {
			if p.Faults.Skip() {
				continue
			}
			allowed := fmt.Sprintf("whole numbers from %d to %d", low, high)
			if low < 0 {
				allowed = fmt.Sprintf("whole numbers from 1 to %d, or from -1 to %d counted from the end", high, low)
			}
			p.Faults.Add(path, syntax.Quote(item), allowed, nearNumbers(item, low, high, names))
			continue
		}
		numbers = append(numbers, n)
	}
	slices.Sort(numbers)
	return slices.Compact(numbers)
}

func readNumber(item string, low, high int) (int, bool) {
	digits := strings.TrimPrefix(item, "+")
	if low < 0 && digits == item {
		digits = strings.TrimPrefix(item, "-")
	}
	if !syntax.IsDigits(digits) {
		return 0, false
	}
	n, err := strconv.Atoi(item)
	return n, err == nil && n >= low && n <= high && (n != 0 || low >= 0)
}

// nearNumbers returns the numbers that an item means in another spelling: 9-17 and 9..17 are
// ranges, JAN is the name of a month. It returns "" if the meaning is not certain.
func nearNumbers(item string, low, high int, names []string) string {
	item = strings.TrimSpace(item)
	if n, ok := readNumber(item, low, high); ok {
		return strconv.Itoa(n)
	}
	for i, name := range names {
		if strings.EqualFold(name, item) || strings.EqualFold(name[:3], item) {
			return strconv.Itoa(i + low)
		}
	}
	from, to, ok := strings.Cut(item, "-")
	if !ok {
		from, to, ok = strings.Cut(item, "..")
	}
	if !ok || !syntax.IsDigits(from) || !syntax.IsDigits(to) {
		return ""
	}
	first, okFirst := readNumber(from, low, high)
	last, okLast := readNumber(to, low, high)
	if !okFirst || !okLast || first >= last || last-first > 60 {
		return ""
	}
	var list []string
	for n := first; n <= last; n++ {
		list = append(list, strconv.Itoa(n))
	}
	return strings.Join(list, ",")
}

// readUntil parses the last instant. A date alone means its first second.
func (r *rule) readUntil(p *syntax.Parser, path, text string) {
	m, err := syntax.ParseDate(text)
	if err != nil {
		p.Faults.Add(path, syntax.Quote(text), "a date and time such as 20261231T235959Z", "")
		return
	}
	if !m.HasTime {
		p.Warn("UNTIL is a date without time: it stands for the first second of that day, and later runs of that day are not made")
	}
	r.until = m.In(p.Zone)
	if !p.Start.IsZero() && r.until.Before(p.Start) {
		p.Faults.Add(path, syntax.Quote(text), "an instant not before the start "+p.Start.Format("2006-01-02T15:04:05Z07:00"), "")
	}
}

var weekdays = []string{"MO", "TU", "WE", "TH", "FR", "SA", "SU"}

func parseWeekday(text string) (int, bool) {
	i := slices.Index(weekdays, text)
	return max(i, 0), i >= 0
}

// nearWeekday returns the short name of a weekday that is written out, or with three letters.
func nearWeekday(text string) string {
	for i, name := range civil.WeekdayNames {
		if len(text) >= 3 && strings.HasPrefix(strings.ToUpper(name), text) {
			return weekdays[i]
		}
	}
	return ""
}

// readDays parses BYDAY: weekdays, with or without a number.
func (r *rule) readDays(p *syntax.Parser, path, text string) {
	for item := range strings.SplitSeq(text, ",") {
		name := strings.TrimLeft(item, "+-0123456789")
		day, ok := parseWeekday(name)
		number := strings.TrimSuffix(item, name)
		n, okNumber := readNumber(number, -53, 53)
		switch {
		case (!ok || number != "" && !okNumber) && p.Faults.Skip():
		case !ok:
			near := nearWeekday(name)
			if near != "" && number != "" && !okNumber {
				near = ""
			} else if near != "" {
				near = number + near
			}
			p.Faults.Add(path, syntax.Quote(item), "MO, TU, WE, TH, FR, SA, SU, or with a number such as 1MO or -1FR", near)
		case number == "":
			r.weekdays |= 1 << day
		case !okNumber:
			p.Faults.Add(path, syntax.Quote(item), "a number from 1 to 53 or -1 to -53 before the weekday", "")
		default:
			r.nth = append(r.nth, engine.Occurrence{Day: day, N: n})
		}
	}
	slices.SortFunc(r.nth, func(a, b engine.Occurrence) int { return (a.N-b.N)*8 + a.Day - b.Day })
	r.nth = slices.Compact(r.nth)
}
