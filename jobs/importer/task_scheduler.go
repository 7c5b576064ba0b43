package importer

import (
	"cmp"
	"errors"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/jobagent/jobagent/jobs/isoduration"
	"github.com/jobagent/jobagent/jobs/schedule"
)

// taskSchema is the namespace of tasks
// (https://learn.microsoft.com/windows/win32/taskschd/task-scheduler-schema).
const taskSchema = "http://schemas.microsoft.com/windows/2004/02/mit/task"

// Document holds a file to import.
type Document struct {
	Name string
	Text []byte // UTF-8
}

// TaskScheduler converts tasks of Windows Task Scheduler. The documents are XML as schtasks and
// Export-ScheduledTask write it: one task, a list of tasks, or several of them in a row.
func TaskScheduler(documents []Document, o Options) (*Result, error) {
	r := &Result{source: "Windows Task Scheduler", opts: o, limited: true}
	if o.Zone == "" {
		r.opts.Zone = "UTC"
		r.note("", "time zone", "clock times of Task Scheduler are those of its machine: UTC is taken; say --zone if the machine has another")
	} else if o.Zone != "UTC" {
		r.note("", "time zone", "%s: Microsoft does not specify what Task Scheduler does where clocks are changed; here, a time that does not exist runs later by the length of the gap, and one that exists twice runs once", o.Zone)
	}
	var err error
	if r.location, err = schedule.LoadZone(r.opts.Zone); err != nil {
		return nil, err
	}
	for _, d := range documents {
		tasks, err := taskElements(d)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", d.Name, err)
		}
		spare := fileStem(d.Name)
		for _, t := range tasks {
			if r.full() {
				break
			}
			r.task(t, spare)
		}
	}
	return r.bounded()
}

func taskElements(d Document) ([]*element, error) {
	top, err := parseXML(string(d.Text))
	if err != nil {
		return nil, err
	}
	var tasks []*element
	for _, e := range top {
		switch {
		case e.name == "Task" && e.space == taskSchema:
			tasks = append(tasks, e)
		case e.name == "Tasks":
			for _, c := range e.children {
				if c.name != "Task" || c.space != taskSchema {
					return nil, fmt.Errorf("an element of <Tasks> is not a <Task> of %s", taskSchema)
				}
				tasks = append(tasks, c)
			}
		default:
			return nil, fmt.Errorf("the document is not a <Task> or <Tasks> of %s, as schtasks /query /xml and Export-ScheduledTask write it", taskSchema)
		}
	}
	if len(tasks) == 0 {
		return nil, errors.New("the document has no task")
	}
	return tasks, nil
}

// taskSettings holds what the settings of a task mean for its schedules and steps.
type taskSettings struct {
	enabled            bool
	overlap, catchUp   string
	attempts, interval int
	timeout            int
}

// task converts one task and adds it to the result.
func (r *Result) task(e *element, spare string) {
	info := e.take("RegistrationInfo")
	name := info.takeText("URI")
	if name == "" && strings.HasPrefix(e.comment, `\`) {
		name = e.comment // schtasks writes the path of a task before it
	}
	job := Job{Name: r.jobName(strings.TrimPrefix(name, `\`), spare)}
	description, was := cut(info.takeText("Description"), maxDescription)
	if was {
		r.changed(job.Name, "RegistrationInfo.Description", "it is longer than %d characters and was cut", maxDescription)
	}
	job.Description = description
	r.taskInfo(job.Name, info)
	settings := r.taskSettings(job.Name, e.take("Settings"))
	r.taskPrincipals(job.Name, e.take("Principals"))
	if e.takeText("Data") != "" {
		r.lost(job.Name, "Data", "data for the actions of the task")
	}
	r.taskActions(&job, e.take("Actions"), settings)
	triggers := e.take("Triggers")
	if triggers == nil || len(triggers.children) == 0 {
		r.note(job.Name, "Triggers", "the task has no triggers: the job runs when it is started")
	} else {
		for i, t := range triggers.children {
			if r.full() {
				break
			}
			t.taken = true
			r.taskTrigger(&job, t, fmt.Sprintf("Triggers.%s[%d]", t.name, i+1), settings)
		}
	}
	if len(job.Schedules) > 1 {
		r.note(job.Name, "Settings.MultipleInstancesPolicy", "the policy %s holds for each schedule by itself, not for the whole task", settings.overlap)
	}
	e.rest("Task", func(path string) {
		r.lost(job.Name, strings.TrimPrefix(path, "Task."), "it has no counterpart")
	})
	r.Jobs = append(r.Jobs, job)
}

// taskInfo reports the registration of a task.
func (r *Result) taskInfo(job string, info *element) {
	if info == nil {
		return
	}
	var left []string
	for _, name := range []string{"Author", "Date", "Version", "Source", "Documentation"} {
		if info.takeText(name) != "" {
			left = append(left, name)
		}
	}
	if left != nil {
		r.note(job, "RegistrationInfo", "%s: not kept", strings.Join(left, ", "))
	}
	if info.takeText("SecurityDescriptor") != "" {
		r.note(job, "RegistrationInfo.SecurityDescriptor", "who may change and start jobs: the roles of the control database")
	}
}

// taskPrincipals reports the accounts of a task.
func (r *Result) taskPrincipals(job string, e *element) {
	if e == nil {
		return
	}
	for _, p := range e.takeAll("Principal") {
		p.whole()
		what := "an account"
		for _, c := range p.children {
			if c.name == "RunLevel" && c.text == "HighestAvailable" {
				what = "an account, with its highest rights (RunLevel)"
			}
		}
		r.note(job, "Principals.Principal", "the task runs under %s: here a step runs with the agent's login or with a credential of the agent's configuration", what)
	}
}

// taskSettings converts the settings of a task. The defaults are those of the schema
// (https://learn.microsoft.com/windows/win32/taskschd/taskschedulerschema-settingstype-complextype).
func (r *Result) taskSettings(job string, e *element) taskSettings {
	s := taskSettings{enabled: e.takeBool("Enabled", true), catchUp: "none", interval: 1}
	if e.takeBool("StartWhenAvailable", false) {
		s.catchUp = "last"
	}
	policy := e.takeText("MultipleInstancesPolicy")
	if s.overlap = map[string]string{"": "Skip", "IgnoreNew": "Skip", "Parallel": "AllowAll", "Queue": "BufferAll", "StopExisting": "CancelOther"}[policy]; s.overlap == "" {
		s.overlap = "Skip"
		r.changed(job, "Settings.MultipleInstancesPolicy", "invalid value: want Parallel, Queue, IgnoreNew or StopExisting; IgnoreNew is taken")
	}
	s.timeout = r.taskTimeLimit(job, cmp.Or(e.takeText("ExecutionTimeLimit"), "PT72H"))
	if restart := e.take("RestartOnFailure"); restart != nil {
		count, err := strconv.Atoi(restart.takeText("Count"))
		seconds, ok := isoduration.ParseSeconds(restart.takeText("Interval"))
		if err != nil || !ok || count < 1 || seconds < 1 {
			r.lost(job, "Settings.RestartOnFailure", "it has no valid Count and Interval")
		} else {
			s.attempts, s.interval = min(count, 1000), int(min(seconds, maxRetry))
			r.note(job, "Settings.RestartOnFailure", "Task Scheduler starts the whole task again; here the step that failed is tried again, on the databases where it failed")
		}
	}
	for _, n := range []struct {
		name    string
		usual   bool
		effect  Effect
		message string
	}{
		{"DisallowStartIfOnBatteries", false, Note, "the task does not start on battery power: an agent does not look at the power supply"},
		{"StopIfGoingOnBatteries", false, Note, "the task stops on battery power: an agent does not look at the power supply"},
		{"RunOnlyIfNetworkAvailable", false, Note, "the task starts only with a network: here attempts on an unreachable server fail, and are retried as the step says"},
		{"WakeToRun", false, Note, "the task wakes the computer: an agent has to be running"},
		{"RunOnlyIfIdle", false, Lost, "the task starts only if the computer is idle"},
		{"AllowStartOnDemand", true, Note, "nobody may start the task by hand; here every operator may start a job"},
		{"AllowHardTerminate", true, Note, "the task is not ended by force; here a step ends at its time limit"},
		{"Hidden", false, Note, "the task is hidden; here every job is listed"},
		{"DisallowStartOnRemoteAppSession", false, Note, "sessions of users do not matter to an agent"},
		{"Volatile", false, Lost, "the task ends with the computer's session; the job stays"},
	} {
		if e.takeBool(n.name, n.usual) != n.usual {
			r.add(n.effect, job, "Settings."+n.name, "%s", n.message)
		}
	}
	e.takeText("UseUnifiedSchedulingEngine") // the engine that runs the task; its result is the same
	for _, n := range []struct {
		name    string
		effect  Effect
		message string
	}{
		{"Priority", Note, "the priority of the process; here the databases decide"},
		{"DeleteExpiredTaskAfter", Lost, "the task is deleted after its end; here the job stays, and its schedule is Completed"},
		{"NetworkSettings", Note, "the network that has to be there"},
		{"MaintenanceSettings", Lost, "automatic maintenance of Windows starts the task"},
	} {
		if c := e.take(n.name); c != nil {
			c.whole()
			if n.name != "Priority" || c.text != "7" {
				r.add(n.effect, job, "Settings."+n.name, "%s", n.message)
			}
		}
	}
	if idle := e.take("IdleSettings"); idle != nil {
		idle.whole() // they only matter for RunOnlyIfIdle and idle triggers, which are reported
	}
	if !s.enabled {
		r.note(job, "Settings.Enabled", "the task is disabled: its schedules are created disabled")
	}
	return s
}

// taskTimeLimit converts an ExecutionTimeLimit to the time limit of a step. PT0S means none.
func (r *Result) taskTimeLimit(job, text string) int {
	seconds, ok := isoduration.ParseSeconds(text)
	switch {
	case !ok:
		r.lost(job, "Settings.ExecutionTimeLimit", "it is not a length of time: 72 hours are taken, as without it")
		return 72 * 3600
	case seconds == 0 || seconds > maxTimeout:
		return maxTimeout
	}
	return int(seconds)
}

// taskActions converts the actions of a task, which run one after the other.
func (r *Result) taskActions(job *Job, e *element, s taskSettings) {
	if e == nil || len(e.children) == 0 {
		r.note(job.Name, "Actions", "the task has no actions")
		return
	}
	for i, a := range e.children {
		if r.full() {
			break
		}
		a.taken = true
		at := fmt.Sprintf("Actions.%s[%d]", a.name, i+1)
		switch a.name {
		case "Exec":
			r.taskExec(job, a, at, s)
		case "ComHandler":
			a.whole()
			job.Steps = append(job.Steps, r.commandStep(job, outsideCommand{variable: noVariable, element: at, where: taskWhere, step: "COM handler", what: "a COM class"}))
		case "SendEmail":
			a.whole()
			r.lost(job.Name, at, "it sends mail: jobagent alert does, for runs that fail or end")
		case "ShowMessage":
			a.whole()
			r.lost(job.Name, at, "it shows a message to the user of the computer")
		default:
			a.whole()
			r.lost(job.Name, at, "no such action is known")
		}
	}
	if len(job.Steps) > 1 {
		r.changed(job.Name, "Actions", "Task Scheduler runs each action whatever the exit code of the one before; here the job ends at the first step that fails")
	}
}

// maxArguments is the length of a command line of Windows (CreateProcess), here in bytes.
const maxArguments = 32767

// taskExec converts an action that starts a program. Task Scheduler replaces %NAME% by variables
// of the machine, which are not known here.
func (r *Result) taskExec(job *Job, a *element, at string, s taskSettings) {
	command := strings.Trim(a.takeText("Command"), `"`)
	original := command
	words := []shellWord{windowsWord(path.Base(strings.ReplaceAll(command, `\`, "/")))}
	arguments := a.takeText("Arguments")
	if arguments != "" {
		original += " " + arguments
	}
	if len(arguments) > maxArguments {
		words = append(words, shellWord{unknown: true})
	} else {
		for _, word := range splitWindows(arguments) {
			words = append(words, windowsWord(word))
		}
	}
	if a.takeText("WorkingDirectory") != "" {
		r.note(job.Name, at+".WorkingDirectory", "a step here has no working directory")
	}
	step := r.commandStep(job, outsideCommand{words: words, original: original, variable: noVariable, element: at, where: taskWhere})
	step.Timeout = min(step.Timeout, s.timeout)
	if step.Type == "" && !strings.HasPrefix(step.Command, standInBegin) {
		step.Attempts, step.Interval = s.attempts, s.interval
	}
	job.Steps = append(job.Steps, step)
}

// taskWhere begins the message of a step that fails.
const taskWhere = "This action of Windows Task Scheduler"

func noVariable(string) variable { return variable{} }

// windowsVariable matches a variable in a command of Windows.
var windowsVariable = regexp.MustCompile(`%[^%\s]+%`)

func windowsWord(text string) shellWord {
	variable := windowsVariable.MatchString(text)
	return shellWord{text: text, variable: variable, unknown: variable}
}

// splitWindows splits the arguments of a program as C programs on Windows do
// (https://learn.microsoft.com/cpp/c-language/parsing-c-command-line-arguments).
func splitWindows(text string) (list []string) {
	var b strings.Builder
	quoted, has := false, false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '\\':
			n := 1
			for i+n < len(text) && text[i+n] == '\\' {
				n++
			}
			has = true
			if i+n == len(text) || text[i+n] != '"' {
				b.WriteString(text[i : i+n])
				i += n - 1
				continue
			}
			b.WriteString(strings.Repeat(`\`, n/2)) // two before a quote mean one
			i += n - 1
			if n%2 == 1 { // and one means the quote itself
				b.WriteByte('"')
				i++
			}
		case c == '"' && quoted && i+1 < len(text) && text[i+1] == '"':
			b.WriteByte('"')
			i++
		case c == '"':
			quoted, has = !quoted, true
		case (c == ' ' || c == '\t') && !quoted:
			if has {
				list = append(list, b.String())
				b.Reset()
				has = false
			}
		default:
			b.WriteByte(c)
			has = true
		}
	}
	if has {
		list = append(list, b.String())
	}
	return list
}

// taskEvents are the triggers without times, and what fires them.
var taskEvents = map[string]string{
	"BootTrigger": "the start of the computer", "LogonTrigger": "the logon of a user", "IdleTrigger": "an idle computer",
	"EventTrigger": "an event of the event log", "RegistrationTrigger": "the registration or change of the task",
	"SessionStateChangeTrigger": "a change of a user's session", "WnfStateChangeTrigger": "a state of Windows",
}

// taskTrigger converts a trigger to one or more schedules, which together have the same due
// instants.
func (r *Result) taskTrigger(job *Job, e *element, at string, s taskSettings) {
	if event, is := taskEvents[e.name]; is {
		e.whole()
		r.lost(job.Name, at, "%s fires it, which no schedule here does", event)
		return
	}
	if e.name != "TimeTrigger" && e.name != "CalendarTrigger" {
		e.whole()
		r.lost(job.Name, at, "no such trigger is known")
		return
	}
	t, problem := r.readTrigger(job.Name, e, at)
	var rules []taskRule
	if problem == "" {
		var notes []string
		rules, notes, problem = t.rules()
		for _, n := range notes {
			r.note(job.Name, at, "%s", n)
		}
	}
	if problem != "" {
		e.whole()
		r.lost(job.Name, at, "the schedule is not created: %s", problem)
		return
	}
	switch {
	case t.interval == 0 || t.once || t.zone == "UTC":
	case strings.Contains(rules[0].rule, "BYHOUR"):
		r.note(job.Name, at+".Repetition", "its times are clock times here: in the night when clocks are changed, the repetition is an hour longer or shorter than Task Scheduler's may be")
	case t.duration > 0:
		r.note(job.Name, at+".Repetition", "it never pauses here; Task Scheduler's may, for an hour in the night when clocks are set back")
	}
	name := cmp.Or(e.attrs["id"], taskScheduleName(t))
	var list []Schedule
	for _, rule := range rules {
		list = append(list, Schedule{
			Kind: schedule.KindRRule, Spec: rule.spec(), Zone: rule.zone, CatchUp: s.catchUp, Overlap: s.overlap, Enabled: s.enabled && t.enabled,
		})
	}
	r.addSchedules(job, at, name, list)
}

// taskScheduleName returns the name of the schedule of a trigger without an id.
func taskScheduleName(t *taskTrigger) string {
	name := "daily"
	switch {
	case t.once:
		name = "once"
	case t.days.everyWeeks > 0:
		name = "weekly"
	case t.days.weeks != nil:
		name = "monthly by weekday"
	case t.days.months != nil:
		name = "monthly"
	}
	if t.interval > 0 {
		return name + ", repeated"
	}
	return name
}

// readTrigger parses a TimeTrigger or CalendarTrigger.
func (r *Result) readTrigger(job string, e *element, at string) (t *taskTrigger, problem string) {
	t = &taskTrigger{once: e.name == "TimeTrigger", enabled: e.takeBool("Enabled", true)}
	if problem = r.readBounds(t, job, e, at); problem != "" {
		return nil, problem
	}
	if limit := e.takeText("ExecutionTimeLimit"); limit != "" {
		r.lost(job, at+".ExecutionTimeLimit", "a time limit for the runs of this trigger only: the steps have the limit of the task")
	}
	if text := e.takeText("RandomDelay"); text != "" {
		seconds, ok := isoduration.ParseSeconds(text)
		if !ok {
			return nil, "invalid RandomDelay: want a length of time such as PT5M"
		}
		if seconds > 0 {
			t.jitter = (time.Duration(seconds) * time.Second).String()
			if e.has("Repetition") {
				r.note(job, at+".RandomDelay", "here each repetition is delayed by itself, by less than the time to the next one")
			}
		}
	}
	if repetition := e.take("Repetition"); repetition != nil {
		if problem = r.readRepetition(t, job, repetition, at); problem != "" {
			return nil, problem
		}
	}
	if t.once {
		return t, ""
	}
	return t, t.readDays(e)
}

// has reports whether e has a child with a name. It does not take the child.
func (e *element) has(name string) bool {
	return slices.ContainsFunc(e.children, func(c *element) bool { return c.name == name })
}

// readBounds parses StartBoundary and EndBoundary.
func (r *Result) readBounds(t *taskTrigger, job string, e *element, at string) (problem string) {
	const want = "want a date and time such as 2026-01-31T08:00:00"
	start := e.takeText("StartBoundary")
	if start == "" {
		return "StartBoundary is missing"
	}
	wall, offset, zone, fraction, ok := parseBoundary(start)
	if !ok {
		return "invalid StartBoundary: " + want
	}
	if fraction {
		r.changed(job, at+".StartBoundary", "the fraction of a second is left out")
	}
	t.start, t.zone = wall, zone
	switch zone {
	case "":
		t.zone = r.opts.Zone
	case "-":
		if !t.once && !e.has("ScheduleByDay") {
			return "StartBoundary has an offset that no zone has, so that its days cannot be computed"
		}
		t.start, t.zone = wall.Add(-offset), "UTC"
	case "UTC":
	default:
		r.note(job, at+".StartBoundary", "it has an offset: clock times and days are taken in that offset (%s), all the year", zone)
	}
	if t.location = r.location; zone != "" {
		var err error
		if t.location, err = schedule.LoadZone(t.zone); err != nil {
			return "StartBoundary has an offset of which no zone is known here"
		}
	}
	end := e.takeText("EndBoundary")
	if end == "" {
		return ""
	}
	wall, offset, zone, _, ok = parseBoundary(end)
	if !ok {
		return "invalid EndBoundary: " + want
	}
	t.end = wall.Add(-offset)
	if zone == "" {
		t.end = localInstant(wall, r.location)
	}
	return ""
}

// readRepetition parses how a trigger repeats. A duration that is a multiple of the interval ends
// with a start: PT1M for PT4M is five starts
// (https://learn.microsoft.com/windows/win32/taskschd/repeating-a-task).
func (r *Result) readRepetition(t *taskTrigger, job string, e *element, at string) (problem string) {
	interval, duration := e.takeText("Interval"), e.takeText("Duration")
	if e.takeBool("StopAtDurationEnd", false) {
		r.lost(job, at+".Repetition.StopAtDurationEnd", "the run that is active at the end of the repetition is stopped; here it goes on until its time limit")
	}
	if interval == "" {
		if duration != "" {
			r.note(job, at+".Repetition.Duration", "without an interval nothing is repeated")
		}
		return ""
	}
	var ok bool
	if t.interval, ok = isoduration.ParseSeconds(interval); !ok || t.interval < 60 || t.interval > 31*daySeconds {
		return "invalid Repetition.Interval: want a length of time from PT1M to P31D"
	}
	if duration != "" {
		if t.duration, ok = isoduration.ParseSeconds(duration); !ok || t.duration < 1 {
			return "invalid Repetition.Duration: want a length of time such as PT8H"
		}
		if date, _, _ := strings.Cut(duration, "T"); strings.ContainsAny(date, "YM") {
			r.changed(job, at+".Repetition.Duration", "a month is taken as 30 days, a year as 365")
		}
	}
	return ""
}

// readDays parses the days of a CalendarTrigger.
func (t *taskTrigger) readDays(e *element) (problem string) {
	if day := e.take("ScheduleByDay"); day != nil {
		t.days.everyDays, problem = day.number("DaysInterval", 365)
		return problem
	}
	if week := e.take("ScheduleByWeek"); week != nil {
		if t.days.everyWeeks, problem = week.number("WeeksInterval", 52); problem != "" {
			return problem
		}
		if t.days.weekdays = week.names("DaysOfWeek", weekdayElements); t.days.weekdays == nil {
			return "ScheduleByWeek has no DaysOfWeek"
		}
		return ""
	}
	byDate, byWeekday := e.take("ScheduleByMonth"), e.take("ScheduleByMonthDayOfWeek")
	month := byDate
	if month == nil {
		if month = byWeekday; month == nil {
			return "it has no ScheduleByDay, ScheduleByWeek, ScheduleByMonth or ScheduleByMonthDayOfWeek"
		}
	}
	if t.days.months = month.names("Months", monthElements); t.days.months == nil {
		return "it has no Months"
	}
	if byDate == nil {
		t.days.weekdays = month.names("DaysOfWeek", weekdayElements)
		if t.days.weeks, problem = month.numbers("Weeks", "Week", 4); problem == "" && t.days.weekdays == nil {
			problem = "ScheduleByMonthDayOfWeek has no DaysOfWeek"
		}
		return problem
	}
	t.days.dates, problem = month.numbers("DaysOfMonth", "Day", 31)
	return problem
}

// The elements that are names of weekdays and months, in their order.
var (
	weekdayElements = []string{"Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"}
	monthElements   = []string{"", "January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November", "December"}
)

// number takes a child that is a number from 1 to most; 1 if there is none.
func (e *element) number(name string, most int) (n int, problem string) {
	text := e.takeText(name)
	if text == "" {
		return 1, ""
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 || n > most {
		return 0, fmt.Sprintf("invalid %s: want a number from 1 to %d", name, most)
	}
	return n, ""
}

// names takes a child whose children are names, and returns their indexes in ascending order.
func (e *element) names(name string, known []string) (list []int) {
	for i, k := range known {
		for _, c := range e.children {
			if c.name != name {
				continue
			}
			c.taken = true
			if k != "" && len(c.takeAll(k)) > 0 {
				list = append(list, i)
			}
		}
	}
	return list
}

// numbers takes a child whose children are numbers from 1 to most, or Last, which is -1.
func (e *element) numbers(name, item string, most int) (list []int, problem string) {
	for _, c := range e.take(name).takeAll(item) {
		n := -1
		if c.text != "Last" {
			var err error
			if n, err = strconv.Atoi(c.text); err != nil || n < 1 || n > most {
				return nil, fmt.Sprintf("invalid %s: want a number from 1 to %d or Last", item, most)
			}
		}
		if !slices.Contains(list, n) {
			list = append(list, n)
		}
	}
	slices.Sort(list)
	if list == nil {
		problem = "it has no " + name
	}
	return list, problem
}
