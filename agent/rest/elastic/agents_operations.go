package elastic

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/jobagent/jobagent/agent/rest"
	"github.com/jobagent/jobagent/controldb/account"
)

// The bodies of operations.
type (
	acceptedView struct {
		Operation string `json:"operation" enum:"UpsertJobAccount DropJobAccount"`
		StartTime string `json:"startTime" format:"date-time"`
	}
	operationView struct {
		Name      string          `json:"name"`
		Status    string          `json:"status" enum:"InProgress Succeeded Failed"`
		StartTime string          `json:"startTime" format:"date-time"`
		Error     *operationError `json:"error,omitempty"`
	}
	operationError struct {
		Code    string `json:"code"`
		Message string `json:"message"`
	}
)

// agentTime formats an instant for an answer.
func agentTime(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.9999999Z07:00") }

// unfinished returns the answer to a change whose operation has not ended (202) or has failed (an
// error), and nil if the operation has succeeded.
func (a *agents) unfinished(r *rest.Request, e *rest.Entry, o account.Operation) (*rest.Response, error) {
	switch o.Status {
	case account.OperationSucceeded:
		return nil, nil
	case account.OperationFailed:
		return nil, operationFailure(o)
	}
	return &rest.Response{
		Status: http.StatusAccepted, Header: a.operationHeader(r, e, o.ID, true),
		Body: acceptedView{Operation: o.Kind, StartTime: agentTime(o.StartTime)},
	}, nil
}

// operationFailure is the error of an operation that has failed.
func operationFailure(o account.Operation) error {
	status := http.StatusConflict
	if o.ErrorCode == "OperationTimedOut" {
		status = http.StatusInternalServerError
	}
	return &rest.Error{Status: status, Code: rest.Code(o.ErrorCode), Message: o.ErrorMessage}
}

// operationHeader returns the headers with which clients follow an operation.
func (a *agents) operationHeader(r *rest.Request, e *rest.Entry, id uuid.UUID, async bool) http.Header {
	version, _ := r.Query.Get("api-version")
	at := func(kind string) string {
		return fmt.Sprintf("%s/subscriptions/%s/resourceGroups/%s/providers/Microsoft.Sql/locations/%s/%s/%s?api-version=%s",
			r.PublicURL, e.Subscription, url.PathEscape(e.ResourceGroup), url.PathEscape(e.Location), kind, id, url.QueryEscape(version))
	}
	header := a.retryLater()
	header.Set("Location", at("jobAgentOperationResults"))
	if async {
		header.Set("Azure-AsyncOperation", at("jobAgentAzureAsyncOperation"))
	}
	return header
}

// retryLater returns the header that tells clients when to ask again.
func (a *agents) retryLater() http.Header {
	header := http.Header{}
	if a.pollAfter >= time.Second {
		header.Set("Retry-After", strconv.Itoa(int(a.pollAfter/time.Second)))
	}
	return header
}

// maxRemembered bounds the operations whose database is remembered.
const maxRemembered = 10_000

// remember records in which database an operation was begun.
func (a *agents) remember(id uuid.UUID, e *rest.Entry) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.begun) >= maxRemembered {
		clear(a.begun)
	}
	a.begun[id] = e
}

// findOperation returns the operation of a path, and its database. Any front finds it: the
// databases of the subscription are asked.
func (a *agents) findOperation(ctx context.Context, r *rest.Request) (*rest.Entry, account.Operation, error) {
	absent := agentFault(http.StatusNotFound, "OperationIdNotFound", "", "The operation with the id '%s' was not found.", r.Path["operation"])
	id, err := uuid.Parse(r.Path["operation"])
	if err != nil {
		return nil, account.Operation{}, absent
	}
	entries, err := a.directory.InSubscription(r.Path["subscription"])
	if err != nil {
		return nil, account.Operation{}, err
	}
	a.mu.Lock()
	first := a.begun[id]
	a.mu.Unlock()
	var failed error
	visit := func(e *rest.Entry) (account.Operation, bool) {
		if group, ok := r.Path["resourceGroup"]; ok && !strings.EqualFold(group, e.ResourceGroup) ||
			normalized(r.Path["location"]) != normalized(e.Location) {
			return account.Operation{}, false
		}
		o, ok, err := account.On(e.Store).Operation(ctx, id)
		if err != nil && away(err) && failed == nil {
			failed = err
		}
		return o, ok && err == nil
	}
	if first != nil {
		if o, ok := visit(first); ok {
			return first, o, nil
		}
	}
	for _, e := range entries {
		if e != first {
			if o, ok := visit(e); ok {
				a.remember(id, e)
				return e, o, nil
			}
		}
	}
	if failed != nil {
		return nil, account.Operation{}, failed // it may be there
	}
	return nil, account.Operation{}, absent
}

// operationStatus handles the URL of Azure-AsyncOperation.
func (a *agents) operationStatus(ctx context.Context, r *rest.Request) (*rest.Response, error) {
	_, o, err := a.findOperation(ctx, r)
	if err != nil {
		return nil, err
	}
	view := operationView{Name: o.ID.String(), Status: o.Status, StartTime: agentTime(o.StartTime)}
	response := &rest.Response{Status: http.StatusOK}
	switch o.Status {
	case account.OperationInProgress:
		response.Header = a.retryLater()
	case account.OperationFailed:
		view.Error = &operationError{Code: o.ErrorCode, Message: o.ErrorMessage}
	}
	response.Body = view
	return response, nil
}

// operationResult handles the URL of Location.
func (a *agents) operationResult(ctx context.Context, r *rest.Request) (*rest.Response, error) {
	e, o, err := a.findOperation(ctx, r)
	if err != nil {
		return nil, err
	}
	switch {
	case o.Status == account.OperationInProgress:
		return &rest.Response{
			Status: http.StatusAccepted, Header: a.operationHeader(r, e, o.ID, false),
			Body: acceptedView{Operation: o.Kind, StartTime: agentTime(o.StartTime)},
		}, nil
	case o.Status == account.OperationFailed:
		return nil, operationFailure(o)
	case o.Kind == account.OperationDrop:
		return &rest.Response{Status: http.StatusNoContent}, nil
	}
	agent, err := a.read(ctx, e)
	if err != nil {
		return nil, err
	}
	if agent.Name == "" { // deleted meanwhile
		return &rest.Response{Status: http.StatusNoContent}, nil
	}
	return &rest.Response{Status: http.StatusOK, Body: a.view(found{entry: e, agent: agent})}, nil
}
