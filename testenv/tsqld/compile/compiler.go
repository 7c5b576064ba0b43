package compile

import (
	"errors"

	"github.com/jobagent/jobagent/testenv/tsqld/catalog"
	"github.com/jobagent/jobagent/testenv/tsqld/compile/bind"
	"github.com/jobagent/jobagent/testenv/tsqld/compile/bind/names"
	"github.com/jobagent/jobagent/testenv/tsqld/compile/plan"
	"github.com/jobagent/jobagent/testenv/tsqld/meter"
	"github.com/jobagent/jobagent/testenv/tsqld/mserr"
	"github.com/jobagent/jobagent/testenv/tsqld/syntax"
	"github.com/jobagent/jobagent/testenv/tsqld/types"
)

// Compiler compiles the statements of one scope. A Compiler keeps no state between calls. All
// errors are *mserr.Error without a line number.
type Compiler struct {
	scope     names.Scope
	deduction *names.Deduction // parameters without a declaration; nil for none
	emptyPast bool             // sources with READPAST are compiled as empty tables
}

// New returns a compiler for the statements of a scope.
func New(scope names.Scope) *Compiler { return &Compiler{scope: scope} }

// bind calls f with a new binder that has read the hints of OPTION.
func (c *Compiler) bind(hints []*syntax.Option, f func(*bind.Binder) error) error {
	b, err := bind.New(c.scope, hints, c.emptyPast, c.deduction)
	if err == nil {
		err = f(b)
	}
	return clientError(err)
}

// Type resolves a type as written. The result is a system type, an alias type (also in the second
// result) or a table type (the third result; the first is then zero). Missing lengths have the
// defaults of a declaration.
func (c *Compiler) Type(
	ref *syntax.TypeRef,
) (t types.Type, alias *catalog.AliasType, table *catalog.TableType, err error) {
	err = c.bind(nil, func(b *bind.Binder) error {
		t, alias, table, err = b.AnyType(ref, types.Named)
		return err
	})
	return t, alias, table, err
}

// Deducing returns a compiler that accepts the parameters of d and notes their types. Its plans
// must not run.
func (c *Compiler) Deducing(d *names.Deduction) *Compiler {
	r := *c
	r.deduction = d
	return &r
}

// forEmptyPast returns a compiler of plans in which sources with READPAST are empty.
func (c *Compiler) forEmptyPast() *Compiler {
	r := *c
	r.emptyPast = true
	return &r
}

// needsPastPlan reports whether a second plan is needed: a source has READPAST, and no other source
// asks for locks, which the second plan would not take.
func (c *Compiler) needsPastPlan(n *plan.Needs) bool {
	return !c.emptyPast && len(n.ReadPast) > 0 && !n.OtherLocks
}

// clientError converts an error of this package's exported functions to a *mserr.Error. It leaves a
// cancelled request (*meter.Stopped) unchanged.
func clientError(err error) error {
	var e *mserr.Error
	var stopped *meter.Stopped
	if err == nil || errors.As(err, &e) || errors.As(err, &stopped) {
		return err
	}
	return mserr.NotSupported("this expression (%v)", err)
}
