package scheduler

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/jobagent/jobagent/agent/rest"
	"github.com/jobagent/jobagent/agent/rest/internal/body"
	"github.com/jobagent/jobagent/agent/rest/internal/etag"
	"github.com/jobagent/jobagent/controldb"
	"github.com/jobagent/jobagent/controldb/dberror"
	"github.com/jobagent/jobagent/controldb/scheduler"
)

// Resource types.
const (
	typeCollection = "Microsoft.Scheduler/jobCollections"
	typeJob        = "Microsoft.Scheduler/jobCollections/jobs"
	typeHistory    = "Microsoft.Scheduler/jobCollections/jobs/history"
)

// page is a page of a list. NextLink is null on the last page.
type page[T any] struct {
	Value    []T     `json:"value"`
	NextLink *string `json:"nextLink"`
}

// collection is a job collection.
type collection struct {
	ID         string                        `json:"id,omitempty"`
	Type       string                        `json:"type,omitempty"`
	Name       string                        `json:"name,omitempty"`
	Location   string                        `json:"location,omitempty"`
	Tags       body.Field[map[string]string] `json:"tags,omitzero"`
	Properties collectionProperties          `json:"properties"`
}

type collectionProperties struct {
	SKU   *sku              `json:"sku,omitempty"`
	State string            `json:"state,omitempty" enum:"Enabled Disabled"`
	Quota body.Field[quota] `json:"quota,omitzero"`
}

type sku struct {
	Name string `json:"name,omitempty" enum:"Standard Free P10Premium P20Premium"`
}

type quota struct {
	MaxJobCount      *int           `json:"maxJobCount,omitempty"`
	MaxJobOccurrence *int           `json:"maxJobOccurrence,omitempty"`
	MaxRecurrence    *maxRecurrence `json:"maxRecurrence,omitempty"`
}

type maxRecurrence struct {
	Frequency string `json:"frequency,omitempty" enum:"minute hour day week month year"`
	Interval  *int   `json:"interval,omitempty"`
}

// collectionPath returns the path of a job collection: the id of the resource.
func collectionPath(e *rest.Entry, name string) string {
	return fmt.Sprintf("/subscriptions/%s/resourceGroups/%s/providers/Microsoft.Scheduler/jobCollections/%s",
		e.Subscription, url.PathEscape(e.ResourceGroup), url.PathEscape(name))
}

// collectionOf returns a job collection as it is shown.
func collectionOf(e *rest.Entry, c scheduler.Collection) collection {
	shown := collection{
		ID: collectionPath(e, c.Name), Type: typeCollection, Name: c.Name, Location: c.Location,
		Properties: collectionProperties{
			SKU: &sku{c.SKU}, State: c.State, Quota: body.Some(quota{
				MaxJobCount: &c.MaxJobCount, MaxJobOccurrence: c.MaxJobOccurrence,
				MaxRecurrence: &maxRecurrence{c.MaxRecurrenceFrequency, &c.MaxRecurrenceInterval},
			}),
		},
	}
	tags := map[string]string{}
	if c.Tags != "" && json.Unmarshal([]byte(c.Tags), &tags) == nil {
		shown.Tags = body.Some(tags)
	}
	return shown
}

func answerCollection(status int, e *rest.Entry, c scheduler.Collection) *rest.Response {
	return &rest.Response{
		Status: status, Header: http.Header{"Etag": {etag.New(c.ID.String(), c.Revision)}}, Body: collectionOf(e, c),
	}
}

// pageSize is the number of results of a page.
const pageSize = 100

// collectionToken is the place at which a list of collections goes on.
type collectionToken struct {
	Entry int    `json:"e"` // index among the entries of the path
	After string `json:"a"`
}

func (s *Surface) listCollections(ctx context.Context, r *rest.Request) (*rest.Response, error) {
	entries, err := s.entries(r)
	if err != nil {
		return nil, err
	}
	var at collectionToken
	if err := readToken(r, &at); err != nil {
		return nil, err
	}
	list := page[collection]{Value: []collection{}}
	for i := max(0, at.Entry); i < len(entries); i++ {
		room := pageSize - len(list.Value)
		found, err := scheduler.On(entries[i].Store).Collections(ctx, controldb.Page[string]{After: &at.After, Top: room + 1})
		if err != nil {
			return nil, err
		}
		for n, c := range found {
			if n == room {
				list.NextLink = nextLink(r, collectionToken{i, at.After})
				return &rest.Response{Status: http.StatusOK, Body: list}, nil
			}
			at.After = c.Name
			if !rest.HasDotSegment(c.Name) { // its id would be the one of another resource to many clients
				list.Value = append(list.Value, collectionOf(entries[i], c))
			}
		}
		at.After = ""
	}
	return &rest.Response{Status: http.StatusOK, Body: list}, nil
}

// readToken reads the parameter $skiptoken.
func readToken(r *rest.Request, place any) error {
	token, ok := r.Query.Get("$skiptoken")
	if !ok {
		return nil
	}
	if controldb.ReadToken(token, place) != nil {
		return badRequest("$skiptoken", "Invalid $skiptoken: want the one of a nextLink.")
	}
	return nil
}

// nextLink returns the address of the next page of a list.
func nextLink(r *rest.Request, place any) *string {
	query := url.Values{}
	for _, q := range r.Query {
		if q.Name != "$skip" {
			query.Set(q.Name, q.Value)
		}
	}
	query.Set("$skiptoken", controldb.Token(place))
	link := r.PublicURL + r.HTTP.URL.EscapedPath() + "?" + query.Encode()
	return &link
}

func (s *Surface) getCollection(ctx context.Context, r *rest.Request) (*rest.Response, error) {
	p, err := s.find(ctx, r)
	if err != nil {
		return nil, err
	}
	return answerCollection(http.StatusOK, p.Entry, p.collection), nil
}

// badRequest returns the error about one element of a request.
func badRequest(target, format string, args ...any) *rest.Error {
	message := fmt.Sprintf(format, args...)
	return &rest.Error{
		Status: http.StatusBadRequest, Code: codeBadRequest, Message: message, Target: target,
		Details: []rest.Detail{{Code: codeBadRequest, Message: message, Target: target}},
	}
}

// allFaults returns the error about several elements of a request; nil if there is none.
func allFaults(list []rest.Detail) error {
	if len(list) == 0 {
		return nil
	}
	e := &rest.Error{
		Status: http.StatusBadRequest, Code: codeBadRequest, Message: list[0].Message, Target: list[0].Target, Details: list,
	}
	if len(list) > 1 {
		e.Message = fmt.Sprintf("%s (%d more faults: see details.)", e.Message, len(list)-1)
	}
	return e
}

// sameResource checks id, type and name of a body, which are not needed, against the path.
func sameResource(path, kind, id, resourceType, name string, names ...string) (faults []rest.Detail) {
	fault := func(target, text string) {
		faults = append(faults, rest.Detail{
			Code: codeBadRequest, Target: target, Message: fmt.Sprintf("Invalid %s: it does not agree with the URL; want %s.", target[2:], text),
		})
	}
	if id != "" && !strings.EqualFold(id, path) {
		fault("$.id", "'"+path+"'")
	}
	if resourceType != "" && !strings.EqualFold(resourceType, kind) {
		fault("$.type", "'"+kind+"'")
	}
	if name != "" && !slices.ContainsFunc(names, func(n string) bool { return strings.EqualFold(n, name) }) {
		fault("$.name", "'"+names[0]+"'")
	}
	return faults
}

// maxRepeats bounds how often a change is tried again after another session was faster.
const maxRepeats = 50

// writeCollection replaces or merges a job collection.
func (s *Surface) writeCollection(ctx context.Context, r *rest.Request, merge bool) (*rest.Response, error) {
	var given collection
	if err := body.Decode(r.Body, &given, body.Options{FoldCase: true}); err != nil {
		return nil, err
	}
	if merge && !given.onlyState() {
		if err := r.Require(rest.RoleAdmin); err != nil {
			return nil, err
		}
	}
	condition := etag.Parse(r.HTTP.Header)
	for repeat := 0; ; repeat++ {
		p, err := s.find(ctx, r)
		var missing *rest.Error
		if errors.As(err, &missing) && missing.Code == codeNotFound && !merge {
			p.Entry, err = s.entryFor(r, given.Location)
		}
		if err != nil {
			return nil, err
		}
		spec := scheduler.CollectionSpec{Name: r.Path["collection"], Location: given.Location}
		old := p.collection
		if merge {
			// The current settings are overwritten by those that are given.
			current := collectionOf(p.Entry, old)
			given.overlay(&spec, current)
		}
		if spec.Location == "" && old.Revision == 0 {
			spec.Location = p.Location
		}
		given.overlay(&spec, given)
		path := collectionPath(p.Entry, cmp.Or(old.Name, spec.Name))
		if err := allFaults(append(sameResource(path, typeCollection, given.ID, given.Type, given.Name, spec.Name), given.faults()...)); err != nil {
			return nil, err
		}
		if spec.IfMatch, err = condition.Expect(old.ID.String(), old.Revision); err != nil {
			return nil, err
		}
		if merge && given.onlyState() {
			return s.patchState(ctx, p, given.Properties.State, spec.IfMatch)
		}
		free := spec.IfMatch == nil && merge // the merge is of this revision
		if free {
			spec.IfMatch = &old.Revision
		}
		put, err := scheduler.On(p.Store).SetCollection(ctx, spec)
		if errors.Is(err, dberror.ErrRevision) && free && repeat < maxRepeats {
			continue
		}
		if err != nil {
			return nil, err
		}
		status := http.StatusOK
		if put.Created {
			status = http.StatusCreated
		}
		return answerCollection(status, p.Entry, put.Object), nil
	}
}

// patchState enables or disables a job collection, which operators may.
func (s *Surface) patchState(ctx context.Context, p place, state string, ifMatch *int64) (*rest.Response, error) {
	c, err := scheduler.On(p.Store).EnableCollection(ctx, p.collection.Name, strings.EqualFold(state, "Enabled"), ifMatch)
	if err != nil {
		return nil, err
	}
	return answerCollection(http.StatusOK, p.Entry, c), nil
}

// onlyState reports whether a body has nothing but properties.state.
func (c collection) onlyState() bool {
	return c.Properties.State != "" && c.Location == "" && !c.Tags.Set && c.Properties.SKU == nil && !c.Properties.Quota.Set
}

// faults returns what is wrong in the values that procedures are not asked for.
func (c collection) faults() (faults []rest.Detail) {
	if state := c.Properties.State; state != "" && !strings.EqualFold(state, "Enabled") && !strings.EqualFold(state, "Disabled") {
		faults = append(faults, rest.Detail{
			Code: codeBadRequest, Target: "$.properties.state", Message: fmt.Sprintf("Invalid state '%.40s': want Enabled or Disabled.", state),
		})
	}
	return faults
}

// overlay copies the settings of from that are given to spec.
func (c collection) overlay(spec *scheduler.CollectionSpec, from collection) {
	if from.Properties.SKU != nil && from.Properties.SKU.Name != "" {
		spec.SKU = from.Properties.SKU.Name
	}
	spec.State = cmp.Or(from.Properties.State, spec.State)
	if from.Properties.Quota.Set {
		q := from.Properties.Quota.Value
		if from.Properties.Quota.Null {
			spec.MaxJobCount, spec.MaxJobOccurrence, spec.MaxRecurrenceFrequency, spec.MaxRecurrenceInterval = nil, nil, "", nil
		}
		if q.MaxJobCount != nil {
			spec.MaxJobCount = q.MaxJobCount
		}
		if q.MaxJobOccurrence != nil {
			spec.MaxJobOccurrence = q.MaxJobOccurrence
		}
		if m := q.MaxRecurrence; m != nil {
			spec.MaxRecurrenceFrequency = cmp.Or(m.Frequency, spec.MaxRecurrenceFrequency)
			if m.Interval != nil {
				spec.MaxRecurrenceInterval = m.Interval
			}
		}
	}
	if tags, ok := from.Tags.Get(); ok {
		text, err := json.Marshal(tags)
		if err == nil { // a map of texts
			spec.Tags = string(text)
		}
	} else if from.Tags.Set {
		spec.Tags = ""
	}
}

// entryFor returns the control database for a new collection: the only one of the resource group,
// or the one at its location.
func (s *Surface) entryFor(r *rest.Request, location string) (*rest.Entry, error) {
	list, err := s.entries(r)
	if err != nil {
		return nil, err
	}
	if len(list) == 1 {
		return list[0], nil
	}
	var known []string
	for _, e := range list {
		if plainLocation(e.Location) == plainLocation(location) {
			return e, nil
		}
		known = append(known, e.Location)
	}
	return nil, badRequest("$.location", "Invalid location '%.100s': want one of %s.", location, strings.Join(known, ", "))
}

// plainLocation returns a location for comparisons.
func plainLocation(location string) string {
	return strings.ToLower(strings.ReplaceAll(location, " ", ""))
}

func (s *Surface) deleteCollection(ctx context.Context, r *rest.Request) (*rest.Response, error) {
	p, err := s.find(ctx, r)
	if err != nil {
		return nil, err
	}
	ifMatch, err := etag.Parse(r.HTTP.Header).Expect(p.collection.ID.String(), p.collection.Revision)
	if err == nil {
		err = scheduler.On(p.Store).DeleteCollection(ctx, p.collection.Name, ifMatch)
	}
	if err != nil {
		return nil, err
	}
	return &rest.Response{Status: http.StatusOK}, nil
}

func (s *Surface) switchCollection(ctx context.Context, r *rest.Request, enabled bool) (*rest.Response, error) {
	p, err := s.find(ctx, r)
	if err == nil {
		_, err = scheduler.On(p.Store).EnableCollection(ctx, p.collection.Name, enabled, nil)
	}
	if err != nil {
		return nil, err
	}
	return &rest.Response{Status: http.StatusOK}, nil
}
