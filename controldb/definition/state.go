// Package definition makes objects of the control database as definitions have them: those of
// jobs/manifest. The files of jobagent apply and the forms of the dashboard are saved here.
package definition

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/jobagent/jobagent/controldb"
	"github.com/jobagent/jobagent/controldb/alerting"
	"github.com/jobagent/jobagent/controldb/catalog"
	"github.com/jobagent/jobagent/controldb/holds"
	"github.com/jobagent/jobagent/controldb/settings"
	"github.com/jobagent/jobagent/controldb/targetgroups"
	"github.com/jobagent/jobagent/controldb/timetable"
	"github.com/jobagent/jobagent/controldb/triggers"
	"github.com/jobagent/jobagent/jobs/manifest"
	"github.com/jobagent/jobagent/jobs/model"
)

// Stored is an object of the control database.
type Stored struct {
	manifest.Object
	// Revision is that of a job or a target group; 0 for the other kinds.
	Revision int64
	// Origin is Scheduler or SAP for a job that another surface owns: it is never changed here.
	Origin string
	// Started says that the schedule of a job's own definition has started a run.
	Started bool
}

// State are the objects of the control database.
type State struct {
	byKey map[manifest.Key]*Stored
	list  []*Stored
}

// Definitions are all definitions of a control database, each list by name.
type Definitions struct {
	catalog.Definitions
	Limits []settings.Limit // without their use
	Groups []targetgroups.Detail
	// Schedules include those of the jobs' own definitions, whose names are empty.
	Schedules []timetable.Schedule
	Calendars []timetable.Calendar
	Triggers  []triggers.Trigger // without the numbers of their events
	Channels  []alerting.Channel
	Windows   []holds.Window
	Alerts    []alerting.Rule
}

// Read reads the definitions of the control database. Names that are not nil restrict the jobs.
func Read(ctx context.Context, store *controldb.Store, jobNames []string) (*State, error) {
	var d Definitions
	var err error
	if d.Definitions, err = catalog.On(store).Defined(ctx, jobNames); err != nil {
		return nil, err
	}
	if d.Limits, err = settings.On(store).DefinedLimits(ctx); err != nil {
		return nil, err
	}
	if d.Groups, err = targetgroups.On(store).Defined(ctx); err != nil {
		return nil, err
	}
	if d.Schedules, err = timetable.On(store).Defined(ctx, jobNames); err != nil {
		return nil, err
	}
	if d.Calendars, err = timetable.On(store).Calendars(ctx, ""); err != nil {
		return nil, err
	}
	if d.Triggers, err = triggers.On(store).Defined(ctx, jobNames); err != nil {
		return nil, err
	}
	if d.Channels, err = alerting.On(store).Channels(ctx, ""); err != nil {
		return nil, err
	}
	if d.Windows, err = holds.On(store).Windows(ctx, controldb.Page[string]{}); err != nil {
		return nil, err
	}
	if d.Alerts, err = alerting.On(store).Rules(ctx, ""); err != nil {
		return nil, err
	}
	return NewState(d)
}

// Get returns the object with a key; nil if there is none.
func (s *State) Get(key manifest.Key) *Stored { return s.byKey[key] }

func (s *State) add(kind manifest.Kind, value any, revision int64, origin string) *Stored {
	o := &Stored{Object: manifest.Object{Kind: kind, Value: value}, Revision: revision, Origin: origin}
	s.byKey[o.Key()] = o
	s.list = append(s.list, o)
	return o
}

// Own returns the objects that files may define, in their order: no jobs of other surfaces.
func (s *State) Own() []manifest.Object {
	var list manifest.Set
	for _, o := range s.list {
		if o.Origin == "" {
			list.Objects = append(list.Objects, o.Object)
		}
	}
	list.Sort()
	return list.Objects
}

// The defaults of jobs.sp_add_job: NoStart is the first time, and NoEnd the last one.
var (
	NoStart = time.Date(1, 1, 1, 0, 0, 0, 0, time.UTC)
	NoEnd   = time.Date(9999, 12, 31, 11, 59, 59, 0, time.UTC)
)

// NewState makes objects of definitions.
func NewState(d Definitions) (*State, error) {
	s := &State{byKey: map[manifest.Key]*Stored{}}
	for _, g := range d.Groups {
		s.add(manifest.KindTargetGroup, newGroup(g), g.Revision, "")
	}
	for _, c := range d.Calendars {
		s.add(manifest.KindCalendar, &manifest.Calendar{Name: c.Name, Spec: manifest.JSON(c.Spec)}, 0, "")
	}
	for _, w := range d.Windows {
		s.add(manifest.KindTargetWindow, &manifest.TargetWindow{Name: w.Name, Calendar: w.Calendar, Blackouts: w.Blackouts,
			TagFilter: w.TagFilter, Server: w.Server, Database: w.Database, Zone: w.Zone, ZoneTag: w.ZoneTag}, 0, "")
	}
	for _, c := range d.Channels {
		s.add(manifest.KindAlertChannel, &manifest.AlertChannel{Name: c.Name, Type: c.Type, Enabled: c.Enabled,
			Definition: manifest.JSON(c.Definition)}, 0, "")
	}
	steps, schedules := map[uuid.UUID][]*manifest.Step{}, map[uuid.UUID][]timetable.Schedule{}
	for _, step := range d.Steps {
		made, err := NewStep(step)
		if err != nil {
			return nil, err
		}
		steps[step.JobID] = append(steps[step.JobID], made)
	}
	for _, h := range d.Schedules {
		schedules[h.JobID] = append(schedules[h.JobID], h)
	}
	watches := map[uuid.UUID][]*manifest.Trigger{}
	for _, t := range d.Triggers {
		watches[t.JobID] = append(watches[t.JobID], &manifest.Trigger{Name: t.Name, After: t.Upstreams, RunWhen: t.RunWhen, Targets: t.Targets, Enabled: t.Enabled})
	}
	for _, j := range d.Jobs {
		job, err := newJob(j, steps[j.ID], schedules[j.ID])
		if err != nil {
			return nil, err
		}
		job.Triggers = watches[j.ID]
		o := s.add(manifest.KindJob, job, j.Revision, strings.TrimPrefix(j.Origin, "Elastic"))
		o.Started = slices.ContainsFunc(schedules[j.ID], func(h timetable.Schedule) bool { return h.Name == "" && !h.LastDue.IsZero() })
	}
	for _, l := range d.Limits {
		s.add(manifest.KindLimit, &l.Limit, 0, "")
	}
	for _, a := range d.Alerts {
		s.add(manifest.KindAlert, newAlert(a), 0, "")
	}
	for _, o := range s.list {
		manifest.Normalize([]manifest.Object{o.Object})
	}
	return s, nil
}

func newGroup(g targetgroups.Detail) *manifest.TargetGroup {
	out := &manifest.TargetGroup{Name: g.Name}
	for _, m := range g.Members {
		out.Members = append(out.Members, manifest.NewMember(m))
	}
	return out
}

// NewStep makes a step of a version of a job.
func NewStep(s catalog.JobStep) (*manifest.Step, error) {
	out := &manifest.Step{
		Name: s.StepName, TargetGroup: s.TargetGroup, Credential: s.Credential, Attempts: s.Attempts, StepOptions: s.StepOptions,
	}
	if !out.SetCommand(s.CommandType, s.Command) {
		return nil, fmt.Errorf("the step %q of the job %q has the command type %q, which this program does not know", s.StepName, s.JobName, s.CommandType)
	}
	if s.MaxParallelism != nil {
		out.MaxParallelism = *s.MaxParallelism
	}
	if s.After != nil {
		names := manifest.Names(s.After)
		out.After = &names
	}
	if s.OutputType != "" {
		out.Output = &manifest.Output{Server: s.Output.Server, Database: s.Output.Database, Schema: cmp.Or(s.Output.Schema, "dbo"),
			Table: s.Output.Table, Credential: s.Output.Credential, ResourceGroup: s.OutputResourceGroup}
		if s.OutputSubscriptionID != uuid.Nil {
			out.Output.SubscriptionID = s.OutputSubscriptionID.String()
		}
	}
	return out, nil
}

func newJob(j catalog.JobDetail, steps []*manifest.Step, schedules []timetable.Schedule) (*manifest.Job, error) {
	out := &manifest.Job{Name: j.Name, Description: j.Description, Rollout: manifest.JSON(j.RolloutPlan), Steps: steps}
	if err := out.SetDeclarations(j.Parameters); err != nil {
		return nil, err
	}
	own := &manifest.Interval{Enabled: j.Enabled, Interval: j.IntervalType, Count: j.IntervalCount}
	if !j.Start.Equal(NoStart) {
		own.Start = j.Start.UTC()
	}
	if !j.End.Equal(NoEnd) {
		own.End = j.End.UTC()
	}
	for _, h := range schedules {
		if h.Name == "" {
			own.Parameters = manifest.JSON(h.Parameters)
			continue
		}
		s := &manifest.Schedule{Name: h.Name, ScheduleSettings: h.ScheduleSettings, Parameters: manifest.JSON(h.Parameters)}
		if !s.SetDefinition(h.Kind, h.Spec) {
			return nil, fmt.Errorf("the schedule %q of the job %q has the kind %q, which this program does not know", h.Name, j.Name, h.Kind)
		}
		out.Schedules = append(out.Schedules, s)
	}
	out.Schedule = own
	return out, nil
}

func newAlert(a alerting.Rule) *manifest.Alert {
	out := &manifest.Alert{Name: a.Name, Description: a.Description, Condition: string(a.Condition), Job: a.JobName,
		JobPattern: a.JobPattern, Severity: a.Severity, Channels: a.Channels, Throttle: a.ThrottleSeconds,
		NotifyResolved: a.NotifyResolved, Enabled: a.Enabled}
	if a.Lifecycles != "" {
		out.Lifecycles = strings.Split(a.Lifecycles, ",")
	}
	if a.RepeatSeconds != nil {
		out.Repeat = *a.RepeatSeconds
	}
	if a.Condition.UsesSeconds() {
		out.Seconds = &a.Seconds
	}
	switch a.Condition {
	case model.AlertTargetsFailed:
		out.PercentFailed = decimal(a.PercentFailed)
	case model.AlertRunTooLong:
		out.Factor, out.Runs = decimal(a.Factor), &a.Runs
	case model.AlertTargetsChanged:
		out.PercentChanged, out.GroupPattern = decimal(a.PercentChanged), a.GroupPattern
	}
	return out
}

// decimal rounds a DECIMAL that was read as FLOAT to the number that people wrote.
func decimal(f float64) *float64 {
	out, err := strconv.ParseFloat(strconv.FormatFloat(f, 'f', 4, 64), 64)
	if err != nil {
		return &f
	}
	return &out
}
