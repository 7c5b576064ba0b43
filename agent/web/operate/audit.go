package operate

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/jobagent/jobagent/agent/web/page"
	"github.com/jobagent/jobagent/controldb/auditlog"
	"github.com/jobagent/jobagent/controldb/caller"
)

const (
	// auditRows is the number of entries of a page.
	auditRows = 50
	// auditBack is the number of entries that a search examines. It bounds the cost of a search
	// that finds little; the page leads to the entries before.
	auditBack = 20_000
)

// auditKinds are the kinds of objects that the filter offers; any other may be given, too.
var auditKinds = []string{
	"Job", "JobStep", "Schedule", "Calendar", "Backfill", "TargetGroup", "TargetGroupMember", "Limit", "Setting", "Secret", "SecretKey",
	"Credential", "PrivateEndpoint", "JobExecution", "Callback", "JobAgent", "JobCollection", "Alert", "Tenant",
}

// auditDoors are the doors of the filter.
var auditDoors = []string{"T-SQL", "CLI", "REST", caller.DoorWeb}

// auditData is what the page of the audit log shows.
type auditData struct {
	clock
	Filter   url.Values
	Kinds    []string
	Doors    []string
	Problems []string // of the filter
	Entries  []auditEntry
	// Older leads to the next page; empty: there is none. Searched says that the entries there have
	// not been searched yet.
	Older    string
	Searched bool
}

// auditEntry is an entry with its changes.
type auditEntry struct {
	auditlog.Entry
	Changes []change
	// Href is the page of the object, below the base; empty: it has none.
	Href string
}

// shownChanges is the number of values of an entry that are shown at once; a few more are not worth
// a click.
const shownChanges, fewChanges = 5, 2

// Shown are the first values of an entry, and Rest are the others, which a click shows.
func (e auditEntry) Shown() []change { return e.Changes[:len(e.Changes)-len(e.Rest())] }

// Rest is described at Shown.
func (e auditEntry) Rest() []change {
	if len(e.Changes) <= shownChanges+fewChanges {
		return nil
	}
	return e.Changes[shownChanges:]
}

// Label names the object. An id alone is shortened, because the link has all of it.
func (e auditEntry) Label() string {
	if e.ObjectName != "" {
		return e.ObjectName
	}
	if id, err := uuid.Parse(e.ObjectID); err == nil {
		return id.String()[:8]
	}
	return e.ObjectID
}

// change is a member that differs.
type change struct {
	Name          string
	Before, After *string // nil: the member was or is not there
}

// auditPage makes the page of the audit log.
func auditPage(ctx context.Context, r *page.Request) (*page.View, error) {
	q := r.HTTP.URL.Query()
	f, problems := auditFilter(q)
	d := &auditData{clock: clock{Now: r.Now, ages: true}, Filter: q, Kinds: auditKinds, Doors: auditDoors, Problems: problems}
	if len(problems) == 0 {
		if err := d.read(ctx, r, f); err != nil {
			return nil, err
		}
	}
	return &page.View{
		Title: "Audit log", Nav: "audit", Template: "audit", Data: d,
		Equivalents: append(page.CLI(auditCommand(f)...), page.Equivalent{Door: page.DoorTSQL, Text: auditQuery(f)}),
	}, nil
}

// read reads the entries.
func (d *auditData) read(ctx context.Context, r *page.Request, f auditlog.Filter) error {
	// The index on jobs finds the entries of one; without a filter all entries match.
	bounded := f.JobName == "" && f != (auditlog.Filter{Behind: f.Behind})
	f.Limit = auditRows + 1
	if bounded {
		from := f.Behind
		if from == 0 {
			last, err := auditlog.On(r.Store).Read(ctx, auditlog.Filter{Limit: 1})
			if err != nil {
				return err
			}
			if len(last) > 0 {
				from = last[0].ID + 1
			}
		}
		f.Back = max(from-auditBack-1, 0)
	}
	list, err := auditlog.On(r.Store).Read(ctx, f)
	if err != nil {
		return err
	}
	switch {
	case len(list) > auditRows:
		list = list[:auditRows]
		d.Older = d.href(list[auditRows-1].ID)
	case f.Back > 0:
		d.Older, d.Searched = d.href(f.Back+1), true
	}
	for _, e := range list {
		d.Entries = append(d.Entries, auditEntry{Entry: e, Changes: changes(e.Before, e.After), Href: objectPath(r, e)})
	}
	return nil
}

// href returns the address of the entries behind one.
func (d *auditData) href(behind int64) string {
	q := maps.Clone(d.Filter)
	q.Set("behind", strconv.FormatInt(behind, 10))
	return "?" + q.Encode()
}

// Value returns a field of the filter.
func (d *auditData) Value(name string) string { return d.Filter.Get(name) }

// Further reports whether fields of the filter that are rarely used are in use.
func (d *auditData) Further() bool {
	return slices.ContainsFunc([]string{"action", "door", "since", "until", "request"}, func(n string) bool { return d.Filter.Get(n) != "" })
}

// auditFilter reads the filter of the query.
func auditFilter(q url.Values) (f auditlog.Filter, problems []string) {
	get := func(name string) string { return strings.TrimSpace(q.Get(name)) }
	f = auditlog.Filter{
		Caller: get("caller"), JobName: get("job"), Action: strings.TrimPrefix(get("action"), "jobs."), Door: get("door"),
		ObjectKind: get("kind"), ObjectName: get("object"),
	}
	instant := func(name, label string) time.Time {
		text := get(name)
		if text == "" {
			return time.Time{}
		}
		t, err := page.ParseInstant(text)
		if err != nil {
			problems = append(problems, fmt.Sprintf("invalid %s %q: %s", label, text, err))
		}
		return t
	}
	f.Since, f.Until = instant("since", "beginning"), instant("until", "end")
	if text := get("request"); text != "" {
		id, err := uuid.Parse(text)
		if err != nil {
			problems = append(problems, fmt.Sprintf("invalid request %q: want a GUID", text))
		}
		f.Correlation = id
	}
	if text := get("behind"); text != "" {
		id, err := strconv.ParseInt(text, 10, 64)
		if err != nil || id < 1 {
			problems = append(problems, fmt.Sprintf("invalid page %q: want the number of an entry", text))
		}
		f.Behind = id
	}
	return f, problems
}

// auditCommand returns the arguments of the command line for a filter, as far as it has flags.
func auditCommand(f auditlog.Filter) []string {
	args := []string{"audit", "list"}
	add := func(flag, value string) {
		if value != "" {
			args = append(args, flag, value)
		}
	}
	add("--job", f.JobName)
	add("--who", f.Caller)
	add("--action", f.Action)
	if f.Correlation != uuid.Nil {
		add("--correlation-id", f.Correlation.String())
	}
	if !f.Since.IsZero() {
		add("--since", f.Since.Format(time.RFC3339))
	}
	if !f.Until.IsZero() {
		add("--until", f.Until.Format(time.RFC3339))
	}
	return args
}

// auditQuery returns a SELECT for a filter.
func auditQuery(f auditlog.Filter) string {
	var where []string
	add := func(condition string, value any, set bool) {
		if set {
			where = append(where, condition+page.Literal(value))
		}
	}
	add("job_name = ", f.JobName, f.JobName != "")
	add("caller = ", f.Caller, f.Caller != "")
	add("action = ", f.Action, f.Action != "")
	add("door = ", f.Door, f.Door != "")
	add("object_kind = ", f.ObjectKind, f.ObjectKind != "")
	add("object_name = ", f.ObjectName, f.ObjectName != "")
	add("correlation_id = ", f.Correlation, f.Correlation != uuid.Nil)
	add("time >= ", f.Since, !f.Since.IsZero())
	add("time < ", f.Until, !f.Until.IsZero())
	text := "SELECT TOP (50) * FROM jobs.audit_log"
	if len(where) > 0 {
		text += "\nWHERE " + strings.Join(where, "\n    AND ")
	}
	return text + "\nORDER BY entry_id DESC;"
}

// objectPath returns the page of the object of an entry; empty: it has none.
func objectPath(r *page.Request, e auditlog.Entry) string {
	switch e.ObjectKind {
	case "JobExecution":
		if id, err := uuid.Parse(e.ObjectID); err == nil {
			return r.Path("runs", id.String())
		}
	case "TargetGroup":
		if e.ObjectName != "" {
			return r.Path("groups", e.ObjectName)
		}
	case "Schedule":
		if e.JobName != "" && e.ObjectName != "" && e.ObjectName != e.JobName {
			return r.Path("schedules", e.JobName, e.ObjectName)
		}
	case "Limit":
		return r.Path("limits")
	}
	return ""
}

// changes compares two JSON objects member by member, in the order of names. A value that is not an
// object is shown whole.
func changes(before, after json.RawMessage) []change {
	was, is := members(before), members(after)
	names := map[string]bool{}
	for n := range was {
		names[n] = true
	}
	for n := range is {
		names[n] = true
	}
	var list []change
	for n := range names {
		c := change{Name: n}
		if v, ok := was[n]; ok {
			c.Before = &v
		}
		if v, ok := is[n]; ok {
			c.After = &v
		}
		list = append(list, c)
	}
	slices.SortFunc(list, func(a, b change) int { return cmp.Compare(a.Name, b.Name) })
	return list
}

// members returns the members of a JSON object as texts: strings as they are, all else as JSON.
func members(text json.RawMessage) map[string]string {
	if len(bytes.TrimSpace(text)) == 0 {
		return nil
	}
	var object map[string]json.RawMessage
	if err := json.Unmarshal(text, &object); err != nil || object == nil {
		return map[string]string{"": string(text)}
	}
	list := make(map[string]string, len(object))
	for n, v := range object {
		var s string
		if json.Unmarshal(v, &s) != nil || bytes.Equal(bytes.TrimSpace(v), []byte("null")) {
			s = string(v)
		}
		list[n] = s
	}
	return list
}
