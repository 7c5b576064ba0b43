package definition

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
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
	"github.com/jobagent/jobagent/targets"
)

// Write makes an object of the control database as wanted, in one transaction. have is nil if it
// does not exist. A job or a target group that has changed since have was read is not changed; the
// error is [dberror.ErrRevision]. The other kinds have no revision: the last writer wins.
func Write(ctx context.Context, store *controldb.Store, want manifest.Object, have *Stored) error {
	var match int64 // 0: it must not exist
	if have != nil {
		match = have.Revision
	}
	switch v := want.Value.(type) {
	case *manifest.TargetGroup:
		_, err := targetgroups.On(store).Set(ctx, v.Name, v.Targets(), &match)
		return err
	case *manifest.Calendar:
		if have == nil {
			return timetable.On(store).AddCalendar(ctx, v.Name, string(v.Spec))
		}
		return timetable.On(store).UpdateCalendar(ctx, v.Name, string(v.Spec))
	case *manifest.AlertChannel:
		if have == nil {
			return alerting.On(store).AddChannel(ctx, v.Name, v.Type, string(v.Definition), v.Enabled)
		}
		definition := string(v.Definition)
		return alerting.On(store).UpdateChannel(ctx, v.Name, &definition, &v.Enabled)
	case *manifest.TargetWindow:
		return holds.On(store).SetWindow(ctx, window(v))
	case *manifest.Limit:
		return settings.On(store).SetLimit(ctx, *v)
	case *manifest.Alert:
		return writeAlert(ctx, store, v, have)
	case *manifest.Job:
		var old *manifest.Job
		if have != nil {
			old = have.Value.(*manifest.Job)
		}
		return store.Together(ctx, fmt.Sprintf("apply the job %q", v.Name), func(tx *controldb.Store) error {
			return writeJob(ctx, tx, v, old, match)
		})
	}
	return fmt.Errorf("unknown kind %s", want.Kind)
}

// Remove deletes an object. A job or a target group that has changed since it was read is not
// deleted; the error is [dberror.ErrRevision]. The other kinds have no revision.
func Remove(ctx context.Context, store *controldb.Store, o *Stored) error {
	switch v := o.Value.(type) {
	case *manifest.TargetGroup:
		return targetgroups.On(store).DeleteIf(ctx, v.Name, &o.Revision)
	case *manifest.Calendar:
		return timetable.On(store).DeleteCalendar(ctx, v.Name)
	case *manifest.AlertChannel:
		return alerting.On(store).DeleteChannel(ctx, v.Name)
	case *manifest.TargetWindow:
		return holds.On(store).DeleteWindow(ctx, v.Name)
	case *manifest.Limit:
		return settings.On(store).RemoveLimit(ctx, *v)
	case *manifest.Alert:
		return alerting.On(store).DeleteRule(ctx, v.Name)
	case *manifest.Job:
		return removeJob(ctx, store, v, o.Revision)
	}
	return fmt.Errorf("unknown kind %s", o.Kind)
}

// removeJob deletes a job, unless it has changed since it was read. Its triggers go before, each of
// which raises the revision by 1: so another change makes the sum another one, too.
func removeJob(ctx context.Context, store *controldb.Store, j *manifest.Job, revision int64) error {
	if len(j.Triggers) == 0 {
		return catalog.On(store).DeleteJobIf(ctx, j.Name, false, &revision)
	}
	return store.Together(ctx, fmt.Sprintf("delete the job %q", j.Name), func(tx *controldb.Store) error {
		for _, t := range j.Triggers {
			if err := triggers.On(tx).Delete(ctx, j.Name, t.Name); err != nil {
				return err
			}
			revision++
		}
		return catalog.On(tx).DeleteJobIf(ctx, j.Name, false, &revision)
	})
}

func window(w *manifest.TargetWindow) holds.Window {
	out := holds.Window{Name: w.Name, Server: w.Server, Database: w.Database, TagFilter: w.TagFilter,
		Calendar: w.Calendar, Blackouts: w.Blackouts, Zone: w.Zone, ZoneTag: w.ZoneTag}
	if w.Server != "" {
		out.Target = targets.TargetID(w.Server, w.Database)
	}
	return out
}

func writeAlert(ctx context.Context, store *controldb.Store, a *manifest.Alert, have *Stored) error {
	lifecycles := strings.Join(a.Lifecycles, ",")
	channels := slices.Clone(a.Channels)
	if channels == nil {
		channels = []string{}
	}
	old := &manifest.Alert{}
	if have != nil {
		old = have.Value.(*manifest.Alert)
	}
	isNew := have == nil || old.Condition != a.Condition
	if isNew {
		old = &manifest.Alert{}
	}
	change := alerting.Change{
		JobName: changed(a.Job, old.Job), JobPattern: changed(a.JobPattern, old.JobPattern), PercentFailed: a.PercentFailed, Factor: a.Factor, Runs: a.Runs, Seconds: a.Seconds,
		Severity: &a.Severity, Channels: &channels, Throttle: &a.Throttle, Repeat: &a.Repeat, NotifyResolved: &a.NotifyResolved,
		Description: &a.Description, Enabled: &a.Enabled, Lifecycles: changed(lifecycles, strings.Join(old.Lifecycles, ",")),
		PercentChanged: a.PercentChanged, GroupPattern: changed(a.GroupPattern, old.GroupPattern),
	}
	condition := model.AlertCondition(a.Condition)
	if have == nil {
		return alerting.On(store).AddRule(ctx, a.Name, condition, change)
	}
	if !isNew {
		return alerting.On(store).UpdateRule(ctx, a.Name, change)
	}
	// The condition of a rule cannot be changed: it is another rule.
	return store.Together(ctx, fmt.Sprintf("apply the alert %q", a.Name), func(tx *controldb.Store) error {
		if err := alerting.On(tx).DeleteRule(ctx, a.Name); err != nil {
			return err
		}
		return alerting.On(tx).AddRule(ctx, a.Name, condition, change)
	})
}

// writeJob makes the calls for a job, its steps, its schedules and its triggers.
func writeJob(ctx context.Context, tx *controldb.Store, want, have *manifest.Job, revision int64) error {
	own, old := OwnSchedule(want), manifest.Interval{}
	spec := model.JobSpec{Name: want.Name, Description: &want.Description, Enabled: &own.Enabled, IntervalType: &own.Interval,
		IntervalCount: &own.Count, Start: orTime(own.Start, NoStart), End: orTime(own.End, NoEnd)}
	if _, err := catalog.On(tx).SetJob(ctx, spec, &revision); err != nil { // it also locks the job, and compares its revision
		return err
	}
	var oldSteps []*manifest.Step
	var oldSchedules []*manifest.Schedule
	var oldPlan manifest.JSON
	if have != nil {
		old, oldSteps, oldSchedules, oldPlan = OwnSchedule(have), have.Steps, have.Schedules, have.Rollout
	}
	if err := writeParameters(ctx, tx, want, have); err != nil { // schedules must fit them
		return err
	}
	if err := writeSteps(ctx, tx, want.Name, want.Steps, oldSteps); err != nil {
		return err
	}
	if want.Rollout != oldPlan { // both are normalized
		if err := catalog.On(tx).SetJobRollout(ctx, want.Name, string(want.Rollout), nil); err != nil {
			return err
		}
	}
	if own.Parameters != old.Parameters {
		text := string(own.Parameters)
		if err := timetable.On(tx).Update(ctx, timetable.Spec{JobName: want.Name, Parameters: &text}); err != nil {
			return err
		}
	}
	if err := writeSchedules(ctx, tx, want.Name, want.Schedules, oldSchedules); err != nil {
		return err
	}
	var oldTriggers []*manifest.Trigger
	if have != nil {
		oldTriggers = have.Triggers
	}
	return writeTriggers(ctx, tx, want.Name, want.Triggers, oldTriggers)
}

// writeTriggers deletes, changes and adds triggers. Only what differs is given: events that wait
// are skipped if the jobs are given that a trigger watches.
func writeTriggers(ctx context.Context, tx *controldb.Store, job string, want, have []*manifest.Trigger) error {
	for _, h := range have {
		if findTrigger(want, h.Name) == nil {
			if err := triggers.On(tx).Delete(ctx, job, h.Name); err != nil {
				return err
			}
		}
	}
	for _, w := range want {
		spec := triggers.Spec{JobName: job, Name: w.Name, Upstreams: w.After, RunWhen: &w.RunWhen, Targets: &w.Targets, Enabled: &w.Enabled}
		h := findTrigger(have, w.Name)
		if h == nil {
			if err := triggers.On(tx).Add(ctx, spec); err != nil {
				return err
			}
			continue
		}
		if manifest.Equal(w, h) {
			continue
		}
		if slices.EqualFunc(w.After, h.After, strings.EqualFold) {
			spec.Upstreams = nil
		}
		spec.RunWhen, spec.Targets, spec.Enabled = changed(w.RunWhen, h.RunWhen), changed(w.Targets, h.Targets), changed(w.Enabled, h.Enabled)
		if err := triggers.On(tx).Update(ctx, spec); err != nil {
			return err
		}
	}
	return nil
}

func findTrigger(list []*manifest.Trigger, name string) *manifest.Trigger {
	for _, t := range list {
		if strings.EqualFold(t.Name, name) {
			return t
		}
	}
	return nil
}

// writeParameters makes the call for the parameters that a job declares, if they change.
func writeParameters(ctx context.Context, tx *controldb.Store, want, have *manifest.Job) error {
	declared, err := want.Declarations()
	if err != nil {
		return err
	}
	old := ""
	if have != nil {
		if old, err = have.Declarations(); err != nil {
			return err
		}
	}
	if declared == old {
		return nil
	}
	return catalog.On(tx).SetJobParameters(ctx, want.Name, declared, nil)
}

// OwnSchedule returns the schedule of the job's own definition, with the defaults if it has none.
func OwnSchedule(j *manifest.Job) manifest.Interval {
	if j.Schedule == nil {
		return manifest.Interval{Interval: "Once", Count: 1}
	}
	return *j.Schedule
}

func orTime(t, absent time.Time) *time.Time {
	if t.IsZero() {
		return &absent
	}
	return &t
}

// writeSchedules deletes, changes and adds named schedules. Only what differs is given: a change of
// the text restarts a schedule.
func writeSchedules(ctx context.Context, tx *controldb.Store, job string, want, have []*manifest.Schedule) error {
	for _, h := range have {
		if findSchedule(want, h.Name) == nil {
			if err := timetable.On(tx).Delete(ctx, job, h.Name); err != nil {
				return err
			}
		}
	}
	for _, w := range want {
		kind, spec := w.Definition()
		settings, parameters := w.Settings(), string(w.Parameters)
		h := findSchedule(have, w.Name)
		if h == nil {
			add := timetable.Spec{JobName: job, Name: w.Name, Kind: &kind, Spec: &spec, Overlap: &settings.Overlap,
				PauseOnFailure: &w.PauseOnFailure, Enabled: &w.Enabled, TimeZone: given(w.Zone), CatchUp: given(w.CatchUp), Parameters: given(parameters)}
			if _, err := timetable.On(tx).Add(ctx, add); err != nil {
				return err
			}
			continue
		}
		if manifest.Equal(w, h) {
			continue
		}
		u := model.ScheduleChanges(settings, h.Settings())
		u.JobName, u.Name = job, h.Name
		if !sameDefinition(w, h) {
			u.Kind, u.Spec = &kind, &spec
		}
		u.Parameters = changed(parameters, string(h.Parameters))
		if err := timetable.On(tx).Update(ctx, u); err != nil {
			return err
		}
	}
	return nil
}

// sameDefinition reports whether kind and text of two schedules are the same, whatever the order of
// JSON members.
func sameDefinition(a, b *manifest.Schedule) bool {
	var x, y manifest.Schedule
	kindA, specA := a.Definition()
	kindB, specB := b.Definition()
	x.SetDefinition(kindA, specA)
	y.SetDefinition(kindB, specB)
	return manifest.Equal(&x, &y)
}

func findSchedule(list []*manifest.Schedule, name string) *manifest.Schedule {
	for _, s := range list {
		if strings.EqualFold(s.Name, name) {
			return s
		}
	}
	return nil
}

// given returns a pointer to a text; nil if it is empty.
func given(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

// changed returns a pointer to the new value; nil if it is the old one.
func changed[T comparable](value, old T) *T {
	if value == old {
		return nil
	}
	return &value
}

// writeSteps makes the calls for the steps of a job.
func writeSteps(ctx context.Context, tx *controldb.Store, job string, want, have []*manifest.Step) error {
	s := stepWriter{tx: tx, job: job, want: want, have: have}
	if s.isSimple() {
		return s.inPlace(ctx)
	}
	return s.anew(ctx)
}

// stepWriter writes the steps of a job.
type stepWriter struct {
	tx         *controldb.Store
	job        string
	want, have []*manifest.Step
}

func findStep(list []*manifest.Step, name string) *manifest.Step {
	for _, s := range list {
		if strings.EqualFold(s.Name, name) {
			return s
		}
	}
	return nil
}

// isSimple reports whether the steps that exist keep their positions and what they come after, all
// new steps follow them, and these come after steps above them only. Then the calls can be made in
// the order of the steps, and no version between is invalid.
func (w *stepWriter) isSimple() bool {
	if len(w.want) < len(w.have) {
		return false
	}
	for i, h := range w.have {
		s := w.want[i]
		if !strings.EqualFold(s.Name, h.Name) || !sameDependencies(s, h) {
			return false
		}
	}
	for i := len(w.have); i < len(w.want); i++ {
		if w.want[i].After == nil {
			continue
		}
		for _, name := range *w.want[i].After {
			if findStep(w.want[:i], name) == nil {
				return false
			}
		}
	}
	return true
}

func sameDependencies(a, b *manifest.Step) bool {
	return manifest.Equal(&manifest.Step{After: a.After}, &manifest.Step{After: b.After}) && a.RunWhen == b.RunWhen && a.OnTargets == b.OnTargets
}

// inPlace changes and adds steps in their order.
func (w *stepWriter) inPlace(ctx context.Context) error {
	for i, s := range w.want {
		if i < len(w.have) {
			if err := w.update(ctx, s, w.have[i]); err != nil {
				return err
			}
			continue
		}
		if err := w.add(ctx, s, i+1, afterOf(s)); err != nil {
			return err
		}
	}
	return nil
}

// anew first makes all steps independent of each other, then brings them into their places, and
// then sets what they come after: so no version between has a circle.
func (w *stepWriter) anew(ctx context.Context) error {
	none, always, all := "", model.DefaultStep.RunWhen, model.DefaultStep.OnTargets
	for _, h := range w.have {
		alone := model.StepSpec{JobName: w.job, StepName: &h.Name, After: &none, RunWhen: &always, OnTargets: &all}
		if _, err := catalog.On(w.tx).UpdateJobStep(ctx, alone); err != nil {
			return err
		}
	}
	var order []string
	for _, h := range w.have {
		if findStep(w.want, h.Name) == nil {
			if _, err := catalog.On(w.tx).DeleteJobStepIf(ctx, w.job, h.Name, nil); err != nil {
				return err
			}
			continue
		}
		order = append(order, strings.ToLower(h.Name))
	}
	for i, s := range w.want {
		h, name := findStep(w.have, s.Name), strings.ToLower(s.Name)
		if h == nil {
			if err := w.add(ctx, s, i+1, &none); err != nil {
				return err
			}
			order = slices.Insert(order, i, name)
			continue
		}
		if at := slices.Index(order, name); at != i {
			id := i + 1
			if _, err := catalog.On(w.tx).UpdateJobStep(ctx, model.StepSpec{JobName: w.job, StepName: &h.Name, NewID: &id}); err != nil {
				return err
			}
			order = slices.Insert(slices.Delete(order, at, at+1), i, name)
		}
		if err := w.update(ctx, s, h); err != nil {
			return err
		}
	}
	for _, s := range w.want {
		after := afterOf(s)
		if after == nil {
			after = new("(default)")
		}
		spec := model.StepSpec{JobName: w.job, StepName: &s.Name, After: after, RunWhen: &s.RunWhen, OnTargets: &s.OnTargets}
		if _, err := catalog.On(w.tx).UpdateJobStep(ctx, spec); err != nil {
			return err
		}
	}
	return nil
}

// afterOf returns the names of the steps that come before a step; nil for the step above.
func afterOf(s *manifest.Step) *string {
	if s.After == nil {
		return nil
	}
	names := []string(*s.After)
	if names == nil {
		names = []string{}
	}
	text, _ := json.Marshal(names) // of texts: it does not fail
	return new(string(text))
}

// add adds a step at a position. after is that of a [model.StepSpec]. With an empty text, for
// anew, the step has the default conditions until anew sets those that are wanted.
func (w *stepWriter) add(ctx context.Context, s *manifest.Step, id int, after *string) error {
	kind, text := s.CommandType()
	spec := model.StepChanges(s.Settings(), model.DefaultStep)
	if after != nil && *after == "" {
		spec.RunWhen, spec.OnTargets = nil, nil
	}
	spec.JobName, spec.StepID, spec.StepName, spec.Command, spec.After = w.job, &id, &s.Name, &text, after
	spec.TargetGroup, spec.Credential = &s.TargetGroup, given(s.Credential)
	if kind != "TSql" {
		spec.CommandType = &kind
	}
	if s.MaxParallelism > 0 {
		spec.MaxParallelism = &s.MaxParallelism
	}
	if s.Output != nil {
		spec.Output = outputOf(s.Output, false)
	}
	_, err := catalog.On(w.tx).AddJobStep(ctx, spec)
	return err
}

// outputOf returns the parameters of an output; with all, also empty ones, which remove values.
func outputOf(o *manifest.Output, all bool) *model.OutputSpec {
	if o == nil {
		none := ""
		return &model.OutputSpec{Type: &none}
	}
	kind := "SqlDatabase"
	spec := &model.OutputSpec{Type: &kind, Server: &o.Server, Database: &o.Database, Schema: &o.Schema, Table: &o.Table,
		Credential: given(o.Credential), ResourceGroup: given(o.ResourceGroup)}
	if id, err := uuid.Parse(o.SubscriptionID); err == nil {
		spec.SubscriptionID = &id
	}
	if all {
		spec.Credential, spec.ResourceGroup = &o.Credential, &o.ResourceGroup
		if spec.SubscriptionID == nil {
			spec.SubscriptionID = &uuid.UUID{}
		}
	}
	return spec
}

// update changes what differs in a step, but its dependencies.
func (w *stepWriter) update(ctx context.Context, s, h *manifest.Step) error {
	x, y := *s, *h
	x.After, x.RunWhen, x.OnTargets = nil, "", ""
	y.After, y.RunWhen, y.OnTargets = nil, "", ""
	y.Name = x.Name
	if manifest.Equal(&x, &y) {
		return nil
	}
	spec := model.StepChanges(x.Settings(), y.Settings())
	spec.JobName, spec.StepName = w.job, &s.Name
	spec.TargetGroup, spec.Credential = changed(s.TargetGroup, h.TargetGroup), changed(s.Credential, h.Credential)
	kind, text := s.CommandType()
	oldKind, oldText := h.CommandType()
	if kind != oldKind {
		spec.CommandType, spec.Command = &kind, &text
	} else if text != oldText {
		spec.Command = &text
	}
	if s.MaxParallelism != h.MaxParallelism {
		spec.MaxParallelism = new(cmp.Or(s.MaxParallelism, -1)) // -1: no limit
	}
	if (s.Output == nil) != (h.Output == nil) || s.Output != nil && *s.Output != *h.Output {
		spec.Output = outputOf(s.Output, true)
	}
	_, err := catalog.On(w.tx).UpdateJobStep(ctx, spec)
	return err
}
