package bind

import (
	"strconv"

	"github.com/jobagent/jobagent/testenv/tsqld/compile/bind/from"
	"github.com/jobagent/jobagent/testenv/tsqld/compile/bind/names"
	"github.com/jobagent/jobagent/testenv/tsqld/mserr"
	"github.com/jobagent/jobagent/testenv/tsqld/syntax"
)

// Binder binds one statement.
type Binder struct{ from.Binder }

// New returns a binder for one statement, whose names are resolved in the current database. hints
// are those of OPTION. With emptyPast, sources with READPAST are empty tables. deduction has the
// parameters without a declaration; nil for none. Errors: 911 and 916 for the current database, 310
// for a hint out of range.
func New(scope names.Scope, hints []*syntax.Option, emptyPast bool, deduction *names.Deduction) (*Binder, error) {
	b := &Binder{}
	var err error
	if b.Resolver, err = names.New(scope, emptyPast, deduction); err != nil {
		return nil, err
	}
	b.Queries, b.MaxRecursion = b, 100
	return b, b.hints(hints)
}

// hints reads OPTION (...). Only MAXRECURSION has an effect; all other hints are for SQL Server's
// optimizer and are ignored. Error 310 for a MAXRECURSION out of range.
func (b *Binder) hints(hints []*syntax.Option) error {
	for _, h := range hints {
		if h.Name != "MAXRECURSION" {
			continue
		}
		lit, ok := h.Value.(*syntax.Literal)
		if !ok {
			return mserr.Syntax("MAXRECURSION")
		}
		n, err := strconv.Atoi(lit.Text)
		if err != nil || n < 0 || n > 32767 {
			return mserr.Of(310, lit.Text)
		}
		b.MaxRecursion = n
	}
	return nil
}
