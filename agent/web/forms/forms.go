// Package forms has the forms of the dashboard in which people define jobs, steps, schedules,
// target groups, calendars, limits and rules of alerts. A form is made from the declaration of the
// fields of files, checked as a file is, and saved as jobagent apply does.
package forms

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/jobagent/jobagent/agent/rest"
	"github.com/jobagent/jobagent/agent/web/page"
	"github.com/jobagent/jobagent/controldb/dberror"
	"github.com/jobagent/jobagent/controldb/definition"
	"github.com/jobagent/jobagent/jobs/manifest"
)

// maxRows is the number of rows of a list that a form shows. Longer lists are changed with files.
const maxRows = 200

// Set returns the forms.
func Set() page.Set {
	var list []page.Action
	for _, f := range all {
		list = append(list, page.Action{Path: f.path, Role: rest.RoleAuthor, Confirm: f.show, Do: f.do})
	}
	return page.Set{Name: "forms", Actions: list}
}

// form is a form: of an object, or of a part of a job.
type form struct {
	path string
	kind manifest.Kind
	// part is steps or schedules of a job; empty: the form is of the object itself.
	part string
	// key are the parameters of the path that name what is changed; none: something new is made.
	key []string
	// model is what the fields are made of, and without are names of fields that it does not show.
	model   any
	without []string
	// fixed are the fields that name the object, which stay.
	fixed []string
	// noun names what it is, and nav is as in page.View.
	noun, nav string
}

var (
	nameField = []string{"name"}
	jobParts  = []string{"schedules", "steps"}
)

// all are the forms.
var all = []*form{
	{path: "/new/job", kind: manifest.KindJob, model: manifest.Job{}, without: jobParts, noun: "job", nav: "jobs"},
	{path: "/jobs/{job}/edit", kind: manifest.KindJob, key: []string{"job"}, model: manifest.Job{}, without: jobParts, fixed: nameField, noun: "job", nav: "jobs"},
	{path: "/jobs/{job}/add-step", kind: manifest.KindJob, part: "steps", model: manifest.Step{}, noun: "step", nav: "jobs"},
	{path: "/jobs/{job}/steps/{step}/edit", kind: manifest.KindJob, part: "steps", key: []string{"step"}, model: manifest.Step{}, fixed: nameField, noun: "step", nav: "jobs"},
	{path: "/jobs/{job}/add-schedule", kind: manifest.KindJob, part: "schedules", model: manifest.Schedule{}, noun: "schedule", nav: "schedules"},
	{path: "/schedules/{job}/{schedule}/edit", kind: manifest.KindJob, part: "schedules", key: []string{"schedule"}, model: manifest.Schedule{}, fixed: nameField, noun: "schedule", nav: "schedules"},
	{path: "/new/group", kind: manifest.KindTargetGroup, model: manifest.TargetGroup{}, noun: "target group", nav: "groups"},
	{path: "/groups/{group}/edit", kind: manifest.KindTargetGroup, key: []string{"group"}, model: manifest.TargetGroup{}, fixed: nameField, noun: "target group", nav: "groups"},
	{path: "/new/calendar", kind: manifest.KindCalendar, model: manifest.Calendar{}, noun: "calendar", nav: "schedules"},
	{path: "/calendars/{calendar}/edit", kind: manifest.KindCalendar, key: []string{"calendar"}, model: manifest.Calendar{}, fixed: nameField, noun: "calendar", nav: "schedules"},
	{path: "/jobs/{job}/add-trigger", kind: manifest.KindJob, part: "triggers", model: manifest.Trigger{}, noun: "trigger", nav: "jobs"},
	{path: "/jobs/{job}/triggers/{trigger}/edit", kind: manifest.KindJob, part: "triggers", key: []string{"trigger"}, model: manifest.Trigger{}, fixed: nameField, noun: "trigger", nav: "jobs"},
	{path: "/new/window", kind: manifest.KindTargetWindow, model: manifest.TargetWindow{}, noun: "window", nav: "databases"},
	{path: "/windows/{window}/edit", kind: manifest.KindTargetWindow, key: []string{"window"}, model: manifest.TargetWindow{}, fixed: nameField, noun: "window", nav: "databases"},
	{path: "/new/limit", kind: manifest.KindLimit, model: manifest.Limit{}, noun: "limit", nav: "limits"},
	{path: "/limits/{scope}/{name}/edit", kind: manifest.KindLimit, key: []string{"scope", "name"}, model: manifest.Limit{}, fixed: []string{"scope", "name", "server"}, noun: "limit", nav: "limits"},
	{path: "/new/alert-rule", kind: manifest.KindAlert, model: manifest.Alert{}, noun: "alert rule", nav: "alerts"},
	{path: "/alert-rules/{rule}/edit", kind: manifest.KindAlert, key: []string{"rule"}, model: manifest.Alert{}, fixed: nameField, noun: "alert rule", nav: "alerts"},
	{path: "/new/alert-channel", kind: manifest.KindAlertChannel, model: manifest.AlertChannel{}, noun: "alert channel", nav: "alerts"},
	{path: "/alert-channels/{channel}/edit", kind: manifest.KindAlertChannel, key: []string{"channel"}, model: manifest.AlertChannel{}, fixed: []string{"name", "type"}, noun: "alert channel", nav: "alerts"},
}

// subject is what a form changes, as it is stored now.
type subject struct {
	*form
	r     *page.Request
	state *definition.State
	// have is the object that is stored; nil: it is new.
	have *definition.Stored
	// base is have, or an empty object, and at is the part of it that the form fills in.
	base   manifest.Object
	at     string
	fields []manifest.Field
	// stored are the values of what is changed, or the defaults of something new.
	stored manifest.Values
	// tag identifies stored; empty: it is new.
	tag  string
	name string // of the object or part; empty: it is new
	job  string // of a part
}

// open reads what a form changes.
func (f *form) open(ctx context.Context, r *page.Request) (*subject, error) {
	s := &subject{form: f, r: r}
	for _, field := range manifest.FormFields(f.model) {
		if !slices.Contains(f.without, field.Name) {
			s.fields = append(s.fields, field)
		}
	}
	names := []string{}
	if f.kind == manifest.KindJob && r.HTTP.PathValue("job") != "" {
		s.job = r.Value("job")
		names = append(names, s.job)
	} else if f.kind == manifest.KindJob && r.Form != nil { // whether it exists already
		names = append(names, r.Form.Get("name"))
	}
	var err error
	if s.state, err = definition.Read(ctx, r.Store, names); err != nil {
		return nil, err
	}
	if f.kind == manifest.KindJob && s.job == "" || f.kind != manifest.KindJob && f.key == nil {
		s.base, s.stored = manifest.NewObject(f.kind), manifest.FormDefaults(f.model)
		return s, nil
	}
	if err := s.find(); err != nil {
		return nil, err
	}
	return s, s.pick()
}

// find finds the object that the path names.
func (s *subject) find() error {
	key, missing := manifest.Key{Kind: s.kind, Name: strings.ToLower(s.job)}, dberror.ErrJobNotFound
	switch s.kind {
	case manifest.KindTargetGroup:
		key.Name, missing = strings.ToLower(s.r.Value("group")), dberror.ErrGroupNotFound
	case manifest.KindCalendar:
		key.Name, missing = strings.ToLower(s.r.Value("calendar")), dberror.ErrCalendarNotFound
	case manifest.KindTargetWindow:
		key.Name, missing = strings.ToLower(s.r.Value("window")), dberror.ErrTargetWindowNotFound
	case manifest.KindAlert:
		key.Name, missing = strings.ToLower(s.r.Value("rule")), dberror.ErrAlertNotFound
	case manifest.KindAlertChannel:
		key.Name, missing = strings.ToLower(s.r.Value("channel")), &rest.Error{Status: http.StatusNotFound, Message: "The alert channel does not exist."}
	case manifest.KindLimit:
		limit := manifest.Limit{Scope: s.r.Value("scope"), Name: s.r.Value("name"), Server: s.r.Query("server")}
		key = manifest.Object{Kind: s.kind, Value: &limit}.Key()
		missing = &rest.Error{Status: http.StatusNotFound, Message: "The limit does not exist."}
	}
	s.have = s.state.Get(key)
	if s.have == nil {
		return missing
	}
	if s.have.Origin != "" {
		return &rest.Error{Status: http.StatusConflict, Message: fmt.Sprintf("The job %s is defined through the %s API, and is only changed there.", s.have.Name(), s.have.Origin)}
	}
	s.base = s.have.Object
	return nil
}

// pick selects the part that the path names, and its values.
func (s *subject) pick() error {
	job, _ := s.base.Value.(*manifest.Job)
	var names []string
	var values []any
	var missing error
	switch s.part {
	case "":
		s.name, s.stored = s.base.Name(), manifest.FormValues(s.base.Value)
	case "steps":
		missing = dberror.ErrStepNotFound
		for _, step := range job.Steps {
			names, values = append(names, step.Name), append(values, step)
		}
	case "triggers":
		missing = dberror.ErrTriggerNotFound
		for _, trigger := range job.Triggers {
			names, values = append(names, trigger.Name), append(values, trigger)
		}
	case "schedules":
		missing = dberror.ErrScheduleNotFound
		for _, schedule := range job.Schedules {
			names, values = append(names, schedule.Name), append(values, schedule)
		}
	}
	if s.part != "" && s.key == nil {
		s.at, s.stored = fmt.Sprintf("%s[%d]", s.part, len(names)), manifest.FormDefaults(s.model)
		return nil
	}
	if s.part != "" {
		i := slices.IndexFunc(names, func(name string) bool { return strings.EqualFold(name, s.r.Value(s.key[0])) })
		if i < 0 {
			return missing
		}
		s.at, s.name, s.stored = fmt.Sprintf("%s[%d]", s.part, i), names[i], manifest.FormValues(values[i])
	}
	for name := range s.stored { // what the form does not show may change meanwhile
		field, _, _ := strings.Cut(strings.ReplaceAll(name, "[", "."), ".")
		if !slices.ContainsFunc(s.fields, func(f manifest.Field) bool { return f.Name == field }) {
			delete(s.stored, name)
		}
	}
	text, err := json.Marshal(s.stored) // maps are sorted
	if err != nil {
		return err
	}
	sum := sha256.Sum256(text)
	s.tag = hex.EncodeToString(sum[:12])
	for _, f := range s.fields {
		if n := s.stored.Rows(f.Name); n > maxRows {
			return &rest.Error{Status: http.StatusConflict, Message: fmt.Sprintf("The %s has %d %s, which are too many for a form: change it with files (jobagent export and jobagent apply).", s.noun, n, f.Name)}
		}
	}
	return nil
}

// typed returns what was typed; fixed fields have what is stored.
func (s *subject) typed() manifest.Values {
	v := manifest.Values{}
	for name, list := range s.r.Form {
		if len(list) > 0 {
			v[name] = strings.ReplaceAll(list[0], "\r\n", "\n")
		}
	}
	if s.name != "" {
		for _, name := range s.fixed {
			delete(v, name)
			if text, ok := s.stored[name]; ok {
				v[name] = text
			}
		}
	}
	// A browser sends CR LF: the ends of lines become those that the script had.
	if strings.Contains(s.stored["command.text"], "\r\n") {
		v["command.text"] = strings.ReplaceAll(v["command.text"], "\n", "\r\n")
	}
	return v
}

// back is the page from which people come.
func (s *subject) back() string {
	switch {
	case s.part == "schedules" && s.name != "":
		return s.r.Path("schedules", s.job, s.name)
	case s.job != "":
		return s.r.Path("jobs", s.job)
	case s.kind == manifest.KindTargetGroup && s.name != "":
		return s.r.Path("groups", s.name)
	case s.kind == manifest.KindTargetWindow:
		return s.r.Path("windows")
	}
	return s.r.Path(s.nav)
}
