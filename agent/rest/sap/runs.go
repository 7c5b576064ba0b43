package sap

import (
	"context"
	"errors"
	"strconv"
	"strings"

	"github.com/google/uuid"

	"github.com/jobagent/jobagent/agent/rest"
	"github.com/jobagent/jobagent/controldb/callbacks"
	"github.com/jobagent/jobagent/controldb/dberror"
	"github.com/jobagent/jobagent/controldb/sap"
	"github.com/jobagent/jobagent/jobs/wording"
)

// maxMessage bounds the message of a report, in characters. A longer one is cut (S-29).
const maxMessage = 16_384

// listRuns is E15.
func (c *call) listRuns(ctx context.Context) (*rest.Response, error) {
	job, id, err := c.schedule()
	if err != nil {
		return nil, err
	}
	p, faults := parsePage(c.Query, maxRuns)
	q := sap.RunQuery{}
	next, hasNext := c.Query.Get("next")
	prev, hasPrev := c.Query.Get("prev")
	_, hasOffset := c.Query.Get("offset")
	cursor := hasNext || hasPrev
	if hasNext && hasPrev || cursor && hasOffset {
		faults = append(faults, fault{text: "Only one of next, prev and offset is allowed"})
	}
	if hasNext {
		q.After, faults = cursorOf(next, "next", faults)
	}
	if hasPrev {
		q.Before, faults = cursorOf(prev, "prev", faults)
	}
	if len(faults) > 0 {
		return nil, invalid(listingRuns, faults...)
	}
	if p.size == 0 {
		p.size = maxRuns
		if cursor {
			p.size = defaultPage
		}
	}
	q.Page = sap.Page{Offset: p.offset, Size: p.size}
	runs, err := sap.On(c.service.Store).Runs(ctx, c.scope, job, id, q)
	if err != nil {
		return nil, err
	}
	results := make([]runBody, len(runs.List))
	for i := range runs.List {
		results[i] = run(&runs.List[i], stampRun)
	}
	path := jobPath(job) + "/schedules/" + id.String() + "/runs"
	if cursor {
		return ok(cursorList(results, &runs, path, p.size))
	}
	b := listBody[runBody]{Total: runs.Total, Results: results}
	b.Prev, b.Next = p.urls(path, "", runs.Total)
	return ok(b)
}

// cursorOf reads a run id of a query.
func cursorOf(text, name string, faults []fault) (uuid.UUID, []fault) {
	id, err := parseUUID(text)
	if err != nil {
		faults = append(faults, fault{text: "Invalid " + name + ": want the id of a run"})
	}
	return id, faults
}

// cursorList returns a page of a list whose pages follow by run ids.
func cursorList(results []runBody, runs *sap.Runs, path string, size int) cursorBody {
	b := cursorBody{Total: runs.Total, Results: results}
	base := path + "?page_size=" + strconv.Itoa(size)
	if n := len(results); n > 0 {
		if runs.More {
			text := base + "&next=" + results[n-1].ID.String()
			b.Next = &text
		}
		if runs.Newer {
			text := base + "&prev=" + results[0].ID.String()
			b.Prev = &text
		}
	}
	return b
}

// run returns the ids of the path.
func (c *call) run() (job int64, schedule, run uuid.UUID, err error) {
	if job, schedule, err = c.schedule(); err != nil {
		return 0, uuid.Nil, uuid.Nil, err
	}
	run, err = parseUUID(c.Path["runId"])
	return job, schedule, run, err
}

// getRun is E16.
func (c *call) getRun(ctx context.Context) (*rest.Response, error) {
	job, schedule, id, err := c.run()
	if err != nil {
		return nil, err
	}
	one, err := sap.On(c.service.Store).Run(ctx, c.scope, job, schedule, id)
	if err != nil {
		return nil, err
	}
	return ok(run(&one, stampRun))
}

// reportRun is E17. A repeat of the same report changes nothing (S-38), so it needs no protection
// against repeats.
func (c *call) reportRun(ctx context.Context) (*rest.Response, error) {
	job, schedule, id, err := c.run()
	if err != nil {
		return nil, err
	}
	report, faults := readReport(c.Body)
	if len(faults) > 0 {
		return nil, invalid(updatingRun, faults...)
	}
	report.By = c.Principal.Name
	err = sap.On(c.service.Store).ReportRun(ctx, c.scope, job, schedule, id, report)
	switch {
	case errors.Is(err, dberror.ErrCallbackEnded):
		return nil, invalid(updatingRun, fault{text: "Run is already completed"})
	case errors.Is(err, dberror.ErrSAPRunNotStarted):
		return nil, invalid(updatingRun, fault{text: "Run has not been started"})
	case errors.Is(err, dberror.ErrSAPTaskRun):
		return nil, invalid(updatingRun, fault{text: "The run of a task ends with its process, not by a report"})
	case err != nil:
		return nil, err
	}
	return ok(successBody{Success: true})
}

// readReport reads the body of E17 (S-41): success in one of the forms of S-10, and message, of
// which a value that is not a text is kept as JSON.
func readReport(body []byte) (callbacks.Report, []fault) {
	var r callbacks.Report
	v, faults := readObject(body)
	if len(faults) > 0 {
		return r, faults
	}
	switch s := v.Get("success"); {
	case s == nil:
		faults = append(faults, fault{text: "'success' is a required property"})
	default:
		var isTruth bool
		if r.Success, isTruth = truth(s); !isTruth {
			faults = append(faults, fault{text: "'success' must be of type 'boolean'"})
		}
	}
	if m := v.Get("message"); m != nil {
		if r.Message = m.Text; m.Kind != '"' {
			r.Message = m.Compact()
		}
	}
	// The control database cannot store this character.
	r.Message = wording.Clip(strings.ReplaceAll(r.Message, "\x00", "\uFFFD"), maxMessage, wording.Characters)
	return r, faults
}
