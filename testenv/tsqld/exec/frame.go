package exec

import (
	"github.com/jobagent/jobagent/testenv/tsqld/catalog"
	"github.com/jobagent/jobagent/testenv/tsqld/session"
	"github.com/jobagent/jobagent/testenv/tsqld/trigger"
	"github.com/jobagent/jobagent/testenv/tsqld/types"
	"github.com/jobagent/jobagent/testenv/tsqld/unit"
)

// frameKind distinguishes activations.
type frameKind uint8

const (
	batchFrame frameKind = iota
	procFrame
	functionFrame
	dynamicFrame // EXEC (text), sp_executesql, prepared statements
)

// frame is one activation of a unit.
type frame struct {
	parent *frame // frame of the caller; nil for a request
	kind   frameKind
	fired  *trigger.Body // the body of a trigger, which sends DONE as the statement that fired it; else nil
	unit   *unit.Unit
	level  int // depth of frames, from 0; part of the SQLite names of the frame's temporary tables

	name      string // name of the module for ERROR_PROCEDURE; "" in batches
	procID    int32
	schema    string // default schema for one-part names
	owner     int    // owner of the module, which starts its ownership chain; -1 in batches
	nestLevel int    // @@NESTLEVEL
	savedOpts session.Options
	vars      map[string]*variable
	tables    map[string]*tableVar
	temps     session.TempTables // temporary tables visible to the caller; restored at the end
	cursors   map[string]*boundCursor
	line      int32       // line of the current statement
	tries     int         // open TRY blocks of this frame
	identity  types.Value // SCOPE_IDENTITY()
	status    int32       // return code of a procedure
	worst     uint8       // severity of the worst error that the own statements raised, caught or not
	returned  bool        // RETURN set the return code
	result    types.Value // return value of a scalar function
}

// variable is a scalar variable, a cursor variable or a parameter.
type variable struct {
	typ    types.Type
	val    types.Value
	cursor *boundCursor // cursor of a cursor variable; nil if none is allocated
	size   int          // size of val as counted by the session's meter
	isCur  bool
}

// tableVar is a table variable or a table-valued parameter.
type tableVar struct {
	name     string
	table    *catalog.Table
	readOnly bool // table-valued parameter
	created  bool // the SQLite table exists
}

// variable returns the variable with a name, or nil.
func (f *frame) variable(name string) *variable { return f.vars[catalog.Fold(name)] }

// tableVar returns the table variable with a name, or nil.
func (f *frame) tableVar(name string) *tableVar { return f.tables[catalog.Fold(name)] }

// declare adds a scalar variable.
func (f *frame) declare(name string, t types.Type, v types.Value) *variable {
	x := &variable{typ: t, val: v}
	if f.vars == nil {
		f.vars = map[string]*variable{}
	}
	f.vars[catalog.Fold(name)] = x
	return x
}

// outerTemps returns the temporary tables of the caller, nil in a batch.
func (f *frame) outerTemps() session.TempTables {
	if f.kind == batchFrame {
		return nil
	}
	return f.temps
}
