package sap

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"

	"github.com/google/uuid"

	"github.com/jobagent/jobagent/agent/rest"
	"github.com/jobagent/jobagent/controldb/dberror"
	"github.com/jobagent/jobagent/controldb/sap"
)

// scheduleDefinition reads the body of E8, E11 and E23.
func (c *call) scheduleDefinition(ctx context.Context, whole bool, beginning string) (*scheduleDefinition, *value, error) {
	v, faults := readObject(c.Body)
	if len(faults) > 0 {
		return nil, nil, invalid(beginning, faults...)
	}
	r, err := c.reader(ctx, whole)
	if err != nil {
		return nil, nil, err
	}
	if !whole {
		r.unchecked = true
	}
	d := r.schedule(v, whole)
	if len(r.faults) > 0 {
		return nil, nil, invalid(beginning, r.faults...)
	}
	return &d, v, nil
}

// createSchedule is E8.
func (c *call) createSchedule(ctx context.Context) (*rest.Response, error) {
	job, err := c.job()
	if err != nil {
		return nil, err
	}
	d, _, err := c.scheduleDefinition(ctx, true, creatingSchedule)
	if err != nil {
		return nil, err
	}
	if err := c.checkOptions(ctx, job, d.Data, creatingSchedule); err != nil {
		return nil, err
	}
	spec := d.spec()
	return c.writeOnce(ctx, func(w sap.Write) (sap.Result, error) {
		w.Note = note(d.Ignored)
		return sap.On(c.service.Store).AddSchedule(ctx, c.scope, w, job, spec)
	}, func(res sap.Result) (storedAnswer, error) {
		if len(res.Schedules) != 1 {
			return storedAnswer{}, errors.New("add schedule: got no id")
		}
		a := storedAnswer{Status: http.StatusCreated, Location: jobPath(job) + "/schedules/" + res.Schedules[0].String()}
		var err error
		a.Body, err = encode(added(stored(res.Schedules[0], job, &spec)))
		return a, err
	})
}

// checkOptions refuses data with options that a task does not take, if the job is a task. The job
// is read only for such data.
func (c *call) checkOptions(ctx context.Context, id int64, data, beginning string) error {
	faults := optionFaults(data, "")
	if len(faults) == 0 {
		return nil
	}
	job, err := sap.On(c.service.Store).Job(ctx, c.scope, sap.JobRef{ID: id})
	if err != nil || job.JobType != sap.TaskJob {
		return err
	}
	return invalid(beginning, faults...)
}

// changeable are the members that E11 may change.
var changeable = append([]string{"data", "description", "active", "startTime", "endTime"}, modes...)

// updateSchedule is E11.
func (c *call) updateSchedule(ctx context.Context) (*rest.Response, error) {
	job, id, err := c.schedule()
	if err != nil {
		return nil, err
	}
	d, v, err := c.scheduleDefinition(ctx, false, configuringSchedule)
	if err != nil {
		return nil, err
	}
	if len(unknown(v, changeable...)) == len(v.Members) {
		return nil, invalid(configuringSchedule, fault{text: "No schedule attributes passed"})
	}
	if err := c.checkOptions(ctx, job, d.Data, configuringSchedule); err != nil {
		return nil, err
	}
	list, _, err := sap.On(c.service.Store).Schedules(ctx, c.scope, job, id, sap.Page{})
	if err != nil {
		return nil, err
	}
	if len(list) != 1 {
		return nil, errNotFound
	}
	change, after, err := c.change(ctx, d, list[0])
	if err != nil {
		return nil, err
	}
	return c.write(ctx, func(w sap.Write) (sap.Result, error) {
		w.Note = note(d.Ignored)
		res, err := sap.On(c.service.Store).UpdateSchedule(ctx, c.scope, w, job, id, change)
		if errors.Is(err, dberror.ErrSAPMode) {
			err = errModeChange
		}
		return res, err
	}, func(sap.Result) (storedAnswer, error) {
		body, err := encode(changed(&after))
		return storedAnswer{Status: http.StatusOK, Body: body}, err
	})
}

var errModeChange = invalid(configuringSchedule, fault{text: "Changing the scheduling mode is not supported"})

// change returns what E11 changes in a schedule, and the schedule with the changes.
func (c *call) change(
	ctx context.Context, d *scheduleDefinition, s sap.Schedule,
) (change sap.ScheduleChange, after sap.Schedule, err error) {
	if d.Mode != "" && d.Mode != string(s.Mode) {
		return change, s, errModeChange
	}
	change = sap.ScheduleChange{Mode: sap.Mode(d.Mode), Restart: d.Mode != "", Description: d.Description, Active: d.Active}
	after = s
	if d.Description != nil {
		after.Description = *d.Description
	}
	if d.Active != nil {
		after.Active = *d.Active
	}
	if d.DataSet {
		change.Data, after.Data = &d.Data, d.Data
	}
	if d.Mode == "" && d.Start == nil && d.End == nil {
		return change, after, nil
	}
	// The text is made anew from the values that are given and those that stay.
	whole := *d
	if whole.Mode == "" {
		whole.Mode, whole.Value = string(s.Mode), string(modeValue(&s))
	}
	if whole.Start == nil {
		whole.Start = &bound{At: s.Start}
	}
	if whole.End == nil {
		whole.End = &bound{At: s.End}
	}
	r, err := c.reader(ctx, true)
	if err != nil {
		return change, s, err
	}
	r.mode(&whole, "")
	if len(r.faults) > 0 {
		return change, s, invalid(configuringSchedule, r.faults...)
	}
	spec := whole.spec()
	change.Spec, change.Start, change.End = &spec.Spec, spec.Start, spec.End
	after.Spec, after.Start, after.End = spec.Spec, spec.Start, spec.End
	return change, after, nil
}

// listSchedules is E9.
func (c *call) listSchedules(ctx context.Context) (*rest.Response, error) {
	job, err := c.job()
	if err != nil {
		return nil, err
	}
	p, faults := parsePage(c.Query, maxSchedules)
	if len(faults) > 0 {
		return nil, invalid(listingSchedules, faults...)
	}
	list, total, err := sap.On(c.service.Store).Schedules(ctx, c.scope, job, uuid.Nil, sap.Page{Offset: p.offset, Size: p.size})
	if err != nil {
		return nil, err
	}
	results := make([]listedScheduleBody, len(list))
	for i := range list {
		results[i] = listed(&list[i])
	}
	b := listBody[listedScheduleBody]{Total: total, Results: results}
	b.Prev, b.Next = p.urls(jobPath(job)+"/schedules", "", total)
	return ok(b)
}

// getSchedule is E10.
func (c *call) getSchedule(ctx context.Context) (*rest.Response, error) {
	job, id, err := c.schedule()
	if err != nil {
		return nil, err
	}
	logs, err := c.flag("displayLogs", false, fetchingSchedule)
	if err != nil {
		return nil, err
	}
	list, _, err := sap.On(c.service.Store).Schedules(ctx, c.scope, job, id, sap.Page{})
	if err != nil {
		return nil, err
	}
	if len(list) != 1 {
		return nil, errNotFound
	}
	b := listed(&list[0])
	if !logs {
		return ok(b)
	}
	runs, err := sap.On(c.service.Store).Runs(ctx, c.scope, job, id, sap.RunQuery{Page: sap.Page{Size: maxRuns}, Events: true})
	if err != nil {
		return nil, err
	}
	b.Logs = make([]loggedRunBody, len(runs.List))
	for i := range runs.List {
		if b.Logs[i], err = loggedRun(&runs.List[i]); err != nil {
			return nil, err
		}
	}
	return ok(b)
}

// deleteSchedule is E12.
func (c *call) deleteSchedule(ctx context.Context) (*rest.Response, error) {
	job, id, err := c.schedule()
	if err != nil {
		return nil, err
	}
	return c.writeOnce(ctx, func(w sap.Write) (sap.Result, error) {
		return sap.On(c.service.Store).DeleteSchedules(ctx, c.scope, w, job, id)
	}, success)
}

// deleteSchedules is E13.
func (c *call) deleteSchedules(ctx context.Context) (*rest.Response, error) {
	job, err := c.job()
	if err != nil {
		return nil, err
	}
	return c.write(ctx, func(w sap.Write) (sap.Result, error) {
		return sap.On(c.service.Store).DeleteSchedules(ctx, c.scope, w, job, uuid.Nil)
	}, success)
}

// activateSchedules is E14.
func (c *call) activateSchedules(ctx context.Context) (*rest.Response, error) {
	job, err := c.job()
	if err != nil {
		return nil, err
	}
	v, faults := readObject(c.Body)
	if len(faults) > 0 {
		return nil, invalid(activatingSchedules, faults...)
	}
	status := v.Get("activationStatus")
	if status == nil {
		return nil, invalid(activatingSchedules, fault{text: "'activationStatus' is a required property"})
	}
	active, isTruth := truth(status)
	if !isTruth {
		return nil, invalid(activatingSchedules, fault{text: "'activationStatus' must be of type 'boolean'"})
	}
	return c.write(ctx, func(w sap.Write) (sap.Result, error) {
		return sap.On(c.service.Store).ActivateSchedules(ctx, c.scope, w, job, active)
	}, success)
}

// previewSchedule is E23 (S-28).
func (c *call) previewSchedule(ctx context.Context) (*rest.Response, error) {
	d, _, err := c.scheduleDefinition(ctx, true, inAction)
	if err != nil {
		return nil, err
	}
	due, err := d.preview(c.now)
	if err != nil {
		return nil, err
	}
	b := previewBody{Upcoming: []string{}}
	for i, at := range due {
		if i == 0 {
			b.Next = formatTime(at, stamp)
		}
		if i < 5 {
			b.Upcoming = append(b.Upcoming, at.UTC().Format(stamp))
		}
	}
	return ok(b)
}

// searchSchedules is E21.
func (c *call) searchSchedules(ctx context.Context) (*rest.Response, error) {
	var faults []fault
	if _, given := c.Query.Get("displaySchedules"); given {
		faults = append(faults, fault{text: "displaySchedules is not supported"})
	}
	q, text, p, more := c.search(maxSchedules)
	if faults = append(faults, more...); len(faults) > 0 {
		return nil, invalid(inAction, faults...)
	}
	list, total, err := sap.On(c.service.Store).SearchSchedules(ctx, c.scope, q, sap.Page{Offset: p.offset, Size: p.size})
	if err != nil {
		return nil, err
	}
	results := make([]foundScheduleBody, len(list))
	for i := range list {
		one := &list[i]
		results[i] = found(&one.Schedule)
		results[i].Parent = &parentBody{ID: one.JobID, Name: one.JobName, URL: jobPath(one.JobID)}
	}
	return ok(searched(results, total, p, root+"/search/schedules", text))
}

// searchJobs is E20.
func (c *call) searchJobs(ctx context.Context) (*rest.Response, error) {
	schedules, err := c.flag("displaySchedules", true, inAction)
	if err != nil {
		return nil, err
	}
	search, text, p, faults := c.search(maxJobs)
	if len(faults) > 0 {
		return nil, invalid(inAction, faults...)
	}
	list, total, err := sap.On(c.service.Store).Jobs(ctx, c.scope, sap.JobQuery{
		Search: &search, Page: sap.Page{Offset: p.offset, Size: p.size}, Schedules: schedules,
	})
	if err != nil {
		return nil, err
	}
	results := make([]foundJobBody, len(list))
	for i := range list {
		results[i] = foundJob(&list[i], schedules)
	}
	return ok(searched(results, total, p, root+"/search/jobs", text))
}

// search reads the parameters of a search.
func (c *call) search(largest int) (s sap.Search, text string, p page, faults []fault) {
	text, _ = c.Query.Get("q")
	q, faults := parseSearch(text)
	p, more := parsePage(c.Query, largest)
	s = sap.Search{Words: q.words, Active: q.active}
	for _, t := range q.times {
		b := sap.Bound{Field: "startTime", Operator: t.operator, At: t.at}
		if t.end {
			b.Field = "endTime"
		}
		s.Bounds = append(s.Bounds, b)
	}
	return s, text, p, append(faults, more...)
}

// searched returns the answer of a search.
func searched[T any](results []T, total int, p page, path, q string) searchBody[T] {
	b := searchBody[T]{listBody: listBody[T]{Total: total, Results: results}, Paged: p.given}
	b.Prev, b.Next = p.urls(path, searchParameter(q), total)
	return b
}

// rawJSON is the type of bodies that are shown as any JSON in the OpenAPI document.
type rawJSON = json.RawMessage
