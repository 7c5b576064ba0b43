package importer

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// CrontabForm says whether the lines of a crontab have a column with the user.
type CrontabForm string

const (
	// CrontabAny means that the text decides, if it is certain.
	CrontabAny CrontabForm = ""
	// CrontabUser is the crontab of one user, as crontab -e has it: five fields and a command.
	CrontabUser CrontabForm = "user"
	// CrontabSystem is /etc/crontab or a file in /etc/cron.d: five fields, a user and a command.
	CrontabSystem CrontabForm = "system"
)

// maxCrontabLines is the largest number of lines with a command. Debian's cron reads at most 1,000
// (README.Debian, "-L"), and cronie has no limit.
const maxCrontabLines = 5_000

// maxCrontabText is the length of a crontab, in bytes.
const maxCrontabText = 1 << 20

// maxCrontabVariables is the largest number of lines that set a variable. Each line with a command
// keeps the variables that are set above it.
const maxCrontabVariables = 100

// cronLine is a line of a crontab with a command.
type cronLine struct {
	number int
	// schedule has five fields with single spaces, or one word that begins with @.
	schedule string
	user     string
	command  string
	// stdin is what follows the first %; hasStdin reports whether there is one.
	stdin    string
	hasStdin bool
	// quiet means that the line begins with -, so that cron does not log it.
	quiet bool
	// rest is the text behind the schedule, before the user is taken from it.
	rest string
	// zone, delay and variables are those in force at the line: CRON_TZ, RANDOM_DELAY and all.
	zone, delay string
	variables   map[string]string
	// environment is what lines have in common whose commands have the same variables.
	environment string
}

// cronVariable is a line of a crontab that sets a variable.
type cronVariable struct {
	number      int
	name, value string
}

// cronFault is a line that cron cannot run.
type cronFault struct {
	number  int
	message string
}

// crontabText is a crontab in parts.
type crontabText struct {
	lines     []cronLine
	variables []cronVariable
	faults    []cronFault
	// header is the form that a comment of the system's file names.
	header CrontabForm
	// unended means that the last line has a command and no line break.
	unended bool
	// returns means that lines end with a carriage return.
	returns bool
}

// The comments above the columns in the files of Debian and Red Hat, without blanks.
var crontabHeaders = map[string]CrontabForm{
	"#mhdommondowusercommand": CrontabSystem, "#*****user-namecommandtobeexecuted": CrontabSystem,
	"#*****usernamecommandtobeexecuted": CrontabSystem, "#minutehourmdaymonthwdaywhocommand": CrontabSystem,
	"#mhdommondowcommand": CrontabUser,
}

// readCrontab splits a crontab into lines. The rules are those of cronie (src/env.c, src/entry.c;
// crontab(5)): a line is a comment, sets a variable, or has a schedule and a command.
func readCrontab(text string) (*crontabText, error) {
	c := &crontabText{unended: text != "" && !strings.HasSuffix(text, "\n")}
	variables, environment := map[string]string{}, ""
	number := 0
	for line := range strings.Lines(text) {
		number++
		line = strings.TrimSuffix(line, "\n")
		if cut, found := strings.CutSuffix(line, "\r"); found {
			line, c.returns = cut, true
		}
		line = strings.TrimLeft(line, " \t")
		if line == "" || line[0] == '#' {
			if form, known := crontabHeaders[strings.ToLower(strings.Join(strings.Fields(line), ""))]; known {
				c.header = form
			}
			continue
		}
		if name, value, ok := cronAssignment(line); ok {
			if c.variables = append(c.variables, cronVariable{number, name, value}); len(c.variables) > maxCrontabVariables {
				return nil, fmt.Errorf("too many lines that set a variable: at most %d", maxCrontabVariables)
			}
			variables = maps.Clone(variables)
			variables[name] = value
			environment = cronEnvironment(variables)
			continue
		}
		entry, message := readCronLine(line)
		entry.number = number
		if message != "" {
			c.faults = append(c.faults, cronFault{number, message})
			continue
		}
		entry.zone, entry.delay, entry.variables, entry.environment = variables["CRON_TZ"], variables["RANDOM_DELAY"], variables, environment
		if c.lines = append(c.lines, entry); len(c.lines) > maxCrontabLines {
			return nil, fmt.Errorf("too many lines with a command: at most %d", maxCrontabLines)
		}
	}
	c.unended = c.unended && len(c.lines) > 0 && c.lines[len(c.lines)-1].number == number
	return c, nil
}

// cronEnvironment returns a text that is the same for the same variables of a command. It is short,
// since each line has it.
func cronEnvironment(variables map[string]string) string {
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(variables)) {
		if name != "CRON_TZ" && name != "RANDOM_DELAY" && name != "MAILTO" {
			fmt.Fprintf(&b, " %q=%q", name, variables[name])
		}
	}
	if b.Len() > 1000 {
		return fmt.Sprintf(" %x", sha256.Sum256([]byte(b.String())))
	}
	return b.String()
}

// cronAssignment reads name = value, each perhaps in quotes. Blanks around the equals sign do not
// count, and a value without quotes ends before the blanks at its end.
func cronAssignment(line string) (name, value string, ok bool) {
	name, rest, ok := cronQuoted(line, "= \t")
	if !ok || name == "" {
		return "", "", false
	}
	rest, ok = strings.CutPrefix(strings.TrimLeft(rest, " \t"), "=")
	if !ok {
		return "", "", false
	}
	rest = strings.TrimLeft(rest, " \t")
	if rest == "" || rest[0] != '"' && rest[0] != '\'' {
		return name, strings.TrimRight(rest, " \t"), true
	}
	value, rest, ok = cronQuoted(rest, "")
	return name, value, ok && strings.TrimSpace(rest) == ""
}

// cronQuoted reads a text in quotes, or one up to any of the characters in ends.
func cronQuoted(text, ends string) (inner, rest string, ok bool) {
	if text != "" && (text[0] == '"' || text[0] == '\'') {
		end := strings.IndexByte(text[1:], text[0])
		if end < 0 || ends != "" && strings.Contains(text[1:end+1], "=") {
			return "", "", false
		}
		return text[1 : end+1], text[end+2:], true
	}
	end := strings.IndexAny(text, ends)
	if end < 0 {
		return "", "", false
	}
	return text[:end], text[end:], true
}

// fieldLike matches a word that can only be a field of a schedule.
var fieldLike = regexp.MustCompile(`^(?:[*?](?:/\d+)?|[\d,/~-]+)$`)

// readCronLine reads a line with a command. The message says why cron does not run it; the line's
// text is not quoted, because it may contain a secret.
func readCronLine(line string) (entry cronLine, message string) {
	if after, found := strings.CutPrefix(line, "-"); found {
		entry.quiet, line = true, after
	}
	if strings.HasPrefix(line, "@") {
		entry.schedule, entry.rest = cutWord(line)
	} else {
		var fields []string
		for range 5 {
			var field string
			field, line = cutWord(line)
			fields = append(fields, field)
		}
		entry.schedule, entry.rest = strings.TrimSpace(strings.Join(fields, " ")), line
	}
	first, _ := cutWord(entry.rest)
	switch {
	case entry.rest == "":
		return entry, "not read: there is no command behind the schedule; want five fields or a word such as @daily, and a command"
	case fieldLike.MatchString(first):
		return entry, "not read: more than five fields; a crontab has no field for seconds and none for the year"
	}
	return entry, ""
}

// cutWord returns the first word of a text, and what follows it.
func cutWord(text string) (word, rest string) {
	text = strings.TrimLeft(text, " \t")
	end := strings.IndexAny(text, " \t")
	if end < 0 {
		return text, ""
	}
	return text[:end], strings.TrimLeft(text[end:], " \t")
}

// userName matches the names of accounts (useradd(8)).
var userName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_.-]*\$?$`)

// systemUsers are accounts of every system that are not commands.
var systemUsers = []string{"root", "nobody", "www-data"}

// form decides whether the lines have a user. It is certain if a comment of the system's file
// names the columns, if a line cannot be of the other form, or if every line names an account
// that each system has. The error quotes nothing.
func (c *crontabText) form() (CrontabForm, error) {
	lines, doubtful := c.lineForm()
	switch {
	case lines == CrontabAny && c.header == CrontabAny:
		return CrontabAny, fmt.Errorf("line %d: it is not certain whether the word behind the schedule is a user or a command: say %s", doubtful, formAdvice)
	case lines == CrontabAny, len(c.lines) == 0:
		return c.header, nil
	case c.header != CrontabAny && c.header != lines:
		return CrontabAny, fmt.Errorf("a comment names the columns of the other form than that of the lines: say %s", formAdvice)
	}
	return lines, nil
}

// formAdvice names the flags that decide.
const formAdvice = "--system for the format of /etc/crontab and /etc/cron.d, or --system=false for that of crontab -e"

// lineForm returns the form of the lines, or else the number of a line that may have either.
func (c *crontabText) lineForm() (form CrontabForm, doubtful int) {
	for _, l := range c.lines {
		word, rest := cutWord(l.rest)
		next, _ := cutWord(rest)
		switch {
		case !userName.MatchString(word), rest == "", strings.HasPrefix(next, "-") && next != "-n" && next != "-q":
			return CrontabUser, 0 // no account has such a name, and no command begins with an option
		case !slices.Contains(systemUsers, word) && doubtful == 0:
			doubtful = l.number
		}
	}
	if doubtful > 0 {
		return CrontabAny, doubtful
	}
	return CrontabSystem, 0
}

// split separates the user, and the standard input behind the first %, from the command. \% is a
// percent sign.
func (l *cronLine) split(form CrontabForm) (message string) {
	text := l.rest
	if form == CrontabSystem {
		if l.user, text = cutWord(text); text == "" {
			return "not read: there is no command behind the user"
		}
		if !userName.MatchString(l.user) {
			l.user = ""
			return "not read: the word behind the schedule is not the name of a user"
		}
		// FreeBSD: -n sends no mail after success, -q does not log (crontab(5)).
		for strings.HasPrefix(text, "-n ") || strings.HasPrefix(text, "-q ") {
			_, text = cutWord(text)
		}
	}
	var parts []string
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		switch {
		case text[i] == '\\' && i+1 < len(text) && text[i+1] == '%':
			b.WriteByte('%')
			i++
		case text[i] == '%':
			parts = append(parts, b.String())
			b.Reset()
		default:
			b.WriteByte(text[i])
		}
	}
	parts = append(parts, b.String())
	l.command, l.hasStdin = strings.TrimSpace(parts[0]), len(parts) > 1
	l.stdin = strings.Join(parts[1:], "\n")
	switch {
	case l.command == "":
		return "not read: there is no command"
	case strings.HasPrefix(l.command, "-"):
		return "not read: the command begins with an option; if there is no user before it, say --system=false"
	}
	return ""
}

// anacronLine matches a line of anacrontab(5): period in days or @monthly, delay in minutes, name,
// command.
var anacronLine = regexp.MustCompile(`^(?:\d+|@(?:daily|weekly|monthly|yearly|annually))[ \t]+\d+[ \t]+[A-Za-z][A-Za-z0-9._-]*[ \t]+\S`)

// notACrontab names the language of a text that is not a crontab; nil if it may be one.
func notACrontab(text string) error {
	lines, anacron := 0, 0
	first := ""
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		if first == "" {
			first = line
		}
		if _, _, ok := cronAssignment(line); ok {
			if strings.HasPrefix(line, "START_HOURS_RANGE") {
				anacron++
			}
			continue
		}
		lines++
		if anacronLine.MatchString(line) {
			anacron++
		}
	}
	switch {
	case anacron > 0 && anacron >= lines:
		return errors.New("it is an anacrontab(5): its lines have a period in days, a delay and a name, and no clock time; for each line create a job with a schedule such as @daily, whose catch-up policy last makes up the last missed run")
	case strings.HasPrefix(first, "apiVersion:"), strings.HasPrefix(first, "---"), strings.HasPrefix(first, "kind:"):
		return errors.New("it is YAML, not a crontab: for a CronJob of Kubernetes use jobagent import kubernetes")
	case strings.HasPrefix(first, "[Unit]"), strings.HasPrefix(first, "[Timer]"):
		return errors.New("it is a unit of systemd, not a crontab: give the text behind OnCalendar= to jobagent schedule preview")
	case strings.HasPrefix(first, "BEGIN:VCALENDAR"):
		return errors.New("it is an iCalendar file, not a crontab: use jobagent import icalendar")
	case strings.HasPrefix(first, "<?xml"), strings.HasPrefix(first, "<Task"):
		return errors.New("it is XML, not a crontab: for a task of Windows use jobagent import task-scheduler")
	case strings.HasPrefix(first, "{"), strings.HasPrefix(first, "["):
		return errors.New("it is JSON, not a crontab")
	}
	return nil
}
