package compile

import (
	"slices"
	"strings"

	"github.com/jobagent/jobagent/testenv/tsqld/catalog"
	"github.com/jobagent/jobagent/testenv/tsqld/mserr"
	"github.com/jobagent/jobagent/testenv/tsqld/syntax"
	"github.com/jobagent/jobagent/testenv/tsqld/types"
)

// InsteadOf is the error of a statement whose target is a view with an INSTEAD OF trigger for it:
// the trigger runs in its place.
type InsteadOf struct {
	Database int
	View     *catalog.View
	Trigger  *catalog.Trigger
	Event    string // INSERT, UPDATE or DELETE
}

// Error implements error.
func (e *InsteadOf) Error() string { return e.Unwrap().Error() }

// Unwrap returns the error of callers that cannot fire triggers.
func (e *InsteadOf) Unwrap() error {
	return mserr.NotSupported("a statement that would fire the trigger %s", e.Trigger.Name)
}

// insteadOf returns an [*InsteadOf] if a view has an enabled trigger for the event. columns are the
// columns that the statement names. Error 207.
func insteadOf(database int, v *catalog.View, event string, columns []string) error {
	i := slices.IndexFunc(v.Triggers, func(tr *catalog.Trigger) bool {
		return !tr.Disabled && slices.Contains(tr.Events, event)
	})
	if i < 0 {
		return nil
	}
	for _, name := range columns {
		if !slices.ContainsFunc(v.Columns, func(c types.Column) bool { return catalog.Fold(c.Name) == catalog.Fold(name) }) {
			return mserr.InvalidColumn(name)
		}
	}
	return &InsteadOf{Database: database, View: v, Trigger: v.Triggers[i], Event: event}
}

// insertInstead is insteadOf for the target of an INSERT.
func (b *binder) insertInstead(ts syntax.TableSource, columns []syntax.Ident) error {
	name, ok := ts.(*syntax.TableName)
	if !ok || strings.HasPrefix(name.Name.Last(), "#") {
		return nil
	}
	db, o, err := b.object(name.Name)
	if err != nil {
		return err
	}
	v, ok := o.(*catalog.View)
	if !ok {
		return nil
	}
	var names []string
	for _, c := range columns {
		names = append(names, c.Name)
	}
	return insteadOf(db.ID, v, "INSERT", names)
}
