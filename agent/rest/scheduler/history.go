package scheduler

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/google/uuid"

	"github.com/jobagent/jobagent/agent/rest"
	"github.com/jobagent/jobagent/controldb"
	"github.com/jobagent/jobagent/controldb/executions"
	"github.com/jobagent/jobagent/controldb/scheduler"
)

const (
	// maxRuns bounds the runs that one request reads, of which few may pass a filter. The page then
	// ends early, with a nextLink.
	maxRuns = 10000
)

// historyToken is the place at which a history goes on: the first Skip records that pass the filter
// are left out, of the runs before a run.
type historyToken struct {
	Created time.Time `json:"c,omitzero"`
	Run     uuid.UUID `json:"r,omitzero"`
	// Occurrence is the number of the latest occurrence among the runs that are left.
	Occurrence int64 `json:"o,omitempty"`
	Skip       int   `json:"s,omitempty"`
}

// occurrence is a run with the number of the occurrence that it is; a run that was started by hand
// has that of the latest one before it.
type occurrence struct {
	scheduler.Run
	number int64
}

func (s *Surface) listHistory(ctx context.Context, r *rest.Request) (*rest.Response, error) {
	top, skip, err := paging(r)
	if err != nil {
		return nil, err
	}
	status, err := filterOf(r, "status", "Completed", "Failed", "Postponed")
	if err != nil {
		return nil, err
	}
	at := historyToken{Skip: skip}
	if err := readToken(r, &at); err != nil {
		return nil, err
	}
	p, j, err := s.findJob(ctx, r)
	if err != nil {
		return nil, err
	}
	list := page[record]{Value: []record{}}
	size := cmp.Or(top, s.historySize)
	for read := 0; ; read += s.runsAtOnce {
		next, ended, err := s.readHistory(ctx, p, j, at, status, size-len(list.Value), &list.Value)
		if err != nil {
			return nil, err
		}
		full := len(list.Value) == size
		if !ended && !full && read+s.runsAtOnce < maxRuns {
			at = next
			continue
		}
		if !ended && (top == 0 || !full) {
			list.NextLink = nextLink(r, next)
		}
		return &rest.Response{Status: http.StatusOK, Body: list}, nil
	}
}

// readHistory reads the records of the next runs, at most size of them, and returns the place at
// which the list goes on, or that it has ended.
func (s *Surface) readHistory(
	ctx context.Context, p place, j scheduler.Job, at historyToken, status string, size int, list *[]record,
) (next historyToken, ended bool, err error) {
	limit := s.runsAtOnce
	if status == "" {
		limit = min(limit, at.Skip+size+1) // a run has at least one record, unless it has just begun
	}
	runsOf := controldb.Page[executions.Key]{Top: limit}
	if !at.Created.IsZero() {
		runsOf.After = &executions.Key{Created: at.Created, ID: at.Run}
	}
	found, err := scheduler.On(p.Store).Runs(ctx, j.ID, runsOf)
	if err != nil || len(found) == 0 {
		return at, true, err
	}
	if at.Created.IsZero() {
		at.Occurrence = found[0].Started
	}
	runs := make([]occurrence, len(found))
	number := at.Occurrence
	for i, run := range found {
		runs[i] = occurrence{run, number}
		if run.Scheduled {
			number--
		}
	}
	oldest, newest := found[len(found)-1].CreatedTime, found[0].CreatedTime
	attempts, err := scheduler.On(p.Store).History(ctx, j.ID, oldest, newest, status)
	if err != nil {
		return at, false, err
	}
	byRun := map[uuid.UUID][]scheduler.Attempt{}
	for _, a := range attempts {
		byRun[a.RunID] = append(byRun[a.RunID], a)
	}
	for i, run := range runs {
		for n, a := range byRun[run.ID] {
			if at.Skip > 0 {
				at.Skip--
				continue
			}
			if size == 0 {
				at.Skip = n
				return at, false, nil
			}
			size--
			*list = append(*list, recordOf(p, j, run, a))
		}
		at = historyToken{Created: run.CreatedTime, Run: run.ID, Occurrence: runs[i].number, Skip: at.Skip}
		if run.Scheduled {
			at.Occurrence--
		}
	}
	return at, len(found) < limit, nil
}

// maxTicks is the last instant of .NET in units of 100 ns since the year 1.
const maxTicks = 3155378975999999999

// recordOf returns an attempt as it is shown. Its id falls as time grows, so that the newest one
// comes first in the order of texts.
func recordOf(p place, j scheduler.Job, run occurrence, a scheduler.Attempt) record {
	ticks := a.StartTime.Unix()*1e7 + int64(a.StartTime.Nanosecond()/100) + 621355968000000000
	id := fmt.Sprintf("%020d:%020d", maxTicks-ticks, a.ID)
	return record{
		ID: jobPath(p, j.Name) + "/history/" + id, Type: typeHistory, Name: j.FullName + "/" + id,
		Properties: recordProperties{
			StartTime: shownTime(a.StartTime), EndTime: shownTime(a.EndTime), ExpectedTime: shownTime(a.ExpectedTime),
			ActionName: a.Action, Status: a.Status, Message: a.Message, RetryCount: a.RetryCount, RepeatCount: max(1, run.number),
		},
	}
}
