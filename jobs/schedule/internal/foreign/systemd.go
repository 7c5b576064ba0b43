package foreign

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/jobagent/jobagent/jobs/schedule/internal/civil"
	"github.com/jobagent/jobagent/jobs/schedule/internal/syntax"
	"github.com/jobagent/jobagent/jobs/suggest"
)

// The sources of this file are systemd.time(7) and src/shared/calendarspec.c of systemd 252. When
// clocks change, systemd 252 leaves out a time that does not exist, and a time that occurs twice
// counts the first time, also for *:0/15 (measured with systemd-analyze calendar; see
// systemd_test.go).

// systemd is the form of calendar events in OnCalendar= of systemd timers.
var systemd = Form{
	Name: "systemd", Title: "a calendar event of systemd.time(7)", Example: "Mon..Fri 09:00",
	translate: func(r *reader) {
		r.target.gap, r.target.overlap = "skip", "first"
		if isUnit(r.text) {
			r.readUnit()
			return
		}
		r.readCalendar(r.text)
	},
}

// calendarWords are the short forms of calendar events.
var calendarWords = map[string]string{
	"minutely": "*-*-* *:*:00", "hourly": "*-*-* *:00:00", "daily": "*-*-* 00:00:00", "monthly": "*-*-01 00:00:00",
	"weekly": "Mon *-*-* 00:00:00", "yearly": "*-01-01 00:00:00", "annually": "*-01-01 00:00:00", "anually": "*-01-01 00:00:00",
	"quarterly": "*-01,04,07,10-01 00:00:00", "semiannually": "*-01,07-01 00:00:00", "semi-annually": "*-01,07-01 00:00:00",
	"biannually": "*-01,07-01 00:00:00", "bi-annually": "*-01,07-01 00:00:00",
}

// calendarField is one number of a calendar event.
type calendarField struct {
	name      string
	low, high int
}

// The fields. In systemd, years are from 1970 to 2199.
var (
	yearField   = calendarField{"year", 1970, 2199}
	monthField  = calendarField{"month", 1, 12}
	dayField    = calendarField{"day", 1, 31}
	lastField   = calendarField{"day", 1, 28} // after ~
	hourField   = calendarField{"hour", 0, 23}
	minuteField = calendarField{"minute", 0, 59}
	secondField = calendarField{"second", 0, 59}
)

// readCalendar translates one calendar event.
func (r *reader) readCalendar(text string) {
	tokens := r.takeCalendarZone(strings.Fields(text))
	if len(tokens) == 1 {
		if full, ok := calendarWords[strings.ToLower(tokens[0])]; ok {
			tokens = strings.Fields(full)
		}
	}
	p := every
	p.hours, p.minutes, p.seconds = 1, 1, 1
	rest := tokens
	if len(rest) > 0 && isLetter(rest[0][0]) {
		p.weekdays = r.weekdayList(rest[0])
		rest = rest[1:]
	}
	if len(rest) > 0 && !strings.Contains(rest[0], ":") {
		r.readCalendarDate(&p, rest[0])
		rest = rest[1:]
	}
	if len(rest) > 0 {
		r.readCalendarTime(&p, rest[0])
		rest = rest[1:]
	}
	if len(rest) > 0 {
		r.fault("", text, "[WEEKDAYS] [DATE] [TIME] [ZONE], such as Mon..Fri *-*-* 09:00:00 Europe/Berlin; what is "+strings.Join(rest, " ")+"?", "")
	}
	if len(r.List) > 0 {
		return
	}
	if r.zone == nil {
		r.note("systemd reads a time without a zone in the zone of its machine; here it is UTC unless a zone is given.")
	}
	r.target.line(p.line())
}

// takeCalendarZone removes the zone at the end of a calendar event.
func (r *reader) takeCalendarZone(tokens []string) []string {
	last := len(tokens) - 1
	if last < 1 || !strings.ContainsFunc(tokens[last], func(c rune) bool { return c < 128 && isLetter(byte(c)) }) {
		return tokens
	}
	name := tokens[last]
	if strings.EqualFold(name, "UTC") {
		name = "UTC"
	}
	r.readZone("zone", name)
	return tokens[:last]
}

func isLetter(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' }

const weekdayForms = "Mon, Tue, Wed, Thu, Fri, Sat, Sun or their full names, alone, as a range such as Mon..Fri, or several with commas"

// weekdayList returns the mask of a list of weekdays and ranges.
func (r *reader) weekdayList(text string) (mask uint64) {
	for part := range strings.SplitSeq(strings.TrimSuffix(text, ","), ",") {
		from, to, isRange := strings.Cut(part, "..")
		if !isRange {
			if from, to, isRange = strings.Cut(part, "-"); !isRange {
				to = from
			}
		}
		a, okA := weekdayOf(from)
		b, okB := weekdayOf(to)
		switch {
		case !okA || !okB:
			r.fault("weekday", part, weekdayForms, nearestCalendarWord(part))
		case a > b:
			names := civil.WeekdayNames
			near := names[a][:3] + "..Sun," + names[0][:3] + ".." + names[b][:3]
			near = strings.NewReplacer("Sun..Sun", "Sun", "Mon..Mon", "Mon").Replace(near)
			r.fault("weekday", part, "a range that does not run backwards", near)
		default:
			for n := a; n <= b; n++ {
				mask |= 1 << n
			}
		}
	}
	return mask
}

// weekdayOf parses a weekday by its full name or its first three letters.
func weekdayOf(text string) (int, bool) {
	for i, name := range civil.WeekdayNames {
		if strings.EqualFold(text, name) || strings.EqualFold(text, name[:3]) {
			return i, true
		}
	}
	return 0, false
}

// nearestCalendarWord returns the short form or the weekday that is nearest to a word, or "".
func nearestCalendarWord(word string) string {
	var names []string
	for _, name := range civil.WeekdayNames {
		names = append(names, name[:3], name)
	}
	return suggest.Nearest(word, append(slices.Sorted(maps.Keys(calendarWords)), names...))
}

// readCalendarDate parses [YEAR-]MONTH-DAY, with ~ in place of the last - for days that are counted
// from the end of the month, or @SECONDS since 1970.
func (r *reader) readCalendarDate(p *pattern, text string) {
	if seconds, ok := strings.CutPrefix(text, "@"); ok {
		r.readTimestamp(p, seconds)
		return
	}
	const forms = "a date such as *-*-01, 2026-12-24, 12-24 or *-*~01 (the last day), or a time such as 09:00"
	head, day, last := strings.Cut(text, "~")
	if !last {
		i := strings.LastIndexByte(text, '-')
		if i < 0 {
			r.fault("", text, forms, "")
			return
		}
		head, day = text[:i], text[i+1:]
	}
	year, month, hasYear := strings.Cut(head, "-")
	if !hasYear {
		year, month = "*", head
	}
	if strings.ContainsAny(month, "-~") || strings.ContainsAny(day, "-~") {
		r.fault("", text, forms, "")
		return
	}
	if year != "*" {
		for _, c := range r.chain(yearField, year) {
			p.years = append(p.years, c.span)
		}
	}
	p.months = r.mask(monthField, month)
	if !last || day == "*" {
		p.days = r.mask(dayField, day)
		return
	}
	p.fromEnd = []span{}
	for _, c := range r.chain(lastField, day) {
		// ~7/3 begins with the 7th day from the end and goes on to the last one. ~1..3 are the
		// three last days.
		s := span{-c.to, -c.from, c.step}
		if c.open {
			s = span{-c.from, -1, c.step}
		}
		p.fromEnd = append(p.fromEnd, s)
	}
}

// readTimestamp sets the pattern of one instant, in seconds since 1970 in UTC.
func (r *reader) readTimestamp(p *pattern, text string) {
	seconds, err := strconv.ParseInt(text, 10, 64)
	if err != nil || !syntax.IsDigits(text) || seconds > maxTimestamp {
		r.fault("", "@"+text, "@ and a number of seconds since 1970, up to the year 2199", "")
		return
	}
	if r.named != nil && r.named != time.UTC {
		r.fault("zone", r.named.String(), "no zone beside a number of seconds since 1970", "")
		return
	}
	if r.named == nil {
		r.readZone("zone", "UTC")
	}
	at := time.Unix(seconds, 0).UTC()
	p.years = []span{{at.Year(), at.Year(), 1}}
	p.months, p.days = 1<<at.Month(), 1<<at.Day()
	p.hours, p.minutes, p.seconds = 1<<at.Hour(), 1<<at.Minute(), 1<<at.Second()
}

// maxTimestamp is the last second of the year 2199.
const maxTimestamp = 7258118399

// readCalendarTime parses HOUR:MINUTE[:SECOND].
func (r *reader) readCalendarTime(p *pattern, text string) {
	parts := strings.Split(text, ":")
	if len(parts) < 2 || len(parts) > 3 {
		r.fault("", text, "a time such as 09:00 or 09:00:30", "")
		return
	}
	p.hours, p.minutes = r.mask(hourField, parts[0]), r.mask(minuteField, parts[1])
	if len(parts) == 3 {
		p.seconds = r.mask(secondField, parts[2])
	}
}

// component is one part of the list of a field. If it is open, it has a step and no end.
type component struct {
	span
	open bool
}

var componentText = regexp.MustCompile(`^([0-9]{1,9})(?:\.\.([0-9]{1,9}))?(?:/([0-9]{1,9}))?$`)

// mask returns the numbers of a field.
func (r *reader) mask(f calendarField, text string) (mask uint64) {
	for _, c := range r.chain(f, text) {
		for n := c.from; n <= c.to; n += c.step {
			mask |= 1 << n
		}
	}
	return mask
}

func (r *reader) chain(f calendarField, text string) []component {
	if text == "*" {
		return []component{{span: span{f.low, f.high, 1}}}
	}
	var list []component
	for part := range strings.SplitSeq(text, ",") {
		if c, ok := r.component(f, part); ok {
			list = append(list, c)
		}
	}
	return list
}

// component parses one component.
func (r *reader) component(f calendarField, text string) (component, bool) {
	allowed := fmt.Sprintf("%d to %d, *, a..b, a/n, a..b/n, or several with commas", f.low, f.high)
	m := componentText.FindStringSubmatch(text)
	if m == nil {
		near := ""
		switch from, step, hasStep := strings.Cut(text, "/"); {
		case hasStep && from == "*" && f != yearField && syntax.IsDigits(step):
			near = fmt.Sprintf("%d/%s", f.low, step)
		case strings.Contains(text, ".") && !strings.Contains(text, ".."):
			allowed += "; a fraction of a second is not supported"
		case strings.Count(text, "-") == 1:
			near = strings.Replace(text, "-", "..", 1)
		}
		if near != "" && !componentText.MatchString(near) {
			near = ""
		}
		r.fault(f.name, text, allowed, near)
		return component{}, false
	}
	c := component{span: span{step: 1}, open: m[2] == "" && m[3] != ""}
	c.from = f.number(m[1])
	if c.to = c.from; m[2] != "" {
		c.to = f.number(m[2])
	}
	if m[3] != "" {
		c.step, _ = strconv.Atoi(m[3])
	}
	// The rules of systemd: a step is not 0, and without an end from + step is a number of the
	// field.
	switch {
	case c.from < f.low || c.from > f.high || c.to > f.high:
		r.fault(f.name, text, allowed, "")
	case c.to < c.from:
		r.fault(f.name, text, "a range that does not run backwards", "")
	case c.step < 1 || c.open && f != lastField && c.from+c.step > f.high || c.open && f == lastField && c.from-c.step < f.low:
		r.fault(f.name, text, fmt.Sprintf("a step that reaches a further number; the numbers are %d to %d", f.low, f.high), strings.Split(text, "/")[0])
	default:
		if c.open && f != lastField {
			c.to = f.high
		}
		c.to -= (c.to - c.from) % c.step
		return c, true
	}
	return component{}, false
}

// number returns the number of a text. Years of two digits are those from 1970 to 2069.
func (f calendarField) number(text string) int {
	n, _ := strconv.Atoi(text)
	if f == yearField && n < 100 {
		if n += 1900; n < 1970 {
			n += 100
		}
	}
	return n
}
