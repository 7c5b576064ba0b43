package forms

import (
	"slices"
	"strings"

	"github.com/jobagent/jobagent/agent/web/page"
	"github.com/jobagent/jobagent/controldb"
	"github.com/jobagent/jobagent/jobs/manifest"
)

// shownDue is the number of instants that the preview of a schedule shows.
const shownDue = 5

// preview says what saving does: the differences, and the same as T-SQL, a command and a file.
func (s *subject) preview(want manifest.Object, write func(*controldb.Store) error) (*page.Preview, error) {
	p := &page.Preview{}
	before, after := "", manifest.Text(want)
	if s.have != nil {
		before = manifest.Text(s.have.Object)
	}
	p.Same = before == after
	lines, note, err := page.Difference(before, after)
	if err != nil {
		return nil, err
	}
	p.Lines = lines
	if note != "" {
		p.Notes = append(p.Notes, note)
	}
	if s.part == "schedules" {
		p.Notes = append(p.Notes, s.due(want)...)
	}
	calls, err := s.r.Store.Record(write)
	if err != nil {
		return nil, err
	}
	if s.part != "" { // this call locks the job and compares its revision: the job stays as it is
		calls = slices.DeleteFunc(calls, func(c controldb.Call) bool { return c.Procedure == "jobs.sp_set_job" })
	}
	if !p.Same {
		p.Equivalents = append(p.Equivalents, page.Script(calls))
		p.Equivalents = append(p.Equivalents, s.commands(want, calls)...)
	}
	p.Equivalents = append(p.Equivalents, page.Equivalent{Door: page.DoorFile, Text: manifest.YAML(want)})
	return p, nil
}

// due says when the schedule of the form is due.
func (s *subject) due(want manifest.Object) []string {
	var list []string
	job, ok := want.Value.(*manifest.Job)
	if !ok {
		return nil
	}
	name := s.name
	if name == "" {
		name = s.r.Form.Get("name")
	}
	for _, u := range manifest.Next(manifest.Set{Objects: []manifest.Object{{Kind: manifest.KindJob, Value: job}}}, s.r.Now, shownDue) {
		if !strings.EqualFold(u.Schedule, name) {
			continue
		}
		var times []string
		for _, at := range u.Due {
			times = append(times, at.In(u.Zone).Format("Mon 2006-01-02 15:04:05"))
		}
		if len(times) > 0 {
			list = append(list, "Due next, in "+u.Zone.String()+": "+strings.Join(times, ", ")+".")
		} else {
			list = append(list, "No instant is due any more.")
		}
		for _, w := range u.Warnings {
			list = append(list, page.Sentence(w))
		}
	}
	return list
}
