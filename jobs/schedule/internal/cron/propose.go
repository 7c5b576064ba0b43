package cron

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/jobagent/jobagent/jobs/schedule/internal/syntax"
	"github.com/jobagent/jobagent/jobs/suggest"
)

// This file says what is wrong with a text, and proposes another spelling of the same meaning. No
// number becomes another number, and no range is turned round.

const commandHint = "the rest seems to be a command of a crontab: it belongs in a step of the job"

// fieldLike matches a word that may be one more field of a line, and not a command.
var fieldLike = regexp.MustCompile(`(?i)^([0-9*?,/#LW-]+|@[a-z]+|(\*|(mon|tue|wed|thu|fri|sat|sun|jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[-,#/LW0-9a-z]*))$`)

// refuseCount adds the fault of a line with a wrong number of fields. most is the largest number.
func refuseCount(p *syntax.Parser, v *syntax.Value, parts []string, allowed string, most int) {
	allowed += "; there " + syntax.AreN(len(parts))
	propose := ""
	if kinds := p.KindsOf(strings.Join(parts, " ")); kinds != "" {
		p.Faults.Add(v.Path(), v.JSON(), allowed+"; "+kinds, "")
		return
	}
	for n := min(most, len(parts)-1); n >= 5 && n >= most-1; n-- {
		line := strings.Join(parts[:n], " ")
		if p.FirstValid("cron", line) == "" {
			continue
		}
		rest := parts[n:]
		switch zone, err := syntax.LoadZone(rest[0]); {
		case strings.HasPrefix(rest[0], "#"):
			allowed += "; a comment (# …) does not belong to the line"
			propose = syntax.Quote(line)
		case err == nil && len(rest) == 1:
			allowed += "; the zone stands in front, as CRON_TZ=" + zone.String()
			propose = p.FirstValid("cron", "CRON_TZ="+zone.String()+" "+line)
		case !fieldLike.MatchString(rest[0]):
			allowed += "; " + commandHint
			propose = syntax.Quote(line)
		}
		break
	}
	p.Faults.Add(v.Path(), v.JSON(), allowed, propose)
}

// refuseEmpty adds the fault of a list with empty parts ("1,,2"). before is the number of faults
// before the list: if the list has other faults, there is no proposal.
func refuseEmpty(p *syntax.Parser, path, text string, before int) {
	if text == "" || text[0] != ',' && text[len(text)-1] != ',' && !strings.Contains(text, ",,") {
		return
	}
	propose := ""
	if p.Faults.Count() == before {
		propose = strings.Join(slices.DeleteFunc(strings.Split(text, ","), func(s string) bool { return s == "" }), ",")
	}
	p.Faults.Add(path, syntax.Quote(text), "a list without empty parts", propose)
}

// noJitter explains a random or hashed value.
const noJitter = " is not supported: give the schedule a jitter instead"

// allowed describes the valid parts of a field, for an invalid one.
func (c *unixCron) allowed(f field, part string) string {
	body, step, hasStep := strings.Cut(part, "/")
	r, isRange, ok := c.span(f, body)
	if _, valid := f.step(step); hasStep && ok && !valid {
		return fmt.Sprintf("a step from 1 to %d", f.high)
	}
	if ok && isRange && r.from > r.to {
		return "a range that does not run backwards"
	}
	if ok && hasStep && !isRange {
		return "a step after * or a range"
	}
	forms := fmt.Sprintf("%d to %d, *, a-b, a-b/n, */n, or several of them with commas", f.low, f.high)
	if f.names != nil {
		forms = strings.Join(f.names, ", ") + ", or " + forms
	}
	return forms + f.hint(part, f.isDay())
}

// hint explains an invalid part that has a meaning elsewhere.
func (f field) hint(part string, quartz bool) string {
	switch {
	case strings.Contains(part, "~"):
		return "; ~ (a random value)" + noJitter
	case hashForm.MatchString(part):
		return "; H (a value by a hash of the name, in Jenkins and Quartz.NET)" + noJitter
	case quartz && quartzOnly.MatchString(part):
		return "; " + part + " is a form of the kind quartz, where Sunday is 1"
	case f.name == "hour" && part == "24":
		return "; midnight is 0, of the day that begins"
	}
	return ""
}

var (
	// quartzOnly matches the forms of days that only Quartz accepts.
	quartzOnly = regexp.MustCompile(`(?i)^(L|L?W|LW-[0-9]+|L-[0-9]+W?|[0-9]+W|([0-9]|[a-z]{3})#[0-9]|([0-9]|mon|tue|wed|thu|fri|sat|sun)L)$`)
	hashForm   = regexp.MustCompile(`(?i)^H(\(|/|$)`)
)

// dashes are other spellings of the hyphen of a range.
var dashes = strings.NewReplacer("–", "-", "—", "-", "−", "-", "..", "-", ";", ",")

// propose returns another spelling of an invalid part, or "".
func (c *unixCron) propose(f field, part string) string {
	if !c.seconds && f.isDay() && part == "?" {
		return "*"
	}
	try := f.respell(part)
	if try == "" || quartzOnly.MatchString(part) {
		return ""
	}
	var out []string
	for item := range strings.SplitSeq(try, ",") {
		body, stepText, hasStep := strings.Cut(item, "/")
		r, isRange, ok := c.span(f, body)
		step := 1
		if hasStep && ok {
			step, ok = f.step(stepText)
		}
		switch {
		case !ok:
			return ""
		case hasStep && !isRange && !c.seconds:
			item = fmt.Sprintf("%s-%d/%d", body, f.last(), step)
		case r.from > r.to:
			item = f.wrapped(r, step, body[0] > '9')
		}
		if _, valid := c.part(f, item); !valid && !strings.Contains(item, ",") {
			return ""
		}
		out = append(out, item)
	}
	if line := strings.Join(out, ","); line != part {
		return line
	}
	return ""
}

// wrapped returns a range that runs backwards as a list: 22-6 is 22-23,0-6.
func (f field) wrapped(r span, step int, names bool) string {
	low, high := f.low, f.last()
	if r.from > high {
		r.from = low // 7 is Sunday, as 0
	}
	text := func(n int) string {
		if names && n-f.low < len(f.names) {
			return f.names[n-f.low]
		}
		return strconv.Itoa(n)
	}
	list := func(from, to int) string {
		if from == to {
			return text(from)
		}
		return text(from) + "-" + text(to)
	}
	if r.from <= r.to && step == 1 {
		return list(r.from, r.to)
	}
	if step == 1 {
		return list(r.from, high) + "," + list(low, r.to)
	}
	var items []string
	end := r.to
	if r.from > r.to {
		end += high - low + 1
	}
	for n := r.from; n <= end; n += step {
		items = append(items, text(low+(n-low)%(high-low+1)))
	}
	return strings.Join(items, ",")
}

// respell returns a part with its numbers and names in their usual spelling, or "" if one of them
// is not certain. The result need not be valid.
func (f field) respell(part string) string {
	if len(part) > 64 {
		return ""
	}
	var out []string
	for item := range strings.SplitSeq(dashes.Replace(part), ",") {
		body, step, hasStep := strings.Cut(item, "/")
		from, to, isRange := strings.Cut(body, "-")
		if a, b, ok := strings.Cut(body, ":"); ok && !isRange && f.names != nil {
			from, to, isRange = a, b, true // a range of the kind sap
		}
		switch {
		case body == "" && hasStep:
			body = "*" // /5
		case body != "*" && body != "?":
			body = f.word(from)
			if other := f.word(to); isRange && other != "" && body != "" {
				body += "-" + other
			} else if isRange {
				body = ""
			}
		}
		if hasStep {
			n := suggest.Number(step, 1, f.high)
			switch {
			case n == "" && step == strconv.Itoa(f.high+1) && f.low == 0 && f.names == nil && !isRange:
				// Every 60 minutes, every 24 hours: once in each hour or day.
				if body == "*" {
					body = "0"
				}
			case n == "":
				return ""
			case body != "":
				body += "/" + n
			}
		}
		if body == "" {
			return ""
		}
		out = append(out, body)
	}
	return strings.Join(out, ",")
}

// word returns a number or name in its usual spelling, or "".
func (f field) word(text string) string {
	if _, ok := f.value(text); ok {
		return text
	}
	if n := suggest.Number(text, f.low, f.high); n != "" && strings.Trim(text, "+0123456789") == "" {
		return n
	}
	switch f.name {
	case "hour": // 8am
		if second, ok := syntax.ParseClock(strings.ToLower(text)); ok && !strings.ContainsAny(text, ".:") {
			return strconv.Itoa(second / 3600)
		}
	case "month":
		if n, ok := suggest.Month(text); ok {
			return f.names[n]
		}
	case "dayOfWeek":
		if n, ok := suggest.Weekday(text); ok {
			return f.names[(n+1)%7]
		}
	}
	return ""
}
