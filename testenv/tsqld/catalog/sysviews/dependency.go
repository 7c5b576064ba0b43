package sysviews

import (
	"context"
	"strings"

	"github.com/jobagent/jobagent/testenv/tsqld/catalog"
	"github.com/jobagent/jobagent/testenv/tsqld/syntax"
	"github.com/jobagent/jobagent/testenv/tsqld/syntax/parser"
)

// dependencySets returns the system tables about dependencies between objects.
func dependencySets() []declaration {
	return []declaration{
		{name: "sys.sql_expression_dependencies", rows: dependencies},
	}
}

// reference is the name of an object in a module or expression.
type reference struct {
	name     *syntax.ObjectName
	function bool // a function call: a name of one part is a built-in function
	called   bool // a name in EXECUTE: the caller's schema applies to a name of one part
}

// referencesIn returns the names of tables, views, functions, procedures and sequences below a node
// without duplicates. It leaves out local names: temporary objects, common table expressions,
// aliases, and the tables of triggers.
func referencesIn(root syntax.Node) []reference {
	local := map[string]bool{"inserted": true, "deleted": true}
	var found []reference
	syntax.Inspect(root, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.CTE:
			local[catalog.Fold(n.Name.Name)] = true
		case *syntax.TableName:
			if n.Alias.Name != "" {
				local[catalog.Fold(n.Alias.Name)] = true
			}
			found = append(found, reference{name: n.Name})
		case *syntax.FuncCall:
			found = append(found, reference{name: n.Name, function: true})
		case *syntax.NextValueExpr:
			found = append(found, reference{name: n.Sequence})
		case *syntax.ExecStmt:
			if n.Module != nil {
				found = append(found, reference{name: n.Module, called: true})
			}
		}
		return true
	})
	var out []reference
	seen := map[string]bool{}
	for _, r := range found {
		schema, key := catalog.Fold(r.name.Schema()), catalog.Fold(r.name.String())
		switch {
		case seen[key], r.function && schema == "", strings.HasPrefix(r.name.Last(), "#"), schema == "sys",
			schema == "information_schema":
		case schema == "" && !r.called && local[key]:
		default:
			seen[key] = true
			out = append(out, r)
		}
	}
	return out
}

// dependencies are the rows of sys.sql_expression_dependencies: the names in modules, constraints
// and computed columns, whether they exist or not. There are no rows for single columns.
func dependencies(_ context.Context, env *Env) ([]row, error) {
	d := env.Database
	var out []row
	add := func(id int32, minor int, bound bool, schema string, refs []reference) {
		for _, r := range refs {
			if ref := dependency(d, r, schema); ref != nil {
				ref["referencing_id"] = int64(id)
				ref["referencing_minor_id"] = int64(minor)
				ref["is_schema_bound_reference"] = bit(bound)
				ref["referencing_class"], ref["referencing_class_desc"] = int64(1), "OBJECT_OR_COLUMN"
				out = append(out, ref)
			}
		}
	}
	expression := func(m *catalog.Memo, text string, condition bool) []reference {
		refs, err := m.Get(func() (any, error) {
			if condition {
				e, err := parser.ParseCond(text, parser.DefaultOptions)
				if err != nil {
					return nil, err
				}
				return referencesIn(e), nil
			}
			e, err := parser.ParseExpr(text, parser.DefaultOptions)
			if err != nil {
				return nil, err
			}
			return referencesIn(e), nil
		})
		if err != nil { // damaged definition; its use reports the error
			return nil
		}
		return refs.([]reference)
	}
	module := func(m *catalog.Module) []reference {
		refs, err := m.References.Get(func() (any, error) {
			b, err := parser.Parse(m.Text, parser.Options{QuotedIdentifier: m.QuotedIdentifier})
			if err != nil {
				return nil, err
			}
			var all []reference
			for _, st := range b.Stmts {
				all = append(all, referencesIn(st)...)
			}
			return all, nil
		})
		if err != nil { // damaged definition; its use reports the error
			return nil
		}
		return refs.([]reference)
	}
	for _, o := range env.objects() {
		switch o := o.(type) {
		case *catalog.View:
			add(o.ObjectID, 0, o.SchemaBound, o.DefaultSchema, module(&o.Module))
			for _, tr := range o.Triggers {
				add(tr.ObjectID, 0, false, "dbo", module(&catalog.Module{Text: tr.Text, QuotedIdentifier: !tr.QuotedOff}))
			}
		case *catalog.Procedure:
			add(o.ObjectID, 0, false, o.DefaultSchema, module(&o.Module))
			out = append(out, typeDependencies(d, o.ObjectID, o.Params)...)
		case *catalog.Function:
			add(o.ObjectID, 0, o.SchemaBound, o.DefaultSchema, module(&o.Module))
			out = append(out, typeDependencies(d, o.ObjectID, o.Params)...)
		case *catalog.Table:
			for _, tr := range o.Triggers {
				add(tr.ObjectID, 0, false, "dbo", module(&catalog.Module{Text: tr.Text, QuotedIdentifier: !tr.QuotedOff}))
			}
			for _, c := range o.Checks {
				add(c.ObjectID, 0, true, "dbo", expression(&c.References, c.Text, true))
			}
			for _, c := range o.Columns {
				if c.Default != nil {
					add(c.Default.ObjectID, 0, true, "dbo", expression(&c.Default.References, c.Default.Text, false))
				}
				if c.Formula != nil {
					add(o.ObjectID, c.ID, true, "dbo", expression(&c.Formula.References, c.Formula.Text, false))
				}
			}
		}
	}
	return out, nil
}

// dependency returns the row of sys.sql_expression_dependencies for a name, or nil if the name is
// not that of a user object. A name without a schema is looked up in schema and in dbo.
func dependency(d *catalog.Database, r reference, schema string) row {
	n := r.name
	out := row{
		"referenced_class": int64(1), "referenced_class_desc": "OBJECT_OR_COLUMN",
		"referenced_database_name": orNull(n.Database()),
		"referenced_schema_name":   orNull(n.Schema()), "referenced_entity_name": n.Last(), "is_ambiguous": int64(0),
	}
	if len(n.Parts) == 4 {
		out["referenced_server_name"] = n.Parts[0].Name
	}
	if n.Database() != "" && catalog.Fold(n.Database()) != catalog.Fold(d.Name) {
		return out // objects of other databases have no id
	}
	var o catalog.Object
	if s := n.Schema(); s != "" {
		if r.function && d.Schema(s) == nil {
			return nil // a method of xml: alias.column.value(...)
		}
		o = d.Object(s, n.Last())
	} else if o = d.Object(schema, n.Last()); o == nil {
		o = d.Object("dbo", n.Last())
	}
	if o == nil &&
		(SystemSchema(d, n.Schema(),
			n.Last()) != "" || r.called && (hasFolded(n.Last(), "sp_") || hasFolded(n.Last(), "xp_"))) {
		return nil // system objects are not listed
	}
	if r.called && n.Schema() == "" {
		out["is_caller_dependent"] = int64(1)
		return out
	}
	if o != nil {
		out["referenced_id"] = int64(o.Head().ObjectID)
	}
	return out
}

// typeDependencies are the rows for parameters of user-defined types.
func typeDependencies(d *catalog.Database, id int32, params []catalog.Param) []row {
	var out []row
	seen := map[int]bool{}
	for _, p := range params {
		user, schema, name := p.UserTypeID, 0, ""
		if tt, ok := d.ObjectByID(p.TableTypeID).(*catalog.TableType); ok {
			user, schema, name = tt.UserTypeID, tt.SchemaID, tt.Name
		}
		for _, a := range d.AliasTypes() {
			if a.UserTypeID == user {
				schema, name = a.SchemaID, a.Name
			}
		}
		if name == "" || seen[user] {
			continue
		}
		seen[user] = true
		out = append(out, row{
			"referencing_id": int64(id), "referencing_class": int64(1), "referencing_class_desc": "OBJECT_OR_COLUMN",
			"referenced_class":      int64(6),
			"referenced_class_desc": "TYPE", "referenced_schema_name": d.SchemaByID(schema).Name,
			"referenced_entity_name": name, "referenced_id": int64(user),
		})
	}
	return out
}

// hasFolded reports whether s has a prefix, ignoring the case of s. prefix must be in lower case.
func hasFolded(s, prefix string) bool { return strings.HasPrefix(catalog.Fold(s), prefix) }
