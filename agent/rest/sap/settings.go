package sap

import (
	"context"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/jobagent/jobagent/agent/rest"
	"github.com/jobagent/jobagent/controldb/sap"
)

const (
	asyncTimeout = "ASYNC_EXEC_TIMEOUT"
	// maxAsyncTimeout is the longest time-out, in seconds.
	maxAsyncTimeout = 604_800
)

// countJobs is E18.
func (c *call) countJobs(ctx context.Context) (*rest.Response, error) {
	active, inactive, err := sap.On(c.service.Store).JobCount(ctx, c.scope)
	if err != nil {
		return nil, err
	}
	return ok(countBody{Active: active, Inactive: inactive})
}

// getParameters is the GET of E19.
func (c *call) getParameters(ctx context.Context) (*rest.Response, error) {
	s, err := sap.On(c.service.Store).Settings(ctx, c.scope)
	if err != nil {
		return nil, err
	}
	return ok(parametersBody{Config: []parameterBody{{Name: asyncTimeout, Value: strconv.Itoa(int(s.AsyncExecTimeout / time.Second))}}})
}

// setParameters is the PUT of E19. The parameters hold for all tenants, so only the provider may
// set them.
func (c *call) setParameters(ctx context.Context) (*rest.Response, error) {
	if !c.provider {
		return nil, forbidden()
	}
	seconds, faults := readParameters(c.Body)
	if len(faults) > 0 {
		return nil, invalid(inAction, faults...)
	}
	return c.write(ctx, func(w sap.Write) (sap.Result, error) {
		return sap.On(c.service.Store).SetTimeout(ctx, c.scope, w, seconds)
	}, success)
}

// readParameters reads the body of E19: the time-out in seconds.
func readParameters(body []byte) (seconds int, faults []fault) {
	v, faults := readObject(body)
	if len(faults) > 0 {
		return 0, faults
	}
	timeout := v.Get(asyncTimeout)
	if timeout == nil || len(v.Members) != 1 {
		return 0, []fault{{text: "Unallowed Configuration"}}
	}
	const incorrect = "Incorrect " + asyncTimeout + " value - "
	text := timeout.Text
	if timeout.Kind == '0' {
		text = timeout.Raw
	}
	digits := strings.TrimPrefix(text, "-")
	number, err := strconv.ParseInt(text, 10, 64)
	switch {
	case !isDigits(digits):
		return 0, []fault{{text: incorrect + asyncTimeout + " must be a number"}}
	case digits != text || err == nil && number == 0:
		return 0, []fault{{text: incorrect + "value for " + asyncTimeout + " must be positive (provided " + cut(text) + ")"}}
	case err != nil || number > maxAsyncTimeout:
		return 0, []fault{{text: incorrect + "maximum value for " + asyncTimeout + " is " + strconv.Itoa(maxAsyncTimeout)}}
	}
	return int(number), nil
}

// listActions is E22 (S-27).
func (c *call) listActions(ctx context.Context) (*rest.Response, error) {
	text, given := c.Query.Get("jobId")
	if !given {
		return nil, invalid(listingActions, fault{text: "'jobId' is a required parameter"})
	}
	job, err := jobID(text)
	if err != nil {
		return nil, err
	}
	schedule := uuid.Nil
	if text, given := c.Query.Get("scheduleId"); given {
		if schedule, err = parseUUID(text); err != nil {
			return nil, err
		}
	}
	list, total, err := sap.On(c.service.Store).Actions(ctx, c.scope, job, schedule)
	if err != nil {
		return nil, err
	}
	b := actionsBody{Total: total, Results: make([]actionBody, len(list))}
	for i, a := range list {
		b.Results[i] = actionBody{At: formatTime(a.At, stamp), Action: a.Action, User: a.User, JobID: a.JobID, Text: a.Text}
		if a.Schedule != uuid.Nil {
			b.Results[i].Schedule = &a.Schedule
		}
	}
	return ok(b)
}
