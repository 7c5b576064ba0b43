package forms

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/jobagent/jobagent/agent/web/page"
	"github.com/jobagent/jobagent/controldb"
	"github.com/jobagent/jobagent/controldb/auditlog"
	"github.com/jobagent/jobagent/controldb/dberror"
	"github.com/jobagent/jobagent/controldb/definition"
	"github.com/jobagent/jobagent/controldb/message"
	"github.com/jobagent/jobagent/jobs/manifest"
)

// fieldDo is the button that was pressed, and fieldTag what the form was filled with.
const fieldDo, fieldTag = "do", "tag"

// show shows the form as it is stored.
func (f *form) show(ctx context.Context, r *page.Request) (*page.Confirmation, error) {
	s, err := f.open(ctx, r)
	if err != nil {
		return nil, err
	}
	return s.confirmation(s.stored, nil, ""), nil
}

// do does what a button of the form says.
func (f *form) do(ctx context.Context, r *page.Request) (*page.Done, error) {
	s, err := f.open(ctx, r)
	if err != nil {
		return nil, err
	}
	typed := s.typed()
	verb, what, _ := strings.Cut(r.Form.Get(fieldDo), ":")
	switch verb {
	case "add":
		return nil, s.addRow(typed, what)
	case "remove":
		return nil, s.removeRow(typed, what)
	}
	if tag := r.Form.Get(fieldTag); tag != s.tag {
		return nil, s.changed(ctx, typed)
	}
	want, faults := s.fill(typed)
	if len(faults) > 0 {
		return nil, s.refused(typed, faults)
	}
	write := func(store *controldb.Store) error { return definition.Write(ctx, store, want, s.have) }
	if verb != "save" {
		preview, err := s.preview(want, write)
		if err != nil {
			return nil, err
		}
		if err := r.Store.Rehearse(ctx, "check a form", write); err != nil {
			return nil, s.refusal(ctx, typed, err)
		}
		c := s.confirmation(typed, nil, "")
		c.Form.Preview = preview
		return nil, &page.Again{Confirmation: c, Status: http.StatusOK}
	}
	if err := write(r.Store); err != nil {
		return nil, s.refusal(ctx, typed, err)
	}
	name := strings.TrimSpace(typed["name"])
	return &page.Done{Location: s.place(name), Notice: s.saved(name)}, nil
}

// fill returns the object as the form has it.
func (s *subject) fill(typed manifest.Values) (manifest.Object, manifest.Faults) {
	want, faults := manifest.FillIn(s.base, s.at, s.fields, typed)
	if len(faults) == 0 && s.have == nil && s.state.Get(want.Key()) != nil {
		faults = s.exists()
	}
	return want, faults
}

// exists returns the fault of something new that exists.
func (s *subject) exists() manifest.Faults {
	return manifest.Faults{{Path: "name", Message: fmt.Sprintf("the %s exists already: choose another name, or edit that one", s.noun)}}
}

// place is the page that shows what was saved.
func (s *subject) place(name string) string {
	switch {
	case s.part == "schedules":
		return s.r.Path("schedules", s.job, name)
	case s.part == "steps", s.part == "triggers":
		return s.r.Path("jobs", s.job)
	case s.kind == manifest.KindJob:
		return s.r.Path("jobs", name)
	case s.kind == manifest.KindTargetGroup:
		return s.r.Path("groups", name)
	}
	return s.back()
}

// saved says that something was saved.
func (s *subject) saved(name string) string {
	if s.kind == manifest.KindLimit {
		return "The limit was saved."
	}
	return fmt.Sprintf("The %s “%s” was saved.", s.noun, name)
}

// again shows the form again.
func (s *subject) again(typed manifest.Values, problems map[string]string, focus string, status int, problem string) error {
	return &page.Again{Confirmation: s.confirmation(typed, problems, focus), Status: status, Problem: problem}
}

// refused shows the faults of a form at its fields.
func (s *subject) refused(typed manifest.Values, faults manifest.Faults) error {
	problems, general := map[string]string{}, []string{}
	for _, f := range faults {
		if f.Path == "" || s.name != "" && slices.Contains(s.fixed, f.Path) {
			general = append(general, page.Sentence(f.Message))
			continue
		}
		if problems[f.Path] != "" {
			problems[f.Path] += " "
		}
		problems[f.Path] += page.Sentence(f.Message)
	}
	text := strings.Join(general, " ")
	if text == "" {
		text = "Nothing was saved: one field needs a change."
		if len(problems) > 1 {
			text = fmt.Sprintf("Nothing was saved: %d fields need a change.", len(problems))
		}
	}
	return s.again(typed, problems, "", http.StatusUnprocessableEntity, text)
}

// refusal shows what a procedure has said about the form. Other errors stay.
func (s *subject) refusal(ctx context.Context, typed manifest.Values, err error) error {
	if errors.Is(err, dberror.ErrRevision) && s.have == nil { // it was made meanwhile
		return s.refused(typed, s.exists())
	}
	if errors.Is(err, dberror.ErrRevision) {
		fresh, again := s.form.open(ctx, s.r)
		if again != nil {
			return again
		}
		return fresh.changed(ctx, typed)
	}
	switch dberror.KindOf(err) {
	case dberror.KindInvalid, dberror.KindNotFound, dberror.KindConflict:
	default:
		return err
	}
	field := ""
	text := dberror.MessageIn(err, func(p message.Part) string {
		at := s.fieldOf(p)
		if at == "" {
			return p.Plain()
		}
		if field == "" {
			field = at
		}
		return "“" + s.label(at) + "”"
	})
	switch {
	case errors.Is(err, dberror.ErrGroupNotFound):
		field = "target_group"
	case errors.Is(err, dberror.ErrJobExists), errors.Is(err, dberror.ErrGroupExists), errors.Is(err, dberror.ErrScheduleExists), errors.Is(err, dberror.ErrTriggerExists):
		field = "name"
	}
	if s.has(field) {
		return s.again(typed, map[string]string{field: text}, "", http.StatusUnprocessableEntity, "Nothing was saved: one field needs a change.")
	}
	return s.again(typed, nil, "", http.StatusUnprocessableEntity, "Nothing was saved. "+text)
}

// fieldOf returns the name of the field for a parameter of a procedure; empty if the form has none.
func (s *subject) fieldOf(p message.Part) string {
	if p.Kind != message.Parameter || p.Of != "" {
		return ""
	}
	what, isName := strings.CutSuffix(p.Name, "_name")
	names := []string{p.Name, what}
	if isName && strings.Contains(strings.ReplaceAll(s.noun, " ", "_"), what) {
		names = append(names, "name")
	}
	for _, name := range names {
		if s.has(name) {
			return name
		}
	}
	return ""
}

// has says that the form has a field.
func (s *subject) has(name string) bool {
	return slices.ContainsFunc(s.fields, func(f manifest.Field) bool { return f.Name == name })
}

// changed says that somebody else has changed what the form changes. What was typed stays, and the
// form goes on from what is stored now.
func (s *subject) changed(ctx context.Context, typed manifest.Values) error {
	who, err := s.who(ctx)
	if err != nil {
		return err
	}
	again := s.again(typed, nil, "", http.StatusConflict, who+" Nothing was saved, and what you typed is below. Saving replaces that change: the preview shows how.")
	if want, faults := s.fill(typed); len(faults) == 0 {
		write := func(store *controldb.Store) error { return definition.Write(ctx, store, want, s.have) }
		preview, err := s.preview(want, write)
		if err != nil {
			return err
		}
		var form *page.Again
		if errors.As(again, &form) {
			form.Confirmation.Form.Preview = preview
		}
	}
	return again
}

// who says from the audit log who has changed it last.
func (s *subject) who(ctx context.Context) (string, error) {
	f := auditlog.Filter{JobName: s.job, ObjectKind: auditKinds[s.kind], Limit: 50}
	switch s.part {
	case "steps":
		f.ObjectKind = "JobStep"
	case "schedules":
		f.ObjectKind = "Schedule"
	case "triggers":
		f.ObjectKind = "Trigger"
	}
	if s.job == "" {
		f.ObjectName = s.name
	}
	entries, err := auditlog.On(s.r.Store).Read(ctx, f)
	if err != nil {
		return "", err
	}
	if len(entries) == 0 {
		return "Somebody else has changed it since this form was opened.", nil
	}
	e := entries[0] // the latest
	for _, one := range entries {
		// A step is known by its number, and others by their names.
		if strings.EqualFold(one.ObjectName, s.name) || s.part == "steps" && s.at == fmt.Sprintf("steps[%d]", number(one.ObjectID)-1) {
			e = one
			break
		}
	}
	return fmt.Sprintf("%s changed it at %s UTC by %s (%s), after this form was opened.", e.Caller, e.Time.UTC().Format("2006-01-02 15:04:05"), e.Door, e.Action), nil
}

// auditKinds are the kinds of objects as the audit log names them.
var auditKinds = map[manifest.Kind]string{
	manifest.KindJob: "Job", manifest.KindTargetGroup: "TargetGroup", manifest.KindCalendar: "Calendar", manifest.KindLimit: "Limit", manifest.KindAlert: "AlertRule",
	manifest.KindAlertChannel: "AlertChannel", manifest.KindTargetWindow: "TargetWindow",
}

// number returns a number; 0 if the text is none.
func number(text string) int {
	n, err := strconv.Atoi(text)
	if err != nil {
		return 0
	}
	return n
}

// addRow adds a row to a list.
func (s *subject) addRow(typed manifest.Values, name string) error {
	field, ok := s.rows(name)
	if !ok {
		return &page.InputError{Problem: "The form has no such list."}
	}
	n := typed.Rows(name)
	if n >= maxRows {
		return s.again(typed, map[string]string{name: fmt.Sprintf("A form has at most %d rows.", maxRows)}, "", http.StatusUnprocessableEntity, "")
	}
	row := fmt.Sprintf("%s[%d].", name, n)
	for _, f := range field.Fields {
		typed[row+f.Name] = f.Default
		if f.Kind == manifest.FieldFlag && f.Default != "true" {
			typed[row+f.Name] = ""
		}
	}
	return s.again(typed, nil, row+field.Fields[0].Name, http.StatusOK, "")
}

// removeRow removes a row of a list: LIST[N].
func (s *subject) removeRow(typed manifest.Values, id string) error {
	name, number, _ := strings.Cut(strings.TrimSuffix(id, "]"), "[")
	at, err := strconv.Atoi(number)
	count := typed.Rows(name)
	if _, ok := s.rows(name); !ok || err != nil || at < 0 || at >= count {
		return &page.InputError{Problem: "The form has no such row."}
	}
	rest := manifest.Values{}
	for key, text := range typed {
		inside, ok := strings.CutPrefix(key, name+"[")
		number, field, found := strings.Cut(inside, "].")
		i, err := strconv.Atoi(number)
		switch {
		case !ok || !found || err != nil:
			rest[key] = text
		case i < at:
			rest[key] = text
		case i > at:
			rest[fmt.Sprintf("%s[%d].%s", name, i-1, field)] = text
		}
	}
	return s.again(rest, nil, name, http.StatusOK, "")
}

// rows returns the field of a list.
func (s *subject) rows(name string) (manifest.Field, bool) {
	for _, f := range s.fields {
		if f.Name == name && f.Kind == manifest.FieldRows {
			return f, true
		}
	}
	return manifest.Field{}, false
}
