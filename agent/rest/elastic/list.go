package elastic

import (
	"context"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/jobagent/jobagent/agent/rest"
	"github.com/jobagent/jobagent/controldb"
	"github.com/jobagent/jobagent/controldb/executions"
)

// maxTop is the largest page.
const maxTop = 1000

// list is the body of a list.
type list[T any] struct {
	Value    []T    `json:"value"`
	NextLink string `json:"nextLink,omitempty"`
}

// pageParameters describe $top, $skip and $skiptoken.
var pageParameters = []rest.Parameter{
	{Name: "$top", Type: "integer", Description: "Number of elements to return. Without it, pages follow each other by nextLink."},
	{Name: "$skip", Type: "integer", Description: "Number of elements to leave out first."},
	{Name: "$skiptoken", Type: "string", Description: "The place at which a page begins, from nextLink."},
}

// runParameters describe the filters of runs.
var runParameters = append([]rest.Parameter{
	{Name: "createTimeMin", Type: "string", Description: "Only what was created at or after this time."},
	{Name: "createTimeMax", Type: "string", Description: "Only what was created before this time."},
	{Name: "endTimeMin", Type: "string", Description: "Only what ended at or after this time."},
	{Name: "endTimeMax", Type: "string", Description: "Only what ended before this time."},
	{Name: "isActive", Type: "boolean", Description: "Only what is active, or only what is not."},
}, pageParameters...)

// page is a wanted page of a list whose elements follow each other by a key K.
type page[K any] struct {
	size int // elements of the page
	all  int // elements that the client wants; 0: all
	skip int64
	key  *K // the page begins behind it; nil: at the start
}

// token is the content of a $skiptoken.
type token[K any] struct {
	Key  K   `json:"k"`
	Left int `json:"n,omitempty"` // elements that the client still wants; 0: all
}

// readPage reads the parameters of a list. size is the size of pages.
func readPage[K any](r *rest.Request, size int) (page[K], error) {
	p := page[K]{size: size}
	number := func(name string, least int64) (int64, bool, error) {
		text, ok := r.Query.Get(name)
		if !ok {
			return 0, false, nil
		}
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil || n < least {
			return 0, false, badRequest(codeInvalidBody, name, "The query parameter '%s' is invalid: want a number of at least %d.", name, least)
		}
		return n, true, nil
	}
	top, ok, err := number("$top", 1)
	if err != nil {
		return p, err
	}
	if ok {
		p.all = int(min(top, 1<<31))
	}
	if p.skip, _, err = number("$skip", 0); err != nil {
		return p, err
	}
	if text, ok := r.Query.Get("$skiptoken"); ok {
		var t token[K]
		if err := controldb.ReadToken(text, &t); err != nil || t.Left < 0 {
			return p, badRequest(codeInvalidBody, "$skiptoken", "The query parameter '$skiptoken' is invalid: want one that a nextLink has.")
		}
		p.key, p.all = &t.Key, t.Left
	}
	if p.all > 0 {
		p.size = min(p.all, maxTop)
	}
	return p, nil
}

// rows bounds the rows that are read: one more than the page has, to know whether there are more.
func (p page[K]) rows() controldb.Page[K] {
	return controldb.Page[K]{After: p.key, Top: p.size + 1, Skip: p.skip}
}

// reachable leaves out of the views of rows those whose names are segments of dots: their ids, made
// short as clients do it, are those of other resources. Objects with such names are older than the
// rule of names.
func reachable[R, T any](views []T, rows []R, name func(R) string) []T {
	kept := views[:0]
	for i, view := range views {
		if !rest.HasDotSegment(name(rows[i])) {
			kept = append(kept, view)
		}
	}
	return kept
}

// result makes the body of a list from the rows that were read. id is the list's place.
func result[K, R, T any](p page[K], rows []R, at *place, r *rest.Request, id string, key func(R) K, view func(R) T) list[T] {
	l := list[T]{Value: []T{}}
	more := len(rows) > p.size
	if more {
		rows = rows[:p.size]
	}
	for _, row := range rows {
		l.Value = append(l.Value, view(row))
	}
	t := token[K]{}
	if p.all > 0 {
		t.Left = p.all - len(rows)
		more = more && t.Left > 0
	}
	if !more {
		return l
	}
	t.Key = key(rows[len(rows)-1])
	query := url.Values{}
	for _, q := range r.Query {
		if q.Name != "$top" && q.Name != "$skip" && q.Name != "$skiptoken" {
			query.Set(q.Name, q.Value)
		}
	}
	query.Set("$skiptoken", controldb.Token(t))
	l.NextLink = at.url(r, id, query)
	return l
}

func readRunFilter(r *rest.Request) (executions.Filter, error) {
	var f executions.Filter
	for name, dst := range map[string]*time.Time{
		"createTimeMin": &f.CreatedFrom, "createTimeMax": &f.CreatedBefore, "endTimeMin": &f.EndedFrom, "endTimeMax": &f.EndedBefore,
	} {
		text, ok := r.Query.Get(name)
		if !ok {
			continue
		}
		var t timestamp
		if err := t.UnmarshalText([]byte(text)); err != nil {
			return f, badRequest(codeInvalidBody, name, "The query parameter '%s' is invalid: %v.", name, err)
		}
		*dst = t.at
	}
	if text, ok := r.Query.Get("isActive"); ok {
		active, err := strconv.ParseBool(text)
		if err != nil {
			return f, badRequest(codeInvalidBody, "isActive", "The query parameter 'isActive' is invalid: want true or false.")
		}
		f.Active = &active
	}
	return f, nil
}

// answerPage answers with a page of a list. read reads its rows, and returns the list's place.
func answerPage[K, R, T any](
	at *place, r *rest.Request, read func(controldb.Page[K]) (id string, rows []R, err error), key func(R) K, view func(R) T,
) (*rest.Response, error) {
	p, err := readPage[K](r, at.cfg.PageSize)
	if err != nil {
		return nil, err
	}
	id, rows, err := read(p.rows())
	if err != nil {
		return nil, err
	}
	return &rest.Response{Status: http.StatusOK, Body: result(p, rows, at, r, id, key, view)}, nil
}

// answerNames answers with a page of the objects below a job agent that follow each other by name.
// read reads a page of them. beyond reports whether the last one is not of the page, although
// the page could have more; nil means never.
func answerNames[R, T any](
	ctx context.Context, at *place, r *rest.Request, resources string,
	read func(context.Context, controldb.Page[string]) ([]R, error), beyond func(R) bool, name func(R) string, view func(R) T,
) (*rest.Response, error) {
	p, err := readPage[string](r, at.cfg.PageSize)
	if err != nil {
		return nil, err
	}
	rows, err := read(ctx, p.rows())
	if err != nil {
		return nil, err
	}
	if n := len(rows); n > 0 && beyond != nil && beyond(rows[n-1]) {
		p.size = n - 1 // the page is shorter, and the last row shows that there are more
	}
	l := result(p, rows, at, r, at.id(resources), name, view)
	l.Value = reachable(l.Value, rows, name)
	return &rest.Response{Status: http.StatusOK, Body: l}, nil
}
