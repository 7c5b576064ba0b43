package ddl

import (
	"strings"

	"github.com/jobagent/jobagent/testenv/tsqld/catalog"
	"github.com/jobagent/jobagent/testenv/tsqld/module"
	"github.com/jobagent/jobagent/testenv/tsqld/mserr"
	"github.com/jobagent/jobagent/testenv/tsqld/session"
	"github.com/jobagent/jobagent/testenv/tsqld/syntax"
)

// createTempProcedure executes CREATE, ALTER and CREATE OR ALTER PROCEDURE #name. A rollback does
// not undo it.
func (r modules) createTempProcedure(st *syntax.CreateProcedureStmt, m *catalog.Module, params []catalog.Param) error {
	name := st.Name.Last()
	if strings.HasPrefix(name, "##") {
		return mserr.NotSupported("a global temporary procedure")
	}
	s := r.s
	old := s.TempProcedures[catalog.Fold(name)]
	switch {
	case st.Verb == syntax.Alter && old == nil:
		return mserr.InvalidObject(st.Name.String())
	case st.Verb == syntax.Create && old != nil:
		return mserr.ObjectExists(name).WithState(3)
	}
	h := catalog.Header{Name: name, SchemaID: catalog.SchemaDBO, Kind: catalog.KindProcedure, ObjectID: session.NewLocalID()}
	if old != nil {
		h.ObjectID = old.ObjectID
	}
	p := &catalog.Procedure{
		Header: h, Params: params, Recompile: st.Options.Recompile, DefaultSchema: s.DefaultSchema(),
	}
	module.Copy(&p.Module, m)
	if s.TempProcedures == nil {
		s.TempProcedures = map[string]*session.TempProcedure{}
	}
	s.TempProcedures[catalog.Fold(name)] = &session.TempProcedure{Procedure: p, Database: s.DatabaseID}
	return nil
}

// dropTempProcedure executes DROP PROCEDURE #name.
func (r modules) dropTempProcedure(st *syntax.DropStmt, n *syntax.ObjectName) error {
	key := catalog.Fold(n.Last())
	if r.s.TempProcedures[key] == nil && !st.IfExists {
		return mserr.CannotDrop("drop", "procedure", n.Last())
	}
	delete(r.s.TempProcedures, key)
	return nil
}
