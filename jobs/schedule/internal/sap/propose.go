package sap

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/jobagent/jobagent/jobs/schedule/internal/civil"
	"github.com/jobagent/jobagent/jobs/schedule/internal/syntax"
	"github.com/jobagent/jobagent/jobs/suggest"
)

// weekdayNames are the names of SAP, from Monday on.
var weekdayNames = civil.ShortNames(civil.WeekdayNames, 0)

// allowedFor describes the valid parts of a field, for an invalid one.
func (f cronField) allowedFor(part string) string {
	body, step, hasStep := strings.Cut(part, "/")
	if _, ok := f.step(step); hasStep && !ok {
		return fmt.Sprintf("a step from 1 to %d", f.high)
	}
	from, to, isRange := strings.Cut(body, ":")
	if hasStep && !isRange {
		return "a step after * or a range: */a or a:b/c"
	}
	if !isRange && f.isWeekday() && strings.Contains(body, ".") {
		return "the n-th weekday with n from 1 to 5 or -1 to -5"
	}
	if _, okFrom := parseValue(f, from); okFrom && isRange {
		if _, okTo := parseValue(f, to); okTo {
			return "a range that does not run backwards"
		}
	}
	text := f.allowed + cronForms
	if f.name == "hour" && part == "24" {
		text += "; midnight is 0, of the day that begins"
	}
	return text
}

// dashes are other spellings of the range of a cron.
var dashes = strings.NewReplacer("–", "-", "—", "-", "−", "-", "..", ":", ";", ",")

// cronRange is a range of Unix cron or Quartz.
var cronRange = regexp.MustCompile(`^([^-:]+)-([^-:]+)$`)

// propose returns another spelling of an invalid part, or "". No number becomes another number, and
// a range that runs backwards becomes the list of its values.
func (f cronField) propose(part string) string {
	if len(part) > 64 {
		return ""
	}
	var out []string
	for item := range strings.SplitSeq(dashes.Replace(part), ",") {
		item = f.respell(strings.ToLower(item))
		if _, ok := parseItem(f, item); !ok {
			item = f.wrapped(item)
		}
		if item == "" {
			return ""
		}
		out = append(out, item)
	}
	if text := strings.Join(out, ","); text != part {
		return text
	}
	return ""
}

// respell returns one item with its numbers and names in their usual spelling, or "". The result
// may be a range that runs backwards.
func (f cronField) respell(item string) string {
	body, stepText, hasStep := strings.Cut(item, "/")
	step := ""
	if hasStep {
		if step = suggest.Number(stepText, 1, f.high); step == "" {
			return ""
		}
		step = "/" + step
	}
	if m := cronRange.FindStringSubmatch(body); m != nil {
		body = m[1] + ":" + m[2]
	}
	switch from, to, isRange := strings.Cut(body, ":"); {
	case body == "*" || body == "" && hasStep:
		return "*" + step
	case isRange:
		from, to = f.word(from), f.word(to)
		a, _ := parseValue(f, from)
		b, _ := parseValue(f, to)
		if from == "" || to == "" || f.name == "day" && a > b && b > 0 {
			return "" // days that run backwards are none in the kind sap
		}
		return from + ":" + to + step
	case f.isWeekday() && !hasStep:
		return f.nth(body)
	case hasStep: // a/c of Quartz
		if from = f.word(from); from == "" || strings.HasPrefix(from, "-") || f.isWeekday() || f.name == "year" {
			return ""
		}
		return from + ":" + strconv.Itoa(f.high) + step
	case f.name == "day" && body == "l":
		return "-1"
	}
	return f.word(body)
}

// nth returns a weekday, or the n-th one: 2.fri for fri#2, and -1.fri for frIL.
func (f cronField) nth(body string) string {
	n, name, isNth := strings.Cut(body, ".")
	if a, b, quartz := strings.Cut(body, "#"); quartz {
		n, name, isNth = b, a, true
	}
	if !isNth {
		if last, ok := strings.CutSuffix(body, "l"); ok && slices.Contains(weekdayNames, last) {
			return "-1." + last
		}
		return f.word(body)
	}
	if name = f.word(name); name == "" {
		return ""
	}
	if n = suggest.Number(n, -5, 5); n == "" {
		return ""
	}
	return n + "." + name
}

// word returns a number or a name in its usual spelling, or "".
func (f cronField) word(text string) string {
	if _, ok := parseValue(f, text); ok {
		return text
	}
	switch f.name {
	case "dayOfWeek":
		if n, ok := suggest.Weekday(text); ok {
			return weekdayNames[n]
		}
		return ""
	case "month":
		if n, ok := suggest.Month(text); ok {
			return strconv.Itoa(n + 1)
		}
	case "hour":
		if second, ok := syntax.ParseClock(text); ok && !strings.ContainsAny(text, ".:") {
			return strconv.Itoa(second / 3600) // 8am
		}
	case "year":
		return ""
	}
	if strings.Trim(text, "+-0123456789") != "" {
		return ""
	}
	return suggest.Number(text, f.low, f.high)
}

// wrapped returns a range that runs backwards as a list: 22:6 is 22:23,0:6. It returns "" for any
// other item.
func (f cronField) wrapped(item string) string {
	body, stepText, hasStep := strings.Cut(item, "/")
	a, b, isRange := strings.Cut(body, ":")
	from, okFrom := parseValue(f, a)
	to, okTo := parseValue(f, b)
	if !isRange || !okFrom || !okTo || from <= to || f.name == "year" || f.name == "day" {
		return ""
	}
	text := func(n int) string {
		if f.isWeekday() {
			return weekdayNames[n-1]
		}
		return strconv.Itoa(n)
	}
	list := func(from, to int) string {
		if from == to {
			return text(from)
		}
		return text(from) + ":" + text(to)
	}
	if !hasStep {
		return list(from, f.high) + "," + list(f.low, to)
	}
	step, ok := f.step(stepText)
	if !ok {
		return ""
	}
	var items []string
	for n := from; n <= to+f.high-f.low+1; n += step {
		items = append(items, text(f.low+(n-f.low)%(f.high-f.low+1)))
	}
	return strings.Join(items, ",")
}
