package importer

import (
	"errors"
	"fmt"
	"hash/fnv"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/jobagent/jobagent/jobs/schedule"
)

// Crontab converts a crontab. Lines with the same command become one job with a schedule for each.
// The error contains no part of the text.
func Crontab(text []byte, o Options) (*Result, error) {
	if len(text) > maxCrontabText {
		return nil, fmt.Errorf("it has %d bytes: at most %d MB are read", len(text), maxCrontabText>>20)
	}
	if err := notACrontab(string(text)); err != nil {
		return nil, err
	}
	c, err := readCrontab(string(text))
	if err != nil {
		return nil, err
	}
	if len(c.lines)+len(c.faults) == 0 {
		return nil, errors.New("it holds no line with a schedule and a command")
	}
	form := o.Crontab
	if form == CrontabAny {
		if form, err = c.form(); err != nil {
			return nil, err
		}
	}
	r := &Result{source: "a crontab", opts: o, limited: true}
	r.crontabNotes(c)
	for _, f := range c.faults {
		r.lost("", cronElement(f.number), "%s", f.message)
	}
	jobs := map[string]int{} // by what the lines of a job have in common
	for i := range c.lines {
		l := &c.lines[i]
		if message := l.split(form); message != "" {
			r.lost("", cronElement(l.number), "%s", message)
			continue
		}
		if message := l.check(); message != "" {
			r.lost("", cronElement(l.number), "%s", message)
			continue
		}
		n, known := jobs[l.key()]
		if !known {
			n = len(r.Jobs)
			jobs[l.key()] = n
			r.Jobs = append(r.Jobs, r.cronJob(l))
		}
		r.cronSchedule(&r.Jobs[n], l)
	}
	return r.bounded()
}

func cronElement(number int) string { return fmt.Sprintf("line %d", number) }

// crontabNotes reports the variables, and what is true of all lines.
func (r *Result) crontabNotes(c *crontabText) {
	if r.opts.Zone == "" {
		r.opts.Zone = "UTC"
		if slices.ContainsFunc(c.lines, func(l cronLine) bool { return l.zone == "" }) {
			r.note("", "time zone", "clock times of a crontab are those of its machine: UTC is taken; say --zone if the machine has another")
		}
	}
	r.note("", "crontab", "cron starts a line although its last run goes on, makes up no missed run and does not retry: the schedules have the overlap AllowAll and the catch-up none, and the steps no retries")
	for _, v := range c.variables {
		element := cronElement(v.number) + " " + v.name
		if !userName.MatchString(v.name) {
			element = cronElement(v.number)
		}
		switch v.name {
		case "MAILTO":
			if v.value == "" {
				r.note("", element, "no output is mailed, and none is here: jobs.job_executions and the messages of the runs hold it")
			} else {
				r.note("", element, "cron mails all output: here the messages of the runs hold it, and jobagent alert tells of failures")
			}
		case "CRON_TZ":
			r.note("", element, "it holds for the lines below it, as in cronie; Debian's cron takes the machine's zone whatever it says")
		case "TZ":
			r.note("", element, "it is for the commands, and does not change when they start; CRON_TZ or --zone does")
		case "RANDOM_DELAY":
			if _, valid := randomDelay(v.value); !valid {
				r.lost("", element, "invalid delay: want minutes from 0 to 1440, as in cronie; the schedules get no jitter")
			} else {
				r.changed("", element, "it becomes the jitter of the schedules below it: cronie draws one delay when it starts, and jobagent one for each run")
			}
		case "SQLCMDSERVER", "SQLCMDDBNAME", "SQLCMDUSER", "SQLCMDPASSWORD":
			r.note("", element, "sqlcmd takes it; its value is used only for servers and databases")
		default:
			if isSecretVariable(v.name) {
				r.note("", element, "a secret of the commands: it is not imported")
			} else {
				r.note("", element, "it is for the commands only")
			}
		}
	}
	if c.unended {
		r.note("", cronElement(c.lines[len(c.lines)-1].number), "the line has no line break at its end: cron does not run such a line, and it is imported all the same")
	}
	if c.returns {
		r.note("", "crontab", "lines end with a carriage return, which cron takes for a part of the command; it is left out")
	}
}

// randomDelay reads RANDOM_DELAY as cronie does (src/entry.c): minutes, at most a day.
func randomDelay(text string) (minutes int, valid bool) {
	n, err := strconv.Atoi(strings.TrimSpace(text))
	return n, err == nil && n >= 0 && n <= 24*60
}

// The shapes of the fields. They keep words of a command that stands in the wrong place, perhaps a
// password, out of the report; the dialect cron5 checks the fields themselves.
var (
	numberField = regexp.MustCompile(`^[\d*?~][\d*?,/~LWH-]*$`)
	nameField   = regexp.MustCompile(`^(?:[\d*?~,/LW#-]|\b[A-Za-z]{3,9}\b)+$`)
	nickname    = regexp.MustCompile(`^@[A-Za-z_]{1,20}$|^@\d{1,9}$`)
)

// check returns why the schedule is not one of a crontab; empty if it may be.
func (l *cronLine) check() string {
	if strings.HasPrefix(l.schedule, "@") {
		if !nickname.MatchString(l.schedule) {
			return "not read: no such word for a time; want @reboot, @yearly, @monthly, @weekly, @daily or @hourly"
		}
		return ""
	}
	// Blanks and tabs alone separate the fields: another space, such as a carriage return, is part
	// of one.
	for i, field := range strings.FieldsFunc(l.schedule, func(r rune) bool { return r == ' ' || r == '\t' }) {
		shape := numberField
		if i >= 3 {
			shape = nameField
		}
		if !shape.MatchString(field) || len(field) > 200 {
			return fmt.Sprintf("not read: invalid %s field of a crontab; want five fields and a command", []string{"first", "second", "third", "fourth", "fifth"}[i])
		}
	}
	return ""
}

// key is what lines have in common that become one job: the command, the user and the variables of
// the command.
func (l *cronLine) key() string {
	return fmt.Sprintf("%q %q %q %t%s", l.user, l.command, l.stdin, l.hasStdin, l.environment)
}

// cronJob returns the job of a line, with its step and without schedules.
func (r *Result) cronJob(l *cronLine) Job {
	element := cronElement(l.number)
	c := outsideCommand{
		line: l.command, original: l.command, stdin: l.hasStdin, element: element, where: fmt.Sprintf("Line %d of a crontab", l.number),
		variable: func(name string) variable {
			value, set := l.variables[name]
			return r.expanded(variable{value: value, set: set, known: set})
		},
	}
	name := path.Base(c.program())
	if name == "." || name == "/" {
		name = "crontab " + element
	}
	c.step = name
	if simple, ok := c.simple(); ok && !simple.words[0].unknown && program(simple.words[0].text) == "sqlcmd" {
		if call, understood := readSqlcmd(simple.words[1:], c.variable); understood && len(call.files) > 0 {
			if file := strings.TrimSuffix(program(call.files[0]), ".sql"); plainProgram(file) != "" {
				name = file
			}
		}
	}
	if r.jobNames().has(name) {
		name += " " + element
	}
	job := Job{Name: r.jobName(name, "crontab "+element), Description: "From " + element + " of a crontab"}
	if l.user != "" {
		job.Description += ", of the user " + l.user
		r.note(job.Name, element, "it ran as the user %s of the machine", l.user)
	}
	if l.quiet {
		r.note(job.Name, element, "the - at the beginning keeps the line out of cron's log: here the history has every run")
	}
	job.Steps = append(job.Steps, r.commandStep(&job, c))
	return job
}

// nicknames of FreeBSD's cron that are lines of five fields (crontab(5)).
var freeBSDNicknames = map[string]string{"@every_minute": "* * * * *"}

// cronSchedule adds the schedule of a line to its job.
func (r *Result) cronSchedule(job *Job, l *cronLine) {
	element := cronElement(l.number)
	line := l.schedule
	switch {
	case strings.EqualFold(line, "@reboot"):
		r.lost(job.Name, element, "@reboot runs the command when the machine starts, which no kind of schedule does; start the job by hand")
		return
	case line == "@every_second", nickname.MatchString(line) && line[1] >= '0' && line[1] <= '9':
		r.lost(job.Name, element, "no kind of schedule has an interval of seconds after the end of the last run (FreeBSD); a schedule of the kind sap with repeatInterval is near to it")
		return
	}
	if five, known := freeBSDNicknames[line]; known {
		line = five
	}
	if strings.Contains(line, "~") {
		chosen, ok := chooseRandom(line, l.key())
		if ok {
			r.changed(job.Name, element, "~ is a value that cron draws when it reads the file: %s becomes %s, for good", line, chosen)
			line = chosen
		}
	}
	spec := line
	if minutes, valid := randomDelay(l.delay); valid && minutes > 0 {
		spec = fmt.Sprintf(`{"cron":%q,"jitter":"%dm"}`, line, minutes)
	}
	zone := r.opts.Zone
	if l.zone != "" {
		var err error
		if zone, err = Zone(strings.TrimPrefix(l.zone, ":")); err != nil { // POSIX permits the colon
			zone = l.zone // the schedule is reported with the fault
		}
	}
	overlap := "AllowAll"
	if c, ok := readShell(l.command, func(string) (string, bool) { return "", false }); ok && c.lock {
		overlap = "Skip"
		r.note(job.Name, element, "flock -n leaves a run out while the last one goes on: the overlap is Skip")
	}
	r.addSchedule(job, element, element, Schedule{
		Name: r.scheduleName(job, element, element), Kind: schedule.KindCron5, Spec: spec, Zone: zone, CatchUp: string(schedule.CatchUpNone), Overlap: overlap, Enabled: true,
	})
}

// randomRange matches a~b in a list of a field, where both ends may be missing
// (cronie's crontab(5)).
var randomRange = regexp.MustCompile(`^(\d*)~(\d*)$`)

// chooseRandom replaces each a~b of a line by a value between them, which follows from seed. ok is
// false if there is another form of ~.
func chooseRandom(line, seed string) (chosen string, ok bool) {
	bounds := [][2]int{{0, 59}, {0, 23}, {1, 31}, {1, 12}, {0, 7}}
	fields := strings.Fields(line)
	for i, field := range fields {
		parts := strings.Split(field, ",")
		for k, part := range parts {
			if !strings.Contains(part, "~") {
				continue
			}
			m := randomRange.FindStringSubmatch(part)
			if m == nil || i >= len(bounds) {
				return "", false
			}
			low, high := bounds[i][0], bounds[i][1]
			if m[1] != "" {
				low, _ = strconv.Atoi(m[1]) // digits; too many of them are out of the bounds
			}
			if m[2] != "" {
				high, _ = strconv.Atoi(m[2])
			}
			if low < bounds[i][0] || high > bounds[i][1] || low > high {
				return "", false
			}
			h := fnv.New32a()
			_, _ = fmt.Fprintf(h, "%s %d %d", seed, i, k) // Write of hash.Hash never fails
			parts[k] = strconv.Itoa(low + int(h.Sum32()%uint32(high-low+1)))
		}
		fields[i] = strings.Join(parts, ",")
	}
	return strings.Join(fields, " "), true
}
