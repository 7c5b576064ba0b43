package names

import (
	"strings"

	"github.com/jobagent/jobagent/testenv/tsqld/catalog"
	"github.com/jobagent/jobagent/testenv/tsqld/compile/tree"
	"github.com/jobagent/jobagent/testenv/tsqld/mserr"
	"github.com/jobagent/jobagent/testenv/tsqld/syntax"
	"github.com/jobagent/jobagent/testenv/tsqld/types"
)

// OfDatabase returns a type with the collation that literals, variables and function results have
// in the current database.
func (b *Resolver) OfDatabase(t types.Type) types.Type {
	if t.IsCharacter() {
		t.Collation = b.Place.DB.Collation()
	}
	return t
}

// CollationNamed returns the collation of a COLLATE clause. Error 448 for an unknown name.
func (b *Resolver) CollationNamed(name string) (types.Collation, error) {
	if strings.EqualFold(name, "database_default") {
		return b.Place.DB.Collation(), nil
	}
	c, ok := types.CollationByName(name)
	if !ok {
		return c, mserr.InvalidCollation(name)
	}
	return c, nil
}

// LocalTable returns a temporary table or table variable, or nil. Views and functions cannot name
// one.
func (b *Resolver) LocalTable(name string) *catalog.Table {
	if b.Place.Owner >= 0 || b.Place.System {
		return nil
	}
	return b.Scope.LocalTable(name)
}

// CheckItems refuses a select list with too many elements: error 1056.
func (b *Resolver) CheckItems(r *tree.Query) error {
	if len(r.Columns) > mostElements {
		return mserr.TooManyElements(MaxElements)
	}
	return b.Charge()
}

// NoteLock records that a source asks for locks.
func (b *Resolver) NoteLock(past bool) {
	b.Needs.Locks = !b.EmptyPast
	b.Needs.OtherLocks = b.Needs.OtherLocks || !past
}

// IsTransition reports whether a name is that of one of the tables of a trigger.
func IsTransition(name string) bool {
	return strings.EqualFold(name, "inserted") || strings.EqualFold(name, "deleted")
}

// Transition returns the table inserted or deleted of the running trigger, or nil.
func (b *Resolver) Transition(name *syntax.ObjectName) *catalog.Table {
	if len(name.Parts) != 1 || !IsTransition(name.Last()) {
		return nil
	}
	return b.LocalTable(name.Last())
}
