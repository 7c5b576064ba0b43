package sap

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/jobagent/jobagent/jobs/internal/suggest"
	"github.com/jobagent/jobagent/jobs/schedule/internal/civil"
	"github.com/jobagent/jobagent/jobs/schedule/internal/engine"
	"github.com/jobagent/jobagent/jobs/schedule/internal/syntax"
	"github.com/jobagent/jobagent/jobs/schedule/internal/words"
)

// cronField is one of the seven fields, from left to right (b.2).
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
	years    []cronItem // nil: every year
	months   uint16     // bit 1 to 12
	days     [4]uint32  // by the length of the month less 28
	weekdays uint8
	nth      []engine.Occurrence
	anyDay   bool // the field of the weekday is *
}

// readCron parses the seven fields. It returns nil after a fault.
func readCron(p *syntax.Parser, v *syntax.Value) engine.Schedule {
	const order = "seven fields: year month day dayOfWeek hour minute second"
	text, ok := p.Reader.Text(v, order)
	if !ok {
		return nil
	}
	parts := strings.Fields(text)
	if len(parts) != 7 {
		allowed, propose := fmt.Sprintf("%s; there are %d", order, len(parts)), ""
		if len(parts) == 6 {
			allowed += ", the day of week seems to be missing"
			propose = syntax.Quote(strings.Join(parts[:3], " ") + " * " + strings.Join(parts[3:], " "))
		} else if len(parts) == 5 {
			propose = syntax.CronKinds(5)
		}
		p.Faults.Add(v.Path, v.Raw, allowed, propose)
		return nil
	}
	before := len(p.Faults.List)
	var items [7][]cronItem
	for i, f := range cronFields {
		items[i] = readItems(p, v.Path+"."+f.name, f, parts[i])
	}
	if len(p.Faults.List) > before {
		return nil
	}
	d := &cronDays{months: uint16(itemMask(items[1], cronFields[1])), anyDay: parts[3] == "*"}
	if parts[0] != "*" {
		d.years = items[0]
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
	if !d.everMatches(pattern) {
		p.Faults.Add(v.Path, v.Raw, "a pattern that matches some day; this one matches none within 400 years", p.FirstValid("cron", syntax.WithLastDays(parts, 2)...))
		return nil
	}
	p.Words = &words.Rule{Times: pattern.Times, Days: d.words(items[2])}
	fixed := !strings.ContainsAny(parts[4]+parts[5]+parts[6], "*:/")
	return p.Wall(pattern, fixed)
}

// words returns the days for the description. days are the items of the field of the day.
func (d *cronDays) words(days []cronItem) words.Days {
	w := words.Days{Months: d.months}
	for _, y := range d.years {
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

// everMatches reports whether a pattern has any match (D-E1).
func (d *cronDays) everMatches(pattern *engine.OnDays) bool {
	year := 2000
	if d.years != nil {
		year = 1
	}
	for ; year <= engine.LastInstant.Year(); year += 400 {
		if _, ok := pattern.Next(civil.DayNumber(year, time.January, 1) * civil.DaySeconds); ok {
			return true
		}
		if d.years == nil {
			break
		}
	}
	return false
}

// of returns the mask of the matching days of a month.
func (d *cronDays) of(year int, month time.Month) uint32 {
	if d.months>>month&1 == 0 || d.years != nil && !hasYear(d.years, year) {
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

func hasYear(items []cronItem, year int) bool {
	for _, i := range items {
		if i.divisible && year%i.step == 0 || !i.divisible && year >= i.from && year <= i.to && (year-i.from)%i.step == 0 {
			return true
		}
	}
	return false
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

// readItems parses the list of one field.
func readItems(p *syntax.Parser, path string, f cronField, text string) []cronItem {
	var items []cronItem
	for part := range strings.SplitSeq(text, ",") {
		item, allowed, propose := parseItem(f, part)
		if allowed != "" {
			if _, wrong, _ := parseItem(f, propose); propose == "" || wrong != "" {
				propose = nearItem(f, part)
			}
			p.Faults.Add(path, syntax.Quote(part), allowed, propose)
			continue
		}
		items = append(items, item)
	}
	return items
}

// parseItem parses one part of a list. allowed is empty if the part is valid.
func parseItem(f cronField, part string) (item cronItem, allowed, propose string) {
	body, stepText, hasStep := strings.Cut(part, "/")
	item.step = 1
	span := f.high
	if hasStep {
		step, err := strconv.Atoi(stepText)
		if err != nil || !syntax.IsDigits(stepText) || step < 1 || step > span {
			return item, fmt.Sprintf("a step from 1 to %d", span), ""
		}
		item.step = step
	}
	if body == "*" {
		item.divisible = true
		return item, "", ""
	}
	from, to, isRange := strings.Cut(body, ":")
	if !isRange {
		if hasStep {
			return item, "a step after * or a range: */a or a:b/c", ""
		}
		if strings.Contains(body, "-") && !strings.HasPrefix(body, "-") {
			if a, b, ok := strings.Cut(body, "-"); ok && a != "" && b != "" {
				propose = a + ":" + b // cron's range
			}
		}
		to = from
	}
	if f.name == "dayOfWeek" && !isRange {
		if n, name, isNth := strings.Cut(body, "."); isNth {
			count, err := strconv.Atoi(n)
			if err != nil || count < -5 || count > 5 || count == 0 || strings.HasPrefix(n, "+") {
				return item, "the n-th weekday with n from 1 to 5 or -1 to -5", ""
			}
			day, ok := parseWeekday(name)
			item.from, item.to, item.nth = day, day, count
			if !ok {
				return item, f.allowed, ""
			}
			return item, "", ""
		}
	}
	var okFrom, okTo bool
	item.from, okFrom = parseValue(f, from)
	item.to, okTo = parseValue(f, to)
	if !okFrom || !okTo {
		return item, f.allowed + cronForms, propose
	}
	if item.from > item.to && f.name != "day" {
		return item, "a range that does not run backwards", fmt.Sprintf("%s:%s", to, from)
	}
	return item, "", ""
}

// nearItem returns the valid part that is nearest to an invalid part of a field.
func nearItem(f cronField, part string) string {
	right := func(try string) bool {
		_, allowed, _ := parseItem(f, try)
		return allowed == ""
	}
	switch f.name {
	case "dayOfWeek":
		if strings.HasPrefix(part, "*/") {
			break
		}
		n, names, isNth := strings.Cut(part, ".")
		if !isNth {
			names = part
		}
		near := wordPattern.ReplaceAllStringFunc(names, nearWeekday)
		if isNth {
			near = suggest.Clamp(n, -5, 5) + "." + near
		}
		if near == part || !right(near) {
			return ""
		}
		return near
	case "year":
		if syntax.IsDigits(part) && len(part) == 2 {
			return "20" + part
		}
	}
	return suggest.Repaired(part, f.low, f.high, nil, right)
}

var wordPattern = regexp.MustCompile(`[0-9]+|[A-Za-z]+`)

// parseValue parses one value of a field. Weekdays are 1 (mon) to 7.
func parseValue(f cronField, text string) (int, bool) {
	if f.name == "dayOfWeek" {
		return parseWeekday(text)
	}
	n, err := strconv.Atoi(text)
	if err != nil || !syntax.IsDigits(strings.TrimPrefix(text, "-")) || n < f.low || n > f.high {
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
		if strings.EqualFold(name[:3], text) {
			return i + 1, true
		}
	}
	return 0, false
}

// nearWeekday returns the weekday nearest to a text, which may also be a number (1 is Monday).
func nearWeekday(text string) string {
	if n, err := strconv.Atoi(text); err == nil && n >= 0 && n <= 7 {
		return strings.ToLower(civil.WeekdayNames[(n+6)%7][:3])
	}
	if name := suggest.Nearest(text, civil.ShortNames(civil.WeekdayNames, 0)); name != "" {
		return name
	}
	if name := suggest.Nearest(text, civil.WeekdayNames); name != "" {
		return strings.ToLower(name[:3])
	}
	return ""
}
