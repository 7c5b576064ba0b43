package sap

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/jobagent/jobagent/jobs/schedule/internal/civil"
	"github.com/jobagent/jobagent/jobs/schedule/internal/engine"
	"github.com/jobagent/jobagent/jobs/schedule/internal/syntax"
	"github.com/jobagent/jobagent/jobs/schedule/internal/words"
)

// cronField is one of the seven fields, from left to right.
type cronField struct {
	name      string
	low, high int
	allowed   string
}

var cronFields = [7]cronField{
	{"year", 1, 9999, "a year of four digits"},
	{"month", 1, 12, "1 to 12"},
	{"day", -31, 31, "1 to 31, or -1 to -31 counted from the end of the month"},
	{"dayOfWeek", 1, 7, "mon, tue, wed, thu, fri, sat, sun, or the n-th one of the month such as 1.mon or -1.fri"},
	{"hour", 0, 23, "0 to 23"},
	{"minute", 0, 59, "0 to 59"},
	{"second", 0, 59, "0 to 59"},
}

// cronForms describes the operators in faults.
const cronForms = "; alone, as a range a:b, a:b/c, */a, *, or several of them with commas"

// cronItem is one part of a field's list.
type cronItem struct {
	from, to, step int
	// divisible marks */step: the values that are divisible by step.
	divisible bool
	nth       int // of dayOfWeek: the n-th from; 0 otherwise
}

// cronDays holds the days of a SAP cron.
type cronDays struct {
	years    *yearSet  // nil: every year
	months   uint16    // bit 1 to 12
	days     [4]uint32 // by the length of the month less 28
	weekdays uint8
	nth      []engine.Occurrence
	anyDay   bool // the field of the weekday is *
}

// maxDescribed is the largest number of years and days that is described in words.
const maxDescribed = 40

// readCron parses the seven fields. It returns nil after a fault.
func readCron(p *syntax.Parser, v *syntax.Value) engine.Schedule {
	const order = "seven fields: year month day dayOfWeek hour minute second"
	text, ok := p.Reader.Text(v, order)
	if !ok {
		return nil
	}
	parts := strings.Fields(text)
	if len(parts) != 7 {
		allowed, propose := order+"; there "+syntax.AreN(len(parts)), ""
		if kinds := p.KindsOf(text); kinds != "" {
			allowed += "; " + kinds
		} else if len(parts) == 6 {
			allowed += ", the day of week seems to be missing"
			propose = withWeekday(p, parts)
		}
		p.Faults.Add(v.Path(), v.JSON(), allowed, propose)
		return nil
	}
	before := p.Faults.Count()
	var items [7][]cronItem
	for i, f := range cronFields {
		items[i] = readItems(p, v.Path()+"."+f.name, f, parts[i])
	}
	if p.Faults.Count() > before {
		return nil
	}
	d := &cronDays{months: uint16(itemMask(items[1], cronFields[1])), anyDay: parts[3] == "*"}
	if parts[0] != "*" {
		d.years = yearsOf(items[0])
	}
	for i := range d.days {
		d.days[i] = dayMask(items[2], 28+i)
	}
	for _, item := range items[3] {
		if item.nth != 0 {
			d.nth = append(d.nth, engine.Occurrence{Day: item.from - 1, N: item.nth})
		} else {
			d.weekdays |= uint8(itemMask([]cronItem{item}, cronFields[3]) >> 1)
		}
	}
	if parts[2] != "*" && parts[3] != "*" {
		p.Warn("day and dayOfWeek are both restricted: a day must match both, where Unix cron takes either (D-S5)")
	}
	pattern := &engine.OnDays{Days: d.of, Times: engine.Times{
		Hours: uint32(itemMask(items[4], cronFields[4])), Minutes: itemMask(items[5], cronFields[5]), Seconds: itemMask(items[6], cronFields[6]),
	}}
	if !d.everMatches() {
		allowed, propose := "a pattern that matches some day; this one matches none within 400 years", ""
		if day := parts[2]; day == "29" || day == "30" || day == "31" {
			// The only reading under which the text is due.
			allowed += "; the last day of a month is -1"
			propose = p.FirstValid("cron", strings.Join(parts[:2], " ")+" -1 "+strings.Join(parts[3:], " "))
		}
		p.Faults.Add(v.Path(), v.JSON(), allowed, propose)
		return nil
	}
	warnImpossible(p, parts)
	if len(items[0])+len(items[2]) <= maxDescribed {
		p.Words = &words.Rule{Times: pattern.Times, Days: d.words(items[0], items[2])}
	}
	fixed := !strings.ContainsAny(parts[4]+parts[5]+parts[6], "*:/")
	return p.Wall(pattern, fixed)
}

// words returns the days for the description. years and days are the items of their fields.
func (d *cronDays) words(years, days []cronItem) words.Days {
	w := words.Days{Months: d.months}
	if d.years == nil {
		years = nil
	}
	for _, y := range years {
		if y.divisible {
			w.DivisibleYears = append(w.DivisibleYears, y.step)
		} else {
			w.Years = append(w.Years, words.Range{From: y.from, To: y.to, Step: y.step})
		}
	}
	var positive uint64
	for _, i := range days {
		switch {
		case i.divisible:
			positive |= itemMask([]cronItem{i}, cronField{low: 1, high: 31})
		case i.from > 0 && i.to > 0:
			positive |= uint64(dayMask([]cronItem{i}, 31))
		default:
			w.MonthDays = append(w.MonthDays, words.Range{From: i.from, To: i.to, Step: i.step})
		}
	}
	w.MonthDays = append(words.Set(positive), w.MonthDays...)
	if !d.anyDay {
		w.Weekdays, w.Nth = d.weekdays, d.nth
	}
	return w
}

// everMatches reports whether any day matches (D-E1). The days of a year depend only on its first
// weekday and on its length, so that one year of each of the 14 forms is searched.
func (d *cronDays) everMatches() bool {
	var seen [2][7]bool
	for year := 1; year <= engine.LastInstant.Year(); year++ {
		if d.years != nil && !d.years.has(year) {
			continue
		}
		leap := 0
		if civil.IsLeap(year) {
			leap = 1
		}
		first := civil.Weekday(civil.DayNumber(year, time.January, 1))
		if seen[leap][first] {
			continue
		}
		seen[leap][first] = true
		for month := time.January; month <= time.December; month++ {
			if d.of(year, month) != 0 {
				return true
			}
		}
	}
	return false
}

// of returns the mask of the matching days of a month.
func (d *cronDays) of(year int, month time.Month) uint32 {
	if d.months>>month&1 == 0 || d.years != nil && !d.years.has(year) {
		return 0
	}
	length := civil.MonthLength(year, month)
	mask := d.days[length-28]
	if d.anyDay || mask == 0 {
		return mask
	}
	first := civil.Weekday(civil.DayNumber(year, month, 1))
	allowed := engine.WeekdayDays(first, d.weekdays)
	for _, o := range d.nth {
		allowed |= engine.NthWeekday(first, length, o.Day, o.N)
	}
	return mask & allowed
}

// yearSet is a set of the years up to 9999.
type yearSet [10_000]bool

// has reports whether a year is in the set.
func (y *yearSet) has(year int) bool { return year >= 0 && year < len(y) && y[year] }

// yearsOf returns the years of a field. A text of 64 KiB may have 10,000 items, so that they are
// not searched for each month.
func yearsOf(items []cronItem) *yearSet {
	var set yearSet
	var begins [len(set) + 1]int // of ranges, less the ends
	var steps yearSet
	for _, i := range items {
		switch {
		case i.divisible && steps.has(i.step):
		case i.divisible:
			steps[i.step] = true
			for n := i.step; n < len(set); n += i.step {
				set[n] = true
			}
		case i.step == 1:
			begins[i.from]++
			begins[i.to+1]--
		default:
			for n := i.from; n <= i.to; n += i.step {
				set[n] = true
			}
		}
	}
	open := 0
	for n := range set {
		open += begins[n]
		set[n] = set[n] || open > 0
	}
	return &set
}

// itemMask returns the mask of the values of a field that has no negative values.
func itemMask(items []cronItem, f cronField) uint64 {
	var mask uint64
	for _, i := range items {
		if i.divisible {
			for n := f.low; n <= f.high; n++ {
				if n%i.step == 0 {
					mask |= 1 << n
				}
			}
			continue
		}
		for n := i.from; n <= i.to; n += i.step {
			mask |= 1 << n
		}
	}
	return mask
}

// dayMask returns the mask of the days of a month with length days. Negative days are converted
// first (D-S4).
func dayMask(items []cronItem, length int) uint32 {
	var mask uint32
	for _, i := range items {
		if i.divisible {
			mask |= uint32(itemMask([]cronItem{i}, cronField{low: 1, high: length}))
			continue
		}
		from, to := i.from, i.to
		if from < 0 {
			from += length + 1
		}
		if to < 0 {
			to += length + 1
		}
		for n := from; n <= to; n += i.step {
			if n >= 1 && n <= length { // else a value that this month does not have
				mask |= 1 << n
			}
		}
	}
	return mask
}

// readItems parses the list of one field. Equal neighbours are one item.
func readItems(p *syntax.Parser, path string, f cronField, text string) []cronItem {
	items := make([]cronItem, 0, min(strings.Count(text, ",")+1, 1000))
	last := ","
	for part := range strings.SplitSeq(text, ",") {
		if part == last {
			continue // a fault, too, is reported once
		}
		last = part
		item, ok := parseItem(f, part)
		switch {
		case ok:
			if !slices.Contains(items[:min(len(items), 8)], item) {
				items = append(items, item)
			}
		case p.Faults.Skip():
		case part == "":
			full := slices.DeleteFunc(strings.Split(text, ","), func(s string) bool { return s == "" })
			propose := strings.Join(full, ",")
			if slices.ContainsFunc(full, func(s string) bool { _, ok := parseItem(f, s); return !ok }) {
				propose = ""
			}
			p.Faults.Add(path, syntax.Quote(text), "a list without empty parts", propose)
			return nil
		default:
			p.Faults.Add(path, syntax.Quote(part), f.allowedFor(part), f.propose(part))
		}
	}
	return items
}

// withWeekday returns a line of six fields with * as the day of week, if no other field may be the
// missing one.
func withWeekday(p *syntax.Parser, parts []string) string {
	if p.Try == nil {
		return ""
	}
	with := func(i int) string { return strings.Join(slices.Insert(slices.Clone(parts), i, "*"), " ") }
	want := with(3)
	for i := range len(parts) + 1 {
		if line := with(i); line != want && p.Try("cron", line) {
			return ""
		}
	}
	return p.FirstValid("cron", want)
}

// warnImpossible warns of the items of the date that never match beside others that do.
func warnImpossible(p *syntax.Parser, parts []string) {
	const most = 32 // items; each is a search
	dates := strings.Join(parts[:4], " ")
	if p.Try == nil || strings.Count(dates, ",") == 0 || strings.Count(dates, ",") > most {
		return
	}
	alone := slices.Clone(parts)
	for i, f := range cronFields[:4] {
		items := strings.Split(parts[i], ",")
		for _, item := range items {
			if alone[i] = item; len(items) > 1 && !p.Try("cron", strings.Join(alone, " ")) {
				p.Warn(fmt.Sprintf("%s %s never matches beside the other fields of the date", f.name, item))
			}
		}
		alone[i] = parts[i]
	}
}

// parseItem parses one part of a list.
func parseItem(f cronField, part string) (item cronItem, ok bool) {
	body, stepText, hasStep := strings.Cut(part, "/")
	item.step = 1
	if hasStep {
		if item.step, ok = f.step(stepText); !ok {
			return item, false
		}
	}
	if body == "*" {
		item.divisible = true
		return item, true
	}
	from, to, isRange := strings.Cut(body, ":")
	if hasStep && !isRange {
		return item, false
	}
	if !isRange {
		to = from
	}
	if n, name, isNth := strings.Cut(body, "."); isNth && f.isWeekday() && !isRange {
		digits, negative := strings.CutPrefix(n, "-")
		count, ok := syntax.Digits(digits)
		if negative {
			count = -count
		}
		day, known := parseWeekday(name)
		item.from, item.to, item.nth = day, day, count
		return item, known && ok && count >= -5 && count <= 5 && count != 0
	}
	var okFrom, okTo bool
	item.from, okFrom = parseValue(f, from)
	item.to, okTo = parseValue(f, to)
	return item, okFrom && okTo && (item.from <= item.to || f.name == "day")
}

func (f cronField) isWeekday() bool { return f.name == "dayOfWeek" }

// step parses a step.
func (f cronField) step(text string) (int, bool) {
	step, ok := syntax.Digits(text)
	return step, ok && step >= 1 && step <= f.high
}

// parseValue parses one value of a field. Weekdays are 1 (mon) to 7.
func parseValue(f cronField, text string) (int, bool) {
	if f.isWeekday() {
		return parseWeekday(text)
	}
	digits, negative := strings.CutPrefix(text, "-")
	n, ok := syntax.Digits(digits)
	if negative {
		n = -n
	}
	if !ok || n < f.low || n > f.high {
		return 0, false
	}
	switch f.name {
	case "year":
		return n, len(text) == 4
	case "day":
		return n, n != 0
	}
	return n, len(text) <= 2 && text[0] != '-'
}

func parseWeekday(text string) (int, bool) {
	for i, name := range civil.WeekdayNames {
		if len(text) == 3 && strings.EqualFold(name[:3], text) {
			return i + 1, true
		}
	}
	return 0, false
}
