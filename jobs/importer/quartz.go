package importer

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/jobagent/jobagent/jobs/wording"
)

// QuartzStore holds the rows of one scheduler of Quartz or Quartz.NET
// (quartznet/quartznet, database/tables/tables_sqlServer.sql).
type QuartzStore struct {
	Jobs []QuartzJob
	// Calendars are the names in CALENDARS, and PausedGroups the groups in PAUSED_TRIGGER_GRPS.
	Calendars, PausedGroups []string
}

// QuartzJob holds a row of JOB_DETAILS and its triggers.
type QuartzJob struct {
	Name, Group, Description, Class string
	// NonConcurrent, UpdateData and Recovery are IS_NONCONCURRENT, IS_UPDATE_DATA and
	// REQUESTS_RECOVERY.
	NonConcurrent, UpdateData, Recovery bool
	Data                                []byte
	Triggers                            []QuartzTrigger
}

// QuartzTrigger holds a row of TRIGGERS with its row of CRON_TRIGGERS, SIMPLE_TRIGGERS or
// SIMPROP_TRIGGERS.
type QuartzTrigger struct {
	Name, Group, Description, State, Type, Calendar string
	// Start, End and Next are ticks of .NET or milliseconds of Java; 0 and less mean none.
	Start, End, Next  int64
	Priority, Misfire int
	// Placed means that the trigger has an execution group or a preferred node.
	Placed bool
	Data   []byte
	// Cron and Zone are those of CRON_TRIGGERS; SIMPROP_TRIGGERS has a zone too.
	Cron, Zone string
	// RepeatCount (-1: endless), Interval (milliseconds) and Triggered are those of
	// SIMPLE_TRIGGERS.
	RepeatCount, Interval, Triggered int64
	// The rest are columns of SIMPROP_TRIGGERS, whose meaning depends on the type.
	Text1, Text2, Text3 string
	Int1, Int2, Long1   int64
	Bool1, Bool2        bool
	// Missing means that there is no row beside that of TRIGGERS.
	Missing bool
}

// These are values of MISFIRE_INSTR that all types share, and the defaults of Quartz.
const (
	misfireIgnore         = -1
	misfireSmart          = 0
	quartzDefaultGroup    = "DEFAULT"
	quartzDefaultPriority = 5
)

// misfireThreshold is the time after which Quartz takes a run as missed
// (quartz.jobStore.misfireThreshold).
const misfireThreshold = time.Minute

// Quartz converts the jobs of a scheduler of Quartz or Quartz.NET.
func Quartz(store QuartzStore, o Options) (*Result, error) {
	r := &Result{source: "Quartz", opts: o}
	if o.Zone == "" {
		r.opts.Zone = "UTC"
	}
	if _, err := Zone(r.opts.Zone); err != nil {
		return nil, err
	}
	for _, c := range store.Calendars {
		r.lost("", "calendar "+c, "its days are serialised and not read: write it with jobagent calendar add, and name it in the blackouts of schedules")
	}
	for _, g := range store.PausedGroups {
		r.note("", "paused group "+g, "new triggers of this group would be paused; here each schedule is enabled or not")
	}
	for i := range store.Jobs {
		r.quartzJob(&store.Jobs[i])
	}
	return r, nil
}

// quartzName returns the name of a job or trigger with its group, unless that is Quartz's default.
func quartzName(group, name string) string {
	if group == "" || group == quartzDefaultGroup {
		return name
	}
	return group + "." + name
}

// quartzJob converts one job and adds it to the result.
func (r *Result) quartzJob(q *QuartzJob) {
	job := Job{Name: r.jobName(quartzName(q.Group, q.Name), "quartz-job"), Description: q.Description}
	class, _, _ := strings.Cut(q.Class, ",")
	short := class[strings.LastIndexAny(class, ".+")+1:]
	step, _ := cut(strings.TrimSpace(short), maxName-8)
	job.Steps = append(job.Steps, r.commandStep(&job, outsideCommand{
		variable: noVariable, element: "JOB_CLASS_NAME", where: "This job of Quartz", step: cmp.Or(step, "job"), what: "the class " + cmp.Or(strings.TrimSpace(class), "without a name"),
	}))
	r.quartzData(job.Name, "JOB_DATA", q.Data)
	if q.UpdateData {
		r.lost(job.Name, "IS_UPDATE_DATA", "a run keeps data for the next one: let its T-SQL keep them in a table")
	}
	if q.Recovery {
		r.note(job.Name, "REQUESTS_RECOVERY", "Quartz repeats a run that was cut off; here the steps say so (jobagent step update --retry-attempts, --on-unknown-outcome)")
	}
	if len(q.Triggers) == 0 {
		r.note(job.Name, "TRIGGERS", "the job has no triggers: it runs when it is started")
	}
	for i := range q.Triggers {
		r.quartzTrigger(&job, q, &q.Triggers[i])
	}
	if q.NonConcurrent && len(job.Schedules) > 1 {
		r.note(job.Name, "IS_NONCONCURRENT", "one run at a time: here that holds for each schedule by itself")
	}
	r.Jobs = append(r.Jobs, job)
}

// quartzData reports the data of a job or trigger by the names of its keys, if they are text.
func (r *Result) quartzData(job, element string, data []byte) {
	if len(data) == 0 {
		return
	}
	keys, ok := quartzKeys(data)
	switch {
	case ok && len(keys) == 0:
	case ok:
		r.lost(job, element, "the values of %s, which are not shown: write them into the step, or give the schedule parameters", strings.Join(keys, ", "))
	default:
		r.lost(job, element, "%s of serialised data", wording.Count(len(data), "byte"))
	}
}

// propertyLine matches a line of a Java properties file.
var propertyLine = regexp.MustCompile(`^([A-Za-z0-9_.-]+)[ \t]*[=:]`)

// quartzKeys returns the keys of a JSON object or of Java properties.
func quartzKeys(data []byte) (keys []string, ok bool) {
	text := bytes.TrimSpace(bytes.TrimPrefix(data, []byte("\ufeff")))
	if !utf8.Valid(text) || bytes.ContainsFunc(text, func(c rune) bool { return unicode.IsControl(c) && !unicode.IsSpace(c) }) {
		return nil, false
	}
	var object map[string]json.RawMessage
	if json.Unmarshal(text, &object) == nil {
		for key := range object {
			if !strings.HasPrefix(key, "$") { // the type, as Newtonsoft.Json writes it
				keys = append(keys, fmt.Sprintf("%q", key))
			}
		}
		slices.Sort(keys)
		return keys, true
	}
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' || line[0] == '!' {
			continue
		}
		m := propertyLine.FindStringSubmatch(line)
		if m == nil {
			return nil, false
		}
		keys = append(keys, fmt.Sprintf("%q", m[1]))
	}
	return keys, true
}

// netTicks is the number of ticks of .NET (100 ns since the year 1) at the beginning of 1970. A
// number above maxMillis is ticks: as milliseconds of Java, it would be after the year 9999.
const (
	netTicks  = 621355968000000000
	maxMillis = 253402300800000
)

// quartzTime returns the instant of a column; zero for none. ticks reports whether it is of .NET.
func quartzTime(n int64) (at time.Time, ticks bool) {
	switch {
	case n <= 0:
		return time.Time{}, false
	case n < maxMillis:
		return time.UnixMilli(n).UTC(), false
	}
	n -= netTicks
	return time.Unix(n/1e7, n%1e7*100).UTC(), true
}

// quartzTrigger converts a trigger to one or more schedules.
func (r *Result) quartzTrigger(job *Job, q *QuartzJob, t *QuartzTrigger) {
	at := fmt.Sprintf("trigger %q", quartzName(t.Group, t.Name))
	r.quartzData(job.Name, at+".JOB_DATA", t.Data)
	if t.Description != "" {
		r.note(job.Name, at+".DESCRIPTION", "a schedule here has no text of its own: it is left out")
	}
	if t.Priority != 0 && t.Priority != quartzDefaultPriority {
		r.lost(job.Name, at+".PRIORITY", "the priority %d", t.Priority)
	}
	if t.Placed {
		r.lost(job.Name, at, "its execution group or preferred node: any agent runs the job")
	}
	if strings.EqualFold(t.State, "DELETED") {
		r.note(job.Name, at+".TRIGGER_STATE", "the trigger is being deleted: it is left out")
		return
	}
	rules, problem := r.quartzRules(job.Name, at, t)
	if problem != "" {
		r.lost(job.Name, at, "the schedule is not created: %s", problem)
		return
	}
	enabled, finished := r.quartzState(job.Name, at, t)
	next, _ := quartzTime(t.Next)
	if catchUp := quartzCatchUp(t); enabled && !finished && catchUp != "none" && !next.IsZero() && next.Before(r.opts.Now.Add(-misfireThreshold)) {
		r.lost(job.Name, at+".NEXT_FIRE_TIME", "it is past, and Quartz would still make up for the run: here only instants after the import are due; start the job by hand")
	}
	overlap := "AllowAll"
	if q.NonConcurrent {
		overlap = "BufferOne"
	}
	var list []Schedule
	for _, rule := range rules {
		if finished {
			rule.finish(r.opts.Now)
		}
		list = append(list, Schedule{
			Kind: rule.kind, Spec: rule.spec(), Zone: rule.zone, CatchUp: quartzCatchUp(t), Overlap: overlap, Enabled: enabled, finished: finished,
		})
	}
	r.addSchedules(job, at, quartzName(t.Group, t.Name), list)
}

// quartzState converts the state and the calendar of a trigger. A trigger with a calendar is
// created disabled: without the calendar it would be due on days on which the original is not.
func (r *Result) quartzState(job, at string, t *QuartzTrigger) (enabled, finished bool) {
	enabled = true
	switch state := strings.ToUpper(t.State); state {
	case "WAITING", "ACQUIRED", "EXECUTING", "BLOCKED":
	case "PAUSED", "PAUSED_BLOCKED":
		enabled = false
		r.note(job, at+".TRIGGER_STATE", "the trigger is paused: the schedule is created disabled")
	case "COMPLETE":
		finished = true
		r.note(job, at+".TRIGGER_STATE", "the trigger is complete: the schedule is created with an end in the past, and becomes Completed")
	case "ERROR":
		enabled = false
		r.changed(job, at+".TRIGGER_STATE", "Quartz could not run the trigger (ERROR): the schedule is created disabled")
	default:
		enabled = false
		r.changed(job, at+".TRIGGER_STATE", "the state is not one of Quartz's: the schedule is created disabled")
	}
	if t.Calendar != "" {
		enabled = false
		r.lost(job, at+".CALENDAR_NAME", "the calendar %q excludes instants: the schedule is created disabled; write the calendar as blackouts, then enable it", t.Calendar)
	}
	return enabled, finished
}

// quartzCatchUp converts the misfire instruction of a trigger (*MisfireInstruction.cs of
// Quartz.NET).
func quartzCatchUp(t *QuartzTrigger) string {
	switch {
	case t.Misfire == misfireIgnore:
		return "all"
	case t.Type != "SIMPLE" && t.Misfire == 2: // DoNothing
		return "none"
	case t.Type != "SIMPLE":
		return "last"
	case t.Misfire == 4, t.Misfire == 5: // the next time of the grid
		return "none"
	case t.Misfire == misfireSmart && t.RepeatCount < 0: // smart means the next time of the grid
		return "none"
	}
	return "last"
}
