package foreign

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/jobagent/jobagent/jobs/schedule/internal/civil"
	"github.com/jobagent/jobagent/jobs/suggest"
)

// The sources of this file are the grammar Groc.g
// (utils/src/main/antlr3/com/google/borg/borgcron/Groc.g in
// GoogleCloudPlatform/appengine-java-standard) and groctimespecification.py of the App Engine SDK.
// By the latter, a specific time that does not exist is left out, and a time that occurs twice
// counts both times. The times of a range are counted from its start in elapsed time.

// groc is the form of schedules in cron.yaml of App Engine.
var groc = Form{
	Name: "groc", Title: "a schedule of App Engine's cron.yaml", Example: "every monday 09:00",
	translate: func(r *reader) {
		r.target.gap, r.target.overlap = "skip", "both"
		g := &grocText{reader: r, words: grocWords(r.text)}
		g.read()
		if g.at < len(g.words) && len(r.List) == 0 {
			g.expected("the end of the text")
		}
	},
}

// grocWords splits a text into words, numbers, clock times and commas.
func grocWords(text string) []string {
	return strings.Fields(strings.ReplaceAll(strings.TrimPrefix(text, "schedule:"), ",", " , "))
}

// grocText is a text that is being parsed; at is the index of the next word.
type grocText struct {
	*reader
	words []string
	at    int
}

// word returns the next word, or "" at the end.
func (g *grocText) word() string {
	if g.at < len(g.words) {
		return g.words[g.at]
	}
	return ""
}

// take takes the next word if it is one of some words.
func (g *grocText) take(words ...string) bool {
	if slices.Contains(words, g.word()) && g.word() != "" {
		g.at++
		return true
	}
	return false
}

// expected records a fault at the next word. A valid word that is near is proposed.
func (g *grocText) expected(what string, words ...string) {
	if len(g.List) > 0 {
		return
	}
	near := ""
	if g.word() != "" {
		if near = suggest.Nearest(g.word(), words); near != "" && !strings.EqualFold(near, g.word()) && len(g.word()) < 3 {
			near = ""
		}
	}
	value := g.word()
	if value == "" {
		value = g.text
		what += " at the end"
	}
	g.fault("schedule", value, what, near)
}

var (
	grocClock    = regexp.MustCompile(`^([0-9]|0[0-9]|1[0-9]|2[0-3]):([0-5][0-9])$`)
	grocNumber   = regexp.MustCompile(`^[0-9]{1,5}$`)
	grocOrdinals = [][]string{{"1st", "first"}, {"2nd", "second"}, {"3rd", "third"}, {"4th", "fourth"}, {"5th", "fifth"}}
)

// read parses a text: an interval or a specific time.
func (g *grocText) read() {
	if g.word() == "every" && g.at+1 < len(g.words) && grocNumber.MatchString(g.words[g.at+1]) {
		g.readInterval()
		return
	}
	g.readSpecific()
}

// clock takes a clock time and returns its minute of the day.
func (g *grocText) clock() (int, bool) {
	m := grocClock.FindStringSubmatch(g.word())
	if m == nil {
		g.expected("a time such as 09:00")
		return 0, false
	}
	g.at++
	hour, _ := strconv.Atoi(m[1])
	minute, _ := strconv.Atoi(m[2])
	return hour*60 + minute, true
}

// readInterval translates every N hours or minutes.
func (g *grocText) readInterval() {
	g.at++
	n, _ := strconv.Atoi(g.word())
	if n < 1 {
		g.fault("schedule", g.word(), "a whole number of at least 1", "")
		return
	}
	g.at++
	unit := 1
	switch {
	case g.take("hours"):
		unit = 60
	case !g.take("minutes", "mins"):
		g.expected("hours, minutes or mins", "hours", "minutes", "mins")
		return
	}
	switch {
	case g.take("synchronized"):
		g.synchronized(n * unit)
	case g.take("from"):
		from, ok := g.clock()
		if !ok {
			return
		}
		if !g.take("to") {
			g.expected("to", "to")
			return
		}
		if to, ok := g.clock(); ok {
			g.ranged(n*unit, from, to)
		}
	default:
		interval := "Minutes"
		if unit == 60 {
			interval = "Hours"
		}
		g.target.elastic(interval, int64(n), time.Time{}, time.Time{})
		g.note("App Engine waits for this time after the end of each run; here it is the distance of the due instants.")
		g.note("The first run is when the schedule is created; schedule_start_time sets another start.")
	}
}

// synchronized translates an interval from midnight; the minutes must divide a day.
func (g *grocText) synchronized(minutes int) {
	if minutes > 1440 || 1440%minutes != 0 {
		g.fault("schedule", g.text, "synchronized with a time that divides 24 hours", "")
		return
	}
	var times []int
	for at := 0; at < 1440; at += minutes {
		times = append(times, at)
	}
	if !changes(g.zone) && 60%minutes != 0 && minutes%60 != 0 {
		g.target.elastic("Minutes", int64(minutes), beginning, time.Time{})
		g.anchored = true
		return
	}
	g.daily(times)
}

// ranged translates an interval in a range of each day. The times are counted from the start of the
// range, and the end is in the range. A range may go past midnight.
func (g *grocText) ranged(minutes, from, to int) {
	if to < from {
		to += 1440
	}
	var times []int
	for at := from; at <= to; at += minutes {
		times = append(times, at%1440)
	}
	slices.Sort(times)
	times = slices.Compact(times)
	if changes(g.zone) && 60%minutes != 0 {
		g.note("On a day on which clocks change within the range, App Engine counts on in elapsed time; here the clock times stay.")
	}
	g.daily(times)
}

// maxPosition is the largest number in BYSETPOS of RFC 5545.
const maxPosition = 366

// daily sets a schedule of some minutes of each day, in ascending order: a cron if every hour has
// the same minutes, or else a rule of RFC 5545 that chooses from all combinations of hours and
// minutes.
func (g *grocText) daily(times []int) {
	var hours, minutes uint64
	for _, at := range times {
		hours |= 1 << (at / 60)
		minutes |= 1 << (at % 60)
	}
	var all, positions []int
	for at := range 1440 {
		if hours>>(at/60)&1 == 1 && minutes>>(at%60)&1 == 1 {
			all = append(all, at)
			if slices.Contains(times, at) {
				positions = append(positions, len(all))
			}
		}
	}
	if len(all) == len(times) {
		p := every
		p.hours, p.minutes, p.seconds = hours, minutes, 1
		g.target.line(p.line())
		return
	}
	var list []string
	for _, n := range positions {
		if n > maxPosition {
			n -= len(all) + 1
		}
		if n < -maxPosition {
			g.fault("schedule", g.text, "times of a day that a rule can choose; make two schedules of this one", "")
			return
		}
		list = append(list, strconv.Itoa(n))
	}
	g.target.line(kindRRule, fmt.Sprintf("FREQ=DAILY;BYHOUR=%s;BYMINUTE=%s;BYSECOND=0;BYSETPOS=%s", commas(hours), commas(minutes), strings.Join(list, ",")))
}

// commas returns the numbers of a mask, separated by commas.
func commas(mask uint64) string {
	var list []string
	for n := range 64 {
		if mask>>n&1 == 1 {
			list = append(list, strconv.Itoa(n))
		}
	}
	return strings.Join(list, ",")
}

// readSpecific translates a specific time: days, months and a clock time.
func (g *grocText) readSpecific() {
	p := every
	ordinals := map[int]bool{}
	monthDays := uint64(0)
	switch {
	case grocNumber.MatchString(g.word()):
		for {
			n, err := strconv.Atoi(g.word())
			if err != nil || n < 1 || n > 31 {
				g.expected("a day of the month from 1 to 31")
				return
			}
			monthDays |= 1 << n
			if g.at++; !g.take(",") {
				break
			}
		}
		if !g.takeOf() {
			return
		}
	case g.take("every") || g.ordinalList(ordinals):
		if g.take("day") {
			for n := range ordinals { // the first day is the first of the month
				monthDays |= 1 << n
			}
		} else if !g.weekdays(&p, ordinals) {
			return
		}
		if g.word() == "of" && !g.takeOf() {
			return
		}
	default:
		g.expected("every, an ordinal such as 1st, or a day of the month", "every", "first", "second", "third", "fourth", "fifth", "1st", "2nd", "3rd", "4th", "5th")
		return
	}
	if monthDays != 0 {
		p.days = monthDays
	}
	if g.words[g.at-1] == "of" && !g.months(&p) {
		return
	}
	at, ok := g.clock()
	if !ok {
		return
	}
	p.hours, p.minutes, p.seconds = 1<<(at/60), 1<<(at%60), 1
	g.target.line(p.line())
}

// takeOf takes the word of.
func (g *grocText) takeOf() bool {
	if g.take("of") {
		return true
	}
	g.expected("of", "of")
	return false
}

// ordinalList takes ordinals.
func (g *grocText) ordinalList(ordinals map[int]bool) bool {
	for {
		i := slices.IndexFunc(grocOrdinals, func(names []string) bool { return slices.Contains(names, g.word()) })
		if i < 0 {
			return false
		}
		ordinals[i+1] = true
		if g.at++; !g.take(",") {
			return true
		}
	}
}

// grocName returns the index of a name by its full name or first three letters, in lower case.
func grocName(names []string, word string) int {
	return slices.IndexFunc(names, func(name string) bool {
		name = strings.ToLower(name)
		return word == name || word == name[:3]
	})
}

// weekdays takes weekdays.
func (g *grocText) weekdays(p *pattern, ordinals map[int]bool) bool {
	p.weekdays = 0
	var list []int
	for {
		i := grocName(civil.WeekdayNames, g.word())
		if i < 0 {
			g.expected("day, or weekdays such as mon or monday", append([]string{"day", "hours", "minutes"}, lower(civil.WeekdayNames)...)...)
			return false
		}
		p.weekdays |= 1 << i
		list = append(list, i)
		if g.at++; !g.take(",") {
			break
		}
	}
	if len(ordinals) == 0 || len(ordinals) == 5 {
		return true
	}
	slices.Sort(list)
	list = slices.Compact(list)
	for n := 1; n <= 5; n++ {
		for _, day := range list {
			if ordinals[n] {
				p.nth = append(p.nth, nth{n, day})
			}
		}
	}
	return true
}

func lower(names []string) (list []string) {
	for _, name := range names {
		list = append(list, strings.ToLower(name))
	}
	return list
}

// months takes month, quarter, the months of a quarter, or names of months.
func (g *grocText) months(p *pattern) bool {
	p.months = 0
	quarterly := map[int]bool{}
	switch {
	case g.take("month"):
		p.months = allMonths
	case g.take("quarter"):
		p.months = 1<<1 | 1<<4 | 1<<7 | 1<<10
	case g.ordinalList(quarterly):
		if quarterly[4] || quarterly[5] {
			g.at--
			g.expected("first, second or third: a quarter has three months")
			return false
		}
		for n := range quarterly {
			p.months |= 1<<n | 1<<(n+3) | 1<<(n+6) | 1<<(n+9)
		}
		if !g.take("month") || !g.take("of") || !g.take("quarter") {
			g.expected("month of quarter", "month", "of", "quarter")
			return false
		}
	default:
		for {
			i := grocName(civil.MonthNames, g.word())
			if i < 0 {
				g.expected("month, quarter, or months such as jan or january", append([]string{"month", "quarter"}, lower(civil.MonthNames)...)...)
				return false
			}
			p.months |= 1 << (i + 1)
			if g.at++; !g.take(",") {
				break
			}
		}
	}
	return true
}
