package exec

import (
	"github.com/jobagent/jobagent/testenv/tsqld/catalog"
	"github.com/jobagent/jobagent/testenv/tsqld/types"
)

// frameKind tells activations apart.
type frameKind uint8

const (
	batchFrame frameKind = iota
	procFrame
	functionFrame
	dynamicFrame // EXEC (text), sp_executesql, prepared statements
)

// frame is one activation of a unit.
type frame struct {
	parent *frame // the caller; nil for a request
	kind   frameKind
	unit   *unit
	level  int // depth of frames, from 0; part of the names of this frame's temporary objects

	name      string // of the module, as ERROR_PROCEDURE shows it; "" in batches
	procID    int32
	database  int    // id of the database in which names are resolved
	schema    string // default schema for one-part names
	owner     int    // principal that owns the module: the start of its ownership chain; -1 in batches
	nest      int    // @@NESTLEVEL
	savedOpts options
	vars      map[string]*variable
	tables    map[string]*tableVar
	temps     tempTables // temporary tables that its caller could see; restored at its end
	cursors   map[string]*cursor
	line      int32 // of the running statement
	tries     int   // TRY blocks that are open in this frame
	identity  types.Value
	status    int32       // return code of a procedure
	result    types.Value // of a scalar function
}

// variable is a scalar or cursor variable. A parameter is one, too.
type variable struct {
	name   string // with '@', as declared
	typ    types.Type
	val    types.Value
	cursor *cursor // of a cursor variable that is allocated
	kept   int     // what val takes, of the session's meter
	isCur  bool
}

// tableVar is a table variable or a table-valued parameter.
type tableVar struct {
	name     string
	table    *catalog.Table
	readOnly bool // table-valued parameter
	created  bool // its SQLite table exists
}

// variable finds a variable of the frame; nil if there is none.
func (f *frame) variable(name string) *variable { return f.vars[catalog.Fold(name)] }

// tableVar finds a table variable of the frame; nil if there is none.
func (f *frame) tableVar(name string) *tableVar { return f.tables[catalog.Fold(name)] }

// declare adds a scalar variable.
func (f *frame) declare(name string, t types.Type, v types.Value) *variable {
	x := &variable{name: name, typ: t, val: v}
	if f.vars == nil {
		f.vars = map[string]*variable{}
	}
	f.vars[catalog.Fold(name)] = x
	return x
}
