package call

import (
	"fmt"
	"strings"
)

// defaultLimit is the number of rows that a list without a limit returns.
const defaultLimit = 1_000_000

// Filter collects the conditions of a query over a view.
type Filter struct {
	where []string
	// Args are the arguments of the query. The first one is the limit of rows.
	Args []any
}

// NewFilter returns a filter of at most limit rows; 0 means 1000000.
func NewFilter(limit int) *Filter {
	if limit <= 0 {
		limit = defaultLimit
	}
	return &Filter{Args: []any{limit}}
}

// Add adds a condition. Each %s in it is replaced by the parameter of the next value.
func (f *Filter) Add(condition string, values ...any) {
	names := make([]any, 0, len(values))
	for _, v := range values {
		f.Args = append(f.Args, v)
		names = append(names, fmt.Sprintf("@p%d", len(f.Args)))
	}
	f.where = append(f.where, fmt.Sprintf(condition, names...))
}

// Text returns the WHERE clause; it is empty without conditions.
func (f *Filter) Text() string {
	if len(f.where) == 0 {
		return ""
	}
	return "\nWHERE " + strings.Join(f.where, "\n    AND ")
}

// jobNamesInQuery bounds the names in a query: each is a parameter, of which a call may have 2100.
const jobNamesInQuery = 1000

// Jobs adds the condition that a column has one of the names of jobs, unless names is nil or has so
// many that all jobs are read.
func (f *Filter) Jobs(column string, names []string) {
	switch {
	case names == nil || len(names) > jobNamesInQuery:
	case len(names) == 0:
		f.Add("1 = 0")
	default:
		In(f, column, names)
	}
}
