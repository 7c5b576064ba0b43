package foreign

import (
	"regexp"
	"strings"
	"time"

	"github.com/jobagent/jobagent/jobs/schedule/internal/syntax"
)

// Recognized is a text that is recognized by its shape, whether or not it is valid.
type Recognized struct {
	// What names the language, such as "a calendar event of systemd.time(7)".
	What string
	// Form is the form of the text; nil for a document or a line of a crontab.
	Form *Form
	// Command imports the document; empty for other texts.
	Command string
	// Line is the part of a line of a crontab that the kind cron5 accepts; empty if there is none.
	Line string
}

// shapes are the shapes by which the texts of forms are recognized. No valid text of a kind has one
// of them.
var shapes = []struct {
	form  *Form
	shape *regexp.Regexp
	// sure reports whether the shape belongs to no other language, so that also an invalid text is
	// recognized.
	sure bool
}{
	{&eventBridge, regexp.MustCompile(`^(cron|rate|at)\s*\(`), true},
	{&airflow, regexp.MustCompile(`^(datetime\.)?timedelta\s*\(|^@(once|continuous|quarterly)$`), true},
	{&iso8601, regexp.MustCompile(`^R[0-9-]*/`), true},
	{&iso8601, regexp.MustCompile(`^P(T?[0-9])`), false},
	{&systemd, regexp.MustCompile(`(?m)^\s*(\[Timer\]|On(Calendar|Active|Boot|Startup|UnitActive|UnitInactive)\w*\s*=)`), true},
	{&groc, regexp.MustCompile(`^every\s+[a-z0-9]`), true},
	{&groc, regexp.MustCompile(`^([0-9,\s]+of|1st|2nd|3rd|4th|5th|first|second|third|fourth|fifth)\b`), false},
	{&systemd, regexp.MustCompile(`(?i)^(minutely|hourly|daily|monthly|weekly|yearly|annually|quarterly|semi-?annually|bi-?annually)\b`), false},
	{&systemd, regexp.MustCompile(`(?i)^((mon|tue|wed|thu|fri|sat|sun)[a-z]*([.,-]|\s|$)|[0-9*,./]+:[0-9*]|[0-9*][0-9*,./]*[-~][0-9*])`), false},
}

// Recognize recognizes a text of another language by its shape. zone is the zone for texts that
// name none, or nil.
func Recognize(text string, zone *time.Location) (Recognized, bool) {
	text = strings.TrimSpace(text)
	if len(text) > maxText || text == "" {
		return Recognized{}, false
	}
	if r, ok := document(text); ok {
		return r, true
	}
	if _, err := syntax.ParseDate(text); err == nil {
		return Recognized{}, false // a date alone has several meanings
	}
	for _, s := range shapes {
		if !s.shape.MatchString(text) {
			continue
		}
		if _, err := s.form.Translate(text, zone); err == nil || s.sure {
			return Recognized{What: s.form.Title, Form: s.form}, true
		}
	}
	return crontab(text)
}

// documents are the files that have a command for their import.
var documents = []struct {
	what, command string
	shape         *regexp.Regexp
}{
	{"an iCalendar file", "jobagent import icalendar FILE", regexp.MustCompile(`(?im)^BEGIN:(VCALENDAR|VEVENT)\s*$`)},
	{"a Kubernetes manifest", "jobagent import kubernetes FILE", regexp.MustCompile(`(?m)^\s*kind:\s*["']?CronJob\b`)},
	{"a task of Windows Task Scheduler", "jobagent import task-scheduler FILE", regexp.MustCompile(`(?s)^(<\?xml.*?\?>)?\s*(<!--.*?-->\s*)?<Task[\s>]`)},
}

func document(text string) (Recognized, bool) {
	for _, d := range documents {
		if d.shape.MatchString(text) {
			return Recognized{What: d.what, Command: d.command}, true
		}
	}
	return Recognized{}, false
}

var (
	variable  = regexp.MustCompile(`^[A-Za-z_][A-Za-z_0-9]*\s*=`)
	cronField = regexp.MustCompile(`(?i)^[0-9*,/?~#-]*(((jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec|mon|tue|wed|thu|fri|sat|sun)[a-z]*|L|W|H)[0-9*,/?~#-]*)*$`)
	cronWord  = regexp.MustCompile(`^@[a-z]+$`)
)

// crontab recognizes a line of a crontab with a command, a zone or a comment behind it, and a whole
// crontab.
func crontab(text string) (Recognized, bool) {
	var lines []string
	variables := false
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		switch {
		case line == "" || line[0] == '#':
		case variable.MatchString(line) && !strings.HasPrefix(line, "CRON_TZ=") && !strings.HasPrefix(line, "TZ="):
			variables = true
		default:
			lines = append(lines, line)
		}
	}
	whole := Recognized{What: "a crontab", Command: "jobagent import crontab FILE"}
	if len(lines) != 1 || variables {
		for _, line := range lines {
			if _, ok := crontabLine(line); !ok {
				return Recognized{}, false
			}
		}
		return whole, len(lines) > 0
	}
	return crontabLine(lines[0])
}

// crontabLine recognizes one line of a crontab with more than its fields.
func crontabLine(line string) (Recognized, bool) {
	tokens := strings.Fields(line)
	prefix := ""
	if zone, ok := strings.CutPrefix(tokens[0], "CRON_TZ="); ok && len(tokens) > 1 {
		prefix, tokens = "CRON_TZ="+zone+" ", tokens[1:]
	}
	fields := 5
	if cronWord.MatchString(tokens[0]) {
		fields = 1
	}
	if tokens[0] == "@reboot" {
		return Recognized{What: "@reboot of a crontab, which is not an instant", Command: "jobagent import crontab FILE"}, true
	}
	if len(tokens) <= fields {
		return Recognized{}, false
	}
	for _, field := range tokens[:fields] {
		if fields == 5 && !cronField.MatchString(field) {
			return Recognized{}, false
		}
	}
	rest := tokens[fields:]
	schedule := prefix + strings.Join(tokens[:fields], " ")
	if strings.HasPrefix(rest[0], "#") {
		return Recognized{What: "a line of cron5 with a comment behind it", Line: schedule}, true
	}
	if cronField.MatchString(rest[0]) {
		return Recognized{}, false // a field of another kind of cron
	}
	if _, err := syntax.LoadZone(rest[0]); err == nil && len(rest) == 1 && prefix == "" {
		return Recognized{What: "a line of cron5 with a zone behind it", Line: "CRON_TZ=" + rest[0] + " " + schedule}, true
	}
	return Recognized{What: "a line of a crontab with a command", Command: "jobagent import crontab FILE", Line: schedule}, true
}

// hashed matches a field with H, a value by the hash of a name.
var hashed = regexp.MustCompile(`^H([(/].*)?$`)

// Hashed reports whether a line of cron has a field with H, as in Jenkins and Quartz.NET.
func Hashed(text string) bool {
	tokens := strings.Fields(text)
	if len(tokens) < 5 || len(tokens) > 7 {
		return false
	}
	for _, token := range tokens {
		if hashed.MatchString(token) {
			return true
		}
	}
	return false
}
