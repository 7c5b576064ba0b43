package sap

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/jobagent/jobagent/jobs/schedule"
)

// modes are the four forms of a schedule. A schedule has exactly one of them.
var modes = []string{"cron", "time", "repeatInterval", "repeatAt"}

// scheduleMembers are the members of a schedule that a body may set, and those of answers.
var scheduleMembers = append([]string{
	"data", "description", "active", "startTime", "endTime", "scheduleId", "jobId", "type", "nextRunAt", "modifiedAt", "logs",
}, modes...)

// schedule reads a schedule. whole says that the body defines it wholly; otherwise the mode may be
// absent (E11).
func (r *definitionReader) schedule(v *value, whole bool) scheduleDefinition {
	var d scheduleDefinition
	if v.Kind != '{' {
		r.fault("'%s' must be of type 'object'", place(v))
		return d
	}
	d.Ignored = unknown(v, scheduleMembers...)
	d.Description = r.text(v, "description")
	d.Active = r.boolean(v, "active")
	d.DataSet = v.Has("data")
	if data := v.Get("data"); data != nil {
		if data.Kind != '{' {
			r.fault("'%s' must be of type 'object'", place(data))
		}
		d.Data = data.Compact()
	}
	before := len(r.faults)
	d.Start, d.End = r.bounds(v)
	found := 0
	for _, mode := range modes {
		if m := v.Get(mode); m != nil {
			found++
			d.Mode, d.Value = mode, m.Compact()
		}
	}
	switch {
	case found > 1:
		r.faults = append(r.faults, fault{text: configuringJob + "Extra scheduling parameters passed", whole: true})
	case found == 0 && whole:
		r.fault("No scheduling parameter passed: want one of %s", strings.Join(modes, ", "))
	case found == 1 && len(r.faults) == before && !r.unchecked:
		r.mode(&d, place(v))
	}
	return d
}

// bounds reads startTime and endTime.
func (r *definitionReader) bounds(v *value) (start, end *bound) {
	start, end = r.date(v, "startTime"), r.date(v, "endTime")
	if start != nil && end != nil && !end.At.IsZero() && end.At.Before(start.At) {
		r.fault("'%s' is before '%s'", pathOf(v, "endTime"), pathOf(v, "startTime"))
	}
	return start, end
}

// date reads a date in one of SAP's forms: a text of ISO 8601 or RFC 2822, an object with date and
// format, or null.
func (r *definitionReader) date(v *value, name string) *bound {
	if !v.Has(name) {
		return nil
	}
	member := v.Get(name)
	if member == nil || member.Kind == '"' && member.Text == "" {
		return &bound{Raw: "null"}
	}
	// The engine of schedules reads the date as the start of a schedule.
	spec := `{"repeatAt":"00:00","startTime":` + member.Raw + `}`
	plan, err := schedule.Parse(schedule.KindSAP, []byte(spec), schedule.Options{Created: r.now})
	if err != nil {
		r.faults = append(r.faults, fault{text: fmt.Sprintf("'%s' is not a valid date", place(member)), detail: explain(err)})
		return nil
	}
	return &bound{At: plan.Start.Truncate(time.Second), Raw: member.Compact()}
}

// mode checks the mode of a schedule with the engine of schedules, before anything is stored
// (S-19).
func (r *definitionReader) mode(d *scheduleDefinition, path string) {
	spec := d.Spec()
	if r.checked[spec] {
		return
	}
	_, err := schedule.Parse(schedule.KindSAP, []byte(spec), schedule.Options{Created: r.now, Activated: r.now, MinInterval: r.minInterval})
	if err == nil {
		if r.checked == nil {
			r.checked = map[string]bool{}
		}
		r.checked[spec] = true
		return
	}
	var all *schedule.Error
	if errors.As(err, &all) && len(all.Faults) == 1 && all.Faults[0].Path == "" {
		r.faults = append(r.faults, fault{
			text:   fmt.Sprintf("The interval between two runs must be at least %d seconds", int(r.minInterval/time.Second)),
			detail: at(path, explain(err)),
		})
		return
	}
	text := "Invalid " + d.Mode + " specified"
	r.faults = append(r.faults, fault{text: text, whole: true, detail: at(path, explain(err))})
}

// at puts the path of a schedule before a text.
func at(path, text string) string {
	if path == "" {
		return text
	}
	return path + ": " + text
}

// explain returns the text of an error of the engine of schedules.
func explain(err error) string { return strings.TrimPrefix(err.Error(), "invalid text ") }

// Spec returns the text of the schedule for the engine of schedules: its mode, start and end.
func (d *scheduleDefinition) Spec() string {
	var b strings.Builder
	b.WriteString(`{"` + d.Mode + `":` + d.Value)
	for _, one := range []struct {
		name  string
		bound *bound
	}{{"startTime", d.Start}, {"endTime", d.End}} {
		if one.bound != nil && !one.bound.At.IsZero() {
			b.WriteString(`,"` + one.name + `":"` + one.bound.At.Format(time.RFC3339) + `"`)
		}
	}
	b.WriteString("}")
	return b.String()
}

// preview returns the next runs of a schedule, at most six.
func (d *scheduleDefinition) preview(now time.Time) ([]time.Time, error) {
	p, err := schedule.PreviewSpec(schedule.KindSAP, []byte(d.Spec()), schedule.PreviewOptions{Count: 6, Now: now, After: now.Format(time.RFC3339)})
	if err != nil {
		return nil, fmt.Errorf("preview a schedule: %w", err)
	}
	return p.Due, nil
}
