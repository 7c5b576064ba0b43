package manifest

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/jobagent/jobagent/jobs"
	"github.com/jobagent/jobagent/jobs/action"
	"github.com/jobagent/jobagent/jobs/jsontree"
	"github.com/jobagent/jobagent/jobs/model"
	"github.com/jobagent/jobagent/jobs/parameters"
	"github.com/jobagent/jobagent/jobs/rollout"
	"github.com/jobagent/jobagent/jobs/schedule"
	"github.com/jobagent/jobagent/jobs/suggest"
	"github.com/jobagent/jobagent/jobs/tsql"
	"github.com/jobagent/jobagent/jobs/wording"
	"github.com/jobagent/jobagent/targets"
)

// check checks a set of objects without a database. Of an object whose document has faults, what
// these do not concern is checked, so that all faults are told at once.
func check(set *Set) Faults {
	c := checker{set: set, objects: map[Key]Object{}, noted: map[string]bool{}}
	for _, o := range set.Objects {
		c.object = o
		c.scope()
		if o.Kind != KindLimit { // its name refers to objects
			c.name(o.Name(), "name")
		}
		if first, ok := c.objects[o.Key()]; ok {
			c.fail("name", "%s %q is there twice, also in %s:%d", o.Kind, o.Name(), first.Source.File, first.Source.Line)
			continue
		}
		c.objects[o.Key()] = o
	}
	c.readCalendars()
	for _, o := range set.Objects {
		c.object = o
		switch v := o.Value.(type) {
		case *TargetGroup:
			c.group(v)
		case *TargetWindow:
			c.window(v)
		case *AlertChannel:
			c.channel(v)
		case *Job:
			c.job(v)
		case *Limit:
			c.limit(v)
		case *Alert:
			c.alert(v)
		}
	}
	return c.faults
}

// checker checks the objects of a set.
type checker struct {
	set       *Set
	objects   map[Key]Object
	object    Object // that is being checked
	faults    Faults
	noted     map[string]bool
	calendars map[string]*schedule.Calendar
}

// find returns the deepest node of the object on a path of keys and positions.
func (c *checker) find(path string) *node {
	n := c.object.node
	for part := range strings.SplitSeq(strings.NewReplacer("[", ".", "]", "").Replace(path), ".") {
		next := n.get(part)
		if n != nil && n.kind == kindSeq {
			var i int
			if _, err := fmt.Sscan(part, &i); err == nil && i < len(n.values) {
				next = n.values[i]
			}
		}
		if next == nil {
			break
		}
		n = next
	}
	return n
}

func (c *checker) at(path string) Place {
	p := c.object.Source
	if n := c.find(path); n != nil {
		p.Line, p.Column = n.line, n.col
	}
	return p
}

func (c *checker) fail(path, format string, args ...any) {
	if c.object.isFaulty(path) {
		return
	}
	c.faults = append(c.faults, Fault{Place: c.at(path), Path: path, Message: fmt.Sprintf(format, args...)})
}

// refer notes a reference to an object that the files do not have: it may be in the database.
func (c *checker) refer(kind Kind, name, path string) {
	r := Reference{Path: path, Kind: kind, Name: name}
	if name == "" || c.noted[string(kind)+name] {
		return
	}
	if _, ok := c.objects[r.Key()]; ok {
		return
	}
	r.Place = c.at(path)
	c.set.References = append(c.set.References, r)
	c.noted[string(kind)+name] = true
	var names []string
	for k, o := range c.objects {
		if k.Kind == kind {
			names = append(names, o.Name())
		}
	}
	slices.Sort(names)
	c.set.Notes = append(c.set.Notes, Fault{Place: r.Place, Path: path,
		Message: fmt.Sprintf("%s %q is not in the files: it must exist in the database%s", kind, name, suggest.DidYouMean(name, names))})
}

func (c *checker) scope() {
	if job, ok := c.object.Value.(*Job); ok {
		switch {
		case strings.Contains(job.Name, "%"):
			c.fail("name", "%% is not allowed in the name of a job")
		case strings.HasPrefix(strings.ToLower(job.Name), "jobagent$"):
			c.fail("name", "the prefix jobagent$ is reserved for system jobs")
		}
	}
}

// name checks the name of something that is defined.
func (c *checker) name(name, path string) {
	if err := jobs.CheckName(name); err != nil {
		c.fail(path, "%v", err)
	}
}

func (c *checker) readCalendars() {
	c.calendars = map[string]*schedule.Calendar{}
	for _, o := range c.set.Objects {
		v, ok := o.Value.(*Calendar)
		if !ok {
			continue
		}
		c.object = o
		calendar, err := schedule.ParseCalendar([]byte(v.Spec))
		if err != nil {
			c.scheduleFaults("spec", err)
			continue
		}
		c.calendars[v.Name] = calendar
	}
}

// scheduleFaults adds the faults of package schedule.
func (c *checker) scheduleFaults(path string, err error) {
	var all *schedule.Error
	if !errors.As(err, &all) {
		c.fail(path, "%v", err)
		return
	}
	for _, f := range all.Faults {
		c.fail(path, "%s", (&schedule.Error{Faults: []schedule.Fault{f}}).Error())
	}
}

func (c *checker) group(g *TargetGroup) {
	known := make(map[targets.Member]bool, len(g.Members))
	for i, m := range g.Members {
		switch {
		case m.TagFilter != "":
			if m != (Member{TagFilter: m.TagFilter, Exclude: m.Exclude, Intersect: m.Intersect}) {
				c.fail("members", "member with tag_filter %q: want only tag_filter, and exclude or intersect", m.TagFilter)
			}
		case m.TargetGroup != "":
			if m != (Member{TargetGroup: m.TargetGroup, Exclude: m.Exclude, Intersect: m.Intersect}) {
				c.fail("members", "member with target_group %q: want only target_group, and exclude or intersect", m.TargetGroup)
			}
			c.refer(KindTargetGroup, m.TargetGroup, fmt.Sprintf("members[%d].target_group", i))
			if c.contains(Key{KindTargetGroup, strings.ToLower(m.TargetGroup)}, Key{KindTargetGroup, strings.ToLower(g.Name)}, nil) {
				c.fail("members", "the target group would be a member of itself, because %q is the same or has it as a member, directly or not", m.TargetGroup)
			}
		case m.Server == "":
			c.fail(fmt.Sprintf("members[%d].server", i), "a text is missing: want server, tag_filter or target_group")
		case m.Query != "" && (m.Database == "" || m.ElasticPool != "" || m.ShardMap != ""):
			c.fail("members", "member with query %q: want server, database and query", m.Query)
		case m.ShardMap != "" && (m.Database == "" || m.ElasticPool != ""):
			c.fail("members", "member with shard_map %q: want server, database and shard_map", m.ShardMap)
		case m.ElasticPool != "" && m.Database != "":
			c.fail("members", "member with elastic_pool %q: want server and elastic_pool, without database", m.ElasticPool)
		}
		if m.Exclude && m.Intersect {
			c.fail("members", "member %q: want exclude or intersect, not both", describeMember(m))
		}
		for _, name := range []string{m.Server, m.Database, m.ElasticPool, m.ShardMap, m.TargetGroup} {
			if err := jobs.CheckVisible(name); err != nil {
				c.fail("members", "member %q: %v", describeMember(m), err)
			}
		}
		if m.Server != "" { // its absence may be a fault of its own
			if err := targets.CheckServer(m.Server); err != nil {
				c.fail("members", "member with server %q: %v", m.Server, err)
			}
		}
		key := m.Target().Key()
		key.Group = targets.FoldName(m.TargetGroup) // as files compare the names of objects
		if known[key] {
			c.fail("members", "the member %s is there twice", describeMember(m))
		}
		known[key] = true
	}
}

// contains reports whether a target group of the files is another one, or has it as a member,
// directly or not. above are the groups that have it as a member.
func (c *checker) contains(group, other Key, above []Key) bool {
	if group == other {
		return true
	}
	o, ok := c.objects[group]
	if !ok || slices.Contains(above, group) {
		return false
	}
	v, ok := o.Value.(*TargetGroup)
	return ok && slices.ContainsFunc(v.Groups(), func(k Key) bool { return c.contains(k, other, append(above, group)) })
}

func describeMember(m Member) string {
	return strings.Join(slices.DeleteFunc([]string{m.TagFilter, m.TargetGroup, m.Server, m.Database, m.ElasticPool, m.ShardMap, m.Query}, func(s string) bool { return s == "" }), "/")
}

func (c *checker) channel(v *AlertChannel) {
	if !isObject(string(v.Definition)) {
		c.fail("definition", "want a mapping")
		return
	}
	text := string(v.Definition)
	switch t := action.Type(v.Type); {
	case t.Info().Notifies:
		if action.Type(v.Type) != action.TypeHTTP {
			var members map[string]json.RawMessage
			if err := json.Unmarshal([]byte(text), &members); err == nil && members["message"] == nil {
				members["message"] = json.RawMessage(`"$(payload)"`) // the default of channels
				if b, err := json.Marshal(members); err == nil {
					text = string(b)
				}
			}
		}
		c.definition(action.Type(v.Type), text, "definition")
	}
}

// definition checks the definition of an action.
func (c *checker) definition(t action.Type, text, path string) {
	_, err := action.Decode(t, text)
	var all *action.Faults
	switch {
	case errors.As(err, &all):
		for _, f := range all.List {
			c.fail(path+strings.TrimPrefix(f.Path, "$"), "%s", f.Message)
		}
	case err != nil:
		c.fail(path, "%v", err)
	}
}

func (c *checker) window(w *TargetWindow) {
	if w.Calendar == "" && w.Blackouts == "" {
		c.fail("", "want calendar, blackouts or both")
	}
	names := [...]struct{ path, name string }{{"server", w.Server}, {"database", w.Database}}
	switch {
	case w.TagFilter != "" && (w.Server != "" || w.Database != ""):
		c.fail("tag_filter", "want either tag_filter, or server and database")
	case w.TagFilter == "" && (w.Server == "" || w.Database == ""):
		c.fail("", "want server and database, or tag_filter")
	case w.Server != "":
		for _, n := range names {
			if err := jobs.CheckVisible(n.name); err != nil {
				c.fail(n.path, "%v", err)
			}
		}
		if err := targets.CheckServer(w.Server); err != nil {
			c.fail("server", "%v", err)
		}
	}
	if w.Zone != "" {
		if _, err := schedule.LoadZone(w.Zone); err != nil {
			c.scheduleFaults("zone", err)
		}
	}
	c.refer(KindCalendar, w.Calendar, "calendar")
	c.refer(KindCalendar, w.Blackouts, "blackouts")
}

func (c *checker) limit(l *Limit) {
	switch {
	case l.Server != "" && l.Scope != "ElasticPool":
		c.fail("server", "only a limit of the scope ElasticPool has a server")
	case l.Scope == "Agent" && l.Name != "*":
		c.fail("name", "a limit of the scope Agent has no name: it counts all targets")
	case l.Scope == "Job" && l.Name != "*":
		c.refer(KindJob, l.Name, "name")
	}
}

func (c *checker) alert(a *Alert) {
	uses := func(path string, given bool, conditions ...string) {
		if given && !slices.Contains(conditions, a.Condition) {
			c.fail(path, "the condition %s does not use it", a.Condition)
		}
	}
	uses("percent_failed", a.PercentFailed != nil, "TargetsFailed")
	uses("percent_changed", a.PercentChanged != nil, "TargetsChanged")
	uses("target_group_pattern", a.GroupPattern != "", "TargetsChanged")
	uses("factor", a.Factor != nil, "RunTooLong")
	uses("runs", a.Runs != nil, "RunTooLong")
	uses("lifecycles", len(a.Lifecycles) > 0, "RunEnded", "NoRun")
	condition := model.AlertCondition(a.Condition)
	if a.Seconds != nil && !condition.UsesSeconds() {
		uses("seconds", true)
	}
	for i, l := range a.Lifecycles {
		if !slices.Contains(lifecycles, l) {
			c.fail(fmt.Sprintf("lifecycles[%d]", i), "unknown lifecycle %q: want %s%s", l, wording.Or(lifecycles), suggest.DidYouMean(l, lifecycles))
		}
	}
	switch {
	case a.Condition == "TargetsFailed" && (a.PercentFailed == nil || *a.PercentFailed < 0.01):
		c.fail("percent_failed", "the condition TargetsFailed needs percent_failed of at least 0.01")
	case a.PercentChanged != nil && *a.PercentChanged < 0.01:
		c.fail("percent_changed", "want at least 0.01")
	case a.Condition == "TargetsChanged" && a.Seconds != nil && *a.Seconds < 60:
		c.fail("seconds", "the condition TargetsChanged needs seconds of at least 60")
	case a.Condition == "NoRun" && (a.Seconds == nil || *a.Seconds < 60):
		c.fail("seconds", "the condition NoRun needs seconds, at least 60")
	case a.Job != "" && a.JobPattern != "":
		c.fail("job_pattern", "job and job_pattern are both given: want one of them")
	case !condition.IsAboutJobs() && (a.Job != "" || a.JobPattern != ""):
		c.fail("condition", "the condition %s is not about jobs: omit job and job_pattern", a.Condition)
	case a.Condition == "NoRun" && a.Job == "" && a.JobPattern == "":
		c.fail("condition", "the condition NoRun needs job or job_pattern")
	case a.Repeat != 0 && a.Repeat < 60:
		c.fail("repeat_seconds", "want 60 or more, or 0 for never")
	}
	c.refer(KindJob, a.Job, "job")
	for i, name := range a.Channels {
		c.refer(KindAlertChannel, name, fmt.Sprintf("channels[%d]", i))
	}
}

func (c *checker) job(j *Job) {
	declared, err := j.Declarations()
	if err != nil {
		c.fail("parameters", "%v", err)
	}
	c.rollout(j)
	list, _ := parameters.ParseDeclarations(declared)
	if i := j.Schedule; i != nil && (i.Enabled || i.Parameters != "") {
		c.declared(list, i.Parameters, "schedule.parameters")
	}
	if i := j.Schedule; i != nil {
		c.parameters(i.Parameters, "schedule.parameters")
		if !i.End.IsZero() && i.End.Before(i.Start) {
			c.fail("schedule.end", "the end is before the start")
		}
	}
	names := map[string]bool{}
	for i, s := range j.Schedules {
		if s == nil { // a fault of the document
			continue
		}
		at := c.item("schedules", s.Name, i)
		if names[strings.ToLower(s.Name)] {
			c.fail(at, "the schedule %q is there twice", s.Name)
		}
		names[strings.ToLower(s.Name)] = true
		c.name(s.Name, at+".name")
		c.schedule(s, at)
		c.declared(list, s.Parameters, at+".parameters")
	}
	c.triggers(j)
	c.steps(j)
}

// maxUpstreams is the largest number of jobs that a trigger watches.
const maxUpstreams = 50

// triggers checks the triggers of a job.
func (c *checker) triggers(j *Job) {
	names := map[string]bool{}
	for i, t := range j.Triggers {
		if t == nil { // a fault of the document
			continue
		}
		at := c.item("triggers", t.Name, i)
		if names[strings.ToLower(t.Name)] {
			c.fail(at, "the trigger %q is there twice", t.Name)
		}
		names[strings.ToLower(t.Name)] = true
		c.name(t.Name, at+".name")
		if len(t.After) == 0 || len(t.After) > maxUpstreams {
			c.fail(at+".after", "want the names of 1 to %d jobs, not of %d", maxUpstreams, len(t.After))
		}
		for _, name := range t.After {
			c.refer(KindJob, name, at+".after")
			if path := c.starts(j, name, map[string]bool{}); path != "" {
				c.fail(at+".after", "the job would start itself: %s -> %q", path, j.Name)
				break
			}
		}
	}
}

// starts returns the jobs of the files by which a job starts the one that is named, or it if it is
// the same; empty if it does not.
func (c *checker) starts(j *Job, name string, seen map[string]bool) string {
	key := strings.ToLower(name)
	if key == strings.ToLower(j.Name) {
		return fmt.Sprintf("%q", j.Name)
	}
	upstream, ok := c.objects[Key{KindJob, key}]
	if !ok || seen[key] {
		return ""
	}
	seen[key] = true
	for _, t := range upstream.Value.(*Job).Triggers {
		if t == nil {
			continue
		}
		for _, next := range t.After {
			if path := c.starts(j, next, seen); path != "" {
				return fmt.Sprintf("%s -> %q", path, upstream.Name())
			}
		}
	}
	return ""
}

// rollout checks the plan of roll-outs.
func (c *checker) rollout(j *Job) {
	plan := c.readPlan(string(j.Rollout), "rollout")
	if plan == nil {
		return
	}
	for path, name := range plan.Jobs() {
		if path != "undo_job" && strings.EqualFold(name, j.Name) {
			c.fail("rollout."+path, "want another job than the one that is rolled out")
		}
		c.refer(KindJob, name, "rollout."+path)
	}
	for path, name := range plan.Calendars() {
		c.refer(KindCalendar, name, "rollout."+path)
	}
}

// readPlan reads the plan at a path. It returns nil if there is none, or if it has faults.
func (c *checker) readPlan(text, path string) *rollout.Plan {
	plan, err := rollout.Parse(text)
	var all rollout.Faults
	switch {
	case errors.As(err, &all):
		for _, f := range all {
			c.fail(jsontree.Join(path, f.Path), "%s", f.Message)
		}
	case err != nil:
		c.fail(path, "%v", err)
	}
	return plan
}

// item returns the path of an item of a list with a name, which sorting may have moved.
func (c *checker) item(list, name string, i int) string {
	if n := c.object.node.get(list); n != nil {
		for k, v := range n.values {
			if item := v.get("name"); item != nil && item.text == name {
				i = k
				break
			}
		}
	}
	return fmt.Sprintf("%s[%d]", list, i)
}

// maxParameters is the largest length of parameters.
const maxParameters = 102_400

func (c *checker) parameters(j JSON, path string) {
	if j == "" {
		return
	}
	if _, err := parameters.Parse(string(j)); err != nil {
		c.fail(path, "%v", err)
		return
	}
	if n := Length(string(j)); n > maxParameters {
		c.fail(path, "the parameters have %d characters: at most %d are allowed", n, maxParameters)
	}
	var members map[string]json.RawMessage
	if err := json.Unmarshal([]byte(j), &members); err != nil {
		c.fail(path, "%v", err)
	}
	for name := range members {
		if name == "" || Length(name) > model.MaxName || strings.ContainsFunc(name, func(r rune) bool { return r < ' ' }) {
			c.fail(path, "invalid name of a parameter %s: want 1 to %d characters, without control characters", quoteShort(name), model.MaxName)
		}
	}
}

// declared checks the parameters of a schedule against those that its job declares.
func (c *checker) declared(list []parameters.Declaration, j JSON, path string) {
	given, err := parameters.Parse(string(j))
	if err != nil {
		return // it has a fault already
	}
	if _, err := parameters.Complete(list, given); err != nil {
		c.fail(path, "%v", err)
	}
}

func (c *checker) schedule(s *Schedule, at string) {
	c.parameters(s.Parameters, at+".parameters")
	kind, spec := s.Definition()
	field := at + "." + strings.ReplaceAll(kind, "-", "_")
	if s.CatchUp != "" {
		if _, err := schedule.ParseCatchUp(s.CatchUp); err != nil {
			c.scheduleFaults(at+".catch_up", err)
		}
	}
	if _, err := c.plan(s, time.Now()); err != nil {
		c.scheduleFaults(field, err)
	}
	for _, name := range schedule.CalendarNames(spec) {
		c.refer(KindCalendar, name, field)
	}
}

// plan compiles a schedule. Calendars that are not in the files have no windows.
func (c *checker) plan(s *Schedule, now time.Time) (*schedule.Plan, error) {
	kind, spec := s.Definition()
	known := c.calendars
	for _, name := range schedule.CalendarNames(spec) {
		if known[name] != nil {
			continue
		}
		if len(known) == len(c.calendars) {
			known = map[string]*schedule.Calendar{}
			for n, v := range c.calendars {
				known[n] = v
			}
		}
		// A broken calendar of the files has faults of its own.
		known[name], _ = schedule.ParseCalendar([]byte(`{"timeZone": "UTC", "dates": ["1970-01-01"]}`))
	}
	return schedule.Parse(schedule.Kind(kind), []byte(spec), schedule.Options{Zone: s.Zone, Created: now, Activated: now, Calendars: known})
}

// Next returns the next instants of each enabled named schedule of a set, by job and schedule.
func Next(set Set, now time.Time, count int) []Upcoming {
	c := checker{set: &set, objects: map[Key]Object{}, noted: map[string]bool{}}
	c.readCalendars()
	var all []Upcoming
	for _, o := range set.Objects {
		job, ok := o.Value.(*Job)
		if !ok {
			continue
		}
		for _, s := range job.Schedules {
			if plan, err := c.plan(s, now); err == nil && s.Enabled {
				u := Upcoming{Job: job.Name, Schedule: s.Name, Zone: plan.Zone}
				u.Warnings, _ = plan.WarningsAt(now)
				for after := now; len(u.Due) < count; {
					next, ok := plan.Next(after)
					if !ok {
						break
					}
					u.Due, after = append(u.Due, next), next
				}
				all = append(all, u)
			}
		}
	}
	return all
}

// Upcoming are the next instants of a schedule.
type Upcoming struct {
	Job, Schedule string
	Due           []time.Time
	Zone          *time.Location
	Warnings      []string
}

func (c *checker) steps(j *Job) {
	names := map[string]int{}
	for i, s := range j.Steps {
		if s == nil { // a fault of the document
			continue
		}
		if first, ok := names[strings.ToLower(s.Name)]; ok {
			c.fail(fmt.Sprintf("steps[%d].name", i), "the step %q is there twice, also steps[%d]", s.Name, first)
			continue
		}
		names[strings.ToLower(s.Name)] = i
		c.name(s.Name, fmt.Sprintf("steps[%d].name", i))
	}
	for i, s := range j.Steps {
		if s != nil {
			c.step(s, fmt.Sprintf("steps[%d]", i))
		}
	}
	if !slices.Contains(j.Steps, nil) {
		c.dependencies(j, names)
	}
}

func (c *checker) step(s *Step, at string) {
	kind, text := s.CommandType()
	if kind == "TSql" {
		if s.TargetGroup == "" {
			c.fail(at, "missing target_group: a T-SQL step runs on one")
		}
		if s.OnUnknownOutcome == "Await" {
			c.fail(at+".on_unknown_outcome", "only actions can await a report, and the step is T-SQL")
		}
		if err := tsql.CheckDirective(text); err != nil {
			c.fail(at+".command", "%v", err)
		}
	} else {
		c.definition(action.Type(kind), text, at+"."+action.Type(kind).Info().Member)
		if action.Type(kind) == action.TypeDrift && s.TargetGroup == "" {
			c.fail(at, "missing target_group: a comparison of schemas runs on one")
		}
		if s.Output != nil {
			c.fail(at+".output", "only a T-SQL step has an output")
		}
	}
	c.refer(KindTargetGroup, s.TargetGroup, at+".target_group")
	if _, ok := tolerance(s.ToleratedFailures); !ok {
		c.fail(at+".tolerated_failures", "want a number of targets, such as 3, or a percentage from 0%% to 100%% without decimals, such as 1%%, not %q", s.ToleratedFailures)
	}
	if s.Output != nil && s.Output.SubscriptionID != "" && !isGUID(s.Output.SubscriptionID) {
		c.fail(at+".output.subscription_id", "want a GUID such as 00000000-0000-0000-0000-000000000001")
	}
}

func isGUID(s string) bool {
	if len(s) != 36 {
		return false
	}
	for i, r := range s {
		hyphen := i == 8 || i == 13 || i == 18 || i == 23
		if hyphen != (r == '-') || !hyphen && !strings.ContainsRune("0123456789abcdefABCDEF", r) {
			return false
		}
	}
	return true
}

// dependencies checks the steps that come before each step.
func (c *checker) dependencies(j *Job, names map[string]int) {
	before := make([][]int, len(j.Steps))
	var all []string
	for _, s := range j.Steps {
		all = append(all, s.Name)
	}
	for i, s := range j.Steps {
		at := fmt.Sprintf("steps[%d]", i)
		if s.After == nil {
			if i > 0 {
				before[i] = []int{i - 1}
			}
		} else {
			for k, name := range *s.After {
				if n, ok := names[strings.ToLower(name)]; ok {
					before[i] = append(before[i], n)
				} else {
					c.fail(fmt.Sprintf("%s.after[%d]", at, k), "step %q does not exist%s", name, suggest.DidYouMean(name, all))
				}
			}
		}
		if len(before[i]) == 0 && (s.RunWhen == "Failed" || s.OnTargets != "All") {
			c.fail(cmp.Or(map[bool]string{true: at + ".run_when"}[s.RunWhen == "Failed"], at+".on_targets"),
				"a step with run_when Failed, or on_targets Failed or Succeeded, comes after other steps, and this one comes after none")
		}
		if s.OnTargets == "Failed" && s.RunWhen == "Succeeded" {
			c.fail(at+".on_targets", "on_targets Failed needs run_when Failed or Finished")
		}
	}
	if names := circle(before, all); len(names) > 0 {
		c.fail("steps", "steps come after each other: %s", strings.Join(names, ", "))
	}
}

// circle returns the names of the steps in one circle.
func circle(before [][]int, names []string) []string {
	state := make([]int, len(before)) // 1: on the path, 2: done
	var path, found []int
	var visit func(i int) bool
	visit = func(i int) bool {
		if state[i] != 0 {
			if state[i] == 1 {
				found = path[slices.Index(path, i):]
			}
			return state[i] == 1
		}
		state[i], path = 1, append(path, i)
		for _, k := range before[i] {
			if visit(k) {
				return true
			}
		}
		state[i], path = 2, path[:len(path)-1]
		return false
	}
	for i := range before {
		if visit(i) {
			break
		}
	}
	var list []string
	for _, i := range found {
		list = append(list, names[i])
	}
	return list
}
