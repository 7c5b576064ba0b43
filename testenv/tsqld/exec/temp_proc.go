package exec

import (
	"strings"

	"github.com/jobagent/jobagent/testenv/tsqld/catalog"
	"github.com/jobagent/jobagent/testenv/tsqld/mserr"
	"github.com/jobagent/jobagent/testenv/tsqld/session"
	"github.com/jobagent/jobagent/testenv/tsqld/syntax"
)

// tempProcedure is a local temporary procedure (#name). It is visible only to its session and
// exists until it is dropped or the session is reset or closed (documentation of CREATE PROCEDURE).
// It runs in the database in which it was created, with the permissions of the caller.
type tempProcedure struct {
	*catalog.Procedure
	database int
}

// isTempProcedure reports whether a name is that of a temporary procedure. Global ones (##name) are
// not supported.
func isTempProcedure(name string) bool { return strings.HasPrefix(name, "#") }

// createTempProcedure executes CREATE, ALTER and CREATE OR ALTER PROCEDURE #name. A rollback does
// not undo it.
func (r *run) createTempProcedure(st *syntax.CreateProcedureStmt, m *catalog.Module, params []catalog.Param) error {
	name := st.Name.Last()
	if strings.HasPrefix(name, "##") {
		return mserr.NotSupported("global temporary procedures")
	}
	s := r.s
	old := s.tempProcs[catalog.Fold(name)]
	switch {
	case st.Verb == syntax.Alter && old == nil:
		return mserr.InvalidObject(st.Name.String())
	case st.Verb == syntax.Create && old != nil:
		return mserr.ObjectExists(name)
	}
	h := catalog.Header{Name: name, SchemaID: catalog.SchemaDBO, Kind: catalog.KindProcedure, ObjectID: session.NewLocalID()}
	if old != nil {
		h.ObjectID = old.ObjectID
	}
	p := &catalog.Procedure{
		Header: h, Params: params, Recompile: st.Options.Recompile, DefaultSchema: s.DefaultSchema(),
	}
	copyModule(&p.Module, m)
	if s.tempProcs == nil {
		s.tempProcs = map[string]*tempProcedure{}
	}
	s.tempProcs[catalog.Fold(name)] = &tempProcedure{p, s.DatabaseID}
	return nil
}

// callTempProcedure executes EXECUTE #name.
func (r *run) callTempProcedure(name *syntax.ObjectName, args []callArg) (result, error) {
	p := r.s.tempProcs[catalog.Fold(name.Last())]
	if p == nil {
		return result{}, mserr.NoProcedure(name.String())
	}
	d := r.s.DatabaseByID(p.database)
	if d == nil {
		return result{}, mserr.NoProcedure(name.String())
	}
	code, err := r.callProcedure(d, p.Procedure, args)
	return statusOf(code), err
}

// dropTempProcedure executes DROP PROCEDURE #name.
func (r *run) dropTempProcedure(st *syntax.DropStmt, n *syntax.ObjectName) error {
	key := catalog.Fold(n.Last())
	if r.s.tempProcs[key] == nil && !st.IfExists {
		return mserr.CannotDrop("drop", "procedure", n.Last())
	}
	delete(r.s.tempProcs, key)
	return nil
}
