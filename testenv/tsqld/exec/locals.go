package exec

import (
	"errors"

	"github.com/jobagent/jobagent/testenv/tsqld/catalog"
	"github.com/jobagent/jobagent/testenv/tsqld/failure"
	"github.com/jobagent/jobagent/testenv/tsqld/module"
	"github.com/jobagent/jobagent/testenv/tsqld/mserr"
	"github.com/jobagent/jobagent/testenv/tsqld/session"
	"github.com/jobagent/jobagent/testenv/tsqld/syntax"
	"github.com/jobagent/jobagent/testenv/tsqld/types"
	"github.com/jobagent/jobagent/testenv/tsqld/unit"
)

// declarations declares variables and table variables, and stores their values.
type declarations struct{ *run }

// shape returns the definition of a temporary table or table variable that a statement declares.
// The unit caches the definition.
func (r declarations) shape(node syntax.Node, build func() (*catalog.Table, error)) (*catalog.Table, error) {
	u := r.f.unit
	key := unit.ShapeKey{Node: node, Level: r.f.level, Database: unit.SnapshotOf(r.s.DatabaseByID(r.s.DatabaseID))}
	return u.Shape(key, build)
}

// variables declares all variables of an activation's unit, with the value NULL.
func (r declarations) variables(f *frame) error {
	u := f.unit
	if len(u.Decls) == 0 {
		return nil
	}
	resolved := r.resolve(f)
	for i, d := range u.Decls {
		switch {
		case d.Cursor:
			f.declare(d.Name, types.Type{}, nil).isCur = true
		case d.Table != nil:
		case resolved.Decls[i].Err != nil:
			return failure.ErrorAt(resolved.Decls[i].Err, d)
		case resolved.Decls[i].Table != nil:
		default:
			f.declare(d.Name, resolved.Decls[i].Type, nil)
		}
	}
	return nil
}

// resolve returns the types of a unit's parameters and variables.
func (r declarations) resolve(f *frame) *unit.VarTypes {
	u := f.unit
	key := unit.ScopeKey{Database: unit.SnapshotOf(r.s.DatabaseByID(r.s.DatabaseID)), Schema: f.schema}
	return u.Types(key, func() (vt *unit.VarTypes, complete bool) {
		outer := r.f
		r.f = f
		defer func() { r.f = outer }()
		return r.resolveTypes(u)
	})
}

// resolveTypes returns the types of the parameters and variables of a unit, whose activation is the
// current one. complete is false after a cancellation.
func (r declarations) resolveTypes(u *unit.Unit) (vt *unit.VarTypes, complete bool) {
	vt = &unit.VarTypes{}
	for _, p := range u.Params {
		vt.Params = append(vt.Params, r.resolveType(p.Type))
	}
	for _, d := range u.Decls {
		if err := r.s.Meter().Work(module.NodeWork); err != nil {
			for len(vt.Decls) < len(u.Decls) {
				vt.Decls = append(vt.Decls, unit.ResolvedType{Err: err})
			}
			return vt, false
		}
		if d.Type == nil {
			vt.Decls = append(vt.Decls, unit.ResolvedType{})
			continue
		}
		t := r.resolveType(d.Type)
		if t.Err == nil && t.Type.IsLOB() {
			t.Err = mserr.LOBVariable()
		}
		vt.Decls = append(vt.Decls, t)
	}
	return vt, true
}

// resolveType looks up one type.
func (r declarations) resolveType(ref *syntax.TypeRef) unit.ResolvedType {
	t, _, table, err := r.compiler().Type(ref)
	if err != nil && errors.Is(err, mserr.UnknownSystemType("")) {
		err = mserr.UnknownType(1, ref.Name.String()).WithState(3)
	}
	return unit.ResolvedType{Type: t, Table: table, Err: err}
}

// declareStmt executes DECLARE: it creates table variables and evaluates initializers.
func (r declarations) declareStmt(st *syntax.DeclareStmt) error {
	for _, d := range st.Vars {
		isTable, err := r.declareTable(d)
		if err != nil {
			return err
		}
		if isTable || d.Cursor || d.Init == nil {
			continue
		}
		v := r.f.variable(d.Name)
		val, err := r.value(d.Init, v.typ)
		if err != nil {
			return err
		}
		if err := r.store(v, val); err != nil {
			return err
		}
		if err := r.assigned(1); err != nil {
			return err
		}
	}
	return nil
}

// declareTable creates a table variable, and reports whether d declares one.
func (r declarations) declareTable(d *syntax.VarDecl) (bool, error) {
	build := func() (*catalog.Table, error) { return r.definer().LocalDefinition(d.Name, d.Table) }
	if d.Table == nil {
		table := r.f.tableTypeOf(r.run, d)
		if table == nil {
			return false, nil
		}
		build = func() (*catalog.Table, error) { return copyShape(table.Table, d.Name, r.f.level), nil }
	}
	t, err := r.shape(d, build)
	if err != nil {
		return true, err
	}
	return true, r.makeTableVar(d.Name, t)
}

// skippedTable returns a declared table variable whose DECLARE has not run, as in a branch that was
// not taken, or nil.
func (r declarations) skippedTable(name string) *catalog.Table {
	for _, d := range r.f.unit.Decls {
		if !d.Cursor && catalog.EqualNames(d.Name, name) {
			if isTable, err := r.declareTable(d); !isTable || err != nil {
				return nil
			}
			return r.f.tableVar(name).table
		}
	}
	return nil
}

// tableTypeOf returns the table type of a declared variable, or nil for a scalar.
func (f *frame) tableTypeOf(r *run, d *syntax.VarDecl) *catalog.TableType {
	vt := declarations{r}.resolve(f)
	if i, ok := f.unit.Declared[d]; ok {
		return vt.Decls[i].Table
	}
	return nil
}

// copyShape returns the definition of a variable of a table type.
func copyShape(t *catalog.Table, name string, level int) *catalog.Table {
	c := catalog.Clone(t)
	c.Name, c.SQLName, c.Temporary, c.ObjectID = name, session.LocalName(name, level), true, session.NewLocalID()
	c.SQLName = session.VariableName(c, level)
	return c
}

// makeTableVar creates a table variable unless it exists: DECLARE in a loop does not empty the
// variable.
func (r declarations) makeTableVar(name string, t *catalog.Table) error {
	if r.f.tableVar(name) != nil {
		return nil
	}
	if err := r.s.CreateVariable(r.ctx, t); err != nil {
		return err
	}
	if r.f.tables == nil {
		r.f.tables = map[string]*tableVar{}
	}
	r.f.tables[catalog.Fold(name)] = &tableVar{name: name, table: t, created: true}
	return nil
}

// tableVariables returns the table variables of all activations.
func (s *Session) tableVariables() []*catalog.Table {
	var out []*catalog.Table
	for f := s.top; f != nil; f = f.parent {
		for _, tv := range f.tables {
			out = append(out, tv.table)
		}
	}
	return out
}
