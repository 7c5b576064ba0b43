package exec

import (
	"errors"
	"weak"

	"github.com/jobagent/jobagent/testenv/tsqld/catalog"
	"github.com/jobagent/jobagent/testenv/tsqld/failure"
	"github.com/jobagent/jobagent/testenv/tsqld/module"
	"github.com/jobagent/jobagent/testenv/tsqld/mserr"
	"github.com/jobagent/jobagent/testenv/tsqld/session"
	"github.com/jobagent/jobagent/testenv/tsqld/syntax"
	"github.com/jobagent/jobagent/testenv/tsqld/types"
)

// shape returns the definition of a temporary table or table variable that a statement declares.
// The unit caches the definition.
func (r *run) shape(node syntax.Node, build func() (*catalog.Table, error)) (*catalog.Table, error) {
	u := r.f.unit
	key := shapeKey{node: node, level: r.f.level, db: weak.Make(r.s.DatabaseByID(r.s.DatabaseID))}
	u.mu.Lock()
	t := u.shapes[key]
	u.mu.Unlock()
	if t != nil {
		return t, nil
	}
	t, err := build()
	if err != nil {
		return nil, err
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	if len(u.shapes) > 4*maxVariants || u.shapes == nil {
		u.shapes = map[shapeKey]*catalog.Table{}
	}
	u.shapes[key] = t
	return t, nil
}

// variables declares all variables of an activation's unit, with the value NULL.
func (r *run) variables(f *frame) error {
	u := f.unit
	if len(u.decls) == 0 {
		return nil
	}
	resolved := r.resolve(f)
	for i, d := range u.decls {
		switch {
		case d.Cursor:
			f.declare(d.Name, types.Type{}, nil).isCur = true
		case d.Table != nil:
		case resolved.decls[i].err != nil:
			return failure.ErrorAt(resolved.decls[i].err, d)
		case resolved.decls[i].table != nil:
		default:
			f.declare(d.Name, resolved.decls[i].typ, nil)
		}
	}
	return nil
}

// resolve returns the types of a unit's parameters and variables.
func (r *run) resolve(f *frame) *varTypes {
	u := f.unit
	key := scopeKey{db: weak.Make(r.s.DatabaseByID(r.s.DatabaseID)), schema: f.schema}
	u.mu.Lock()
	vt := u.scopes[key]
	u.mu.Unlock()
	if vt != nil {
		return vt
	}
	outer := r.f
	r.f = f
	vt = &varTypes{}
	for _, p := range u.params {
		vt.params = append(vt.params, r.resolveType(p.Type))
	}
	for _, d := range u.decls {
		if err := r.s.Meter().Work(module.NodeWork); err != nil {
			for len(vt.decls) < len(u.decls) {
				vt.decls = append(vt.decls, resolvedType{err: err})
			}
			r.f = outer
			return vt // no cache keeps a cancellation
		}
		if d.Type == nil {
			vt.decls = append(vt.decls, resolvedType{})
			continue
		}
		t := r.resolveType(d.Type)
		if t.err == nil && t.typ.IsLOB() {
			t.err = mserr.LOBVariable()
		}
		vt.decls = append(vt.decls, t)
	}
	r.f = outer
	u.mu.Lock()
	defer u.mu.Unlock()
	if len(u.scopes) > maxVariants || u.scopes == nil {
		u.scopes = map[scopeKey]*varTypes{}
	}
	u.scopes[key] = vt
	return vt
}

// resolveType looks up one type.
func (r *run) resolveType(ref *syntax.TypeRef) resolvedType {
	t, _, table, err := r.compiler().Type(ref)
	if err != nil && errors.Is(err, mserr.UnknownSystemType("")) {
		err = mserr.UnknownType(1, ref.Name.String())
	}
	return resolvedType{t, table, err}
}

// declareStmt executes DECLARE: it creates table variables and evaluates initializers.
func (r *run) declareStmt(st *syntax.DeclareStmt) error {
	for _, d := range st.Vars {
		switch {
		case d.Cursor:
		case d.Table != nil:
			t, err := r.shape(d, func() (*catalog.Table, error) { return r.definer().LocalDefinition(d.Name, d.Table) })
			if err != nil {
				return err
			}
			if err := r.makeTableVar(d.Name, t); err != nil {
				return err
			}
		default:
			if table := r.f.tableTypeOf(r, d); table != nil {
				t, err := r.shape(d, func() (*catalog.Table, error) {
					return copyShape(table.Table, d.Name, r.f.level), nil
				})
				if err != nil {
					return err
				}
				if err := r.makeTableVar(d.Name, t); err != nil {
					return err
				}
				continue
			}
			if d.Init == nil {
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
			r.s.RowCount = 1
		}
	}
	return nil
}

// tableTypeOf returns the table type of a declared variable, or nil for a scalar.
func (f *frame) tableTypeOf(r *run, d *syntax.VarDecl) *catalog.TableType {
	vt := r.resolve(f)
	if i, ok := f.unit.declared[d]; ok {
		return vt.decls[i].table
	}
	return nil
}

// copyShape returns the definition of a variable of a table type.
func copyShape(t *catalog.Table, name string, level int) *catalog.Table {
	c := t.Clone()
	c.Name, c.SQLName, c.Temporary, c.ObjectID = name, session.LocalName(name, level), true, session.NewLocalID()
	c.SQLName = session.VariableName(c, level)
	return c
}

// makeTableVar creates a table variable unless it exists: DECLARE in a loop does not empty the
// variable.
func (r *run) makeTableVar(name string, t *catalog.Table) error {
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
