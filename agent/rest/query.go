package rest

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
)

// parseQuery parses a raw query. It is split at & only, since SAP's clients send semicolons in
// values (S-5). A parameter that is given twice, and an invalid escape, are errors.
func parseQuery(raw string) (Query, error) {
	if raw == "" {
		return nil, nil
	}
	q := make(Query, 0, 4)
	for part := range strings.SplitSeq(raw, "&") {
		if part == "" {
			continue
		}
		name, value, _ := strings.Cut(part, "=")
		name, err := url.QueryUnescape(name)
		if err != nil {
			return q, invalidQuery("", "The name of a query parameter has an invalid escape.")
		}
		if value, err = url.QueryUnescape(value); err != nil {
			return q, invalidQuery(name, fmt.Sprintf("The query parameter '%s' has an invalid escape.", name))
		}
		if _, twice := q.Get(name); twice {
			return q, invalidQuery(name, fmt.Sprintf("The query parameter '%s' is given twice.", name))
		}
		q = append(q, QueryValue{name, value})
	}
	return q, nil
}

// canonical gives the parameters of an operation of an ARM surface the names of its description:
// Azure Resource Manager takes names in any case.
func (q Query) canonical(op *Operation) (Query, error) {
	seen := map[string]bool{}
	for i, one := range q {
		for _, name := range append([]string{"api-version", "$skiptoken"}, op.queryNames()...) {
			if strings.EqualFold(one.Name, name) {
				q[i].Name = name
			}
		}
		if seen[q[i].Name] {
			return q, invalidQuery(q[i].Name, fmt.Sprintf("The query parameter '%s' is given twice.", q[i].Name))
		}
		seen[q[i].Name] = true
	}
	return q, nil
}

// queryNames returns the names of the parameters of the operation's query.
func (op *Operation) queryNames() (names []string) {
	for _, p := range op.Query {
		names = append(names, p.Name)
	}
	return names
}

// invalidQuery returns the error about a query parameter.
func invalidQuery(name, message string) error {
	return &Error{Status: http.StatusBadRequest, Code: CodeInvalidQuery, Message: message, Target: name}
}
